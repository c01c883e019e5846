"""Wheels made for a test."""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ci.builds.toolchain.lock import Parts, Stub, Wheel

STUB = Stub(soname="libcuda.so.1", functions=("cuMemMap",))
TERMS = {"x-1.dist-info/licenses/License.txt": b"terms"}


def make_wheel(
    folder: Path,
    members: Mapping[str, bytes],
    *,
    take: Mapping[str, str],
    project: str = "x",
    modes: Mapping[str, int] | None = None,
) -> tuple[Wheel, Path]:
    """A wheel with those members, in that order, and its pin; `modes` are Unix modes with file type by member."""
    path = folder / f"{project.replace('-', '_')}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(entry, content)
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Wheel(project=project, file=path.name, size=len(data), sha256=digest, take=take), path


def parts_of(*wheels: Wheel, links: Mapping[str, str] | None = None) -> Parts:
    """The parts of an image made of those wheels."""
    return Parts(stub=STUB, wheels=wheels, links=links or {})
