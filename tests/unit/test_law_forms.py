import dataclasses
import math
from itertools import product

import numpy as np
import pytest

from ci import law_forms
from ci.law import Array, PairLaw, log_softmax, path_laws, replay, tempered
from ci.law_forms import (
    Bools,
    Step,
    contexts_of,
    dspark_step,
    endless_worth,
    request_worth,
    simple_greedy_step,
    simple_sampled_step,
    states_said,
    stationary_states,
    truncated,
)
from ci.models.exact_pair import HYBRID, SECOND_ORDER, SMALL
from ci.models.pair_spec import make_law
from tests.helpers.enumerated import Rules, every_way

N = 3
N_MAX, LENGTH = 2, 5
TEMPERATURES = (0.7, 1.0)


def tiny_law(order: int, seed: int = 4) -> PairLaw:
    rng = np.random.default_rng(seed)
    return PairLaw(
        first=0,
        log_p=log_softmax(rng.normal(size=(N, N))),
        log_q=log_softmax(rng.normal(size=(N, N))),
        confidence=np.array([0.9, 0.4, 0.7]),
        history=rng.normal(size=(N, N)) if order == 2 else None,
        amplitude=0.5 if order == 2 else 0.0,
        recalls_itself=order == 2,
    )


def at(start: int, n: int = N) -> Array:
    """The law of a prompt that is always this state."""
    law: Array = np.eye(n)[start]
    return law


@pytest.fixture(params=[1, 2], ids=["first-order", "second-order"])
def law(request: pytest.FixtureRequest) -> PairLaw:
    return tiny_law(request.param)


def greedy_rules(law: PairLaw, temperature: float, confident: Bools) -> Rules:
    draft = tempered(law.log_q, 0.0)
    return Rules(law=law, temperature=temperature, n_max=N_MAX, draft=draft, confident=confident.tolist())


def assert_told(step: Step, rules: Rules, start: int = 0) -> None:
    """A closed form against every way that the same request can go."""
    told, worth = every_way(rules, start, LENGTH), request_worth(step, at(start), LENGTH, N_MAX)
    assert worth.drafted == pytest.approx(told.drafted)
    assert worth.accepted == pytest.approx(told.accepted)
    assert worth.rounds == pytest.approx(told.rounds)
    assert worth.acceptance == pytest.approx(told.accepted.sum() / told.drafted.sum())
    met = told.drafted > 0
    assert met[0]
    assert worth.by_position[met] == pytest.approx(told.accepted[met] / told.drafted[met])
    assert 1 + (LENGTH - 1 - told.rounds) / told.rounds == pytest.approx(worth.mean_length)


# ---- the output law ----------------------------------------------------------------------------------------------


def test_contexts_have_the_laws_met_on_the_way(law: PairLaw) -> None:
    contexts, states = contexts_of(law), np.array([2, 0, 0, 1, 2])
    path = contexts.path(1, states)
    assert contexts.log_law[path] == pytest.approx(path_laws(law, 1, states.tolist()))
    assert contexts.current[path].tolist() == [1, 2, 0, 0, 1]


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_states_said_are_those_of_all_texts(law: PairLaw, temperature: float) -> None:
    said = np.zeros((4, N))
    for text in product(range(N), repeat=4):
        chance = math.prod(
            float(row[state]) for row, state in zip(tempered(path_laws(law, 2, text), temperature), text, strict=True)
        )
        for t, state in enumerate(text):
            said[t, state] += chance
    assert states_said(contexts_of(law), temperature, at(2), 4) == pytest.approx(said)


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("sampled", [False, True])
def test_speculation_leaves_the_output_law_alone(law: PairLaw, temperature: float, sampled: bool) -> None:
    draft = tempered(law.log_q, temperature if sampled else 0.0)
    rules = Rules(law=law, temperature=temperature, n_max=N_MAX, draft=draft, confident=[True] * N)
    texts = every_way(rules, 0, 4).texts
    for text in product(range(N), repeat=4):
        rows = tempered(path_laws(law, 0, text), temperature)
        assert texts[text] == pytest.approx(math.prod(row[state] for row, state in zip(rows, text, strict=True)))


def test_a_long_text_has_the_stationary_states(law: PairLaw) -> None:
    contexts = contexts_of(law)
    stationary = stationary_states(contexts, 0.7)
    assert stationary.sum() == pytest.approx(1)
    assert states_said(contexts, 0.7, at(0), 400)[-1] == pytest.approx(stationary)


def test_a_law_that_goes_round_has_no_stationary_states() -> None:
    cycle = tiny_law(1)
    turning = dataclasses.replace(cycle, log_p=log_softmax(9.0 * np.roll(np.eye(N), 1, axis=1)))
    with pytest.raises(ValueError, match="does not forget where it began"):
        endless_worth(dspark_step(turning, 0.0), 1)


def test_a_target_that_remembers_everything_has_no_closed_form() -> None:
    with pytest.raises(ValueError, match="depends on the whole text"):
        contexts_of(make_law(HYBRID))


# ---- drafts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.0, *TEMPERATURES])
@pytest.mark.parametrize("p_min", [0.0, 0.5, 0.8])
def test_dspark_is_worth_what_every_way_tells(law: PairLaw, temperature: float, p_min: float) -> None:
    assert_told(dspark_step(law, temperature, p_min), greedy_rules(law, temperature, law.confidence >= p_min))


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("p_min", [0.0, 0.55])
def test_a_greedy_simple_draft_is_worth_what_every_way_tells(law: PairLaw, temperature: float, p_min: float) -> None:
    confident = np.exp(law.log_q).max(axis=1) >= p_min
    assert confident.any()
    assert confident.all() == (p_min == 0)
    assert_told(simple_greedy_step(law, temperature, p_min), greedy_rules(law, temperature, confident))


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("p_min", [0.0, 0.65])
@pytest.mark.parametrize("top_k", [2, 10])
def test_a_sampled_simple_draft_is_worth_what_every_way_tells(
    law: PairLaw, temperature: float, p_min: float, top_k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(law_forms, "SIMPLE_TOP_K", top_k)
    weights = np.exp(law.log_q / temperature)
    weights[weights < np.sort(weights, axis=1)[:, -min(top_k, N)][:, None]] = 0
    draft = weights / weights.sum(axis=1, keepdims=True)
    confident = draft.max(axis=1) >= p_min
    rules = Rules(law=law, temperature=temperature, n_max=N_MAX, draft=draft, confident=confident.tolist())
    assert_told(simple_sampled_step(law, temperature, p_min), rules)


@pytest.mark.parametrize("p_min", [0.0, 0.5])
def test_greedy_worth_is_the_mean_of_replayed_counters(law: PairLaw, p_min: float) -> None:
    drafted = accepted = 0.0
    for text in product(range(N), repeat=LENGTH):
        rows = tempered(path_laws(law, 0, text), 1.0)
        chance = math.prod(float(row[state]) for row, state in zip(rows, text, strict=True))
        counters = replay(law, text, n_max=N_MAX, p_min=p_min)
        drafted, accepted = drafted + chance * counters.drafted, accepted + chance * counters.accepted
    worth = request_worth(dspark_step(law, 1.0, p_min), at(0), LENGTH, N_MAX)
    assert (worth.drafted.sum(), worth.accepted.sum()) == pytest.approx((drafted, accepted))


@pytest.mark.parametrize("make", [dspark_step, simple_sampled_step])
@pytest.mark.parametrize("p_min", [0.0, 0.5])
def test_long_requests_approach_the_endless_text(make: type, law: PairLaw, p_min: float) -> None:
    step = make(law, 1.0, p_min)
    endless, long, longer = (
        endless_worth(step, 4),
        request_worth(step, at(0), 150, 4),
        request_worth(step, at(0), 300, 4),
    )
    rounds = longer.rounds - long.rounds
    assert (longer.drafted - long.drafted) / rounds == pytest.approx(endless.drafted)
    assert (longer.accepted - long.accepted) / rounds == pytest.approx(endless.accepted)
    assert (300 - 150) / rounds == pytest.approx(endless.mean_length)
    assert endless.rounds == pytest.approx(1)


def test_short_requests_draft_less_than_endless_ones() -> None:
    """Drafts that are cut at the end lack their last positions, which are the ones that fail."""
    step = dspark_step(make_law(SMALL), 1.0)
    assert request_worth(step, at(0, 24), 16, 7).acceptance > endless_worth(step, 7).acceptance + 0.005


def test_many_requests_are_worth_what_each_is(law: PairLaw) -> None:
    step = simple_sampled_step(law, 1.0)
    mixed = request_worth(step, np.array([3.0, 0.0, 2.0]), LENGTH, N_MAX)
    first, last = (request_worth(step, at(start), LENGTH, N_MAX) for start in (0, 2))
    assert mixed.accepted == pytest.approx(3 * first.accepted + 2 * last.accepted)
    assert mixed.rounds == pytest.approx(3 * first.rounds + 2 * last.rounds)


def test_without_room_nothing_is_drafted() -> None:
    worth = request_worth(dspark_step(tiny_law(1), 1.0), at(0), 2, 7)
    assert worth.rounds == 1
    assert worth.drafted.tolist() == [0.0] * 7
    assert np.isnan(worth.by_position).all()


def test_acceptance_of_a_sampled_draft_is_one_less_the_total_variation() -> None:
    step = simple_sampled_step(make_law(SMALL), 0.7)
    distance = np.abs(step.target - step.proposed).sum(axis=1) / 2
    assert step.acceptance == pytest.approx(1 - distance)


def test_a_second_order_draft_is_judged_in_each_context() -> None:
    law = make_law(SECOND_ORDER)
    step = dspark_step(law, 1.0)
    assert len(step.acceptance) == law.n_state**2
    spread = step.acceptance.reshape(law.n_state, law.n_state).std(axis=0)
    assert spread.max() > 0.1  # what was said before decides whether a draft is right


def test_truncation_keeps_the_largest_and_one_of_equals() -> None:
    cut = truncated(np.log(np.array([[0.1, 0.4, 0.4, 0.1], [0.7, 0.1, 0.1, 0.1]])), 2)
    assert np.isneginf(cut).sum(axis=1).tolist() == [2, 2]
    assert np.exp(cut[0]).tolist() == pytest.approx([0, 0.4, 0.4, 0])
    assert tempered(cut, 1.0)[1] == pytest.approx([7 / 8, 1 / 8, 0, 0])
