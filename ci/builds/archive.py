"""Archives that are the same bytes every time: one time stamp, no owner, fixed modes; and their safe unpacking.

Files of any size go through in chunks.
"""

import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from ci.builds.recipe import SOURCE_DATE_EPOCH
from ci.errors import ArchiveProblem
from ci.files import CHUNK, no_space_as_error, staged_dir, staged_file

GZIP_LEVEL = 6
"""Level 9 takes six times as long on the sources and saves under 2 %."""
UNPACKED_LIMIT = 4_000_000_000
"""Bytes: far above any archive of ours, far below a decompression bomb."""


@contextmanager
def new_archive(final: Path) -> Iterator[tarfile.TarFile]:
    """A `.tar.gz` that gets its name when the block ends well; the gzip header has no name and no time.

    Raises:
        DiskFull: no room; no archive is left.
    """
    with no_space_as_error(str(final)), staged_file(final) as staging:
        with (
            staging.open("wb") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=GZIP_LEVEL, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            yield archive
        staging.chmod(0o644)


def add_file(archive: tarfile.TarFile, name: str, path: Path) -> None:
    """Add a file from disk, executable where it is so for its owner."""
    with path.open("rb") as stream:
        status = path.stat()
        _add_stream(archive, name, stream, status.st_size, executable=bool(status.st_mode & 0o100))


def add_bytes(archive: tarfile.TarFile, name: str, content: bytes, *, executable: bool = False) -> None:
    """Add a file of that content."""
    _add_stream(archive, name, io.BytesIO(content), len(content), executable=executable)


def add_link(archive: tarfile.TarFile, name: str, to: str) -> None:
    """Add a symbolic link."""
    member = _member(name)
    member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, to
    archive.addfile(member)


def _add_stream(archive: tarfile.TarFile, name: str, stream: IO[bytes], size: int, *, executable: bool) -> None:
    member = _member(name)
    member.mode, member.size = 0o755 if executable else 0o644, size
    archive.addfile(member, stream)


def _member(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mtime = SOURCE_DATE_EPOCH
    return member


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an archive of plain files into a new folder `into`; returns its single top folder.

    Raises:
        ArchiveProblem: damaged, or a member is no plain file below one top folder; nothing is left.
        DiskFull: no room; nothing is left.
    """
    try:
        with no_space_as_error(str(into)), staged_dir(into) as folder, gzip.open(archive) as packed:
            with tarfile.open(fileobj=packed, mode="r|") as members:
                top = _unpack_members(archive, members, folder)
            # tar ends before gzip does: only its last bytes, the checksum, tell a damaged archive
            while packed.read(CHUNK):
                pass
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as bad:
        raise ArchiveProblem(f"{archive}: not a whole .tar.gz: {bad}") from bad
    return into / top


def _unpack_members(archive: Path, members: tarfile.TarFile, folder: Path) -> str:
    tops: set[str] = set()
    total = 0
    for member in members:
        total += member.size
        if total > UNPACKED_LIMIT:
            raise ArchiveProblem(f"{archive}: unpacks to more than {UNPACKED_LIMIT / 1e9:.0f} GB")
        path = _checked_path(archive, member)
        tops.add(path.parts[0])
        _write_member(archive, members, member, folder / path)
    if len(tops) != 1:
        raise ArchiveProblem(f"{archive}: expected one top folder, found {sorted(tops)}")
    return tops.pop()


def _checked_path(archive: Path, member: tarfile.TarInfo) -> PurePosixPath:
    path = PurePosixPath(member.name)
    if not member.isreg() or path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise ArchiveProblem(f"{archive}: member {member.name!r} is not a plain file below one folder")
    return path


def _write_member(archive: Path, members: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = members.extractfile(member)
    if content is None or path.exists():
        raise ArchiveProblem(f"{archive}: member {member.name!r} comes twice")
    with content, path.open("wb") as sink:
        shutil.copyfileobj(content, sink)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
