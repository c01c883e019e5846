"""Bring the series' base and the aim into the history, verified against their pins."""

from ci.config import Model
from ci.errors import BaseMismatch, UnknownBuild
from ci.git import Git
from ci.home import Home
from ci.outcome import JsonMap
from ci.series.order import BaseTag, load_series
from ci.stage import Context, Outcome, Stage, StageResult
from ci.stages.values import Synced
from ci.upstream.fidelity import fidelity
from ci.upstream.mirror import aside_ref
from ci.upstream.snapshot import LOCK_FILE, SnapshotSource, load_lock
from ci.upstream.source import local_builds
from ci.upstream.tags import BuildTag


def snapshot_source(home: Home) -> SnapshotSource:
    """The pinned archives, feeding this home's history."""
    return SnapshotSource(git=Git.open_bare(home.history), downloads=home.downloads, lock=load_lock())


def aim(home: Home, asked: str | None, *, base: BuildTag) -> BuildTag:
    """The build to move onto: the one asked for, or the newest pinned one, or the base when that is newer still.

    A newer build that came from a git remote counts only when it is asked for, or when the series was moved onto it
    already: nothing else vouches for its tree.

    Raises:
        UsageProblem: not a build tag.
        UnknownBuild: neither pinned nor in the history.
    """
    pinned = load_lock().by_tag()
    if not asked:
        return max(base, *pinned)
    tag = BuildTag.parse(asked)
    known = {*pinned, *fetched(home)}
    if tag not in known:
        raise UnknownBuild(f"{tag} is neither pinned nor fetched; the newest known build is {max(known)}")
    return tag


def fetched(home: Home) -> tuple[BuildTag, ...]:
    """The builds in the history; none when there is no history yet (asking must not create one)."""
    return local_builds(Git(path=home.history)) if (home.history / "HEAD").is_file() else ()


def wanted(context: Context) -> tuple[BaseTag, BuildTag]:
    """The series' base, checked, and the aim.

    Raises:
        UnknownBuild: one of them is neither pinned nor in the history.
        BaseMismatch: the base's tree is not the one that we know of that build.
    """
    base = load_series(context.home.patches).base
    check_base(context.home, base)
    return base, aim(context.home, context.options.onto, base=base.tag)


def check_base(home: Home, base: BaseTag) -> None:
    """Hold what `base.toml` says against pins and history, before anything is fetched.

    Raises:
        UnknownBuild: the base is neither pinned nor in the history.
        BaseMismatch: its tree is another one; names both ids.
    """
    pinned = load_lock().trees().get(base.tag)
    here = Git(path=home.history).tree_of(base.tag.ref) if base.tag in fetched(home) else None
    if pinned is None and here is None:
        raise UnknownBuild(
            f"base {base.tag} of the series (patches/base.toml) is neither pinned nor fetched",
            hint=f"invoke sync-upstream --remote URL --build {base.tag}",
        )
    for who, tree in ((f"the pin in {LOCK_FILE.name}", pinned), ("the build in the history", here)):
        if tree not in (None, base.tree):
            raise BaseMismatch(f"base {base.tag}: patches/base.toml has tree {base.tree}, {who} is {tree}")


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
    # a remote's own commit of the build lies aside when `sync-upstream --remote` has compared the two
    context.console.say(fidelity(source.git, onto, against=source.git.commit_of(aside_ref(onto))).summary())
    return StageResult(
        value=Synced(
            base=str(base.tag),
            base_tree=source.git.tree_of(base.tag.ref) or "",
            onto=str(onto),
            onto_tree=source.git.tree_of(onto.ref) or "",
        )
    )


def holds(context: Context, _: Outcome, value: Model) -> bool:
    """Whether the history still has both builds as recorded."""
    if not isinstance(value, Synced) or not (context.home.history / "HEAD").is_file():
        return False
    git = Git(path=context.home.history)
    return (git.tree_of(f"refs/tags/{value.base}"), git.tree_of(f"refs/tags/{value.onto}")) == (
        value.base_tree,
        value.onto_tree,
    )


STAGE = Stage(name="sync", about="upstream sources as a git history", value=Synced, plan=plan, run=run, holds=holds)
