"""Move the series from its base onto the aim, in the history; `patches/` stays as it is."""

from collections.abc import Sequence

from ci.config import Model
from ci.errors import SeriesConflict, SeriesProblem
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.release.version import ReleaseId
from ci.series import replay
from ci.series.order import Series, load_series
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages.values import Carried, Rebased, Synced
from ci.upstream.tags import BuildTag

ENGINE = 1
"""Raise it when the same series on the same builds would be replayed otherwise."""


def branch_of(onto: str) -> str:
    """The ref that keeps a rebased series alive in the history."""
    return f"refs/heads/speed/{onto}"


def release_of(series: Series, onto: BuildTag) -> ReleaseId:
    """The release id on an aim: the base's own revision, or 1 on a new build."""
    return ReleaseId(build=onto, revision=series.base.revision if onto == series.base.tag else 1)


def replayed(
    home: Home, context: Context, series: Series, onto: BuildTag, *, accept_partial: Sequence[str] = ()
) -> replay.Rebased:
    """The series on the aim, as objects without a name; `accept_partial` as in `ci.series.replay.rebase`.

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
            accept_partial=accept_partial,
        )
    if isinstance(result, replay.Conflict):
        raise SeriesConflict(result.describe(), hint=result.next_step(accept_partial))
    return result


def carried(series: Series, rebased: replay.Rebased) -> tuple[Carried, ...]:
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
