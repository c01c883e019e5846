"""The series to the fork: publish-series."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ci.console import Console
from ci.errors import EXIT_OK, SeriesProblem, UsageProblem
from ci.files import exclusive
from ci.git import Git
from ci.home import Home
from ci.redact import without_credentials
from ci.series.drift.pending import Pending, load_pending, merge_pending
from ci.series.order import Series, load_series
from ci.series.publishing.publish import ALIAS, Fork, apply, branch_ref, patch_ids, survey, write_tag
from ci.series.publishing.publish_plan import Plan, Wanted, check, check_object_id
from ci.series.publishing.release_tag import ReleaseTag, TaggedPatch
from ci.stage import Context, Options
from ci.stages.rebase import branch_of, release_of, replayed
from ci.stages.sync import aim, check_base, snapshot_source
from ci.upstream.address import RemoteAddress
from ci.upstream.tags import BuildTag

ENV_REMOTE = "SPEEDFORK_REMOTE"
DEFAULT_BRANCH = "speed"
COMMAND = "invoke publish-series"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asked for; empty strings mean the default."""

    remote: str = ""
    onto: str = ""
    branch: str = DEFAULT_BRANCH
    replace: str = ""
    dry_run: bool = False

    @property
    def command(self) -> str:
        """The command as typed, without `--replace` and `--dry-run`, and without credentials."""
        branch = "" if self.branch == DEFAULT_BRANCH else self.branch
        words = (("remote", without_credentials(self.remote)), ("onto", self.onto), ("branch", branch))
        return COMMAND + "".join(f" --{name} {value}" for name, value in words if value)


def publish(home: Home, console: Console, asked: Request, environ: Mapping[str, str] | None = None) -> int:
    """Push the speed branch and the release's tag to the fork, both or neither.

    Raises:
        UsageProblem: no remote was named, or a name that cannot be.
        SeriesConflict: the series does not go onto the build.
        PublishConflict: the fork has work that would be lost; nothing was pushed.
        ForkUnreachable: the remote does not answer.
        PushRejected: the remote refuses; nothing was moved.
    """
    remote = remote_of(asked, os.environ if environ is None else environ)
    replace = check_object_id(asked.replace) if asked.replace else None
    series = load_series(home.patches)
    waiting = merge_pending(load_pending(home.patches), (), series, series.base.tag)
    check_base(home, series.base)
    onto = aim(home, asked.onto or str(series.base.tag), base=series.base.tag)
    with exclusive(home.lock):
        fork = Fork(git=snapshot_source(home).git, remote=remote)
        branch = branch_ref(fork.git, asked.branch)
        tag = release_tag(home, console, series, onto, keep=not asked.dry_run)
        wanted = Wanted(
            branch=branch,
            head=tag.head,
            tag=tag.ref,
            tag_object=write_tag(fork.git, tag),
            release=tag.release,
            command=asked.command,
            before_revision="" if onto == series.base.tag else f"invoke rebase-upstream --onto {onto}, then ",
        )
        with console.task(f"refs of {remote.shown}"):
            plan = survey(fork, wanted, replace=replace)
        show_plan(console, plan, f"{tag.release} to {remote.shown}")
        check(plan)
        if plan.moves and not asked.dry_run:
            with console.task(f"pushing to {remote.shown}"):
                apply(fork, wanted, plan)
    for entry in waiting:
        console.say(f"drift that nobody has looked at: {entry.headline}")
    return show_outcome(console, fork, plan, tag, asked, waiting)


def remote_of(asked: Request, environ: Mapping[str, str]) -> RemoteAddress:
    """The fork's address: from the command line, or from the environment.

    Raises:
        UsageProblem: neither names one, or of a kind that we do not talk to.
    """
    url = asked.remote or environ.get(ENV_REMOTE, "")
    if not url:
        raise UsageProblem(
            f"no remote to publish to: give --remote, or set {ENV_REMOTE}",
            hint=f"{COMMAND} --remote git@github.com:OWNER/llama.cpp.git --dry-run",
        )
    return RemoteAddress(url=url, alias=ALIAS, environ=environ)


def release_tag(home: Home, console: Console, series: Series, onto: BuildTag, *, keep: bool) -> ReleaseTag:
    """The series of `patches/` on a build, replayed now, as the release that it is; `keep` moves the branch of it.

    Raises:
        SeriesConflict: a patch does not go through.
        SeriesProblem: upstream has all of it already.
    """
    context = Context(home=home, console=console, options=Options(onto=str(onto)))
    source = snapshot_source(home)
    with console.task("upstream sources") as task:
        source.sync([tag for tag in sorted({series.base.tag, onto}) if tag in source.known()], task.update)
    rebased = replayed(home, context, series, onto)
    if not rebased.commits:
        raise SeriesProblem(f"every patch of the series is in {onto}: there is nothing left to publish")
    git = source.git
    if keep:
        git.update_ref(branch_of(str(onto)), rebased.head, git.commit_of(branch_of(str(onto))))
    ids = patch_ids(git, [made.commit for made in rebased.commits])
    subjects = {patch.id: patch.subject for patch in series.patches}
    return ReleaseTag(
        release=release_of(series, onto),
        head=rebased.head,
        tree=rebased.tree,
        base_tree=git.tree_of(onto.ref) or "",
        patches=tuple(
            TaggedPatch(id=made.patch_id, subject=subjects[made.patch_id], patch_id=ids[made.commit])
            for made in rebased.commits
        ),
    )


def base_words(git: Git, onto: BuildTag) -> str:
    """Which commit the published series stands on."""
    commit = git.commit_of(onto.ref)
    if not git.is_made_here(onto.ref):
        return f"base {onto} is upstream's commit {commit}"
    return (
        f"base {onto} is commit {commit}, made here from a source archive: the fork gets upstream's files without "
        "upstream's history, and a later publication from upstream's own commit will have other commit ids"
    )


def show_plan(console: Console, plan: Plan, title: str) -> None:
    """Old and new value of each ref; why one is refused stands in the error."""
    rows = [
        (step.ref, short(step.old), short(step.new), step.change.value, "" if step.hint else step.why)
        for step in plan.steps
    ]
    console.table(("ref", "there now", "wanted", "change", "why"), rows, title=title)


def short(object_id: str | None) -> str:
    """An object id as a table shows it."""
    return object_id[:12] if object_id else "-"


def show_outcome(
    console: Console, fork: Fork, plan: Plan, tag: ReleaseTag, asked: Request, waiting: Sequence[Pending]
) -> int:
    """What was done, what it stands on, and the machine's document."""
    onto, git = tag.release.build, fork.git
    if not plan.moves:
        words = "the fork has branch and tag already: nothing to do"
    elif asked.dry_run:
        replace = f" --replace {asked.replace}" if asked.replace else ""
        words = f"nothing was pushed\nnext: {asked.command}{replace}"
    else:
        words = f"published {tag.release}, commit {tag.head}, tree {tag.tree}"
    console.result(f"{base_words(git, onto)}\n{words}")
    console.document(
        {
            "release": str(tag.release),
            "remote": fork.remote.shown,
            "base": {
                "tag": str(onto),
                "commit": git.commit_of(onto.ref),
                "made_here": git.is_made_here(onto.ref),
            },
            "head": tag.head,
            "tree": tag.tree,
            "refs": [step.to_json() for step in plan.steps],
            "pending_drift": [entry.headline for entry in waiting],
            "pushed": plan.moves and not asked.dry_run,
            "dry_run": asked.dry_run,
        }
    )
    return EXIT_OK
