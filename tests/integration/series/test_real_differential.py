"""On the pinned upstream builds a rebase is, patch by patch, what `git rebase` makes of the same commits.

Our own queue, and synthetic series of 1 to 100 commits on files that upstream changed too. Where git merges, the tree
is git's; where git stops, we stop at the same patch with the same paths.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ci.console import Console
from ci.git import Git
from ci.home import Home
from ci.series.engine.fold import Decisions
from ci.series.order import Series, load_series
from ci.series.replay import rebase
from ci.series.results import Applied, Counts, Rebased, Stopped
from ci.upstream.tags import BuildTag, build_tags
from tests.helpers.git_reference import AmFailure, ReferenceConflict, git_am, git_rebase_skipping
from tests.helpers.synthetic import borrowed, make_series
from tests.helpers.synthetic_edits import CLEAN, MIXED, Kind
from tests.helpers.upstream_change import LANGUAGE_OF, LANGUAGES

PATCHES = Path(__file__).parents[3] / "patches"

pytestmark = pytest.mark.native


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The shared history, which is only read, and the two builds of it that a series moves between."""

    history: Git
    base: BuildTag
    aim: BuildTag


@pytest.fixture(scope="module")
def ground(real_home: Home) -> Ground:
    history = Git(path=real_home.history)
    known = build_tags(history.tags())
    older = [tag for tag in known if tag < known[-1]]
    base = load_series(PATCHES).base.tag
    if not older:
        pytest.fail(f"{history.path} has no build but {known}: run `invoke sync-upstream --all` first")
    return Ground(history=history, base=base if base in older else older[-1], aim=known[-1])


def compared(
    git: Git, series: Series, commits: Sequence[str], aim: BuildTag, place: Path
) -> tuple[Counts, Mapping[str, tuple[str, ...]]]:
    """Hold ours against git's, patch by patch; the counts, and the paths of each conflict by patch id."""
    onto = git.commit_of(aim.ref) or ""
    expected = git_rebase_skipping(git, commits, onto, place / "git")
    steps = dict(zip(series.ids, expected, strict=True))
    conflicts = {name: step.paths for name, step in steps.items() if isinstance(step, ReferenceConflict)}
    work, everything = place / "work", Decisions(accept_partial=series.ids)
    whole = rebase(git, series, aim, work=work, decisions=everything)
    assert refused(whole) == conflicts
    rest = Decisions(accept_partial=series.ids, skip=tuple(conflicts))
    ours = whole if isinstance(whole, Rebased) else rebase(git, series, aim, work=work, decisions=rest)
    assert isinstance(ours, Rebased), ours.conflicts
    assert trees(git, ours) == {name: step for name, step in steps.items() if isinstance(step, str)}
    return whole.counts, conflicts


def refused(found: Rebased | Stopped) -> dict[str, tuple[str, ...]]:
    """Patch id and paths of every conflict."""
    conflicts = found.conflicts if isinstance(found, Stopped) else ()
    return {conflict.patch_id: tuple(sorted(path.path for path in conflict.paths)) for conflict in conflicts}


def trees(git: Git, ours: Rebased) -> dict[str, str]:
    """The tree after each patch that was not skipped."""
    found: dict[str, str] = {}
    tree = git.tree_of(ours.onto_commit) or ""
    skipped = {result.patch_id for result in ours.skipped}
    for result in ours.results:
        tree = (git.tree_of(result.commit) or "") if isinstance(result, Applied) else tree
        found[result.patch_id] = tree
    assert tree == ours.tree
    return {name: tree for name, tree in found.items() if name not in skipped}


def tell(capsys: pytest.CaptureFixture[str], title: str, counts: Counts) -> None:
    with capsys.disabled():
        Console().say(
            f"\n{title}: {counts.spliced} paths spliced, {counts.merged} merged, "
            f"{counts.conflicted} conflicted, {counts.absorbed} absorbed; every tree is git's"
        )


def test_our_own_series(ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git = borrowed(ground.history, tmp_path / "history.git")
    series = load_series(PATCHES)
    base = git.commit_of(series.base.tag.ref) or ""
    commits = git_am(git, base, [patch.raw for patch in series.patches], tmp_path / "am")
    assert not isinstance(commits, AmFailure), commits.said
    git("fetch", "--quiet", tmp_path / "am", commits[-1])
    counts, conflicts = compared(git, series, commits, ground.aim, tmp_path)
    assert conflicts == {}
    tell(capsys, f"our own {len(series.patches)} patches", counts)


@pytest.mark.parametrize(("count", "seed"), [(1, 4), (3, 3), (10, 1), (30, 2), (100, 1)])
def test_synthetic_series_that_git_carries_over(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, seed: int
) -> None:
    made = make_series(ground.history, tmp_path, ground.base, ground.aim, count=count, seed=seed, deck=CLEAN)
    counts, conflicts = compared(made.git, load_series(made.patches), made.commits, ground.aim, tmp_path)
    assert conflicts == {}
    tell(capsys, f"{count} clean patches", counts)


@pytest.mark.parametrize(("count", "seed"), [(10, 5), (30, 6), (100, 3)])
def test_synthetic_series_that_meet_every_kind_of_upstream_change(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, seed: int
) -> None:
    made = make_series(ground.history, tmp_path, ground.base, ground.aim, count=count, seed=seed, deck=MIXED)
    counts, conflicts = compared(made.git, load_series(made.patches), made.commits, ground.aim, tmp_path)
    assert {Kind.COLLIDE, Kind.CUT_OFF} <= {made.kinds[name] for name in conflicts} or count < len(MIXED)
    assert min(counts.spliced, counts.merged, counts.conflicted, counts.absorbed) > 0
    tell(capsys, f"{count} mixed patches, {len(conflicts)} of them refused", counts)


def test_a_long_series_touches_every_language_and_is_the_same_again(ground: Ground, tmp_path: Path) -> None:
    made, again = (
        make_series(ground.history, tmp_path / name, ground.base, ground.aim, count=100, seed=1, deck=CLEAN)
        for name in ("one", "two")
    )
    assert made.commits == again.commits
    touched = {file for patch in load_series(made.patches).patches for file in patch.files}
    assert {LANGUAGE_OF.get(file.rpartition(".")[2]) for file in touched} == set(LANGUAGES)
    changed = made.git("diff-tree", "-r", "--name-only", ground.base.ref, ground.aim.ref).text.splitlines()
    assert len(touched & set(changed)) > len(touched) / 3
