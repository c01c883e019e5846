"""A side repository where foreign objects are checked before the history sees them.

It borrows the history's objects, so only new ones arrive. What passes moves over pack by pack; what fails, or was
left by a killed run, is deleted whole. The history is never in a state between.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ci.files import exclusive, no_space_as_error, remove_tree
from ci.git import Git

FETCH = (
    "-c",
    "fetch.unpackLimit=1",
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
)
"""How to fetch into a quarantine: always one pack (unpackLimit), which moves into the history as a whole."""

_PREFIX = "incoming-"
_LOCK = "incoming.lock"


@dataclass(frozen=True, kw_only=True)
class Quarantine:
    """An open side repository: `git` is it, `history` is where `admit` moves its objects."""

    git: Git
    history: Git

    def admit(self, commit: str) -> None:
        """Give the history all objects that arrived here, and make sure that it now has the whole of `commit`.

        Raises:
            CommandFailed: objects of the commit are missing; do not tag it.
        """
        source, target = (repository.path / "objects" for repository in (self.git, self.history))
        # index files last: a pack counts only with one; loose objects live in folders of two hex digits
        packs = sorted((source / "pack").glob("pack-*"), key=lambda file: (file.suffix == ".idx", file.name))
        for file in (*source.glob("[0-9a-f][0-9a-f]/*"), *packs):
            place = target / file.relative_to(source)
            place.parent.mkdir(exist_ok=True)
            file.replace(place)
        self.history("rev-list", "--objects", "--quiet", commit)


@contextlib.contextmanager
def quarantine(history: Git) -> Iterator[Quarantine]:
    """Open a side repository in the history's folder; one at a time, deleted afterwards, however it went.

    Raises:
        Busy: another process has one open.
        DiskFull: no space left; the history is as it was.
    """
    with exclusive(history.path / _LOCK):
        for stale in history.path.glob(f"{_PREFIX}*/"):
            remove_tree(stale)
        with no_space_as_error(str(history.path)), _side(history) as side:
            yield Quarantine(git=side, history=history)


@contextlib.contextmanager
def _side(history: Git) -> Iterator[Git]:
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=history.path))
    try:
        git = Git.open_bare(path)
        (path / "objects" / "info" / "alternates").write_text(
            f"{history.path.resolve() / 'objects'}\n", encoding="utf-8"
        )
        yield git
    finally:
        remove_tree(path)
