"""Commits of a fork out of a git remote: a range is found among its refs and fetched, whole, into a quarantine.

The same rules as for upstream's builds hold (`ci.upstream.mirror`). The history never sees what is fetched here: what
an import keeps is patch files.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ci.errors import BaseMismatch, ForkUnreachable, RangeProblem, UsageProblem
from ci.git import Git
from ci.process import Completed
from ci.redact import quoted_lines, without_credentials
from ci.suggest import did_you_mean
from ci.upstream.address import RemoteAddress, checked_address
from ci.upstream.mirror import aside_ref
from ci.upstream.quarantine import FETCH, quarantine
from ci.upstream.source import local_builds
from ci.upstream.tags import BuildTag, is_build_tag

_ALIAS = "fork"
_PLACE = "refs/import/"
_OBJECT_ID = re.compile(r"[0-9a-f]{40}")
_SHORT_ID = re.compile(r"[0-9a-f]{7,39}")
_NAME = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\-][^\x00-\x20\x7f~^:?*\[\\]*")
_RANGE_HINT = "give --range A..B: the upstream build that the fork stands on and its last commit, as b11434..main"


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range as typed: commits that `end` has and `start` does not."""

    start: str
    end: str


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """A range that arrived: `git` has both commits and all their history, and lives as long as the block."""

    git: Git
    start: str
    end: str


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The upstream build that a commit is: tag, tree, and upstream's own commit id where one is known."""

    tag: BuildTag
    tree: str
    commit: str | None


def parse_span(text: str) -> Span:
    """Read `A..B`.

    Raises:
        UsageProblem: any other shape; each end is a tag, a branch or a whole commit id.
    """
    start, dots, end = text.partition("..")
    if not dots or not start or not end or end.startswith(".") or ".." in end:
        raise UsageProblem(f"range {text!r} is not A..B", hint=_RANGE_HINT)
    for name in (start, end):
        if not _NAME.fullmatch(name) or "@{" in name or not name.isprintable():
            raise UsageProblem(
                f"range {text!r}: {name!r} is no tag, branch or commit id (without ~, ^ and the like)",
                hint="give a tag, a branch or all 40 digits of a commit id at either end",
            )
    return Span(start=start, end=end)


def ground_of(history: Git, arrived: Fetched, span: Span) -> Ground:
    """The upstream build that a range stands on: its first end has the files of one.

    Args:
        history: where the builds are.
        arrived: the range.
        span: how it was named; a build's own name wins where several builds have the same files.

    Raises:
        BaseMismatch: the first end is named like a build of the history, and its tree is another one.
        RangeProblem: no build of the history has its tree, or the range itself holds a newer build.
    """
    tree = arrived.git.tree_of(arrived.start) or ""
    trees = {tag: history.tree_of(tag.ref) or "" for tag in local_builds(history)}
    named = BuildTag.parse(span.start) if is_build_tag(span.start) else None
    if named in trees and trees[named] != tree:
        raise BaseMismatch(f"{named}: its tree in the fork is {tree}, in the history {trees[named]}")
    alike = [tag for tag, theirs in trees.items() if theirs == tree]
    if not alike:
        raise _no_ground(trees, arrived, span, tree)
    tag = named if named is not None else max(alike)
    newer = {other: theirs for other, theirs in trees.items() if other > tag and theirs != tree}
    _refuse_builds_inside(newer, arrived, span)
    return Ground(tag=tag, tree=tree, commit=arrived.start if _is_upstreams(history, tag, arrived.start) else None)


def _is_upstreams(history: Git, tag: BuildTag, commit: str) -> bool:
    """Whether the history got this very commit from a git remote; commits that we made of archives do not count."""
    known = {history.commit_of(ref) for ref in (tag.ref, aside_ref(tag))}
    return commit in known and not history.is_made_here(commit)


def _newest_build(trees: Mapping[BuildTag, str], git: Git, revisions: str) -> tuple[BuildTag, str] | None:
    """The newest build whose files some commit has, and the newest such commit."""
    listed = git("log", "--topo-order", "--reverse", "--format=%T %H", revisions).text.splitlines()
    commits = dict(line.split() for line in listed)
    found = [tag for tag, tree in trees.items() if tree in commits]
    return (max(found), commits[trees[max(found)]]) if found else None


def _no_ground(trees: Mapping[BuildTag, str], arrived: Fetched, span: Span, tree: str) -> RangeProblem:
    hint = "invoke sync-upstream --build bN, with the build that the fork's commits stand on"
    below = _newest_build(trees, arrived.git, arrived.end)
    if below:
        hint = f"--range {below[1]}..{span.end} begins at {below[0]}, the newest build of the history below its end"
    return RangeProblem(
        f"{span.start} (commit {arrived.start}, tree {tree}) is no upstream build of the history; builds there:"
        f" {', '.join(str(tag) for tag in trees)}",
        hint=hint,
    )


def _refuse_builds_inside(newer: Mapping[BuildTag, str], arrived: Fetched, span: Span) -> None:
    """Upstream's own commits must not become speed patches."""
    inside = _newest_build(newer, arrived.git, f"{arrived.start}..{arrived.end}")
    if inside:
        tag, commit = inside
        raise RangeProblem(
            f"the range holds upstream's build {tag} (commit {commit}): upstream's changes would become patches",
            hint=f"--range {commit}..{span.end} begins there",
        )


@dataclass(frozen=True, kw_only=True)
class ForkSource:
    """A git remote that holds a fork.

    Attributes:
        history: the repository of the builds; it is only read.
        address: URL or path; checked on construction.
        environ: environment to take proxies and the ssh agent from.
    """

    history: Git
    address: str
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self) -> None:
        checked_address(self.address)

    @property
    def name(self) -> str:
        """What to call it, without credentials."""
        return f"the git remote {without_credentials(self.address)}"

    @contextmanager
    def fetched(self, span: Span) -> Iterator[Fetched]:
        """Fetch a range with its whole history into a side repository, deleted when the block ends.

        Raises:
            ForkUnreachable: the remote does not answer, is no git repository, or lacks a part of its history.
            UsageProblem: it has no such tag, branch or commit.
        """
        with quarantine(self.history) as side:
            refs = self._refs(side.git)
            start = self._found(span.start, refs, or_build=True)
            self._fetch(side.git, self._found(span.end, refs), "end")
            end = side.git.commit_of(f"{_PLACE}end")
            if end is None:
                raise UsageProblem(f"{span.end!r} in {self.name} is no commit", hint=_RANGE_HINT)
            yield Fetched(git=side.git, start=self._start(side.git, span.start, start, end), end=end)

    def _refs(self, git: Git) -> tuple[str, ...]:
        listing = self._talk(git, "ls-remote", _ALIAS, "HEAD", "refs/heads/*", "refs/tags/*").stdout
        lines = listing.decode("utf-8", "surrogateescape").splitlines()
        return tuple(ref for line in lines if not (ref := line.partition("\t")[2]).endswith("^{}"))

    def _found(self, name: str, refs: tuple[str, ...], *, or_build: bool = False) -> str:
        """The ref that a name stands for, the commit id that it is, or "" for a build that only we know."""
        there = [ref for ref in (name, f"refs/tags/{name}", f"refs/heads/{name}") if ref in refs]
        if len(there) > 1:
            raise UsageProblem(f"{name!r} is a tag and a branch of {self.name}", hint=f"write {' or '.join(there)}")
        if there:
            return there[0]
        if _OBJECT_ID.fullmatch(name):
            return name
        if _SHORT_ID.fullmatch(name):
            raise UsageProblem(f"commit id {name!r} is cut short", hint="give all 40 digits")
        if or_build and is_build_tag(name) and self.history.commit_of(BuildTag.parse(name).ref):
            return ""
        short = [ref.split("/", 2)[-1] for ref in refs]
        raise UsageProblem(
            f"{self.name} has no tag or branch {name!r}{did_you_mean(name, short)}",
            hint=f"git ls-remote {without_credentials(self.address)}",
        )

    def _start(self, git: Git, name: str, wanted: str, end: str) -> str:
        """The commit that the range begins behind."""
        if not wanted:
            return self._same_files(git, BuildTag.parse(name), end)
        if git.commit_of(wanted) is None or not _OBJECT_ID.fullmatch(wanted):
            self._fetch(git, wanted, "start")
            wanted = f"{_PLACE}start"
        commit = git.commit_of(wanted)
        if commit is None:
            raise UsageProblem(f"{name!r} in {self.name} is no commit", hint=_RANGE_HINT)
        return commit

    def _same_files(self, git: Git, build: BuildTag, end: str) -> str:
        """The newest commit below `end` with a build's files: a fork seldom has upstream's tags."""
        tree = self.history.tree_of(build.ref)
        listed = git("log", "--topo-order", "--format=%H %T", end).text.splitlines()
        found = next((line.split()[0] for line in listed if line.endswith(f" {tree}")), None)
        if found is None:
            raise RangeProblem(
                f"{self.name} has no tag {build}, and no commit with its files (tree {tree}) below {end}",
                hint="begin the range at the commit that the fork's first own commit stands on (all 40 digits)",
            )
        return found

    def _fetch(self, git: Git, wanted: str, place: str) -> None:
        done = self._talk(git, *FETCH, _ALIAS, f"+{wanted}:{_PLACE}{place}")
        if b"shallow" in done.stderr:  # git passes over such a ref with a warning
            raise ForkUnreachable(
                f"{self.name} is a shallow clone: a part of its history is missing",
                hint="git fetch --unshallow in it, then run this command again",
            )

    def _talk(self, git: Git, *words: str) -> Completed:
        remote = RemoteAddress(url=self.address, alias=_ALIAS, environ=self.environ)
        done = git(*words, env=remote.environment(), ok_codes=range(256))
        if done.code:
            said = _said(done)
            raise ForkUnreachable(f"{self.name} does not give it\n{said}", hint=_advice(said))
        return done


def _said(done: Completed) -> str:
    """The end of git's own words."""
    lines = done.stderr.decode("utf-8", "replace").expandtabs().splitlines()[-10:]
    return quoted_lines(line for line in lines if line)


def _advice(said: str) -> str | None:
    """What to do about git's own words, where they are clear."""
    if "fsck error" in said:
        return (
            "its objects do not pass git's own checks: amend that commit in the fork; never import it from a stranger"
        )
    if "not our ref" in said or "unadvertised" in said:
        return "no branch or tag of the remote holds that commit: push a branch with it, and name that branch"
    return None
