"""Diffs as git writes them, made of two texts without git, or of what was read of one."""

from collections.abc import Iterable
from difflib import unified_diff

from ci.series.hunks import FileDiff


def split(text: bytes) -> list[bytes]:
    """Lines with their ends; the text ends in a newline, which alone ends a line."""
    return [line + b"\n" for line in text.split(b"\n")[:-1]]


def diff_of(old: bytes | None, new: bytes | None, *, path: str = "f.c", context: int = 3) -> bytes:
    """What turns one text into the other: None stands for no such file, and texts end in a newline."""
    if old == new:
        return b""
    before, after = ([line.decode("latin-1") for line in split(text or b"")] for text in (old, new))
    names = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
    kind = "new file mode 100644\n" if old is None else "deleted file mode 100644\n" if new is None else ""
    hunks = "".join(unified_diff(before, after, *names, n=context))
    return f"diff --git a/{path} b/{path}\n{kind}index 1..2\n{hunks}".encode("latin-1")


def render_diff(files: Iterable[FileDiff]) -> bytes:
    """The bytes that `parse_diff` read, from the first `diff --git` line on."""
    return b"".join(line + b"\n" for file in files for line in file.raw_lines)
