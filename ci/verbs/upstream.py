"""Upstream: sync-upstream, upstream, pin-upstream."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.console import Console
from ci.errors import EXIT_OK, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.series.order import load_series
from ci.stages.sync import fetched, snapshot_source
from ci.upstream.fidelity import Comparison, compare_trees, fidelity
from ci.upstream.mirror import MirrorSource
from ci.upstream.pinning import new_pin, to_toml, write_pin
from ci.upstream.snapshot import LOCK_FILE, Snapshot, SnapshotLock, load_lock
from ci.upstream.source import Source, SyncReport, compare
from ci.upstream.tags import BuildTag


def sync(home: Home, console: Console, builds: Sequence[str], *, all_builds: bool, remote: str) -> int:
    """Fetch builds into the history and report how faithful they are; a git remote is compared path by path.

    Raises:
        UsageProblem: options that exclude each other, or no name of a build.
    """
    tags = tuple(BuildTag.parse(name) for name in builds)
    if tags and all_builds:
        raise UsageProblem("--build and --all exclude each other", hint="invoke sync-upstream --all")
    source = source_of(home, remote)
    with exclusive(home.lock), console.task(f"upstream from {source.name}") as task:
        report = source.sync(tags or default_tags(home, source, all_builds=all_builds), task.update)
        theirs = source.fetch_aside([b.tag for b in report.builds]) if isinstance(source, MirrorSource) else {}
    show_sync(home, console, report, theirs)
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


def show_sync(home: Home, console: Console, report: SyncReport, theirs: Mapping[BuildTag, str]) -> None:
    """What came, what the newest of it may have lost, and how each differs from git's own commit (`theirs`)."""
    rows = [(str(b.tag), b.found.value, b.tree[:12], f"{b.seconds:.1f} s") for b in report.builds]
    console.table(("build", "found", "tree", "time"), rows, title=f"from {report.source}")
    git = Git(path=home.history)
    compared = {tag: compare_trees(git, tag.ref, commit) for tag, commit in sorted(theirs.items())}
    newest = report.builds[-1].tag if report.builds else None
    found = fidelity(git, newest, against=theirs.get(newest)) if newest else None
    for line in (*earlier_lines(compared, newest), *(found.lines() if found else ())):
        console.result(line)
    console.document(
        {
            **report.to_json(),
            "fidelity": found.to_json() if found else None,
            "compared": {str(tag): comparison.to_json() for tag, comparison in compared.items()},
        }
    )


def earlier_lines(compared: Mapping[BuildTag, Comparison], newest: BuildTag | None) -> tuple[str, ...]:
    """How the builds other than the newest, which has a report of its own, compare with git."""
    listed = []
    for tag, comparison in compared.items():
        if tag != newest:
            verdict, *paths = comparison.lines()
            listed += [f"{tag}: {verdict}", *paths]
    return tuple(listed)


def show(home: Home, console: Console) -> int:
    """Builds known and fetched, the newest, the base, how far behind it is."""
    base = load_series(home.patches).base
    found = compare(base.tag, known=tuple(load_lock().by_tag()), local=fetched(home))
    rows = [
        (
            str(tag),
            "pinned" if tag in found.known else "remote",
            "yes" if tag in found.local else "",
            "base" if tag == base.tag else "",
        )
        for tag in sorted({*found.known, *found.local}, reverse=True)
    ]
    console.table(("build", "source", "fetched", ""), rows, title="upstream builds")
    console.result(pinned_words(max(found.known)))
    console.result(f"base {base.tag} is {found.behind_words or 'the newest known'}")
    if found.behind_builds:
        console.result(f"next: invoke rebase-upstream --onto {found.newest} --dry-run")
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


def pinned_words(newest: BuildTag) -> str:
    """How far the list reaches, and how a newer build gets into it."""
    return (
        f"newest pinned build {newest}; newer ones are not looked for here. "
        "next: invoke pin-upstream --build bN, or invoke sync-upstream --remote URL"
    )


def pin(home: Home, console: Console, *, build: str, dry_run: bool, lock_file: Path = LOCK_FILE) -> int:
    """Put the source archive of a build into the lock, or show the entry that it would get.

    Raises:
        UsageProblem: no build was named.
    """
    if not build:
        raise UsageProblem(
            "--build is required", hint="invoke pin-upstream --build bNNNN  (invoke upstream lists pins)"
        )
    tag = BuildTag.parse(build)
    with exclusive(home.lock):
        lock = load_lock(lock_file)
        entry = lock.by_tag().get(tag)
        if entry is not None:
            show_pin(console, entry, "already pinned", f"{tag} is pinned already: {entry.file}", after_pin(lock, tag))
            return EXIT_OK
        with console.task(f"the source archive of {tag}") as task:
            entry = new_pin(Git.open_bare(home.history), home.downloads, lock, tag, task.update)
        if not dry_run:
            write_pin(lock_file, lock, entry)
    if dry_run:
        command = f"invoke pin-upstream --build {tag}"
        show_pin(console, entry, "dry run", f"{to_toml(entry)}{lock_file} was not changed", command)
    else:
        words = f"pinned {entry.file} in {lock_file}\nsha256 {entry.sha256}, tree {entry.tree}"
        show_pin(console, entry, "pinned", words, after_pin(lock, tag))
    return EXIT_OK


def after_pin(lock: SnapshotLock, tag: BuildTag) -> str:
    """What to type once a build is pinned: the newest one is there to be moved to."""
    newest = tag >= max(lock.by_tag())
    return f"invoke rebase-upstream --onto {tag} --dry-run" if newest else f"invoke sync-upstream --build {tag}"


def show_pin(console: Console, entry: Snapshot, state: str, words: str, command: str) -> None:
    """The entry in words, and as a document."""
    console.result(f"{words}\nnext: {command}")
    console.document({"state": state, "entry": entry.model_dump(), "next": command})
