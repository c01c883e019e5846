import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import EXIT_FAIL, EXIT_OK, EXIT_UNPROVEN
from ci.outcome import GateResult, Verdict, combine, exit_code_of


def test_no_verdict_at_all_is_unproven() -> None:
    assert combine([]) is Verdict.UNPROVEN


@given(st.lists(st.sampled_from(Verdict)))
def test_one_fail_fails_and_only_all_pass_passes(verdicts: list[Verdict]) -> None:
    combined = combine(verdicts)
    assert (combined is Verdict.FAIL) == (Verdict.FAIL in verdicts)
    assert (combined is Verdict.PASS) == (bool(verdicts) and all(v is Verdict.PASS for v in verdicts))


@pytest.mark.parametrize(
    ("verdict", "code"),
    [(Verdict.PASS, EXIT_OK), (Verdict.FAIL, EXIT_FAIL), (Verdict.UNPROVEN, EXIT_UNPROVEN)],
)
def test_exit_codes(verdict: Verdict, code: int) -> None:
    assert exit_code_of(verdict) == code


def test_gate_results_survive_json() -> None:
    gate = GateResult(gate="g", verdict=Verdict.FAIL, reason="why", evidence={"n": 3})
    assert GateResult.from_json(gate.to_json()) == gate


def test_a_foreign_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="MAYBE"):
        GateResult.from_json({"gate": "g", "verdict": "MAYBE", "reason": "", "evidence": {}})
