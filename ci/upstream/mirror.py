"""Upstream builds from a git remote: any URL or path, of which only the build tags are taken.

A remote is foreign ground: its address may only be https, ssh or a local path, its tag names count only when they
have the shape of a build, and its objects pass a quarantine. No hooks, no submodules, no shallow or partial history
(a three-way merge needs every blob). The address never stands on a command line, so passwords in it stay out of
process lists; messages show it without them.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ci.errors import CommandFailed, SourceUnreachable
from ci.git import Git
from ci.process import Completed
from ci.redact import without_credentials
from ci.upstream.address import RemoteAddress, checked_address
from ci.upstream.quarantine import FETCH, Quarantine, quarantine
from ci.upstream.source import Found, Progress, SyncedBuild, SyncReport, check_tree, no_progress, require_known
from ci.upstream.tags import REF_PREFIX, BuildTag, build_tags

ASIDE_PREFIX = "refs/mirror/"
_ALIAS = "upstream"


def aside_ref(tag: BuildTag) -> str:
    """Where the history keeps a remote's own commit of a build, beside the tag."""
    return f"{ASIDE_PREFIX}{tag}"


@dataclass(frozen=True, kw_only=True)
class MirrorSource:
    """A git remote as a source of builds.

    Attributes:
        git: the history.
        address: URL or path; checked on construction.
        pins: tree ids that builds must have, where known (the snapshot lock's).
        environ: environment to take proxies and the ssh agent from.
    """

    git: Git
    address: str
    pins: Mapping[BuildTag, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self) -> None:
        checked_address(self.address)

    @property
    def name(self) -> str:
        """What to call it, without credentials."""
        return f"the git remote {without_credentials(self.address)}"

    def known(self) -> tuple[BuildTag, ...]:
        """The builds among the remote's tags, ascending; other names are passed over.

        Raises:
            SourceUnreachable: the remote does not answer, or is no git repository.
        """
        listing = self._talk(self.git, "ls-remote", "--tags", "--refs", _ALIAS).text
        refs = (line.partition("\t")[2] for line in listing.splitlines())
        return build_tags(ref.removeprefix(REF_PREFIX) for ref in refs if ref.startswith(REF_PREFIX))

    def sync(self, tags: Sequence[BuildTag], progress: Progress = no_progress) -> SyncReport:
        """See `ci.upstream.source.Source.sync`; builds already in the history keep their commits.

        Raises:
            UnknownBuild: the remote does not have one of them; nothing is fetched.
            SourceUnreachable: the remote does not answer.
            TreeMismatch: a tree is not the pinned one.
            DiskFull: no room; nothing new is visible.
        """
        wanted = sorted(set(tags))
        missing = [tag for tag in wanted if self.git.commit_of(tag.ref) is None]
        if missing:
            require_known(missing, self.known(), source=self.name)
        started = time.monotonic()
        added = self._add(missing, progress) if missing else {}
        share = (time.monotonic() - started) / max(1, len(added))
        builds = tuple(self._report(tag, added, share) for tag in wanted)
        return SyncReport(source=self.name, builds=builds)

    def fetch_aside(self, tags: Sequence[BuildTag]) -> dict[BuildTag, str]:
        """Bring builds in beside the tags of the same names, to compare the two; returns the remote's commit ids.

        Raises:
            UnknownBuild: the remote does not have one of them.
            SourceUnreachable: the remote does not answer.
        """
        require_known(tags, self.known(), source=self.name)
        with self._fetched(tags) as (side, commits):
            for commit in commits.values():
                side.admit(commit)
        for tag, commit in commits.items():
            self.git.update_ref(aside_ref(tag), commit, self.git.resolve(aside_ref(tag)))
        return commits

    def _report(self, tag: BuildTag, added: Mapping[BuildTag, str], seconds: float) -> SyncedBuild:
        commit, tree = self.git.commit_of(tag.ref), self.git.tree_of(tag.ref)
        assert commit is not None and tree is not None  # noqa: S101, PT018 - present before, or added by us
        check_tree(tag, tree, {"the pin": self.pins.get(tag)})
        new = tag in added
        found = Found.ADDED if new else Found.PRESENT
        return SyncedBuild(tag=tag, found=found, tree=tree, commit=commit, seconds=seconds if new else 0.0)

    def _add(self, tags: Sequence[BuildTag], progress: Progress) -> dict[BuildTag, str]:
        progress(0, None, f"fetching {len(tags)} build(s) from {self.name}")
        with self._fetched(tags) as (side, commits):
            for tag, commit in commits.items():
                hint = f"invoke sync-upstream --build {tag}, then this command again: it lists what differs"
                check_tree(tag, str(side.git.tree_of(commit)), {"the pin": self.pins.get(tag)}, hint=hint)
            for commit in commits.values():
                side.admit(commit)
        for done, (tag, commit) in enumerate(commits.items(), 1):
            self.git.update_ref(tag.ref, commit, None)
            progress(done, len(commits), f"{tag}: added")
        return commits

    @contextmanager
    def _fetched(self, tags: Sequence[BuildTag]) -> Iterator[tuple[Quarantine, dict[BuildTag, str]]]:
        """The commits of some builds, fetched into a quarantine."""
        with quarantine(self.git) as side:
            wanted = [f"+{tag.ref}:{tag.ref}" for tag in tags]
            self._talk(side.git, *FETCH, _ALIAS, *wanted)
            yield side, {tag: self._commit_at(side.git, tag) for tag in tags}

    def _commit_at(self, git: Git, tag: BuildTag) -> str:
        commit = git.commit_of(tag.ref)
        if commit is None:
            raise SourceUnreachable(f"{self.name}: its tag {tag} is not a commit")
        return commit

    def _talk(self, git: Git, *words: str) -> Completed:
        remote = RemoteAddress(url=self.address, alias=_ALIAS, environ=self.environ)
        try:
            return git(*words, env=remote.environment())
        except CommandFailed as failed:
            raise SourceUnreachable(f"{self.name}: {without_credentials(failed.message)}") from None
