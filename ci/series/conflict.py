"""What a failed step of a rebase says: which patch, which paths, and what either side holds."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import fsdecode

from ci.git import Git
from ci.process import Completed, failure_of
from ci.series.patch import changed_lines
from ci.series.scratch import MARKER_SIZE

EXCERPT_LINES = 40
PARTLY_UPSTREAM = "partly upstream"

MARKERS = {letter * MARKER_SIZE: at for at, letter in enumerate((b"<", b"|", b"=", b">"))}
KIND_BY_STAGES = {
    (1, 2, 3): "content",
    (2, 3): "add/add",
    (1, 2): "modify/delete: deleted by the patch",
    (1, 3): "modify/delete: deleted upstream",
}
AM_FAULT = re.compile(r"^error: (?!patch failed: )(.+): ([a-z][^:\n]*)$", re.MULTILINE)
MOVED_ASIDE = re.compile(r"in the way of (.+) from .+; moving it to (.+) instead\.$")
GIT_CONFLICT = re.compile(r"^CONFLICT \(([^)]*)\): (.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Clash:
    """One region with its sides: common base, upstream's and the patch's text; None where a side has no such file.

    `line` is where the region begins in the half-merged file, from 1.
    """

    line: int
    base: str | None
    upstream: str | None
    patch: str | None

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


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """The series stops at a patch; nothing was moved.

    `index` of `total` counts from 1. `upon` is the build that the patch met: the aim, or the base when the patch does
    not even apply there. `said` is git's own wording.
    """

    patch_id: str
    subject: str
    index: int
    total: int
    upon: str
    paths: tuple[PathConflict, ...] = ()
    said: str = ""

    def describe(self) -> str:
        """The conflict for a person: every path with both sides."""
        lines = [f"patch {self.patch_id} ({self.index} of {self.total}: {self.subject}) conflicts with {self.upon}"]
        for path in self.paths:
            lines.append(f"{path.path}: {path.kind}")
            for clash in path.clashes:
                lines += [f"  at line {clash.line}", clash.describe(self.upon, self.patch_id)]
        return "\n".join(line.rstrip("\n") for line in [*lines, self.said] if line)

    def next_step(self, accepted: Sequence[str]) -> str | None:
        """What to do when upstream landed a part of the patch, else None: the usual advice holds.

        Args:
            accepted: ids of the patches whose rest was accepted already.
        """
        if any(path.kind != PARTLY_UPSTREAM for path in self.paths) or not self.paths:
            return None
        options = "".join(f" --accept-partial {patch_id}" for patch_id in (*accepted, self.patch_id))
        return (
            f"invoke rebase-upstream --onto {self.upon}{options}  (when what is left of {self.patch_id} is right by "
            "itself; else adapt the patch in patches/)"
        )


def _side(text: str | None) -> str:
    return "(no such file)\n" if text is None else text


def conflict_of_am(done: Completed, at: Conflict) -> Conflict | None:
    """The conflict behind a failed `git am`, or None when git names no path (the file itself is damaged)."""
    said = done.stderr.decode("utf-8", "replace")
    paths: dict[str, str] = dict(AM_FAULT.findall(said))
    if not paths:
        return None
    listed = tuple(PathConflict(path=path, kind=why) for path, why in paths.items())
    return replace(at, paths=listed, said=without_hints(said))


def without_hints(said: str) -> str:
    """What git said, without its advice on commands that make no sense in a scratch repository."""
    return "\n".join(line for line in said.splitlines() if line and not line.startswith("hint:"))


def conflict_of_pick(repo: Git, done: Completed, at: Conflict) -> Conflict:
    """The conflict that a failed cherry-pick left in the index and work tree of `repo`.

    Raises:
        CommandFailed: the pick failed for another reason.
    """
    unmerged = _unmerged(repo)
    if not unmerged:
        raise failure_of(done)
    said = [(match[1], match[0]) for match in GIT_CONFLICT.finditer(f"{done.text}\n{fsdecode(done.stderr)}")]
    paths = (_path_conflict(repo, path, stages, said) for path, stages in sorted(unmerged.items()))
    return replace(at, paths=tuple(paths), said="\n".join(line for _, line in said))


def _unmerged(repo: Git) -> dict[str, dict[int, str]]:
    """Blob ids by stage (1 base, 2 upstream, 3 patch) of each unmerged path."""
    found: dict[str, dict[int, str]] = {}
    for entry in repo("ls-files", "--unmerged", "-z").stdout.split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        _, blob, stage = head.split()
        found.setdefault(fsdecode(path), {})[int(stage)] = blob.decode("ascii")
    return found


def _path_conflict(repo: Git, path: str, stages: dict[int, str], said: Sequence[tuple[str, str]]) -> PathConflict:
    by_stages = KIND_BY_STAGES.get(tuple(sorted(stages)))
    by_git = next((kind for kind, line in said if path in line), None)
    kind = by_stages if by_stages and by_git in (None, by_stages, "modify/delete") else by_git
    merged = repo.path / path
    data = merged.read_bytes() if merged.is_file() and not merged.is_symlink() else b""
    clashes = tuple(_marked_regions(data)) or (_whole_file(repo, stages),)
    return PathConflict(path=_true_name(path, said), kind=kind or "structure", clashes=clashes)


def _true_name(path: str, said: Sequence[tuple[str, str]]) -> str:
    """The path before git moved it aside (`d~label`) because a directory has its name."""
    moved = (MOVED_ASIDE.search(line) for _, line in said)
    return next((match[1] for match in moved if match and match[2] == path), path)


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


def _whole_file(repo: Git, stages: dict[int, str]) -> Clash:
    base, upstream, patch = (_blob_excerpt(repo, stages.get(stage)) for stage in (1, 2, 3))
    return Clash(line=1, base=base, upstream=upstream, patch=patch)


def _blob_excerpt(repo: Git, blob: str | None) -> str | None:
    if blob is None:
        return None
    data = repo("cat-file", "-p", blob).stdout
    if b"\0" in data:
        return f"(binary, {len(data)} bytes)\n"
    return _excerpt(data.removesuffix(b"\n").split(b"\n") if data else [])


def _excerpt(lines: Sequence[bytes]) -> str:
    shown = [line.decode("utf-8", "replace") for line in lines[:EXCERPT_LINES]]
    if len(lines) > EXCERPT_LINES:
        shown.append(f"(and {len(lines) - EXCERPT_LINES} more lines)")
    return "".join(f"{line}\n" for line in shown)


def partly_landed(repo: Git, original: str, replayed: str, at: Conflict) -> Conflict | None:
    """A conflict when upstream already holds a part of the patch, else None.

    git merges this without a word: lines that both sides changed alike vanish from the replayed commit. The rest of
    the patch may be wrong alone, so a person decides. Lines without a letter or digit do not count.
    """
    kept = Counter(line for _, line in _changes(repo, replayed))
    lost: dict[str, list[bytes]] = {}
    for path, line in _changes(repo, original):
        kept[line] -= 1
        if kept[line] < 0 and re.search(rb"\w", line):
            lost.setdefault(path, []).append(line)
    if not lost:
        return None
    return replace(at, paths=tuple(_lost_part(path, lines) for path, lines in lost.items()))


def _changes(repo: Git, commit: str) -> Iterable[tuple[str, bytes]]:
    diff = ("diff-tree", "-p", "-M", "--minimal", "--unified=0", "--no-ext-diff", "--no-textconv")
    return changed_lines(repo(*diff, f"{commit}^", commit).stdout)


def _lost_part(path: str, lines: Sequence[bytes]) -> PathConflict:
    lost = _excerpt(lines)
    return PathConflict(path=path, kind=PARTLY_UPSTREAM, clashes=(Clash(line=1, base="", upstream=lost, patch=lost),))
