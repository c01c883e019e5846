"""Upstream and the series: sync-upstream, upstream, rebase-upstream."""

from collections.abc import Sequence

from ci.console import Console
from ci.errors import EXIT_OK, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.series.export import write_series
from ci.series.order import load_series
from ci.series.replay import Rebased
from ci.stage import Context, Options
from ci.stages.rebase import branch_of, carried, release_of, replayed
from ci.stages.sync import aim, snapshot_source
from ci.upstream.fidelity import fidelity
from ci.upstream.mirror import MirrorSource
from ci.upstream.snapshot import load_lock
from ci.upstream.source import Source, SyncReport, state
from ci.upstream.tags import BuildTag


def sync(home: Home, console: Console, builds: Sequence[str], *, all_builds: bool, remote: str) -> int:
    """Fetch builds into the history and report how faithful they are."""
    tags = tuple(BuildTag.parse(name) for name in builds)
    if tags and all_builds:
        raise UsageProblem("--build and --all exclude each other", hint="invoke sync-upstream --all")
    source = source_of(home, remote)
    with exclusive(home.lock), console.task(f"upstream from {source.name}") as task:
        report = source.sync(tags or default_tags(home, source, all_builds=all_builds), task.update)
    show_sync(home, console, report)
    return EXIT_OK


def source_of(home: Home, remote: str) -> Source:
    """The pinned archives, or a git remote when one is named."""
    if not remote:
        return snapshot_source(home)
    return MirrorSource(git=Git.open_bare(home.history), address=remote, pins=load_lock().trees())


def default_tags(home: Home, source: Source, *, all_builds: bool) -> tuple[BuildTag, ...]:
    """Every build of the source, or the series' base and the newest one."""
    known = source.known()
    if all_builds or not known:
        return known
    base = load_series(home.patches).base.tag
    return tuple(sorted({base, max(known)} & set(known)))


def show_sync(home: Home, console: Console, report: SyncReport) -> None:
    """What came, and what the newest of it may have lost."""
    rows = [(str(b.tag), b.found.value, b.tree[:12], f"{b.seconds:.1f} s") for b in report.builds]
    console.table(("build", "found", "tree", "time"), rows, title=f"from {report.source}")
    lines: tuple[str, ...] = ()
    if report.builds:
        lines = fidelity(Git(path=home.history), report.builds[-1].tag.ref).lines()
    for line in lines:
        console.result(line)
    console.document({**report.to_json(), "fidelity": list(lines)})


def show(home: Home, console: Console) -> int:
    """Builds known and fetched, the newest, the base, how far behind it is."""
    base = load_series(home.patches).base
    source = snapshot_source(home)
    found = state(source, source.git, base.tag)
    rows = [
        (str(tag), "yes" if tag in found.local else "", "base" if tag == base.tag else "")
        for tag in sorted({*found.known, *found.local}, reverse=True)
    ]
    console.table(("build", "fetched", ""), rows, title=f"upstream builds in {source.name}")
    builds = "1 known build" if found.behind_builds == 1 else f"{found.behind_builds} known builds"
    behind = f"{builds} and {found.behind_numbers} build numbers behind {found.newest}"
    console.result(f"base {base.tag} is {behind}" if found.behind_builds else f"base {base.tag} is the newest known")
    if found.behind_builds:
        console.result("next: invoke rebase-upstream --dry-run")
    console.document(
        {
            "base": str(base.tag),
            "newest": str(found.newest),
            "known": [str(tag) for tag in found.known],
            "fetched": [str(tag) for tag in found.local],
            "behind_builds": found.behind_builds,
            "behind_numbers": found.behind_numbers,
        }
    )
    return EXIT_OK


def rebase(home: Home, console: Console, *, onto: str, dry_run: bool) -> int:
    """Move `patches/` onto a newer build, or say what would happen.

    Raises:
        SeriesConflict: a patch does not go through; nothing was moved.
    """
    series = load_series(home.patches)
    goal = aim(home, onto or None)
    if series.base.tag > goal:
        raise UsageProblem(
            f"base {series.base.tag} of the series is newer than the aim {goal}", hint="invoke upstream"
        )
    context = Context(home=home, console=console, options=Options(onto=str(goal)))
    with exclusive(home.lock):
        source = snapshot_source(home)
        with console.task("upstream sources") as task:
            source.sync([tag for tag in sorted({series.base.tag, goal}) if tag in source.known()], task.update)
        rebased = replayed(home, context, series, goal)
        if not dry_run:
            write_series(source.git, home.patches, series, rebased, work=home.work / "rebase")
            ref = branch_of(str(goal))
            source.git.update_ref(ref, rebased.head, source.git.commit_of(ref))
    rows = [(patch.id, patch.state, patch.subject) for patch in carried(series, rebased)]
    console.table(("patch", "outcome", "subject"), rows, title=f"{series.base.tag} to {goal}")
    console.result(closing_words(rebased, dry_run=dry_run, moved=goal != series.base.tag))
    console.document(
        {
            "base": str(series.base.tag),
            "onto": str(goal),
            "release": str(release_of(series, goal)),
            "head": rebased.head,
            "tree": rebased.tree,
            "patches": [patch.model_dump() for patch in carried(series, rebased)],
            "dry_run": dry_run,
        }
    )
    return EXIT_OK


def closing_words(rebased: Rebased, *, dry_run: bool, moved: bool) -> str:
    """What happened, and what to type next."""
    if dry_run:
        return f"would give tree {rebased.tree}; nothing was changed. next: invoke rebase-upstream"
    if not moved:
        return "the series stands on that build already; its files are as an export writes them"
    return f"patches/ now stands on {rebased.onto}, tree {rebased.tree}. next: git diff patches/"
