"""How much of a patch upstream has already, counted line by line.

An empty merge is git's proof that a patch changes nothing any more. It does not say who brought the lines: a patch in
front of it, a resolution, or upstream. This count does, on upstream's files alone, and it stands beside the merge:
only both together retire a patch (`Landed.retires`). For what no line can tell (modes, names, binary and empty files,
lines that prove nothing) the merge must be empty on upstream's own tree. The rule, file by file:

- Copies of a line are counted before the patch (`before`) and in the aim (`aim`). Of an added line as many copies
  must have come, of a removed one as many must have gone, as the patch adds or removes. So a line that occurs
  elsewhere in the file proves nothing, and five equal lines need five.
- Or the run that the line belongs to has come as a whole: what the patch makes of that place, with the lines next to
  it, stands in the aim more often than before. That saves a `return false;` from being missed because upstream
  dropped another one elsewhere (without this, 1 in 40 single hunks that upstream has was answered "part").
- A line that the patch adds as often as it removes (moved, or a change of order) proves nothing and is not counted.
- A line without a letter or digit proves nothing and is not counted.
- Lines are compared with their line ends. A file that the aim lacks has none of the added lines; removed ones are
  only gone with it if the patch deletes it too: upstream may have moved them.

The count alone can be wrong: upstream may bring the same lines at another place of the file. git's merge sees that.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from ci.outcome import JsonValue
from ci.series.hunks import FileDiff, Run, parse_diff, places_of, shown

BlobOf: TypeAlias = Callable[[str], bytes | None]
"""Content of a path in one tree; None when there is no such file."""

Place: TypeAlias = tuple[str, bytes]
"""A path and a line of it, once a copy."""

TELLING = re.compile(rb"[0-9A-Za-z\x80-\xff]")
"""A letter or digit; bytes beyond ASCII are taken for letters."""


AS_A_WHOLE = (b"old mode ", b"rename ", b"copy ")
"""Lines of a diff's head that stand for a change which its hunks do not show."""


class Landed(StrEnum):
    """What the lines say of a patch."""

    ALL = "all"
    """Every added line is there and no removed one is left."""
    REMOVED = "all that it removes is gone"
    """The patch only removes lines, and none of them is left."""
    PART = "part"
    NONE = "none"
    LINES = "all lines that can tell"
    """As ALL or REMOVED, but a file changes that no line tells of."""
    WHOLE = "no lines: files change as a whole"
    """Nothing but modes, names, binary and empty files, which git's merge compares whole."""
    UNKNOWN = "no line that could tell"
    """Text changes, but only by lines that prove nothing."""

    @property
    def retires(self) -> bool:
        """Whether upstream has the patch when its merge is empty, whatever it was merged into."""
        return self in (Landed.ALL, Landed.REMOVED)


@dataclass(frozen=True, kw_only=True)
class Share:
    """The lines of a patch that could tell, and what became of them in the aim.

    `present` of `total` added lines have come; `missing` are the others. Of `removed` lines, `lingering` are left.
    `text`: whether the patch changes lines at all; `untold`: the files that change in a way that no line tells of.
    """

    present: int
    total: int
    removed: int
    missing: tuple[Place, ...]
    lingering: tuple[Place, ...]
    text: bool
    untold: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form; bytes that are no UTF-8 are escaped."""
        return {
            "landed": landed(self).value,
            "present": self.present,
            "total": self.total,
            "removed": self.removed,
            "missing": [_place_json(place) for place in self.missing],
            "lingering": [_place_json(place) for place in self.lingering],
        }

    @property
    def words(self) -> str:
        """One line for a person."""
        if not self.total and not self.removed:
            return landed(self).value
        added = f"{self.present} of {self.total} added lines are upstream" if self.total else ""
        gone = self.removed - len(self.lingering)
        removed = f"{gone} of {self.removed} removed lines are gone" if self.removed else ""
        return ", ".join(part for part in (added, removed) if part)


def _place_json(place: Place) -> JsonValue:
    path, line = place
    return {"path": shown(path), "line": line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")}


def landed(share: Share) -> Landed:
    """The verdict: full means every line that can tell, partial means one of them."""
    if not share.total and not share.removed:
        return Landed.UNKNOWN if share.text else Landed.WHOLE
    if not share.missing and not share.lingering:
        return Landed.LINES if share.untold else Landed.ALL if share.total else Landed.REMOVED
    came, gone = share.present, share.removed - len(share.lingering)
    return Landed.PART if came or gone else Landed.NONE


def share_present(diff: bytes, *, before: BlobOf, aim: BlobOf) -> Share:
    """Count which of a patch's lines upstream has.

    Args:
        diff: the patch.
        before: files of the tree that the patch was made on: the base with the patches in front of it.
        aim: files of upstream's build, without any patch of ours: else a patch in front might be taken for upstream.

    Returns:
        The count over all files.
    """
    files = parse_diff(diff)
    counts = [_FileCount.of(file, before, aim) for file in files]
    missing = tuple(place for count in counts for place in count.missing)
    total = sum(count.added.total() for count in counts)
    return Share(
        present=total - len(missing),
        total=total,
        removed=sum(count.removed.total() for count in counts),
        missing=missing,
        lingering=tuple(place for count in counts for place in count.lingering),
        text=any(file.hunks for file in files),
        untold=tuple(count.path for count in counts if count.untold),
    )


@dataclass(frozen=True, kw_only=True)
class _FileCount:
    """One file: lines that the patch adds and removes on balance, and how many of them came and went in the aim."""

    path: str
    added: Counter[bytes]
    removed: Counter[bytes]
    untold: bool
    came: Counter[bytes] = field(default_factory=Counter)
    gone: Counter[bytes] = field(default_factory=Counter)

    @classmethod
    def of(cls, file: FileDiff, before: BlobOf, aim: BlobOf) -> "_FileCount":
        old, new = before(file.old) if file.old else b"", aim(file.path)
        runs = [run for hunk in file.hunks for run in hunk.runs]
        added, removed = _telling(runs, b"+"), _telling(runs, b"-")
        count = cls(
            path=file.path,
            added=added - removed,
            removed=removed - added,
            untold=added == removed or any(line.startswith(AS_A_WHOLE) for line in file.head),
        )
        # what cannot be compared proves nothing: no old file to count in, or a file that upstream has elsewhere now
        if old is None or (new is None and file.new is not None):
            return count
        was, now = _lines(old), _lines(new or b"")
        whole = list(_runs_that_came(runs, old, new or b""))
        return replace(count, came=(now - was) | _telling(whole, b"+"), gone=(was - now) | _telling(whole, b"-"))

    @property
    def missing(self) -> Iterator[Place]:
        return ((self.path, line) for line in (self.added - self.came).elements())

    @property
    def lingering(self) -> Iterator[Place]:
        return ((self.path, line) for line in (self.removed - self.gone).elements())


def _runs_that_came(runs: Sequence[Run], old: bytes, new: bytes) -> Iterator[Run]:
    needed = Counter(run.result for run in runs)
    for run in runs:
        if TELLING.search(run.result) and _copies(run.result, new) - _copies(run.result, old) >= needed[run.result]:
            yield run


def _copies(text: bytes, blob: bytes) -> int:
    return sum(1 for _ in places_of(text, blob))


def _telling(runs: Iterable[Run], sign: bytes) -> Counter[bytes]:
    lines = (line for run in runs for line in run.lines)
    return Counter(line.text for line in lines if line.sign == sign and TELLING.search(line.text))


def _lines(blob: bytes) -> Counter[bytes]:
    *whole, last = blob.split(b"\n")
    return Counter([line + b"\n" for line in whole] + ([last] if last else []))
