"""How git writes down trees and objects: modes, the listing of a tree, the answer of `git cat-file --batch`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ci.errors import SourceTreeProblem

FILE, EXECUTABLE, SYMLINK, SUBMODULE, FOLDER = "100644", "100755", "120000", "160000", "40000"


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


def parse_tree(raw: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object: `<mode> <name>`, NUL, 20 bytes of id, again and again."""
    found: dict[bytes, Entry] = {}
    at = 0
    while at < len(raw):
        blank, nul = raw.index(b" ", at), raw.index(b"\0", at)
        found[raw[blank + 1 : nul]] = Entry(raw[at:blank].decode("ascii"), raw[nul + 1 : nul + 21].hex())
        at = nul + 21
    return found


def render_tree(entries: Entries) -> bytes:
    """The tree object of some entries; inverse of `parse_tree`. git sorts a folder as if its name had a slash."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + b"/" if item[1].is_tree else item[0])
    return b"".join(b"%b %b\0%b" % (entry.mode.encode(), name, bytes.fromhex(entry.id)) for name, entry in ordered)
