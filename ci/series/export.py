"""Commits back to patch files, and a rebased series back to the queue.

Export is deterministic: no versions, no object ids that depend on a repository, full index lines, no rename guesses.
Importing what it wrote and exporting again gives the same bytes.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ci.errors import SeriesProblem
from ci.git import Git
from ci.series.conflict import Conflict
from ci.series.engine.importing import import_series
from ci.series.engine.scratch import scratch_repository
from ci.series.engine.workshop import workshop
from ci.series.order import BaseTag, Series
from ci.series.patch import read_mail
from ci.series.queue import BASE, RETIRED, SERIES, replace_queue
from ci.series.results import Absorbed, CommitOf, Rebased, Skipped

FORMAT = (
    "format-patch",
    "--zero-commit",
    "--full-index",
    "--no-stat",
    "--no-signature",
    "--no-renames",
    "--binary",
    "-N",
    "--no-ext-diff",
    "--no-textconv",
    "--no-attach",
    "--no-thread",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--unified=3",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--subject-prefix=PATCH",
)

NOTHING: Mapping[str, bytes] = {}


def export_commits(git: Git, commits: Sequence[CommitOf], *, work: Path) -> tuple[bytes, ...]:
    """The patch file of each commit.

    Raises:
        Busy: a rebase or another export works in `work`.
    """
    with scratch_repository(git, work) as repo:  # there no attribute can call a text binary
        return exported(repo, [commit.commit for commit in commits])


def exported(repo: Git, commits: Sequence[str]) -> tuple[bytes, ...]:
    """The patch file of each commit; each stands on the one before it.

    Args:
        repo: a scratch repository that sees the commits.
        commits: in order.
    """
    if not commits:
        return ()
    folder = repo.path / ".git" / "exported"
    span = f"{commits[0]}^..{commits[-1]}"
    repo(*FORMAT, "--numbered-files", "--output-directory", folder, span)
    return tuple((folder / str(number)).read_bytes() for number in range(1, len(commits) + 1))


def export_queue(git: Git, series: Series, *, work: Path) -> Mapping[str, bytes] | Conflict:
    """The patch files as an export of the series' own commits writes them, by name; or what does not apply.

    Args:
        git: the history; its tree of the base must be the pinned one.
        series: the checked queue.
        work: directory for the scratch repository.

    Raises:
        SeriesProblem: git cannot read a patch file.
        Busy: a rebase or another export works in `work`.
    """
    base = git.commit_of(series.base.tag.ref) or ""
    with workshop(git, work) as shop:
        commits = import_series(shop, series, base)
        if isinstance(commits, Conflict):
            return commits
        shop.objects.visible(commits[-1])
        pairs = zip(series.patches, exported(shop.repo, commits), strict=True)
        return {patch.path.name: raw for patch, raw in pairs}


def first_queue(base: BaseTag, patches: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Every file of a new queue (pure): `patches` by Speed-Id, in order."""
    files = {f"{patch_id}.patch": raw for patch_id, raw in patches.items()}
    order = "".join(f"{name}\n" for name in files)
    return {**files, SERIES: order.encode(), BASE: base_toml(base)}


def new_queue(series: Series, rebased: Rebased, exported: Sequence[bytes], *, onto_tree: str) -> Mapping[str, bytes]:
    """Every file of the queue after a rebase, by name (pure).

    On a new base the revision starts at 1 and the commit, known for the old one only, is left out.
    """
    moved = rebased.onto != series.base.tag
    base = BaseTag(tag=rebased.onto, tree=onto_tree, revision=1) if moved else series.base
    files = {f"{commit.patch_id}.patch": raw for commit, raw in zip(rebased.commits, exported, strict=True)}
    raws = {patch.id: patch.raw for patch in series.patches}
    left: tuple[Absorbed | Skipped, ...] = (*rebased.absorbed, *rebased.skipped)
    gone = {f"{RETIRED}/{r.patch_id}.patch": retired(raws[r.patch_id], why(r, series.base)) for r in left}
    order = "".join(f"{name}\n" for name in files)
    return {**files, **gone, SERIES: order.encode(), BASE: base_toml(base)}


def why(result: Absorbed | Skipped, base: BaseTag) -> str:
    """Why a patch went, in one sentence."""
    if isinstance(result, Skipped):
        return f"Skipped: left out by hand (last carried on {base.tag})."
    where = result.since.words if result.since else f"in {result.build}"
    return f"Retired: all of it is {where}; last carried on {base.tag}."


def retired(raw: bytes, note: str) -> bytes:
    """The patch with a note on why it went, where `git am` ignores it: between message and diff."""
    diff = read_mail(raw).diff
    return raw.removesuffix(diff) + f"---\n{note}\n".encode() + diff.removeprefix(b"---\n")


def base_toml(base: BaseTag) -> bytes:
    """`base.toml` of a base."""
    commit = f'commit = "{base.commit}"\n' if base.commit else ""
    return (
        "# What the series stands on. `invoke rebase-upstream` writes this file.\n"
        f'tag = "{base.tag}"\ntree = "{base.tree}"\nrevision = {base.revision}\n{commit}'
    ).encode()


def write_series(
    git: Git,
    patches_dir: Path,
    series: Series,
    rebased: Rebased,
    exported: Sequence[bytes],
    *,
    beside: Mapping[str, bytes] = NOTHING,
    seen: str | None = None,
) -> None:
    """Put a rebased series into the queue, whole across a kill (`ci.series.queue`).

    Args:
        git: the history.
        patches_dir: the queue.
        series: the patches as they were.
        rebased: the series on the aim.
        exported: the patch files of its commits.
        beside: further files of the queue, by name.
        seen: `queue_digest` of the queue that `series` was read from.

    Raises:
        SeriesProblem: nothing is left to carry, or the queue was changed meanwhile; the queue is as it was.
        DiskFull: the queue is as it was.
    """
    if not rebased.commits:
        raise SeriesProblem(
            f"every patch of the series is in {rebased.onto}: nothing is left to carry",
            hint=f"use upstream {rebased.onto} as it is, or add a patch to patches/",
        )
    onto_tree = git.tree_of(rebased.onto_commit) or ""
    queue = new_queue(series, rebased, exported, onto_tree=onto_tree)
    replace_queue(patches_dir, {**queue, **beside}, seen=seen)
