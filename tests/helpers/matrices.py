"""Matrices written as letters: `o` ok, `g` gone, `p` part, `C` conflict."""

from ci.series.matrix import Cell, Matrix, Row
from ci.upstream.tags import BuildTag

LETTERS = {"o": Cell.APPLIED, "g": Cell.ABSORBED, "p": Cell.PARTLY, "C": Cell.CONFLICT}


def cells(letters: str) -> tuple[Cell, ...]:
    """A cell a letter."""
    return tuple(LETTERS[letter] for letter in letters)


def matrix(*rows: tuple[str, str, str] | tuple[str, str], first: int = 11401) -> Matrix:
    """Rows of (patch id, alone, and cumulative where it differs), against every build number from `first` on."""
    count = len(rows[0][1])
    return Matrix(
        builds=tuple(BuildTag(first + at) for at in range(count)),
        rows=tuple(Row(patch_id=row[0], alone=cells(row[1]), cumulative=cells(row[-1])) for row in rows),
    )
