import math

import numpy as np
import pytest

from ci.acceptance import accept_match, accept_reject, expectation, top_k
from ci.law import PairLaw, log_softmax, replay, tempered

N_MAX = 4


def random_law(seed: int, n: int = 6) -> PairLaw:
    rng = np.random.default_rng(seed)
    log_p = log_softmax(rng.normal(size=(n, n)) * 2)
    log_q = log_softmax(log_p + rng.normal(size=(n, n)))
    return PairLaw(first=0, log_p=log_p, log_q=log_q, confidence=rng.uniform(0.1, 0.9, n))


def walk(law: PairLaw, count: int, seed: int) -> tuple[int, ...]:
    rng = np.random.default_rng(seed)
    probs, state, out = tempered(law.log_p, 1.0), 0, []
    for _ in range(count):
        state = int(rng.choice(law.n_state, p=probs[state]))
        out.append(state)
    return tuple(out)


def test_top_k_keeps_the_largest_of_each_row() -> None:
    assert np.isneginf(top_k(np.array([[3.0, 1.0, 2.0]]), 2)).tolist() == [[False, True, False]]
    assert top_k(np.array([[3.0, 1.0]]), 5).tolist() == [[3.0, 1.0]]


def test_a_greedy_draft_is_accepted_with_the_targets_probability_of_its_token() -> None:
    law = random_law(1)
    kernel = accept_match(law, 1.0)
    row = kernel[2]
    assert np.flatnonzero(row).tolist() == [int(law.successor[2])]
    assert row.sum() == pytest.approx(math.exp(law.log_p[2, law.successor[2]]))


def test_a_sampled_draft_is_accepted_with_the_overlap_of_both_laws() -> None:
    law = random_law(2)
    assert accept_reject(law, 1.0) == pytest.approx(np.minimum(np.exp(law.log_p), np.exp(law.log_q)))


@pytest.mark.parametrize("p_min", [0.0, 0.4])
def test_the_stationary_rate_is_that_of_a_long_replayed_text(p_min: float) -> None:
    law = random_law(7)
    expected = expectation(law, accept_match(law, 1.0), 1.0, n_max=N_MAX, p_min=p_min)
    counted = replay(law, walk(law, 12_000, seed=4), n_max=N_MAX, p_min=p_min)
    assert counted.accepted / counted.drafted == pytest.approx(expected.rate, abs=0.02)
    assert counted.drafted > 10_000


def test_the_same_law_on_both_sides_accepts_every_sampled_token() -> None:
    law = random_law(5)
    same = PairLaw(first=0, log_p=law.log_p, log_q=law.log_p, confidence=law.confidence)
    expected = expectation(same, accept_reject(same, 1.0), 1.0, n_max=N_MAX)
    assert expected.accepted == pytest.approx(N_MAX)
    assert expected.tokens == pytest.approx(N_MAX + 1)
    assert expected.by_position == pytest.approx([1.0] * N_MAX)


def test_a_threshold_that_nothing_reaches_drafts_nothing() -> None:
    law = random_law(6)
    expected = expectation(law, accept_match(law, 1.0), 1.0, n_max=N_MAX, p_min=0.99)
    assert expected.drafted == 0
    assert math.isnan(expected.rate)
