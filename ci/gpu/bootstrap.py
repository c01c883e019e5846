"""Carried as `gpu_check.py`: verifies and unpacks what lies beside it, makes an environment, starts the check.

It runs with nothing but the other machine's own Python, so it imports nothing of ours. Whatever goes wrong ends in
the line `gpu_check=UNPROVEN ...` and exit code 5.
"""

import argparse
import hashlib
import importlib.util
import io
import json
import os
import sys
import tarfile
import time
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

UNPROVEN = 5
BORROWED = ("numpy", "scipy")
"""Too large to carry and there on every machine with a scientific Python."""

CHUNK = 1 << 20


class Refused(Exception):
    """Why the check does not begin."""


class Joined(io.RawIOBase):
    """The parts as one stream, each verified before it is read."""

    def __init__(self, folder: Path, parts: list[dict[str, Any]]) -> None:
        self._chunks = chunks(folder, parts)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        self._rest = self._rest or memoryview(next(self._chunks, b""))
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


def chunks(folder: Path, parts: list[dict[str, Any]]) -> Iterator[bytes]:
    """The bytes of all parts in order.

    Raises:
        Refused: a part is missing or is another file.
    """
    for part in parts:
        path = folder / part["name"]
        if not path.is_file():
            raise Refused(f"{path}: missing; carry every part")
        if digest(path) != part["sha256"]:
            raise Refused(f"{path}: not the file that was prepared")
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


def digest(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(here: Path, check: dict[str, Any], work: Path) -> None:
    """Write every file of the list to its place, verified.

    Raises:
        Refused: a file has other bytes than the list says, or is missing.
    """
    blobs = work / "blobs"
    with tarfile.open(fileobj=io.BufferedReader(Joined(here, check["parts"]), CHUNK), mode="r|gz") as archive:
        archive.extractall(blobs, filter="data")
    wrong = [path.name for path in blobs.iterdir() if digest(path) != path.name.partition(".")[0]]
    if wrong:
        raise Refused(f"{wrong[0]}: unpacked with other bytes than were packed")
    for name, file in check["files"].items():
        blob, place = blobs / (file["sha256"] + (".x" if file["executable"] else "")), work / name
        if not blob.is_file() or not place.resolve().is_relative_to(work.resolve()):
            raise Refused(f"{name}: not among what was packed")
        place.parent.mkdir(parents=True, exist_ok=True)
        os.link(blob, place)


def environment(work: Path) -> Path:
    """An environment of the carried wheels and the borrowed packages; its interpreter.

    Raises:
        Refused: a package to borrow is not there.
    """
    venv.create(work / "env", with_pip=False, symlinks=True)
    site = work / "env" / "lib" / f"python{version()}" / "site-packages"
    for wheel in sorted((work / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)  # noqa: S202 - its digest was compared with the list's
    for name in BORROWED:
        for path in borrowed(name):
            if not (site / path.name).exists():
                (site / path.name).symlink_to(path)
    return work / "env" / "bin" / "python"


def borrowed(name: str) -> list[Path]:
    """A package of this machine's Python: its folder, its libraries, its metadata.

    Raises:
        Refused: it has none of that name.
    """
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise Refused(f"{sys.executable} has no {name}; run this script with a Python that has")
    folder = Path(found.submodule_search_locations[0])
    return [folder, *folder.parent.glob(f"{name}.libs"), *folder.parent.glob(f"{name}-*.dist-info")]


def version() -> str:
    """`3.12`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def begin(here: Path, work: Path) -> tuple[Path, Path]:
    """Unpack and prepare; the interpreter to go on with, and the folder of site-packages that were borrowed from.

    Raises:
        Refused, OSError, ValueError: it cannot begin.
    """
    check = json.loads((here / "check.json").read_text(encoding="utf-8"))
    if version() != check["python"]:
        raise Refused(f"this is Python {version()}, packages were carried for {check['python']}")
    work.mkdir(parents=True)  # a folder of its own: nothing of an earlier run is taken for this one's
    unpack(here, check, work)
    return environment(work), borrowed(BORROWED[0])[0].parent


def main() -> NoReturn:
    """Become the check, or say why not."""
    started = time.time()
    parser = argparse.ArgumentParser(description="Check carried builds on this machine's card.")
    here = Path(__file__).resolve().parent
    parser.add_argument("--results", type=Path, default=here / "results", help="folder for the answer")
    parser.add_argument("--work", type=Path, default=here / f"work-{os.getpid()}", help="folder to unpack into; new")
    asked = parser.parse_args()
    try:
        python, site = begin(here, asked.work.resolve())
    except Exception as refused:  # noqa: BLE001 - whatever it is, the check has not begun, and says so
        print(f"gpu_check=UNPROVEN unpack: {refused!s}")  # noqa: T201 - nothing of ours is there yet
        sys.exit(UNPROVEN)
    options = ("--check", here / "check.json", "--work", asked.work.resolve(), "--results", asked.results.resolve())
    more = ("--site", site, "--started", started)
    os.chdir(asked.work / "checkout")
    os.execv(python, [str(word) for word in (python, "-E", "-u", "-m", "ci.verbs.gpu_run", *options, *more)])  # noqa: S606


if __name__ == "__main__":
    main()
