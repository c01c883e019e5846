"""What a person should look at after a rebase without conflict: where hunks went or would fit too, other modes."""

from collections.abc import Sequence
from dataclasses import dataclass

from ci.git import Git
from ci.outcome import JsonValue
from ci.series.engine.objects import Objects
from ci.series.modes import OtherMode, other_modes
from ci.series.order import Series
from ci.series.patch import read_mail, touched_files
from ci.series.placement import Ambiguous, Moved, ambiguous, moved, moved_words
from ci.series.results import Applied, Rebased, Resolution


@dataclass(frozen=True, kw_only=True)
class Review:
    """One patch on the aim: where it went, what it met, and which of its conflicts a recorded resolution settled."""

    patch_id: str
    moves: tuple[Moved, ...]
    ambiguous: tuple[Ambiguous, ...]
    modes: tuple[OtherMode, ...]
    resolutions: tuple[Resolution, ...]

    @property
    def moved_words(self) -> str:
        """Where the hunks went, in one line; empty when nothing moved."""
        return "; ".join(moved_words(self.moves))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to look at, one line each."""
        return (*(place.words for place in self.ambiguous), *(mode.words for mode in self.modes))

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {
            "moved": [move.to_json() for move in self.moves],
            "ambiguous": [place.to_json() for place in self.ambiguous],
            "modes": [mode.to_json() for mode in self.modes],
            "resolutions": [{"id": r.conflict_id, "path": r.path, "diff": r.diff} for r in self.resolutions],
        }


def review(git: Git, series: Series, rebased: Rebased, exported: Sequence[bytes]) -> tuple[Review, ...]:
    """Compare each patch with what became of it.

    Args:
        git: the history, which has the rebased commits.
        series: the patches as they were.
        rebased: the series on the aim.
        exported: the patch files of its commits.
    """
    objects = Objects.of(git)
    raws = {patch.id: patch.raw for patch in series.patches}
    applied = (result for result in rebased.results if isinstance(result, Applied))
    return tuple(
        _one(objects, result, read_mail(raws[result.patch_id]).diff, read_mail(raw).diff)
        for result, raw in zip(applied, exported, strict=True)
    )


def _one(objects: Objects, result: Applied, before: bytes, after: bytes) -> Review:
    (parent,) = objects.parents_of(result.commit)
    tree = objects.tree_of(parent)
    files = {path: data for path in touched_files(after) if (data := objects.file(tree, path)) is not None}
    return Review(
        patch_id=result.patch_id,
        moves=moved(before, after),
        ambiguous=ambiguous(after, files),
        modes=other_modes(before, after),
        resolutions=result.resolutions,
    )
