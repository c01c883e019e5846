"""Pack builds, models, our code and its wheels into parts that fit through a small door; read what came back."""

import contextlib
import gzip
import hashlib
import importlib.metadata
import os
import secrets
import shutil
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TypeVar, cast

from ci.config import Model, parse
from ci.errors import CarryProblem, ConfigProblem
from ci.files import no_space_as_error, read_json, sha256_file, staged_dir, write_json
from ci.gpu.manifest import (
    CHECK_FILE,
    FORMAT,
    RESULT_FILE,
    SCRIPT,
    Answer,
    Carried,
    Part,
    Prepared,
    all_gates,
    other_builds,
    strange,
)
from ci.outcome import GateResult, JsonMap
from ci.process import run, scrubbed_env
from ci.release.manifest import SuiteEvidence

M = TypeVar("M", bound=Model)

PART_BYTES = 52 << 20
"""A part goes through a transfer of 64 MiB together with a checkout."""

SOURCES = ("ci/**/*.py", "ci/**/*.toml", "ci/**/*.jinja", "tests/suites/**/*.py", "pyproject.toml")
PACKAGES = (
    "filelock",
    "gguf",
    "pydantic",
    "pypi-simple",
    "pytest",
    "pytest-benchmark",
    "pytest-timeout",
    "requests",
    "rich",
    "tenacity",
)
"""What the suites and the check import; numpy and scipy are the other machine's."""

PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_27_x86_64", "manylinux_2_28_x86_64")
PIP_SETTINGS = ("PIP_", "XDG_CONFIG", "VIRTUAL_ENV")
BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
NOT_CARRIED = ("numpy-", "scipy-")


def checkout_files(checkout: Path) -> dict[str, Path]:
    """Our own code, by its place there."""
    found = sorted({path for pattern in SOURCES for path in checkout.glob(pattern) if path.is_file()})
    return {f"checkout/{path.relative_to(checkout)}": path for path in found}


def fetch_wheels(python: str, into: Path, environ: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Download the packages of this environment, version for version, as wheels for another Python.

    Args:
        python: `3.12`, which means its first release, or `3.12.3`.
        into: folder for the wheels.
        environ: where pip's settings are; this process's environment when omitted.

    Raises:
        CommandFailed: pip found no wheel for that Python, or no index.
    """
    source = os.environ if environ is None else environ
    into.mkdir(parents=True, exist_ok=True)
    pins = into / "pins.txt"
    pins.write_text("".join(sorted({f"{d.name}=={d.version}\n" for d in importlib.metadata.distributions()})))
    chosen = {name: value for name, value in source.items() if name.startswith(PIP_SETTINGS)}
    argv: tuple[str | Path, ...] = (
        *(sys.executable, "-m", "pip", "download", "-qq", "--only-binary=:all:", "--implementation", "cp"),
        *("--python-version", python, "--constraint", pins, "--dest", into),
        *(word for platform in PLATFORMS for word in ("--platform", platform)),
        *PACKAGES,
    )
    run(argv, env=scrubbed_env(source, extra=chosen))
    return tuple(path for path in sorted(into.glob("*.whl")) if not path.name.startswith(NOT_CARRIED))


class _Slices:
    """Takes a stream of bytes and leaves it as files of a given size."""

    def __init__(self, folder: Path, size: int) -> None:
        self._folder, self._size = folder, size
        self._file: IO[bytes] | None = None
        self.paths: list[Path] = []

    def write(self, data: bytes) -> int:
        """Append to the newest file, and to a new one when it is full."""
        rest = memoryview(data)
        while rest:
            file = self._file or self._next()
            taken = rest[: self._size - file.tell()]
            file.write(taken)
            rest = rest[len(taken) :]
            if file.tell() == self._size:
                self.close()
        return len(data)

    def _next(self) -> IO[bytes]:
        self.paths.append(self._folder / f"part-{len(self.paths) + 1:02}")
        self._file = self.paths[-1].open("wb")
        return self._file

    def close(self) -> None:
        """End the newest file."""
        if self._file:
            self._file.close()
        self._file = None

    def flush(self) -> None:
        """Nothing is held back."""


class _Witness:
    """Reads a file for whoever packs it, and knows its digest at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Some bytes."""
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def hexdigest(self) -> str:
        """Of what was read."""
        return self._hash.hexdigest()


def pack(
    files: Mapping[str, Path], folder: Path, *, part_bytes: int = PART_BYTES
) -> tuple[dict[str, Carried], tuple[Part, ...]]:
    """Write the parts: every content once, under its digest, compressed as one stream and cut.

    Args:
        files: file by its place on the other machine.
        folder: where the parts go.
        part_bytes: most bytes of a part.

    Returns:
        Digests by place, and the parts in order.

    Raises:
        CarryProblem: a file was changed while it was packed.
    """
    listed = {name: Carried(sha256=sha256_file(path), executable=_executable(path)) for name, path in files.items()}
    blobs = {_blob(carried): files[name] for name, carried in listed.items()}
    slices = _Slices(folder, part_bytes)
    with (
        contextlib.closing(slices),
        # the fastest level: the large files are compressed already, or nearly empty
        gzip.GzipFile(fileobj=cast("IO[bytes]", slices), mode="wb", compresslevel=1, mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w") as archive,
    ):
        for name, path in sorted(blobs.items()):
            _add(archive, name, path)
    parts = (Part(name=path.name, size=path.stat().st_size, sha256=sha256_file(path)) for path in slices.paths)
    return listed, tuple(parts)


def _add(archive: tarfile.TarFile, name: str, path: Path) -> None:
    """Nothing of this machine but the bytes and the mode.

    Raises:
        CarryProblem: the file was changed while it was packed.
    """
    member = tarfile.TarInfo(name)
    member.size, member.mode = path.stat().st_size, 0o755 if _executable(path) else 0o644
    with path.open("rb") as file:
        content = _Witness(file)
        archive.addfile(member, cast("IO[bytes]", content))
    if content.hexdigest() != name.partition(".")[0]:
        raise CarryProblem(f"{path}: changed while it was packed", hint="run the command again")


def _executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def _blob(carried: Carried) -> str:
    return carried.sha256 + (".x" if carried.executable else "")


def prepare(files: Mapping[str, Path], out: Path, facts: JsonMap, *, part_bytes: int = PART_BYTES) -> Prepared:
    """Make the folder to carry: the parts, `check.json`, the script. It appears whole, in the place of an older one.

    Args:
        files: file by its place on the other machine.
        out: the folder.
        facts: the fields of :class:`Prepared` that the caller knows.
        part_bytes: most bytes of a part.

    Raises:
        DiskFull: no room; an older folder is as it was.
    """
    with no_space_as_error(str(out)), staged_dir(out) as folder:
        listed, parts = pack(files, folder, part_bytes=part_bytes)
        check = {**facts, "format": FORMAT, "nonce": secrets.token_hex(16)}
        check["parts"] = [part.model_dump() for part in parts]
        check["files"] = {name: carried.model_dump() for name, carried in listed.items()}
        write_json(folder / CHECK_FILE, check)
        shutil.copyfile(BOOTSTRAP, folder / SCRIPT)
    return read_prepared(out)


def read_prepared(folder: Path) -> Prepared:
    """Read `check.json` of a prepared folder.

    Raises:
        CarryProblem: there is none, or it is not as we write it.
    """
    return _parsed(Prepared, folder / CHECK_FILE)


def read_answer(folder: Path, prepared: Path) -> tuple[Answer, tuple[GateResult, ...]]:
    """Read what came back, hold it against the folder that was prepared, and judge it anew.

    Args:
        folder: the results.
        prepared: the prepared folder.

    Returns:
        The answer, and every gate that there should be.

    Raises:
        CarryProblem: no answer, not as we write it, an answer to another preparation, of other builds or another
            card, with evidence missing or changed; lists every fault.
    """
    path, asked = folder / RESULT_FILE, read_prepared(prepared)
    answer = _parsed(Answer, path)
    faults = [*strange(answer, asked, sha256_file(prepared / CHECK_FILE)), *_changed(answer, folder)]
    evidence = {} if faults else read_evidence(answer, folder)
    faults += [fault for one in evidence.values() for fault in other_builds(one, asked)]
    if faults:
        listed = "".join(f"\n    {fault}" for fault in faults)
        raise CarryProblem(f"{path}: no answer to {prepared / CHECK_FILE}{listed}")
    return answer, all_gates(asked, answer, evidence)


def read_evidence(answer: Answer, folder: Path) -> dict[str, SuiteEvidence]:
    """What the suites left, by suite.

    Raises:
        CarryProblem: an evidence file is not as a suite writes it.
    """
    found = (_parsed(SuiteEvidence, folder / name) for name in answer.evidence)
    return {evidence.suite: evidence for evidence in found}


def _parsed(kind: type[M], path: Path) -> M:
    try:
        return parse(kind, read_json(path), source=str(path))
    except ConfigProblem as problem:
        raise CarryProblem(problem.message) from problem


def _changed(answer: Answer, folder: Path) -> Iterator[str]:
    for name, digest in answer.evidence.items():
        found = sha256_file(folder / name) if (folder / name).is_file() else "missing"
        if found != digest:
            yield f"{name}: sha256 {found}, it says {digest}"
