"""Files: digests, writes that are whole or not there, locks, JSON."""

import contextlib
import errno
import glob
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from ci.errors import Busy, ConfigProblem, DiskFull, EnvironmentProblem
from ci.outcome import JsonMap, JsonValue

CHUNK = 1 << 20
"""Bytes read at a time where files are large."""

PART = ".part"
"""Ending of names under construction."""


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file, read in chunks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def no_space_as_error(what: str) -> Iterator[None]:
    """Turn "no space left" into DiskFull naming what was being written."""
    try:
        yield
    except OSError as error:
        # numpy says it in words of its own, without an error number
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or "Not enough free space" in str(error):
            raise DiskFull(f"no space left while writing {what}") from error
        raise


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that readers see the old bytes or the new ones, even across SIGKILL.

    Raises:
        DiskFull: no room; the old file is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with no_space_as_error(str(path)), staged_file(path) as staging:
        staging.write_bytes(data)
        staging.chmod(mode)


def write_json(path: Path, value: JsonValue) -> None:
    """Write a value as readable JSON with sorted keys, atomically."""
    text = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomic(path, text.encode())


def read_json(path: Path) -> JsonMap:
    """Read a JSON object.

    Raises:
        ConfigProblem: not there, not JSON or not an object; names the file.
    """
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError as missing:
        raise ConfigProblem(f"{path}: no such file") from missing
    except (ValueError, RecursionError) as bad:
        raise ConfigProblem(f"{path}: not valid JSON: {bad}") from bad
    if not isinstance(value, dict):
        raise ConfigProblem(f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


@contextlib.contextmanager
def staged_file(final: Path) -> Iterator[Path]:
    """A temporary name beside `final` that gets its name only when the block ends well."""
    handle, name = tempfile.mkstemp(prefix=_staging_prefix(final), suffix=PART, dir=final.parent)
    os.close(handle)
    staging = Path(name)
    try:
        yield staging
        staging.replace(final)
    finally:
        staging.unlink(missing_ok=True)


@contextlib.contextmanager
def staged_dir(final: Path) -> Iterator[Path]:
    """A temporary directory beside `final` that replaces it only when the block ends well."""
    staging = Path(tempfile.mkdtemp(prefix=_staging_prefix(final), suffix=PART, dir=final.parent))
    staging.chmod(0o755)
    try:
        yield staging
        remove_tree(final)
        staging.rename(final)
    finally:
        remove_tree(staging)


def _staging_prefix(final: Path) -> str:
    """Start of a staging name: the final name and our process id; leftovers of killed processes go first."""
    final.parent.mkdir(parents=True, exist_ok=True)
    stem = f".{final.name[:80]}."
    for path in leftovers(final.parent, stem):
        remove_tree(path)
    return f"{stem}{os.getpid()}."


def leftovers(folder: Path, stem: str = ".") -> tuple[Path, ...]:
    """What killed processes left under construction directly in a folder; names begin with `stem`."""
    found = []
    for path in sorted(folder.glob(f"{glob.escape(stem)}*{PART}")):
        owner = path.name.removesuffix(PART).split(".")[-2]  # .<final name>.<process id>.<random letters>.part
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
            found.append(path)
    return tuple(found)


def remove_tree(path: Path) -> None:
    """Remove a directory tree or file if it is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def require_free_space(path: Path, needed: int, *, what: str) -> None:
    """Fail before the long work when a file system is too full.

    Args:
        path: an existing or future path on the file system in question.
        needed: bytes.
        what: words for the message.

    Raises:
        DiskFull: names the path, the free and the needed bytes.
    """
    anchor = _nearest(path)
    free = shutil.disk_usage(anchor).free
    if free < needed:
        raise DiskFull(f"{what} needs {needed / 1e6:,.0f} MB in {anchor}, only {free / 1e6:,.0f} MB are free")


def require_writable(path: Path) -> None:
    """Fail before the work when a directory cannot be made or written.

    Raises:
        EnvironmentProblem: names the path that is in the way.
    """
    anchor = _nearest(path)
    if not anchor.is_dir() or not os.access(anchor, os.W_OK | os.X_OK):
        why = "cannot be written" if anchor.is_dir() else "is not a directory"
        raise EnvironmentProblem(f"{anchor} {why}, needed for {path}", hint="set SPEEDFORK_HOME to a folder of yours")


def _nearest(path: Path) -> Path:
    """The path itself, or the closest of its parents that is there."""
    return next(place for place in (path, *path.parents) if place.exists())


@contextlib.contextmanager
def exclusive(path: Path, *, wait_s: float = 0.0, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a lock file; the kernel frees it when the process ends, however it ends.

    Raises:
        Busy: another process holds it for longer than `wait_s`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if on_wait:
            on_wait()
        try:
            lock.acquire(timeout=wait_s)
        except Timeout as held:
            raise Busy(f"{path}: another run holds this lock") from held
    try:
        yield
    finally:
        lock.release()
