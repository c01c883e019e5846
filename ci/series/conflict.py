"""What a failed step of a rebase says: which patch, which paths, and what either side holds."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import fsdecode

from ci.errors import SeriesConflict
from ci.gittree import NO_OBJECT
from ci.outcome import JsonValue
from ci.series.culprit import Culprit
from ci.series.engine.merge_answer import Merged, Note, Stage

EXCERPT_LINES = 40
MARKER_SIZE = 23
"""Length of conflict markers in half-merged files: no source file holds such a line of its own."""

PARTLY_UPSTREAM = "partly upstream"
SWALLOWED = "nothing is left of the change, but not through upstream: other patches of the series hold it"

MARKERS = {letter * MARKER_SIZE: at for at, letter in enumerate((b"<", b"|", b"=", b">"))}
KIND_BY_STAGES = {
    (1, 2, 3): "content",
    (2, 3): "add/add",
    (1, 2): "modify/delete: deleted by the patch",
    (1, 3): "modify/delete: deleted upstream",
}
MOVED_ASIDE = re.compile(rb"~[0-9a-f]{40}(?:_\d+)?$")
"""What git appends to the name of a file when a folder, or a file of another type, has that name: a commit."""

GIT_CONFLICT = re.compile(r"CONFLICT \(([^)]*)\): ", re.DOTALL)

PLAIN = re.compile(r"CONFLICT \((?:content|add/add)\): ")
"""What git says of two texts that do not merge: no more than the path and both sides, which are shown anyway."""

BlobReader = Callable[[str], bytes]
"""Content of a blob by id."""


@dataclass(frozen=True, kw_only=True)
class Clash:
    """One region with its sides: common base, upstream's and the patch's text; None where a side has no such file.

    `line` is where the region begins in the half-merged file, from 1.
    """

    line: int
    base: str | None
    upstream: str | None
    patch: str | None

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {"line": self.line, "base": self.base, "upstream": self.upstream, "patch": self.patch}

    def describe(self, build: str, patch_id: str) -> str:
        """The region with the usual markers, each side named; one text when both sides agree."""
        if self.upstream == self.patch:
            return f"already in {build}:\n{_side(self.patch)}"
        return (
            f"<<<<<<< {build}\n{_side(self.upstream)}||||||| before\n{_side(self.base)}"
            f"=======\n{_side(self.patch)}>>>>>>> {patch_id}"
        )


@dataclass(frozen=True, kw_only=True)
class PathConflict:
    """A path that cannot be merged, what kind of conflict it is, and its regions."""

    path: str
    kind: str
    clashes: tuple[Clash, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {"path": self.path, "kind": self.kind, "clashes": [clash.to_json() for clash in self.clashes]}


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """The series stops at a patch; nothing was moved.

    `index` of `total` counts from 1. `upon` is the build that the patch met: the aim, or the base when the patch does
    not even apply there. `said` is git's own wording; `landed` how much of the patch upstream has, if any of it;
    `since` the first known build that it conflicts with.
    """

    patch_id: str
    subject: str
    index: int
    total: int
    upon: str
    paths: tuple[PathConflict, ...] = ()
    said: str = ""
    landed: str = ""
    since: Culprit | None = None

    def describe(self) -> str:
        """The conflict for a person: every path with both sides."""
        lines = [f"patch {self.patch_id} ({self.index} of {self.total}: {self.subject}) conflicts with {self.upon}"]
        lines += [self.since.words if self.since else "", self.landed]
        for path in self.paths:
            lines.append(f"{path.path}: {path.kind}")
            for clash in path.clashes:
                where = [] if path.kind == PARTLY_UPSTREAM else [f"  at line {clash.line}"]
                lines += [*where, clash.describe(self.upon, self.patch_id)]
        lines += [line for line in self.said.split("\n") if not PLAIN.match(line)]
        return "\n".join(line.rstrip("\n") for line in lines if line)

    def to_json(self) -> dict[str, JsonValue]:
        """The conflict for a machine."""
        return {
            "id": self.patch_id,
            "subject": self.subject,
            "index": self.index,
            "total": self.total,
            "upon": self.upon,
            "paths": [path.to_json() for path in self.paths],
            "said": self.said,
            "landed": self.landed,
            "since": self.since.to_json() if self.since else None,
        }

    def next_step(self, accepted: Sequence[str]) -> str | None:
        """What to type first when upstream landed a part of the patch, in front of the usual advice; else None.

        Args:
            accepted: ids of the patches whose rest was accepted already.
        """
        if any(path.kind != PARTLY_UPSTREAM for path in self.paths) or not self.paths:
            return None
        options = "".join(f" --accept-partial {patch_id}" for patch_id in (*accepted, self.patch_id))
        accept = f"invoke rebase-upstream --onto {self.upon}{options}"
        return f"{accept}  # when what is left of {self.patch_id} is right by itself; else"


def refusal(conflicts: Sequence[Conflict], *, hint: str) -> SeriesConflict:
    """The error that shows some conflicts, as words and as data."""
    error = SeriesConflict("\n\n".join(conflict.describe() for conflict in conflicts), hint=hint)
    error.facts["conflicts"] = [conflict.to_json() for conflict in conflicts]
    return error


def off_base(conflict: Conflict) -> SeriesConflict:
    """The error of a patch that does not even fit its own base, which is no matter of a move."""
    name = f"patches/{conflict.patch_id}.patch"
    return refusal([conflict], hint=f"mend {name}: it does not apply on its own base {conflict.upon}")


def _side(text: str | None) -> str:
    return "(no such file)\n" if text is None else text


def conflict_of_merge(
    merged: Merged, at: Conflict, *, half_merged: Mapping[bytes, str], blob: BlobReader
) -> Conflict:
    """The conflict that git reports of a merge.

    Args:
        merged: git's answer, not a clean one.
        at: the place, without paths.
        half_merged: blob ids, by path, of the files that git left with markers in them.
        blob: reads a blob.
    """
    said = tuple(note for note in merged.notes if GIT_CONFLICT.match(note.text))
    half = {_true_name(path): name for path, name in half_merged.items()}
    paths = tuple(
        _path_conflict(path, stages, said, half.get(path), blob)
        for path, stages in sorted(_by_path(merged.stages).items())
    )
    nameless = tuple(
        PathConflict(path=fsdecode(_true_name(n.paths[0])), kind=_kind(n)) for n in said if n.paths and not paths
    )
    return replace(at, paths=paths or nameless, said="\n".join(dict.fromkeys(note.text for note in said)))


def _by_path(stages: Sequence[Stage]) -> dict[bytes, dict[int, str]]:
    """Blob ids by stage (1 base, 2 upstream, 3 patch) of each unmerged path."""
    found: dict[bytes, dict[int, str]] = {}
    for stage in stages:
        # git loses track of a side between renamed folders (`git rebase` itself breaks off there)
        if stage.blob != NO_OBJECT:
            found.setdefault(_true_name(stage.path), {})[stage.number] = stage.blob
    return found


def _kind(note: Note) -> str:
    match = GIT_CONFLICT.match(note.text)
    return match[1] if match else "structure"


def _path_conflict(
    path: bytes, stages: dict[int, str], said: Sequence[Note], half_merged: str | None, blob: BlobReader
) -> PathConflict:
    by_stages = KIND_BY_STAGES.get(tuple(sorted(stages)))
    by_git = next((_kind(note) for note in said if path in map(_true_name, note.paths)), None)
    kind = by_stages if by_stages and by_git in (None, by_stages, "modify/delete") else by_git
    data = blob(half_merged) if half_merged else b""
    clashes = tuple(_marked_regions(data)) or (_whole_file(stages, blob),)
    return PathConflict(path=fsdecode(path), kind=kind or "structure", clashes=clashes)


def _true_name(path: bytes) -> bytes:
    return MOVED_ASIDE.sub(b"", path)


def _marked_regions(data: bytes) -> Iterator[Clash]:
    """The regions between long conflict markers (style diff3)."""
    start = 0
    part = -1
    sides: tuple[list[bytes], ...] = ([], [], [])
    for number, line in enumerate(data.split(b"\n"), start=1):
        mark = MARKERS.get(line[:MARKER_SIZE])
        if mark == 0:
            start, sides = number, ([], [], [])
        if mark == 3 and part >= 0:
            upstream, base, patch = (_excerpt(side) for side in sides)
            yield Clash(line=start, base=base, upstream=upstream, patch=patch)
        if mark is None and part >= 0:
            sides[part].append(line)
        part = part if mark is None else (-1 if mark == 3 else mark)


def _whole_file(stages: dict[int, str], blob: BlobReader) -> Clash:
    base, upstream, patch = (_blob_excerpt(stages.get(number), blob) for number in (1, 2, 3))
    return Clash(line=1, base=base, upstream=upstream, patch=patch)


def _blob_excerpt(name: str | None, blob: BlobReader) -> str | None:
    if name is None:
        return None
    data = blob(name)
    if b"\0" in data:
        return f"(binary, {len(data)} bytes)\n"
    return _excerpt(data.removesuffix(b"\n").split(b"\n") if data else [])


def _excerpt(lines: Sequence[bytes]) -> str:
    shown = [line.decode("utf-8", "replace") for line in lines[:EXCERPT_LINES]]
    if len(lines) > EXCERPT_LINES:
        shown.append(f"(and {len(lines) - EXCERPT_LINES} more lines)")
    return "".join(f"{line}\n" for line in shown)


def partly_upstream(at: Conflict, lost: Mapping[str, Sequence[bytes]]) -> Conflict:
    """The conflict of a patch of which upstream already holds some lines, given by path."""
    return replace(at, paths=tuple(_lost_part(path, lines) for path, lines in sorted(lost.items())))


def _lost_part(path: str, lines: Sequence[bytes]) -> PathConflict:
    lost = _excerpt(lines)
    return PathConflict(path=path, kind=PARTLY_UPSTREAM, clashes=(Clash(line=1, base="", upstream=lost, patch=lost),))


def not_through_upstream(at: Conflict, paths: Sequence[str]) -> Conflict:
    """The conflict of a patch of which nothing is left although upstream does not have it."""
    return replace(at, paths=tuple(PathConflict(path=path, kind=SWALLOWED) for path in paths))
