"""Take from a build tree what ships: programs and libraries, stripped, and the licences.

A library ships as one plain file under its SONAME, the only name that the loader asks for: archives need no links.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.builds.compiler import Toolchain
from ci.builds.licences import write_licences
from ci.errors import BuildFailed
from ci.process import run

_SONAME = re.compile(r"\(SONAME\).*\[([^\]/]+)\]")


def harvest(
    source: Path, build: Path, programs: Sequence[str], toolchain: Toolchain, into: Path
) -> Mapping[str, Path]:
    """Final file name -> finished file in the folder `into`.

    Raises:
        BuildFailed: a program or the sources' LICENSE is not there.
    """
    into.mkdir(parents=True)
    binaries = {**_programs(build / "bin", programs), **_libraries(build / "bin", toolchain)}
    for name, origin in binaries.items():
        run((toolchain.strip, "--strip-all", "-o", into / name, origin))
        (into / name).chmod(0o755)
    write_licences(source, into)
    return {path.name: path for path in sorted(into.iterdir())}


def _programs(folder: Path, programs: Sequence[str]) -> Mapping[str, Path]:
    missing = [name for name in programs if not (folder / name).is_file()]
    if missing:
        raise BuildFailed(f"{folder}: the build ended well but made no {', '.join(missing)}")
    return {name: folder / name for name in programs}


def _libraries(folder: Path, toolchain: Toolchain) -> Mapping[str, Path]:
    real = [path for path in sorted(folder.iterdir()) if ".so" in path.name and not path.is_symlink()]
    return {soname(path, toolchain): path for path in real}


def soname(library: Path, toolchain: Toolchain) -> str:
    """The name by which other binaries ask for a library; its file name when it carries none (a plug-in)."""
    found = parse_soname(run((toolchain.readelf, "--dynamic", "--wide", library)).text)
    return found or library.name


def parse_soname(said: str) -> str | None:
    """The SONAME in the output of `readelf --dynamic`, or None."""
    match = _SONAME.search(said)
    return match[1] if match else None
