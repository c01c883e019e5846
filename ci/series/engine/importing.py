"""From patch files to commits: what `git am` gives on the base, id for id.

A series as this project exports it is proved blob by blob (`ci.series.engine.proved`). Any other goes through `git
am` itself, on the part of the base that the patches touch: only those paths are checked out, and the commits are then
put onto the whole base by splicing what `git am` changed: one process, and thousands of files less than a full
checkout.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from ci.errors import SeriesProblem
from ci.git import Git
from ci.gittree import Entry
from ci.process import Completed
from ci.series.conflict import Conflict, PathConflict
from ci.series.engine.proved import proved_commits
from ci.series.engine.threeway import Path as TreePath
from ci.series.engine.threeway import Reader, find, parted, touched
from ci.series.engine.workshop import Workshop
from ci.series.order import Series
from ci.series.patch import Patch

AM = ("am", "--quiet", "--keep-non-patch", "--keep-cr", "--no-gpg-sign", "--no-3way", "--no-scissors")
AM_FAULT = re.compile(r"^error: (?!patch failed: |git apply: )(.+): ([a-z][^:\n]*)$", re.MULTILINE)


def import_series(shop: Workshop, series: Series, base_commit: str) -> tuple[str, ...] | Conflict:
    """The commits of the patches on their base, in order; or the first patch that does not even fit there.

    Raises:
        SeriesProblem: git cannot read a patch file.
    """
    return proved_commits(shop, series, base_commit) or applied_by_git(shop, series, base_commit)


def applied_by_git(shop: Workshop, series: Series, base_commit: str) -> tuple[str, ...] | Conflict:
    """As `import_series`, by `git am` whatever the patches look like."""
    base_tree = shop.tree_of(base_commit)
    pruned = pruned_paths(shop.read, base_tree, (path for patch in series.patches for path in patch.files))
    root = shop.synthetic_commit(shop.changed_tree(None, pruned))
    shop.repo("checkout", "--quiet", "--force", "--detach", root)
    mails = written_mails(shop.repo, [patch.raw for patch in series.patches])
    done = shop.repo(*AM, "--", *mails, ok_codes=(0, 1, 128))
    made = _commits(shop, root)
    if done.code:
        return _refused(done, series, series.patches[len(made)])
    return _on_the_whole(shop, made, base_commit, base_tree)


def pruned_paths(read: Reader, tree: str, paths: Iterable[str]) -> dict[TreePath, Entry]:
    """What a tree has at some paths, or in their way: a file where a path has a folder, a folder where it ends."""
    kept: dict[TreePath, Entry] = {}
    for path in dict.fromkeys(paths):
        parts = parted(path)
        for depth in range(1, len(parts) + 1):
            entry = find(read, tree, parts[:depth])
            if entry is None:
                break
            if depth == len(parts) or not entry.is_tree:
                kept[parts[:depth]] = entry
                break
    return kept


def written_mails(repo: Git, mails: Sequence[bytes]) -> tuple[Path, ...]:
    """Files for `git am`, in order, where the work tree does not show them."""
    folder = repo.path / ".git" / "mails"
    folder.mkdir(exist_ok=True)
    places = tuple(folder / f"{number:06}" for number in range(len(mails)))
    for place, raw in zip(places, mails, strict=True):
        place.write_bytes(raw)
    return places


def _commits(shop: Workshop, root: str) -> tuple[str, ...]:
    """The commits above the root, oldest first."""
    made = []
    at = shop.repo("rev-parse", "--verify", "HEAD^{commit}").text
    while at != root:
        made.append(at)
        (at,) = shop.objects.parents_of(at)
    return tuple(reversed(made))


def _on_the_whole(shop: Workshop, made: Sequence[str], base_commit: str, base_tree: str) -> tuple[str, ...]:
    commits = []
    parent, tree = base_commit, base_tree
    for commit in made:
        before, after = (shop.tree_of(name) for name in (*shop.objects.parents_of(commit), commit))
        changes = {file.path: file.theirs for file in touched(shop.read, before, after)}
        tree = shop.changed_tree(tree, changes)
        parent = shop.same_commit_on(commit, tree=tree, parent=parent)
        commits.append(parent)
    return tuple(commits)


def _refused(done: Completed, series: Series, patch: Patch) -> Conflict:
    """What git says against a patch: paths that it names make a conflict, else the file itself is damaged."""
    said = "\n".join(
        line for line in done.stderr.decode("utf-8", "replace").splitlines() if line and not line.startswith("hint:")
    )
    paths: dict[str, str] = dict(AM_FAULT.findall(said))
    if not paths:
        raise SeriesProblem(
            f"{patch.path}: git cannot read it: {said}",
            hint=f"export it again: git format-patch -1 --stdout <commit> > patches/{patch.id}.patch",
        )
    listed = tuple(PathConflict(path=path, kind=why) for path, why in paths.items())
    return replace(conflict_at(series, patch, str(series.base.tag)), paths=listed, said=said)


def conflict_at(series: Series, patch: Patch, upon: str) -> Conflict:
    """A conflict with nothing but its place."""
    return Conflict(
        patch_id=patch.id,
        subject=patch.subject,
        index=series.patches.index(patch) + 1,
        total=len(series.patches),
        upon=upon,
    )
