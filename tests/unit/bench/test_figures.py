"""The arithmetic of the rebase benchmark."""

import pytest

from tests.bench.figures import (
    COMMAND,
    FILES,
    GIT,
    LIBRARY,
    Sample,
    added_kib,
    growth,
    growth_lines,
    last_line,
    same_tree,
    table,
)


def sample(seconds: float, *, found: str = "t", added: int = 0) -> Sample:
    return Sample(seconds=seconds, peak_kib=2048, found=found, added=added)


def samples(**found: str) -> dict[tuple[int, str], list[Sample]]:
    ours = {LIBRARY: (0.4, 0.5, 0.6), FILES: (0.7, 0.8, 0.9), COMMAND: (1.0, 1.0, 1.0)}
    took = {GIT: (3.0, 1.0, 2.0), **ours}
    return {
        (count, who): [sample(second * count / 10, found=found.get(who, f"tree of {count}")) for second in seconds]
        for count in (10, 30, 100)
        for who, seconds in took.items()
    }


def test_the_last_line_gives_ratios_of_medians() -> None:
    assert last_line(samples(), 1.234) == "rebase30_vs_git=4.00 rebase100_vs_git=4.00 culprit_s=1.23 same_tree=yes"


@pytest.mark.parametrize("tree", ["another", ""])
def test_one_other_tree_is_said(tree: str) -> None:
    different = samples(command=tree)
    assert not same_tree(different)
    assert last_line(different, 0).endswith("same_tree=no")


def test_no_tree_at_all_is_not_the_same_tree() -> None:
    assert not same_tree(samples(git="", library="", files="", command=""))


def test_the_table_shows_the_spread_by_round() -> None:
    rows = table(samples())
    assert rows[0] == ("10", "git", "2.000 (1.00-3.00)", "", "200.0", "2")
    assert rows[1] == ("10", "library", "0.500 (0.40-0.60)", "4.00 (2.00-7.50)", "50.0", "2")


def test_growth_is_the_cost_of_one_more_patch() -> None:
    assert growth(samples(), GIT) == pytest.approx(0.2)
    assert growth({(10, GIT): [sample(3.0)]}, GIT) == pytest.approx(0.3)


def test_what_the_first_run_added_counts_for_all_of_ours() -> None:
    found = samples()
    found[10, COMMAND].append(sample(1.0, added=5000))
    found[10, GIT].append(sample(1.0, added=9000))
    assert (added_kib(found, 10, LIBRARY), added_kib(found, 10, GIT), added_kib(found, 30, GIT)) == (4, 8, 0)
    assert growth_lines(found)[1].startswith("KiB added to the object store by patches: 10: git 8, ours 4; 30: git 0")
