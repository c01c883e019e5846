import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import TreeMismatch, UnknownBuild
from ci.upstream.source import Found, SyncedBuild, SyncReport, check_tree, compare, require_known
from ci.upstream.tags import BuildTag


def tags(*numbers: int) -> tuple[BuildTag, ...]:
    return tuple(BuildTag(number) for number in numbers)


SOME = st.lists(st.integers(min_value=1, max_value=200), max_size=12, unique=True).map(lambda n: tags(*sorted(n)))


def test_behind_counts_builds_and_numbers() -> None:
    found = compare(BuildTag(11401), known=tags(11292, 11401, 11410, 11434), local=tags(11401))
    assert (found.newest, found.behind_builds, found.behind_numbers) == (BuildTag(11434), 2, 33)
    assert found.behind_words == "2 known builds and 33 build numbers behind b11434"


def test_a_base_that_is_newest_is_not_behind() -> None:
    found = compare(BuildTag(11434), known=tags(11401, 11434), local=())
    assert (found.behind_builds, found.behind_numbers, found.behind_words) == (0, 0, "")


def test_without_any_build_there_is_no_newest() -> None:
    found = compare(BuildTag(7), known=(), local=())
    assert (found.newest, found.behind_builds, found.behind_numbers) == (None, 0, 0)


@given(SOME, SOME, st.integers(min_value=1, max_value=200))
def test_behind_agrees_with_counting_by_hand(
    known: tuple[BuildTag, ...], local: tuple[BuildTag, ...], base: int
) -> None:
    found = compare(BuildTag(base), known=known, local=local)
    numbers = {tag.number for tag in known} | {tag.number for tag in local}
    assert found.behind_builds == sum(number > base for number in numbers)
    assert found.behind_numbers == max([number - base for number in numbers if number > base], default=0)


def test_unknown_builds_are_all_named_with_what_is_near() -> None:
    with pytest.raises(UnknownBuild) as refused:
        require_known(tags(11400, 11401, 99999), tags(9095, 11292, 11393, 11401, 11434, 11440), source="the source")
    assert refused.value.message.startswith("the source does not have b11400, b99999;")
    assert "b11393, b11401" in refused.value.message
    assert "b9095" not in refused.value.message
    assert refused.value.hint == "invoke upstream"
    assert refused.value.exit_code == 2


def test_a_source_without_builds_says_so() -> None:
    with pytest.raises(UnknownBuild, match="no builds at all"):
        require_known(tags(1), (), source="it")


def test_equal_trees_and_absent_opinions_pass() -> None:
    check_tree(BuildTag(7), "a" * 40, {"the pin": "a" * 40, "nobody": None})


def test_another_tree_is_refused_with_both_ids() -> None:
    with pytest.raises(TreeMismatch) as refused:
        check_tree(BuildTag(7), "a" * 40, {"the pin": "b" * 40})
    assert "a" * 40 in refused.value.message
    assert f"the pin is {'b' * 40}" in refused.value.message
    assert refused.value.message.startswith("b7:")


def test_a_report_lists_what_was_added() -> None:
    builds = tuple(
        SyncedBuild(tag=tag, found=found, tree="t", commit="c", seconds=1.23456)
        for tag, found in zip(tags(1, 2), (Found.PRESENT, Found.ADDED), strict=True)
    )
    report = SyncReport(source="it", builds=builds)
    assert report.to_json()["builds"][0] == {
        "tag": "b1",
        "found": "present",
        "tree": "t",
        "commit": "c",
        "seconds": 1.235,
    }
