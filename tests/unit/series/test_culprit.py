import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.series.culprit import Culprit, Stretch, culprit, next_to_look_at
from ci.series.matrix import Cell
from ci.upstream.tags import BuildTag

LETTERS = {"o": Cell.APPLIED, "g": Cell.ABSORBED, "p": Cell.PARTLY, "C": Cell.CONFLICT}


def b(number: int) -> BuildTag:
    return BuildTag(number)


BUILDS = tuple(b(number) for number in (11368, 11378, 11382, 11393, 11401))


def found(letters: str, builds: Sequence[BuildTag] = BUILDS) -> Culprit | None:
    return culprit(builds, [LETTERS[letter] for letter in letters])


def words(letters: str, builds: Sequence[BuildTag] = BUILDS) -> str:
    answer = found(letters, builds)
    return answer.words if answer else ""


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("ooooo", ""),
        ("CCCCo", ""),
        ("ggggo", ""),
        ("oooCC", "since b11393 (b11382 still took it; 10 build numbers between them are not known here)"),
        ("ooooC", "since b11401 (b11393 still took it; 7 build numbers between them are not known here)"),
        ("oooCp", "since b11393 (b11382 still took it; 10 build numbers between them are not known here)"),
        ("ooopC", "since b11393 (b11382 still took it; 10 build numbers between them are not known here)"),
        ("ooggg", "in b11382 (b11378 did not have it; 3 build numbers between them are not known here)"),
        ("oopgg", "in b11393 (b11382 did not have it; 10 build numbers between them are not known here)"),
        ("CCCCC", "on the base b11368 already"),
        ("ggggg", "on the base b11368 already"),
    ],
)
def test_the_row_that_reaches_the_aim_counts(letters: str, said: str) -> None:
    assert words(letters) == said


@pytest.mark.parametrize(
    ("letters", "rows"), [("CoCCC", "b11368"), ("CCoCC", "b11368 to b11378"), ("CoCoC", "b11368, b11382")]
)
def test_rows_that_ended_are_told(letters: str, rows: str) -> None:
    assert words(letters).endswith(f" are not known here); earlier on {rows}")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (11369, "since b11369 (b11368 still took it)"),
        (11370, "since b11370 (b11368 still took it; 1 build number between them is not known here)"),
    ],
)
def test_how_much_is_unknown_is_said(number: int, said: str) -> None:
    assert words("oC", (b(11368), b(number))) == said


def test_one_build_alone_has_no_build_in_front() -> None:
    assert words("C", (b(5),)) == "on the base b5 already"
    assert found("o", (b(5),)) is None


def test_a_culprit_is_plain_json() -> None:
    answer = found("CooCC")
    assert answer
    assert json.loads(json.dumps(answer.to_json())) == {
        "build": "b11393",
        "after": "b11382",
        "state": "conflict",
        "unknown_between": 10,
        "earlier": [["b11368", "b11368"]],
    }
    assert answer.earlier == (Stretch(first=b(11368), last=b(11368)),)


def test_cells_must_fit_the_builds() -> None:
    with pytest.raises(ValueError, match="zip"):
        found("oC")


def test_the_middle_of_what_can_be_fetched_is_next() -> None:
    answer = found("oooCC")
    assert answer
    between = [b(number) for number in (11385, 11390, 11391)]
    assert next_to_look_at(answer, [*between, b(11382), b(11393), b(11400), b(11000)]) == b(11390)
    assert next_to_look_at(answer, BUILDS) is None
    on_base = found("CCCCC")
    assert on_base
    assert next_to_look_at(on_base, [b(11000)]) is None


@given(st.integers(2, 99), st.sets(st.integers(2, 99)), st.sampled_from([Cell.CONFLICT, Cell.ABSORBED]))
def test_the_first_build_that_can_be_fetched_is_found_by_halving(first: int, numbers: set[int], state: Cell) -> None:
    known = [1, 100]
    while True:
        answer = culprit([b(n) for n in known], [state if n >= first else Cell.APPLIED for n in known])
        assert answer
        build = next_to_look_at(answer, [b(n) for n in numbers])
        if build is None:
            break
        assert build.number not in known
        known = sorted([*known, build.number])
    have = {1, 100, *numbers}
    assert answer.build.number == min(number for number in have if number >= first)
    assert answer.after == b(max(number for number in have if number < first))
    assert len(known) - 2 <= len(numbers).bit_length()
