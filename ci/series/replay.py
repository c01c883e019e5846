"""Moving the series: imported on its base as `git am` does, then picked onto the aim, patch by patch.

Everything happens in a scratch repository; what comes out is a value. Every patch is tried, the ones behind a
conflict too. The caller moves the ref, once, with `Git.update_ref`; calling this and moving nothing is the dry run.
Equal input gives equal commit ids: identity and committer date are fixed, author and author date are the patch's.
"""

from dataclasses import replace
from pathlib import Path

from ci.errors import BaseMismatch, UsageProblem
from ci.git import Git
from ci.series.byhand.resolutions import Store
from ci.series.conflict import Conflict
from ci.series.engine.fold import UNDECIDED, Decisions, Fold, Progress, Replayed, unheard
from ci.series.engine.importing import import_series
from ci.series.engine.probing import with_origins
from ci.series.engine.workshop import Workshop, workshop
from ci.series.order import BaseTag, Series
from ci.series.results import Absorbed, Rebased, Stopped
from ci.upstream.tags import BuildTag, build_tags


def rebase(
    git: Git,
    series: Series,
    onto: BuildTag,
    *,
    work: Path,
    progress: Progress = unheard,
    decisions: Decisions = UNDECIDED,
    resolutions: Store | None = None,
) -> Rebased | Stopped:
    """Put the series on another build.

    Args:
        git: the history: builds as tags.
        series: the checked queue.
        onto: the aim, not older than the base.
        work: directory for the scratch repository.
        progress: hears of each step.
        decisions: what people decided about single patches.
        resolutions: recorded resolutions, replayed where their conflict comes again.

    Raises:
        UsageProblem: a build that the history does not have, or a base newer than the aim.
        BaseMismatch: the base's tree in the history is not the pinned one.
        SeriesProblem: git cannot read a patch file, or calls what a patch makes harmful.
        ResolutionProblem: a recorded resolution that would be used is damaged.
        Busy: another rebase works in `work`.
    """
    base_commit = checked_base(git, series.base)
    onto_commit = commit_of_build(git, onto)
    if series.base.tag > onto:
        raise UsageProblem(
            f"base {series.base.tag} is newer than the aim {onto}", hint=f"choose {series.base.tag} or a newer build"
        )
    with workshop(git, work) as shop:
        progress(0, len(series.patches) + 1, f"the series on {series.base.tag}")
        imported = import_series(shop, series, base_commit)
        if isinstance(imported, Conflict):
            return Stopped(onto=onto, results=(imported,), tip="", picked="")
        fold = Fold(
            shop=shop,
            series=series,
            imported=imported,
            base_commit=base_commit,
            decisions=decisions,
            resolutions=resolutions,
        )
        fold.foresee([onto_commit])
        replayed = fold.onto(onto, onto_commit, progress)
        if any(isinstance(result, Conflict | Absorbed) for result in replayed.results):
            builds = builds_between(git, series.base.tag, onto)
            replayed = replace(replayed, results=with_origins(fold, replayed.results, builds, progress))
        return _handed_over(git, shop, replayed, onto, onto_commit)


def _handed_over(git: Git, shop: Workshop, replayed: Replayed, onto: BuildTag, onto_commit: str) -> Rebased | Stopped:
    """The answer, with the commits that it names in the history."""
    if replayed.stopped_at:
        for commit in replayed.stopped_at:
            shop.hand_over(git, commit)
        tip, picked = replayed.stopped_at
        return Stopped(onto=onto, results=replayed.results, tip=tip, picked=picked, counts=replayed.counts)
    shop.hand_over(git, replayed.head)
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


def builds_between(git: Git, base: BuildTag, onto: BuildTag) -> tuple[tuple[BuildTag, str], ...]:
    """The builds in the history from the base to the aim, with their commits, ascending."""
    commits = git.commits_of_tags()
    return tuple((tag, commits[str(tag)]) for tag in build_tags(commits) if base <= tag <= onto)


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
