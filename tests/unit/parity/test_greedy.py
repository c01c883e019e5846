import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.outcome import Verdict
from ci.parity.greedy import END, Candidates, Comparison, Drafted, Fork, Text, fork_of, forks_of, judge
from ci.parity.policy import MIN_COVERAGE, Tolerance

TOLERANCE = Tolerance(margin=0.05, max_forked=0.5)
TIE: Candidates = ((3, -1.00), (9, -1.01), (4, -5.0))


def text(prompt: str, *tokens: int, asked: int = 4) -> Text:
    return Text(prompt=prompt, tokens=tokens, asked=asked)


SAME = (text("a", 1, 2, 3, 4), text("b", 5, 6, 7, 8))
FORKED = (text("a", 1, 2, 3, 4), text("b", 5, 6, 7, 9))
FORK = Fork(prompt="b", index=3, left=8, right=9)


def comparison(
    left: tuple[Text, ...], right: tuple[Text, ...], forks: tuple[Fork, ...] = (), drafted: Drafted | None = None
) -> Comparison:
    return Comparison(
        gate="greedy",
        left=left,
        right=right,
        n_prompts=2,
        n_expected=8,
        tolerance=TOLERANCE,
        forks=forks,
        drafted=drafted,
    )


def test_equal_texts_pass_with_their_counts_as_evidence() -> None:
    result = judge(comparison(SAME, SAME))
    assert result.verdict is Verdict.PASS
    assert (result.evidence["n_compared"], result.evidence["n_expected"]) == (8, 8)
    assert result.evidence["forks"] == []


@pytest.mark.parametrize(
    ("left", "right", "index", "tokens"),
    [
        ((1, 2, 3), (1, 5, 3), 1, (2, 5)),
        ((1, 2, 3), (1, 2), 2, (3, END)),
        ((), (1,), 0, (END, 1)),
    ],
)
def test_a_fork_is_the_first_difference(
    left: tuple[int, ...], right: tuple[int, ...], index: int, tokens: tuple[int, int]
) -> None:
    fork = fork_of(text("a", *left), text("a", *right))
    assert fork == Fork(prompt="a", index=index, left=tokens[0], right=tokens[1])


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
def test_texts_agree_up_to_their_fork_and_not_at_it(left: list[int], right: list[int]) -> None:
    fork = fork_of(text("a", *left), text("a", *right))
    if fork is None:
        assert left == right
        return
    assert left[: fork.index] == right[: fork.index]
    assert [*left, END][fork.index] != [*right, END][fork.index]


def test_a_fork_at_a_tie_passes_and_is_shown() -> None:
    result = judge(comparison(SAME, FORKED, (FORK.scored(((8, -1.0), (9, -1.01)), ((9, -1.0), (8, -1.02))),)))
    assert result.verdict is Verdict.PASS
    (shown,) = result.evidence["forks"]
    assert shown["explained"] is True
    assert shown["margin"] == pytest.approx(0.02)
    assert (shown["prompt"], shown["index"], shown["tokens"]) == ("b", 3, [8, 9])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (((8, -0.1), (9, -3.0)), ((8, -0.1), (9, -3.0))),  # no tie
        (((8, -1.0), (9, -1.01)), ((9, -0.1), (8, -3.0))),  # a tie on one side only
        (((8, -1.0), (9, -1.01)), ((9, -1.0), (7, -1.01))),  # other candidates on the other side
        (((7, -1.0), (6, -1.01)), ((7, -1.0), (6, -1.01))),  # neither token is among the best
        (((8, -1.0),), ((9, -1.0),)),  # too few candidates to know a margin
        ((), ()),
    ],
)
def test_any_other_fork_fails(left: Candidates, right: Candidates) -> None:
    result = judge(comparison(SAME, FORKED, (FORK.scored(left, right),)))
    assert result.verdict is Verdict.FAIL
    assert "prompt b at token 3: 8 against 9" in result.reason


def test_a_fork_that_nobody_scored_fails() -> None:
    assert judge(comparison(SAME, FORKED)).verdict is Verdict.FAIL
    other = dataclasses.replace(FORK, prompt="a").scored(TIE, TIE)
    assert judge(comparison(SAME, FORKED, (other,))).verdict is Verdict.FAIL


def test_many_forks_fail_even_at_ties() -> None:
    left = (text("a", 3, 1, 1, 1), text("b", 5, 6, 7, 3))
    right = (text("a", 9, 1, 1, 1), text("b", 5, 6, 7, 9))
    forks = tuple(fork.scored(TIE, TIE) for fork in forks_of(left, right))
    strict = dataclasses.replace(comparison(left, right, forks), n_expected=6)
    assert judge(strict).verdict is Verdict.FAIL
    assert "2 of 2 texts fork, at most 50% may" in judge(strict).reason


def test_a_fork_ends_the_comparison_of_its_text() -> None:
    early = (text("a", 1, 2, 3, 4), text("b", 3, 6, 7, 8)), (text("a", 1, 2, 3, 4), text("b", 9, 6, 7, 8))
    forks = tuple(fork.scored(TIE, TIE) for fork in forks_of(*early))
    result = judge(comparison(*early, forks))
    assert result.evidence["n_compared"] == 5
    assert result.verdict is Verdict.UNPROVEN
    assert f"only 5 of 8 tokens could be compared, {MIN_COVERAGE:.0%} are needed" in result.reason


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ((), (), "0 of 2 prompts"),
        (SAME[:1], SAME, "1 of 2 prompts"),
        (SAME, SAME[:1], "1 of 2 prompts"),
        ((text("a"), text("b")), (text("a"), text("b")), "empty replies: a, b"),
        ((text("a", 1), text("b", 2)), (text("a", 1), text("b", 2)), "only 2 of 8 tokens"),
    ],
)
def test_too_little_to_compare_proves_nothing(left: tuple[Text, ...], right: tuple[Text, ...], words: str) -> None:
    result = judge(comparison(left, right))
    assert result.verdict is Verdict.UNPROVEN
    assert words in result.reason


def test_a_plan_without_prompts_proves_nothing() -> None:
    nothing = dataclasses.replace(comparison((), ()), n_prompts=0, n_expected=0)
    assert judge(nothing).verdict is Verdict.UNPROVEN


def test_speculation_that_never_drafted_proves_nothing() -> None:
    result = judge(comparison(SAME, SAME, drafted=Drafted(drafted=0, accepted=0)))
    assert result.verdict is Verdict.UNPROVEN
    assert "draft_n is 0" in result.reason


def test_speculation_with_drafts_passes_and_reports_them() -> None:
    result = judge(comparison(SAME, SAME, drafted=Drafted(drafted=9, accepted=4)))
    assert result.verdict is Verdict.PASS
    assert (result.evidence["draft_n"], result.evidence["draft_n_accepted"]) == (9, 4)


def test_an_unexplained_fork_fails_although_the_rest_is_missing() -> None:
    assert judge(comparison(SAME, (text("b", 5, 6, 7, 9),))).verdict is Verdict.FAIL
