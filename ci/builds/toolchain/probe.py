"""What a toolchain image says it is: the answer of `probe.sh`, which runs inside it once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ci.errors import EngineProblem

VERSIONS = ("clang", "gcc", "nvcc", "cmake", "ld", "ninja", "ccache")
"""Programs whose versions an image must say, in the order in which its identity names them."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_ARCH = re.compile(r"compute_[0-9]{2,3}[a-z]?")


@dataclass(frozen=True, kw_only=True)
class Probed:
    """Contents and programs of an image.

    Args:
        digest: SHA-256 over everything that decides a build's bytes.
        versions: what each of `VERSIONS` says of itself, in that order.
        archs: what nvcc can compile for, e.g. `compute_75`.
    """

    digest: str
    versions: tuple[str, ...]
    archs: tuple[str, ...]

    @property
    def nvcc(self) -> str:
        """The release of nvcc, e.g. `release 13.5, V13.5.37`."""
        return self.versions[VERSIONS.index("nvcc")]

    @property
    def identity(self) -> str:
        """Digest and versions in one line."""
        named = (f"{name} {said}" for name, said in zip(VERSIONS, self.versions, strict=True))
        return "; ".join((f"toolchain {self.digest}", *named))


def parse_probe(lines: Iterable[str]) -> Probed:
    """Read the answer.

    Raises:
        EngineProblem: a digest, a version or the architectures are missing: this is no whole toolchain.
    """
    said = [line.partition(" ") for line in lines]
    values = {name: value.strip() for name, _, value in said}
    archs = tuple(value for name, _, value in said if name == "arch" and _ARCH.fullmatch(value))
    lacking = [name for name in VERSIONS if not values.get(name)]
    if not _DIGEST.fullmatch(values.get("digest", "")):
        lacking.insert(0, "digest")
    if not archs:
        lacking.append("nvcc's architectures")
    if lacking:
        raise EngineProblem(f"the toolchain image does not say: {', '.join(lacking)}")
    return Probed(digest=values["digest"], versions=tuple(values[name] for name in VERSIONS), archs=archs)
