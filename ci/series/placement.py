"""Where a patch landed: hunks that moved, and hunks that would fit at more than one place.

A hunk without a conflict may still stand at the wrong place: git finds it by its context, and a context may repeat.
Both lists are for a person who looks; neither stops anything.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import TypeAlias

from ci.outcome import JsonValue
from ci.series.hunks import FileDiff, parse_diff, places_of, shown

OTHERS_SHOWN = 5

Content: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Signs and texts of lines that change."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A hunk that stands elsewhere than before.

    `hunk` of `hunks` counts from 1 in the patch as it was, whose file was `was`. `offset` is in lines; None when what
    it changes is not found again as it was ("reshaped"). A hunk whose parts moved apart has one `Moved` a part, also
    for the part that did not move.
    """

    path: str
    was: str
    hunk: int
    hunks: int
    offset: int | None

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {
            "path": shown(self.path),
            "was": shown(self.was),
            "hunk": self.hunk,
            "hunks": self.hunks,
            "offset": self.offset,
        }


@dataclass(frozen=True, kw_only=True)
class Ambiguous:
    """A hunk whose old text stands at `line` of the file, where it was put, and at `other_lines` too (all from 1)."""

    path: str
    hunk: int
    line: int
    other_lines: tuple[int, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {
            "path": shown(self.path),
            "hunk": self.hunk,
            "line": self.line,
            "other_lines": list(self.other_lines),
        }

    @property
    def words(self) -> str:
        """One line for a person."""
        listed = ", ".join(str(line) for line in self.other_lines[:OTHERS_SHOWN])
        more = len(self.other_lines) - OTHERS_SHOWN
        also = f"{listed} and {more} more" if more > 0 else listed
        return f"{shown(self.path)}: hunk {self.hunk} went to line {self.line}, its old text stands at {also} too"


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A run of a file: the hunk that it is in, its first line and what changes there."""

    hunk: int
    at: int
    content: Content


def moved(before: bytes, after: bytes) -> tuple[Moved, ...]:
    """What moved between two forms of one patch.

    Args:
        before: its diff where it was made.
        after: its diff where it stands now.

    Returns:
        Every hunk with another line number or path, in the order of `before`; what is no text has no place.
    """
    return tuple(
        move for old, new in _paired_files(parse_diff(before), parse_diff(after)) for move in _moves(old, new)
    )


def _paired_files(
    before: Sequence[FileDiff], after: Sequence[FileDiff]
) -> Iterator[tuple[FileDiff, FileDiff | None]]:
    """Files of one path, then those that share a change: upstream renamed the file."""
    by_path = {file.path: file for file in after}
    renamed = [file for file in after if file.path not in {old.path for old in before}]
    for old in before:
        new = by_path.get(old.path) or next((file for file in renamed if _matches(old, file)), None)
        if new in renamed:
            renamed.remove(new)
        yield old, new


def _moves(old: FileDiff, new: FileDiff | None) -> Iterator[Moved]:
    offsets: dict[int, dict[int | None, None]] = defaultdict(dict)  # ordered sets
    found = dict(_matches(old, new)) if new else {}
    for run in _runs(old):
        offsets[run.hunk][found[run].at - run.at if run in found else None] = None
    path = new.path if new else old.path
    for hunk, all_of_it in offsets.items():
        for offset in all_of_it:
            if offset != 0 or len(all_of_it) > 1 or path != old.path:
                yield Moved(path=path, was=old.path, hunk=hunk, hunks=len(old.hunks), offset=offset)


def _matches(old: FileDiff, new: FileDiff) -> tuple[tuple[_Placed, _Placed], ...]:
    """Runs with the same content, in order; where git joined or split hunks does not matter."""
    before, after = tuple(_runs(old)), tuple(_runs(new))
    matcher = SequenceMatcher(None, [run.content for run in before], [run.content for run in after], autojunk=False)
    blocks = matcher.get_matching_blocks()
    return tuple((before[a + at], after[b + at]) for a, b, size in blocks for at in range(size))


def _runs(file: FileDiff) -> Iterator[_Placed]:
    for number, hunk in enumerate(file.hunks, start=1):
        for run in hunk.runs:
            content = tuple((line.sign, line.text) for line in run.lines)
            yield _Placed(hunk=number, at=run.lines[0].old, content=content)


def moved_words(moves: Iterable[Moved]) -> tuple[str, ...]:
    """One line a file, such as `common/arg.cpp: offset +3`, or each hunk by itself where they differ."""
    by_path: dict[tuple[str, str], list[Moved]] = defaultdict(list)
    for move in moves:
        by_path[move.path, move.was].append(move)
    return tuple(f"{_name(*names)}: {_together(found)}" for names, found in by_path.items())


def _name(path: str, was: str) -> str:
    return shown(path) if path == was else f"{shown(path)} (was {shown(was)})"


def _together(moves: Sequence[Moved]) -> str:
    first = moves[0]
    if {move.offset for move in moves} == {first.offset} and len(moves) == first.hunks:
        return _offset(first.offset)
    by_hunk = groupby(moves, key=lambda move: move.hunk)
    each = ((hunk, " and ".join(_offset(move.offset) for move in parts)) for hunk, parts in by_hunk)
    return ", ".join(f"hunk {hunk} of {first.hunks} {offsets}" for hunk, offsets in each)


def _offset(offset: int | None) -> str:
    return "reshaped" if offset is None else f"offset {offset:+d}" if offset else "same lines"


def ambiguous(diff: bytes, blobs: Mapping[str, bytes]) -> tuple[Ambiguous, ...]:
    """The hunks that would fit elsewhere as well.

    Args:
        diff: the patch as it stands on the aim.
        blobs: by path, the files that it was made on; a path that is missing is not looked at.

    Returns:
        A hunk whose old text (context and removed lines) stands at more than one place of its file.

    Raises:
        ValueError: a file is not the one that the patch was made on.
    """
    return tuple(found for file in parse_diff(diff) for found in _ambiguous_hunks(file, blobs.get(file.old or "")))


def _ambiguous_hunks(file: FileDiff, blob: bytes | None) -> Iterator[Ambiguous]:
    for number, hunk in enumerate(file.hunks if blob else (), start=1):
        line = hunk.spans.old_start
        places = tuple(places_of(hunk.preimage, blob or b""))
        if hunk.preimage and line not in places:
            raise ValueError(
                f"hunk {number} of {shown(file.path)} was not made on the file given: line {line} differs"
            )
        if len(places) > 1:
            yield Ambiguous(
                path=file.path, hunk=number, line=line, other_lines=tuple(at for at in places if at != line)
            )
