import pytest
from hypothesis import given
from hypothesis import strategies as st

from ci.errors import UsageProblem
from ci.throughput.pairing import id_prompts, schedule, text_prompts
from ci.throughput.policy import POLICIES, SWITCHES, Policy


@given(count=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_orders_are_balanced_at_every_fourth_pair(count: int, seed: int) -> None:
    turns = schedule([(i,) for i in range(count)], seed=seed)
    assert [turn.index for turn in turns] == list(range(count))
    whole = [turn.order for turn in turns[: count - count % 4]]
    assert whole.count("ab") == whole.count("ba")


def test_the_order_is_random_but_repeatable() -> None:
    prompts = [(i,) for i in range(16)]
    assert schedule(prompts, seed=1) == schedule(prompts, seed=1)
    assert len({tuple(turn.order for turn in schedule(prompts, seed=seed)) for seed in range(20)}) > 15


def test_a_prompt_used_twice_is_refused() -> None:
    with pytest.raises(UsageProblem, match="1 prompts are used twice"):
        schedule([(1,), (2,), (1,)], seed=0)


def test_prompts_are_all_different_and_repeatable() -> None:
    ids = id_prompts(48, first=8, states=24, seed=3)
    assert len(set(ids)) == 48
    assert ids == id_prompts(48, first=8, states=24, seed=3)
    assert all(isinstance(prompt, tuple) and all(8 <= one < 32 for one in prompt) for prompt in ids)
    texts = text_prompts(32, seed=3)
    assert len(set(texts)) == 32
    assert texts != text_prompts(32, seed=4)


def test_more_text_prompts_than_there_are_is_refused() -> None:
    with pytest.raises(UsageProblem, match="only 70 exist"):
        text_prompts(71, seed=0)


@pytest.mark.parametrize("policy", [*POLICIES.values(), *SWITCHES.values()])
def test_there_are_prompts_for_the_last_look_of_every_policy(policy: Policy) -> None:
    most = policy.looks[-1].pairs
    assert len(set(text_prompts(most, seed=1))) == most
    assert len(set(id_prompts(most, first=8, states=24, seed=1))) == most
