"""Rows of exact pairs, from simulated servers: honest ones pass, every way of being wrong fails or proves nothing."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from ci.law import Counters, PairLaw, Walk, replay, tempered
from ci.law_forms import dspark_step, request_worth
from ci.models.exact_pair import HYBRID, SECOND_ORDER, SMALL
from ci.models.pair_spec import make_law
from ci.outcome import Verdict
from ci.parity.pair_check import judge_pair
from ci.parity.pair_figures import CONTROL, DSPARK, DSPARK_P_MIN, PLAIN, SIMPLE, SIMPLE_SAMPLED, Mode, pair_figures
from ci.parity.policy import PAIR_N_MAX
from ci.parity.sampled import Sampled

TEXTS, LENGTH = 480, 16
LAWS = {spec.name: make_law(spec) for spec in (SMALL, SECOND_ORDER, HYBRID)}


def drawn(law: PairLaw, *, seed: int = 1, texts: int = TEXTS, favour: float = 1.0) -> list[Sampled]:
    """Texts of the law, or of one that favours what the draft proposes."""
    rng, out = np.random.default_rng(seed), []
    for index in range(texts):
        start = index % law.n_state
        walk, states = Walk(law, start), []
        for _ in range(LENGTH):
            probs = tempered(walk.log_law(), 1.0)
            probs[law.successor[walk.current]] *= favour
            states.append(int(rng.choice(law.n_state, p=probs / probs.sum())))
            walk.step(states[-1])
        out.append(Sampled(start=start, tokens=law.tokens_of(states), counters=Counters()))
    return out


def counted(law: PairLaw, texts: Sequence[Sampled], mode: Mode, *, checkpoint: bool = False) -> list[Sampled]:
    """The same texts from a server that drafts without chance."""
    return [
        dataclasses.replace(
            text,
            counters=replay(
                law, law.states_of(text.tokens), n_max=PAIR_N_MAX, p_min=mode.p_min, checkpoint=checkpoint
            ),
        )
        for text in texts
    ]


def verdict_of(
    name: str, mode: Mode, texts: Sequence[Sampled], *, plain: Sequence[Sampled] = (), needed: int = TEXTS * LENGTH
) -> tuple[Verdict, str]:
    figures = pair_figures(LAWS[name], mode, texts, temperature=1.0, hybrid=name == "HYBRID", plain=plain)
    gate = judge_pair("row", mode, figures, needed=needed)
    return gate.verdict, gate.reason


@pytest.fixture(scope="module")
def plain() -> dict[str, list[Sampled]]:
    return {name: drawn(law) for name, law in LAWS.items()}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("mode", [PLAIN, DSPARK, DSPARK_P_MIN, SIMPLE], ids=lambda mode: mode.name)
def test_an_honest_server_passes(name: str, mode: Mode, plain: dict[str, list[Sampled]]) -> None:
    checkpoint = (name, mode) == ("HYBRID", SIMPLE)
    texts = counted(LAWS[name], plain[name], mode, checkpoint=checkpoint) if mode.spec_type else plain[name]
    verdict, reason = verdict_of(name, mode, texts, plain=plain[name])
    assert verdict is Verdict.PASS, reason


def test_a_row_says_that_its_texts_had_nothing_to_be_compared_with(plain: dict[str, list[Sampled]]) -> None:
    texts = counted(LAWS["SMALL"], plain["SMALL"], DSPARK)
    assert verdict_of("SMALL", DSPARK, texts)[1].endswith("; not compared with plain sampling")
    assert "compared" not in verdict_of("SMALL", DSPARK, texts, plain=plain["SMALL"][:24])[1]


def test_figures_stand_beside_their_closed_forms(plain: dict[str, list[Sampled]]) -> None:
    law = LAWS["SMALL"]
    figures = pair_figures(law, DSPARK, counted(law, plain["SMALL"], DSPARK), temperature=1.0, plain=plain["SMALL"])
    worth = request_worth(dspark_step(law, 1.0), np.full(law.n_state, TEXTS / law.n_state), LENGTH, PAIR_N_MAX)
    assert figures.expected is not None
    assert figures.expected.accepted == pytest.approx(worth.accepted)
    assert figures.by_position is not None
    assert figures.by_position[:3] == pytest.approx(figures.expected.by_position[:3], abs=0.05)
    assert figures.mean_length == pytest.approx(figures.expected.mean_length, abs=0.1)
    assert (figures.same, figures.exact, figures.compared) == (TEXTS, TEXTS, TEXTS)
    assert set(figures.p_values) == {"G", "z_direction", "z_argmax", "last", "acceptance", "accepted"}


def test_a_law_that_favours_the_draft_fails() -> None:
    verdict, reason = verdict_of("SMALL", PLAIN, drawn(LAWS["SMALL"], favour=1.3))
    assert verdict is Verdict.FAIL
    assert "below" in reason


def test_second_order_texts_fail_the_first_order_law(plain: dict[str, list[Sampled]]) -> None:
    first = dataclasses.replace(LAWS["SECOND_ORDER"], history=None, recalls_itself=False)
    figures = pair_figures(first, PLAIN, plain["SECOND_ORDER"], temperature=1.0)
    assert figures.law.test.p_value < 1e-12
    assert judge_pair("row", PLAIN, figures, needed=0).verdict is Verdict.FAIL


@pytest.mark.parametrize("broken", ["counters", "text"])
def test_one_text_or_counter_that_differs_fails(broken: str, plain: dict[str, list[Sampled]]) -> None:
    texts = counted(LAWS["SMALL"], plain["SMALL"], DSPARK)
    reference = list(plain["SMALL"])
    if broken == "counters":
        counters = texts[7].counters.plus(drafted=1, accepted=0)
        texts[7] = dataclasses.replace(texts[7], counters=counters)
    else:
        reference[7] = reference[8]
    verdict, reason = verdict_of("SMALL", DSPARK, texts, plain=reference)
    assert verdict is Verdict.FAIL
    assert "only 479 of 480 have" in reason


def test_sampled_drafts_that_are_accepted_too_often_fail(plain: dict[str, list[Sampled]]) -> None:
    counters = Counters(drafted=40, accepted=LENGTH - 1)
    texts = [dataclasses.replace(text, counters=counters) for text in plain["SMALL"]]
    verdict, reason = verdict_of("SMALL", SIMPLE_SAMPLED, texts)
    assert verdict is Verdict.FAIL
    assert reason.startswith("accept")


def test_a_token_that_the_law_forbids_fails(plain: dict[str, list[Sampled]]) -> None:
    texts = [dataclasses.replace(plain["SMALL"][0], tokens=(*plain["SMALL"][0].tokens[:-1], 0)), *plain["SMALL"][1:]]
    assert verdict_of("SMALL", PLAIN, texts) == (Verdict.FAIL, "1 text(s) with a token that the law forbids")


@pytest.mark.parametrize(
    ("mode", "texts", "words"),
    [
        (PLAIN, 479, "only 7664 of 7680 transitions"),
        (DSPARK, 480, "draft_n is 0"),
        (CONTROL, 480, "draft_n is 0"),
        (PLAIN, 0, "only 0 of 7680 transitions"),
    ],
)
def test_too_little_proves_nothing(mode: Mode, texts: int, words: str, plain: dict[str, list[Sampled]]) -> None:
    verdict, reason = verdict_of("SMALL", mode, plain["SMALL"][:texts])
    assert verdict is Verdict.UNPROVEN
    assert words in reason


def test_texts_too_few_for_a_test_prove_nothing(plain: dict[str, list[Sampled]]) -> None:
    verdict, reason = verdict_of("SMALL", PLAIN, plain["SMALL"][:1], needed=0)
    assert (verdict, reason) == (Verdict.UNPROVEN, "no state was met often enough for a test")


@pytest.mark.parametrize(("favour", "verdict"), [(8.0, Verdict.PASS), (1.0, Verdict.FAIL)])
def test_a_control_passes_when_the_test_sees_it(favour: float, verdict: Verdict) -> None:
    texts = counted(LAWS["SMALL"], drawn(LAWS["SMALL"], favour=favour), DSPARK)
    assert verdict_of("SMALL", CONTROL, texts)[0] is verdict


def test_evidence_is_plain_json(plain: dict[str, list[Sampled]]) -> None:
    figures = pair_figures(LAWS["HYBRID"], PLAIN, plain["HYBRID"], temperature=1.0, hybrid=True)
    evidence = judge_pair("row", PLAIN, figures, needed=1).to_json()["evidence"]
    assert evidence["expected_acceptance"] is evidence["z_accepted"] is evidence["counters_exact"] is None
    assert evidence["last_p"] is None
    assert evidence["transitions"] == TEXTS * LENGTH
