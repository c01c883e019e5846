"""What a build says, understood: ninja's progress lines, and the few lines of a failure that matter."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ci.builds.causes import QUOTED_LINES, Cause, cause_of, quotes_of

STATUS = "[%f/%t] "
"""For NINJA_STATUS: finished edges, all edges."""

CONFIGURE = "configure"
"""The step of a failure before ninja starts."""

SILENT_CODE = 255
"""ccache's exit code when the compiler that it started was killed; then nothing is printed at all."""

_PROGRESS = re.compile(r"\[(\d{1,9})/(\d{1,9})\] (.*)")
_FAILED = re.compile(r"FAILED: (?:\[code=(\d+)\] )?(.*)")
_SOURCE = re.compile(r"\s|\d+ \|")
"""How compilers begin a line that they quote from a source file: its words are not theirs."""

_BURIED = frozenset({Cause.COMPILER, Cause.ARCH})
"""What CMake reports far below the line that begins with `CMake Error`."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """`done` of `total` steps, and what was just done."""

    done: int
    total: int
    what: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed build.

    Args:
        cause: why.
        step: the output that could not be made, `CONFIGURE` before that, "" when the tool did not say.
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


def explain(lines: Sequence[str], *, code: int, killed_for_memory: bool = False) -> Failure:
    """Find the cause of a failed build in its output.

    Args:
        lines: the output, standard error folded in.
        code: exit code of the tool.
        killed_for_memory: whatever the build ran in says that the kernel killed something in it for memory.
    """
    blocks = _failed_blocks(lines)
    said = [line for block in blocks for line in block.said] or list(lines)
    codes = {code, *(block.code for block in blocks)}
    cause = cause_of(_own_words(said), codes, killed_for_memory=killed_for_memory)
    # with several failed steps, the one that shows the cause is the one to name
    telling = [block.step for block in blocks if cause_of(_own_words(block.said), {block.code}) is cause]
    return Failure(
        cause=cause,
        step=next(iter(telling or [block.step for block in blocks]), ""),
        quotes=quotes_of(said, cause),
    )


def explain_configure(lines: Sequence[str], *, code: int, killed_for_memory: bool = False) -> Failure:
    """The same for CMake's configure step: its first error with the sentence that follows."""
    cause = cause_of(lines, {code}, killed_for_memory=killed_for_memory)
    quotes = quotes_of(lines, cause) if cause in _BURIED else _first_error(lines)
    return Failure(cause=cause, step=CONFIGURE, quotes=quotes)


def _own_words(said: Sequence[str]) -> list[str]:
    return [line for line in said if not _SOURCE.match(line)]


def _first_error(lines: Sequence[str]) -> tuple[str, ...]:
    starts = [at for at, line in enumerate(lines) if line.startswith("CMake Error")]
    said = [line for line in lines[starts[0] if starts else 0 :] if line.strip()]
    return tuple(said[:QUOTED_LINES] if starts else said[-QUOTED_LINES:])


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One failed step: exit code, output that was not made, what the command printed."""

    code: int
    step: str
    said: tuple[str, ...]


def _failed_blocks(lines: Sequence[str]) -> list[_Block]:
    """A block for each `FAILED:` line of ninja.

    The line after `FAILED:` is the whole command; a block ends at the next progress line.
    """
    found: list[tuple[int, str, list[str]]] = []
    current: list[str] | None = None
    for line in lines:
        failed = _FAILED.match(line)
        if failed:
            current = []
            found.append((int(failed[1] or 1), failed[2].strip(), current))
        elif _PROGRESS.match(line) or line.startswith("ninja: "):
            current = None
        elif current is not None:
            current.append(line)
    return [_block(code, step, said[1:]) for code, step, said in found]


def _block(code: int, step: str, said: list[str]) -> _Block:
    return _Block(code=137 if code == SILENT_CODE and not said else code, step=step, said=tuple(said))
