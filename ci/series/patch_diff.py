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
HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@.*", re.DOTALL)
BINARY = b"GIT binary patch"
BINARY_SIZE = re.compile(rb"(?:literal|delta) \d+")
BINARY_DATA = re.compile(rb"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+")
BINARY_OMITTED = re.compile(rb"Binary files .* differ")
SIGNATURE = b"-- "
VERSION = re.compile(rb"\d+\.\d.*")

COUNTS = {b" ": (1, 1), b"": (1, 1), b"-": (1, 0), b"+": (0, 1)}
"""Old and new lines that a hunk's line stands for; an editor may have stripped the blank of an empty one."""

NO_NEWLINE = b"\\ "
"""Begins what stands behind a line without a line end, in the language of who made the diff."""

SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class Spans:
    """The numbers in a hunk's first line: where it begins in the old and the new file, and how many lines it has."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


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
    at = _after_extended(lines, at)
    if _line(lines, at) == BINARY:
        return Stop(at=_after_binary(lines, at + 1))
    if BINARY_OMITTED.fullmatch(_line(lines, at)):
        return Stop(at=at + 1)
    if _has_names(lines, at):
        return _after_hunks(lines, at + 2)
    return Stop(at=at)


def _after_extended(lines: tuple[bytes, ...], at: int) -> int:
    while EXTENDED.fullmatch(_line(lines, at)):
        at += 1
    return at


def _has_names(lines: tuple[bytes, ...], at: int) -> bool:
    return _line(lines, at).startswith(b"--- ") and _line(lines, at + 1).startswith(b"+++ ")


def first_hunk(lines: tuple[bytes, ...]) -> int:
    """Where the hunks of one file's diff begin, its `diff --git` line being the first; its end when it has none."""
    at = _after_extended(lines, 1)
    return at + 2 if _has_names(lines, at) else len(lines)


def spans_of(line: bytes) -> Spans | None:
    """The numbers in a hunk's first line; None for any other line."""
    match = HUNK.fullmatch(line)
    if match is None:
        return None
    old_start, old_count, new_start, new_count = (1 if number is None else int(number) for number in match.groups())
    return Spans(old_start=old_start, old_count=old_count, new_start=new_start, new_count=new_count)


def _after_hunks(lines: tuple[bytes, ...], at: int) -> Stop:
    stop = Stop(at=at, short=True)  # two names without one hunk
    while spans := spans_of(_line(lines, stop.at)):
        stop = after_hunk(lines, stop.at + 1, spans)
        if stop.short:
            break
    return stop


def after_hunk(lines: tuple[bytes, ...], at: int, spans: Spans) -> Stop:
    """Where a hunk ends whose first line stands before `at`: its numbers decide, as in git-apply(1)."""
    old, new = spans.old_count, spans.new_count
    while (old or new) and at < len(lines):
        fewer_old, fewer_new = COUNTS.get(lines[at][:1], (old + 1, new + 1))
        if fewer_old > old or fewer_new > new:
            break
        old, new, at = old - fewer_old, new - fewer_new, at + 1
        if _line(lines, at).startswith(NO_NEWLINE):
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
