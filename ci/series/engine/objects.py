"""The one door to pygit2: raw git objects in-process, and the line difference of two blobs.

Nothing here merges or applies text: that is git's own work (`ci.series.engine.merging`). Objects are read from a
repository and those it borrows from. What is written stays in memory until git has to see it (`visible`): most trees
of a rebase never have to, and a file for each would cost more than all the rest.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pygit2
from pygit2.enums import DiffFlag, DiffOption, ObjectType

from ci.errors import SourceTreeProblem
from ci.git import Git
from ci.gittree import FOLDER, SUBMODULE, Entries, object_id, parse_tree, render_tree
from ci.series.engine.threeway import find, parted

EMPTY: Entries = {}

COMPRESSION = 1
"""zlib's level for loose objects: they are read once or twice, and packed anew when they leave."""

DAMAGED = "look what is damaged: git -C <folder of the history> fsck; then remove that folder: invoke sync-upstream"

BLOBS_KEPT = 256
"""Files that are read again soon: the sides of one merge are those of the next."""


class Objects:
    """Objects of one repository by id (40 hex digits); trees are kept parsed."""

    @classmethod
    def of(cls, git: Git) -> "Objects":
        """The objects of a repository, bare or not."""
        return cls(git.objects_dir)

    def __init__(self, objects_dir: Path) -> None:
        self._odb = pygit2.Odb(str(objects_dir))
        self._writer = pygit2.Odb()  # without what is borrowed: each write would look there first
        self._writer.add_backend(pygit2.OdbBackendLoose(str(objects_dir), COMPRESSION, False), 1)
        self._trees: dict[str, Entries] = {}
        self._made: dict[str, tuple[ObjectType, bytes]] = {}
        self._tree_of: dict[str, str] = {}
        self._visible: set[str] = set()
        self.blob = lru_cache(BLOBS_KEPT)(self._blob)

    def entries(self, tree: str | None) -> Entries:
        """The entries of a tree; none for None, so that an absent folder reads like an empty one.

        Raises:
            SourceTreeProblem: no such tree.
        """
        if tree is None:
            return EMPTY
        if tree not in self._trees:
            self._trees[tree] = parse_tree(self._read(tree, ObjectType.TREE))
        return self._trees[tree]

    def write_tree(self, entries: Entries) -> str:
        """Make a tree; its id."""
        tree = self._write(ObjectType.TREE, render_tree(entries))
        self._trees[tree] = dict(entries)
        return tree

    def _blob(self, blob: str) -> bytes:
        """Content of a blob (as `blob`, which keeps the last ones).

        Raises:
            SourceTreeProblem: no such blob.
        """
        return self._read(blob, ObjectType.BLOB)

    def file(self, tree: str, path: str) -> bytes | None:
        """Content of a file in a tree; None when there is none, or a submodule.

        Args:
            tree: its id.
            path: with slashes; undecodable bytes as surrogates.
        """
        entry = find(self.entries, tree, parted(path))
        return None if entry is None or entry.mode in (FOLDER, SUBMODULE) else self.blob(entry.id)

    def commit(self, commit: str) -> bytes:
        """The bytes of a commit object: header lines, a blank line, the message.

        Raises:
            SourceTreeProblem: no such commit.
        """
        return self._read(commit, ObjectType.COMMIT)

    def write_blob(self, data: bytes) -> str:
        """Make a blob; its id."""
        return self._write(ObjectType.BLOB, data)

    def tree_of(self, commit: str) -> str:
        """The tree of a commit.

        Raises:
            SourceTreeProblem: no such commit.
        """
        if commit not in self._tree_of:
            self._tree_of[commit] = next(_references(ObjectType.COMMIT, self.commit(commit)))
        return self._tree_of[commit]

    def parents_of(self, commit: str) -> tuple[str, ...]:
        """The parents of a commit.

        Raises:
            SourceTreeProblem: no such commit.
        """
        _, *parents = _references(ObjectType.COMMIT, self.commit(commit))
        return tuple(parents)

    def write_commit(self, raw: bytes) -> str:
        """Make a commit object; its id."""
        return self._write(ObjectType.COMMIT, raw)

    def __contains__(self, name: str) -> bool:
        """Whether the repository, or one that it borrows from, has an object."""
        return name in self._visible or bool(self._odb.exists(name))

    def visible(self, name: str) -> str:
        """Write an object made here, and all made here that it refers to, where git finds them; its id."""
        waiting = [name]
        while waiting:
            made = self._made.pop(waiting.pop(), None)
            if made is not None:
                self._visible.add(str(self._writer.write(*made)))
                waiting += _references(*made)
        return name

    def missing_in(self, other: "Objects", commit: str) -> tuple[tuple[str, bytes], ...]:
        """Kind and content of a commit and of all below it that another repository does not have."""
        found: dict[str, tuple[str, bytes]] = {}
        waiting = [commit]
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            if name not in other:
                kind, data = self._made.get(name) or self._odb.read(name)
                found[name] = (ObjectType(kind).name.lower(), data)
                fresh = [below for below in _references(ObjectType(kind), data) if below not in seen]
                seen.update(fresh)
                waiting += fresh
        return tuple(found.values())

    def change(self, old: str | None, new: str | None) -> tuple[bytes, bytes]:
        """What one blob has and the other has not, from the first line that differs to the last; None is empty."""
        return trimmed(*(self.blob(blob) if blob else b"" for blob in (old, new)))

    def changed_lines(self, old: str | None, new: str | None) -> Counter[tuple[str, bytes]]:
        """How often each line was added ("+") or removed ("-") from one blob to another; None is an empty file.

        A binary blob has no lines: nothing is counted.
        """
        return Counter(_changes(*self.change(old, new)))

    def _read(self, name: str, kind: ObjectType) -> bytes:
        try:
            found, data = self._made.get(name) or self._odb.read(name)
        except (KeyError, ValueError):
            raise SourceTreeProblem(f"git object {name} is missing", hint="invoke sync-upstream") from None
        except pygit2.GitError as fault:
            raise SourceTreeProblem(f"git object {name} is damaged: {fault}", hint=DAMAGED) from None
        if found != kind:
            what = ObjectType(found).name.lower()
            raise SourceTreeProblem(f"git object {name} is a {what}, not a {kind.name.lower()}")
        return data

    def _write(self, kind: ObjectType, data: bytes) -> str:
        name = object_id(kind.name.lower(), data)
        if name not in self._visible:
            self._made[name] = (kind, data)
        return name


def _references(kind: ObjectType, data: bytes) -> Iterator[str]:
    """Ids of the objects that an object refers to, submodules left out; in a commit, tree and parents."""
    if kind is ObjectType.TREE:
        yield from (entry.id for entry in parse_tree(data).values() if entry.mode != SUBMODULE)
    if kind is ObjectType.COMMIT:
        lines = data.partition(b"\n\n")[0].split(b"\n")
        yield from (line.split()[1].decode("ascii") for line in lines if line.startswith((b"tree ", b"parent ")))


def trimmed(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """Two texts without the whole lines that they have in common at either end (pure)."""
    start = before.rfind(b"\n", 0, _common(before, after)) + 1
    before, after = before[start:], after[start:]
    same = _common(before[::-1], after[::-1])
    if not (_begins_line(before, same) and _begins_line(after, same)):
        same = len(before) - (before.find(b"\n", len(before) - same) + 1 or len(before))
    return before[: len(before) - same], after[: len(after) - same]


def _begins_line(text: bytes, last: int) -> bool:
    """Whether the `last` bytes of a text are whole lines."""
    at = len(text) - last
    return at == 0 or text[at - 1 : at] == b"\n"


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning, by halving: comparing slices is much faster than comparing bytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _changes(before: bytes, after: bytes) -> Iterator[tuple[str, bytes]]:
    flags = DiffOption.MINIMAL | DiffOption.IGNORE_SUBMODULES
    patch = pygit2.Patch.create_from(before, after, flag=flags, context_lines=0, interhunk_lines=0)
    if patch.delta.flags & DiffFlag.BINARY:
        return
    for hunk in patch.hunks:
        for line in hunk.lines:
            if line.origin in "+-":
                yield line.origin, line.raw_content.rstrip(b"\n")
