"""Every patch on every known build between base and aim: which one it stops at, and since when."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ci.git import Git
from ci.series.conflict import PARTLY_UPSTREAM, Conflict, off_base
from ci.series.culprit import Culprit, culprit
from ci.series.fold import Fold, Progress
from ci.series.importing import import_series
from ci.series.matrix import Cell, Matrix, Row
from ci.series.order import Series
from ci.series.resolutions import Store
from ci.series.results import Absorbed, Result
from ci.series.workshop import workshop
from ci.upstream.tags import BuildTag

Builds: TypeAlias = Sequence[tuple[BuildTag, str]]
"""Builds with their commits, ascending."""


def matrix_of(
    git: Git,
    series: Series,
    builds: Builds,
    *,
    work: Path,
    progress: Progress,
    resolutions: Store | None = None,
) -> Matrix:
    """Put the series, and each patch alone, onto each build.

    Args:
        git: the history.
        series: the checked queue.
        builds: from the base to the aim; the first one is the base.
        work: directory for the scratch repository.
        progress: hears of each build.
        resolutions: recorded resolutions, replayed where their conflict comes again.

    Raises:
        SeriesConflict: a patch does not even apply on the base.
        Busy: another rebase works in `work`.
    """
    base_commit = builds[0][1]
    with workshop(git, work) as shop:
        imported = import_series(shop, series, base_commit)
        if isinstance(imported, Conflict):
            raise off_base(imported)
        fold = Fold(shop=shop, series=series, imported=imported, base_commit=base_commit, resolutions=resolutions)
        return _matrix(fold, builds, progress)


def _matrix(fold: Fold, builds: Builds, progress: Progress) -> Matrix:
    together, alone = [], []
    fold.foresee([commit for _, commit in builds])
    for number, (build, commit) in enumerate(builds):
        progress(number, len(builds), f"the series on {build}")
        together.append(_cells(fold.onto(build, commit).results))
        alone.append(_cells([fold.alone(at, build, commit) for at in range(len(fold.series.patches))]))
    return Matrix(
        builds=tuple(build for build, _ in builds),
        rows=tuple(
            Row(
                patch_id=patch.id,
                alone=tuple(cells[at] for cells in alone),
                cumulative=tuple(cells[at] for cells in together),
            )
            for at, patch in enumerate(fold.series.patches)
        ),
    )


def with_origins(fold: Fold, results: Sequence[Result], builds: Builds, progress: Progress) -> tuple[Result, ...]:
    """Results on the last of some builds, with the known build since when each conflict and absorption is there."""
    columns = []
    fold.foresee([commit for _, commit in builds])
    for number, (build, commit) in enumerate(builds[:-1]):
        progress(number, len(builds), f"since when: {build}")
        columns.append(_cells(fold.onto(build, commit).results))
    columns.append(_cells(results))
    tags = [build for build, _ in builds]
    origins = (culprit(tags, cells) for cells in zip(*columns, strict=True))
    return tuple(_with_origin(result, origin) for result, origin in zip(results, origins, strict=True))


def _with_origin(result: Result, origin: Culprit | None) -> Result:
    if origin and isinstance(result, Conflict):
        return replace(result, since=origin)
    if origin and isinstance(result, Absorbed):
        return replace(result, build=origin.build, since=origin)
    return result


def _cells(results: Sequence[Result]) -> tuple[Cell, ...]:
    return tuple(cell_of(result) for result in results)


def cell_of(result: Result) -> Cell:
    """A result as a cell of the matrix."""
    if isinstance(result, Absorbed):
        return Cell.ABSORBED
    if isinstance(result, Conflict):
        kinds = {path.kind for path in result.paths}
        return Cell.PARTLY if kinds == {PARTLY_UPSTREAM} else Cell.CONFLICT
    return Cell.APPLIED
