"""What has to be done to put one patch onto a tip, path by path (pure; trees come through a reader).

The patch is the difference of two trees, `base` and `theirs`; the tip's tree is `ours`. Where the tip still has what
the patch started from, the patch's entry is spliced in by its id: exact, and nothing is read. Where both sides
changed a file that all three have, git merges the texts. Everything else (a side that lacks the path, another type,
a folder that went) may have to do with renames, which only the whole trees can tell: then git merges those.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import fsencode
from typing import TypeAlias

from ci.gittree import FOLDER, Entries, Entry

Path: TypeAlias = tuple[bytes, ...]
"""A path as its components."""

Reader: TypeAlias = Callable[[str | None], Entries]
"""The entries of a tree by id; none for None."""

Changes: TypeAlias = Mapping[Path, Entry | None]
"""New entries by path; None takes the path away."""


@dataclass(frozen=True, kw_only=True)
class Touched:
    """One file of a patch: what it was and what the patch made of it; None where it was not or is gone."""

    path: Path
    base: Entry | None
    theirs: Entry | None


@dataclass(frozen=True, kw_only=True)
class Text:
    """A file that all three sides have and both changed."""

    path: Path
    base: Entry
    ours: Entry
    theirs: Entry


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a patch goes onto a tip.

    Attributes:
        splices: entries to put into the tip's tree.
        same: paths where the tip has the patch's very entry already.
        texts: files whose contents git must merge.
        structural: paths that only a merge of the whole trees can settle; when there is one, that merge settles all.
    """

    splices: Changes
    same: tuple[Path, ...]
    texts: tuple[Text, ...]
    structural: tuple[Path, ...]


def touched(read: Reader, base: str | None, theirs: str | None, prefix: Path = ()) -> Iterator[Touched]:
    """The files in which two trees differ; equal folders are not entered."""
    before, after = read(base), read(theirs)
    changed = [name for name, entry in after.items() if before.get(name) != entry]
    for name in sorted([*changed, *(before.keys() - after.keys())]):
        old, new = before.get(name), after.get(name)
        path = (*prefix, name)
        if (old and old.is_tree) or (new and new.is_tree):
            yield from touched(read, _folder(old), _folder(new), path)
        was, now = _leaf(old), _leaf(new)
        if was or now:
            yield Touched(path=path, base=was, theirs=now)


def _folder(entry: Entry | None) -> str | None:
    return entry.id if entry and entry.is_tree else None


def _leaf(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.is_tree else entry


def plan(read: Reader, base: str, ours: str, theirs: str, files: Iterable[Touched]) -> Plan:
    """Sort the files of a patch by what they need.

    Args:
        read: reads trees.
        base: the tree that the patch was made on.
        ours: the tip's.
        theirs: the patch's.
        files: those in which `base` and `theirs` differ (`touched`).
    """
    splices: dict[Path, Entry | None] = {}
    same: list[Path] = []
    texts: list[Text] = []
    structural: list[Path] = []
    for file in files:
        tip = find(read, ours, file.path)
        if file.base and file.theirs and tip and not tip.is_tree:
            if tip == file.base:
                splices[file.path] = file.theirs
            elif tip == file.theirs:
                same.append(file.path)
            elif file.base.is_file and file.theirs.is_file and tip.is_file:
                texts.append(Text(path=file.path, base=file.base, ours=tip, theirs=file.theirs))
            else:
                structural.append(file.path)
        elif tip == file.base and _folders_stand(read, file, base, ours, theirs):
            splices[file.path] = file.theirs
        else:
            structural.append(file.path)
    return Plan(splices=splices, same=tuple(same), texts=tuple(texts), structural=tuple(structural))


def _folders_stand(read: Reader, file: Touched, base: str, ours: str, theirs: str) -> bool:
    """Whether no folder above a new or deleted file went on one side: that would be a renamed folder to git."""
    for depth in range(1, len(file.path)):
        folder = file.path[:depth]
        at_base, at_ours, at_theirs = (find(read, tree, folder) for tree in (base, ours, theirs))
        if at_ours is not None and not at_ours.is_tree:
            return False  # a file stands where the patch has a folder
        gone_here = at_base is not None and at_ours is None
        gone_there = at_base is not None and at_theirs is None
        if gone_here or (gone_there and at_ours != at_base):
            return False
    return True


def find(read: Reader, tree: str, path: Path) -> Entry | None:
    """The entry at a path, or None."""
    folder: str | None = tree
    for name in path[:-1]:
        folder = _folder(read(folder).get(name))
        if folder is None:
            return None
    return read(folder).get(path[-1])


def graft(read: Reader, write: Callable[[Entries], str], tree: str | None, changes: Changes) -> str | None:
    """A tree with some entries put in or taken away; None when nothing is left of it."""
    entries = dict(read(tree))
    for name, inner in _by_first(changes).items():
        leaf = inner.pop((), None)
        below = graft(read, write, _folder(entries.get(name)), inner) if inner else None
        _put(entries, name, leaf or (Entry(FOLDER, below) if below else None))
    return write(entries) if entries else None


def _put(entries: dict[bytes, Entry], name: bytes, entry: Entry | None) -> None:
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry


def _by_first(changes: Changes) -> dict[bytes, dict[Path, Entry | None]]:
    grouped: dict[bytes, dict[Path, Entry | None]] = {}
    for path, entry in changes.items():
        grouped.setdefault(path[0], {})[path[1:]] = entry
    return grouped


def joined(path: Sequence[bytes]) -> bytes:
    """A path with slashes."""
    return b"/".join(path)


def parted(path: str | bytes) -> Path:
    """The components of a path with slashes; undecodable bytes as surrogates. Inverse of `joined`."""
    return tuple(fsencode(path).split(b"/"))
