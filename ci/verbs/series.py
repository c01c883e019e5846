"""The series as files: series, import-series, export-series."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ci.console import Console
from ci.errors import EXIT_OK, SeriesProblem, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonValue
from ci.redact import without_credentials
from ci.series.byhand.rebase_state import refuse_in_progress
from ci.series.conflict import Conflict, off_base
from ci.series.drift.pending import load_pending, merge_pending, no_longer
from ci.series.export import export_queue, first_queue
from ci.series.intake.importer import NewPatch, NewQueue, import_range
from ci.series.listing import HEADINGS, listed
from ci.series.order import BaseTag, Series, load_queue, load_series
from ci.series.queue import SERIES, finish_replacement, queue_digest, replace_queue
from ci.series.stale import Stale, stale_files
from ci.stages.sync import check_base, fetched, snapshot_source
from ci.upstream.fork import ForkSource, Ground, ground_of, parse_span
from ci.upstream.snapshot import load_lock
from ci.upstream.source import UpstreamState, compare

UNDO = "git restore -- patches && git clean -fdq -- patches"
"""Brings the committed queue back."""


def show(home: Home, console: Console) -> int:
    """The series: where it stands, and every patch at a glance.

    Raises:
        SeriesProblem: lists every fault of the queue.
    """
    series = load_series(home.patches)
    state = compare(series.base.tag, known=tuple(load_lock().by_tag()), local=fetched(home))
    now = datetime.now(UTC)
    patches = [listed(patch, now=now) for patch in series.patches]
    console.result(base_words(series, state))
    console.table(HEADINGS, [patch.row() for patch in patches], title=f"{len(patches)} speed commit(s)")
    carried = load_pending(home.patches)
    pending = merge_pending(carried, (), series, series.base.tag)
    for entry in pending:
        console.result(f"drift to be looked at: {entry.headline}")
    for entry in no_longer(carried, pending):
        console.result(f"looked at: {entry.headline}\nnext: invoke rebase-upstream --onto {series.base.tag}")
    git = Git(path=home.patches)
    console.document(
        {
            "base": base_json(series.base, state),
            "pending_drift": [entry.headline for entry in pending],
            "digest": series.digest,
            "patches": [patch.to_json(patch_id=stable_id(git, patch.patch.raw)) for patch in patches],
        }
    )
    return EXIT_OK


def base_words(series: Series, state: UpstreamState) -> str:
    """The base and how far upstream is ahead of it."""
    base = series.base
    distance = state.behind_words or "the newest known build"
    return f"base {base.tag}, revision {base.revision}, tree {base.tree}: {distance}"


def base_json(base: BaseTag, state: UpstreamState) -> dict[str, JsonValue]:
    """The base as plain JSON."""
    return {
        "tag": str(base.tag),
        "tree": base.tree,
        "commit": base.commit,
        "revision": base.revision,
        "newest": str(state.newest),
        "behind_builds": state.behind_builds,
        "behind_numbers": state.behind_numbers,
    }


def stable_id(git: Git, raw: bytes) -> str | None:
    """The patch id that git gives a patch file; None where it gives none (no line changes)."""
    said = git("patch-id", "--stable", stdin=raw).text.split()
    return said[0] if said else None


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What to import, as typed; `replace` allows it to take the place of a queue that is there."""

    remote: str
    range: str
    replace: bool = False
    dry_run: bool = False

    @property
    def command(self) -> str:
        """The import as typed, without its switches."""
        remote = shlex.quote(without_credentials(self.remote))
        return f"invoke import-series --from {remote} --range {shlex.quote(self.range)}"


def import_(home: Home, console: Console, asked: ImportRequest) -> int:
    """Turn a range of a fork's commits into the queue.

    Raises:
        UsageProblem: an address, a range or a queue that does not allow it.
        RangeProblem: the commits cannot become a series.
        ForkUnreachable: the remote does not answer.
    """
    if not asked.remote or not asked.range:
        raise UsageProblem(
            "--from and --range are required", hint="invoke import-series --from URL --range b11434..main --dry-run"
        )
    span = parse_span(asked.range)
    fork = ForkSource(history=Git(path=home.history), address=asked.remote)
    check_history(home)
    with exclusive(home.lock):
        seen = None if asked.dry_run else seen_room(home, asked)
        with console.task(f"{asked.range} from {fork.name}") as task, fork.fetched(span) as arrived:
            ground = ground_of(fork.history, arrived, span)
            work = home.work / "import"
            queue = import_range(arrived.git, arrived.start, arrived.end, work=work, progress=task.update)
        if not asked.dry_run:
            base = BaseTag(tag=ground.tag, tree=ground.tree, revision=1, commit=ground.commit)
            replace_queue(
                home.patches, first_queue(base, {patch.name: patch.raw for patch in queue.patches}), seen=seen
            )
    show_import(console, asked, ground, queue)
    console.result(import_words(home, asked, queue))
    return EXIT_OK


def check_history(home: Home) -> None:
    """Refuse to look for a base where no build is.

    Raises:
        UsageProblem: the history is empty.
    """
    if not fetched(home):
        raise UsageProblem(
            f"{home.history} holds no upstream build yet: the base of the fork is looked up there",
            hint="invoke sync-upstream --build bN, with the build that the fork stands on",
        )


def seen_room(home: Home, asked: ImportRequest) -> str | None:
    """Refuse to put a queue where one is, unless that was asked for and git can bring the old one back.

    Returns:
        The digest of what is there, for `replace_queue`; None where there is no directory yet.

    Raises:
        UsageProblem: says how to keep what is there.
        RebaseInProgress: a conflict of the queue that is there waits for a person.
    """
    refuse_in_progress(home)
    finish_replacement(home.patches)
    if any(home.patches.glob("*.patch")):
        check_replaceable(home, asked)
    return queue_digest(home.patches) if home.patches.is_dir() else None


def check_replaceable(home: Home, asked: ImportRequest) -> None:
    """Let a queue go only when that was asked for and git holds it.

    Raises:
        UsageProblem: says how to keep what is there.
    """
    if not asked.replace:
        raise UsageProblem(
            f"{home.patches} holds a series already",
            hint=f"{asked.command} --replace  # puts the imported one in its place; --dry-run shows it first",
        )
    status = Git(path=home.checkout)("status", "--porcelain", "--", home.patches, ok_codes=(0, 128))
    if status.code or status.stdout:
        state = "is not under git" if status.code else "has changes that are not committed"
        raise UsageProblem(
            f"{home.patches} {state}: replacing it could not be undone",
            hint="git add -A patches && git commit  # then run this command again",
        )


def show_import(console: Console, asked: ImportRequest, ground: Ground, queue: NewQueue) -> None:
    """What became of each commit, what is left to write, and how to go back."""
    rows = [
        (str(at), patch.name, patch.subject, patch.author, ", ".join(patch.todo))
        for at, patch in enumerate(queue.patches, 1)
    ]
    console.table(("", "id", "subject", "author", "to write"), rows, title=f"on {ground.tag}, tree {ground.tree}")
    for commit in queue.dropped:
        console.result(f"no patch for {commit.commit}: {commit.why}")
    for patch in queue.patches:
        for note in patch.notes:
            console.result(f"{patch.name}: {note}")
    console.result(f"tree of the fork {queue.wanted}, of the series on its base {queue.tree}: equal")
    console.document(
        {
            "from": without_credentials(asked.remote),
            "range": asked.range,
            "base": {"tag": str(ground.tag), "tree": ground.tree, "commit": ground.commit},
            "tree": queue.tree,
            "fork_tree": queue.wanted,
            "patches": [patch_json(patch) for patch in queue.patches],
            "dropped": [{"commit": commit.commit, "why": commit.why} for commit in queue.dropped],
            "dry_run": asked.dry_run,
            "undo": None if asked.dry_run else UNDO,
        }
    )


def patch_json(patch: NewPatch) -> dict[str, JsonValue]:
    """A new patch as plain JSON."""
    return {
        "id": patch.name,
        "file": f"{patch.name}.patch",
        "commit": patch.commit,
        "subject": patch.subject,
        "author": patch.author,
        "todo": list(patch.todo),
        "notes": list(patch.notes),
    }


def import_words(home: Home, asked: ImportRequest, queue: NewQueue) -> str:
    """What happened, how to undo it, and what to type next."""
    count = sum(len(patch.todo) for patch in queue.patches)
    if asked.dry_run:
        there = any(home.patches.glob("*.patch"))
        return (
            f"would write {len(queue.patches)} patch file(s) with {count} TODO value(s); nothing was changed\n"
            f"next: {asked.command}{' --replace  # patches/ holds a series already' if there else ''}"
        )
    left = f"write the {count} TODO value(s) in patches/*.patch; " if count else ""
    return (
        f"patches/ holds {len(queue.patches)} patch(es); {left}undo: {UNDO}\n"
        f"next: invoke series{'  # lists what is missing, with the allowed values' if count else ''}"
    )


def export(home: Home, console: Console, *, check: bool) -> int:
    """Write every patch file as an export of the series' own commits, or only say which ones differ.

    Raises:
        SeriesProblem: under `check`, files differ; lists each with a short diff.
        SeriesConflict: a patch does not apply on the base.
        RebaseInProgress: files are to be written, and a conflict waits for a person.
    """
    with exclusive(home.lock):
        series, seen = load_queue(home.patches)
        check_base(home, series.base)
        source = snapshot_source(home)
        with console.task("the series' own export") as task:
            source.sync([tag for tag in (series.base.tag,) if tag in source.known()], task.update)
            exported = export_queue(source.git, series, work=home.work / "export")
        if isinstance(exported, Conflict):
            raise off_base(exported)
        stale = stale_files({patch.path.name: patch.raw for patch in series.patches}, exported)
        if stale and check:
            raise stale_problem(home, stale)
        if stale:
            refuse_in_progress(home)
            replace_queue(home.patches, {**companions(home), **exported}, seen=seen)
    words = (
        f"{len(stale)} of {len(exported)} patch file(s) written anew"
        if stale
        else "every patch file is as an export writes it"
    )
    console.result("".join([words, *(f"\n  {file.name}" for file in stale)]))
    console.document({"files": list(exported), "stale": [file.name for file in stale], "written": bool(stale)})
    return EXIT_OK


def stale_problem(home: Home, stale: tuple[Stale, ...]) -> SeriesProblem:
    """The error that lists files which differ."""
    listed_files = "".join(file.brief() for file in stale)
    return SeriesProblem(
        f"{home.patches}: {len(stale)} file(s) differ from what an export writes{listed_files}",
        hint="invoke export-series && git diff -- patches",
    )


def companions(home: Home) -> Mapping[str, bytes]:
    """The files of the queue beside its patches: order, base, notes of ours."""
    paths = (home.patches / SERIES, *home.patches.glob("*.toml"))
    return {path.name: path.read_bytes() for path in paths}
