"""The patch queue on disk: replaced as a whole, across a kill.

The new queue is first written completely into a hidden directory, which gets its name `.next` in one rename; only
then are files copied out and old ones removed. A kill before the rename leaves the old queue; after it there is a
`.next` that `finish_replacement` copies again. Readers call that first, so no state in between is ever read. (This
holds for killed processes; against a power cut the checkout's own git is the safety net.)
"""

from collections.abc import Mapping
from pathlib import Path

from ci.files import remove_tree, staged_dir, write_atomic

NEXT = ".next"
RETIRED = "retired"
SERIES = "series"
BASE = "base.toml"


def replace_queue(patches_dir: Path, files: Mapping[str, bytes]) -> None:
    """Make the queue hold exactly these files; `retired/` only grows, other directories are left alone.

    Args:
        patches_dir: the queue.
        files: every file of the new queue by its name, `retired/NAME` for those that went.

    Raises:
        DiskFull: the old queue is untouched.
    """
    with staged_dir(patches_dir / NEXT) as staging:
        for name, data in files.items():
            write_atomic(staging / name, data)
    finish_replacement(patches_dir)


def finish_replacement(patches_dir: Path) -> bool:
    """Complete a replacement that was interrupted; True when there was one. Repeating it changes nothing."""
    staged = patches_dir / NEXT
    if not staged.is_dir():
        return False
    names = sorted(path.relative_to(staged) for path in staged.rglob("*") if path.is_file())
    for name in names:
        data = (staged / name).read_bytes()
        if not (patches_dir / name).is_file() or (patches_dir / name).read_bytes() != data:
            write_atomic(patches_dir / name, data)
    for old in patches_dir.glob("*.patch"):
        if old.relative_to(patches_dir) not in names:
            old.unlink()
    remove_tree(staged)
    return True
