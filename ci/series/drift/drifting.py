"""Finds drift in the history: reads what upstream changed between two builds, and asks which patch uses it.

A drift is acknowledged by a `Drift-Ack: <declaration> <build>` trailer of the patch when the declaration, as far as
the patch uses it, is on the aim what it was at the acknowledged build: the change that was looked at is the change
there is. Where the history does not have that build, an acknowledgement of the aim or a later build counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ci.git import Git
from ci.gittree import EXECUTABLE, FILE, TreeFile
from ci.outcome import JsonMap
from ci.series.drift.changes import Change, changes_between
from ci.series.drift.declarations import read_declarations
from ci.series.drift.declared import Declaration, is_header, is_source
from ci.series.drift.drifts import Drift, drifts_of, text_diff
from ci.series.drift.usage import FileUse, uses_of
from ci.series.order import Series
from ci.series.patch import Patch
from ci.series.trailers import DriftAck
from ci.upstream.tags import BuildTag

SHOWN_LINES = 30
"""Of one declaration's diff; renumbering a long enum changes every line of it."""


@dataclass(frozen=True, kw_only=True)
class PatchDrift:
    """The silent changes under one patch between base and aim: still to be looked at, and acknowledged."""

    patch_id: str
    drifts: tuple[Drift, ...]
    acknowledged: tuple[Drift, ...] = ()

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {
            "patch": self.patch_id,
            "drifts": [drift.to_json() for drift in self.drifts],
            "acknowledged": [drift.to_json() for drift in self.acknowledged],
        }


def find_drift(git: Git, series: Series, onto: BuildTag) -> tuple[PatchDrift, ...]:
    """The drift of every patch that has any, in series order.

    Args:
        git: the history, with the base's tree and the aim.
        series: the patches, as they stand on their base.
        onto: the aim.

    Raises:
        CommandFailed: the history does not have one of the trees.
    """
    uses = {patch.id: uses_of(patch) for patch in series.patches}
    between = _Between(git=git, onto=onto, paths=frozenset(use.path for each in uses.values() for use in each))
    changes = between.changes_since(series.base.tree)
    found = (_patch_drift(patch, uses[patch.id], changes, between) for patch in series.patches)
    return tuple(drift for drift in found if drift.drifts or drift.acknowledged)


def _patch_drift(patch: Patch, uses: Sequence[FileUse], changes: Sequence[Change], between: "_Between") -> PatchDrift:
    drifts = drifts_of(uses, changes)
    known = {drift.declaration for drift in drifts if _is_acknowledged(drift, patch, uses, between)}
    return PatchDrift(
        patch_id=patch.id,
        drifts=tuple(drift for drift in drifts if drift.declaration not in known),
        acknowledged=tuple(drift for drift in drifts if drift.declaration in known),
    )


def _is_acknowledged(drift: Drift, patch: Patch, uses: Sequence[FileUse], between: "_Between") -> bool:
    acks = (ack for ack in patch.trailers.drift_ack if ack.declaration == drift.declaration)
    return any(_covers(ack, uses, between) for ack in acks)


def _covers(ack: DriftAck, uses: Sequence[FileUse], between: "_Between") -> bool:
    tree = between.git.tree_of(ack.build.ref)
    if tree is None:
        return ack.build >= between.onto
    later = drifts_of(uses, between.changes_since(tree))
    return ack.declaration not in {drift.declaration for drift in later}


@dataclass(kw_only=True)
class _Between:
    """The changes from other builds to the aim; those from one build are read once.

    `paths`: the files that patches touch. Of the other files only headers are read: nobody sees into a source file.
    """

    git: Git
    onto: BuildTag
    paths: frozenset[str]
    known: dict[str, tuple[Change, ...]] = field(default_factory=dict)

    def changes_since(self, tree: str) -> tuple[Change, ...]:
        """The changed declarations from a tree to the aim."""
        if tree not in self.known:
            old, new = changed_files(self.git, tree, f"{self.onto.ref}^{{tree}}", wanted=self._is_wanted)
            self.known[tree] = changes_between(*_declared(_contents(self.git, old), _contents(self.git, new)))
        return self.known[tree]

    def _is_wanted(self, path: str) -> bool:
        return is_source(path) and (is_header(path) or path in self.paths)


def changed_files(
    git: Git, old: str, new: str, *, wanted: Callable[[str], bool]
) -> tuple[tuple[TreeFile, ...], tuple[TreeFile, ...]]:
    """The plain files that differ between two trees: those of the old tree, those of the new one.

    Args:
        git: the history.
        old: a tree.
        new: another one.
        wanted: says of a path whether it is asked for; of a renamed file either of its paths decides for both.

    Raises:
        CommandFailed: no such tree.
    """
    options = ("-r", "-z", "--raw", "-M", "--no-abbrev", "--end-of-options")
    words = iter(git("diff-tree", *options, old, new).stdout.split(b"\0")[:-1])
    sides: tuple[list[TreeFile], list[TreeFile]] = ([], [])
    for described in words:
        *fields, status = described.decode("ascii").removeprefix(":").split()
        paths = [next(words)] * 2 if status[0] != "R" else [next(words), next(words)]
        pair = [
            TreeFile(mode=mode, object_id=object_id, size=0, path=path)
            for mode, object_id, path in zip(fields[:2], fields[2:], paths, strict=True)
        ]
        if any(wanted(file.name) for file in pair):
            for side, file in zip(sides, pair, strict=True):
                side.extend([file] if file.mode in (FILE, EXECUTABLE) else [])
    return tuple(sides[0]), tuple(sides[1])


def _contents(git: Git, files: Sequence[TreeFile]) -> dict[str, bytes]:
    return {file.name: data for file, data in git.blobs_of(files)}


def _declared(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> tuple[list[Declaration], list[Declaration]]:
    """What the files declare on each side, without what did not change."""
    old: list[Declaration] = []
    new: list[Declaration] = []
    for path in dict.fromkeys((*before, *after)):
        was, now = read_declarations(path, before.get(path, b""), after.get(path, b""))
        old += was
        new += now
    return old, new


def describe(found: Iterable[PatchDrift]) -> str:
    """For people: each patch with its changed declarations, the change in words and as a small diff."""
    return "\n".join(line for patch in found for line in _described(patch))


def _described(patch: PatchDrift) -> Iterable[str]:
    for drift in patch.drifts:
        yield f"drift under {patch.patch_id}: {headline(drift)}"
        lines = text_diff(drift.before, drift.after).split("\n")
        yield from (f"    {line}" for line in lines[:SHOWN_LINES])
        if len(lines) > SHOWN_LINES:
            yield f"    ... and {len(lines) - SHOWN_LINES} lines more"
    for drift in patch.acknowledged:
        yield f"drift under {patch.patch_id}, acknowledged: {headline(drift)}"


def headline(drift: Drift) -> str:
    """A drift in one line."""
    return f"{drift.kind} {drift.declaration} ({drift.path}): {drift.why}"
