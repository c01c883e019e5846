"""rebase-upstream: move the series, show where it stops, hand the conflict to a person and take it back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ci.console import Console
from ci.errors import (
    EXIT_OK,
    ConfigProblem,
    EnvironmentProblem,
    MergeBroke,
    RebaseInProgress,
    SeriesConflict,
    UsageProblem,
)
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.series.byhand.collecting import Collected, collect
from ci.series.byhand.rebase_state import State, abort, load_state, refuse_in_progress, require_state
from ci.series.byhand.resolutions import FOLDER, load_store
from ci.series.byhand.worktree import instructions, open_worktree
from ci.series.conflict import Conflict
from ci.series.culprit import next_to_look_at
from ci.series.drift.drifting import find_drift
from ci.series.drift.pending import PENDING, load_pending, merge_pending, no_longer, pending_toml
from ci.series.engine.fold import Decisions, Settled
from ci.series.export import export_commits, write_series
from ci.series.order import Series, load_queue, load_series
from ci.series.results import Absorbed, Rebased, Stopped
from ci.series.review import review
from ci.stage import Context, Options
from ci.stages.rebase import attempted, branch_of, stopped
from ci.stages.sync import aim, check_base, snapshot_source
from ci.suggest import did_you_mean
from ci.upstream.snapshot import SnapshotSource
from ci.upstream.tags import BuildTag
from ci.verbs import matrix
from ci.verbs.rebase_words import Found, Request, show


@dataclass(frozen=True, kw_only=True)
class Move:
    """One attempt: the series, the digest of the queue that it was read from, its aim, what people have decided."""

    series: Series
    onto: BuildTag
    accepted: tuple[str, ...]
    skipped: tuple[str, ...]
    queue: str
    state: State | None = None

    @property
    def decisions(self) -> Decisions:
        """For the fold."""
        settled = {
            one.patch_id: Settled(tip_tree=one.tip_tree, tree=one.result_tree, commit=one.commit)
            for one in (self.state.settled if self.state else ())
        }
        return Decisions(accept_partial=self.accepted, skip=self.skipped, settled=settled)


def rebase(home: Home, console: Console, asked: Request) -> int:
    """Move `patches/` onto a newer build, go on with a move that waits for a person, or forget it.

    Raises:
        UsageProblem: options that exclude each other, an unknown patch id, a build that cannot be.
        RebaseInProgress: a conflict waits, and nothing was said about it.
        SeriesConflict: a patch does not go through; patches/ and history are as they were.
    """
    check_combination(asked)
    with exclusive(home.lock):
        if asked.abort:
            return give_up(home, console)
        waiting = still_waiting(home)
        if asked.go_on:
            return move(home, console, taken_over(home, console, require_state(home)), asked)
        if waiting and asked.decides and asked.onto in ("", waiting.onto):
            return move(home, console, decided(home, waiting, asked), asked)
        if asked.matrix:
            return look(home, console, fresh(home, asked))
        if not asked.dry_run:
            refuse_in_progress(home)
        return move(home, console, fresh(home, asked), asked)


def still_waiting(home: Home) -> State | None:
    """The move that waits; one whose queue was written before it could be forgotten is over."""
    state = load_state(home)
    if state and state.base != state.onto and str(load_series(home.patches).base.tag) == state.onto:
        abort(home)
        return None
    return state


def check_combination(asked: Request) -> None:
    """Refuse what cannot be meant.

    Raises:
        UsageProblem: names the options.
    """
    chosen = [
        name for name, on in (("--continue", asked.go_on), ("--abort", asked.abort), ("--skip", asked.skip)) if on
    ]
    if len(chosen) > 1:
        raise UsageProblem(f"{' and '.join(chosen)} exclude each other", hint="invoke rebase-upstream --help")
    if (asked.go_on or asked.abort) and (asked.onto or asked.dry_run or asked.matrix or asked.accept_partial):
        raise UsageProblem(
            f"{chosen[0]} goes on with what waits and takes no other option",
            hint=f"invoke rebase-upstream {chosen[0]}",
        )


def fresh(home: Home, asked: Request) -> Move:
    """A move from the beginning, checked before anything is fetched.

    Raises:
        UsageProblem: a build older than the base, or an unknown patch id.
    """
    series, queue = load_queue(home.patches)
    check_base(home, series.base)
    check_decisions(series, asked)
    goal = aim(home, asked.onto or None, base=series.base.tag)
    if series.base.tag > goal:
        raise UsageProblem(
            f"base {series.base.tag} of the series is newer than the aim {goal}",
            hint=f"invoke rebase-upstream --onto {series.base.tag}  # or a newer build: invoke upstream",
        )
    return Move(series=series, onto=goal, accepted=asked.accept_partial, skipped=asked.skip, queue=queue)


def check_decisions(series: Series, asked: Request) -> None:
    """Refuse a decision about a patch that is not in the series.

    Raises:
        UsageProblem: suggests the closest.
    """
    for option, names in (("--accept-partial", asked.accept_partial), ("--skip", asked.skip)):
        for name in names:
            if name not in series.ids:
                raise UsageProblem(
                    f"{option} {name!r}: no such patch in the series{did_you_mean(name, series.ids)}",
                    hint=f"known ids: {', '.join(series.ids)}",
                )


def resumed(home: Home, state: State) -> Move:
    """The move that waits; the queue must still be the one that it began with.

    Raises:
        RebaseInProgress: patches/ was edited meanwhile.
    """
    series, queue = load_queue(home.patches)
    if series.digest != state.series:
        raise RebaseInProgress(
            f"patches/ is no longer the series that the rebase onto {state.onto} began with",
            hint="bring patches/ back (git stash), or begin again: invoke rebase-upstream --abort",
        )
    onto = BuildTag.parse(state.onto)
    return Move(series=series, onto=onto, accepted=state.accepted, skipped=state.skipped, queue=queue, state=state)


def taken_over(home: Home, console: Console, state: State) -> Move:
    """The move with what the person made of the conflict."""
    resumed(home, state)
    done = collect(home, Git(path=home.history))
    for line in recorded_words(done):
        console.say(line)
    return resumed(home, state.model_copy(update={"settled": (*state.settled, done.settled)}))


def recorded_words(done: Collected) -> tuple[str, ...]:
    """What was recorded of a resolution, and what could not be."""
    kept = [f"recorded: patches/{FOLDER}/{conflict_id}" for conflict_id in done.recorded.ids]
    left = [f"not recorded, only this rebase knows it: {lost.path}: {lost.why}" for lost in done.recorded.left]
    return (*kept, *left)


def decided(home: Home, state: State, asked: Request) -> Move:
    """The waiting move with more decisions; what lies in its worktree goes when the conflict does."""
    series = resumed(home, state).series
    check_decisions(series, asked)
    more = {"skipped": (*state.skipped, *asked.skip), "accepted": (*state.accepted, *asked.accept_partial)}
    return resumed(home, state.model_copy(update=more))


def give_up(home: Home, console: Console) -> int:
    """Forget the move that waits; one whose state cannot be read any more, too."""
    try:
        state = load_state(home)
    except ConfigProblem:
        state = None
    there = abort(home)
    where = f" onto {state.onto}" if state else ""
    words = f"forgot the rebase{where}" if there else "no rebase was in progress"
    console.result(f"{words}; patches/ and the history are as they were")
    console.document({"state": "aborted" if there else "nothing to abort", "onto": state.onto if state else None})
    return EXIT_OK


def look(home: Home, console: Console, going: Move) -> int:
    """The matrix of patches and builds; nothing is moved."""
    fetch(snapshot_source(home), console, {going.series.base.tag, going.onto})
    return matrix.show(home, console, going.series, going.onto)


def fetch(source: SnapshotSource, console: Console, builds: Iterable[BuildTag]) -> None:
    """Bring pinned builds into the history; others must be there already."""
    with console.task("upstream sources") as task:
        source.sync(sorted(set(builds) & set(source.known())), task.update)


def move(home: Home, console: Console, going: Move, asked: Request) -> int:
    """Replay, then write the result, or open a worktree for the first conflict.

    Raises:
        SeriesConflict: a patch does not go through.
    """
    context = Context(home=home, console=console, options=Options(onto=str(going.onto)))
    source = snapshot_source(home)
    fetch(source, console, {going.series.base.tag, going.onto})
    result = attempted(home, context, going.series, going.onto, decisions=going.decisions)
    while fetched_between(source, console, result):
        result = attempted(home, context, going.series, going.onto, decisions=going.decisions)
    if isinstance(result, Stopped):
        raise handed_over(home, source.git, going, result, asked)
    exported = export_commits(source.git, result.commits, work=home.work / "rebase")
    found = looked_at(home, source.git, going, result, exported)
    if not asked.dry_run:
        finish(home, source.git, going, result, exported, found)
    show(console, going.series, result, found, load_store(home.patches / FOLDER), asked)
    return EXIT_OK


def looked_at(home: Home, history: Git, going: Move, rebased: Rebased, exported: Sequence[bytes]) -> Found:
    """Where the patches went, and what upstream changed under those that stay."""
    staying = {commit.patch_id for commit in rebased.commits}
    kept = replace(going.series, patches=tuple(patch for patch in going.series.patches if patch.id in staying))
    drift = find_drift(history, kept, going.onto)
    carried = load_pending(home.patches)
    pending = merge_pending(carried, drift, kept, going.onto)
    return Found(
        reviews=review(history, going.series, rebased, exported),
        drift=drift,
        pending=pending,
        settled=no_longer(carried, pending),
    )


def fetched_between(source: SnapshotSource, console: Console, found: Rebased | Stopped) -> bool:
    """Fetch builds where a conflict or an absorption may have begun, halving the gap; whether there were any."""
    missing = [tag for tag in source.known() if source.git.commit_of(tag.ref) is None]
    origins = (result.since for result in found.results if isinstance(result, Absorbed | Conflict))
    wanted = {build for since in origins if since and (build := next_to_look_at(since, missing))}
    try:
        if wanted:
            fetch(source, console, wanted)
    except EnvironmentProblem as problem:
        console.say(f"builds in between could not be fetched: {problem.message}")
        return False
    return bool(wanted)


def handed_over(home: Home, history: Git, going: Move, found: Stopped, asked: Request) -> SeriesConflict:
    """The error of a conflict; unless this is a dry run, with a worktree for the first one."""
    error = stopped(found, going.decisions)
    if asked.dry_run or not found.tip:
        return error
    first = found.conflicts[0]
    state = State(
        onto=str(going.onto),
        base=str(going.series.base.tag),
        series=going.series.digest,
        patch_id=first.patch_id,
        tip=found.tip,
        picked=found.picked,
        accepted=going.accepted,
        skipped=going.skipped,
        settled=going.state.settled if going.state else (),
    )
    try:
        opened = open_worktree(home, history, state, replaces=going.state is not None)
    except MergeBroke as broke:
        skip = f"invoke rebase-upstream --onto {going.onto} --skip {first.patch_id}"
        error.hint = f"{skip}  # {broke.message.splitlines()[-1].strip()}: or rewrite the patch, or take another git"
        return error
    accept = first.next_step(going.accepted)
    error.hint = f"{accept}\n{instructions(opened)}" if accept else instructions(opened)
    error.facts["worktree"] = opened.to_json()
    return error


def finish(home: Home, history: Git, going: Move, rebased: Rebased, exported: Sequence[bytes], found: Found) -> None:
    """Write the queue, move the branch, forget the state; each step may be repeated after a kill."""
    pending = pending_toml(found.pending)
    beside = {PENDING: pending} if pending else {}
    write_series(history, home.patches, going.series, rebased, exported, beside=beside, seen=going.queue)
    ref = branch_of(str(going.onto))
    history.update_ref(ref, rebased.head, history.commit_of(ref))
    abort(home)
