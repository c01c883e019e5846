"""What every source of upstream builds can do, what it answers, and the rules that hold for all of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ci.errors import TreeMismatch, UnknownBuild
from ci.git import Git
from ci.outcome import JsonValue
from ci.upstream.tags import BuildTag, build_tags

Progress = Callable[[float, float | None, str], None]
"""Called with units done, units in all (None: unknown) and a few words."""


def no_progress(done: float, total: float | None, note: str) -> None:
    """For callers who do not watch."""


class Found(StrEnum):
    """How a build came to be in the history."""

    ADDED = "added"
    PRESENT = "present"


@dataclass(frozen=True, kw_only=True)
class SyncedBuild:
    """One build in the history: how it got there, its ids, and the seconds it took."""

    tag: BuildTag
    found: Found
    tree: str
    commit: str
    seconds: float

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {
            "tag": str(self.tag),
            "found": self.found.value,
            "tree": self.tree,
            "commit": self.commit,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, kw_only=True)
class SyncReport:
    """What a sync did, build by build, in ascending order."""

    source: str
    builds: tuple[SyncedBuild, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Plain JSON form."""
        return {"source": self.source, "builds": [build.to_json() for build in self.builds]}


class Source(Protocol):
    """A place that upstream builds come from."""

    @property
    def name(self) -> str:
        """What to call it in messages; holds no credentials."""

    def known(self) -> tuple[BuildTag, ...]:
        """The builds it has, ascending."""

    def sync(self, tags: Sequence[BuildTag], progress: Progress = no_progress) -> SyncReport:
        """Bring builds into the history: objects first, checked, then the tag.

        Builds that are there already cost no network. Killed at any point, the next call goes on.

        Raises:
            UnknownBuild: the source does not have one of them; nothing is fetched.
            TreeMismatch: its files are not the pinned ones, or not those of the tag that is here already.
            DiskFull: no room; tags that were complete stay.
        """


@dataclass(frozen=True, kw_only=True)
class UpstreamState:
    """Where the base stands among upstream's builds.

    `behind_builds` counts the known builds after the base; `behind_numbers` is the distance in build numbers.
    """

    base: BuildTag
    known: tuple[BuildTag, ...]
    local: tuple[BuildTag, ...]
    newest: BuildTag | None
    behind_builds: int
    behind_numbers: int

    @property
    def behind_words(self) -> str:
        """The distance, such as `2 known builds and 33 build numbers behind b11434`; empty where there is none."""
        builds = "1 known build" if self.behind_builds == 1 else f"{self.behind_builds} known builds"
        far = f"{builds} and {self.behind_numbers} build numbers behind {self.newest}"
        return far if self.behind_builds else ""


def local_builds(git: Git) -> tuple[BuildTag, ...]:
    """The builds that the history has, ascending."""
    return build_tags(git.tags("b*"))


def compare(base: BuildTag, *, known: tuple[BuildTag, ...], local: tuple[BuildTag, ...]) -> UpstreamState:
    """Compare the base with what a source knows and what the history has; builds that are only local count, too."""
    newer = {tag for tag in (*known, *local) if tag > base}
    newest = max((*known, *local), default=None)
    return UpstreamState(
        base=base,
        known=known,
        local=local,
        newest=newest,
        behind_builds=len(newer),
        behind_numbers=max(newer).number - base.number if newer else 0,
    )


def require_known(
    tags: Iterable[BuildTag],
    known: Sequence[BuildTag],
    *,
    source: str,
    lacks: str = "does not have",
    command: str = UnknownBuild.advice,
) -> None:
    """Refuse builds that a source does not have, all of them in one message.

    Args:
        tags: the builds asked for.
        known: the builds that are there.
        source: what to call the source.
        lacks: the verb that goes with its name.
        command: the next step; `{build}` in it stands for the first build that is not there.

    Raises:
        UnknownBuild: names them and what is near.
    """
    unknown = sorted(set(tags) - set(known))
    if unknown:
        names = ", ".join(str(tag) for tag in unknown)
        raise UnknownBuild(
            f"{source} {lacks} {names}; {near(unknown[0], known)}", hint=command.format(build=unknown[0])
        )


def near(tag: BuildTag, known: Sequence[BuildTag]) -> str:
    """Words on the builds that a source has around one that it lacks."""
    if not known:
        return "there are no builds at all"
    close = sorted(sorted(known, key=lambda other: abs(other.number - tag.number))[:4])
    return f"of {len(known)} there, near that: {', '.join(str(other) for other in close)}"


def check_tree(tag: BuildTag, found: str, expected: Mapping[str, str | None], *, hint: str | None = None) -> None:
    """Hold a build's tree against what others say it is.

    Args:
        tag: the build.
        found: its tree id at the source.
        expected: tree id by who says so; None where nobody does.
        hint: what to do about it, when there is more to say than the error's own advice.

    Raises:
        TreeMismatch: names both ids and who holds which.
    """
    for who, tree in expected.items():
        if tree is not None and tree != found:
            raise TreeMismatch(f"{tag}: the source's tree is {found}, {who} is {tree}", hint=hint)
