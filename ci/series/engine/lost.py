"""Lines of a patch that git drops from the result without a word, because the tip has them already (pure).

git merges a change that both sides made alike, so the replayed patch is smaller than the original. What is left of it
may be wrong alone. Lines without a letter or digit do not count: every file has braces.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Lines: TypeAlias = Counter[tuple[str, bytes]]
"""How often each line is added ("+") or removed ("-")."""

SAYS_SOMETHING = re.compile(rb"\w")


def lost_lines(wanted: Sequence[tuple[str, Lines]], kept: Iterable[Lines]) -> dict[str, tuple[bytes, ...]]:
    """Changed lines of the original, by path and with their sign, that no file of the result changes any more.

    Args:
        wanted: the original's changed lines by path.
        kept: the result's, file by file; a line may have moved to another file.
    """
    rest: Lines = sum(kept, Counter())
    lost: dict[str, tuple[bytes, ...]] = {}
    for path, lines in wanted:
        gone = _told(lines - rest)
        rest -= lines
        if gone:
            lost[path] = gone
    return lost


def lost_nets(wanted: Sequence[tuple[str, Lines]], kept: Iterable[Lines]) -> dict[str, tuple[bytes, ...]]:
    """The same where files were renamed: lines that leave one file and come in another are no change."""
    whole: Lines = sum((lines for _, lines in wanted), Counter())
    missing = _net(whole) - _net(sum(kept, Counter()))
    lost: dict[str, tuple[bytes, ...]] = {}
    for path, lines in wanted:
        gone = lines & missing
        missing -= gone
        if said := _told(gone):
            lost[path] = said
    return lost


def _told(lines: Lines) -> tuple[bytes, ...]:
    return tuple(sign.encode() + line for sign, line in lines.elements() if SAYS_SOMETHING.search(line))


def _net(lines: Mapping[tuple[str, bytes], int]) -> Lines:
    """Added less removed, and the reverse, whichever is positive."""
    opposite = {"+": "-", "-": "+"}
    return Counter(
        {
            (sign, line): times - lines.get((opposite[sign], line), 0)
            for (sign, line), times in lines.items()
            if times > lines.get((opposite[sign], line), 0)
        }
    )
