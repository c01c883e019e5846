import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import UsageProblem
from ci.upstream.tags import BuildTag, build_tags, is_build_tag

NUMBERS = st.integers(min_value=1, max_value=999_999_999)


@given(NUMBERS)
def test_a_tag_survives_being_written_and_read(number: int) -> None:
    assert BuildTag.parse(str(BuildTag(number))) == BuildTag(number)


@given(NUMBERS, NUMBERS)
def test_builds_are_ordered_by_number_not_by_text(one: int, other: int) -> None:
    assert (BuildTag(one) < BuildTag(other)) == (one < other)


@given(st.text())
def test_only_a_name_that_spells_its_own_number_is_a_build(name: str) -> None:
    if is_build_tag(name):
        assert str(BuildTag.parse(name)) == name
    else:
        with pytest.raises(UsageProblem):
            BuildTag.parse(name)


@pytest.mark.parametrize(
    "name",
    [
        "", "b", "b0", "b011434", "B11434", "b11434 ", " b11434", "b11434\n", "b-1", "b+1", "b1_000", "b1.0", "b1e3",
        "11434", "v0.6.0", "b11434-speed.1", "refs/tags/b11434", "-b11434", "--upload-pack=x", "b1234567890",
        "b\u0661\u0662", "b\uff11\uff14", "master", "latest", "b11434^{}",
    ],
)  # fmt: skip
def test_other_shapes_are_refused_by_name(name: str) -> None:
    assert not is_build_tag(name)
    with pytest.raises(UsageProblem) as refused:
        BuildTag.parse(name)
    assert repr(name) in refused.value.message
    assert "b11434" in refused.value.hint


@pytest.mark.parametrize("number", [0, -1, 1_000_000_000])
def test_a_number_without_a_tag_name_is_refused(number: int) -> None:
    with pytest.raises(UsageProblem):
        BuildTag(number)


def test_builds_among_other_names_come_sorted_and_once() -> None:
    names = ["b9999", "v1.0", "b11434", "b9999", "gguf-v0.4", "b100000"]
    assert [str(tag) for tag in build_tags(names)] == ["b9999", "b11434", "b100000"]


def test_the_ref_is_the_full_tag_ref() -> None:
    assert BuildTag(11434).ref == "refs/tags/b11434"
