"""One patch onto one tip: splice what one side left alone, let git merge the rest, count both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import fsdecode

from ci.gittree import SUBMODULE, Entries, Entry
from ci.series.lost import Lines, lost_lines, lost_nets
from ci.series.merge_answer import Merged
from ci.series.results import Counts
from ci.series.threeway import Path, Plan, Text, Touched, find, joined, plan, touched
from ci.series.workshop import Workshop

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
        half_merged: blob ids, by path, of those files.
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
        self._known: dict[tuple[str, str, str], Picked] = {}

    def pick(self, base: str, ours: str, theirs: str) -> Picked:
        """Put the difference from `base` to `theirs` (trees) onto the tree `ours`."""
        key = (base, ours, theirs)
        if key not in self._known:
            self._known[key] = self._picked(base, ours, theirs)
        return self._known[key]

    def _picked(self, base: str, ours: str, theirs: str) -> Picked:
        todo = plan(self._shop.read, base, ours, theirs)
        if todo.structural:
            return self._whole(base, ours, theirs)
        merged = self._merge_texts(todo.texts) if todo.texts else None
        if merged is not None and not merged.clean:
            return self._clash(ours, todo, merged)
        return self._spliced(ours, todo, merged)

    def _merge_texts(self, texts: Sequence[Text]) -> Merged:
        """Merge some files under numbers for names: a name has no say in how a text is merged."""
        names = [b"%d" % number for number in range(len(texts))]
        base = self._commit(dict(zip(names, (text.base for text in texts), strict=True)))
        ours = self._commit(dict(zip(names, (text.ours for text in texts), strict=True)), base)
        theirs = self._commit(dict(zip(names, (text.theirs for text in texts), strict=True)), base)
        return self._shop.merger.merge(ours, theirs)

    def _commit(self, entries: Mapping[bytes, Entry], *parents: str) -> str:
        return self._shop.synthetic_commit(self._shop.objects.write_tree(entries), *parents)

    def _spliced(self, ours: str, todo: Plan, merged: Merged | None) -> Picked:
        entries = self._shop.read(merged.tree) if merged else {}
        results = _by_path(todo.texts, entries)
        unchanged = [text.path for text in todo.texts if results[text.path] == text.ours]
        return Picked(
            tree=self._shop.changed_tree(ours, {**todo.splices, **results}),
            counts=Counts(
                spliced=len(todo.splices),
                merged=len(todo.texts) - len(unchanged),
                absorbed=len(todo.same) + len(unchanged),
            ),
            lost=self._lost(todo, results),
        )

    def _clash(self, ours: str, todo: Plan, merged: Merged) -> Picked:
        numbered = {b"%d" % number: text for number, text in enumerate(todo.texts)}
        real = {name: joined(text.path) for name, text in numbered.items()}
        stages = tuple(replace(stage, path=real[stage.path]) for stage in merged.stages)
        notes = tuple(
            replace(
                note,
                paths=tuple(real[path] for path in note.paths),
                text=f"{note.text.partition(':')[0]}: {', '.join(fsdecode(real[path]) for path in note.paths)}",
            )
            for note in merged.notes
            if note.is_conflict
        )
        in_conflict = {stage.path for stage in merged.stages}
        entries = self._shop.read(merged.tree)
        return Picked(
            tree=None,
            merged=replace(merged, stages=stages, notes=notes),
            half_tree=self._shop.changed_tree(ours, {**todo.splices, **_by_path(todo.texts, entries)}),
            half_merged={real[name]: entries[name].id for name in in_conflict},
            texts=tuple(numbered[name] for name in sorted(in_conflict)),
            counts=Counts(
                spliced=len(todo.splices),
                absorbed=len(todo.same),
                merged=len(todo.texts) - len(in_conflict),
                conflicted=len(in_conflict),
            ),
        )

    def _whole(self, base: str, ours: str, theirs: str) -> Picked:
        root = self._shop.synthetic_commit(base)
        sides = (self._shop.synthetic_commit(tree, root) for tree in (ours, theirs))
        merged = self._shop.merger.merge(*sides)
        files = tuple(touched(self._shop.read, base, theirs))
        in_conflict = {stage.path for stage in merged.stages}
        counts = _counted(files, {file.path: find(self._shop.read, ours, file.path) for file in files}, in_conflict)
        if merged.clean:
            lost = self._lost_anywhere(files, touched(self._shop.read, ours, merged.tree))
            return Picked(tree=merged.tree, counts=counts, lost=lost)
        half = {path: find(self._shop.read, merged.tree, tuple(path.split(b"/"))) for path in in_conflict}
        return Picked(
            tree=None,
            merged=merged,
            half_tree=merged.tree,
            half_merged={path: entry.id for path, entry in half.items() if entry and entry.is_file},
            texts=_texts_of(merged),
            counts=counts,
        )

    def _lost(self, todo: Plan, results: Mapping[Path, Entry]) -> dict[str, tuple[bytes, ...]]:
        wanted = [(_name(text.path), self._lines(text.base, text.theirs)) for text in todo.texts]
        kept = [self._lines(text.ours, results[text.path]) for text in todo.texts]
        return {**{_name(path): (WHOLE_CHANGE,) for path in todo.same}, **lost_lines(wanted, kept)}

    def _lost_anywhere(self, wanted: Iterable[Touched], kept: Iterable[Touched]) -> dict[str, tuple[bytes, ...]]:
        """The same where git merged whole trees: files may have moved."""
        return lost_nets(
            [(_name(file.path), self._lines(file.base, file.theirs)) for file in wanted],
            [self._lines(file.base, file.theirs) for file in kept],
        )

    def _lines(self, old: Entry | None, new: Entry | None) -> Lines:
        ids = (None if entry is None or entry.mode == SUBMODULE else entry.id for entry in (old, new))
        return self._shop.objects.changed_lines(*ids)


def _by_path(texts: Sequence[Text], entries: Entries) -> dict[Path, Entry]:
    """What the merge under numbers made of each file."""
    return {text.path: entries[b"%d" % number] for number, text in enumerate(texts)}


def _texts_of(merged: Merged) -> tuple[Text, ...]:
    """The files of a conflict in whole trees, when each of them is nothing but a text that did not merge."""
    sides: dict[bytes, dict[int, Entry]] = {}
    for stage in merged.stages:
        sides.setdefault(stage.path, {})[stage.number] = Entry(stage.mode, stage.blob)
    texts = all(len(side) == len(SIDES) and all(entry.is_file for entry in side.values()) for side in sides.values())
    if not texts or any(note.is_conflict and note.kind != CONTENTS for note in merged.notes):
        return ()
    return tuple(
        Text(path=tuple(path.split(b"/")), **{name: side[number] for number, name in SIDES.items()})
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
