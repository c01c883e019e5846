"""Release ids: `b11434-speed.3` is upstream build b11434 with revision 3 of the series on it."""

import re
from dataclasses import dataclass

from ci.errors import UsageProblem
from ci.upstream.tags import BuildTag

SHAPE = re.compile(r"(?P<build>b[0-9]{1,9})-speed\.(?P<revision>[1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, kw_only=True, order=True)
class ReleaseId:
    """One release: ordered by upstream build, then by revision of the series."""

    build: BuildTag
    revision: int

    def __post_init__(self) -> None:
        if self.revision < 1:
            raise UsageProblem(
                f"release revision {self.revision} of {self.build}: expected 1 or more",
                hint="set revision = 1 in patches/base.toml",
            )

    def __str__(self) -> str:
        return f"{self.build}-speed.{self.revision}"

    @classmethod
    def parse(cls, text: str) -> "ReleaseId":
        """Read a release id.

        Raises:
            UsageProblem: the text is not spelled `b<build>-speed.<revision>`.
        """
        match = SHAPE.fullmatch(text)
        if match is None:
            raise UsageProblem(
                f"release id {text!r:.80}: expected the form b11434-speed.3",
                hint="list the releases that exist: ls out/release",
            )
        return cls(build=BuildTag.parse(match["build"]), revision=int(match["revision"]))
