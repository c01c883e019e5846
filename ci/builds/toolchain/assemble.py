"""Wheels into the tar file that an image is built from: checked members, fixed owners, modes and dates."""

import contextlib
import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from ci.builds.toolchain.lock import EDIT_LOCK, Parts, Wheel
from ci.builds.toolchain.stub import stub_source
from ci.console import Console
from ci.errors import ConfigProblem
from ci.files import no_space_as_error, require_free_space, staged_file
from ci.home import Home
from ci.index import download

LAYOUT = 1
"""Raised when the same parts would make another tree."""

MTIME = 315_532_800
"""1 January 1980, in seconds of Unix time: one date for all, and ninja takes none before it for a missing file."""

UNPACKED = 3
"""A tree of wheels is at most so many times larger than the wheels."""

ROOT = "root/opt/"
LINK = 0o120000
FILE_TYPES = 0o170000
LICENCES = ".dist-info/licenses/"
CUDA_PROJECTS = "nvidia-"


def fetch_wheels(home: Home, parts: Parts, console: Console) -> Mapping[str, Path]:
    """The verified wheels by file name, downloaded where they are missing.

    Raises:
        IndexUnreachable, DigestMismatch, DiskFull: from the download.
    """
    total, done = sum(wheel.size for wheel in parts.wheels), 0
    require_free_space(home.work, UNPACKED * total, what="the toolchain image")
    paths = {}
    with console.task(f"{len(parts.wheels)} wheels of the toolchain") as task:
        for wheel in parts.wheels:
            before = done

            def moved(now: int, _: int | None, before: int = before, name: str = wheel.project) -> None:
                task.update(before + now, total, name)

            paths[wheel.file] = download(wheel.project, wheel.file, wheel.sha256, home.downloads, moved)
            done += wheel.size
            task.update(done, total, wheel.project)
    return paths


def write_context(path: Path, dockerfile: str, parts: Parts, wheels: Mapping[str, Path]) -> None:
    """Write the context of an image build: `Dockerfile`, and below `root/opt` what goes to /opt.

    Args:
        path: the tar file; it is there whole or not at all.
        dockerfile: the file of that name.
        parts: what to take.
        wheels: path by file name.

    Raises:
        ConfigProblem: a wheel has a member that must not be unpacked, or two have the same, or lacks what is taken.
        DiskFull: no room.
    """
    with _context(path, dockerfile) as tree:
        tree.text(f"{ROOT}stub/libcuda.c", stub_source(parts.stub))
        for wheel in parts.wheels:
            _add_wheel(tree, wheel, wheels[wheel.file])
        for name, target in parts.links.items():
            tree.link(ROOT + name, target)


def write_label_context(path: Path, image_id: str) -> None:
    """Write the context of a build that adds nothing to an image but the labels it is asked for.

    Raises:
        DiskFull: no room.
    """
    with _context(path, f"FROM {image_id}\n"):
        pass


@contextlib.contextmanager
def _context(path: Path, dockerfile: str) -> Iterator["_Tree"]:
    with no_space_as_error(str(path)), staged_file(path) as staging, tarfile.open(staging, "w") as tar:
        tree = _Tree(tar)
        tree.text("Dockerfile", dockerfile)
        yield tree


@dataclass(frozen=True)
class _Tree:
    """A tar file that grows: every folder before what it holds, no name twice."""

    tar: tarfile.TarFile
    names: set[str] = field(default_factory=set)

    def text(self, name: str, content: str) -> None:
        """A plain file of ours."""
        data = content.encode()
        self.file(name, io.BytesIO(data), len(data), 0o644)

    def file(self, name: str, content: IO[bytes], size: int, mode: int) -> None:
        """A plain file, read as it is written: some are half a gigabyte."""
        entry = self._entry(name, mode)
        entry.size = size
        self.tar.addfile(entry, content)

    def link(self, name: str, target: str) -> None:
        """A symbolic link."""
        entry = self._entry(name, 0o777)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self.tar.addfile(entry)

    def _entry(self, name: str, mode: int) -> tarfile.TarInfo:
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            if str(folder) not in self.names:
                entry = self._new(str(folder), 0o755)
                entry.type = tarfile.DIRTYPE
                self.tar.addfile(entry)
        return self._new(name, mode)

    def _new(self, name: str, mode: int) -> tarfile.TarInfo:
        if name in self.names:
            raise ConfigProblem(f"two parts of the toolchain have the file {name!r}", hint=EDIT_LOCK)
        self.names.add(name)
        entry = tarfile.TarInfo(name)
        entry.mode, entry.mtime = mode, MTIME
        return entry


def _add_wheel(tree: _Tree, wheel: Wheel, path: Path) -> None:
    taken: set[str] = set()
    try:
        with zipfile.ZipFile(path) as archive:
            for member, source, place in _members(archive, wheel):
                _check_member(wheel, member)
                executable = "/bin/" in f"/{place}" or bool(member.external_attr >> 16 & 0o111)
                with archive.open(member) as content:
                    tree.file(ROOT + place, content, member.file_size, 0o755 if executable else 0o644)
                taken.add(source)
    except zipfile.BadZipFile as damaged:
        raise ConfigProblem(f"{path}: no whole zip archive: {damaged}", hint=f"rm {path}") from damaged
    lacking = sorted({*wheel.take, LICENCES} - taken)
    if lacking:
        raise ConfigProblem(f"{wheel.file}: has no member {lacking[0]!r}", hint=EDIT_LOCK)


def _members(archive: zipfile.ZipFile, wheel: Wheel) -> Iterator[tuple[zipfile.ZipInfo, str, str]]:
    """What to take: member, the part of `take` that asks for it, and its place below /opt."""
    folder = "cuda/licenses" if wheel.project.startswith(CUDA_PROJECTS) else "licenses"
    for member in archive.infolist():
        name = member.filename
        if member.is_dir():
            continue
        _, found, rest = name.partition(LICENCES)
        if found:
            yield member, LICENCES, f"{folder}/{wheel.project}/{rest}"
        for source, place in wheel.take.items():
            if name == source:
                yield member, source, place
            elif source.endswith("/") and name.startswith(source):
                yield member, source, place + name.removeprefix(source)


def _check_member(wheel: Wheel, member: zipfile.ZipInfo) -> None:
    parts = member.filename.split("/")
    kind = member.external_attr >> 16 & FILE_TYPES
    if "" in parts or "." in parts or ".." in parts or "\\" in member.filename or kind == LINK:
        raise ConfigProblem(f"{wheel.file}: the member {member.filename!r} must not be unpacked", hint=EDIT_LOCK)
