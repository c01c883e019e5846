"""Every patch against every known build between base and aim, alone and after its predecessors."""

from dataclasses import dataclass
from enum import StrEnum

from ci.upstream.tags import BuildTag


class Cell(StrEnum):
    """How one patch meets one build."""

    APPLIED = "applied"
    ABSORBED = "absorbed"
    PARTLY = "partly upstream"
    CONFLICT = "conflict"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One patch: a cell a build, in the order of `Matrix.builds`.

    `alone`: the patch without its predecessors; `cumulative`: after those of its predecessors that do not conflict.
    """

    patch_id: str
    alone: tuple[Cell, ...]
    cumulative: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All patches, in series order, against the known builds from the base to the aim, ascending, both included."""

    builds: tuple[BuildTag, ...]
    rows: tuple[Row, ...]
