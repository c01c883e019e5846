"""Write a tree into a git repository by `git fast-import`: exact bytes and modes, no working tree, bounded memory."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from ci.git import IDENTITY_EMAIL, IDENTITY_NAME, Git
from ci.upstream.archive import Entry

BATCH_BYTES = 32 << 20
"""Content that is held in memory and sent to one process."""
_EPOCH_S = 1_700_000_000
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+,@%= ")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an import made: ids of the commit and of its tree, number of files, bytes of content."""

    commit: str
    tree: str
    files: int
    size: int


def import_tree(git: Git, ref: str, entries: Iterable[Entry], *, number: int, message: str) -> Imported:
    """Commit files as the whole content of `ref`.

    The commit has no parent, a fixed author and a date that follows from `number` alone, so its id depends on
    nothing but tree, number and message: not on the order in which builds arrive, nor on the machine.

    Args:
        git: a repository nobody else looks at yet.
        ref: full ref name; whatever it held is forgotten.
        entries: read to the end before the commit is made.
        number: build number; seconds added to a fixed date.
        message: commit message.

    Raises:
        CommandFailed: git refuses.
    """
    listing: list[bytes] = []
    size = 0
    for batch in _batches(entries):
        blobs = {_blob_id(entry.data): entry.data for entry in batch}
        _store(git, blobs)
        listing += [_modify(entry) for entry in batch]
        size += sum(len(entry.data) for entry in batch)
    who = f"{IDENTITY_NAME} <{IDENTITY_EMAIL}> {_EPOCH_S + number} +0000"
    head = f"commit {ref}\nauthor {who}\ncommitter {who}\n".encode()
    _fast_import(git, head + _data(message.encode()) + b"deleteall\n" + b"".join(listing))
    commit, tree = git.commit_of(ref), git.tree_of(ref)
    assert commit is not None and tree is not None  # noqa: S101, PT018 - fast-import has just written both
    return Imported(commit=commit, tree=tree, files=len(listing), size=size)


def _batches(entries: Iterable[Entry]) -> Iterable[list[Entry]]:
    batch: list[Entry] = []
    held = 0
    for entry in entries:
        batch.append(entry)
        held += len(entry.data)
        if held >= BATCH_BYTES:
            yield batch
            batch, held = [], 0
    yield batch


def _blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _store(git: Git, blobs: dict[str, bytes]) -> None:
    """Send what the repository lacks; from one build to the next that is a few hundred files of thousands."""
    asked = "".join(f"{name}\n" for name in blobs).encode()
    answers = git("cat-file", "--batch-check=%(objectname)", stdin=asked).text.splitlines()
    missing = [name for name, answer in zip(blobs, answers, strict=True) if answer != name]
    if missing:
        _fast_import(git, b"".join(b"blob\n" + _data(blobs[name]) for name in missing))


def _fast_import(git: Git, stream: bytes) -> None:
    # unpackLimit 0: always a pack, never loose files; --done: a cut stream is an error
    git("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done", stdin=stream + b"done\n")


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _modify(entry: Entry) -> bytes:
    return b"M %b %b %b\n" % (entry.mode.encode(), _blob_id(entry.data).encode(), quoted_path(entry.path))


def quoted_path(path: bytes) -> bytes:
    """A path as fast-import reads it: in quotes, with every unusual byte as a C octal escape."""
    return b'"' + b"".join(bytes((byte,)) if byte in _PLAIN else b"\\%03o" % byte for byte in path) + b'"'
