"""One patch onto one tip: splice what one side left alone, let git merge the rest, count both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import fsdecode

from ci.errors import MergeBroke
from ci.gittree import SUBMODULE, Entries, Entry
from ci.series.engine.lost import Lines, lost_lines, lost_nets
from ci.series.engine.merge_answer import Merged, Note
from ci.series.engine.texts import Chain, Link, MergedTexts, Sides, Texts
from ci.series.engine.threeway import Path, Plan, Text, Touched, find, joined, parted, plan, touched
from ci.series.engine.workshop import Workshop
from ci.series.results import Counts

SIDES = {1: "base", 2: "ours", 3: "theirs"}
"""git's numbers of the stages of an unmerged path."""

CONTENTS = "CONFLICT (contents)"
WHOLE_CHANGE = b"(the whole change)"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """What putting a patch onto a tip gave.

    Attributes:
        tree: the new tree, or None in a conflict.
        merged: git's answer when it could not merge, its paths being the real ones.
        half_tree: in a conflict, the tree with everything that did merge; files in conflict hold markers.
        half_merged: blob ids, by path, of those files with the common base between their markers too.
        texts: the files in conflict when all sides have each of them; empty when anything else conflicts too.
        counts: how the patch's paths were settled.
        lost: lines of the patch, by path, that the tip has already, so that git dropped them from the result.
    """

    tree: str | None
    counts: Counts
    merged: Merged | None = None
    half_tree: str | None = None
    half_merged: Mapping[bytes, str] = field(default_factory=dict)
    texts: tuple[Text, ...] = ()
    lost: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)


class Picker:
    """Picks patches in one workshop; the same three trees are merged once."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._texts = Texts(self._merge_all, shop.read, width=shop.mergers.width)
        self._known: dict[tuple[str, str, str], Picked] = {}
        self._files: dict[tuple[str, str], tuple[Touched, ...]] = {}

    def pick(self, base: str, ours: str, theirs: str) -> Picked:
        """Put the difference from `base` to `theirs` (trees) onto the tree `ours`."""
        key = (base, ours, theirs)
        if key not in self._known:
            self._known[key] = self._picked(base, ours, theirs)
        return self._known[key]

    def foresee(self, patches: Sequence[tuple[str, str]], tips: Sequence[str]) -> None:
        """Merge beforehand, and together, what these patches (trees before and after) meet on some tips."""
        links: dict[Path, list[Link]] = {}
        for before, after in patches:
            for file in self._touched(before, after):
                if file.base and file.theirs and file.base.is_file and file.theirs.is_file:
                    links.setdefault(file.path, []).append(Link(base=file.base, theirs=file.theirs))
        met = ((find(self._shop.read, tip, path), chain) for tip in tips for path, chain in links.items())
        self._texts.foresee(Chain(ours=ours, links=tuple(chain)) for ours, chain in met if ours and ours.is_file)

    def _touched(self, before: str, after: str) -> tuple[Touched, ...]:
        if (before, after) not in self._files:
            self._files[before, after] = tuple(touched(self._shop.read, before, after))
        return self._files[before, after]

    def _picked(self, base: str, ours: str, theirs: str) -> Picked:
        todo = plan(self._shop.read, base, ours, theirs, self._touched(base, theirs))
        if todo.structural:
            return self._whole(base, ours, theirs)
        merged = self._texts.merge(todo.texts)
        tree = self._shop.changed_tree(ours, {**todo.splices, **merged.entries})
        return self._clash(todo, merged, tree) if merged.answer else self._spliced(todo, merged, tree)

    def _merge_all(self, many: Sequence[Sides]) -> Sequence[Merged]:
        return self._shop.mergers.merge([self._pair(*sides) for sides in many])

    def _mark_all(self, many: Sequence[Sides]) -> Sequence[Merged]:
        return [self._shop.marker.merge(*self._pair(*sides)) for sides in many]

    def _pair(self, base: Entries, ours: Entries, theirs: Entries) -> tuple[str, str]:
        root = self._shop.synthetic_commit(self._shop.objects.write_tree(base))
        here, there = (self._shop.objects.write_tree(side) for side in (ours, theirs))
        return self._shop.synthetic_commit(here, root), self._shop.synthetic_commit(there, root)

    def _spliced(self, todo: Plan, merged: MergedTexts, tree: str) -> Picked:
        unchanged = sum(merged.entries[text.path] == text.ours for text in todo.texts)
        return Picked(
            tree=tree,
            counts=Counts(
                spliced=len(todo.splices),
                merged=len(todo.texts) - unchanged,
                absorbed=len(todo.same) + unchanged,
            ),
            lost=self._lost(todo, merged.entries),
        )

    def _clash(self, todo: Plan, merged: MergedTexts, tree: str) -> Picked:
        marked = Texts(self._mark_all, self._shop.read).merge(merged.conflicts)
        return Picked(
            tree=None,
            merged=merged.answer,
            half_tree=tree,
            half_merged={joined(path): entry.id for path, entry in marked.entries.items()},
            texts=merged.conflicts,
            counts=Counts(
                spliced=len(todo.splices),
                absorbed=len(todo.same),
                merged=len(todo.texts) - len(merged.conflicts),
                conflicted=len(merged.conflicts),
            ),
        )

    def _whole(self, base: str, ours: str, theirs: str) -> Picked:
        root = self._shop.synthetic_commit(base)
        here, there = (self._shop.synthetic_commit(tree, root) for tree in (ours, theirs))
        files = self._touched(base, theirs)
        try:
            (merged,) = self._shop.mergers.merge([(here, there)])
        except MergeBroke as broke:
            return Picked(tree=None, counts=Counts(conflicted=len(files)), merged=_broken(broke, files))
        merged = _told(merged, {here: "upstream's side", there: "the patch"})
        in_conflict = {stage.path for stage in merged.stages}
        counts = _counted(files, {file.path: find(self._shop.read, ours, file.path) for file in files}, in_conflict)
        if merged.clean:
            lost = self._lost_anywhere(files, touched(self._shop.read, ours, merged.tree))
            return Picked(tree=merged.tree, counts=counts, lost={**self._landed_whole(files, ours), **lost})
        marked = self._shop.marker.merge(here, there)
        half = {path: find(self._shop.read, marked.tree, parted(path)) for path in in_conflict}
        return Picked(
            tree=None,
            merged=merged,
            half_tree=merged.tree,
            half_merged={path: entry.id for path, entry in half.items() if entry and entry.is_file},
            texts=_texts_of(merged),
            counts=counts,
        )

    def _lost(self, todo: Plan, results: Mapping[Path, Entry]) -> dict[str, tuple[bytes, ...]]:
        wanted, kept = [], []
        for text in todo.texts:
            result = results[text.path]
            if self._change(text.base, text.theirs) != self._change(text.ours, result):
                wanted.append((_name(text.path), self._lines(text.base, text.theirs)))
                kept.append(self._lines(text.ours, result))
        return {**{_name(path): (WHOLE_CHANGE,) for path in todo.same}, **lost_lines(wanted, kept)}

    def _change(self, old: Entry, new: Entry) -> tuple[bytes, bytes]:
        return self._shop.objects.change(old.id, new.id)

    def _lost_anywhere(self, wanted: Iterable[Touched], kept: Iterable[Touched]) -> dict[str, tuple[bytes, ...]]:
        """The same where git merged whole trees: files may have moved."""
        return lost_nets(
            [(_name(file.path), self._lines(file.base, file.theirs)) for file in wanted],
            [self._lines(file.base, file.theirs) for file in kept],
        )

    def _landed_whole(self, files: Iterable[Touched], ours: str) -> dict[str, tuple[bytes, ...]]:
        """What the tip has exactly as the patch makes it; of deletions, those that no line tells of."""
        same = (file for file in files if find(self._shop.read, ours, file.path) == file.theirs)
        whole = (file for file in same if file.theirs or not self._lines(file.base, None))
        return {_name(file.path): (WHOLE_CHANGE,) for file in whole}

    def _lines(self, old: Entry | None, new: Entry | None) -> Lines:
        ids = (None if entry is None or entry.mode == SUBMODULE else entry.id for entry in (old, new))
        return self._shop.objects.changed_lines(*ids)


def _broken(broke: MergeBroke, files: Iterable[Touched]) -> Merged:
    """What to answer for a git that broke off: every file of the patch waits for a person."""
    reason = broke.message.splitlines()[-1].strip()
    text = f"CONFLICT (git itself breaks off): {reason}"
    notes = (Note(paths=(joined(file.path),), kind="CONFLICT (git)", text=text) for file in files)
    return Merged(clean=False, tree="", notes=tuple(notes))


def _told(merged: Merged, names: Mapping[str, str]) -> Merged:
    """An answer whose sentences name the sides, not commits that nobody has ever seen."""
    notes = merged.notes
    for commit, name in names.items():
        notes = tuple(replace(note, text=note.text.replace(commit, name)) for note in notes)
    return replace(merged, notes=notes)


def _texts_of(merged: Merged) -> tuple[Text, ...]:
    """The files of a conflict in whole trees, when each of them is nothing but a text that did not merge."""
    sides: dict[bytes, dict[int, Entry]] = {}
    for stage in merged.stages:
        sides.setdefault(stage.path, {})[stage.number] = Entry(stage.mode, stage.blob)
    texts = all(len(side) == len(SIDES) and all(entry.is_file for entry in side.values()) for side in sides.values())
    if not texts or any(note.is_conflict and note.kind != CONTENTS for note in merged.notes):
        return ()
    return tuple(
        Text(path=parted(path), **{name: side[number] for number, name in SIDES.items()})
        for path, side in sorted(sides.items())
    )


def _name(path: Path) -> str:
    return fsdecode(joined(path))


def _counted(files: Iterable[Touched], tips: Mapping[Path, Entry | None], in_conflict: set[bytes]) -> Counts:
    total = Counts()
    for file in files:
        if joined(file.path) in in_conflict:
            total += Counts(conflicted=1)
        elif tips[file.path] == file.base:
            total += Counts(spliced=1)
        elif tips[file.path] == file.theirs:
            total += Counts(absorbed=1)
        else:
            total += Counts(merged=1)
    return total
