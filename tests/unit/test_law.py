import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.law import (
    Counters,
    PairLaw,
    Walk,
    argmax_chain,
    draft_from,
    g_test,
    log_softmax,
    path_laws,
    replay,
    tempered,
)


def law_of(p: Sequence[Sequence[float]], q: Sequence[Sequence[float]], confidence: Sequence[float] = ()) -> PairLaw:
    conf = np.array(confidence or [0.5] * len(p))
    return PairLaw(first=10, log_p=np.log(np.array(p)), log_q=np.log(np.array(q)), confidence=conf)


CYCLE = [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]  # 0 -> 1 -> 2 -> 0
STUCK = [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.1, 0.8]]  # 0 -> 1 -> 2 -> 2


def test_log_softmax_normalises_and_ignores_offsets() -> None:
    logits = np.array([[0.0, math.log(3.0)], [1000.0, 1000.0]])
    assert np.exp(log_softmax(logits)) == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5]]))


def test_tempering_to_zero_leaves_the_argmax_alone() -> None:
    assert tempered(np.log(np.array([[0.2, 0.5, 0.3]])), 0.0).tolist() == [[0.0, 1.0, 0.0]]


def test_tempering_raises_to_a_power() -> None:
    probs = tempered(np.log(np.array([0.2, 0.8])), 0.5)
    assert probs == pytest.approx([0.04 / 0.68, 0.64 / 0.68])


def test_tokens_and_states_translate_both_ways() -> None:
    law = law_of(CYCLE, CYCLE)
    assert law.states_of((10, 12, 11)) == (0, 2, 1)
    assert law.tokens_of((0, 2, 1)) == (10, 12, 11)


@pytest.mark.parametrize("token", [9, 13])
def test_a_token_outside_the_states_is_refused_by_position(token: int) -> None:
    with pytest.raises(ValueError, match=f"token {token} at 1 "):
        law_of(CYCLE, CYCLE).states_of((10, token))


def test_the_greedy_text_follows_the_largest_entry() -> None:
    chain = argmax_chain(law_of(CYCLE, STUCK), 0, 4)
    assert chain.states == (1, 2, 0, 1)
    assert chain.margins == pytest.approx([math.log(8.0)] * 4)


def test_a_draft_is_the_argmax_chain_of_q() -> None:
    assert draft_from(law_of(CYCLE, STUCK), 0, 4) == (1, 2, 2, 2)


def test_a_draft_stops_before_a_step_without_confidence() -> None:
    law = law_of(CYCLE, CYCLE, confidence=[0.9, 0.9, 0.4])
    assert draft_from(law, 0, 7, p_min=0.5) == (1, 2)
    assert draft_from(law, 2, 7, p_min=0.5) == ()


def test_confidence_is_compared_in_float32_as_the_server_does() -> None:
    barely = float(np.float32(0.6))  # above 0.6 in double, equal to it in single precision
    law = law_of(CYCLE, CYCLE, confidence=[0.6, min(barely, 0.6) - 1e-12, 0.1])
    assert draft_from(law, 0, 7, p_min=0.6) == (1, 2)


def test_replay_counts_full_rounds() -> None:
    # first token undrafted; then 2 drafts accepted and one own token per round
    assert replay(law_of(CYCLE, CYCLE), (1, 2, 0, 1, 2, 0, 1), n_max=2) == Counters(drafted=4, accepted=4)


def test_replay_cuts_the_draft_at_the_end_of_the_request() -> None:
    # after the first token four remain: 3 drafts and the target's own token, not 7
    assert replay(law_of(CYCLE, CYCLE), (1, 2, 0, 1, 2), n_max=7) == Counters(drafted=3, accepted=3)


def test_replay_drafts_nothing_for_the_last_token() -> None:
    assert replay(law_of(CYCLE, CYCLE), (1, 2), n_max=7) == Counters(drafted=0, accepted=0)


def test_replay_counts_rejections() -> None:
    # Q stays at 2, P goes on to 0: from 1 the draft (2, 2, 2) has one hit, then from 0 (1, 2, 2) two
    assert replay(law_of(CYCLE, STUCK), (1, 2, 0, 1, 2, 0), n_max=3) == Counters(drafted=5, accepted=3)


def test_a_checkpoint_replay_appends_one_token_after_a_partial_acceptance() -> None:
    counted = replay(law_of(CYCLE, STUCK), (1, 2, 0, 1, 2, 0), n_max=3, checkpoint=True)
    # round from 1: (2, 2, 2) one hit, then tokens 0 and 1 without a draft; round from 1: (2,) one hit
    assert counted == Counters(drafted=4, accepted=2)


def test_replay_with_a_confidence_cut() -> None:
    law = law_of(CYCLE, CYCLE, confidence=[0.9, 0.9, 0.1])
    # from 1: (2,) hit, own 0; from 0: (1, 2) hit, own 0
    assert replay(law, (1, 2, 0, 1, 2, 0, 1, 2), n_max=7, p_min=0.5) == Counters(drafted=4, accepted=4)


@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.integers(1, 60),
    n_max=st.integers(1, 9),
    checkpoint=st.booleans(),
)
def test_replay_accounts_for_every_token(seed: int, length: int, n_max: int, checkpoint: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 5
    law = PairLaw(
        first=0,
        log_p=log_softmax(rng.normal(size=(n, n))),
        log_q=log_softmax(rng.normal(size=(n, n))),
        confidence=np.full(n, 0.5),
    )
    counted = replay(law, tuple(rng.integers(0, n, length)), n_max=n_max, checkpoint=checkpoint)
    assert 0 <= counted.accepted <= counted.drafted
    assert counted.accepted <= length - 1


HISTORY = np.array([[2.0, -2.0], [-2.0, 2.0]])


def hybrid_law() -> PairLaw:
    return PairLaw(
        first=0,
        log_p=np.log(np.array([[0.6, 0.4], [0.4, 0.6]])),
        log_q=np.log(np.full((2, 2), 0.5)),
        confidence=np.full(2, 0.5),
        history=HISTORY,
        decay=0.4,
        amplitude=0.5,
    )


def test_a_hybrid_has_no_memory_at_its_first_token() -> None:
    scale = math.sqrt(1 / 1.25)
    expected = log_softmax(hybrid_law().log_p[0] / scale)
    assert Walk(hybrid_law(), 0).log_law() == pytest.approx(expected)


def test_a_hybrid_remembers_the_states_before_the_current_one() -> None:
    walk = Walk(hybrid_law(), 0)
    walk.step(1)  # memory: one-hot of 0
    assert walk.log_law() == pytest.approx(log_softmax(np.log([0.4, 0.6]) + np.array([2.0, -2.0])))
    walk.step(1)  # memory: 0.4 of state 0, 1 of state 1, normalised
    unit = np.array([0.4, 1.0]) / math.hypot(0.4, 1.0)
    assert walk.log_law() == pytest.approx(log_softmax(np.log([0.4, 0.6]) + unit @ HISTORY))


def test_path_laws_are_the_laws_met_on_the_way() -> None:
    chain = argmax_chain(hybrid_law(), 0, 6)
    rows = path_laws(hybrid_law(), 0, chain.states)
    assert rows.argmax(axis=1).tolist() == list(chain.states)
    assert np.exp(rows).sum(axis=1) == pytest.approx(np.ones(6))


def sampled(probs: np.ndarray, count: int, seed: int) -> tuple[list[int], list[int]]:
    rng = np.random.default_rng(seed)
    current, following, state = [], [], 0
    for _ in range(count):
        nxt = int(rng.choice(len(probs), p=probs[state]))
        current.append(state)
        following.append(nxt)
        state = nxt
    return current, following


def test_a_sample_of_the_law_passes_the_g_test() -> None:
    probs = np.array(CYCLE)
    result = g_test(*sampled(probs, 4000, seed=5), probs)
    assert result.df == 6
    assert result.p_value > 0.01


def test_a_sample_of_another_law_fails_the_g_test() -> None:
    probs = np.array(CYCLE)
    biased = np.array([[0.1, 0.7, 0.2], *CYCLE[1:]])
    assert g_test(*sampled(biased, 4000, seed=5), probs).p_value < 1e-6


def test_cells_with_small_expectations_are_pooled_inside_their_row() -> None:
    probs = np.array([[0.5, 0.46, 0.02, 0.02]] * 4)
    # 50 transitions from 0: expectations 25, 23, 1, 1; the two small cells join the smaller kept one
    result = g_test([0] * 50, [0] * 25 + [1] * 23 + [2, 3], probs)
    assert result.df == 1
    assert result.statistic == pytest.approx(0.0, abs=1e-9)


def test_a_g_test_without_data_has_no_p_value() -> None:
    assert math.isnan(g_test([], [], np.array(CYCLE)).p_value)


def second_order_law() -> PairLaw:
    return dataclasses.replace(hybrid_law(), decay=0.0, recalls_itself=True)


def test_a_second_order_target_remembers_one_state() -> None:
    walk = Walk(second_order_law(), 0)
    for state in (1, 1, 0):
        walk.step(state)
    assert walk.log_law() == pytest.approx(log_softmax(np.log([0.6, 0.4]) + np.array([-2.0, 2.0])))


def test_the_first_token_of_a_second_order_target_remembers_itself() -> None:
    assert Walk(second_order_law(), 0).log_law() == pytest.approx(
        log_softmax(np.log([0.6, 0.4]) + np.array([2.0, -2.0]))
    )


@pytest.mark.parametrize("law", [hybrid_law(), second_order_law(), law_of(CYCLE, CYCLE)], ids=["hybrid", "2", "1"])
def test_after_other_tokens_every_state_is_as_likely_and_nothing_is_remembered(law: PairLaw) -> None:
    walk = Walk(law, None)
    assert np.exp(walk.log_law()) == pytest.approx(np.full(law.n_state, 1 / law.n_state))
    walk.step(1)
    scale = math.sqrt(1 / 1.25) if law.history is not None else 1.0
    assert walk.log_law() == pytest.approx(log_softmax(law.log_p[1] / scale))
