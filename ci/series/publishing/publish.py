"""The fork's git remote: look at its refs, and move branch and tag together, each from the value that was seen."""

from collections.abc import Sequence
from dataclasses import dataclass

from ci.errors import ForkUnreachable, PushRejected, UsageProblem
from ci.git import SIGNATURE, Git
from ci.process import Completed
from ci.redact import quoted_lines
from ci.series.publishing.publish_plan import HEADS, PEELED, Plan, Wanted, listed_refs, moved_meanwhile, plan
from ci.series.publishing.release_tag import ReleaseTag
from ci.upstream.address import RemoteAddress

ALIAS = "speedfork-publish"
"""What git calls the fork; nobody has a remote of that name, whose own settings would count."""
OFFERED = "refs/published/"
"""Refs of the history that keep each commit that we ever offered to a fork."""
OURS = ("refs/heads/speed/", OFFERED, "refs/tags/")
"""Where commits lie that may be replaced on a fork: made here, or upstream's."""
RELEASES = "refs/tags/b*-speed.*"
PUSH = (
    "push",
    "--porcelain",
    "--atomic",
    "--no-verify",
    "--no-follow-tags",
    "--no-signed",
    "--recurse-submodules=no",
)
NO_ATOMIC = "does not support --atomic"
ANY_CODE = range(-64, 256)
"""Exit codes and signals: what a failed talk means is read from its words and from the refs."""


@dataclass(frozen=True, kw_only=True)
class Fork:
    """The history that we publish from, and the remote that we publish to."""

    git: Git
    remote: RemoteAddress

    def refs(self, branch: str) -> dict[str, str]:
        """Object ids of a branch and of all release tags there, tags also peeled.

        Raises:
            ForkUnreachable: the remote does not answer, or is no git repository.
        """
        done = self.git("ls-remote", ALIAS, branch, RELEASES, env=self.remote.environment(), ok_codes=ANY_CODE)
        if done.code:
            raise ForkUnreachable(f"{self.remote.shown} does not answer as a git repository\n{_said(done)}")
        return listed_refs(done.text)

    def push(self, plan: Plan) -> Completed:
        """One atomic push of the plan, under lease: a ref that is not as planned stops all of it."""
        # a branch that stands already goes along: its lease then guards the tag
        steps = [step for step in plan.steps if step.new != step.old or step.ref.startswith(HEADS)]
        leases = [f"--force-with-lease={step.ref}:{step.old or ''}" for step in steps]
        refspecs = [f"{step.new}:{step.ref}" for step in steps]
        return self.git(*PUSH, *leases, ALIAS, *refspecs, env=self.remote.environment(), ok_codes=ANY_CODE)


def branch_ref(git: Git, name: str) -> str:
    """The full ref of a branch name that a person gave.

    Raises:
        UsageProblem: git takes no such name, or it would be read as something else.
    """
    odd = name.startswith(("-", "refs/")) or name == "HEAD"
    if odd or git("check-ref-format", f"{HEADS}{name}", ok_codes=(0, 1)).code:
        raise UsageProblem(f"--branch {name!r:.100} is not a branch name", hint="--branch speed")
    return f"{HEADS}{name}"


def patch_ids(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """Git's stable patch-id of each commit."""
    options = ("-p", "--full-index", "--binary", "--no-renames", "--no-textconv", "--no-ext-diff")
    diffs = git("diff-tree", "--stdin", *options, stdin="".join(f"{commit}\n" for commit in commits).encode())
    lines = git("patch-id", "--stable", stdin=diffs.stdout).text.splitlines()
    return {commit: patch_id for patch_id, _, commit in (line.partition(" ") for line in lines)}


def write_tag(git: Git, tag: ReleaseTag) -> str:
    """Write the tag object, without a name, by no person and no clock; returns its id."""
    return git("mktag", stdin=tag.raw(tagger=SIGNATURE)).text


def has_seen(git: Git, commit: str) -> bool:
    """Whether a commit is part of anything that was made here or came from upstream."""
    if git.commit_of(commit) != commit:
        return False
    return bool(git("for-each-ref", "--count=1", f"--contains={commit}", *OURS).text)


def survey(fork: Fork, wanted: Wanted, *, replace: str | None = None) -> Plan:
    """Look at the fork and say what would change there.

    Raises:
        ForkUnreachable: the remote does not answer.
    """
    found = fork.refs(wanted.branch)
    old = found.get(wanted.branch)
    return plan(wanted, found, seen=old is not None and has_seen(fork.git, old), replace=replace)


def apply(fork: Fork, wanted: Wanted, plan: Plan) -> None:
    """Push a checked plan; a plan without moves pushes nothing.

    The head is remembered before the push, so a run that is killed in between recognises its own work.

    Raises:
        PublishConflict: somebody else moved one of the refs meanwhile; neither was moved.
        PushRejected: the remote refuses; neither was moved.
        ForkUnreachable: the remote does not answer any more.
    """
    if not plan.moves:
        return
    kept = f"{OFFERED}{wanted.head}"
    if fork.git.resolve(kept) is None:
        fork.git.update_ref(kept, wanted.head, None)
    done = fork.push(plan)
    if done.code:
        _explain(fork, wanted, plan, done)


def _explain(fork: Fork, wanted: Wanted, plan: Plan, done: Completed) -> None:
    """What a failed push means, by what stands on the fork now; nothing when all is there after all."""
    now = fork.refs(wanted.branch)
    # another run of ours was faster, or the answer was lost on the way
    if now.get(wanted.branch) == wanted.head and now.get(wanted.tag + PEELED) == wanted.head:
        return
    rival = moved_meanwhile(plan, now, command=wanted.command)
    if rival:
        raise rival
    said = _said(done)
    if NO_ATOMIC in said:
        raise PushRejected(
            f"{fork.remote.shown} cannot move branch and tag together (no atomic pushes); nothing was moved",
            hint="git config receive.advertiseAtomic true  # in the repository there, served by git 2.4 or newer",
        )
    raise PushRejected(f"{fork.remote.shown} refuses the push; nothing was moved\n{said}")


def _said(done: Completed) -> str:
    """What git and the remote said, without its own summary."""
    text = b"\n".join((done.stdout, done.stderr)).decode("utf-8", "replace")
    lines = (line.replace("\t", " ").rstrip() for line in text.splitlines())
    kept = [line for line in lines if line and not line.startswith(("To ", "Done"))]
    return quoted_lines(kept[-20:])
