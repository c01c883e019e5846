"""The architecture planner: every spelling has one answer, or an error that shows the right one."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.arch import EXAMPLE, ArchPlan, Capability, Cover, check_supported, covers, plan_archs
from ci.errors import EXIT_USAGE, UsageProblem

LISTED_BY_NVCC_13 = [f"compute_{n}" for n in (75, 80, 86, 87, 88, 89, 90, 100, 110, 103, 120, 121, 107)]


@pytest.mark.parametrize(
    ("spelling", "cmake", "sass", "ptx"),
    [
        ("75-real", "75-real", "sm_75", ""),
        ("75", "75", "sm_75", "compute_75"),
        ("90a-real", "90a-real", "sm_90a", ""),
        ("90-real", "90-real", "sm_90", ""),
        ("120", "120a", "sm_120a", "compute_120a"),
        ("120-real", "120a-real", "sm_120a", ""),
        ("120a", "120a", "sm_120a", "compute_120a"),
        ("120a-real", "120a-real", "sm_120a", ""),
        ("121", "121a", "sm_121a", "compute_121a"),
        ("75;120", "75;120a", "sm_75 sm_120a", "compute_75 compute_120a"),
        (" 75 ; 120 ", "75;120a", "sm_75 sm_120a", "compute_75 compute_120a"),
        ("75-real;120a-real", "75-real;120a-real", "sm_75 sm_120a", ""),
        ("75-real;120-virtual", "75-real;120a-virtual", "sm_75", "compute_120a"),
        ("120a-real;75-real", "75-real;120a-real", "sm_75 sm_120a", ""),
        ("75-real;75-real", "75-real", "sm_75", ""),
        ("75-virtual;75-real", "75", "sm_75", "compute_75"),
        ("75;75-real", "75", "sm_75", "compute_75"),
        ("120;120a-real", "120a", "sm_120a", "compute_120a"),
        ("130-real", "130-real", "sm_130", ""),
    ],
)
def test_a_spelling_has_one_answer(spelling: str, cmake: str, sass: str, ptx: str) -> None:
    assert plan_archs(spelling) == ArchPlan(cmake=cmake, sass=tuple(sass.split()), ptx=tuple(ptx.split()))


@pytest.mark.parametrize(
    ("spelling", "why", "meant"),
    [
        ("", "has an empty entry", EXAMPLE),
        (" ", "has an empty entry", EXAMPLE),
        ("75;", "has an empty entry", "75-real"),
        ("75;;86", "has an empty entry", "75-real;86-real"),
        ("native", "build machine, which has none", EXAMPLE),
        ("75;native", "build machine, which has none", EXAMPLE),
        ("all", "something else with each toolkit", EXAMPLE),
        ("all-major", "something else with each toolkit", EXAMPLE),
        ("120-virtual", "is PTX alone", "120-real"),
        ("75-virtual;86-virtual", "is PTX alone", "75-real;86-real"),
        ("120f-real", "family code, 120f-real,", "120a-real"),
        ("75-real;120f", "family code, 120f,", "75-real;120a-real"),
        ("75a", "letters begin with 90a", "75-real"),
        ("75f", "letters begin with 90a", "75-real"),
        ("1200", "not understood at '1200'", EXAMPLE),
        ("12", "not understood at '12'", EXAMPLE),
        ("35-real", "not understood at '35-real'", EXAMPLE),
        ("200", "not understood at '200'", EXAMPLE),
        ("075", "not understood at '075'", EXAMPLE),
        ("-75", "not understood at '-75'", EXAMPLE),
        ("sm_75", "not understood at 'sm_75'", "75-real"),
        ("compute_120a", "not understood at 'compute_120a'", "120a-real"),
        ("7.5", "not understood at '7.5'", "75-real"),
        ("12.0", "not understood at '12.0'", "120-real"),
        ("75,86", "not understood at '75,86'", "75-real;86-real"),
        ("75 86", "not understood at '75 86'", "75-real;86-real"),
        ("75-REAL", "not understood at '75-REAL'", "75-real"),
        ("120A", "not understood at '120A'", "120a-real"),
        ("75-real-real", "not understood at '75-real-real'", "75-real"),
        ("No CUDA devices found.", "not understood at 'No CUDA devices found.'", EXAMPLE),
        ("\u0667\u0665", "not understood at '\u0667\u0665'", EXAMPLE),
        ('75"', "not understood at '75\"'", EXAMPLE),
    ],
)
def test_a_refusal_names_the_value_what_was_expected_and_the_right_spelling(
    spelling: str, why: str, meant: str
) -> None:
    with pytest.raises(UsageProblem) as caught:
        plan_archs(spelling)
    error = caught.value
    assert repr(spelling) in error.message
    assert why in error.message
    assert "expected numbers such as 75 or 120a" in error.message
    assert f'archs = "{meant}" in ci/config/targets.toml' in error.hint
    assert error.exit_code == EXIT_USAGE


def test_a_very_long_list_is_cut_in_the_message() -> None:
    with pytest.raises(UsageProblem) as caught:
        plan_archs("9" * 100_000)
    assert len(str(caught.value)) < 500


SPELLINGS = st.lists(
    st.from_regex(r"\A *([5-9][0-9]|1[0-9]{2})a?(-real|-virtual)? *\Z") | st.from_regex(r"\A[0-9]{1,4}[af]?\Z"),
    max_size=6,
).map(";".join)


@given(st.text() | st.text("0123456789af;,-realvitu sm_.") | SPELLINGS)
def test_any_text_gives_a_plan_that_stands_or_an_error_that_helps(text: str) -> None:
    try:
        plan = plan_archs(text)
    except UsageProblem as error:
        ready = re.search(r'archs = "([^"]*)"', error.hint)
        assert ready is not None
        assert plan_archs(ready[1]).sass
        return
    assert plan.sass
    assert plan_archs(plan.cmake) == plan
    assert not [name for name in (*plan.sass, *plan.ptx) if re.search(r"_12[0-9]$", name)]


@given(SPELLINGS)
def test_order_and_repetition_do_not_count(spelling: str) -> None:
    entries = spelling.split(";")
    turned = ";".join(reversed([*entries, entries[0]]))
    assert outcome(spelling) == outcome(turned)


def outcome(spelling: str) -> ArchPlan | None:
    try:
        return plan_archs(spelling)
    except UsageProblem:
        return None


@pytest.mark.parametrize("spelling", ["75-real", "120a-real", "75;120", "90a-real;121"])
def test_what_the_toolkit_lists_is_supported(spelling: str) -> None:
    check_supported(plan_archs(spelling), LISTED_BY_NVCC_13)


@pytest.mark.parametrize(
    ("spelling", "missing"),
    [
        ("130-real", "compute_130"),
        ("75-real;131a-real", "compute_131a"),
        ("70-real", "compute_70"),
        ("75;76", "compute_76"),
    ],
)
def test_what_the_toolkit_does_not_list_is_named_with_what_it_does(spelling: str, missing: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_supported(plan_archs(spelling), LISTED_BY_NVCC_13)
    assert re.fullmatch(rf"{missing} not among .*: compute_75, compute_80, .*compute_121", caught.value.message)


def test_ptx_must_be_supported_too() -> None:
    with pytest.raises(UsageProblem, match="compute_70 not among"):
        check_supported(plan_archs("70-virtual;75-real"), LISTED_BY_NVCC_13)


@pytest.mark.parametrize("listed", [[], [""], ["sh: nvcc: not found"]])
def test_silence_of_the_toolkit_is_an_error(listed: list[str]) -> None:
    with pytest.raises(UsageProblem, match="names no architecture"):
        check_supported(plan_archs("75-real"), listed)


@pytest.mark.parametrize(
    ("spelling", "card", "cover"),
    [
        ("75-real", "7.5", Cover.NATIVE),
        ("75-real", "7.0", Cover.NONE),
        ("75-real", "8.6", Cover.NONE),
        ("75-real", "12.0", Cover.NONE),
        ("75", "7.5", Cover.NATIVE),
        ("75", "8.6", Cover.JIT),
        ("75", "12.1", Cover.JIT),
        ("75", "7.2", Cover.NONE),
        ("80-real", "8.6", Cover.NATIVE),
        ("86-real", "8.0", Cover.NONE),
        ("80-real", "9.0", Cover.NONE),
        ("120a-real", "12.0", Cover.NATIVE),
        ("120a-real", "12.1", Cover.NONE),
        ("120a", "12.1", Cover.NONE),
        ("120a", "13.0", Cover.NONE),
        ("75-real;120a-real", "12.0", Cover.NATIVE),
        ("75-real;120a-real", "7.5", Cover.NATIVE),
        ("75-real;120a-real", "8.6", Cover.NONE),
        ("75-virtual;90-real", "8.9", Cover.JIT),
        ("75-virtual;90-real", "9.0", Cover.NATIVE),
    ],
)
def test_a_card_runs_natively_by_the_drivers_compiler_or_not(spelling: str, card: str, cover: Cover) -> None:
    assert covers(plan_archs(spelling), Capability.parse(card)) is cover


@given(st.integers(1, 99), st.integers(0, 9))
def test_a_capability_is_read_back(major: int, minor: int) -> None:
    card = Capability(major=major, minor=minor)
    assert Capability.parse(f" {card}\n") == card


@pytest.mark.parametrize("text", ["", "75", "sm_75", "7.5.1", "7.", "0.5", "x", "[N/A]", "\u0667.\u0665", "7,5"])
def test_what_is_no_capability_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="no compute capability"):
        Capability.parse(text)


def test_no_device_code_covers_no_card() -> None:
    assert covers(ArchPlan(cmake="", sass=(), ptx=()), Capability(major=7, minor=5)) is Cover.NONE
