import pytest

from ci.gpu.manifest import Prepared, all_gates, expected_gates, headline, strange
from ci.outcome import JsonValue, Verdict, combine
from ci.release.manifest import SuiteEvidence
from tests.helpers.prepared import CHECK, H200, STOCK, gate, made_answer, suite_evidence

PREPARED = Prepared.model_validate(CHECK)
SUITES = {name: SuiteEvidence.model_validate(suite_evidence(name)) for name in ("parity", "throughput")}
DIGEST = "e" * 64


def test_an_answer_in_which_all_passed() -> None:
    gates = all_gates(PREPARED, made_answer(), SUITES)
    assert combine(one.verdict for one in gates) is Verdict.PASS
    assert [one.gate for one in gates[-2:]] == ["parity-gate", "throughput-gate"]
    assert headline(gates) == f"gpu_check=PASS {len(gates)} gates"
    assert list(strange(made_answer(), PREPARED, DIGEST)) == []


@pytest.mark.parametrize("missing", expected_gates(PREPARED))
def test_a_gate_that_is_missing_is_unproven(missing: str) -> None:
    kept = [gate(name) for name in expected_gates(PREPARED) if name != missing]
    gates = all_gates(PREPARED, made_answer(gates=kept, stopped="not begun"), SUITES)
    assert {one.gate: one.verdict for one in gates}[missing] is Verdict.UNPROVEN
    assert headline(gates) == f"gpu_check=UNPROVEN {missing}: not begun"


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_without_evidence_is_unproven(suite: str) -> None:
    gates = all_gates(PREPARED, made_answer(), {name: one for name, one in SUITES.items() if name != suite})
    assert headline(gates) == f"gpu_check=UNPROVEN {suite}-evidence: the run was cut off before it"


def test_a_suite_that_left_no_gate_is_unproven() -> None:
    empty = SUITES["parity"].model_copy(update={"gates": ()})
    assert "parity-evidence" in headline(all_gates(PREPARED, made_answer(), {**SUITES, "parity": empty}))


def test_an_empty_answer_is_unproven_and_a_failure_beats_that() -> None:
    assert headline(all_gates(PREPARED, made_answer(gates=[]), {})).startswith("gpu_check=UNPROVEN builds")
    failed = SuiteEvidence.model_validate(suite_evidence("parity", "FAIL"))
    gates = all_gates(PREPARED, made_answer(gates=[]), {"parity": failed})
    assert headline(gates) == "gpu_check=FAIL parity-gate: why"


OTHER = {**STOCK, "digest": "f" * 64}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prepared": "1" * 64}, "it answers check.json 111111111111"),
        ({"stock": OTHER}, "stock: it ran b7 ffffffffffff"),
        ({"speed": STOCK}, "speed: it ran b7 aaaaaaaaaaaa"),
        ({"machine": {**H200, "capability": "7.5"}}, "gate card says PASS, yet NVIDIA H200: no machine code"),
        ({"machine": {**H200, "driver": "535.1"}}, "older than 580"),
        ({"machine": {**H200, "card": ""}}, "gate layers says PASS, yet no card"),
        ({"gates": [gate("operator-mul-mat", n_ran=0, n_passed=0)]}, "without cases that ran and passed"),
        ({"gates": [gate("operator-get-rows", n_ran=9)]}, "without cases that ran and passed"),
        ({"gates": [gate("operator-get-rows", n_ran=True, n_passed=True)]}, "without cases that ran and passed"),
        ({"gates": [gate("card", "FAIL"), gate("card")]}, "several verdicts for one gate"),
    ],
)
def test_answers_that_cannot_be(changes: dict[str, JsonValue], words: str) -> None:
    assert words in "; ".join(strange(made_answer(**changes), PREPARED, DIGEST))


def test_a_machine_without_a_card_may_have_proved_the_builds() -> None:
    answer = made_answer(machine={"fingerprint": {}}, gates=[gate("builds"), gate("card", "UNPROVEN")])
    assert list(strange(answer, PREPARED, DIGEST)) == []
