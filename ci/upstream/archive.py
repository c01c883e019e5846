"""Read one folder out of a source archive, as data: nothing runs, nothing is written, nothing odd gets through.

The standard reader stops quietly at a damaged header and does not miss an end that never came; this one refuses
both. Names stay bytes throughout.
"""

import gzip
import io
import posixpath
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self, cast

from ci.errors import SourceArchiveProblem
from ci.gittree import EXECUTABLE, FILE, SYMLINK

MAX_MEMBERS = 50_000
"""Upstream has about 4,000 files; ten times that is growth, more is an attack or a mistake."""
MAX_MEMBER_BYTES = 256 << 20
"""A member is read into memory whole."""
MAX_STREAM_BYTES = 1 << 30
"""Of the unpacked archive, headers and skipped members included; today's are 184 MB."""

_NAMES = "utf-8"
_RAW = "surrogateescape"
_SET_ID = 0o6000
_OWNER_EXECUTES = 0o100
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a character device",
    tarfile.BLKTYPE: "a block device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
    tarfile.CONTTYPE: "a contiguous file",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One file of a tree: path below the folder, git's mode, and content (a symlink's content is its target)."""

    path: bytes
    mode: str
    data: bytes


def read_folder(archive: Path, folder: str) -> Iterator[Entry]:
    """The files below `folder` (such as `name-1.0/llama.cpp`), in the archive's order.

    The end of the iteration is the proof that the archive is whole: use nothing before that.

    Raises:
        SourceArchiveProblem: damaged, cut short, too large, without that folder, or with a member that is absolute,
            climbs out, is named twice, is a device, sets ids, or links outside the folder.
    """
    reader = _Reader(name=archive.name, root=folder.encode() + b"/")
    found = False
    try:
        with archive.open("rb") as raw, gzip.GzipFile(fileobj=raw) as unzipped:
            bounded = _Bounded(unzipped, archive.name)
            for entry in reader.entries(bounded):
                found = True
                yield entry
            bounded.drain()
    except (EOFError, OSError, zlib.error, tarfile.TarError, UnicodeError, ValueError) as damaged:
        raise SourceArchiveProblem(f"{archive}: damaged or cut short: {damaged}") from damaged
    if not found:
        raise SourceArchiveProblem(f"{archive}: holds no folder {folder}")


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than `MAX_STREAM_BYTES`: a small file can unpack to any size."""

    def __init__(self, stream: gzip.GzipFile, name: str) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._left = MAX_STREAM_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise SourceArchiveProblem(f"{self._name}: unpacks to more than {MAX_STREAM_BYTES} bytes")
        return data

    def drain(self) -> None:
        """Read to the end, where the checksum of the compressed stream is checked."""
        while self.read(1 << 16):
            pass


class _StrictInfo(tarfile.TarInfo):
    """A header whose damage is an error: the base class takes a bad header in mid-archive for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str | None, errors: str) -> Self:
        if len(buf) == tarfile.BLOCKSIZE and not any(buf):
            # the end mark: the base class says so by its own exception
            return super().frombuf(buf, encoding or _NAMES, errors)
        try:
            return super().frombuf(buf, encoding or _NAMES, errors)
        except tarfile.HeaderError as bad:
            raise ValueError(f"member header: {bad}") from bad


@dataclass(kw_only=True)
class _Reader:
    name: str
    root: bytes
    seen: set[bytes] = field(default_factory=set)
    folders: set[bytes] = field(default_factory=set)

    def entries(self, stream: _Bounded) -> Iterator[Entry]:
        tar = tarfile.open(  # noqa: SIM115 - the stream belongs to the caller
            fileobj=cast("IO[bytes]", stream), mode="r|", encoding=_NAMES, errors=_RAW, tarinfo=_StrictInfo
        )
        while (member := tar.next()) is not None:
            path = self._checked_path(member)
            if not member.isdir() and path.startswith(self.root):
                yield self._entry(tar, member, path)

    def _checked_path(self, member: tarfile.TarInfo) -> bytes:
        path = member.name.encode(_NAMES, _RAW)
        parts = path.split(b"/")
        if path.startswith(b"/"):
            raise self._refuse(path, "has an absolute name")
        if any(part in (b"", b".", b"..") for part in parts):
            raise self._refuse(path, "has a name that is not plain (`..`, `.` or nothing between slashes)")
        if any(part.lower() == b".git" for part in parts):
            raise self._refuse(path, "would be git's own data")
        self._claim(path, parts, is_folder=member.isdir())
        return path

    def _claim(self, path: bytes, parts: list[bytes], *, is_folder: bool) -> None:
        """Each name once, and no name both a file and a folder."""
        above = {b"/".join(parts[:depth]) for depth in range(1, len(parts))}
        self.folders |= above
        if path in self.seen or (not is_folder and path in self.folders) or self._under_a_file(above):
            raise self._refuse(path, "has a name that is there already")
        if is_folder:
            self.folders.add(path)
        else:
            self.seen.add(path)
        if len(self.seen) + len(self.folders) > MAX_MEMBERS:
            raise SourceArchiveProblem(f"{self.name}: more than {MAX_MEMBERS} members")

    def _under_a_file(self, above: set[bytes]) -> bool:
        return not self.seen.isdisjoint(above)

    def _entry(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: bytes) -> Entry:
        inside = path[len(self.root) :]
        if member.type == tarfile.SYMTYPE:
            return Entry(path=inside, mode=SYMLINK, data=self._checked_target(member, path, inside))
        if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise self._refuse(path, f"is {_KINDS.get(member.type, 'of an unknown kind')}")
        if member.mode & _SET_ID:
            raise self._refuse(path, f"sets the user or group id (mode {member.mode:o})")
        if member.size > MAX_MEMBER_BYTES:
            raise self._refuse(path, f"has {member.size} bytes, more than {MAX_MEMBER_BYTES}")
        mode = EXECUTABLE if member.mode & _OWNER_EXECUTES else FILE
        return Entry(path=inside, mode=mode, data=self._content(tar, member, path))

    def _content(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: bytes) -> bytes:
        stream = tar.extractfile(member)
        data = stream.read() if stream else b""
        if len(data) != member.size:
            raise self._refuse(path, f"is cut short: {len(data)} of {member.size} bytes")
        return data

    def _checked_target(self, member: tarfile.TarInfo, path: bytes, inside: bytes) -> bytes:
        target = member.linkname.encode(_NAMES, _RAW)
        lands = posixpath.normpath(posixpath.join(posixpath.dirname(inside), target))
        if not target or target.startswith(b"/") or lands == b".." or lands.startswith(b"../"):
            raise self._refuse(path, f"links outside the folder, to {target!r}")
        return target

    def _refuse(self, path: bytes, why: str) -> SourceArchiveProblem:
        shown = path.decode(_NAMES, "backslashreplace")
        return SourceArchiveProblem(f"{self.name}: member {shown!r} {why}")
