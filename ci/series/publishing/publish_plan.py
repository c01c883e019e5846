"""What publishing changes on the fork, decided from what the fork has; nothing here talks to it.

A branch gets a new base with every build, so it moves sideways: that is allowed from a commit that this history has
seen, or from the one commit that a person names. A tag is created and never moved.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ci.errors import PublishConflict, UsageProblem
from ci.outcome import JsonMap
from ci.release.version import SHAPE, ReleaseId

HEADS = "refs/heads/"
TAGS = "refs/tags/"
PEELED = "^{}"
"""What ls-remote appends to a tag's name for the line with the commit behind it."""

_LISTED = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?)\t(\S+)")
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Change(StrEnum):
    """What happens to one ref."""

    CREATE = "create"
    UPDATE = "update"
    NOTHING = "nothing"
    REFUSE = "refuse"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the fork should have: full ref names, the branch's head, the tag object.

    `command` asks for this again; `before_revision` is what comes before a new revision can be written down.
    """

    branch: str
    head: str
    tag: str
    tag_object: str
    release: ReleaseId
    command: str
    before_revision: str = ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One ref: its value on the fork (None: not there), the value it gets, and why, where that needs words."""

    ref: str
    old: str | None
    new: str
    change: Change
    why: str = ""
    hint: str = ""

    def to_json(self) -> JsonMap:
        """Plain JSON form."""
        return {"ref": self.ref, "old": self.old, "new": self.new, "change": self.change.value, "why": self.why}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps for branch and tag, which are taken together or not at all."""

    steps: tuple[Step, ...]

    @property
    def moves(self) -> bool:
        """Whether anything is to be pushed."""
        return any(step.change in (Change.CREATE, Change.UPDATE) for step in self.steps)


def listed_refs(listing: str) -> dict[str, str]:
    """Object id by ref name, from the output of `git ls-remote`; lines of another shape are passed over."""
    found = (_LISTED.fullmatch(line) for line in listing.splitlines())
    return {match[2]: match[1] for match in found if match}


def check_object_id(text: str) -> str:
    """The id that a person names, whole.

    Raises:
        UsageProblem: abbreviated, or no object id at all.
    """
    if not _OBJECT_ID.fullmatch(text):
        raise UsageProblem(
            f"--replace {text!r:.100}: expected the whole id of a commit, 40 hex digits",
            hint="git ls-remote URL shows it; so does this command without --replace",
        )
    return text


def plan(wanted: Wanted, found: Mapping[str, str], *, seen: bool, replace: str | None) -> Plan:
    """Compare what the fork has with what it should have.

    Args:
        wanted: branch and tag.
        found: object id by ref name there, tags also peeled.
        seen: whether this history knows the commit that the branch stands on there.
        replace: the commit that a person allows to be replaced.
    """
    branch, tag = _branch_step(wanted, found, seen=seen, replace=replace), _tag_step(wanted, found)
    if (branch.change, tag.change) == (Change.UPDATE, Change.NOTHING):
        branch = dataclasses.replace(branch, why="goes back to a release that is out already")
    return Plan(steps=(branch, tag))


def _branch_step(wanted: Wanted, found: Mapping[str, str], *, seen: bool, replace: str | None) -> Step:
    old = found.get(wanted.branch)
    change, why, hint = Change.UPDATE if old else Change.CREATE, "", ""
    if old == wanted.head:
        change = Change.NOTHING
    elif replace and old != replace:
        change, hint = Change.REFUSE, f"{wanted.command} --dry-run"
        why = f"--replace names {replace}, but there it stands on {old or 'nothing'}"
    elif old and not seen and not replace:
        change, hint = Change.REFUSE, f"read what is there, then: {wanted.command} --replace {old}"
        why = f"there it stands on {old}, which this history has never seen{_kept_by(old, found)}"
    return Step(ref=wanted.branch, old=old, new=wanted.head, change=change, why=why, hint=hint)


def _kept_by(commit: str, found: Mapping[str, str]) -> str:
    """The release, if any, whose tag on the fork keeps a commit."""
    names = (ref.removeprefix(TAGS).removesuffix(PEELED) for ref, value in found.items() if value == commit)
    releases = [name for name in names if SHAPE.fullmatch(name)]
    return f" (there its tag {releases[0]} keeps it)" if releases else " and no release tag there keeps"


def _tag_step(wanted: Wanted, found: Mapping[str, str]) -> Step:
    old = found.get(wanted.tag)
    if old is None:
        return Step(ref=wanted.tag, old=None, new=wanted.tag_object, change=Change.CREATE)
    commit = found.get(wanted.tag + PEELED, old)
    if old == wanted.tag_object or commit == wanted.head:
        why = "" if old == wanted.tag_object else "another tag object on the same commit: it stays"
        return Step(ref=wanted.tag, old=old, new=old, change=Change.NOTHING, why=why)
    revision = f"set revision = {_next_revision(wanted.release, found)} in patches/base.toml"
    return Step(
        ref=wanted.tag,
        old=old,
        new=wanted.tag_object,
        change=Change.REFUSE,
        why=f"there it is on {commit}, this series is {wanted.head}; a published tag never moves",
        hint=f"{wanted.before_revision}{revision}, then: {wanted.command}",
    )


def _next_revision(release: ReleaseId, found: Iterable[str]) -> int:
    """The first revision above all that the fork has of this build."""
    names = (SHAPE.fullmatch(ref.removeprefix(TAGS)) for ref in found if ref.startswith(TAGS))
    taken = [int(name["revision"]) for name in names if name and name["build"] == str(release.build)]
    return max([release.revision, *taken]) + 1


def check(plan: Plan) -> None:
    """Refuse a plan that would lose something.

    Raises:
        PublishConflict: names every ref in the way, with both values, and the next step for the first.
    """
    refused = [step for step in plan.steps if step.change is Change.REFUSE]
    if refused:
        listed = "".join(f"\n    {step.ref}: {step.why}" for step in refused)
        raise PublishConflict(f"nothing was pushed; the fork has other work{listed}", hint=refused[0].hint)


def moved_meanwhile(plan: Plan, now: Mapping[str, str], *, command: str) -> PublishConflict | None:
    """The error for refs that somebody else moved after the plan was made; None when all stand as they did."""
    moved = [step for step in plan.steps if now.get(step.ref) != step.old]
    if not moved:
        return None
    listed = "".join(
        f"\n    {step.ref}: expected {step.old or 'nothing'}, found {now.get(step.ref, 'nothing')}" for step in moved
    )
    return PublishConflict(
        f"somebody else pushed to the fork meanwhile; neither branch nor tag was moved{listed}",
        hint=f"{command} --dry-run",
    )
