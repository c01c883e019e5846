import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.machine import fingerprint
from ci.report.words import (
    HIDDEN,
    NUMERICS,
    duration,
    machine_brief,
    machine_rows,
    numerics,
    one_line,
    percent,
    sentence,
    shortened,
    signed,
    size,
    switched_off,
    visible,
)
from ci.series.trailers import NumericsKind


@given(st.text())
def test_visible_text_hides_nothing(text: str) -> None:
    assert {
        unicodedata.category(char) for char in visible(text).replace("\n", "").replace("\t", "")
    } & HIDDEN == set()


@given(st.text())
def test_one_line_is_one_line_and_stays_so(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip() == one_line(line)


def test_bidi_overrides_and_controls_become_visible() -> None:
    assert visible("a\u202eb\x00c\u2066") == "a\ufffdb\ufffdc\ufffd"
    assert visible("two\r\nlines\tkept") == "two\nlines\tkept"


@given(st.text(max_size=100), st.integers(3, 60))
def test_shortened_text_fits_and_short_text_stays(text: str, limit: int) -> None:
    short = shortened(text, limit)
    assert len(short) <= limit
    assert short == text or ("\u2026" in short and len(text) > limit)


def test_shortened_keeps_both_ends() -> None:
    assert shortened("qwen3-large-vocabulary-draft", 12) == "qwen3-l\u2026raft"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (1.084, "+8.4 %"),
        (0.933, "-6.7 %"),
        (1.0, "+0.0 %"),
        (0.9998, "-0.02 %"),
        (1.0003, "+0.03 %"),
        (2.0, "+100.0 %"),
    ],
)
def test_a_log_ratio_is_spelled_as_a_signed_change(change: float, words: str) -> None:
    assert percent(math.log(change)) == words
    assert signed(math.log(change)) == words.removesuffix(" %")


@pytest.mark.parametrize(
    ("text", "line"), [("done", "done."), ("done.", "done."), ("why?", "why?"), ("a\nb", "a b."), ("", ".")]
)
def test_a_sentence_ends(text: str, line: str) -> None:
    assert sentence(text) == line


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (23_456_789, "23.5 MB"),
        (2_147_483_648, "2.1 GB"),
        (10**18, "1000000.0 TB"),
    ],
)
def test_sizes_are_decimal(count: int, words: str) -> None:
    assert size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3599.9, "1 h 00 min"),
        (3725, "1 h 02 min"),
    ],
)
def test_durations_never_show_sixty(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_every_kind_of_numerics_has_words() -> None:
    assert set(NUMERICS) == {kind.value for kind in NumericsKind}
    assert numerics("bitwise") == "none: the same bits as without it"
    assert numerics("repair the draw") == "repairs what upstream computes otherwise: the draw"
    assert numerics("something else") == "something else"


@pytest.mark.parametrize(
    ("switch", "typed"), [("LLAMA_ARG_X", "LLAMA_ARG_X=0"), ("--no-x", "--no-x"), ("X=off", "X=off")]
)
def test_a_switch_is_given_as_it_is_typed(switch: str, typed: str) -> None:
    assert switched_off(switch) == typed


def test_a_machine_is_told_most_telling_first_and_nothing_is_left_out() -> None:
    machine: dict[str, str | int | float] = {"gpu": "H", "memory_gib": 24, "cores": 2, "cpu": "Example CPU"}
    assert machine_rows(machine) == (
        ("Processor", "Example CPU"),
        ("Processor cores that the work may use", "2"),
        ("Memory", "24 GiB"),
        ("gpu", "H"),
    )
    assert machine_brief(machine) == "Example CPU, 2 cores, 24 GiB of memory"
    assert machine_brief({}) == "not recorded"


def test_what_a_real_machine_says_of_itself_has_words() -> None:
    assert not {label for label, _ in machine_rows(fingerprint())} & set(fingerprint())
