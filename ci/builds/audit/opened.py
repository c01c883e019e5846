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
from typing import IO, Self, cast

from ci.builds.archive import UNPACKED_LIMIT
from ci.builds.audit.values import Kind, Member
from ci.errors import NotAnArchive
from ci.files import CHUNK, no_space_as_error, staged_dir

MEMBER_LIMIT = 10_000
NAME_LIMIT = 200
"""Bytes of one part of a name: file systems end at 255, and some of them spend more than one on a letter."""
DEPTH_LIMIT = 12
"""Folders in one another; with the longest names that stays below what the kernel takes as a path."""
NOTE_LIMIT = 100_000
"""Bytes of what a header may add to an entry, such as a long name: tarfile reads it whole into memory."""
NOTES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
REST_LIMIT = 10_000_000
"""Bytes of nothing that may follow the end of a tar archive; tar itself fills up some kilobytes."""
TOP = "."
"""The name of the top folder itself."""
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
        with (
            _broken_as_error(archive),
            _plain_tar(archive) as packed,
            tarfile.open(fileobj=packed, mode="r|", tarinfo=_Header) as members,
        ):
            for member in members:
                taker.take(members, member)
            # tar ends before its packing does: only the last bytes, the checksum, tell a damaged archive
            taker.take_rest(cast("IO[bytes]", members.fileobj))
    return taker.opened(into)


class _Header(tarfile.TarInfo):
    """A header that adds little to its entry."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read a block, and refuse what would fill the memory."""
        found = super().frombuf(buf, encoding, errors)
        if found.type in NOTES and found.size > NOTE_LIMIT:
            raise tarfile.ReadError(f"a name or note of {found.size} bytes")
        return found


@contextmanager
def _broken_as_error(archive: Path) -> Iterator[None]:
    # headers that only announce the next header are read by recursion
    broken = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, ValueError, RecursionError)
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
        self._above: set[str] = set()
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

    def take_rest(self, rest: IO[bytes]) -> None:
        """What follows the end: nothing, for some programs would unpack that too."""
        size, empty = 0, True
        while block := rest.read(CHUNK):
            size += len(block)
            empty = empty and not block.strip(b"\0")
            if size > REST_LIMIT:
                raise NotAnArchive(f"{self._archive}: goes on for more than {REST_LIMIT / 1e6:.0f} MB behind its end")
        if not empty:
            self._refused.append(("(no name)", "something follows the end of the archive"))

    def _fault(self, path: PurePosixPath, member: tarfile.TarInfo) -> str:
        if path.is_absolute() or ".." in path.parts:
            return "it would be written outside the folder that it is unpacked in"
        if not f"{member.name}{member.linkname}".isprintable():
            return "a name with letters that cannot be shown"
        if any(len(part.encode()) > NAME_LIMIT for part in path.parts):
            return f"a name of more than {NAME_LIMIT} bytes"
        if len(path.parts) > DEPTH_LIMIT:
            return f"it lies in more than {DEPTH_LIMIT} folders"
        if not (member.isreg() or member.isdir() or member.type in KINDS):
            return "neither a file nor a folder nor a link"
        return self._clash(path, folder=member.isdir())

    def _clash(self, path: PurePosixPath, *, folder: bool) -> str:
        """Why an entry has no place beside those before it; a folder may be named again."""
        before = self._members.get(str(path))
        if before and not (folder and before.kind == "folder"):
            return "it comes twice"
        if str(path) in self._above and not folder:
            return "it stands where a folder is"
        above = (self._members.get(str(parent)) for parent in path.parents)
        return "it lies below a file or a link" if any(m and m.kind != "folder" for m in above) else ""

    def _keep(self, stream: tarfile.TarFile, member: tarfile.TarInfo, path: PurePosixPath) -> None:
        kind: Kind = "folder" if member.isdir() else "link" if member.type in KINDS else "file"
        name = str(path)
        self._above.update(str(parent) for parent in path.parents)
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
        members = {name or TOP: replace(member, name=name or TOP) for name, member in below.items()}
        return Opened(folder=into / tops[0], members=members, refused=tuple(self._refused), tops=tops)


def _lead(member: tarfile.TarInfo, path: PurePosixPath) -> str:
    """Where a link leads, seen from its own folder: a hard link names its file from the root of the archive."""
    if member.type == tarfile.LNKTYPE:
        return "../" * (len(path.parts) - 1) + member.linkname
    return member.linkname if member.type == tarfile.SYMTYPE else ""
