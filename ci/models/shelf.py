"""Verified model files: what was hashed is remembered, so that 20 GB are not read again for every command.

A file counts as verified while size, inode and both times are those of the moment it was hashed. A file that was
written less than a second before its stamp could change without a trace in its times, so it is hashed once more on
its second use; that meets only files that are hashed within a second, which may well be a few hundred MB.
"""

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import time_ns

from ci.config import parse
from ci.errors import ConfigProblem, ModelNotOffered, UsageProblem
from ci.files import CHUNK, read_json, write_json
from ci.models.lock import Shard
from ci.outcome import JsonMap

RACY_NS = 1_000_000_000
"""Nanoseconds between the last write and the stamp below which times prove nothing."""

Report = Callable[[int, int | None, str], None]
"""Called with bytes so far, bytes in all, and what is done to them."""


def silent(_: int, __: int | None = None, ___: str = "") -> None:
    """A report that nobody reads."""


@dataclass(frozen=True, kw_only=True)
class Stamp:
    """What is remembered of one file of a model; believed only while file and pin are those of the stamp."""

    note: Path

    @classmethod
    def of(cls, folder: Path, shard: Shard) -> "Stamp":
        """The stamp of a model's file, in the model's folder."""
        return cls(note=folder / f".{shard.name}.verified.json")

    def holds(self, path: Path, shard: Shard) -> bool:
        """Whether the file has the pinned bytes by its stamp: nothing of it is read."""
        try:
            stamp, facts = read_json(self.note), _facts(path, shard.sha256)
        except (ConfigProblem, FileNotFoundError):  # no file, no stamp, or a damaged one
            return False
        return _is_sure(stamp) and all(stamp.get(key) == value for key, value in facts.items())

    def put(self, path: Path, shard: Shard) -> None:
        """Remember that the file has the pinned bytes."""
        write_json(self.note, {**_facts(path, shard.sha256), "stamped_ns": time_ns()})

    def drop(self) -> None:
        """Forget it."""
        self.note.unlink(missing_ok=True)


def _facts(path: Path, sha256: str) -> dict[str, object]:
    found = path.stat()
    return {
        "sha256": sha256,
        "size": found.st_size,
        "inode": found.st_ino,
        "mtime_ns": found.st_mtime_ns,
        "ctime_ns": found.st_ctime_ns,
    }


def _is_sure(stamp: JsonMap) -> bool:
    stamped, written = stamp.get("stamped_ns"), stamp.get("mtime_ns")
    return isinstance(stamped, int) and isinstance(written, int) and stamped - written >= RACY_NS


def digest(path: Path, report: Report = silent) -> str:
    """Hex SHA-256 of a file; reports while it reads."""
    size, done, state = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as stream:
        while data := stream.read(CHUNK):
            state.update(data)
            done += len(data)
            report(done, size, "verifying")
    return state.hexdigest()


def fault_of(path: Path, shard: Shard, report: Report = silent) -> str | None:
    """Why a file does not have the pinned bytes; None when it has. Reads all of it if the size is right."""
    size = path.stat().st_size
    if size != shard.size:
        return f"{size} bytes, the pin says {shard.size}"
    found = digest(path, report)
    return None if found == shard.sha256 else f"sha256 is {found}, the pin is {shard.sha256}"


def require_no_folder(path: Path) -> None:
    """Nothing but a file may stand where a file of a model goes.

    Raises:
        UsageProblem: a folder does.
    """
    if path.is_dir():
        away = f"mv {shlex.quote(str(path))} {shlex.quote(str(path))}.folder, then run the command again"
        raise UsageProblem(f"{path}: a folder is in the place of this file", hint=away)


def shard_of(name: str, size: int | None, sha256: str | None, shown: str) -> Shard:
    """The pin of a file, from what its source states.

    Raises:
        ModelNotOffered: the source states no digest, or no size.
        ConfigProblem: a name or digest of another shape.
    """
    if size is None or sha256 is None:
        raise ModelNotOffered(f"{shown} states no size or SHA-256 for {name}, so it cannot be pinned")
    data: JsonMap = {"file": name, "size": size, "sha256": sha256}
    return parse(Shard, data, source=f"{shown}: {name}", hint="such a file cannot be pinned")
