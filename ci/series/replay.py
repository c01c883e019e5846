"""Moving the series: import on its base as `git am` does, then one cherry-pick a patch onto the aim.

Everything happens in a scratch repository; what comes out is a value. A conflict leaves nothing behind, a success
leaves objects without a name in the history: the caller moves the ref, once, with `Git.update_ref`. Calling this and
moving nothing is the dry run. Equal input gives equal commit ids: identity and committer date are fixed, author and
author date are the patch's.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ci.errors import BaseMismatch, SeriesProblem, UsageProblem
from ci.git import Git
from ci.series.conflict import Conflict, conflict_of_am, conflict_of_pick, partly_landed, without_hints
from ci.series.order import BaseTag, Series
from ci.series.patch import Patch
from ci.series.scratch import hand_over, scratch_repository
from ci.upstream.tags import BuildTag, build_tags

__all__ = ["Absorbed", "Applied", "CommitOf", "Conflict", "Progress", "Rebased", "rebase"]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, words)."""

AM = ("am", "--quiet", "--keep-non-patch", "--keep-cr", "--no-gpg-sign", "--no-3way", "--no-scissors")
PICK = (
    "-c",
    "merge.conflictStyle=diff3",
    "cherry-pick",
    "--allow-empty",
    "--keep-redundant-commits",
    "--no-gpg-sign",
)


@dataclass(frozen=True, kw_only=True)
class CommitOf:
    """A patch and the commit that carries it."""

    patch_id: str
    commit: str


@dataclass(frozen=True, kw_only=True)
class Applied:
    """The patch has a commit on the aim."""

    patch_id: str
    subject: str
    commit: str


@dataclass(frozen=True, kw_only=True)
class Absorbed:
    """All of the patch is in the aim already: merging it changed nothing."""

    patch_id: str
    subject: str
    build: BuildTag


@dataclass(frozen=True, kw_only=True)
class Rebased:
    """The series on its aim.

    `head` (with `tree`) is the last commit of the series on the aim, or the aim itself when every patch was absorbed.
    All objects are in the history, under no name.
    """

    onto: BuildTag
    onto_commit: str
    head: str
    tree: str
    results: tuple[Applied | Absorbed, ...]

    @property
    def commits(self) -> tuple[CommitOf, ...]:
        """The commits on the aim, in order."""
        return tuple(CommitOf(patch_id=r.patch_id, commit=r.commit) for r in self.results if isinstance(r, Applied))

    @property
    def absorbed(self) -> tuple[Absorbed, ...]:
        """The patches that the aim made unnecessary."""
        return tuple(r for r in self.results if isinstance(r, Absorbed))


def rebase(
    git: Git,
    series: Series,
    onto: BuildTag,
    *,
    work: Path,
    progress: Progress | None = None,
    accept_partial: Collection[str] = (),
) -> Rebased | Conflict:
    """Put the series on another build.

    Args:
        git: the history: builds as tags.
        series: the checked queue.
        onto: the aim, not older than the base.
        work: directory for the scratch repository (room for one checkout).
        progress: hears of each step.
        accept_partial: ids of patches of which upstream may have landed a part; others with that are conflicts.

    Raises:
        UsageProblem: a build that the history does not have, or a base newer than the aim.
        BaseMismatch: the base's tree in the history is not the pinned one.
        Busy: another rebase works in `work`.
    """
    base_commit = _check_base(git, series.base)
    onto_commit = _commit_of_build(git, onto)
    if series.base.tag > onto:
        raise UsageProblem(
            f"base {series.base.tag} is newer than the aim {onto}", hint=f"choose {series.base.tag} or a newer build"
        )
    steps = _Steps(progress, total=2 * len(series.patches))
    with scratch_repository(git, work) as repo:
        imported = _import_all(repo, series, base_commit, steps)
        if isinstance(imported, Conflict):
            return imported
        picking = _Picking(repo=repo, onto=onto, steps=steps, accept_partial=frozenset(accept_partial))
        results = picking.pick_all(onto_commit, series, imported)
        if isinstance(results, Conflict):
            return results
        head = _head(repo)
        hand_over(repo, git, head)
        return Rebased(
            onto=onto,
            onto_commit=onto_commit,
            head=head,
            tree=_head(repo, "tree"),
            results=results,
        )


class _Steps:
    """Counts steps for a listener."""

    def __init__(self, progress: Progress | None, *, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def start(self, words: str) -> None:
        if self._progress:
            self._progress(self._done, self._total, words)
        self._done += 1


def _commit_of_build(git: Git, build: BuildTag) -> str:
    commit = git.commit_of(build.ref)
    if commit is None:
        known = build_tags(git.tags())
        newest = f"newest known is {known[-1]}" if known else "no build is known"
        raise UsageProblem(
            f"build {build} is not in {git.path}: {newest}", hint=f"invoke sync-upstream --remote URL --build {build}"
        )
    return commit


def _check_base(git: Git, base: BaseTag) -> str:
    commit = _commit_of_build(git, base.tag)
    tree = git.tree_of(commit)
    if tree != base.tree:
        raise BaseMismatch(f"base {base.tag} has tree {tree} in {git.path}, base.toml pins {base.tree}")
    return commit


def _head(repo: Git, kind: str = "commit") -> str:
    return repo("rev-parse", "--verify", f"HEAD^{{{kind}}}").text


def _at(patch: Patch, series: Series, upon: BuildTag) -> Conflict:
    """A conflict with nothing but its place."""
    return Conflict(
        patch_id=patch.id,
        subject=patch.subject,
        index=series.patches.index(patch) + 1,
        total=len(series.patches),
        upon=str(upon),
    )


def _import_all(repo: Git, series: Series, base_commit: str, steps: _Steps) -> tuple[str, ...] | Conflict:
    """The commits that `git am` makes of the queue, one mail at a time so that a failure has a name."""
    repo("checkout", "--quiet", "--force", "--detach", base_commit)
    commits = []
    for patch in series.patches:
        steps.start(f"{patch.id} on {series.base.tag}")
        done = repo(*AM, stdin=patch.raw, ok_codes=(0, 1, 128))
        if done.code:
            conflict = conflict_of_am(done, _at(patch, series, series.base.tag))
            if conflict is None:
                said = without_hints(done.stderr.decode("utf-8", "replace"))
                raise SeriesProblem(
                    f"{patch.path}: git cannot read it: {said.strip()}",
                    hint=f"export it again: git format-patch -1 --stdout <commit> > patches/{patch.id}.patch",
                )
            return conflict
        commits.append(_head(repo))
    return tuple(commits)


@dataclass(frozen=True, kw_only=True)
class _Picking:
    """The second half: the imported commits, one by one, onto the aim."""

    repo: Git
    onto: BuildTag
    steps: _Steps
    accept_partial: frozenset[str]

    def pick_all(
        self, onto_commit: str, series: Series, imported: tuple[str, ...]
    ) -> tuple[Applied | Absorbed, ...] | Conflict:
        self.repo("checkout", "--quiet", "--force", "--detach", onto_commit)
        results: list[Applied | Absorbed] = []
        for commit, patch in zip(imported, series.patches, strict=True):
            self.steps.start(f"{patch.id} on {self.onto}")
            result = self.pick(commit, patch, _at(patch, series, self.onto))
            if isinstance(result, Conflict):
                return result
            results.append(result)
        return tuple(results)

    def pick(self, commit: str, patch: Patch, at: Conflict) -> Applied | Absorbed | Conflict:
        before = _head(self.repo)
        tree_before = _head(self.repo, "tree")
        done = self.repo(*PICK, commit, ok_codes=(0, 1))
        if done.code:
            return conflict_of_pick(self.repo, done, at)
        if _head(self.repo, "tree") == tree_before:
            self.repo("reset", "--quiet", "--hard", before)
            return Absorbed(patch_id=patch.id, subject=patch.subject, build=self.onto)
        picked = _head(self.repo)
        partly = None if patch.id in self.accept_partial else partly_landed(self.repo, commit, picked, at)
        return partly or Applied(patch_id=patch.id, subject=patch.subject, commit=picked)
