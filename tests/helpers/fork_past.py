"""A fork of small upstream builds: a real repository with commits, branches and merges, and the history of builds.

fork = ForkPast(tmp_path)                       # both know build b100
first = fork.commit("one", {"a.txt": b"1\\n"})   # on top of the last one
fork.branch("main", first)
"""

from collections.abc import Mapping
from pathlib import Path

from tests.helpers.histories import Files, Past, message, numbered

BUILD = "b100"
LINES = numbered(30)
START: Files = {"a.txt": LINES, "b.txt": LINES, "c.txt": LINES}


class ForkPast:
    """`past` is our history, `fork` the remote; `tip` is the last commit made."""

    def __init__(self, root: Path, start: Files = START) -> None:
        self.past = Past(root / "state")
        self.fork = Past(root / "fork")
        for side in (self.past, self.fork):
            side.build(BUILD, start)
        self.base = self.fork.builds[BUILD]
        self.tip = self.base

    @property
    def address(self) -> str:
        """Path of the remote."""
        return str(self.fork.git.path)

    def commit(
        self,
        subject: str,
        files: Files,
        *,
        on: str | None = None,
        text: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """A commit with all trailers (or with the message `text`), which becomes the tip and branch `main`."""
        parent = on or self.tip
        words = message(subject, BUILD, subject) if text is None else text
        return self._moved(self.fork.commit(self.fork.tree(files, start=parent), [parent], words, env=env))

    def merge(self, ours: str, theirs: str, files: Files | None = None) -> str:
        """A merge; its tree is git's own, with `files` laid over it."""
        tree = self.fork.git("merge-tree", "--write-tree", ours, theirs, ok_codes=(0, 1)).text.split("\n")[0]
        return self._moved(self.fork.commit(self.fork.tree(files or {}, start=tree), [ours, theirs], "Merge"))

    def raw_commit(self, tree: str, author: bytes, text: bytes, *, encoding: bytes = b"") -> str:
        """A commit object byte by byte: authors that git's own commands would mend."""
        head = b"tree %s\nparent %s\nauthor %s\ncommitter C <c@example.org> 1700000000 +0000\n%s\n"
        raw = head % (tree.encode(), self.tip.encode(), author, b"encoding %s\n" % encoding if encoding else b"")
        return self._moved(self.fork.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw + text).text)

    def branch(self, name: str, commit: str) -> None:
        """Point a branch of the fork at a commit."""
        self.fork.git("update-ref", f"refs/heads/{name}", commit)

    def _moved(self, commit: str) -> str:
        self.tip = commit
        self.branch("main", commit)
        return commit
