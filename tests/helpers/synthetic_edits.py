"""The commits of a synthetic series: each of a kind, which says where it stands relative to upstream's changes.

A line of the base is edited by one commit at most, so what git makes of a commit is due to upstream and not to its
predecessors.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle, islice

from tests.helpers.upstream_change import LANGUAGES, Hunk, Source, Sources


class Kind(StrEnum):
    """Where a commit stands relative to upstream's changes."""

    QUIET = "quiet"
    """In files that upstream changed, six lines or more from its changes."""
    NEAR = "near"
    """Two or three lines from an upstream change."""
    ELSEWHERE = "elsewhere"
    """In files that upstream left alone."""
    NEW = "new"
    """A new file, and a hook for it in a file that upstream changed."""
    LANDED = "landed"
    """A change that upstream made, exactly."""
    MODE = "mode"
    """A file that upstream changed becomes executable."""
    MOVED = "moved"
    """A file that upstream changed gets another name."""
    GONE = "gone"
    """Deletes a file that upstream left alone."""
    PARTLY = "partly"
    """A change that upstream made, and one of its own."""
    COLLIDE = "collide"
    """Another text for lines that upstream replaced."""
    BESIDE = "beside"
    """Next to an upstream change, or one line away."""
    SAME_NAME = "same-name"
    """A new file where upstream has one too."""
    CUT_OFF = "cut-off"
    """Deletes a file that upstream changed."""


CLEAN = (
    *(Kind.QUIET,) * 12,
    *(Kind.NEAR,) * 6,
    *(Kind.ELSEWHERE,) * 4,
    *(Kind.NEW,) * 3,
    *(Kind.LANDED,) * 2,
    Kind.MODE,
    Kind.MOVED,
    Kind.GONE,
)
"""Thirty commits that git rebases without a conflict."""

MIXED = (
    *(Kind.QUIET, Kind.NEAR, Kind.COLLIDE) * 4,
    *(Kind.ELSEWHERE, Kind.NEW, Kind.LANDED, Kind.PARTLY, Kind.BESIDE) * 2,
    *(Kind.MODE, Kind.MOVED, Kind.GONE, Kind.SAME_NAME, Kind.CUT_OFF),
)
"""Every kind; half of them collide, or may."""

ANYWHERE = (0, 10**6)
DISTANCE = {Kind.QUIET: (6, 10**6), Kind.NEAR: (2, 3), Kind.BESIDE: (0, 1), Kind.COLLIDE: (-1, -1)}
"""Least and most unchanged lines between the edit and upstream's nearest change; -1: inside of it."""
WHOLE_FILE = (Kind.MODE, Kind.MOVED, Kind.GONE, Kind.CUT_OFF)
MAX_FILES = 3
NOTE = {"Python": "# speed {n}", "Markdown": "(speed {n})"}
SUFFIX = {"C": "h", "C++": "cpp", "CUDA": "cu", "Python": "py", "Markdown": "md"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a commit does to one path; `data` None deletes it."""

    path: str
    mode: str
    data: bytes | None


@dataclass
class Draft:
    """A file as the series has it so far: `edits` holds the new text of base lines by index."""

    source: Source
    path: str
    mode: str
    edits: dict[int, bytes] = field(default_factory=dict)
    gone: bool = False

    def free(self, low: int, high: int) -> list[int]:
        """Lines that no commit edited, `low` to `high` unchanged lines away from upstream's nearest change."""
        return [
            at
            for at in range(1, len(self.source.lines) - 1)
            if at not in self.edits and low <= self.source.distances[at] <= high
        ]

    def landable(self) -> list[Hunk]:
        """Upstream's changes that can land alone and where no commit edited anything."""
        return [
            hunk
            for hunk in self.source.lonely_hunks()
            if not any(at in self.edits for at in range(hunk.start - 3, hunk.end + 3))
        ]

    def change(self) -> Change:
        """The file as it is now."""
        lines = (self.edits.get(at, line) for at, line in enumerate(self.source.lines))
        return Change(path=self.path, mode=self.mode, data=None if self.gone else b"".join(lines))


def draw(deck: Sequence[Kind], *, count: int, seed: int) -> tuple[Kind, ...]:
    """`count` kinds from a shuffled deck, which is used again and again."""
    rng = random.Random(seed)  # noqa: S311 - repeatable test data, not a secret
    cards: list[Kind] = []
    while len(cards) < count:
        cards += rng.sample(deck, len(deck))
    return tuple(cards[:count])


class Writer:
    """Writes commit after commit on the files of a base."""

    def __init__(self, sources: Sources, *, seed: int) -> None:
        self._rng = random.Random(seed)  # noqa: S311 - repeatable test data, not a secret
        self._changed = self._by_language(sources.changed)
        self._alone = self._by_language(sources.alone)
        self._added = list(sources.added)
        self._number = 0
        self._languages = cycle(LANGUAGES)

    def commit(self, kind: Kind) -> tuple[Change, ...]:
        """The changes of one more commit."""
        self._number += 1
        if kind in WHOLE_FILE:
            return self._whole_file(self._alone if kind is Kind.GONE else self._changed, kind)
        drafts = {draft.path: draft for draft in self._touched(kind)}
        return tuple(draft.change() for draft in drafts.values())

    def _touched(self, kind: Kind) -> tuple[Draft, ...]:
        if kind in DISTANCE:
            return self._edit(self._changed, *DISTANCE[kind])
        if kind is Kind.ELSEWHERE:
            return self._edit(self._alone, *ANYWHERE)
        if kind in (Kind.NEW, Kind.SAME_NAME):
            hook = self._edit(self._changed, *DISTANCE[Kind.QUIET], files=1)
            return (*hook, self._new_file(hook[0], kind))
        return (*self._land(), *(self._edit(self._alone, *ANYWHERE, files=1) if kind is Kind.PARTLY else ()))

    def _by_language(self, sources: Sequence[Source]) -> dict[str, list[Draft]]:
        drafts: dict[str, list[Draft]] = {language: [] for language in LANGUAGES}
        for source in sources:
            drafts[source.language].append(Draft(source=source, path=source.path, mode=source.mode))
        return drafts

    def _pick(self, drafts: dict[str, list[Draft]], fits: Callable[[Draft], object]) -> Draft:
        """Any file that fits, of the next language that has one."""
        for language in islice(self._languages, len(LANGUAGES)):
            shuffled = self._rng.sample(drafts[language], len(drafts[language]))
            found = next((draft for draft in shuffled if not draft.gone and fits(draft)), None)
            if found:
                return found
        raise AssertionError("the series is too long for what upstream changed between base and aim")

    def _edit(self, drafts: dict[str, list[Draft]], low: int, high: int, files: int = 0) -> tuple[Draft, ...]:
        """Edit a line in each of some files."""
        picked = []
        for _ in range(files or self._rng.randint(1, MAX_FILES)):
            draft = self._pick(drafts, lambda draft: draft.free(low, high))
            at = self._rng.choice(draft.free(low, high))
            draft.edits[at] = self._edited(draft.source, at)
            picked.append(draft)
        return tuple(picked)

    def _edited(self, source: Source, at: int) -> bytes:
        """Another text for a line: something at its end, or a new line behind it."""
        old = source.lines[at]
        text = old.rstrip(b"\r\n")
        end = old[len(text) :]
        note = NOTE.get(source.language, "// speed {n}").format(n=self._number).encode()
        if not text.strip() or self._rng.random() < 0.5:
            return old + note + end
        return text + b" " + note + end

    def _land(self) -> tuple[Draft, ...]:
        """Make a change that upstream made."""
        draft = self._pick(self._changed, Draft.landable)
        hunk = self._rng.choice(draft.landable())
        last = draft.source.lines[hunk.start - 1]
        draft.edits.update(dict.fromkeys(range(hunk.start, hunk.end), b""))
        draft.edits[hunk.start - 1] = last + b"".join(hunk.new)
        return (draft,)

    def _new_file(self, hook: Draft, kind: Kind) -> Draft:
        """A file beside the one that names it, or where upstream has one too as long as there are such names."""
        folder = hook.path.rpartition("/")[0]
        path = f"{folder}/speed-{self._number}.{SUFFIX[hook.source.language]}".lstrip("/")
        if kind is Kind.SAME_NAME and self._added:
            path = self._added.pop()
        lines = tuple(f"{n} {path}\n".encode() for n in range(self._rng.randint(1, 60)))
        return Draft(source=Source(path=path, mode="100644", lines=lines), path=path, mode="100644")

    def _whole_file(self, drafts: dict[str, list[Draft]], kind: Kind) -> tuple[Change, ...]:
        """Delete, rename or make executable a file that no commit touched yet."""
        draft = self._pick(drafts, lambda draft: not draft.edits and draft.mode == "100644")
        before = Change(path=draft.path, mode=draft.mode, data=None)
        if kind is Kind.MODE:
            draft.mode = "100755"
        elif kind is Kind.MOVED:
            draft.path = f"{draft.path.rpartition('.')[0]}-speed.{draft.path.rpartition('.')[2]}"
            return (before, draft.change())
        else:
            draft.gone = True
        return (draft.change(),)
