"""Sampled texts of an exact pair against its law: speculation may change how fast a text comes, never its law.

Rejection sampling of drafts gives texts that follow the target's law exactly (Leviathan, Kalman, Matias 2023), so
tokens sampled by a server are data for a goodness-of-fit test with nothing to estimate. A repair of exactness is
judged by that: with its switch on the texts follow the law; with its switch off, the control, they do not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ci.law import Array, Counters, GTest, Ints, PairLaw, g_test, path_laws, tempered
from ci.outcome import GateResult, JsonValue, Verdict, combine
from ci.parity.policy import LAW_ALPHA, Sampling

GATE = "law"
SURE = 1e-300  # keeps ln P finite where the law says never


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """One sampled text.

    Attributes:
        start: state of the one-token prompt.
        tokens: generated ids.
        counters: the server's draft counters.
    """

    start: int
    tokens: tuple[int, ...]
    counters: Counters


@dataclass(frozen=True, kw_only=True)
class LawFigures:
    """What a set of sampled texts says about its law.

    Attributes:
        transitions: tokens drawn, each from a known law.
        foreign: texts with a token that is no state of the pair: impossible under the law.
        test: the pooled G-test.
        z_direction: drift along Q/P, the way that a fault of drafting pushes; standard normal under the law.
        z_argmax: excess of the draft's favourite token argmax Q; standard normal under the law.
        counters: draft counters summed over the texts.
    """

    transitions: int
    foreign: int
    test: GTest
    z_direction: float
    z_argmax: float
    counters: Counters

    @property
    def acceptance(self) -> float:
        """Accepted share of drafted tokens; NaN when nothing was drafted."""
        return self.counters.accepted / self.counters.drafted if self.counters.drafted else math.nan

    def to_json(self) -> dict[str, JsonValue]:
        """As evidence; figures that do not exist are null."""
        return {
            "transitions": self.transitions,
            "foreign": self.foreign,
            "g": self.test.statistic,
            "df": self.test.df,
            "p": _number(self.test.p_value),
            "z_direction": _number(self.z_direction),
            "z_argmax": _number(self.z_argmax),
            "draft_n": self.counters.drafted,
            "draft_n_accepted": self.counters.accepted,
            "acceptance": _number(self.acceptance),
        }


@dataclass(frozen=True, kw_only=True)
class SeedSet:
    """One set of seeds on both arms of a switch.

    Attributes:
        seed: the first of its seeds.
        off: the control, the repair switched off.
        on: what is judged.
    """

    seed: int
    off: LawFigures
    on: LawFigures


# ---- figures -----------------------------------------------------------------------------------------------------


def figures_of(law: PairLaw, texts: Sequence[Sampled], *, temperature: float = 1.0) -> LawFigures:
    """Test sampled texts against the law that they should follow.

    Args:
        law: of the pair.
        texts: of one arm; a text counts up to its first token that is no state.
        temperature: at which they were sampled.
    """
    known = [_known_states(law, text.tokens) for text in texts]
    paths = list(zip(texts, known, strict=True))
    current = np.array([s for text, states in paths for s in (text.start, *states)[: len(states)]], dtype=np.int64)
    following = np.array([state for states in known for state in states], dtype=np.int64)
    logs = [path_laws(law, text.start, states) for text, states in paths]
    probs = tempered(np.concatenate([np.empty((0, law.n_state)), *logs]), temperature)
    return LawFigures(
        transitions=len(following),
        foreign=sum(len(states) < len(text.tokens) for text, states in paths),
        test=_pooled_g_test(current, following, probs),
        z_direction=_z_direction(following, probs, law.log_q[current]),
        z_argmax=_z_argmax(following, probs, law.successor[current]),
        counters=_summed(texts),
    )


def _known_states(law: PairLaw, tokens: Sequence[int]) -> tuple[int, ...]:
    """The states of a text up to its first token that is none."""
    inside = [0 <= token - law.first < law.n_state for token in tokens]
    return law.states_of(tokens[: inside.index(False) if False in inside else len(tokens)])


def _pooled_g_test(current: Ints, following: Ints, probs: Array) -> GTest:
    """The G-test with one row per current state, its law the mean of the laws of its transitions.

    A hybrid's law depends on the whole text, so every transition has a law of its own. Counts of a row are then sums
    of draws that are not identical, whose variance is below the multinomial's: the test errs towards passing.
    """
    n = probs.shape[1]
    expected = np.zeros((n, n))
    np.add.at(expected, current, probs)
    means = expected / np.maximum(expected.sum(axis=1, keepdims=True), SURE)
    return g_test(current.tolist(), following.tolist(), means)


def _z_direction(following: Ints, probs: Array, log_q: Array) -> float:
    """Sum of mid-ranks of the drawn tokens, sorted by Q/P within each law, over its exact standard deviation."""
    order = np.argsort(np.log(np.maximum(probs, SURE)) - log_q, axis=1)
    ordered = np.take_along_axis(probs, order, axis=1)
    ranks = np.cumsum(ordered, axis=1) - ordered / 2 - 0.5  # mean 0 under the law by construction
    place = np.argsort(order, axis=1)[np.arange(len(following)), following]
    drawn = ranks[np.arange(len(following)), place]
    return _ratio(-float(drawn.sum()), float((ordered * ranks**2).sum()))


def _z_argmax(following: Ints, probs: Array, favourite: Ints) -> float:
    """Excess of texts that went on with argmax Q, over its exact standard deviation."""
    chance = probs[np.arange(len(following)), favourite]
    return _ratio(float((following == favourite).sum() - chance.sum()), float((chance * (1 - chance)).sum()))


def _ratio(excess: float, variance: float) -> float:
    return excess / math.sqrt(variance) if variance > 0 else math.nan


def _summed(texts: Sequence[Sampled]) -> Counters:
    return Counters(
        drafted=sum(text.counters.drafted for text in texts), accepted=sum(text.counters.accepted for text in texts)
    )


# ---- verdicts ----------------------------------------------------------------------------------------------------


def judge_law(figures: LawFigures, *, needed: int) -> GateResult:
    """Whether texts follow their law: FAIL below the policy's level, UNPROVEN with too little or without drafts."""
    verdict, reason = _law_verdict(figures, needed)
    evidence = {**figures.to_json(), "needed": needed, "alpha": LAW_ALPHA}
    return GateResult(gate=GATE, verdict=verdict, reason=reason, evidence=evidence)


def _law_verdict(figures: LawFigures, needed: int) -> tuple[Verdict, str]:
    p_value = figures.test.p_value
    if figures.foreign:
        return Verdict.FAIL, f"{figures.foreign} text(s) with a token that the law forbids"
    if figures.transitions < needed:
        return Verdict.UNPROVEN, f"only {figures.transitions} of {needed} transitions"
    if figures.counters.drafted == 0:
        return Verdict.UNPROVEN, "draft_n is 0: nothing was speculated, so plain sampling was tested"
    if math.isnan(p_value):
        return Verdict.UNPROVEN, "no state was met often enough for a test"
    found = f"p = {p_value:.3g} over {figures.transitions} transitions"
    if p_value < LAW_ALPHA:
        return Verdict.FAIL, f"the texts do not follow the law: {found}, below {LAW_ALPHA:g}"
    return Verdict.PASS, f"the texts follow the law: {found}"


def judge_repair(sets: Sequence[SeedSet], sampling: Sampling) -> GateResult:
    """Whether a repair of exactness repairs: the law holds with the switch on, and was seen broken with it off.

    Args:
        sets: the measured seed sets; fewer than the policy's prove nothing.
        sampling: how much was asked for, and whether the control must show the defect.
    """
    verdict, reason = _repair_verdict(sets, sampling)
    evidence = {
        "alpha": LAW_ALPHA,
        "needed": sampling.transitions,
        "defect": defect_words(sets),
        "seed_sets": [
            {
                "seed": one.seed,
                "verdict": judge_law(one.on, needed=sampling.transitions).verdict.value,
                "off": one.off.to_json(),
                "on": one.on.to_json(),
            }
            for one in sets
        ],
    }
    return GateResult(gate=GATE, verdict=verdict, reason=reason, evidence=evidence)


def _repair_verdict(sets: Sequence[SeedSet], sampling: Sampling) -> tuple[Verdict, str]:
    repaired = [judge_law(one.on, needed=sampling.transitions) for one in sets]
    verdict = combine(gate.verdict for gate in repaired)
    if verdict is Verdict.FAIL:
        return verdict, "on: " + next(gate.reason for gate in repaired if gate.verdict is Verdict.FAIL)
    doubts = _doubts(sets, sampling)
    if doubts:
        return Verdict.UNPROVEN, doubts[0]
    return Verdict.PASS, f"the law holds with the switch on; off: {defect_words(sets)}"


def _doubts(sets: Sequence[SeedSet], sampling: Sampling) -> list[str]:
    """Why texts that follow the law prove no repair."""
    found = []
    if len(sets) < len(sampling.seeds):
        found.append(f"{len(sets)} of {len(sampling.seeds)} seed sets were measured")
    for name, arms in (("on", [one.on for one in sets]), ("off", [one.off for one in sets])):
        gates = [judge_law(arm, needed=sampling.transitions) for arm in arms]
        found += [f"{name}: {gate.reason}" for gate in gates if gate.verdict is Verdict.UNPROVEN]
    if any(one.off == one.on for one in sets):
        found.append("both arms drew the same texts: the switch changed nothing")
    if sampling.defect_must_show and not _visible(sets):
        found.append(f"the defect did not show, so nothing was repaired visibly: off: {defect_words(sets)}")
    return found


def _visible(sets: Sequence[SeedSet]) -> bool:
    return any(one.off.test.p_value < LAW_ALPHA for one in sets)


def defect_words(sets: Sequence[SeedSet]) -> str:
    """What the control shows, in words."""
    values = ", ".join(f"{one.off.test.p_value:.3g}" for one in sets)
    return f"{'defect visible' if _visible(sets) else 'defect not visible'}: p = {values or 'unknown'}"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
