"""From log ratios to a decision, and from measured scenarios to gates. PASS only on positive evidence."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ci.outcome import GateResult, JsonValue, Verdict, combine
from ci.throughput.clocks import CLOCKS, RATES, ClockName
from ci.throughput.policy import Policy
from ci.throughput.samples import Pair, Sample, Side
from ci.throughput.stats import Interval, interval, t_interval
from ci.throughput.waiting import extra_wait

OVERALL = "throughput"


class Decision(StrEnum):
    """What the pairs so far say about speed against stock."""

    FASTER = "faster"
    NO_REGRESSION = "no regression"
    SLOWER = "slower"
    UNDECIDED = "undecided"


def classify(found: Interval, policy: Policy) -> Decision:
    """Read one interval of the gain (log ratio of tokens/s, positive when speed is faster)."""
    if found.lower > policy.log_min_gain:
        return Decision.FASTER
    if found.upper < 0 and found.estimate < -policy.log_margin / 2:
        return Decision.SLOWER
    return Decision.NO_REGRESSION if found.lower > -policy.log_margin else Decision.UNDECIDED


def judge(ratios: Sequence[float], policy: Policy, *, claims: bool) -> tuple[Decision, Interval] | None:
    """Decide after a look, or ask for more pairs.

    Args:
        ratios: one log ratio of tokens/s per pair, in the order measured.
        policy: looks and margin.
        claims: whether a gain is promised, so that "no regression" is not enough before the last look.

    Returns:
        The decision and the interval it rests on; None when more pairs are to be measured.
    """
    position = next((i for i, look in enumerate(policy.looks) if look.pairs == len(ratios)), None)
    if position is None:
        return None
    found = interval(ratios, policy.looks[position].alpha)
    decision = classify(found, policy)
    last, first = position == len(policy.looks) - 1, position == 0
    settled = {
        Decision.FASTER: True,
        Decision.NO_REGRESSION: not claims,
        Decision.SLOWER: not first,  # an alarm is confirmed by further pairs before it counts
        Decision.UNDECIDED: False,
    }
    return (decision, found) if last or settled[decision] else None


def verdict_of(decision: Decision, *, claims: bool) -> Verdict:
    """The gate's answer for one scenario's decision."""
    passing = {Decision.FASTER} if claims else {Decision.FASTER, Decision.NO_REGRESSION}
    if decision is Decision.SLOWER:
        return Verdict.FAIL
    return Verdict.PASS if decision in passing else Verdict.UNPROVEN


def percent(log_ratio: float) -> float:
    """A log ratio as a change in percent."""
    return 100 * math.expm1(log_ratio)


def in_words(decision: Decision, found: Interval, *, claims: bool, clock: ClockName, control: str) -> str:
    """A sentence for people; the gain is that of side b over side a."""
    bounds = f"{percent(found.estimate):+.1f} % [{percent(found.lower):+.1f}, {percent(found.upper):+.1f}]"
    wish = ", and a gain is claimed" if claims and decision is not Decision.FASTER else ""
    return f"{decision}{wish}: {bounds} {RATES[clock]} against {control}, {found.n} pairs"


def ratios(pairs: Sequence[Pair], clock: ClockName) -> tuple[float, ...]:
    """Log ratios of tokens/s by one clock."""
    return tuple(pair.log_ratio(clock) for pair in pairs)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one scenario gave.

    Attributes:
        scenario: its name.
        claims: whether a gain is promised.
        sides: the control (a) and what is judged (b).
        build_infos: what their servers said they are; empty when none started.
        pairs: in the order measured.
        clock: what the decision rests on.
        decision: what they say; undecided when refused.
        interval: of the log ratio of tokens/s; None when refused.
        refusals: why the figures must not be judged; empty when they may.
        policy: the numbers used.
    """

    scenario: str
    claims: bool
    sides: tuple[Side, Side]
    build_infos: tuple[str, ...]
    pairs: tuple[Pair, ...]
    clock: ClockName
    decision: Decision
    interval: Interval | None
    refusals: tuple[str, ...]
    policy: Policy

    @property
    def log_ratios(self) -> tuple[float, ...]:
        """Log of tokens/s of side b over side a, one per pair, in the order measured."""
        return ratios(self.pairs, self.clock)


def refused(
    scenario: str, claims: bool, sides: tuple[Side, Side], policy: Policy, clock: ClockName, reason: str
) -> Measured:
    """A scenario that was not measured at all, and why."""
    return Measured(
        scenario=scenario,
        claims=claims,
        sides=sides,
        build_infos=(),
        pairs=(),
        clock=clock,
        decision=Decision.UNDECIDED,
        interval=None,
        refusals=(reason,),
        policy=policy,
    )


def gate_of(measured: Measured) -> GateResult:
    """The gate of one scenario; its evidence holds every figure."""
    if measured.interval is None:
        reason = "not measured: " + ("; ".join(measured.refusals) or "no pairs")
        verdict = Verdict.UNPROVEN
    else:
        control, clock = measured.sides[0].name, measured.clock
        reason = in_words(measured.decision, measured.interval, claims=measured.claims, clock=clock, control=control)
        verdict = verdict_of(measured.decision, claims=measured.claims)
    return GateResult(gate=measured.scenario, verdict=verdict, reason=reason, evidence=figures_of(measured))


def figures_of(measured: Measured) -> dict[str, JsonValue]:
    """All figures of a scenario as plain JSON; per side medians over its pairs, times in ms, ratios as logs.

    `extra_wait` is a share of elapsed time: 0.1 when side b waits 10 % of it longer than side a.
    """
    a, b = measured.sides
    samples_a, samples_b = [pair.a for pair in measured.pairs], [pair.b for pair in measured.pairs]
    return {
        "claims": measured.claims,
        "decision": measured.decision.value,
        "rule": measured.policy.rule(measured.clock, judged=b.name, control=a.name),
        "refusals": list(measured.refusals),
        "n_pairs": len(measured.pairs),
        "n_expected": measured.policy.looks[0].pairs,
        "build_infos": list(measured.build_infos),
        "sides": {"a": _side(a, samples_a), "b": _side(b, samples_b)},
        "log_ratio": _bounds(measured.interval),
        "gain_percent": round(percent(measured.interval.estimate), 2) if measured.interval else None,
        "log_ratio_t": _bounds(_student(measured)),
        "clock": measured.clock,
        "log_ratio_by_clock": {clock: _median(ratios(measured.pairs, clock)) for clock in CLOCKS},
        "extra_wait": _bounds(extra_wait(measured.pairs)) if measured.pairs else None,
        "log_ratio_tokens_per_round": _median([pair.round_log_ratio for pair in measured.pairs]),
        "same_work": sum(pair.a.work == pair.b.work for pair in measured.pairs),
        "log_ratios": [round(value, 6) for value in measured.log_ratios],
        "orders": [pair.turn.order for pair in measured.pairs],
    }


def _side(side: Side, samples: Sequence[Sample]) -> dict[str, JsonValue]:
    drafted, accepted = sum(s.draft_n for s in samples), sum(s.draft_n_accepted for s in samples)
    return {
        "name": side.name,
        "label": side.label,
        "digest": side.digest,
        "env": dict(side.env),
        "tokens_per_s": _median([1000 / s.ms_per_token for s in samples]),
        "cpu_ms_per_token": _median([s.cpu_ms_per_token for s in samples]),
        "ms_per_token": _median([s.ms_per_token for s in samples]),
        "ms_per_round": _median([s.ms_per_token * s.tokens_per_round for s in samples]),
        "tokens_per_round": _median([s.tokens_per_round for s in samples]),
        "draft_n": drafted,
        "draft_n_accepted": accepted,
        "acceptance": round(accepted / drafted, 4) if drafted else None,
        "all_ms_per_token": [round(s.ms_per_token, 5) for s in samples],
        "all_cpu_ms_per_token": [round(s.cpu_ms_per_token, 5) for s in samples],
    }


def pairs_of(measured: Measured) -> list[JsonValue]:
    """Every pair as it was measured, times in ms per token: enough to judge the scenario again by another rule."""
    return [
        {"order": pair.turn.order, "seed": pair.turn.seed, "a": _sample(pair.a), "b": _sample(pair.b)}
        for pair in measured.pairs
    ]


def _sample(sample: Sample) -> dict[str, JsonValue]:
    return {
        "tokens": len(sample.tokens),
        "rounds": sample.rounds,
        "draft_n": sample.draft_n,
        "draft_n_accepted": sample.draft_n_accepted,
        "cpu": round(sample.cpu_ms_per_token, 5),
        "server": round(sample.ms_per_token, 5),
        "wall": round(sample.wall_ms_per_token, 5),
        "elapsed": round(sample.elapsed_ms_per_token, 5),
    }


def _student(measured: Measured) -> Interval | None:
    found = measured.interval
    return t_interval(measured.log_ratios, found.alpha) if found and found.n > 1 else None


def _median(values: Sequence[float]) -> float | None:
    return round(statistics.median(values), 5) if values else None


def _bounds(found: Interval | None) -> dict[str, JsonValue] | None:
    if found is None:
        return None
    bounds = {"estimate": found.estimate, "lower": found.lower, "upper": found.upper}
    finite = {key: round(value, 6) if math.isfinite(value) else None for key, value in bounds.items()}
    return {**finite, "alpha": found.alpha, "n": found.n}


def overall(gates: Sequence[GateResult], expected: Sequence[str]) -> GateResult:
    """One gate over all scenarios: each must be there and PASS.

    Args:
        gates: one per measured scenario, named by it.
        expected: names of the scenarios that the profile runs.
    """
    missing = sorted(set(expected) - {gate.gate for gate in gates})
    verdict = combine([gate.verdict for gate in gates] + [Verdict.UNPROVEN] * bool(missing))
    bad = [f"{gate.gate}: {gate.verdict}" for gate in gates if gate.verdict is not Verdict.PASS]
    reason = "; ".join([*bad, *(f"{name}: not measured" for name in missing)]) or f"all {len(gates)} scenarios pass"
    evidence = {"n_compared": len(gates), "n_expected": len(expected), "missing": missing}
    return GateResult(gate=OVERALL, verdict=verdict, reason=reason if expected else "no scenarios", evidence=evidence)
