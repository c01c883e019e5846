"""git's merge of single files: many at once, under numbers for names, and each only once.

A name has no say in how a text is merged, so files that have nothing to do with each other share one merge. What one
patch leaves of a file is what the next one meets there; `foresee` follows those chains through the series, and merges
in each round whatever is ready, on all builds together: as few merges as the longest chain has links.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import fsdecode
from typing import TypeAlias

from ci.gittree import Entries, Entry
from ci.series.engine.merge_answer import Merged
from ci.series.engine.threeway import Path, Text, joined

Sides: TypeAlias = tuple[Entries, Entries, Entries]
"""Three flat trees: base, ours, theirs."""

Merge: TypeAlias = Callable[[Sequence[Sides]], Sequence[Merged]]
"""Merges some trees with git, at the same time."""

SHARE = 4
"""Files that are worth a merge of their own beside another one."""

Key: TypeAlias = tuple[Entry, Entry, Entry]


@dataclass(frozen=True, kw_only=True)
class Link:
    """What one patch does to a file: its entry before and after."""

    base: Entry
    theirs: Entry


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A file on a tip, and what the patches of the series do to it, in order."""

    ours: Entry
    links: tuple[Link, ...]


@dataclass(frozen=True, kw_only=True)
class MergedTexts:
    """The entry of each file; those in which git left markers are in `conflicts`, and `answer` is what git said."""

    entries: Mapping[Path, Entry]
    conflicts: tuple[Text, ...] = ()
    answer: Merged | None = None


class Texts:
    """Merges files, and remembers the clean results."""

    def __init__(self, merge: Merge, read: Callable[[str | None], Entries], *, width: int = 1) -> None:
        self._merge = merge
        self._read = read
        self._width = width
        self._known: dict[Key, Entry] = {}

    def merge(self, texts: Sequence[Text]) -> MergedTexts:
        """Merge some files."""
        known = {text.path: entry for text in texts if (entry := self._known.get(_key(text)))}
        rest = tuple(text for text in texts if text.path not in known)
        if not rest:
            return MergedTexts(entries=known)
        ((merged, entries),) = self._merged([[_key(text) for text in rest]])
        found = {**known, **{text.path: entry for text, entry in zip(rest, entries, strict=True)}}
        if merged.clean:
            return MergedTexts(entries=found)
        conflicts = tuple(text for number, text in enumerate(rest) if _name(number) in _unmerged(merged))
        return MergedTexts(entries=found, conflicts=conflicts, answer=_with_names(merged, rest))

    def foresee(self, chains: Iterable[Chain]) -> None:
        """Merge what the series will need, as far as that can be told before."""
        waiting = [_advanced(chain, self._known) for chain in chains]
        while wanted := list(dict.fromkeys(key for chain in waiting if (key := _next(chain)))):
            clashing = self._learn(wanted)
            waiting = [_advanced(chain, self._known) for chain in waiting if _next(chain) not in clashing]

    def _learn(self, keys: Sequence[Key]) -> frozenset[Key]:
        """Merge; what does not merge is answered."""
        count = max(1, min(self._width, len(keys) // SHARE))
        shares = [keys[at::count] for at in range(count)]
        merges = zip(shares, self._merged(shares), strict=True)
        clashing = ((share, _unmerged(merged)) for share, (merged, _) in merges)
        return frozenset(key for share, names in clashing for n, key in enumerate(share) if _name(n) in names)

    def _merged(self, shares: Sequence[Sequence[Key]]) -> list[tuple[Merged, list[Entry]]]:
        """Merge the shares at the same time, and remember what is clean."""
        merges = self._merge([_sides(share) for share in shares])
        return [self._entries(share, merged) for share, merged in zip(shares, merges, strict=True)]

    def _entries(self, keys: Sequence[Key], merged: Merged) -> tuple[Merged, list[Entry]]:
        tree, unmerged = self._read(merged.tree), _unmerged(merged)
        entries = {_name(number): tree[_name(number)] for number in range(len(keys))}
        self._known |= {key: entries[_name(n)] for n, key in enumerate(keys) if _name(n) not in unmerged}
        return merged, list(entries.values())


def _sides(keys: Sequence[Key]) -> Sides:
    base, ours, theirs = ({_name(number): key[side] for number, key in enumerate(keys)} for side in range(3))
    return base, ours, theirs


def _key(text: Text) -> Key:
    return text.base, text.ours, text.theirs


def _name(number: int) -> bytes:
    return b"%d" % number


def _unmerged(merged: Merged) -> frozenset[bytes]:
    return frozenset(stage.path for stage in merged.stages)


def _next(chain: Chain) -> Key | None:
    """The merge that a chain waits for."""
    return (chain.links[0].base, chain.ours, chain.links[0].theirs) if chain.links else None


def _advanced(chain: Chain, known: Mapping[Key, Entry]) -> Chain:
    """The chain up to the next merge that is not known."""
    ours, links = chain.ours, list(chain.links)
    while links:
        base, theirs = links[0].base, links[0].theirs
        after = theirs if ours == base else ours if ours == theirs else known.get((base, ours, theirs))
        if after is None:
            break
        ours = after
        links.pop(0)
    return Chain(ours=ours, links=tuple(links))


def _with_names(merged: Merged, texts: Sequence[Text]) -> Merged:
    """An answer about numbers as one about the files themselves."""
    real = {_name(number): joined(text.path) for number, text in enumerate(texts)}
    notes = (
        replace(
            note,
            paths=tuple(real[path] for path in note.paths),
            text=f"{note.text.partition(':')[0]}: {', '.join(fsdecode(real[path]) for path in note.paths)}",
        )
        for note in merged.notes
        if note.is_conflict
    )
    stages = (replace(stage, path=real[stage.path]) for stage in merged.stages)
    return replace(merged, stages=tuple(stages), notes=tuple(notes))
