"""Every patch on every known build between base and aim: which one it stops at, and since when."""

from collections.abc import Sequence

from ci.series.conflict import PARTLY_UPSTREAM, Conflict
from ci.series.fold import Fold, Progress
from ci.series.matrix import Cell, Matrix, Row
from ci.series.results import Absorbed, Result
from ci.upstream.tags import BuildTag


def probe(fold: Fold, builds: Sequence[tuple[BuildTag, str]], hear: Progress) -> Matrix:
    """Put the series, and each patch alone, onto each build.

    Args:
        fold: the imported series.
        builds: tags with their commits, ascending.
        hear: hears of each build.
    """
    cumulative, alone = [], []
    for number, (build, commit) in enumerate(builds):
        hear(number, len(builds), f"the series on {build}")
        cumulative.append(tuple(cell_of(result) for result in fold.onto(build, commit).results))
        alone.append(tuple(cell_of(fold.alone(at, build, commit)) for at in range(len(fold.series.patches))))
    return Matrix(
        builds=tuple(build for build, _ in builds),
        rows=tuple(
            Row(
                patch_id=patch.id,
                alone=tuple(cells[at] for cells in alone),
                cumulative=tuple(cells[at] for cells in cumulative),
            )
            for at, patch in enumerate(fold.series.patches)
        ),
    )


def cell_of(result: Result) -> Cell:
    """A result as a cell of the matrix."""
    if isinstance(result, Absorbed):
        return Cell.ABSORBED
    if isinstance(result, Conflict):
        kinds = {path.kind for path in result.paths}
        return Cell.PARTLY if kinds == {PARTLY_UPSTREAM} else Cell.CONFLICT
    return Cell.APPLIED
