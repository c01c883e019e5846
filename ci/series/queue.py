"""The patch queue on disk: replaced as a whole, across a kill.

The new queue is first written completely into a hidden directory, which gets its name `.next` in one rename; only
then are files copied out and old ones removed. A kill before the rename leaves the old queue; after it there is a
`.next` that `finish_replacement` copies again. Readers call that first, so no state in between is ever read. (This
holds for killed processes; against a power cut the checkout's own git is the safety net.) A replacement that rests on
an older look at the queue is refused: whoever changed it meanwhile would lose that.
"""

from collections.abc import Mapping
from pathlib import Path

from ci.digest import digest_json, sha256_bytes
from ci.errors import SeriesProblem
from ci.files import exclusive, remove_tree, staged_dir, write_atomic

NEXT = ".next"
RETIRED = "retired"
SERIES = "series"
BASE = "base.toml"
WAIT_S = 60.0


def lock_of(patches_dir: Path) -> Path:
    """The lock of a queue: beside it, whichever state directory a run uses."""
    return patches_dir.parent / ".speedfork" / f"{patches_dir.name}.lock"


def queue_digest(patches_dir: Path) -> str:
    """Digest over names and bytes of the queue's own files: what a later replacement rests on."""
    files = (path for path in patches_dir.iterdir() if path.is_file() and _is_own(path))
    return digest_json({path.name: sha256_bytes(path.read_bytes()) for path in files})


def _is_own(path: Path) -> bool:
    return path.name in (SERIES, BASE) or path.suffix == ".patch" or path.suffix == ".toml"


def replace_queue(patches_dir: Path, files: Mapping[str, bytes], *, seen: str | None = None) -> None:
    """Make the queue hold exactly these files; `retired/` only grows, other directories are left alone.

    Args:
        patches_dir: the queue.
        files: every file of the new queue by its name, `retired/NAME` for those that went.
        seen: `queue_digest` of the queue that the new one was made from; None when it was not looked at.

    Raises:
        SeriesProblem: the queue is no longer the one that was seen; it is untouched.
        DiskFull: the old queue is untouched.
    """
    with exclusive(lock_of(patches_dir), wait_s=WAIT_S):
        _finish(patches_dir)
        if seen is not None and queue_digest(patches_dir) != seen:
            raise SeriesProblem(
                f"{patches_dir} was changed while the new series was being made: nothing was written",
                hint="look at what changed (git diff -- patches), then run the command again",
            )
        with staged_dir(patches_dir / NEXT) as staging:
            for name, data in files.items():
                write_atomic(staging / name, data)
        _finish(patches_dir)


def finish_replacement(patches_dir: Path) -> bool:
    """Complete a replacement that was interrupted; True when there was one. Repeating it changes nothing."""
    if not (patches_dir / NEXT).is_dir():
        return False
    with exclusive(lock_of(patches_dir), wait_s=WAIT_S):
        return _finish(patches_dir)


def _finish(patches_dir: Path) -> bool:
    staged = patches_dir / NEXT
    if not staged.is_dir():
        return False
    names = sorted(path.relative_to(staged) for path in staged.rglob("*") if path.is_file())
    for name in names:
        data = (staged / name).read_bytes()
        if not (patches_dir / name).is_file() or (patches_dir / name).read_bytes() != data:
            write_atomic(patches_dir / name, data)
    for old in patches_dir.iterdir():
        if old.is_file() and _is_own(old) and old.relative_to(patches_dir) not in names:
            old.unlink()
    remove_tree(staged)
    return True
