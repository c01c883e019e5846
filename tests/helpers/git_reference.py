"""Plain git as the oracle: the commits of `git am`, the trees of `git rebase`.

Each call makes a repository of its own in `place`, which must be new; it borrows the objects of `history` and stays,
so that a caller can look at what git made: `Git(path=place)`. No `.gitattributes` counts in it. Everything else is
git's default.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path

from ci.errors import CommandFailed
from ci.git import Git
from ci.process import Completed

NO_ATTRIBUTES = "* !text !crlf !eol !filter !ident !working-tree-encoding !merge !diff !whitespace !export-subst\n"
AM = ("am", "--quiet", "--keep-non-patch", "--keep-cr", "--no-gpg-sign")
REBASE = (
    "rebase",
    "--quiet",
    "--merge",
    "--empty=keep",
    "--reapply-cherry-picks",
    "--no-fork-point",
    "--no-gpg-sign",
)
MOVED_ASIDE = re.compile(r"~(?:HEAD|[0-9a-f]{7,40} \(.*\))(?:_\d+)?$", re.DOTALL)
"""What git appends to the name of a file when a folder, or a file of another type, has that name."""


class GitBroke(AssertionError):
    """`git rebase` itself failed: nothing to compare with."""


@dataclass(frozen=True, kw_only=True)
class AmFailure:
    """`git am` stopped at the patch `index` (from 0) of the queue."""

    index: int
    said: str


@dataclass(frozen=True, kw_only=True)
class ReferenceConflict:
    """The patch (from 0) at which `git rebase` stopped, and the unmerged paths under their true names, sorted.

    No path is unmerged when git only cannot tell to which folder a renamed one went.
    """

    index: int
    paths: tuple[str, ...]
    said: str


@dataclass(frozen=True, kw_only=True)
class ReferenceRebase:
    """The tree after each patch, up to the first conflict; a patch that became empty has the tree before it.

    `seconds` is the time of the one `git rebase` process, without the checkout before it.
    """

    trees: tuple[str, ...]
    conflict: ReferenceConflict | None
    seconds: float


def git_am(history: Git, base_commit: str, patches: Sequence[bytes], place: Path) -> tuple[str, ...] | AmFailure:
    """The commits that one `git am` of the whole queue makes on a base."""
    repo = checkout(history, place, base_commit)
    mails = [place / ".git" / f"mail-{number:04}" for number in range(len(patches))]
    for path, raw in zip(mails, patches, strict=True):
        path.write_bytes(raw)
    done = repo(*AM, "--", *mails, ok_codes=(0, 1, 128))
    commits = tuple(repo("rev-list", "--reverse", f"{base_commit}..HEAD").text.split())
    return commits if done.code == 0 else AmFailure(index=len(commits), said=fsdecode(done.stderr))


def git_rebase(history: Git, commits: Sequence[str], onto_commit: str, place: Path) -> ReferenceRebase:
    """What `git rebase --onto` makes of a linear run of commits (oldest first, their parent is the old base)."""
    repo = checkout(history, place, commits[-1])
    done = _rebase(repo, *REBASE, "--onto", onto_commit, f"{commits[0]}^")
    trees = _trees(repo, onto_commit)
    conflict = None if done.code == 0 else _conflict_of(repo, len(trees), f"{done.text}\n{fsdecode(done.stderr)}")
    return ReferenceRebase(trees=trees, conflict=conflict, seconds=done.seconds)


def git_rebase_skipping(
    history: Git, commits: Sequence[str], onto_commit: str, place: Path
) -> tuple[str | ReferenceConflict, ...]:
    """Like `git_rebase`, with `git rebase --skip` at each conflict: a tree or a conflict for every commit."""
    repo = checkout(history, place, commits[-1])
    done = _rebase(repo, *REBASE, "--onto", onto_commit, f"{commits[0]}^")
    conflicts: list[ReferenceConflict] = []
    while done.code:
        applied = int(repo("rev-list", "--count", f"{onto_commit}..HEAD").text)
        said = f"{done.text}\n{fsdecode(done.stderr)}"
        conflicts.append(_conflict_of(repo, applied + len(conflicts), said))
        done = _rebase(repo, "rebase", "--skip")
    steps: list[str | ReferenceConflict] = list(_trees(repo, onto_commit))
    for conflict in conflicts:
        steps.insert(conflict.index, conflict)
    return tuple(steps)


def _rebase(repo: Git, *argv: str) -> Completed:
    try:
        return repo(*argv, ok_codes=(0, 1))
    except CommandFailed as failure:  # git 2.39 stops with "BUG: merge-ort.c" on some renames
        raise GitBroke(failure.message) from failure


def _trees(repo: Git, onto_commit: str) -> tuple[str, ...]:
    return tuple(repo("log", "--reverse", "--format=%T", f"{onto_commit}..HEAD").text.split())


def checkout(history: Git, place: Path, commit: str) -> Git:
    """A new repository whose work tree stands on a commit of `history`."""
    place.mkdir(parents=True)
    repo = Git(path=place)
    repo("init", "--quiet", "--template=", ".")
    objects = history("rev-parse", "--path-format=absolute", "--git-path", "objects").text
    for name, text in (("objects/info/alternates", f"{objects}\n"), ("info/attributes", NO_ATTRIBUTES)):
        path = place / ".git" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    repo("checkout", "--quiet", "--detach", commit)
    return repo


def _conflict_of(repo: Git, index: int, said: str) -> ReferenceConflict:
    unmerged = repo("ls-files", "--unmerged", "-z").stdout.split(b"\0")[:-1]
    paths = {MOVED_ASIDE.sub("", fsdecode(entry.partition(b"\t")[2])) for entry in unmerged}
    if "CONFLICT" not in said or "It has been rescheduled" in said:
        raise GitBroke(f"git rebase failed at patch {index} without leaving a conflict: {said}")
    return ReferenceConflict(index=index, paths=tuple(sorted(paths)), said=said)
