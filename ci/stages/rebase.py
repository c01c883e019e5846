"""Move the series from its base onto the aim, in the history; `patches/` stays as it is."""

from ci.config import Model
from ci.errors import SeriesConflict, SeriesProblem
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.release.version import ReleaseId
from ci.series import replay, results
from ci.series.fold import UNDECIDED, Decisions
from ci.series.order import Series, load_series
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages.values import Carried, Rebased, Synced
from ci.upstream.tags import BuildTag

ENGINE = 2
"""Raise it when the same series on the same builds would be replayed otherwise."""


def branch_of(onto: str) -> str:
    """The ref that keeps a rebased series alive in the history."""
    return f"refs/heads/speed/{onto}"


def release_of(series: Series, onto: BuildTag) -> ReleaseId:
    """The release id on an aim: the base's own revision, or 1 on a new build."""
    return ReleaseId(build=onto, revision=series.base.revision if onto == series.base.tag else 1)


def replayed(
    home: Home, context: Context, series: Series, onto: BuildTag, *, decisions: Decisions = UNDECIDED
) -> results.Rebased:
    """The series on the aim, as objects without a name.

    Raises:
        SeriesConflict: a patch does not go through; the message shows both sides.
    """
    with context.console.task("rebase") as task:
        result = replay.rebase(
            Git(path=home.history),
            series,
            onto,
            work=home.work / "rebase",
            progress=task.update,
            decisions=decisions,
        )
    if isinstance(result, results.Stopped):
        raise stopped(result, decisions)
    return result


def stopped(found: results.Stopped, decisions: Decisions) -> SeriesConflict:
    """The error that shows every conflict, the first one's next step with it."""
    told = "\n\n".join(conflict.describe() for conflict in found.conflicts)
    return SeriesConflict(told, hint=found.conflicts[0].next_step(tuple(decisions.accept_partial)))


def carried(series: Series, rebased: results.Rebased) -> tuple[Carried, ...]:
    """What became of each patch, in order."""
    absorbed = {gone.patch_id for gone in rebased.absorbed}
    return tuple(
        Carried(id=patch.id, subject=patch.subject, state="absorbed" if patch.id in absorbed else "applied")
        for patch in series.patches
    )


def plan(context: Context) -> JsonMap:
    """The series, byte for byte, and the tree to put it on."""
    synced = context.value(Synced)
    series = load_series(context.home.patches)
    return {
        "engine": ENGINE,
        "series": series.digest,
        "revision": series.base.revision,
        "onto": synced.onto,
        "onto_tree": synced.onto_tree,
    }


def run(context: Context) -> StageResult:
    """Replay and move the history's branch, compare-and-swap."""
    onto = BuildTag.parse(context.value(Synced).onto)
    series = load_series(context.home.patches)
    rebased = replayed(context.home, context, series, onto)
    if not rebased.commits:
        raise SeriesProblem(f"every patch of the series is in {onto}: there is nothing left to build")
    git = Git(path=context.home.history)
    git.update_ref(branch_of(str(onto)), rebased.head, git.commit_of(branch_of(str(onto))))
    value = Rebased(
        release=str(release_of(series, onto)),
        onto=str(onto),
        head=rebased.head,
        tree=rebased.tree,
        patches=carried(series, rebased),
    )
    return StageResult(value=value)


def holds(context: Context, _: Outcome, value: Model) -> bool:
    """Whether the history still has the rebased head."""
    git = Git(path=context.home.history)
    return isinstance(value, Rebased) and git.tree_of(value.head) == value.tree


STAGE = Stage(name="rebase", about="the series onto the aim", value=Rebased, plan=plan, run=run, holds=holds)
