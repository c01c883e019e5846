"""What a build says, understood: ninja's progress lines, and the few lines of a failure that matter."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

STATUS = "[%f/%t] "
"""For NINJA_STATUS: finished edges, all edges."""

QUOTED_LINES = 12
_PROGRESS = re.compile(r"\[(\d{1,9})/(\d{1,9})\] (.*)")
_FAILED = re.compile(r"FAILED: (?:\[code=(\d+)\] )?(.*)")
# in turn the words of gcc about cc1plus, of clang, of gcc about ld, and of a shell
_KILLED = re.compile(r"Killed signal terminated program|unable to execute command: Killed|\bsignal 9\b|^Killed$")
_OUT_OF_MEMORY = re.compile(r"virtual memory exhausted|out of memory|Cannot allocate memory", re.IGNORECASE)
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_ERROR = re.compile(
    r"\berror:|undefined reference to|multiple definition of|cannot find -l|^CMake Error|ninja: error:"
    r"|unsupported GNU version",
    re.IGNORECASE,
)
KILLED_CODES = frozenset({137, -9})
SILENT_CODE = 255
"""ccache's exit code when the compiler that it started was killed; then nothing is printed at all."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """`done` of `total` steps, and what was just done."""

    done: int
    total: int
    what: str


class Cause(StrEnum):
    """Why a build failed."""

    SOURCE = "source"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed build.

    Args:
        cause: source, memory or disk.
        step: the output that could not be made, "" when the tool did not say.
        quotes: the lines to show, at most `QUOTED_LINES`.
    """

    cause: Cause
    step: str
    quotes: tuple[str, ...]


def parse_progress(line: str) -> Progress | None:
    """The progress in one line of ninja's output, or None for any other line.

    >>> parse_progress("[3/12] Building CXX object a.o").done
    3
    """
    match = _PROGRESS.fullmatch(line)
    if match is None:
        return None
    done, total = int(match[1]), int(match[2])
    return Progress(done=done, total=total, what=match[3]) if 0 <= done <= total else None


def explain(lines: Sequence[str], *, code: int) -> Failure:
    """Find the cause of a failed build in its output.

    Args:
        lines: the output, standard error folded in.
        code: exit code of the tool.
    """
    blocks = _failed_blocks(lines)
    said = [line for _, _, block in blocks for line in block] or list(lines)
    codes = {code, *(137 if failed == SILENT_CODE and not block else failed for failed, _, block in blocks)}
    return Failure(cause=_cause(said, codes), step=blocks[0][1] if blocks else "", quotes=_quotes(said))


def explain_configure(lines: Sequence[str], *, code: int) -> Failure:
    """The same for CMake's configure step: its first error with the sentence that follows."""
    starts = [at for at, line in enumerate(lines) if line.startswith("CMake Error")]
    said = [line for line in lines[starts[0] if starts else 0 :] if line.strip()]
    quotes = said[:QUOTED_LINES] if starts else said[-QUOTED_LINES:]
    return Failure(cause=_cause(lines, {code}), step="configure", quotes=tuple(quotes))


def _cause(said: Sequence[str], codes: set[int]) -> Cause:
    if any(_DISK_FULL.search(line) for line in said):
        return Cause.DISK
    if codes & KILLED_CODES or any(_KILLED.search(line) or _OUT_OF_MEMORY.search(line) for line in said):
        return Cause.MEMORY
    return Cause.SOURCE


def _quotes(said: Sequence[str]) -> tuple[str, ...]:
    """The error lines; without any, the end of what was said."""
    errors = [line for line in said if _ERROR.search(line) or _KILLED.search(line)]
    unique = list(dict.fromkeys(errors))
    return tuple(unique[:QUOTED_LINES] if unique else [line for line in said if line.strip()][-QUOTED_LINES:])


def _failed_blocks(lines: Sequence[str]) -> list[tuple[int, str, list[str]]]:
    """(exit code, output, what the command printed) for each `FAILED:` line of ninja.

    The line after `FAILED:` is the whole command; a block ends at the next progress line.
    """
    blocks: list[tuple[int, str, list[str]]] = []
    current: list[str] | None = None
    for line in lines:
        failed = _FAILED.match(line)
        if failed:
            current = []
            blocks.append((int(failed[1] or 1), failed[2].strip(), current))
        elif _PROGRESS.match(line) or line.startswith("ninja: "):
            current = None
        elif current is not None:
            current.append(line)
    return [(code, step, block[1:]) for code, step, block in blocks]
