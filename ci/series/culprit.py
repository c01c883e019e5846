"""Which upstream build made a patch conflict, or made it unnecessary, as far as the known builds tell.

The search is over builds that this history knows. Where numbers are missing between the last build without and the
first build with, either of the two may be far from the true one: the words say so, and `next_to_look_at` names
the build to fetch next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ci.outcome import JsonValue
from ci.series.matrix import Cell
from ci.upstream.tags import BuildTag

STOPS = frozenset({Cell.CONFLICT, Cell.PARTLY})
"""What a person must settle."""

GONE = frozenset({Cell.ABSORBED})


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Known builds in a row, both ends included."""

    first: BuildTag
    last: BuildTag

    def __str__(self) -> str:
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """Where the present state of a patch began.

    `build` is the first of the unbroken row of known builds in that state that reaches the aim; `after` the known
    build in front of it, None when the base is in that state already. `unknown_between` counts the build numbers
    between the two, of which upstream need not have made every one. `earlier` are rows that ended before.
    """

    build: BuildTag
    after: BuildTag | None
    state: Cell
    earlier: tuple[Stretch, ...] = ()

    @property
    def unknown_between(self) -> int:
        """Build numbers between `after` and `build`."""
        return self.build.number - self.after.number - 1 if self.after else 0

    @property
    def words(self) -> str:
        """Since when, how sure that is, and what was before."""
        rows = ", ".join(str(row) for row in self.earlier)
        return f"{self._since}; earlier on {rows}" if rows else self._since

    @property
    def _since(self) -> str:
        if self.after is None:
            return f"on the base {self.build} already"
        begin, without = ("in", "did not have it") if self.state is Cell.ABSORBED else ("since", "still took it")
        return f"{begin} {self.build} ({self.after} {without}{_unknown(self.unknown_between)})"

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {
            "build": str(self.build),
            "after": str(self.after) if self.after else None,
            "state": self.state.value,
            "unknown_between": self.unknown_between,
            "earlier": [[str(row.first), str(row.last)] for row in self.earlier],
        }


def _unknown(numbers: int) -> str:
    if not numbers:
        return ""
    are = "number between them is" if numbers == 1 else "numbers between them are"
    return f"; {numbers} build {are} not known here"


def culprit(builds: Sequence[BuildTag], cells: Sequence[Cell]) -> Culprit | None:
    """The build behind the state that a patch has on the aim.

    Args:
        builds: the known builds from the base to the aim, ascending.
        cells: how the patch meets each of them.

    Returns:
        The first build of a conflict (also a partial one) or of an absorption; None when the aim takes the patch.
    """
    states = STOPS if cells[-1] in STOPS else GONE
    rows = _rows(builds, cells, states)
    if not rows or rows[-1].last != builds[-1]:
        return None
    *earlier, row = rows
    at = list(builds).index(row.first)
    return Culprit(build=row.first, after=builds[at - 1] if at else None, state=cells[-1], earlier=tuple(earlier))


def _rows(builds: Sequence[BuildTag], cells: Sequence[Cell], states: frozenset[Cell]) -> list[Stretch]:
    pairs = zip(builds, cells, strict=True)
    groups = ((inside, list(row)) for inside, row in groupby(pairs, key=lambda pair: pair[1] in states))
    return [Stretch(first=row[0][0], last=row[-1][0]) for inside, row in groups if inside]


def next_to_look_at(found: Culprit, fetchable: Iterable[BuildTag]) -> BuildTag | None:
    """The build that halves what may lie between, or None: no build there can be fetched.

    Halving takes it that the state began once: builds above one that has it already are not looked at.
    """
    if found.after is None:
        return None
    between = sorted({build for build in fetchable if found.after < build < found.build})
    return between[len(between) // 2] if between else None
