import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import UsageProblem
from ci.release.version import ReleaseId
from ci.upstream.tags import BuildTag

builds = st.integers(1, 999_999_999)
revisions = st.integers(1, 999_999_999)


def release(number: int, revision: int) -> ReleaseId:
    return ReleaseId(build=BuildTag(number), revision=revision)


@given(builds, revisions)
def test_every_id_survives_text(number: int, revision: int) -> None:
    value = release(number, revision)
    assert ReleaseId.parse(str(value)) == value


@given(st.text(max_size=30))
def test_what_is_accepted_is_spelled_in_exactly_one_way(text: str) -> None:
    try:
        value = ReleaseId.parse(text)
    except UsageProblem:
        return
    assert str(value) == text


@given(builds, revisions, builds, revisions)
def test_order_is_by_build_number_then_revision(a: int, b: int, c: int, d: int) -> None:
    assert (release(a, b) < release(c, d)) == ((a, b) < (c, d))


def test_order_is_by_number_not_by_letters() -> None:
    assert ReleaseId.parse("b9999-speed.10") < ReleaseId.parse("b11434-speed.2") < ReleaseId.parse("b11434-speed.10")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b11434",
        "b11434-speed",
        "b11434-speed.",
        "b11434-speed.0",
        "b11434-speed.03",
        "b11434-speed.-1",
        "b011434-speed.1",
        "b0-speed.1",
        "v11434-speed.1",
        "b11434-speed.1\n",
        " b11434-speed.1",
        "b11434-speed.1-rc",
        "b11434_speed.1",
        "b11434-speed.\u0663",
        "b11434-speed.9999999999",
        "-b11434-speed.1",
        "refs/tags/b11434-speed.1",
    ],
)
def test_other_spellings_are_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        ReleaseId.parse(text)


def test_a_revision_below_one_cannot_be_made() -> None:
    with pytest.raises(UsageProblem, match="expected 1 or more"):
        release(11434, 0)
