"""Every patch on every known build between base and aim: which one it stops at, and since when."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from ci.git import Git
from ci.series.byhand.resolutions import Store
from ci.series.conflict import PARTLY_UPSTREAM, Conflict, off_base
from ci.series.culprit import culprit
from ci.series.engine.fold import Fold, Progress
from ci.series.engine.importing import import_series
from ci.series.engine.workshop import workshop
from ci.series.matrix import Cell, Matrix, Row
from ci.series.order import Series
from ci.series.results import Absorbed, Result
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
    """Results on the last of some builds, with the known build since when each conflict and absorption is there.

    A patch that by itself applies on the base, and meets the last build as it does in the series, is tried by itself
    on the others: that takes one merge a build. Only for the rest is the whole series put onto each.
    """
    search = _Search(fold=fold, builds=builds, results=results, progress=progress)
    return tuple(search.with_origin(number) for number in range(len(results)))


@dataclass(frozen=True, kw_only=True)
class _Search:
    """Looks for the builds behind results on the last one."""

    fold: Fold
    builds: Builds
    results: Sequence[Result]
    progress: Progress

    def with_origin(self, number: int) -> Result:
        result = self.results[number]
        if not isinstance(result, Conflict | Absorbed):
            return result
        self.progress(number, len(self.results), f"since when: {result.patch_id}")
        cells = self._cells_alone(number) or tuple(column[number] for column in self._columns)
        origin = culprit([build for build, _ in self.builds], cells)
        if origin and isinstance(result, Absorbed):
            return replace(result, build=origin.build, since=origin)
        return replace(result, since=origin)

    def _cells_alone(self, number: int) -> tuple[Cell, ...] | None:
        """How the patch meets the builds by itself, when that says what the series says; else None."""
        self.fold.foresee([commit for _, commit in self.builds], only=[number])
        first, last = (cell_of(self.fold.alone(number, *build)) for build in (self.builds[0], self.builds[-1]))
        if first is not Cell.APPLIED or last is not cell_of(self.results[number]):
            return None
        return (first, *(cell_of(self.fold.alone(number, *build)) for build in self.builds[1:]))

    @cached_property
    def _columns(self) -> tuple[tuple[Cell, ...], ...]:
        """How the series meets the builds, patch by patch; on the base it has been applied already."""
        self.fold.foresee([commit for _, commit in self.builds[1:-1]])
        between = (_cells(self.fold.onto(*build).results) for build in self.builds[1:-1])
        return ((Cell.APPLIED,) * len(self.results), *between, _cells(self.results))


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
