"""The test of sampled texts against their law: it must pass honest texts, and fail faults of the sizes that occur."""

import math

import numpy as np
import pytest

from ci.law import Counters, GTest, PairLaw, Walk
from ci.models.pair_spec import PairSpec, make_law
from ci.outcome import Verdict
from ci.parity.policy import SAMPLING, Sampling
from ci.parity.sampled import LawFigures, Sampled, SeedSet, figures_of, judge_law, judge_repair
from tests.helpers.drafting import BIASED, HONEST, REWOUND, served

QUICK, FULL = SAMPLING["quick"], SAMPLING["full"]
SOME = 72  # texts of a hybrid: its laws are worked out state by state
LAW = make_law(PairSpec(name="first-order"))
HYBRID_LAW = make_law(PairSpec(name="hybrid", arch="qwen35moe", order2=1.5, n_embd=256))


def figures(
    p: float = 0.5, *, transitions: int = FULL.transitions, drafted: int = 100, foreign: int = 0
) -> LawFigures:
    return LawFigures(
        transitions=transitions,
        foreign=foreign,
        test=GTest(statistic=300.0, df=300, p_value=p),
        z_direction=0.0,
        z_argmax=0.0,
        counters=Counters(drafted=drafted, accepted=drafted // 5),
    )


def hybrid_texts(requests: int, *, memory: bool = True, seed: int = 1) -> list[Sampled]:
    """Texts drawn from the hybrid's law state by state; without memory, from its law at a fresh start."""
    rng, texts = np.random.default_rng(seed), []
    for index in range(requests):
        walk, states = Walk(HYBRID_LAW, index % 24), []
        for _ in range(64):
            row = walk.log_law() if memory else Walk(HYBRID_LAW, walk.current).log_law()
            states.append(min(int(np.searchsorted(np.exp(row).cumsum(), rng.random())), 23))
            walk.step(states[-1])
        tokens = HYBRID_LAW.tokens_of(states)
        texts.append(Sampled(start=index % 24, tokens=tokens, counters=Counters(drafted=70, accepted=10)))
    return texts


# ---- figures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", [QUICK, FULL], ids=["quick", "full"])
def test_honest_verification_passes_at_the_stated_sizes(sampling: Sampling) -> None:
    found = figures_of(LAW, served(LAW, HONEST, sampling.requests))
    assert found.transitions == sampling.transitions
    assert judge_law(found, needed=sampling.transitions).verdict is Verdict.PASS
    assert abs(found.z_direction) < 4
    assert abs(found.z_argmax) < 4


@pytest.mark.parametrize(
    ("sampling", "fault"),
    [(FULL, REWOUND), (FULL, BIASED), (QUICK, BIASED)],  # quick is too small to rely on for a rewound stream
    ids=["full-rewound", "full-biased", "quick-biased"],
)
def test_faults_of_verification_fail_at_the_stated_sizes(sampling: Sampling, fault: str) -> None:
    found = figures_of(LAW, served(LAW, fault, sampling.requests))
    gate = judge_law(found, needed=sampling.transitions)
    assert gate.verdict is Verdict.FAIL
    assert "do not follow the law" in gate.reason


def test_rewinding_the_stream_costs_acceptance() -> None:
    honest, rewound = (figures_of(LAW, served(LAW, fault, 250)) for fault in (HONEST, REWOUND))
    assert rewound.acceptance < honest.acceptance


def test_a_replacement_that_forgets_the_draft_shows_as_a_drift_along_q() -> None:
    assert figures_of(LAW, served(LAW, BIASED, 250)).z_direction > 4


def test_texts_of_a_hybrid_pass_against_laws_with_memory() -> None:
    gate = judge_law(figures_of(HYBRID_LAW, hybrid_texts(SOME)), needed=64 * SOME)
    assert gate.verdict is Verdict.PASS


def test_texts_of_a_hybrid_that_lost_its_memory_fail() -> None:
    gate = judge_law(figures_of(HYBRID_LAW, hybrid_texts(SOME, memory=False)), needed=64 * SOME)
    assert gate.verdict is Verdict.FAIL


def test_figures_are_those_of_the_states_and_counters() -> None:
    """Two states, P = (3/4, 1/4) after either; the draft's favourite is state 1."""
    law = PairLaw(
        first=5,
        log_p=np.log([[0.75, 0.25], [0.75, 0.25]]),
        log_q=np.log([[0.4, 0.6], [0.4, 0.6]]),
        confidence=np.ones(2),
    )
    found = figures_of(law, [Sampled(start=0, tokens=(5, 5, 6, 6), counters=Counters(drafted=8, accepted=2))] * 2)
    assert (found.transitions, found.foreign, found.acceptance) == (8, 0, 0.25)
    assert found.z_argmax == pytest.approx((4 - 2) / math.sqrt(8 * 3 / 16))
    assert found.z_direction == pytest.approx(found.z_argmax)  # of two tokens, the favourite is the direction


def test_a_text_counts_up_to_the_token_that_is_no_state() -> None:
    counters = Counters(drafted=1, accepted=0)
    found = figures_of(LAW, [Sampled(start=0, tokens=(*LAW.tokens_of([1, 2]), 4, 9), counters=counters)])
    assert (found.transitions, found.foreign) == (2, 1)


def test_no_texts_give_no_figures() -> None:
    found = figures_of(LAW, [])
    evidence = found.to_json()
    assert (found.transitions, evidence["p"], evidence["z_direction"], evidence["acceptance"]) == (
        0,
        None,
        None,
        None,
    )
    assert judge_law(found, needed=0).verdict is Verdict.UNPROVEN


# ---- one arm -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "verdict", "words"),
    [
        (figures(0.5), Verdict.PASS, "p = 0.5 over 64000 transitions"),
        (figures(0.001), Verdict.PASS, "follow the law"),
        (figures(0.00099), Verdict.FAIL, "below 0.001"),
        (figures(math.nan), Verdict.UNPROVEN, "often enough"),
        (figures(0.5, transitions=63_999), Verdict.UNPROVEN, "only 63999 of 64000 transitions"),
        (figures(1e-9, transitions=63_999), Verdict.UNPROVEN, "only 63999"),
        (figures(0.5, drafted=0), Verdict.UNPROVEN, "draft_n is 0"),
        (figures(0.5, foreign=1), Verdict.FAIL, "the law forbids"),
    ],
)
def test_an_arm_is_judged_by_level_amount_and_drafts(found: LawFigures, verdict: Verdict, words: str) -> None:
    gate = judge_law(found, needed=FULL.transitions)
    assert (gate.gate, gate.verdict) == ("law", verdict)
    assert words in gate.reason


# ---- a repair ----------------------------------------------------------------------------------------------------

GOOD, BAD, FEW = figures(0.5), figures(1e-9), figures(0.4, transitions=10)


def seed_sets(*arms: tuple[LawFigures, LawFigures]) -> tuple[SeedSet, ...]:
    return tuple(SeedSet(seed=20_000 + i, off=off, on=on) for i, (off, on) in enumerate(arms))


OTHER = figures(0.6)


@pytest.mark.parametrize(
    ("arms", "verdict", "words"),
    [
        (((BAD, GOOD), (BAD, GOOD)), Verdict.PASS, "off: defect visible: p = 1e-09, 1e-09"),
        (((BAD, GOOD), (OTHER, GOOD)), Verdict.PASS, "defect visible"),
        (((OTHER, GOOD), (OTHER, GOOD)), Verdict.UNPROVEN, "nothing was repaired visibly"),
        (((BAD, GOOD), (BAD, figures(1e-8))), Verdict.FAIL, "on: the texts do not follow the law"),
        (((OTHER, BAD), (OTHER, FEW)), Verdict.FAIL, "on: the texts do not follow the law"),
        (((BAD, GOOD), (BAD, FEW)), Verdict.UNPROVEN, "on: only 10"),
        (((BAD, GOOD), (FEW, GOOD)), Verdict.UNPROVEN, "off: only 10"),
        (((BAD, GOOD), (GOOD, GOOD)), Verdict.UNPROVEN, "the switch changed nothing"),
        (((BAD, GOOD),), Verdict.UNPROVEN, "1 of 2 seed sets"),
        ((), Verdict.UNPROVEN, "0 of 2 seed sets"),
    ],
)
def test_a_repair_needs_the_law_with_it_and_the_defect_without(
    arms: tuple[tuple[LawFigures, LawFigures], ...], verdict: Verdict, words: str
) -> None:
    gate = judge_repair(seed_sets(*arms), FULL)
    assert gate.verdict is verdict
    assert words in gate.reason


def test_the_quick_profile_states_a_defect_that_did_not_show_and_passes() -> None:
    few = [figures(p, transitions=QUICK.transitions) for p in (0.6, 0.5)]
    gate = judge_repair(seed_sets((few[0], few[1]), (few[0], few[1])), QUICK)
    assert gate.verdict is Verdict.PASS
    assert "defect not visible: p = 0.6, 0.6" in gate.reason


def test_the_evidence_of_a_repair_holds_every_figure_of_both_arms() -> None:
    evidence = judge_repair(seed_sets((BAD, GOOD), (BAD, FEW)), FULL).evidence
    assert [one["verdict"] for one in evidence["seed_sets"]] == ["PASS", "UNPROVEN"]
    assert (evidence["seed_sets"][0]["off"]["p"], evidence["seed_sets"][0]["on"]["acceptance"]) == (1e-9, 0.2)
    assert (evidence["alpha"], evidence["needed"]) == (1e-3, 64_000)
