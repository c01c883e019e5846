"""Plots as SVG, deterministic: the throughput plot, inline in a page's colours, and the matrix of a series as a file.

The one door to matplotlib. Text stays text, so it scales, can be read aloud and takes the page's font.
"""

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ci.report.figures import ScenarioFigure
from ci.report.matrix_table import MEANING, WORDS, matrix_title
from ci.report.words import one_line, shortened
from ci.series.matrix import Cell, Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

WIDTH_IN = 5.0
ROW_IN = 0.8
MARGIN_IN = 0.8
LABEL_LIMIT = 42
JITTER = 0.14
"""Dots of one scenario are spread over this share of its row, so that equal ratios stay countable."""

# Stand-ins that no default of matplotlib uses; `_themed` turns each into a colour of the page.
INK, FAINT, DOT, MARK, CARD = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
THEME = {INK: "var(--ink)", FAINT: "var(--line)", DOT: "var(--dot)", MARK: "var(--mark)", CARD: "var(--card)"}
RC: dict[Any, object] = {
    "svg.hashsalt": "speedfork",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 12,
    "axes.edgecolor": FAINT,
    "text.color": INK,
    "xtick.color": INK,
    "axes.labelcolor": INK,
    "text.parse_math": False,  # names are text: a dollar sign is a dollar sign
}


def ratio_plot(scenarios: Sequence[ScenarioFigure]) -> str:
    """One row a scenario: each pair's log ratio as a dot, the interval as a bar, no change as a line.

    Returns:
        An `<svg>` element for a page that defines --ink, --line, --dot, --mark and --card; empty without scenarios.
    """
    if not scenarios:
        return ""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH_IN, MARGIN_IN + ROW_IN * len(scenarios)))
        height = MARGIN_IN + ROW_IN * len(scenarios)
        axes = figure.add_axes((0.03, 0.65 / height, 0.94, 1 - 0.7 / height))
        for row, scenario in enumerate(scenarios):
            _draw_row(axes, row, scenario)
        _draw_frame(axes, scenarios)
        svg = _svg(figure, transparent=True)
    return _inline(svg, description(scenarios))


def _svg(figure: "Figure", *, transparent: bool = False) -> str:
    """The figure without metadata, which hold nothing but the date and the library's version."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # only the width of a text is guessed from a font: it is the reader's own that draws it
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        figure.savefig(buffer, format="svg", transparent=transparent)
    return re.sub(r"<metadata>.*?</metadata>", "", buffer.getvalue(), flags=re.DOTALL)


def description(scenarios: Sequence[ScenarioFigure]) -> str:
    """The plot in words, for those who cannot see it."""
    rows = "; ".join(f"{one_line(figure.scenario)}: {figure.words}, {figure.pairs} pairs" for figure in scenarios)
    return f"Change in speed, speed build against stock. {rows}."


def span(scenarios: Sequence[ScenarioFigure]) -> tuple[float, float]:
    """The log ratios that the axis shows: everything drawn and no change, with some air."""
    drawn = [value for figure in scenarios for value in (*figure.raw, figure.low, figure.high, figure.log_ratio)]
    values = [0.0, *(value for value in drawn if value is not None)]
    low, high = min(values), max(values)
    air = 0.06 * (high - low) or 0.01
    return low - air, high + air


def _draw_row(axes: "Axes", row: int, figure: ScenarioFigure) -> None:
    centre = -float(row)
    heights = [centre - JITTER * ((index * 5) % 7 - 3) / 3 for index in range(len(figure.raw))]
    axes.plot(figure.raw, heights, linestyle="none", marker="o", markersize=4.5, alpha=0.55, color=DOT, mew=0)
    bounds = [bound for bound in (figure.low, figure.high) if bound is not None]
    axes.plot(bounds, [centre] * len(bounds), color=MARK, linewidth=2.5, solid_capstyle="butt")
    axes.plot(bounds, [centre] * len(bounds), linestyle="none", marker="|", ms=11, mew=2, color=MARK)
    proven = figure.is_faster or figure.is_slower
    axes.plot(figure.log_ratio, centre, marker="D", ms=7, mew=1.6, mec=MARK, mfc=MARK if proven else "none")
    name = shortened(one_line(figure.scenario), LABEL_LIMIT)
    behind = {"facecolor": CARD, "edgecolor": "none", "pad": 1.5}
    across = axes.get_yaxis_transform()
    axes.text(0.0, centre + 0.42, name, transform=across, va="center", ha="left", bbox=behind, zorder=3)


def _draw_frame(axes: "Axes", scenarios: Sequence[ScenarioFigure]) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = span(scenarios)
    changes = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(
        100 * math.expm1(low), 100 * math.expm1(high)
    )
    ticks = [float(change) for change in changes if change > -100 and low <= math.log1p(change / 100) <= high]
    axes.set_xticks([math.log1p(tick / 100) for tick in ticks], [f"{tick:+g} %" if tick else "0" for tick in ticks])
    axes.axvline(0, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set(xlim=(low, high), ylim=(-len(scenarios) + 0.55, 0.65), yticks=[])
    axes.set_xlabel("change in speed against stock")
    axes.spines[["left", "right", "top"]].set_visible(False)


def _inline(svg: str, words: str) -> str:
    """The bare `<svg>` element, named for screen readers, sized by the page, in the page's colours."""
    body = svg[svg.index("<svg") :]
    inside = body[body.index(">") + 1 :]
    box = re.search(r'viewBox="([^"]+)"', body)
    view = box.group(1) if box else "0 0 1 1"
    head = f'<svg class="plot" viewBox="{view}" role="img" aria-label="{escape(words)}" xmlns="http://www.w3.org/2000/svg"'
    return f'{head} xmlns:xlink="http://www.w3.org/1999/xlink">{_themed(inside)}'.rstrip()


def _themed(svg: str) -> str:
    for stand_in, colour in THEME.items():
        svg = svg.replace(stand_in, colour)
    return svg


CELL_COLOURS = {
    Cell.APPLIED: "#dfe8ee",
    Cell.ABSORBED: "#56b4e9",
    Cell.PARTLY: "#f0e442",
    Cell.CONFLICT: "#d55e00",
}
"""From the palette of Okabe and Ito, which the colour-blind can tell apart; black letters are readable on each."""

CELL_IN = (0.44, 0.26)
LABEL_LETTER_IN = 0.085
"""Width of a letter of a label, about."""

LETTER_PT = 9

HEAD_IN, FOOT_IN = 1.15, 0.95
WIDTH_AT_LEAST_IN = 6.2
"""Room for title and legend."""

MATRIX_RC = {**RC, "font.size": 9, "text.color": "black", "xtick.color": "black", "ytick.color": "black"}


def matrix_picture(matrix: Matrix) -> bytes:
    """The matrix as an SVG file: a row a patch, a column a build, a letter and a colour a cell.

    The left half of a cell is the patch alone, the right half after the patches in front of it.
    """
    import matplotlib as mpl

    with mpl.rc_context(MATRIX_RC):
        svg = _svg(_matrix_figure(matrix))
    tag, _, inside = svg[svg.index("<svg ") :].partition(">")
    title = escape(matrix_title(matrix))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tag} role="img"><title>{title}</title>{inside}'.encode()


def _matrix_figure(matrix: Matrix) -> "Figure":
    from matplotlib.figure import Figure

    names = [shortened(one_line(row.patch_id), LABEL_LIMIT) for row in matrix.rows]
    label = 0.2 + LABEL_LETTER_IN * max(map(len, names), default=0)
    columns, rows = len(matrix.builds), max(1, len(matrix.rows))  # an empty series leaves an empty row
    across, down = CELL_IN[0] * columns, CELL_IN[1] * rows
    width, height = max(WIDTH_AT_LEAST_IN, label + across + 0.2), HEAD_IN + down + FOOT_IN
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((label / width, FOOT_IN / height, across / width, down / height))
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.set_xticks([at + 0.5 for at in range(columns)], [str(build) for build in matrix.builds], rotation=90)
    axes.set_yticks([at + 0.5 for at in range(len(names))], names)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    _draw_cells(axes, matrix)
    figure.text(0.1 / width, 1 - 0.25 / height, matrix_title(matrix), fontsize=12, va="center")
    _draw_legend(figure)
    return figure


def _draw_cells(axes: "Axes", matrix: Matrix) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for cell in Cell:
        parts = [part for part in _cell_parts(matrix) if part.cell is cell]
        if parts:
            corners = ([(p.left, p.y), (p.right, p.y), (p.right, p.y + 1), (p.left, p.y + 1)] for p in parts)
            shape = Path.make_compound_path(*map(Path, corners))
            axes.add_patch(PathPatch(shape, facecolor=CELL_COLOURS[cell], linewidth=0))
            # shapes, drawn once and pointed to: a text for each of some thousand cells takes seconds and megabytes
            letter = _letter(cell)
            across, down = [(part.left + part.right) / 2 for part in parts], [part.y + 0.5 for part in parts]
            size = 2 * float(np.abs(letter.vertices).max())  # undoes how matplotlib scales a marker
            axes.plot(across, down, linestyle="none", marker=letter, ms=size, color="black", mew=0)
    axes.vlines(range(len(matrix.builds) + 1), 0, len(matrix.rows), color="white", linewidth=1.5)
    axes.hlines(range(len(matrix.rows) + 1), 0, len(matrix.builds), color="white", linewidth=1.5)


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A cell or a half of one, in columns and rows."""

    left: float
    right: float
    y: int
    cell: Cell


def _cell_parts(matrix: Matrix) -> Iterator[_Part]:
    for y, row in enumerate(matrix.rows):
        for x, (alone, cumulative) in enumerate(zip(row.alone, row.cumulative, strict=True)):
            if alone is cumulative:
                yield _Part(left=x, right=x + 1, y=y, cell=alone)
            else:
                yield _Part(left=x, right=x + 0.5, y=y, cell=alone)
                yield _Part(left=x + 0.5, right=x + 1, y=y, cell=cumulative)


def _letter(cell: Cell) -> "Path":
    """The first letter of a cell's word, in points around its middle."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(family="DejaVu Sans", weight="bold" if cell is Cell.CONFLICT else "normal")
    outline = TextPath((0, 0), WORDS[cell][0], size=LETTER_PT, prop=font)
    box = outline.get_extents()
    return outline.transformed(Affine2D().translate(-(box.x0 + box.x1) / 2, -0.3 * LETTER_PT))


def _draw_legend(figure: "Figure") -> None:
    from matplotlib.patches import Patch

    keys = [Patch(facecolor=CELL_COLOURS[cell], label=f"{WORDS[cell][0]}: {MEANING[cell]}") for cell in Cell]
    figure.legend(
        handles=keys,
        loc="lower left",
        ncols=2,
        frameon=False,
        alignment="left",
        title="two letters: alone, then after the patches in front of it",
    )
