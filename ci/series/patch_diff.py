"""Walks the diff of a patch file line by line, as git-apply(1) counts it, and names the first line that is no diff.

git drops what it cannot read between two hunks without a word: half of a second mail, a line behind a hunk's counted
lines. Whoever reads the file believes that it counts. Bytes throughout; nothing is decoded but the line in a fault.
"""

import re
from dataclasses import dataclass

FILE = b"diff --git "
EXTENDED = re.compile(
    rb"(?:old mode|new mode|deleted file mode|new file mode) [0-7]+"
    rb"|(?:copy|rename) (?:from|to) .+"
    rb"|(?:similarity|dissimilarity) index \d+%"
    rb"|index [0-9a-f]+\.\.[0-9a-f]+(?: [0-7]+)?"
)
HUNK = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@.*", re.DOTALL)
BINARY = b"GIT binary patch"
BINARY_SIZE = re.compile(rb"(?:literal|delta) \d+")
BINARY_DATA = re.compile(rb"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+")
BINARY_OMITTED = re.compile(rb"Binary files .* differ")
SIGNATURE = b"-- "
VERSION = re.compile(rb"\d+\.\d.*")

COUNTS = {b" ": (1, 1), b"": (1, 1), b"-": (1, 0), b"+": (0, 1)}
"""Old and new lines that a hunk's line stands for; an editor may have stripped the blank of an empty one."""

SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Where a part of the diff ends: the first line behind it, and whether lines are missing in front of that."""

    at: int
    short: bool = False


def stray_line(diff: bytes, lines_before: int) -> str | None:
    """Name what stands in a diff and is none.

    Args:
        diff: the end of a patch mail; what stands before the first `diff --git` line is not looked at.
        lines_before: lines of the file in front of `diff`.

    Returns:
        The first fault with its line number in the file, or None.
    """
    lines = tuple(diff.removesuffix(b"\n").split(b"\n"))
    stop = Stop(at=next((at for at, line in enumerate(lines) if line.startswith(FILE)), len(lines)))
    while not stop.short and _line(lines, stop.at).startswith(FILE):
        stop = _after_file(lines, stop.at + 1)
    if stop.short:
        return f"hunk is cut short at line {lines_before + min(stop.at + 1, len(lines))}"
    end = _after_signature(lines, stop.at)
    if end == len(lines):
        return None
    text = lines[end][:SHOWN].decode("utf-8", "backslashreplace")
    return f"line {lines_before + end + 1}: {text!r} is no part of the diff, git would drop it"


def _line(lines: tuple[bytes, ...], at: int) -> bytes:
    return lines[at] if at < len(lines) else b""


def _after_file(lines: tuple[bytes, ...], at: int) -> Stop:
    while EXTENDED.fullmatch(_line(lines, at)):
        at += 1
    if _line(lines, at) == BINARY:
        return Stop(at=_after_binary(lines, at + 1))
    if BINARY_OMITTED.fullmatch(_line(lines, at)):
        return Stop(at=at + 1)
    if _line(lines, at).startswith(b"--- ") and _line(lines, at + 1).startswith(b"+++ "):
        return _after_hunks(lines, at + 2)
    return Stop(at=at)


def _after_hunks(lines: tuple[bytes, ...], at: int) -> Stop:
    stop = Stop(at=at, short=True)  # two names without one hunk
    while match := HUNK.fullmatch(_line(lines, stop.at)):
        stop = _after_hunk(lines, stop.at + 1, *(1 if count is None else int(count) for count in match.groups()))
        if stop.short:
            break
    return stop


def _after_hunk(lines: tuple[bytes, ...], at: int, old: int, new: int) -> Stop:
    while (old or new) and at < len(lines):
        fewer_old, fewer_new = COUNTS.get(lines[at][:1], (old + 1, new + 1))
        if fewer_old > old or fewer_new > new:
            break
        old, new, at = old - fewer_old, new - fewer_new, at + 1
        if _line(lines, at).startswith(b"\\ "):  # "No newline at end of file", in the language of who made it
            at += 1
    return Stop(at=at, short=bool(old or new))


def _after_binary(lines: tuple[bytes, ...], at: int) -> int:
    """Behind the new bytes and perhaps the old ones; a blank line ends each."""
    for _ in range(2):
        if not BINARY_SIZE.fullmatch(_line(lines, at)):
            break
        at += 1
        while BINARY_DATA.fullmatch(_line(lines, at)):
            at += 1
        if at < len(lines) and not lines[at]:
            at += 1
    return at


def _after_signature(lines: tuple[bytes, ...], at: int) -> int:
    """Behind what git-format-patch(1) puts last: dashes, its version, blank lines."""
    if _line(lines, at) == SIGNATURE:
        at += 2 if VERSION.fullmatch(_line(lines, at + 1)) else 1
    while at < len(lines) and not lines[at]:
        at += 1
    return at
