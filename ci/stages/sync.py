"""Bring the series' base and the aim into the history, verified against their pins."""

from ci.config import Model
from ci.errors import UnknownBuild
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.series.order import BaseTag, load_series
from ci.stage import Context, Stage, StageResult
from ci.stages.values import Synced
from ci.upstream.fidelity import fidelity
from ci.upstream.snapshot import SnapshotSource, load_lock
from ci.upstream.source import local_builds
from ci.upstream.tags import BuildTag


def snapshot_source(home: Home) -> SnapshotSource:
    """The pinned archives, feeding this home's history."""
    return SnapshotSource(git=Git.open_bare(home.history), downloads=home.downloads, lock=load_lock())


def aim(home: Home, asked: str | None) -> BuildTag:
    """The build to move onto: the one asked for, or the newest pinned one.

    Raises:
        UsageProblem: not a build tag.
        UnknownBuild: neither pinned nor in the history.
    """
    pinned = load_lock().by_tag()
    if not asked:
        return max(pinned)
    tag = BuildTag.parse(asked)
    known = {*pinned, *fetched(home)}
    if tag not in known:
        raise UnknownBuild(f"{tag} is neither pinned nor fetched; the newest known build is {max(known)}")
    return tag


def fetched(home: Home) -> tuple[BuildTag, ...]:
    """The builds in the history; none when there is no history yet (asking must not create one)."""
    return local_builds(Git(path=home.history)) if (home.history / "HEAD").is_file() else ()


def wanted(context: Context) -> tuple[BaseTag, BuildTag]:
    """The series' base and the aim."""
    base = load_series(context.home.patches).base
    return base, aim(context.home, context.options.onto)


def plan(context: Context) -> JsonMap:
    """Base, aim, and the trees they must have."""
    base, onto = wanted(context)
    pins = load_lock().trees()
    return {"base": str(base.tag), "base_tree": base.tree, "onto": str(onto), "onto_tree": pins.get(onto)}


def run(context: Context) -> StageResult:
    """Fetch what is missing."""
    base, onto = wanted(context)
    source = snapshot_source(context.home)
    pinned = [tag for tag in sorted({base.tag, onto}) if tag in source.known()]
    with context.console.task("upstream sources") as task:
        source.sync(pinned, task.update)
    return StageResult(
        value=Synced(
            base=str(base.tag),
            base_tree=source.git.tree_of(base.tag.ref) or "",
            onto=str(onto),
            onto_tree=source.git.tree_of(onto.ref) or "",
            fidelity=tuple(fidelity(source.git, onto.ref).lines()),
        )
    )


def holds(context: Context, value: Model) -> bool:
    """Whether the history still has both builds as recorded."""
    if not isinstance(value, Synced) or not (context.home.history / "HEAD").is_file():
        return False
    git = Git(path=context.home.history)
    return (git.tree_of(f"refs/tags/{value.base}"), git.tree_of(f"refs/tags/{value.onto}")) == (
        value.base_tree,
        value.onto_tree,
    )


STAGE = Stage(name="sync", about="upstream sources as a git history", value=Synced, plan=plan, run=run, holds=holds)
