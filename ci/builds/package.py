"""Archives that are the same bytes every time: sorted members, one time stamp, no owner, fixed modes."""

import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ci.builds.recipe import SOURCE_DATE_EPOCH
from ci.builds.store import BUILD_JSON, Build, load_build
from ci.builds.tree import list_tree
from ci.errors import ArchiveProblem, CommandFailed, ConfigProblem, DigestMismatch
from ci.files import CHUNK, no_space_as_error, sha256_file, staged_dir, staged_file, write_atomic
from ci.git import Git
from ci.gittree import EXECUTABLE, SYMLINK, TreeFile
from ci.process import run

SUMS_FILE = "SHA256SUMS"
GZIP_LEVEL = 6
"""Level 9 takes six times as long on the sources and saves under 2 %."""
UNPACKED_LIMIT = 4_000_000_000
"""Bytes: far above any archive of ours, far below a decompression bomb."""


def release_name(build: Build) -> str:
    """What archives call a build: the release id, or `b11434-stock`."""
    return build.label if build.variant == "speed" else f"{build.tag}-stock"


def archive_name(build: Build) -> str:
    """File name of a build's binary archive, e.g. `llama-b11434-speed.1-bin-linux-sm75-cu13-x64.tar.gz`."""
    return f"llama-{release_name(build)}-bin-linux-{build.target_id}-{build.platform}.tar.gz"


def source_archive_name(label: str) -> str:
    """File name of the archive of a release's patched sources."""
    return f"llama-{label}-source.tar.gz"


def pack_build(build: Build, out: Path) -> Path:
    """Pack a build's listed files and its `build.json` below `llama-<release name>/`.

    Raises:
        DigestMismatch: a file is not the one that was built.
        DiskFull: no room; no archive is left.
    """
    load_build(build.path, check=True)
    final = out / archive_name(build)
    prefix = f"llama-{release_name(build)}"
    with _new_archive(final) as archive:
        for name in sorted((*build.files, BUILD_JSON)):
            path = build.path / name
            executable = bool(path.stat().st_mode & 0o100)
            _add_file(archive, f"{prefix}/{name}", path.read_bytes(), executable=executable)
    return final


def pack_source(git: Git, tree: str, label: str, out: Path) -> Path:
    """Pack a git tree, byte for byte, below `llama-<label>-source/`.

    Raises:
        SourceTreeProblem: no such tree.
        DiskFull: no room; no archive is left.
    """
    final = out / source_archive_name(label)
    files = sorted(list_tree(git, tree), key=lambda file: file.name)
    with _new_archive(final) as archive:
        for file, content in git.blobs_of(files):
            _add_tree_file(archive, f"llama-{label}-source/{file.name}", file, content)
    return final


@contextmanager
def _new_archive(final: Path) -> Iterator[tarfile.TarFile]:
    """A `.tar.gz` that gets its name when the block ends well; the gzip header has no name and no time."""
    with no_space_as_error(str(final)), staged_file(final) as staging:
        with (
            staging.open("wb") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=GZIP_LEVEL, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            yield archive
        staging.chmod(0o644)


def _add_file(archive: tarfile.TarFile, name: str, content: bytes, *, executable: bool) -> None:
    member = _member(name)
    member.mode = 0o755 if executable else 0o644
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _add_tree_file(archive: tarfile.TarFile, name: str, file: TreeFile, content: bytes) -> None:
    if file.mode != SYMLINK:
        _add_file(archive, name, content, executable=file.mode == EXECUTABLE)
        return
    member = _member(name)
    member.type, member.mode, member.linkname = tarfile.SYMTYPE, 0o777, content.decode("utf-8", "surrogateescape")
    archive.addfile(member)


def _member(name: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.mtime = SOURCE_DATE_EPOCH
    return member


def unpack(archive: Path, into: Path) -> Path:
    """Unpack a binary archive of ours into a new folder `into`; returns its single top folder.

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


def write_sums(folder: Path, names: Iterable[str]) -> Path:
    """Write `SHA256SUMS` for files of a folder, in the format of `sha256sum`, sorted by name."""
    lines = [f"{sha256_file(folder / name)}  {name}\n" for name in sorted(names)]
    write_atomic(folder / SUMS_FILE, "".join(lines).encode())
    return folder / SUMS_FILE


def read_sums(path: Path) -> dict[str, str]:
    """SHA-256 by file name.

    Raises:
        ConfigProblem: no such file, or a line is not `<64 hex digits>  <plain name>`.
    """
    if not path.is_file():
        raise ConfigProblem(f"{path}: no such file")
    sums: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        digest, separator, name = line.partition("  ")
        plain = separator and name and "/" not in name and name not in sums
        if not plain or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise ConfigProblem(f"{path}:{number}: expected '<sha256>  <file name>', found {line!r:.120}")
        sums[name] = digest
    return sums


def verify_sums(folder: Path) -> tuple[str, ...]:
    """Check every file that `SHA256SUMS` names; returns their names.

    Raises:
        ConfigProblem: no or a malformed `SHA256SUMS`, or an empty one.
        DigestMismatch: lists every missing or changed file.
    """
    sums = read_sums(folder / SUMS_FILE)
    if not sums:
        raise ConfigProblem(f"{folder / SUMS_FILE}: names no file")
    faults = [f"{name}: {fault}" for name, digest in sums.items() if (fault := _fault(folder / name, digest))]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise DigestMismatch(
            f"{folder}: not the files of its {SUMS_FILE}{listed}", hint="make the release folder again"
        )
    return tuple(sums)


def _fault(path: Path, expected: str) -> str:
    if not path.is_file():
        return "missing"
    found = sha256_file(path)
    return "" if found == expected else f"sha256 is {found}, expected {expected}"


def smoke(archive: Path, scratch: Path, *, label: str, program: str = "llama-server") -> str:
    """Unpack an archive and run `llama-server --version` with nothing on PATH and no library path.

    Args:
        archive: a binary archive.
        scratch: folder for the unpacked files; must not exist yet.
        label: what the program must name.
        program: which one to run.

    Returns:
        The line that names the label.

    Raises:
        ArchiveProblem: the archive is bad, the program does not run, or it names something else.
    """
    top = unpack(archive, scratch)
    try:
        done = run((top / program, "--version"), cwd=top, env={"PATH": ""}, timeout=60)
    except CommandFailed as failed:
        raise ArchiveProblem(f"{archive}: {program} does not run on its own: {failed.message}") from failed
    said = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
    for line in said:
        if label in line.replace(",", " ").replace(")", " ").split():
            return line
    raise ArchiveProblem(f"{archive}: {program} --version names no {label}, it says: {' / '.join(said)!r:.300}")
