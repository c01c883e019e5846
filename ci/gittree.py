"""How git writes down trees and objects: modes, the listing of a tree, the answer of `git cat-file --batch`."""

from collections.abc import Iterator
from dataclasses import dataclass

from ci.errors import SourceTreeProblem

FILE, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"


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
