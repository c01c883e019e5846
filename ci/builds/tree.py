"""Read a git tree byte for byte, without a checkout.

`git archive` and a checkout obey the tree's own `.gitattributes` (line ends, `export-ignore`, `export-subst`);
what is built and what the source archive holds must be the objects themselves, so blobs are read as they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.errors import SourceTreeProblem
from ci.files import no_space_as_error
from ci.git import Git, refuse_dash

BATCH = 400
"""Blobs per `git cat-file` process: bounds memory to a few dozen megabytes on llama.cpp's tree."""

PLAIN, EXECUTABLE, LINK, SUBMODULE = "100644", "100755", "120000", "160000"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One file of a tree: git mode, object id, path with `/` between its parts."""

    mode: str
    object_id: str
    path: str


def list_tree(git: Git, tree: str) -> tuple[Entry, ...]:
    """All files of a tree in git's order; submodules are left out, as they have no content here.

    Raises:
        SourceTreeProblem: no such tree, or a name that would leave the folder it is written to.
    """
    found = git.tree_of(refuse_dash(tree, what="tree"))
    if found is None:
        raise SourceTreeProblem(f"{git.path}: no tree {tree}", hint="invoke sync-upstream")
    listing = git("ls-tree", "-r", "-z", "--full-tree", found).stdout
    entries = (_entry(line) for line in listing.split(b"\0") if line)
    return tuple(entry for entry in entries if entry.mode != SUBMODULE)


def _entry(line: bytes) -> Entry:
    described, _, raw_path = line.partition(b"\t")
    mode, _, object_id = described.decode("ascii").split(" ")
    path = raw_path.decode("utf-8", "surrogateescape")
    if any(part.lower() in ("", ".", "..", ".git") for part in path.split("/")):
        raise SourceTreeProblem(f"tree holds the unsafe path {path!r}")
    return Entry(mode=mode, object_id=object_id, path=path)


def read_blobs(git: Git, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Each entry with its content, in the given order.

    Raises:
        SourceTreeProblem: an object is missing from the repository.
    """
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        asked = "".join(f"{entry.object_id}\n" for entry in batch).encode()
        said = git("cat-file", "--batch", stdin=asked).stdout
        yield from zip(batch, _split_batch(said), strict=True)


def _split_batch(said: bytes) -> Iterator[bytes]:
    """Contents out of `git cat-file --batch` output: `<id> blob <size>`, newline, bytes, newline."""
    at = 0
    while at < len(said):
        end = said.index(b"\n", at)
        words = said[at:end].split()
        if len(words) != 3 or words[1] != b"blob":
            raise SourceTreeProblem(f"git object is not a readable blob: {said[at:end].decode('ascii', 'replace')}")
        size = int(words[2])
        yield said[end + 1 : end + 1 + size]
        at = end + size + 2


def write_tree(git: Git, tree: str, into: Path) -> int:
    """Write a tree's files below an empty folder; returns how many.

    Raises:
        SourceTreeProblem: as `list_tree` and `read_blobs`.
        DiskFull: no room.
    """
    entries = list_tree(git, tree)
    with no_space_as_error(str(into)):
        for folder in sorted({(into / entry.path).parent for entry in entries}):
            folder.mkdir(parents=True, exist_ok=True)
        for entry, content in read_blobs(git, entries):
            _write(into / entry.path, entry.mode, content)
    return len(entries)


def _write(path: Path, mode: str, content: bytes) -> None:
    if mode == LINK:
        path.symlink_to(content.decode("utf-8", "surrogateescape"))
        return
    path.write_bytes(content)
    path.chmod(0o755 if mode == EXECUTABLE else 0o644)
