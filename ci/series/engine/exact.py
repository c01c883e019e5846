"""The result of one file's diff when nothing has to be searched or guessed, proved by the blob ids in it (pure).

An exported patch names the blob before and after each change by its full id. When the file has the first id, and the
hunks put in at their very lines give bytes of the second id, those bytes are what git makes of the patch.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ci.gittree import NO_OBJECT, Entry, object_id
from ci.series.hunks import FileDiff, Hunk

_INDEX = re.compile(rb"index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: (100644|100755))?")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) (100644|100755)")
_NAMES = (b"--- ", b"+++ ")


class Inexact(Exception):
    """Nothing is wrong, but the result cannot be proved here: renames, links, binary changes, other files."""


@dataclass(frozen=True, kw_only=True)
class File:
    """A regular file: its mode and content."""

    mode: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class _Header:
    """What the lines above the hunks say; modes are None where a side has no file."""

    old_mode: str | None
    new_mode: str | None
    ids: tuple[str, str] | None


def exact_result(file: FileDiff, before: Entry | None, blob: Callable[[str], bytes]) -> File | None:
    """What a file becomes; None when the diff takes it away.

    Args:
        file: its diff.
        before: what the tree has there.
        blob: reads a blob.

    Raises:
        Inexact: it is not what the diff was made on, or the result has another id than the diff says.
    """
    head = _header(file)
    if any(file.rest) or (before.mode if before else None) != head.old_mode:
        raise Inexact
    data = blob(before.id) if before else b""
    if head.ids is None:
        if file.hunks or before is None or head.new_mode is None:
            raise Inexact
        return File(mode=head.new_mode, data=data)
    after = _patched(data, file.hunks)
    if head.ids != (before.id if before else NO_OBJECT, object_id("blob", after) if head.new_mode else NO_OBJECT):
        raise Inexact
    return File(mode=head.new_mode, data=after) if head.new_mode else None


def _header(file: FileDiff) -> _Header:
    modes: dict[bytes, str] = {}
    ids = None
    for line in file.head[1:]:
        index, mode = _INDEX.fullmatch(line), _MODE.fullmatch(line)
        if index:
            ids = (index[1].decode(), index[2].decode())
            modes |= {b"old mode": index[3].decode(), b"new mode": index[3].decode()} if index[3] else {}
        elif mode:
            modes[mode[1]] = mode[2].decode()
        elif not line.startswith(_NAMES):
            raise Inexact
    return _Header(
        old_mode=modes.get(b"deleted file mode", modes.get(b"old mode")),
        new_mode=modes.get(b"new file mode", modes.get(b"new mode")),
        ids=ids,
    )


def _patched(data: bytes, hunks: Iterable[Hunk]) -> bytes:
    """The hunks put in at their very lines."""
    parts: list[bytes] = []
    at, line = 0, 1
    for hunk in hunks:
        begin = _start_of_line(data, at, hunk.spans.old_start - line) if hunk.preimage else len(data)
        if begin is None or not data.startswith(hunk.preimage, begin) or (not hunk.preimage and data):
            raise Inexact
        parts += [data[at:begin], hunk.postimage]
        at = begin + len(hunk.preimage)
        line = hunk.spans.old_start + hunk.preimage.count(b"\n")
    return b"".join((*parts, data[at:]))


def _start_of_line(data: bytes, at: int, lines: int) -> int | None:
    """Where the line begins that is some lines behind the one at `at`."""
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if not at:
            return None
    return at if lines >= 0 else None
