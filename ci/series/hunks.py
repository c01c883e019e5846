"""A diff as values: the files that it changes, by which hunks, every line as bytes.

Where a hunk ends is decided by `ci.series.patch_diff` alone. Nothing is checked here: of a diff that `stray_line`
refuses, the hunks in front of the fault are read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from os import fsdecode, fsencode

from ci.series.patch_diff import FILE, NO_NEWLINE, Spans, after_hunk, first_hunk, spans_of

HUNKS_BEGIN = (b"@@ ", b"GIT binary patch")
OLD_NAMES = (b"--- ", b"rename from ", b"copy from ")
NEW_NAMES = (b"+++ ", b"rename to ", b"copy to ")
STRIPPED = (b"--- ", b"+++ ")
"""What stands in front of names that carry `a/` or `b/`."""

ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of a hunk.

    `sign` is a blank, a minus or a plus; `text` carries its line end, if the file has one there. `old` and `new` are
    its numbers in the two files, from 1; for a side that lacks it, the number that the next line has there.
    """

    sign: bytes
    text: bytes
    old: int
    new: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """Lines that change with none between that stays: the smallest part of a patch that has a place.

    `above` and `below` are the lines that stay next to them, empty where the hunk ends.
    """

    above: bytes
    lines: tuple[Line, ...]
    below: bytes

    @property
    def result(self) -> bytes:
        """What stands there afterwards, with the two neighbours."""
        return self.above + b"".join(line.text for line in self.lines if line.sign == b"+") + self.below


@dataclass(frozen=True, kw_only=True)
class Hunk:
    """One region of a file that changes: its first line and its counted lines as they stand in the diff."""

    spans: Spans
    header: bytes
    body: tuple[bytes, ...]

    @property
    def lines(self) -> Iterator[Line]:
        """Its lines with their numbers."""
        # a side without lines is numbered by the line in front of it (diff's own rule)
        old, new = (
            start + (count == 0)
            for start, count in (
                (self.spans.old_start, self.spans.old_count),
                (self.spans.new_start, self.spans.new_count),
            )
        )
        for raw, behind in zip(self.body, (*self.body[1:], b""), strict=True):
            if raw.startswith(NO_NEWLINE):
                continue
            sign = raw[:1] or b" "  # an editor may have stripped the blank of an empty line
            end = b"" if behind.startswith(NO_NEWLINE) else b"\n"
            yield Line(sign=sign, text=raw[1:] + end, old=old, new=new)
            old, new = old + (sign != b"+"), new + (sign != b"-")

    @property
    def runs(self) -> Iterator[Run]:
        """Its changes, cut at every line that stays."""
        above: bytes = b""
        groups = [(stays, tuple(lines)) for stays, lines in groupby(self.lines, key=lambda line: line.sign == b" ")]
        for (stays, lines), (_, behind) in zip(groups, (*groups[1:], (True, ())), strict=True):
            if not stays:
                yield Run(above=above, lines=lines, below=behind[0].text if behind else b"")
            above = lines[-1].text

    @property
    def preimage(self) -> bytes:
        """The old file's text in this region."""
        return b"".join(line.text for line in self.lines if line.sign != b"+")

    @property
    def postimage(self) -> bytes:
        """The new file's text in this region."""
        return b"".join(line.text for line in self.lines if line.sign != b"-")


@dataclass(frozen=True, kw_only=True)
class FileDiff:
    """What a diff does to one file.

    `old` is None for a new file, `new` for a deleted one; undecodable bytes of a path are surrogates (os.fsencode
    inverts). A change of a mode, a name or a binary file has no hunks. `head` and `rest` are the lines before and
    behind the hunks.
    """

    old: str | None
    new: str | None
    head: tuple[bytes, ...]
    hunks: tuple[Hunk, ...]
    rest: tuple[bytes, ...]

    @property
    def path(self) -> str:
        """Its name in the new tree, or the one that it had."""
        return self.new or self.old or ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All its names, each once."""
        return tuple(dict.fromkeys(name for name in (self.old, self.new) if name))

    @property
    def raw_lines(self) -> tuple[bytes, ...]:
        """All its lines as they stand in the diff."""
        hunks = (line for hunk in self.hunks for line in (hunk.header, *hunk.body))
        return (*self.head, *hunks, *self.rest)


def parse_diff(diff: bytes) -> tuple[FileDiff, ...]:
    """Read a diff as git writes it; what stands in front of its first `diff --git` line is passed over."""
    return tuple(_file(block) for block in _blocks(diff))


def shown(path: str) -> str:
    """A path for people and for JSON: bytes that are no UTF-8 and characters that cannot be seen are escaped."""
    text = fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _blocks(diff: bytes) -> Iterator[tuple[bytes, ...]]:
    """Lines of each file's diff. A hunk's lines begin with blank, plus, minus or backslash: no confusion."""
    block: list[bytes] = []
    for line in diff.removesuffix(b"\n").split(b"\n"):
        if line.startswith(FILE):
            if block:
                yield tuple(block)
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield tuple(block)


def _file(block: tuple[bytes, ...]) -> FileDiff:
    begin = at = first_hunk(block)
    hunks = []
    while at < len(block) and (spans := spans_of(block[at])):
        stop = after_hunk(block, at + 1, spans)
        if stop.short:
            break
        hunks.append(Hunk(spans=spans, header=block[at], body=block[at + 1 : stop.at]))
        at = stop.at
    old, new = _names(block)
    return FileDiff(old=old, new=new, head=block[:begin], hunks=tuple(hunks), rest=block[at:])


def _names(block: tuple[bytes, ...]) -> tuple[str | None, str | None]:
    old = new = _same_name_twice(block[0].removeprefix(FILE))
    for line in block[1:]:
        if line.startswith(HUNKS_BEGIN):
            break
        old = _named(line, OLD_NAMES, old) if not line.startswith(b"new file mode ") else b""
        new = _named(line, NEW_NAMES, new) if not line.startswith(b"deleted file mode ") else b""
    return fsdecode(old) or None, fsdecode(new) or None


def _named(line: bytes, prefixes: tuple[bytes, ...], otherwise: bytes) -> bytes:
    prefix = next((p for p in prefixes if line.startswith(p)), None)
    return _one_path(line[len(prefix) :], stripped=prefix in STRIPPED) if prefix else otherwise


def _one_path(text: bytes, *, stripped: bool) -> bytes:
    """A path as git prints it: perhaps quoted, perhaps with `a/` in front, a tab after names with blanks."""
    path = unquote(text) if text.startswith(b'"') else text.split(b"\t")[0]
    if path == b"/dev/null":
        return b""
    return path.partition(b"/")[2] if stripped else path


def _same_name_twice(text: bytes) -> bytes:
    """The name in `a/NAME b/NAME`: without a rename both are one, so the middle is where they part."""
    return _one_path(text if text.startswith(b'"') else text[: len(text) // 2], stripped=True)


def unquote(text: bytes) -> bytes:
    """Undo git's C-style quoting up to the closing quote; inverse of `core.quotePath`."""
    inner = re.match(rb'"((?:[^"\\]|\\.)*)"', text)
    if not inner:
        return text
    return re.sub(rb"\\([0-7]{3}|.)", _unescaped, inner[1])


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF if len(code) == 3 else ESCAPES.get(code, code[0])])


def places_of(text: bytes, blob: bytes) -> Iterator[int]:
    """The lines of a file, from 1, where whole lines of text begin; a text that lacks its line end ends the file."""
    at, line, counted = blob.find(text) if text else -1, 1, 0
    while at >= 0:
        if (at == 0 or blob[at - 1 : at] == b"\n") and (text.endswith(b"\n") or at + len(text) == len(blob)):
            line, counted = line + blob.count(b"\n", counted, at), at
            yield line
        at = blob.find(text, at + 1)
