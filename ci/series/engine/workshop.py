"""Where a series is taken apart and put together: a scratch repository, its objects, and git's merge at hand.

Nothing made here is visible outside until `hand_over` copies a commit into the history, as an object without a name.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.errors import CommandFailed, SeriesProblem
from ci.git import SIGNATURE, Git
from ci.series.engine.merging import WITH_BASE, Merger, Mergers
from ci.series.engine.objects import Objects
from ci.series.engine.packing import pack_stream
from ci.series.engine.scratch import scratch_repository
from ci.series.engine.threeway import Changes, Reader, graft

FEW = ("unpack-objects", "-q", "--strict")
MANY = ("index-pack", "--stdin", "--strict")
UNPACK_LIMIT = 100
"""Objects that git, too, keeps as files of their own (fetch.unpackLimit)."""

MERGERS = 4
"""Merges at the same time at most: a series has seldom more files to merge than a few git processes do at once."""

FSCK = "fsck error"
"""How git says that it knows an object and will not have it."""


@dataclass(frozen=True, kw_only=True)
class Workshop:
    """A scratch repository with everything that a rebase needs.

    `mergers` decide what merges; `marker` merges a conflict again, to show the common base between its markers.
    """

    repo: Git
    objects: Objects
    history: Objects
    mergers: Mergers
    marker: Merger

    @property
    def read(self) -> Reader:
        """Reads trees."""
        return self.objects.entries

    def changed_tree(self, tree: str | None, changes: Changes) -> str:
        """A tree with some entries replaced; None starts from nothing."""
        made = graft(self.objects.entries, self.objects.write_tree, tree, changes)
        return self.objects.write_tree({}) if made is None else made

    def synthetic_commit(self, tree: str, *parents: str) -> str:
        """A commit that only serves git, who sees it."""
        links = "".join(f"parent {parent}\n" for parent in parents)
        raw = f"tree {tree}\n{links}author {SIGNATURE}\ncommitter {SIGNATURE}\n\n-\n".encode()
        return self.objects.visible(self.objects.write_commit(raw))

    def hand_over(self, git: Git, commit: str) -> None:
        """Copy a commit and what it needs into the history, as objects without a name; git checks each of them.

        Raises:
            SeriesProblem: git calls one of them harmful, such as a `.gitmodules` that is a folder.
        """
        missing = self.objects.missing_in(self.history, commit)
        if not missing:
            return
        try:
            git(*(FEW if len(missing) < UNPACK_LIMIT else MANY), stdin=pack_stream(missing))
        except CommandFailed as refused:
            if FSCK not in refused.message:
                raise
            raise SeriesProblem(f"git does not take what the series makes: {refused.message}") from None

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return self.objects.tree_of(commit)

    def same_commit_on(self, commit: str, *, tree: str, parent: str) -> str:
        """A commit like another one, author and message byte for byte, with its own tree and parent."""
        return self.objects.write_commit(moved_commit(self.objects.commit(commit), tree=tree, parent=parent))


def moved_commit(raw: bytes, *, tree: str, parent: str) -> bytes:
    """A commit object with another tree and one other parent (pure)."""
    head, blank, text = raw.partition(b"\n\n")
    kept = [line for line in head.split(b"\n") if not line.startswith((b"tree ", b"parent "))]
    links = [f"tree {tree}".encode(), f"parent {parent}".encode()]
    return b"\n".join([*links, *kept]) + blank + text


@contextlib.contextmanager
def workshop(git: Git, work: Path) -> Iterator[Workshop]:
    """A fresh workshop that borrows the history's objects; gone when the block ends.

    Raises:
        Busy: another rebase or export works in `work`.
    """
    with (
        scratch_repository(git, work) as repo,
        Mergers(repo, width=min(MERGERS, os.cpu_count() or 1)) as mergers,
        Merger(repo, *WITH_BASE) as marker,
    ):
        yield Workshop(repo=repo, objects=Objects.of(repo), history=Objects.of(git), mergers=mergers, marker=marker)
