"""What differs between two builds of the same inputs: by file, section and first byte.

Files are read in chunks: a device library may be large, and most of it is equal.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, count
from operator import ne
from pathlib import Path
from typing import IO

from ci.builds.elf import Section, sections
from ci.errors import NotComparable
from ci.files import CHUNK

WHOLE = "(whole file)"
OUTSIDE = "(outside its sections)"
MODE = "(mode)"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that is not the same.

    Args:
        file: name of the file.
        where: section of an ELF file, or one of `WHOLE`, `OUTSIDE` and `MODE`.
        what: sizes and the first byte that differs, or which side lacks the file or section.
    """

    file: str
    where: str
    what: str


def compare(stored: Mapping[str, Path], fresh: Mapping[str, Path]) -> tuple[Difference, ...]:
    """Everything that differs, by file name; empty for equal builds.

    Args:
        stored: files of the one build by final name.
        fresh: files of the other.

    Raises:
        NotComparable: there is nothing in them, or a file stands on both sides: it would be compared with itself.
    """
    if not stored or not fresh:
        raise NotComparable("one of the two builds has no files")
    found: list[Difference] = []
    for name in sorted({*stored, *fresh}):
        if name not in fresh:
            found.append(Difference(file=name, where=WHOLE, what="missing from the fresh build"))
        elif name not in stored:
            found.append(Difference(file=name, where=WHOLE, what="only in the fresh build"))
        else:
            found += compare_file(name, stored[name], fresh[name])
    return tuple(found)


def compare_file(name: str, stored: Path, fresh: Path) -> Iterator[Difference]:
    """Everything that differs between two files of one name.

    Raises:
        NotComparable: both are the same file.
    """
    if stored.samefile(fresh):
        raise NotComparable(f"{stored}: the same file on both sides proves nothing")
    if (stored.stat().st_mode ^ fresh.stat().st_mode) & 0o100:
        yield Difference(file=name, where=MODE, what="executable in one of the builds only")
    sizes = [path.stat().st_size for path in (stored, fresh)]
    with stored.open("rb") as one, fresh.open("rb") as other:
        first = _first_difference(one, Span(0, sizes[0]), other, Span(0, sizes[1]))
        if first is None:
            return
        whole = _words(sizes[0], sizes[1], first)
        before, after = sections(stored), sections(fresh)
        if not before or not after:
            yield Difference(file=name, where=WHOLE, what=whole)
            return
        inside = [Difference(file=name, where=w, what=what) for w, what in _by_section(one, before, other, after)]
    yield from inside or (Difference(file=name, where=OUTSIDE, what=whole),)


@dataclass(frozen=True)
class Span:
    """A part of a file: where it begins and how many bytes it has."""

    at: int
    size: int


def _by_section(
    one: IO[bytes], before: Mapping[str, Section], other: IO[bytes], after: Mapping[str, Section]
) -> Iterator[tuple[str, str]]:
    """Section and what differs in it, in the order of the files."""
    for name in {**before, **after}:
        if name not in after or name not in before:
            yield name, "missing from the fresh build" if name not in after else "only in the fresh build"
            continue
        mine, theirs = before[name], after[name]
        if mine.stored and theirs.stored:
            span, other_span = Span(mine.offset, mine.size), Span(theirs.offset, theirs.size)
            first = _first_difference(one, span, other, other_span)
        else:  # room that only the running program has: there is but its size to compare
            first = None if mine.size == theirs.size else 0
        if first is not None:
            yield name, _words(mine.size, theirs.size, first)


def _first_difference(one: IO[bytes], span: Span, other: IO[bytes], other_span: Span) -> int | None:
    """Offset of the first byte that differs, within the spans; None when they are equal."""
    shorter = min(span.size, other_span.size)
    one.seek(span.at)
    other.seek(other_span.at)
    for start in range(0, shorter, CHUNK):
        size = min(CHUNK, shorter - start)
        mine, theirs = one.read(size), other.read(size)
        if mine != theirs:
            return start + next(compress(count(), map(ne, mine, theirs)), min(len(mine), len(theirs)))
    return None if span.size == other_span.size else shorter


def _words(size: int, other: int, first: int) -> str:
    sizes = f"{size:,} bytes" if size == other else f"{size:,} bytes, fresh {other:,}"
    return f"{sizes}; first differs at byte {first:#x}"
