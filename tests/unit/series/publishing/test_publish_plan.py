"""What publishing would change, decided from listings alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import PublishConflict, UsageProblem
from ci.release.version import ReleaseId
from ci.series.publishing.publish_plan import (
    Change,
    Plan,
    Wanted,
    check,
    check_object_id,
    listed_refs,
    moved_meanwhile,
    plan,
)

HEAD, TAG_OBJECT, OTHER, THIRD = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)
BRANCH, TAG = "refs/heads/speed", "refs/tags/b100-speed.2"
WANTED = Wanted(
    branch=BRANCH,
    head=HEAD,
    tag=TAG,
    tag_object=TAG_OBJECT,
    release=ReleaseId.parse("b100-speed.2"),
    command="invoke publish-series",
)
PUBLISHED = {BRANCH: HEAD, TAG: TAG_OBJECT, f"{TAG}^{{}}": HEAD}


def planned(found: dict[str, str], *, seen: bool = False, replace: str | None = None) -> Plan:
    return plan(WANTED, found, seen=seen, replace=replace)


def changes(of: Plan) -> tuple[Change, ...]:
    return tuple(step.change for step in of.steps)


@pytest.mark.parametrize(
    ("found", "seen", "replace", "expected"),
    [
        ({}, False, None, (Change.CREATE, Change.CREATE)),
        ({}, False, OTHER, (Change.REFUSE, Change.CREATE)),
        (PUBLISHED, False, None, (Change.NOTHING, Change.NOTHING)),
        (PUBLISHED, False, OTHER, (Change.NOTHING, Change.NOTHING)),
        ({BRANCH: OTHER}, True, None, (Change.UPDATE, Change.CREATE)),
        ({BRANCH: OTHER}, False, None, (Change.REFUSE, Change.CREATE)),
        ({BRANCH: OTHER}, False, OTHER, (Change.UPDATE, Change.CREATE)),
        ({BRANCH: OTHER}, True, THIRD, (Change.REFUSE, Change.CREATE)),
        ({TAG: HEAD}, False, None, (Change.CREATE, Change.NOTHING)),
        ({TAG: OTHER, f"{TAG}^{{}}": HEAD}, False, None, (Change.CREATE, Change.NOTHING)),
        ({TAG: OTHER}, False, None, (Change.CREATE, Change.REFUSE)),
        ({TAG: OTHER, f"{TAG}^{{}}": THIRD}, False, None, (Change.CREATE, Change.REFUSE)),
    ],
)
def test_each_state_of_the_fork_has_its_answer(
    found: dict[str, str], seen: bool, replace: str | None, expected: tuple[Change, ...]
) -> None:
    made = planned(found, seen=seen, replace=replace)
    assert changes(made) == expected
    assert made.moves == bool({Change.CREATE, Change.UPDATE} & set(expected))


@given(
    st.dictionaries(st.sampled_from([BRANCH, TAG, f"{TAG}^{{}}"]), st.sampled_from([HEAD, TAG_OBJECT, OTHER, THIRD])),
    st.booleans(),
    st.none() | st.sampled_from([OTHER, THIRD]),
)
def test_no_plan_that_passes_moves_a_tag_or_drops_unknown_work(
    found: dict[str, str], seen: bool, replace: str | None
) -> None:
    made = planned(found, seen=seen, replace=replace)
    try:
        check(made)
    except PublishConflict:
        return
    branch, tag = made.steps
    assert tag.old is None or tag.new == tag.old
    assert branch.old in (None, HEAD, replace) or (seen and replace is None)


def test_going_back_to_an_earlier_release_is_said() -> None:
    back = planned({**PUBLISHED, BRANCH: OTHER}, seen=True)
    assert changes(back) == (Change.UPDATE, Change.NOTHING)
    assert "out already" in back.steps[0].why
    assert planned({BRANCH: OTHER}, seen=True).steps[0].why == ""


def test_a_refusal_names_both_values_of_each_ref_and_the_next_step() -> None:
    with pytest.raises(PublishConflict) as caught:
        check(planned({BRANCH: OTHER, TAG: THIRD}))
    for part in (BRANCH, OTHER, TAG, THIRD, HEAD):
        assert part in caught.value.message
    assert caught.value.hint.endswith(f"invoke publish-series --replace {OTHER}")


def test_the_release_that_keeps_the_old_branch_is_named() -> None:
    kept = planned({BRANCH: OTHER, "refs/tags/b90-speed.1": THIRD, "refs/tags/b90-speed.1^{}": OTHER})
    assert "its tag b90-speed.1 keeps it" in kept.steps[0].why
    assert "no release tag there keeps" in planned({BRANCH: OTHER}).steps[0].why


def test_the_next_revision_is_above_all_of_this_build() -> None:
    found = {TAG: OTHER, "refs/tags/b100-speed.11": OTHER, "refs/tags/b101-speed.40": OTHER, "refs/tags/x": OTHER}
    assert "revision = 12 in" in planned(found).steps[1].hint
    assert "revision = 3 in" in planned({TAG: OTHER}).steps[1].hint


def test_what_moved_meanwhile_is_told_with_both_values() -> None:
    made = planned({BRANCH: OTHER}, seen=True)
    assert moved_meanwhile(made, {BRANCH: OTHER}, command="x") is None
    told = moved_meanwhile(made, {BRANCH: THIRD, TAG: THIRD}, command="invoke x")
    assert told is not None
    assert f"{BRANCH}: expected {OTHER}, found {THIRD}" in told.message
    assert f"{TAG}: expected nothing, found {THIRD}" in told.message
    gone = moved_meanwhile(made, {}, command="invoke x")
    assert gone is not None
    assert f"expected {OTHER}, found nothing" in gone.message


def test_a_listing_is_read_by_its_shape() -> None:
    listing = f"{OTHER}\trefs/heads/speed\nwarning: x\n{HEAD}\trefs/tags/t^{{}}\nabc\trefs/x\n{'e' * 64}\tHEAD\n"
    assert listed_refs(listing) == {"refs/heads/speed": OTHER, "refs/tags/t^{}": HEAD, "HEAD": "e" * 64}


@given(st.text())
def test_any_text_is_a_listing_of_whole_ids(text: str) -> None:
    assert all(len(value) in (40, 64) for value in listed_refs(text).values())


@pytest.mark.parametrize("text", ["", "abc", "HEAD", "A" * 40, "a" * 41, "a" * 40 + "\n", "-" * 40])
def test_only_a_whole_id_may_be_replaced(text: str) -> None:
    with pytest.raises(UsageProblem, match="40 hex digits"):
        check_object_id(text)


def test_a_whole_id_is_taken() -> None:
    assert check_object_id(OTHER) == OTHER
