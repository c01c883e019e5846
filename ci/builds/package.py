"""The archives of a release: a build, the patched sources, and the sums over them."""

import tarfile
from collections.abc import Iterable
from pathlib import Path

from ci.builds.archive import add_bytes, add_file, add_link, new_archive, unpack
from ci.builds.recipe import names_label
from ci.builds.store import BUILD_JSON, Build, load_build
from ci.builds.tree import list_tree
from ci.errors import ArchiveProblem, CommandFailed, ConfigProblem, DigestMismatch
from ci.files import sha256_file, write_atomic
from ci.git import Git
from ci.gittree import EXECUTABLE, SYMLINK, TreeFile
from ci.process import run

SUMS_FILE = "SHA256SUMS"


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
    with new_archive(final) as archive:
        for name in sorted((*build.files, BUILD_JSON)):
            add_file(archive, f"{prefix}/{name}", build.path / name)
    return final


def pack_source(git: Git, tree: str, label: str, out: Path) -> Path:
    """Pack a git tree, byte for byte, below `llama-<label>-source/`.

    Raises:
        SourceTreeProblem: no such tree.
        DiskFull: no room; no archive is left.
    """
    final = out / source_archive_name(label)
    files = sorted(list_tree(git, tree), key=lambda file: file.name)
    with new_archive(final) as archive:
        for file, content in git.blobs_of(files):
            _add_tree_file(archive, f"llama-{label}-source/{file.name}", file, content)
    return final


def _add_tree_file(archive: tarfile.TarFile, name: str, file: TreeFile, content: bytes) -> None:
    if file.mode == SYMLINK:
        add_link(archive, name, content.decode("utf-8", "surrogateescape"))
    else:
        add_bytes(archive, name, content, executable=file.mode == EXECUTABLE)


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
        if names_label(line, label):
            return line
    raise ArchiveProblem(f"{archive}: {program} --version names no {label}, it says: {' / '.join(said)!r:.300}")
