"""A stranger's archive, taken apart without trusting it: only plain files reach the disk, links are only noted."""

import bz2
import gzip
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, cast

from ci.builds.archive import UNPACKED_LIMIT
from ci.builds.audit.values import Kind, Member
from ci.errors import NotAnArchive
from ci.files import CHUNK, no_space_as_error, staged_dir

MEMBER_LIMIT = 100_000
NAME_LIMIT = 200
"""Bytes of one part of a name: file systems end at 255, and some of them spend more than one on a letter."""
KINDS = {tarfile.SYMTYPE: "a symbolic link", tarfile.LNKTYPE: "a hard link"}


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An archive on disk.

    Args:
        folder: where the plain files are, by their names below the top folder.
        members: entries by name below the top folder; by their whole names when there are several tops.
        refused: entries that were left out: whole name, and why.
        tops: names of the top entries.
    """

    folder: Path
    members: dict[str, Member]
    refused: tuple[tuple[str, str], ...]
    tops: tuple[str, ...]


def open_archive(archive: Path, into: Path) -> Opened:
    """Take an archive apart in a new folder `into`; what nobody should unpack is left out and named.

    Raises:
        NotAnArchive: not there, no tar archive, damaged, or larger than any release.
        DiskFull: no room; nothing is left.
    """
    if not archive.is_file():
        raise NotAnArchive(f"{archive}: no such file")
    with no_space_as_error(str(into)), staged_dir(into) as folder:
        taker = _Taker(archive, folder)
        with _broken_as_error(archive), _plain_tar(archive) as packed:
            with tarfile.open(fileobj=packed, mode="r|") as members:
                for member in members:
                    taker.take(members, member)
            # tar ends before its packing does: only the last bytes, the checksum, tell a damaged archive
            while packed.read(CHUNK):
                pass
    return taker.opened(into)


@contextmanager
def _broken_as_error(archive: Path) -> Iterator[None]:
    broken = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError)
    try:
        yield
    except OSError as bad:
        if bad.errno is not None:  # a disk, not the bytes
            raise
        raise NotAnArchive(f"{archive}: not a whole archive: {bad}") from bad
    except broken as bad:
        raise NotAnArchive(f"{archive}: not a whole archive: {bad}") from bad


def _plain_tar(archive: Path) -> IO[bytes]:
    with archive.open("rb") as stream:
        start = stream.read(6)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(archive))
    if start.startswith(b"BZh"):
        return cast("IO[bytes]", bz2.open(archive))
    if start == b"\xfd7zXZ\0":
        return cast("IO[bytes]", lzma.open(archive))
    raise NotAnArchive(f"{archive}: no .tar.gz, .tar.bz2 or .tar.xz archive, it begins with {start!r}")


class _Taker:
    """Takes members one by one, in the order of the stream."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self._archive = archive
        self._folder = folder
        self._members: dict[str, Member] = {}
        self._refused: list[tuple[str, str]] = []
        self._total = 0

    def take(self, stream: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._total += max(member.size, 0)
        if self._total > UNPACKED_LIMIT:
            raise NotAnArchive(f"{self._archive}: unpacks to more than {UNPACKED_LIMIT / 1e9:.0f} GB")
        if len(self._members) + len(self._refused) >= MEMBER_LIMIT:
            raise NotAnArchive(f"{self._archive}: holds more than {MEMBER_LIMIT} files")
        path = PurePosixPath(member.name)
        if why := self._fault(path, member):
            self._refused.append((ascii(member.name)[1:-1][:NAME_LIMIT], why))
        elif path.parts:
            self._keep(stream, member, path)

    def _fault(self, path: PurePosixPath, member: tarfile.TarInfo) -> str:
        if path.is_absolute() or ".." in path.parts:
            return "it would be written outside the folder that it is unpacked in"
        if not f"{member.name}{member.linkname}".isprintable():
            return "a name with letters that cannot be shown"
        if any(len(part.encode()) > NAME_LIMIT for part in path.parts):
            return f"a name of more than {NAME_LIMIT} bytes"
        if not (member.isreg() or member.isdir() or member.type in KINDS):
            return "neither a file nor a folder nor a link"
        if str(path) in self._members and not member.isdir():
            return "it comes twice"
        above = (self._members.get(str(parent)) for parent in path.parents)
        return "it lies below a file or a link" if any(m and m.kind != "folder" for m in above) else ""

    def _keep(self, stream: tarfile.TarFile, member: tarfile.TarInfo, path: PurePosixPath) -> None:
        kind: Kind = "folder" if member.isdir() else "link" if member.type in KINDS else "file"
        name = str(path)
        self._members[name] = Member(name=name, kind=kind, mode=member.mode, size=member.size, to=_lead(member, path))
        if kind == "file":
            self._write(stream, member, self._folder / path)

    def _write(self, stream: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        content = stream.extractfile(member)
        with path.open("xb") as sink:
            if content is not None:
                shutil.copyfileobj(content, sink)
        path.chmod(0o755 if member.mode & 0o100 else 0o644)

    def opened(self, into: Path) -> Opened:
        tops = tuple(dict.fromkeys(PurePosixPath(name).parts[0] for name in self._members))
        single = len(tops) == 1 and self._members.get(tops[0], Member(name="", kind="folder")).kind == "folder"
        if not single:
            return Opened(folder=into, members=self._members, refused=tuple(self._refused), tops=tops)
        below = {name.partition("/")[2]: member for name, member in self._members.items()}
        members = {name: replace(member, name=name) for name, member in below.items() if name}
        return Opened(folder=into / tops[0], members=members, refused=tuple(self._refused), tops=tops)


def _lead(member: tarfile.TarInfo, path: PurePosixPath) -> str:
    """Where a link leads, seen from its own folder: a hard link names its file from the root of the archive."""
    if member.type == tarfile.LNKTYPE:
        return "../" * (len(path.parts) - 1) + member.linkname
    return member.linkname if member.type == tarfile.SYMTYPE else ""
