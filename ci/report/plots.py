"""The throughput plot as inline SVG: deterministic, readable on a phone, following the page's colours.

The one door to matplotlib. Text stays text, so it scales, can be read aloud and takes the page's font.
"""

import io
import math
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ci.report.figures import ScenarioFigure
from ci.report.words import one_line, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True)
    return _inline(buffer.getvalue(), description(scenarios))


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
    # the metadata holds nothing but the date and the library's version
    inside = re.sub(r"<metadata>.*?</metadata>", "", inside, flags=re.DOTALL)
    head = f'<svg class="plot" viewBox="{view}" role="img" aria-label="{escape(words)}" xmlns="http://www.w3.org/2000/svg"'
    return f'{head} xmlns:xlink="http://www.w3.org/1999/xlink">{_themed(inside)}'.rstrip()


def _themed(svg: str) -> str:
    for stand_in, colour in THEME.items():
        svg = svg.replace(stand_in, colour)
    return svg
