"""The matrix of patches and builds as a table for a terminal, readable without colour."""

from dataclasses import dataclass
from itertools import groupby

from ci.series.matrix import Cell, Matrix, Row

WORDS = {Cell.APPLIED: "ok", Cell.ABSORBED: "gone", Cell.PARTLY: "part", Cell.CONFLICT: "CONFLICT"}
MEANING = {
    Cell.APPLIED: "the build takes the patch",
    Cell.ABSORBED: "the build has it already",
    Cell.PARTLY: "the build has a part of it, a person must look",
    Cell.CONFLICT: "does not merge, a person must settle it",
}
LEGEND = (
    "; ".join(f"{WORDS[cell]}: {meaning}" for cell, meaning in MEANING.items())
    + "\ntwo words: alone / after the patches in front of it"
)
COLUMNS = 5
"""Builds side by side in a terminal of 80 characters."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What `ci.console.Console.table` prints."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def matrix_title(matrix: Matrix) -> str:
    """What is shown: `series on b11401 against builds up to b11434`."""
    return f"series on {matrix.builds[0]} against builds up to {matrix.builds[-1]}"


def matrix_grids(matrix: Matrix) -> tuple[Grid, ...]:
    """The matrix as tables that fit a terminal, a row a patch.

    Neighbouring builds with the same answers share a column, named by the first and the last of them: nothing is
    lost, and what changes stands side by side.
    """
    columns = _columns(matrix)
    parts = (columns[at : at + COLUMNS] for at in range(0, len(columns), COLUMNS))
    return tuple(_grid(matrix, part) for part in parts)


def _columns(matrix: Matrix) -> list[tuple[int, int]]:
    """First and last of each row of neighbouring builds that answer alike."""
    alike = groupby(
        range(len(matrix.builds)), key=lambda at: [(row.alone[at], row.cumulative[at]) for row in matrix.rows]
    )
    return [(same[0], same[-1]) for same in (list(group) for _, group in alike)]


def _grid(matrix: Matrix, columns: list[tuple[int, int]]) -> Grid:
    names = (
        f"{matrix.builds[first]}" if first == last else f"{matrix.builds[first]} to {matrix.builds[last]}"
        for first, last in columns
    )
    rows = ((row.patch_id, *(cell_words(row, first) for first, _ in columns)) for row in matrix.rows)
    return Grid(headings=("patch", *names), rows=tuple(rows))


def cell_words(row: Row, at: int) -> str:
    """One cell: a word, or two where it matters which patches stand in front."""
    alone, cumulative = WORDS[row.alone[at]], WORDS[row.cumulative[at]]
    return alone if alone == cumulative else f"{alone} / {cumulative}"
