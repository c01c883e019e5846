"""The one door to pygit2: raw git objects in-process, and the line difference of two blobs.

Nothing here merges or applies text: that is git's own work (`ci.series.merging`). Objects are read from a repository
and those it borrows from, and written as loose objects into that repository alone.
"""

from collections import Counter
from collections.abc import Iterator
from os import fsencode
from pathlib import Path

import pygit2
from pygit2.enums import DiffFlag, DiffOption, ObjectType

from ci.errors import SourceTreeProblem
from ci.git import Git
from ci.gittree import FOLDER, SUBMODULE, Entries, parse_tree, render_tree
from ci.series.threeway import find

EMPTY: Entries = {}


class Objects:
    """Objects of one repository by id (40 hex digits); trees are kept parsed."""

    @classmethod
    def of(cls, git: Git) -> "Objects":
        """The objects of a repository, bare or not."""
        return cls(Path(git("rev-parse", "--path-format=absolute", "--git-path", "objects").text))

    def __init__(self, objects_dir: Path) -> None:
        self._odb = pygit2.Odb(str(objects_dir))
        self._trees: dict[str, Entries] = {}

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
        """Store a tree; its id."""
        tree = self._write(ObjectType.TREE, render_tree(entries))
        self._trees[tree] = dict(entries)
        return tree

    def blob(self, blob: str) -> bytes:
        """Content of a blob.

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
        entry = find(self.entries, tree, tuple(fsencode(path).split(b"/")))
        return None if entry is None or entry.mode in (FOLDER, SUBMODULE) else self.blob(entry.id)

    def write_blob(self, data: bytes) -> str:
        """Store a blob; its id."""
        return self._write(ObjectType.BLOB, data)

    def commit(self, commit: str) -> bytes:
        """The bytes of a commit object: header lines, a blank line, the message.

        Raises:
            SourceTreeProblem: no such commit.
        """
        return self._read(commit, ObjectType.COMMIT)

    def write_commit(self, raw: bytes) -> str:
        """Store a commit object; its id."""
        return self._write(ObjectType.COMMIT, raw)

    def changed_lines(self, old: str | None, new: str | None) -> Counter[tuple[str, bytes]]:
        """How often each line was added ("+") or removed ("-") from one blob to another; None is an empty file.

        A binary blob has no lines: nothing is counted.
        """
        before, after = (self.blob(blob) if blob else b"" for blob in (old, new))
        return Counter(_changes(before, after))

    def _read(self, name: str, kind: ObjectType) -> bytes:
        try:
            found, data = self._odb.read(name)
        except (KeyError, ValueError):
            raise SourceTreeProblem(f"git object {name} is missing", hint="invoke sync-upstream") from None
        if found != kind:
            raise SourceTreeProblem(
                f"git object {name} is a {ObjectType(found).name.lower()}, not a {kind.name.lower()}"
            )
        return data

    def _write(self, kind: ObjectType, data: bytes) -> str:
        return str(self._odb.write(kind, data))


def _changes(before: bytes, after: bytes) -> Iterator[tuple[str, bytes]]:
    flags = DiffOption.MINIMAL | DiffOption.IGNORE_SUBMODULES
    patch = pygit2.Patch.create_from(before, after, flag=flags, context_lines=0, interhunk_lines=0)
    if patch.delta.flags & DiffFlag.BINARY:
        return
    for hunk in patch.hunks:
        for line in hunk.lines:
            if line.origin in "+-":
                yield line.origin, line.raw_content.rstrip(b"\n")
