"""Move the series from its base onto the aim, in the history; `patches/` stays as it is."""

from ci.config import Model
from ci.digest import sha256_bytes
from ci.errors import SeriesConflict, SeriesProblem
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.release.version import ReleaseId
from ci.series import replay
from ci.series.byhand.resolutions import FOLDER, describe, load_store
from ci.series.conflict import off_base, refusal
from ci.series.drift.pending import load_pending, pending_toml
from ci.series.engine.fold import UNDECIDED, Decisions
from ci.series.order import Series, load_series
from ci.series.patch import Patch
from ci.series.results import Absorbed, Applied, Rebased, Skipped, Stopped
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages import values
from ci.stages.drift import drift_entries
from ci.stages.values import Carried, Synced
from ci.upstream.tags import BuildTag

ENGINE = 3
"""Raise it when the same series on the same builds would be replayed otherwise."""


def branch_of(onto: str) -> str:
    """The ref that keeps a rebased series alive in the history."""
    return f"refs/heads/speed/{onto}"


def release_of(series: Series, onto: BuildTag) -> ReleaseId:
    """The release id on an aim: the base's own revision, or 1 on a new build."""
    return ReleaseId(build=onto, revision=series.base.revision if onto == series.base.tag else 1)


def attempted(
    home: Home, context: Context, series: Series, onto: BuildTag, *, decisions: Decisions = UNDECIDED
) -> Rebased | Stopped:
    """The series on the aim, as objects without a name, or where it stops; recorded resolutions are replayed.

    Raises:
        ResolutionProblem: a recorded resolution is damaged.
    """
    with context.console.task("rebase") as task:
        return replay.rebase(
            Git(path=home.history),
            series,
            onto,
            work=home.work / "rebase",
            progress=task.update,
            decisions=decisions,
            resolutions=load_store(home.patches / FOLDER),
        )


def replayed(home: Home, context: Context, series: Series, onto: BuildTag) -> Rebased:
    """The series on the aim, as objects without a name; says what recorded resolutions did on the way there.

    Raises:
        SeriesConflict: a patch does not go through; the message shows both sides.
    """
    result = attempted(home, context, series, onto)
    if isinstance(result, Stopped):
        raise stopped(result)
    used = (one for patch in result.results if isinstance(patch, Applied) for one in patch.resolutions)
    told = describe(load_store(home.patches / FOLDER), used) if onto != series.base.tag else ""
    if told:
        context.console.say(told)
    return result


def stopped(found: Stopped, decisions: Decisions = UNDECIDED) -> SeriesConflict:
    """The error that shows every conflict, and what to type for the first one."""
    first = found.conflicts[0]
    if not found.tip:
        return off_base(first)
    opens = f"invoke rebase-upstream --onto {found.onto}  # opens a worktree for {first.patch_id}"
    accept = first.next_step(tuple(decisions.accept_partial))
    return refusal(found.conflicts, hint=f"{accept}\n{opens}" if accept else opens)


def carried(series: Series, rebased: Rebased) -> tuple[Carried, ...]:
    """What became of each patch, in order."""
    return tuple(_carried(patch, result) for patch, result in zip(series.patches, rebased.results, strict=True))


def _carried(patch: Patch, result: Applied | Absorbed | Skipped) -> Carried:
    if isinstance(result, Absorbed):
        return Carried(id=patch.id, subject=patch.subject, state="absorbed", build=str(result.build))
    if isinstance(result, Skipped):
        return Carried(id=patch.id, subject=patch.subject, state="skipped")
    resolutions = tuple(resolution.conflict_id for resolution in result.resolutions)
    return Carried(id=patch.id, subject=patch.subject, state="applied", resolutions=resolutions)


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
        "resolutions": load_store(context.home.patches / FOLDER).digest,
        "pending_drift": sha256_bytes(pending_toml(load_pending(context.home.patches))),
    }


def run(context: Context) -> StageResult:
    """Replay and move the history's branch, compare-and-swap.

    Raises:
        SeriesConflict: a patch does not go through.
        SeriesProblem: upstream has all of the series already.
    """
    onto = BuildTag.parse(context.value(Synced).onto)
    series = load_series(context.home.patches)
    rebased = replayed(context.home, context, series, onto)
    if not rebased.commits:
        raise SeriesProblem(f"every patch of the series is in {onto}: there is nothing left to build")
    git = Git(path=context.home.history)
    git.update_ref(branch_of(str(onto)), rebased.head, git.commit_of(branch_of(str(onto))))
    value = values.Rebased(
        release=str(release_of(series, onto)),
        onto=str(onto),
        head=rebased.head,
        tree=rebased.tree,
        patches=carried(series, rebased),
        drift=drift_entries(
            git,
            series,
            onto,
            applied=[commit.patch_id for commit in rebased.commits],
            patches_dir=context.home.patches,
        ),
    )
    for entry in value.drift:
        if not entry.acknowledged:
            context.console.say(f"drift: {entry.patch}: {entry.place}: {entry.why}; parity must pass")
    return StageResult(value=value)


def holds(context: Context, _: Outcome, value: Model) -> bool:
    """Whether the history still has the rebased head."""
    git = Git(path=context.home.history)
    return isinstance(value, values.Rebased) and git.tree_of(value.head) == value.tree


STAGE = Stage(name="rebase", about="the series onto the aim", value=values.Rebased, plan=plan, run=run, holds=holds)
