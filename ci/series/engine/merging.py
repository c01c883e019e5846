"""git's own merge of two commits, asked for again and again in one process (`git merge-tree --stdin`)."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Self

from ci.dialogue import Dialogue
from ci.errors import CommandFailed, MergeBroke, ToolMissing
from ci.git import Git
from ci.series.engine.merge_answer import Merged, parse_answer

MERGE_TREE = ("merge-tree", "--write-tree", "--stdin")

WITH_BASE = ("-c", "merge.conflictStyle=diff3")
"""Conflicts that show the common base. git finds a few more of them so: this never decides what merges."""

OLDEST = (2, 39)
"""The first git whose `merge-tree` answers again and again."""

BROKE = ("Assertion `", "BUG: ")
"""How git says that the fault is its own; its merges of renamed folders have some."""

PATIENCE_S = 20.0
"""A git that keeps its answers in a buffer gives the first one only when its input ends; from then on every merge
gets a process of its own. A slow machine that looks like that loses time, nothing else."""


def as_merge_fault(failed: CommandFailed) -> CommandFailed:
    """The failure of a merge, as one of git itself where git says so."""
    return MergeBroke(failed.message) if any(sign in failed.message for sign in BROKE) else failed


class Merger:
    """Merges commits of one repository, with some of git's settings. Use as a context manager; one at a time."""

    def __init__(self, repo: Git, *settings: str) -> None:
        self._repo = repo
        self._command = (*settings, *MERGE_TREE)
        self._open = contextlib.ExitStack()
        self._dialogue: Dialogue | None = None
        self._buffered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def merge(self, ours: str, theirs: str) -> Merged:
        """Merge two commits whose best common ancestor is the base wanted.

        Raises:
            CommandFailed: git does not know them, or has a fault of its own.
            ToolMissing: this git is too old.
        """
        self.ask(ours, theirs)
        return self.answer()

    def ask(self, ours: str, theirs: str) -> None:
        """Begin a merge; its answer comes before another one is asked for."""
        with self._faults_named():
            dialogue = self._dialogue or self._begin()
            dialogue.tell(f"{ours} {theirs}\n".encode())
            if self._buffered:
                dialogue.no_more_input()

    def answer(self) -> Merged:
        """The merge that was asked for.

        Raises:
            MergeBroke: git has a fault of its own; the next merge gets a new process.
        """
        with self._faults_named():
            answer = self._answer(self._dialogue or self._begin())
        if self._buffered:
            self.reset()
        return answer

    @contextlib.contextmanager
    def _faults_named(self) -> Iterator[None]:
        try:
            yield
        except CommandFailed as failed:
            self.reset()
            self._name_old_git()
            raise as_merge_fault(failed) from None

    def _name_old_git(self) -> None:
        said = self._repo("version").text
        version = re.search(r"(\d+)\.(\d+)", said)
        if version and (int(version[1]), int(version[2])) < OLDEST:
            hint = f"install git {OLDEST[0]}.{OLDEST[1]} or newer"
            raise ToolMissing(f"{said} is too old to merge for us", hint=hint)

    def _begin(self) -> Dialogue:
        self._dialogue = self._open.enter_context(self._repo.dialogue(*self._command))
        return self._dialogue

    def reset(self) -> None:
        """End the process; the next merge begins another one."""
        self._open.close()
        self._dialogue = None

    def _answer(self, dialogue: Dialogue) -> Merged:
        heard = b""
        while (merged := parse_answer(heard)) is None:
            piece = dialogue.hear(patience=None if self._buffered else PATIENCE_S)
            if piece is None:
                dialogue.no_more_input()
                self._buffered = True
            heard += piece or b""
        return merged


class Mergers:
    """Several sessions side by side, for merges that have nothing to do with each other. Use as a context manager."""

    def __init__(self, repo: Git, *, width: int) -> None:
        self._mergers = tuple(Merger(repo) for _ in range(width))
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        for merger in self._mergers:
            self._open.enter_context(merger)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def width(self) -> int:
        """How many merges run at the same time."""
        return len(self._mergers)

    def merge(self, pairs: Sequence[tuple[str, str]]) -> tuple[Merged, ...]:
        """Merge pairs of commits, at most `width`, at the same time.

        Raises:
            CommandFailed: git does not know them, or has a fault of its own.
        """
        asked = tuple(zip(self._mergers, pairs, strict=False))
        for merger, pair in asked:
            merger.ask(*pair)
        try:
            return tuple(merger.answer() for merger, _ in asked)
        except CommandFailed:
            for merger, _ in asked:  # an answer that nobody read must not become that of the next question
                merger.reset()
            raise
