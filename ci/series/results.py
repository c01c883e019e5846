"""What a rebase answers: one result a patch, and the whole."""

from dataclasses import dataclass
from typing import TypeAlias

from ci.series.conflict import Conflict
from ci.series.culprit import Culprit
from ci.upstream.tags import BuildTag


@dataclass(frozen=True, kw_only=True)
class CommitOf:
    """A patch and the commit that carries it."""

    patch_id: str
    commit: str


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """A recorded resolution that was replayed: git's id of the conflict, the path, and what it made of the conflict.

    `diff` is a unified diff from the half-merged file with its markers to the resolved one: it is code, to be read.
    """

    conflict_id: str
    path: str
    diff: str


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The patch has a commit on the aim; `resolutions` says which of its conflicts were settled by a recorded one."""

    patch_id: str
    subject: str
    commit: str
    resolutions: tuple[Resolution, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Absorbed:
    """All of the patch is in `build` already: merging it changes nothing, and that is upstream's doing.

    `build` is the first known one that has it; `since` says how sure that is, `evidence` what upstream's own files
    have of the patch.
    """

    patch_id: str
    subject: str
    build: BuildTag
    evidence: str = ""
    since: Culprit | None = None


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A person left the patch out of this move."""

    patch_id: str
    subject: str


Result: TypeAlias = Applied | Absorbed | Skipped | Conflict


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How the paths that the patches touch were settled, summed over all patches.

    `spliced`: one side had left the path (or its whole folder) alone; `merged`: both had changed it and git's merge
    was clean; `conflicted`: git's merge was not; `absorbed`: the path came out as upstream has it already.
    """

    spliced: int = 0
    merged: int = 0
    conflicted: int = 0
    absorbed: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            spliced=self.spliced + other.spliced,
            merged=self.merged + other.merged,
            conflicted=self.conflicted + other.conflicted,
            absorbed=self.absorbed + other.absorbed,
        )


@dataclass(frozen=True, kw_only=True)
class Rebased:
    """The series on its aim.

    `head` (with `tree`) is the last commit of the series on the aim, or the aim itself when nothing is left to carry.
    All objects are in the history, under no name.
    """

    onto: BuildTag
    onto_commit: str
    head: str
    tree: str
    results: tuple[Applied | Absorbed | Skipped, ...]
    counts: Counts = Counts()

    @property
    def commits(self) -> tuple[CommitOf, ...]:
        """The commits on the aim, in order."""
        return tuple(CommitOf(patch_id=r.patch_id, commit=r.commit) for r in self.results if isinstance(r, Applied))

    @property
    def absorbed(self) -> tuple[Absorbed, ...]:
        """The patches that the aim made unnecessary."""
        return tuple(r for r in self.results if isinstance(r, Absorbed))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The patches that a person left out."""
        return tuple(r for r in self.results if isinstance(r, Skipped))


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """At least one patch conflicts; nothing was moved.

    Every patch was tried: those behind a conflict without the patches that conflict. `tip` and `picked` are the two
    commits (in the history, under no name) whose merge is the first conflict: the series up to it on the aim, and the
    patch on its base.
    """

    onto: BuildTag
    results: tuple[Result, ...]
    tip: str
    picked: str
    counts: Counts = Counts()

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """The conflicts, in order."""
        return tuple(r for r in self.results if isinstance(r, Conflict))
