from ci.law import Counters
from ci.outcome import Verdict
from ci.parity.counters import Counted, judge_counters


def row(prompt: str, reported: tuple[int, int], replayed: tuple[int, int]) -> Counted:
    return Counted(
        prompt=prompt,
        reported=Counters(drafted=reported[0], accepted=reported[1]),
        replayed=Counters(drafted=replayed[0], accepted=replayed[1]),
    )


def test_equal_counters_pass() -> None:
    result = judge_counters("counters", [row("a", (7, 3), (7, 3)), row("b", (0, 0), (0, 0))], n_expected=2)
    assert result.verdict is Verdict.PASS
    assert (result.evidence["draft_n"], result.evidence["draft_n_accepted"]) == (7, 3)


def test_one_token_of_difference_fails() -> None:
    result = judge_counters("counters", [row("a", (7, 3), (7, 3)), row("b", (7, 2), (7, 3))], n_expected=2)
    assert result.verdict is Verdict.FAIL
    assert "b: 2 of 7 accepted, the replay gives 3 of 7" in result.reason


def test_speculation_that_is_silently_off_fails_where_drafts_were_due() -> None:
    assert judge_counters("counters", [row("a", (0, 0), (7, 3))], n_expected=1).verdict is Verdict.FAIL


def test_no_drafts_at_all_prove_nothing() -> None:
    result = judge_counters("counters", [row("a", (0, 0), (0, 0))], n_expected=1)
    assert result.verdict is Verdict.UNPROVEN
    assert "draft_n is 0" in result.reason


def test_missing_requests_prove_nothing() -> None:
    assert judge_counters("counters", [row("a", (7, 3), (7, 3))], n_expected=2).verdict is Verdict.UNPROVEN
    assert judge_counters("counters", [], n_expected=0).verdict is Verdict.UNPROVEN
