import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.builds.arch import Capability, plan_archs
from ci.errors import CardUnread
from ci.gpu.cards import FIELDS, OLD_FIELDS, STATE, Card, parse_cards, parse_state, query, unfit

H200 = "NVIDIA H200, 9.0, 580.159.03, 143771 MiB"
SM90 = plan_archs("90-real")


def card(line: str) -> Card:
    return parse_cards(line)[0]


def test_a_line_is_a_card() -> None:
    assert card(H200) == Card(
        name="NVIDIA H200", capability=Capability(major=9, minor=0), driver="580.159.03", memory_mib=143771
    )


def test_an_old_driver_is_asked_without_the_capability() -> None:
    found = parse_cards("Tesla P4, 390.48, 7611 MiB\n", OLD_FIELDS)
    assert found == (Card(name="Tesla P4", capability=None, driver="390.48", memory_mib=7611),)


def test_a_name_may_hold_commas() -> None:
    assert card("NVIDIA RTX, PRO 6000, 12.0, 580.95.05, 97887 MiB").name == "NVIDIA RTX, PRO 6000"


def test_queries_name_their_fields() -> None:
    assert query(FIELDS)[0] == "--query-gpu=name,compute_cap,driver_version,memory.total"


def test_nothing_printed_is_no_card() -> None:
    assert parse_cards("\n") == ()


@pytest.mark.parametrize(
    "line",
    [
        "No devices were found",
        "NVIDIA H200, 9.0, 580.159.03",
        "NVIDIA H200, 9.0, 580.159.03, 143771",
        "NVIDIA H200, [N/A], 580.159.03, 143771 MiB",
        "NVIDIA H200, 9.0, [N/A], 143771 MiB",
        "NVIDIA H200, 9.0, 580.159.03, many MiB",
    ],
)
def test_other_answers_are_refused_and_quoted(line: str) -> None:
    with pytest.raises(CardUnread, match=line[:9]):
        parse_cards(line)


@given(st.text())
def test_any_text_gives_cards_or_the_error(text: str) -> None:
    try:
        found = parse_cards(text)
    except CardUnread:
        return
    assert all(one.driver and one.memory_mib >= 0 for one in found)


def test_the_state_lacks_what_the_card_does_not_tell() -> None:
    values = "P0, 345 MHz, 1980 MHz, 3201 MHz, [N/A], Enabled"
    told = {"pstate": "P0", "clocks.sm": "345 MHz", "clocks.max.sm": "1980 MHz", "clocks.max.mem": "3201 MHz"}
    assert parse_state(values) == {**told, "ecc.mode.current": "Enabled"}
    assert len(values.split(",")) == len(STATE)
    assert parse_state("") == {}


def test_the_card_that_the_build_is_for() -> None:
    assert unfit((card(H200),), SM90, "580") == ""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "no card"),
        (f"{H200}\n{H200}", "2 cards, expected exactly one"),
        ("NVIDIA GeForce RTX 4090, 8.9, 580.95.05, 24564 MiB", "no machine code for compute capability 8.9"),
        ("NVIDIA RTX PRO 6000 Blackwell, 12.0, 580.95.05, 97887 MiB", "no machine code for compute capability 12.0"),
        ("NVIDIA H200, 9.0, 535.183.01, 143771 MiB", "driver 535.183.01 is older than 580"),
    ],
)
def test_cards_that_nothing_is_checked_on(lines: str, words: str) -> None:
    assert words in unfit(parse_cards(lines), SM90, "580")


def test_code_that_the_driver_would_compile_is_not_what_is_checked() -> None:
    plan = plan_archs("75-real;80-virtual")
    assert "no machine code" in unfit((card(H200),), plan, "580")


def test_a_card_that_does_not_tell_its_capability() -> None:
    old = Card(name="Tesla P4", capability=None, driver="390.48", memory_mib=7611)
    assert "does not tell its compute capability" in unfit((old,), SM90, "")
