"""A private repository to work in: it borrows another one's objects and disappears with everything in it.

The borrowed repository gets no branch, no worktree entry, and no object before `hand_over`. Attributes of the trees
are switched off here, so no `.gitattributes` can choose a merge driver or change bytes on the way in or out.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from os import fsencode
from pathlib import Path

from ci.digest import sha256_bytes
from ci.files import exclusive, remove_tree
from ci.git import Git
from ci.series.conflict import MARKER_SIZE

PREFIX = "series-"
LOCK = "series.lock"
RESULT = "refs/speedfork/result"

NEUTRAL = "* !text !crlf !eol !filter !ident !working-tree-encoding !merge !diff !whitespace !export-subst"
"""`info/attributes` beats every `.gitattributes`: each attribute that touches bytes is back to unspecified."""

LONG_MARKERS = f"conflict-marker-size={MARKER_SIZE}"
USUAL_MARKERS = "!conflict-marker-size"


MEMORY = Path("/dev/shm")  # noqa: S108 - only for directories that mkdtemp makes, unreadable for others
"""Where Linux keeps files in memory: git makes hundreds of small ones here, and none of them has to last."""

MEMORY_NEEDED = 1 << 30
"""Bytes that must be free there, or the work directory is used: a checkout is under 200 MB."""


@contextlib.contextmanager
def scratch_repository(git: Git, work: Path) -> Iterator[Git]:
    """A fresh repository with a work tree that sees the objects of `git`; gone when the block ends.

    It lies in memory where there is room, else in `work`. What an earlier, killed run left is removed first.

    Raises:
        Busy: another rebase or export works in the same directory.
    """
    with exclusive(work / LOCK):
        for left in leftovers(work):
            remove_tree(left)
        in_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_NEEDED
        parent, prefix = (MEMORY, _prefix(work)) if in_memory else (work.resolve(), PREFIX)
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            yield private_repository(git, place)
        finally:
            remove_tree(place)


def leftovers(work: Path) -> tuple[Path, ...]:
    """What killed runs with this work directory have left."""
    return (*work.glob(f"{PREFIX}*"), *MEMORY.glob(f"{_prefix(work)}*"))


def _prefix(work: Path) -> str:
    """Names in memory, which all runs of a machine share, say whose they are."""
    return f"speedfork-{sha256_bytes(fsencode(work.resolve()))[:16]}-"


def private_repository(git: Git, place: Path, *, markers: str = LONG_MARKERS) -> Git:
    """A repository with a work tree, made in the directory `place`, that sees the objects of `git`."""
    repo = Git(path=place)
    repo("init", "--quiet", "--template=", ".")
    for name, text in (("objects/info/alternates", git.objects_dir), ("info/attributes", f"{NEUTRAL} {markers}")):
        file = place / ".git" / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(fsencode(f"{text}\n"))
    return repo


def hand_over(repo: Git, git: Git, commit: str) -> None:
    """Copy a commit and what it needs into the borrowed repository, as objects without a name."""
    repo("update-ref", RESULT, commit)
    git("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", repo.path, RESULT)
