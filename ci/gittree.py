"""How git writes down trees and objects: modes, the listing of a tree, the answer of `git cat-file --batch`."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple, TypeAlias

from ci.errors import SourceTreeProblem

FILE, EXECUTABLE, SYMLINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"

NO_OBJECT = "0" * 40
"""The id that git writes where there is no object."""


@dataclass(frozen=True, kw_only=True)
class TreeFile:
    """One file of a tree: git's mode, object id, size in bytes (0 for a submodule), path as git has it."""

    mode: str
    object_id: str
    size: int
    path: bytes

    @property
    def name(self) -> str:
        """The path as text; bytes that are no UTF-8 survive as surrogates."""
        return self.path.decode("utf-8", "surrogateescape")


def parse_listing(listing: bytes) -> Iterator[TreeFile]:
    r"""Files out of `git ls-tree -r -l -z`: `<mode> <kind> <id> <size or ->`, tab, path, NUL."""
    for line in listing.split(b"\0")[:-1]:
        described, _, path = line.partition(b"\t")
        mode, _, object_id, size = described.decode("ascii").split()
        yield TreeFile(mode=mode, object_id=object_id, size=int(size) if size.isdigit() else 0, path=path)


def split_batch(said: bytes) -> Iterator[bytes]:
    """Contents out of `git cat-file --batch`: `<id> blob <size>`, newline, bytes, newline.

    Raises:
        SourceTreeProblem: an object that is missing or no blob.
    """
    at = 0
    while at < len(said):
        end = said.index(b"\n", at)
        words = said[at:end].split()
        if len(words) != 3 or words[1] != b"blob":
            raise SourceTreeProblem(f"git object is not a readable blob: {said[at:end].decode('ascii', 'replace')}")
        size = int(words[2])
        yield said[end + 1 : end + 1 + size]
        at = end + size + 2


class Entry(NamedTuple):
    """One entry of a tree object: git's mode as digits, object id as 40 hex digits."""

    mode: str
    id: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return self.mode == FOLDER

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, executable or not."""
        return self.mode in (FILE, EXECUTABLE)


Entries: TypeAlias = Mapping[bytes, Entry]
"""A tree object: entries by name (one path component, as bytes)."""


_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


@lru_cache(1 << 16)
def _entry(mode: bytes, raw_id: bytes) -> Entry:
    """Trees of one history repeat almost all of their entries."""
    return Entry(mode.decode("ascii"), raw_id.hex())


@lru_cache(1 << 16)
def _rendered(name: bytes, entry: Entry) -> tuple[bytes, bytes]:
    """What an entry is sorted by (a folder as if its name had a slash), and its bytes."""
    raw = b"%b %b\0%b" % (entry.mode.encode(), name, bytes.fromhex(entry.id))
    return (name + b"/" if entry.is_tree else name), raw


def parse_tree(raw: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object, in its order: `<mode> <name>`, NUL, 20 bytes of id, again and again."""
    return {name: _entry(mode, raw_id) for mode, name, raw_id in _ENTRY.findall(raw)}


def render_tree(entries: Entries) -> bytes:
    """The tree object of some entries, in git's order; inverse of `parse_tree`."""
    return b"".join(raw for _, raw in sorted(starmap(_rendered, entries.items())))


def object_id(kind: str, data: bytes) -> str:
    """Git's id of an object: SHA-1 over `<kind> <size>`, NUL, content."""
    return hashlib.sha1(b"%b %d\0%b" % (kind.encode(), len(data), data), usedforsecurity=False).hexdigest()
