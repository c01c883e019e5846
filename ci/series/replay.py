"""Moving the series: imported on its base as `git am` does, then picked onto the aim, patch by patch.

Everything happens in a scratch repository; what comes out is a value. Every patch is tried, the ones behind a
conflict too. The caller moves the ref, once, with `Git.update_ref`; calling this and moving nothing is the dry run.
Equal input gives equal commit ids: identity and committer date are fixed, author and author date are the patch's.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ci.errors import BaseMismatch, UsageProblem
from ci.git import Git
from ci.series.conflict import Conflict, conflict_of_merge, not_through_upstream, partly_upstream
from ci.series.importing import conflict_at, import_series
from ci.series.order import BaseTag, Series
from ci.series.patch import Patch
from ci.series.picking import Picked, Picker
from ci.series.results import Absorbed, Applied, Counts, Rebased, Result, Skipped, Stopped
from ci.series.scratch import hand_over
from ci.series.workshop import Workshop, workshop
from ci.upstream.tags import BuildTag, build_tags

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (steps done, steps in all, words)."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What a person made of one conflict: the tip's tree that it was settled on, the tree that it became.

    `commit`, when the person committed, carries the message and author to use instead of the patch's.
    """

    tip_tree: str
    tree: str
    commit: str | None = None


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """What people decided about single patches, by patch id.

    Attributes:
        accept_partial: upstream may have landed a part of these; others with that are conflicts.
        skip: these are left out.
        settled: conflicts that were settled by hand.
    """

    accept_partial: Collection[str] = ()
    skip: Collection[str] = ()
    settled: Mapping[str, Settled] = field(default_factory=dict)


def rebase(
    git: Git,
    series: Series,
    onto: BuildTag,
    *,
    work: Path,
    progress: Progress | None = None,
    decisions: Decisions = Decisions(),
) -> Rebased | Stopped:
    """Put the series on another build.

    Args:
        git: the history: builds as tags.
        series: the checked queue.
        onto: the aim, not older than the base.
        work: directory for the scratch repository.
        progress: hears of each step.
        decisions: what people decided about single patches.

    Raises:
        UsageProblem: a build that the history does not have, or a base newer than the aim.
        BaseMismatch: the base's tree in the history is not the pinned one.
        Busy: another rebase works in `work`.
    """
    base_commit = checked_base(git, series.base)
    onto_commit = commit_of_build(git, onto)
    if series.base.tag > onto:
        raise UsageProblem(
            f"base {series.base.tag} is newer than the aim {onto}", hint=f"choose {series.base.tag} or a newer build"
        )
    hear = progress or (lambda _done, _total, _words: None)
    with workshop(git, work) as shop:
        hear(0, len(series.patches) + 1, f"the series on {series.base.tag}")
        imported = import_series(shop, series, base_commit)
        if isinstance(imported, Conflict):
            return Stopped(onto=onto, results=(imported,), tip="", picked="")
        fold = Fold(shop=shop, series=series, imported=imported, base_commit=base_commit, decisions=decisions)
        replayed = fold.onto(onto, onto_commit, hear)
        if replayed.stopped_at:
            for commit in replayed.stopped_at:
                hand_over(shop.repo, git, commit)
            tip, picked = replayed.stopped_at
            return Stopped(onto=onto, results=replayed.results, tip=tip, picked=picked, counts=replayed.counts)
        hand_over(shop.repo, git, replayed.head)
        return Rebased(
            onto=onto,
            onto_commit=onto_commit,
            head=replayed.head,
            tree=shop.tree_of(replayed.head),
            results=tuple(result for result in replayed.results if not isinstance(result, Conflict)),
            counts=replayed.counts,
        )


def commit_of_build(git: Git, build: BuildTag) -> str:
    """The commit of a build in the history.

    Raises:
        UsageProblem: it is not there; names the newest that is.
    """
    commit = git.commit_of(build.ref)
    if commit is None:
        known = build_tags(git.tags())
        newest = f"newest known is {known[-1]}" if known else "no build is known"
        raise UsageProblem(
            f"build {build} is not in {git.path}: {newest}", hint=f"invoke sync-upstream --remote URL --build {build}"
        )
    return commit


def checked_base(git: Git, base: BaseTag) -> str:
    """The commit of the base, whose tree is the pinned one.

    Raises:
        UsageProblem: it is not there.
        BaseMismatch: the tree is another one; names both.
    """
    commit = commit_of_build(git, base.tag)
    tree = git.tree_of(commit)
    if tree != base.tree:
        raise BaseMismatch(f"base {base.tag} has tree {tree} in {git.path}, base.toml pins {base.tree}")
    return commit


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The fold's end: the last commit, one result a patch, and tip and patch of the first conflict."""

    head: str
    results: tuple[Result, ...]
    counts: Counts
    stopped_at: tuple[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Fold:
    """The second half: the imported commits, one by one, onto an aim."""

    shop: Workshop
    series: Series
    imported: tuple[str, ...]
    base_commit: str
    decisions: Decisions = Decisions()
    picker: Picker = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "picker", Picker(self.shop))

    def onto(self, build: BuildTag, commit: str, hear: Progress) -> Replayed:
        """Put all patches onto a build, each after those before it that do not conflict."""
        tip, counts = commit, Counts()
        results: list[Result] = []
        stopped_at: tuple[str, str] | None = None
        for number, (patch, picked) in enumerate(zip(self.series.patches, self.imported, strict=True)):
            hear(number + 1, len(self.imported) + 1, f"{patch.id} on {build}")
            result, done = self._step(patch, number, tip, build, commit)
            results.append(result)
            counts += done
            if isinstance(result, Applied):
                tip = result.commit
            if isinstance(result, Conflict):
                stopped_at = stopped_at or (tip, picked)
        return Replayed(head=tip, results=tuple(results), counts=counts, stopped_at=stopped_at)

    def alone(self, number: int, build: BuildTag, commit: str) -> Result:
        """Put one patch onto a build without its predecessors."""
        return self._step(self.series.patches[number], number, commit, build, commit)[0]

    def _step(self, patch: Patch, number: int, tip: str, build: BuildTag, aim: str) -> tuple[Result, Counts]:
        if patch.id in self.decisions.skip:
            return Skipped(patch_id=patch.id, subject=patch.subject), Counts()
        tip_tree = self.shop.tree_of(tip)
        settled = self.decisions.settled.get(patch.id)
        if settled and settled.tip_tree == tip_tree:
            return self._applied(patch, settled.commit or self.imported[number], settled.tree, tip), Counts()
        base, theirs = self._sides(number)
        picked = self.picker.pick(base, tip_tree, theirs)
        at = conflict_at(self.series, patch, str(build))
        if picked.tree is None:
            return self._conflict(at, picked), picked.counts
        if picked.tree == tip_tree:
            return self._vanished(patch, at, number, build, aim), picked.counts
        if picked.lost and patch.id not in self.decisions.accept_partial:
            return partly_upstream(at, picked.lost), picked.counts
        return self._applied(patch, self.imported[number], picked.tree, tip), picked.counts

    def _sides(self, number: int) -> tuple[str, str]:
        """The trees before and after a patch on its own base."""
        before = self.imported[number - 1] if number else self.base_commit
        return self.shop.tree_of(before), self.shop.tree_of(self.imported[number])

    def _applied(self, patch: Patch, like: str, tree: str, tip: str) -> Applied:
        commit = self.shop.same_commit_on(like, tree=tree, parent=tip)
        return Applied(patch_id=patch.id, subject=patch.subject, commit=commit)

    def _conflict(self, at: Conflict, picked: Picked) -> Conflict:
        assert picked.merged is not None  # noqa: S101 - for the type checker: without a tree there is an answer
        return conflict_of_merge(picked.merged, at, half_merged=picked.half_merged, blob=self.shop.objects.blob)

    def _vanished(self, patch: Patch, at: Conflict, number: int, build: BuildTag, aim: str) -> Absorbed | Conflict:
        """What to say when nothing of a patch is left: upstream has it all, or something else swallowed it."""
        base, theirs = self._sides(number)
        upstream = self.shop.tree_of(aim)
        if self.picker.pick(base, upstream, theirs).tree == upstream:
            return Absorbed(patch_id=patch.id, subject=patch.subject, build=build)
        return not_through_upstream(at, patch.files)
