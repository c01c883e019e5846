"""One conflict, half merged in a tiny repository of its own, with git's own `git rerere` at work on it.

The merge always happens here and never in a person's worktree: git's id of a conflict depends on the conflict style
(diff3 gives other ids than merge), on marker lengths and on attributes, and a shared id must not.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path

from ci.files import remove_tree
from ci.git import Git
from ci.gittree import EXECUTABLE, FILE
from ci.series.engine.merge_answer import Stage
from ci.series.engine.scratch import PREFIX, USUAL_MARKERS, private_repository

MARKER = re.compile(rb"^(<{7}|\|{7}|>{7})(?=\s|$)", re.MULTILINE)
"""The beginning of a line that git takes, or a person could take, for a conflict marker of the usual length."""

_RERERE = ("-c", "rerere.enabled=true", "-c", "rerere.autoupdate=true", "rerere")
_MERGE = ("-c", "merge.conflictStyle=merge", "merge", "--quiet", "--no-ff", "--no-commit", "-s", "ort")
_DIFF = ("-c", "core.fileMode=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--", ".")
_THEIRS = "patch"
"""Name of the side that is merged in: git writes it behind the markers."""


@dataclass(frozen=True, kw_only=True, order=True)
class Pair:
    """A recorded resolution: git's id of the conflict, and the file before and after.

    `variant` counts files with the same conflict in different surroundings, from 0. `preimage` is the half-merged
    file as git normalises it (no labels, sides sorted).
    """

    conflict_id: str
    variant: int
    preimage: bytes
    postimage: bytes

    @property
    def key(self) -> tuple[str, int]:
        """What tells pairs apart."""
        return self.conflict_id, self.variant


def file_name(kind: str, variant: int) -> str:
    """A file's name in an entry: `preimage` or `postimage`, with a number for further variants."""
    return f"{kind}.{variant}" if variant else kind


@dataclass(frozen=True, kw_only=True)
class HalfMerged:
    """A conflict in the work tree of `repo`: unmerged paths, and git's conflict id of those that rerere can handle.

    `before` holds the half-merged files with their markers.
    """

    repo: Git
    unmerged: tuple[str, ...]
    ids: Mapping[str, str]
    before: Mapping[str, bytes]

    def settle(self, pairs: Iterable[Pair]) -> None:
        """Let git resolve what it can from recorded resolutions, and begin to watch the rest."""
        git_dir = self.repo.path / ".git"
        (git_dir / "MERGE_RR").unlink(missing_ok=True)
        remove_tree(git_dir / "rr-cache")
        for pair in pairs:
            entry = git_dir / "rr-cache" / pair.conflict_id
            entry.mkdir(parents=True, exist_ok=True)
            (entry / file_name("preimage", pair.variant)).write_bytes(pair.preimage)
            (entry / file_name("postimage", pair.variant)).write_bytes(pair.postimage)
        self.repo(*_RERERE)

    def settled(self) -> dict[str, bytes]:
        """The files that git has resolved, by path."""
        left = set(unmerged_paths(self.repo))
        return {path: self.read(path) for path in self.ids if path not in left}

    def watched(self) -> dict[str, tuple[str, int]]:
        """Conflict id and variant of each path that waits for a person's resolution."""
        return _watched(self.repo)

    def learn(self, resolved: Mapping[str, bytes]) -> tuple[Pair, ...]:
        """Let git record a person's resolution of watched paths; what it does not take is left out."""
        waiting = self.watched()
        for path, data in resolved.items():
            (self.repo.path / path).write_bytes(data)
        self.repo(*_RERERE)
        found = (self._pair(*waiting[path]) for path in resolved if path in waiting)
        return tuple(pair for pair in found if pair)

    def _pair(self, conflict_id: str, variant: int) -> Pair | None:
        entry = self.repo.path / ".git" / "rr-cache" / conflict_id
        images = [entry / file_name(kind, variant) for kind in ("preimage", "postimage")]
        if not all(image.is_file() for image in images):
            return None
        preimage, postimage = (image.read_bytes() for image in images)
        return Pair(conflict_id=conflict_id, variant=variant, preimage=preimage, postimage=postimage)

    def read(self, path: str) -> bytes:
        """A file of the work tree."""
        return (self.repo.path / path).read_bytes()

    def diff(self, path: str, after: bytes) -> str:
        """From the half-merged file to what became of it: a unified diff, bytes that are not UTF-8 replaced."""
        blob = self.repo("hash-object", "-w", "--no-filters", "--stdin", stdin=self.before[path]).text
        entry = f"{FILE} {blob} 0\t{path}\0".encode("utf-8", "surrogateescape")
        self.repo("read-tree", "--empty")
        self.repo("update-index", "-z", "--index-info", stdin=entry)
        (self.repo.path / path).write_bytes(after)
        return self.repo(*_DIFF).text + "\n"


@contextlib.contextmanager
def half_merged(repo: Git, *, ours: str, theirs: str, work: Path) -> Iterator[HalfMerged]:
    """The conflict of two commits of `repo`, in a tiny repository in `work`; gone when the block ends.

    Args:
        repo: has both commits; gets no object.
        ours: upstream's side with what stands on it; its trees hold no more than the paths in conflict.
        theirs: the patch's side; both have one parent, the same.
        work: directory for the tiny repository.

    Raises:
        CommandFailed: git cannot merge them at all.
    """
    with _tiny_repository(repo, work) as tiny:
        tiny("checkout", "--quiet", "--detach", ours)
        tiny("branch", _THEIRS, theirs)
        tiny(*_MERGE, _THEIRS, ok_codes=(0, 1))
        tiny(*_RERERE)
        ids = {path: conflict_id for path, (conflict_id, _) in _watched(tiny).items()}
        before = {path: (tiny.path / path).read_bytes() for path in ids}
        yield HalfMerged(repo=tiny, unmerged=unmerged_paths(tiny), ids=ids, before=before)


def misplaced(repo: Git, pairs: Iterable[Pair], *, work: Path) -> tuple[Pair, ...]:
    """The pairs whose preimage does not hold the conflict that they are filed under, by git's own count."""
    numbered = {str(number): pair for number, pair in enumerate(pairs)}
    if not numbered:
        return ()
    with _tiny_repository(repo, work) as tiny:
        blob = tiny("hash-object", "-w", "--stdin", stdin=b"").text
        stages = (f"{FILE} {blob} {stage}\t{name}\n" for name in numbered for stage in (2, 3))
        tiny("update-index", "--index-info", stdin="".join(stages).encode())
        for name, pair in numbered.items():
            # git knows a marker by its label, which it leaves out of preimages
            (tiny.path / name).write_bytes(MARKER.sub(rb"\1 side", pair.preimage))
        tiny(*_RERERE)
        found = {name: conflict_id for name, (conflict_id, _) in _watched(tiny).items()}
    return tuple(pair for name, pair in numbered.items() if found.get(name) != pair.conflict_id)


def sides_of(repo: Git, stages: Iterable[Stage]) -> tuple[str, str] | None:
    """Two commits, written into `repo`, whose merge is the conflict of some unmerged paths and nothing else.

    Made of the stages, not of the trees: a path that upstream renamed stands in them under its new name. Paths that
    are not a regular file on both sides are left out, rerere has no words for them; None when no path is left.
    """
    by_path: dict[bytes, dict[int, Stage]] = {}
    for stage in stages:
        by_path.setdefault(stage.path, {})[stage.number] = stage
    fit = [sides for sides in by_path.values() if {2, 3} <= set(sides) and all(map(_is_file, sides.values()))]
    if not fit:
        return None
    base, ours, theirs = (_tree(repo, [sides[number] for sides in fit if number in sides]) for number in (1, 2, 3))
    start = repo("commit-tree", "-m", "base", base).text
    upstream, patch = (repo("commit-tree", "-m", "side", "-p", start, tree).text for tree in (ours, theirs))
    return upstream, patch


def stages_of(repo: Git, *, index: Path | None = None) -> tuple[Stage, ...]:
    """All entries of an index of `repo`, its own or a copy; what is merged has the number 0."""
    env = {"GIT_INDEX_FILE": str(index)} if index else {}
    found = []
    for entry in repo("ls-files", "--stage", "-z", env=env).stdout.split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        mode, blob, number = head.decode("ascii").split()
        found.append(Stage(path=path, number=int(number), mode=mode, blob=blob))
    return tuple(found)


def unmerged_stages(repo: Git) -> tuple[Stage, ...]:
    """The sides of all unmerged paths in the index of `repo`."""
    return tuple(stage for stage in stages_of(repo) if stage.number)


def unmerged_paths(repo: Git) -> tuple[str, ...]:
    """The unmerged paths in the index of `repo`."""
    return tuple(dict.fromkeys(fsdecode(stage.path) for stage in unmerged_stages(repo)))


def _is_file(stage: Stage) -> bool:
    return stage.mode in (FILE, EXECUTABLE)


def _tree(repo: Git, stages: Iterable[Stage]) -> str:
    lines = (f"{stage.mode} {stage.blob} 0\t".encode("ascii") + stage.path + b"\0" for stage in stages)
    with tempfile.TemporaryDirectory() as scratch:
        env = {"GIT_INDEX_FILE": f"{scratch}/index"}
        repo("read-tree", "--empty", env=env)
        repo("update-index", "-z", "--index-info", stdin=b"".join(lines), env=env)
        return repo("write-tree", env=env).text


@contextlib.contextmanager
def _tiny_repository(repo: Git, work: Path) -> Iterator[Git]:
    work.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f"{PREFIX}rerere-", dir=work))
    try:
        yield private_repository(repo, place, markers=USUAL_MARKERS)
    finally:
        remove_tree(place)


def _watched(repo: Git) -> dict[str, tuple[str, int]]:
    """What git keeps in mind of paths under rerere's eye: `<conflict id>[.<variant>]`, tab, path, NUL."""
    listing = repo.path / ".git" / "MERGE_RR"
    entries = listing.read_bytes().split(b"\0")[:-1] if listing.is_file() else []
    found = {}
    for entry in entries:
        name, _, path = entry.partition(b"\t")
        conflict_id, _, variant = name.decode("ascii").partition(".")
        found[fsdecode(path)] = (conflict_id, int(variant or 0))
    return found
