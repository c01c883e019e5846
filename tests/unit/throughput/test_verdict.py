"""The gate is itself tested: its rules one by one, and its error rates by simulation with fixed seeds."""

import math

import numpy as np
import pytest

from ci.outcome import GateResult, Verdict
from ci.throughput.policy import POLICIES, SWITCHES, Look, Policy
from ci.throughput.stats import Interval, interval
from ci.throughput.verdict import Decision, classify, in_words, judge, overall, verdict_of
from tests.helpers.pairs import drifting_times, noisy_ratios

QUICK, FULL = POLICIES["quick"], POLICIES["full"]


def bounds(lower: float, estimate: float, upper: float) -> Interval:
    return Interval(estimate=estimate, lower=lower, upper=upper, n=8, alpha=0.004)


@pytest.mark.parametrize(
    ("found", "decision"),
    [
        (bounds(0.001, 0.05, 0.1), Decision.FASTER),
        (bounds(0.0, 0.05, 0.1), Decision.NO_REGRESSION),
        (bounds(-0.02, 0.0, 0.02), Decision.NO_REGRESSION),
        (bounds(-0.02, -0.012, -0.001), Decision.NO_REGRESSION),
        (bounds(-0.02, -0.018, -0.001), Decision.SLOWER),
        (bounds(-0.04, -0.014, -0.001), Decision.UNDECIDED),
        (bounds(-0.09, -0.05, 0.001), Decision.UNDECIDED),
        (bounds(-math.inf, 0.9, math.inf), Decision.UNDECIDED),
    ],
)
def test_one_interval_one_decision(found: Interval, decision: Decision) -> None:
    assert classify(found, QUICK) is decision


@pytest.mark.parametrize(
    ("decision", "claims", "verdict"),
    [
        (Decision.FASTER, True, Verdict.PASS),
        (Decision.FASTER, False, Verdict.PASS),
        (Decision.NO_REGRESSION, False, Verdict.PASS),
        (Decision.NO_REGRESSION, True, Verdict.UNPROVEN),
        (Decision.UNDECIDED, False, Verdict.UNPROVEN),
        (Decision.UNDECIDED, True, Verdict.UNPROVEN),
        (Decision.SLOWER, False, Verdict.FAIL),
        (Decision.SLOWER, True, Verdict.FAIL),
    ],
)
def test_decisions_and_claims_make_verdicts(decision: Decision, *, claims: bool, verdict: Verdict) -> None:
    assert verdict_of(decision, claims=claims) is verdict


def test_a_gain_below_the_least_one_is_not_called_faster() -> None:
    found = bounds(0.015, 0.03, 0.05)
    assert classify(found, QUICK) is Decision.FASTER
    assert classify(found, SWITCHES["full"]) is Decision.NO_REGRESSION
    assert classify(bounds(0.0199, 0.03, 0.05), SWITCHES["full"]) is Decision.FASTER


def test_nothing_is_decided_between_looks() -> None:
    assert judge([0.5] * 7, QUICK, claims=True) is None
    assert judge([0.5] * 9, QUICK, claims=True) is None


def test_a_clear_gain_ends_at_the_first_look() -> None:
    outcome = judge([0.4, 0.5, 0.45, 0.6, 0.41, 0.52, 0.38, 0.44], QUICK, claims=True)
    assert outcome is not None
    assert outcome[0] is Decision.FASTER
    assert outcome[1].lower == 0.38


def test_no_regression_ends_early_only_where_no_gain_is_claimed() -> None:
    flat = [0.01, -0.01, 0.005, -0.004, 0.002, -0.008, 0.003, -0.001]
    assert judge(flat, QUICK, claims=True) is None
    outcome = judge(flat, QUICK, claims=False)
    assert outcome is not None
    assert outcome[0] is Decision.NO_REGRESSION


def test_an_alarm_is_confirmed_by_further_pairs() -> None:
    slow = [-0.06 - 0.001 * i for i in range(16)]
    assert judge(slow[:8], QUICK, claims=False) is None
    outcome = judge(slow, QUICK, claims=False)
    assert outcome is not None
    assert outcome[0] is Decision.SLOWER


def test_the_last_look_always_decides() -> None:
    most = QUICK.looks[-1].pairs
    wild = [i / most - 0.5 for i in range(most)]
    outcome = judge(wild, QUICK, claims=False)
    assert outcome is not None
    assert verdict_of(outcome[0], claims=False) is Verdict.UNPROVEN


def run_gate(ratios: list[float], policy: Policy, *, claims: bool) -> Decision:
    for look in policy.looks:
        outcome = judge(ratios[: look.pairs], policy, claims=claims)
        if outcome:
            return outcome[0]
    raise AssertionError("the last look decides")


def simulate(gain: float, gates: int, policy: Policy, *, spread: float = 0.015, seed: int = 5) -> list[Decision]:
    rng = np.random.default_rng(seed)
    most = policy.looks[-1].pairs
    return [run_gate(noisy_ratios(rng, most, gain=gain, spread=spread), policy, claims=False) for _ in range(gates)]


@pytest.mark.parametrize("policy", [QUICK, FULL], ids=["quick", "full"])
def test_identical_builds_raise_no_alarm_in_300_gates(policy: Policy) -> None:
    """No alarm in 300 gates bounds the false-alarm rate below 1 % with 95 % confidence (3 / n)."""
    decisions = simulate(0.0, 300, policy)
    assert decisions.count(Decision.SLOWER) == 0
    assert decisions.count(Decision.NO_REGRESSION) + decisions.count(Decision.FASTER) >= 285
    assert decisions.count(Decision.FASTER) <= 6


@pytest.mark.parametrize("policy", [QUICK, FULL], ids=["quick", "full"])
def test_identical_builds_are_never_called_faster_beyond_the_error_spent(policy: Policy) -> None:
    rng = np.random.default_rng(17)
    gates = [run_gate(noisy_ratios(rng, policy.looks[-1].pairs), policy, claims=True) for _ in range(300)]
    assert gates.count(Decision.FASTER) <= 6


def test_a_slowdown_of_3_percent_is_found_and_passes_no_more_often_than_the_error_spent() -> None:
    """600 gates right at the margin, where passing is an error: found in 95 %, passed in 0.5 % at most."""
    decisions = simulate(math.log(0.97), 600, FULL, spread=0.01)
    assert decisions.count(Decision.SLOWER) >= 570
    assert decisions.count(Decision.NO_REGRESSION) + decisions.count(Decision.FASTER) <= 3


def test_a_slowdown_of_6_percent_is_found_by_the_quick_profile() -> None:
    decisions = simulate(math.log(0.94), 60, QUICK)
    assert decisions.count(Decision.SLOWER) == 60


def test_a_slowdown_under_heavy_noise_is_at_least_not_passed() -> None:
    decisions = simulate(math.log(0.90), 60, QUICK, spread=0.10)
    assert not {Decision.FASTER, Decision.NO_REGRESSION} & set(decisions)


def test_one_outlier_of_15_percent_among_20_raises_no_alarm() -> None:
    ratios = noisy_ratios(np.random.default_rng(3), 20, spread=0.01)
    ratios[7] = -0.16
    policy = Policy(
        margin=0.03, looks=(Look(pairs=10, alpha=0.002), Look(pairs=20, alpha=0.008)), pairs_per_start=5, warmup=1
    )
    assert run_gate(ratios, policy, claims=False) in {Decision.NO_REGRESSION, Decision.FASTER}


def test_interleaving_survives_a_drift_that_blocks_do_not() -> None:
    """The same drifting machine, one program: measured AAAA BBBB it alarms often, in pairs hardly ever."""
    rng = np.random.default_rng(8)
    blocks = pairs = 0
    for _ in range(200):
        times = drifting_times(rng, 32)
        block = [a - b for a, b in zip(times[:16], times[16:], strict=True)]
        interleaved = [times[2 * i] - times[2 * i + 1] for i in range(16)]
        blocks += abs_alarm(block)
        pairs += abs_alarm(interleaved)
    assert blocks >= 20
    assert pairs <= 6


def abs_alarm(ratios: list[float]) -> bool:
    found = interval(ratios, 0.005)
    return found.lower > 0 or found.upper < 0


def gate(name: str, verdict: Verdict) -> GateResult:
    return GateResult(gate=name, verdict=verdict, reason="x")


@pytest.mark.parametrize(
    ("verdicts", "expected", "verdict"),
    [
        ({"a": Verdict.PASS, "b": Verdict.PASS}, ["a", "b"], Verdict.PASS),
        ({"a": Verdict.PASS}, ["a", "b"], Verdict.UNPROVEN),
        ({"a": Verdict.PASS, "b": Verdict.UNPROVEN}, ["a", "b"], Verdict.UNPROVEN),
        ({"a": Verdict.UNPROVEN, "b": Verdict.FAIL}, ["a", "b"], Verdict.FAIL),
        ({}, [], Verdict.UNPROVEN),
    ],
)
def test_the_overall_gate_needs_every_scenario(
    verdicts: dict[str, Verdict], expected: list[str], verdict: Verdict
) -> None:
    result = overall([gate(name, one) for name, one in verdicts.items()], expected)
    assert result.verdict is verdict


def test_words_for_people_hold_the_figures() -> None:
    found = bounds(-0.01, 0.02, 0.05)
    assert in_words(Decision.NO_REGRESSION, found, claims=True, clock="cpu", control="stock") == (
        "no regression, and a gain is claimed: +2.0 % [-1.0, +5.1] tokens per CPU second against stock, 8 pairs"
    )
    assert in_words(Decision.FASTER, found, claims=True, clock="server", control="X=0") == (
        "faster: +2.0 % [-1.0, +5.1] tokens/s by the server's clock against X=0, 8 pairs"
    )
