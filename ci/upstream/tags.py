"""Which tag names are upstream builds, and their order.

Upstream marks every build `bNNNN`. Other names (semver pointers, branches, anything odd) are never bases: a name is
judged by its shape alone, never by "latest".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from ci.errors import UsageProblem

_SHAPE = re.compile(r"b([1-9][0-9]{0,8})", re.ASCII)
REF_PREFIX = "refs/tags/"


@dataclass(frozen=True, order=True)
class BuildTag:
    """An upstream build, ordered by its number."""

    number: int

    def __post_init__(self) -> None:
        if _SHAPE.fullmatch(f"b{self.number}") is None:
            raise UsageProblem(f"build number {self.number} is out of range", hint="give a build such as b11434")

    @classmethod
    def parse(cls, name: str) -> Self:
        """The build that a name such as `b11434` stands for.

        Raises:
            UsageProblem: any other shape.
        """
        found = _SHAPE.fullmatch(name)
        if found is None:
            raise UsageProblem(
                f"{name!r} is not an upstream build", hint="give a build such as b11434 (invoke upstream)"
            )
        return cls(int(found[1]))

    def __str__(self) -> str:
        return f"b{self.number}"

    @property
    def ref(self) -> str:
        """The tag's full ref name."""
        return f"{REF_PREFIX}{self}"


def is_build_tag(name: str) -> bool:
    """Whether a tag name has the shape of an upstream build."""
    return _SHAPE.fullmatch(name) is not None


def build_tags(names: Iterable[str]) -> tuple[BuildTag, ...]:
    """The builds among many names, ascending, each once; other names are passed over."""
    return tuple(sorted({BuildTag.parse(name) for name in names if is_build_tag(name)}))
