"""Waiting that CPU time cannot see: caught when it is sure, by the policies that run, on quiet and busy machines."""

import dataclasses

import numpy as np
import pytest

from ci.throughput.policy import POLICIES, SWITCHES, Policy
from ci.throughput.samples import Pair
from ci.throughput.verdict import Decision, judge, ratios
from ci.throughput.waiting import extra_wait, may_wait_more, waits_more
from tests.helpers.pairs import pair, sample

QUICK = POLICIES["quick"]
EVERY = pytest.mark.parametrize("policy", [*POLICIES.values(), *SWITCHES.values()])


def waiting(cpu_a: float, ms_a: float, cpu_b: float, ms_b: float, count: int = 8) -> list[Pair]:
    """Pairs of CPU and elapsed milliseconds per token, both with the prompt; another clock leaves the prompt out."""
    a = dataclasses.replace(sample(0.9 * ms_a), cpu_ms_per_token=cpu_a, elapsed_ms_per_token=ms_a)
    b = dataclasses.replace(sample(0.9 * ms_b), cpu_ms_per_token=cpu_b, elapsed_ms_per_token=ms_b)
    return [pair(0.0, i, a=a, b=b) for i in range(count)]


def busy(rng: np.random.Generator, count: int, *, gain: float = 0.0, wait: float = 0.0) -> list[Pair]:
    """Pairs on a busy machine: elapsed time is a random multiple of work and wait, spread by about 40 % a pair.

    Args:
        rng: of the noise.
        count: pairs.
        gain: log ratio of CPU time, 2 ms a token on side a.
        wait: milliseconds per token that side b sleeps.
    """

    def side(cpu: float, sleep: float) -> tuple[float, float]:
        used = cpu * float(np.exp(rng.normal(0, 0.015)))
        return used, (used + sleep) * float(np.exp(abs(rng.normal(0, 0.47))))

    rows = [(*side(2.0, 0.0), *side(2.0 * float(np.exp(-gain)), wait)) for _ in range(count)]
    return [waiting(*row, count=1)[0] for row in rows]


def refused(pairs: list[Pair], policy: Policy, *, claims: bool) -> bool:
    """Whether a scenario that goes on while waiting is suspected ends as refused, as the protocol does it."""
    for look in policy.looks:
        outcome = judge(ratios(pairs[: look.pairs], "cpu"), policy, claims=claims)
        last = look is policy.looks[-1]
        if outcome and (last or not may_wait_more(pairs[: look.pairs], policy)):
            return outcome[0] is not Decision.SLOWER and waits_more(pairs[: look.pairs], policy) is not None
    raise AssertionError("the last look decides")


@EVERY
def test_a_build_that_takes_twice_as_long_at_less_cpu_time_is_told_at_the_first_look(policy: Policy) -> None:
    pairs = waiting(2.0, 2.0, 1.5, 4.0, policy.looks[0].pairs)
    words = str(waits_more(pairs, policy))
    assert words.startswith("it waits more, which CPU time does not see: +83% of its elapsed time per token")
    assert may_wait_more(pairs, policy)


def test_work_that_became_waiting_is_told_although_nothing_takes_longer() -> None:
    """Half the CPU time, the same elapsed time: faster by CPU time only, which elapsed time does not show."""
    assert waits_more(waiting(2.0, 2.0, 1.0, 2.0), QUICK) is not None


@pytest.mark.parametrize(
    "pairs",
    [
        waiting(2.0, 2.0, 1.0, 1.0),
        waiting(2.0, 4.0, 1.0, 2.0),  # a machine that gives half of its time
        waiting(2.0, 2.3, 1.0, 1.3),  # the same idle time over less work
        waiting(2.0, 1.96, 1.0, 0.98),  # work outside of the server's clock: reading the request
        waiting(2.0, 2.0, 2.0, 2.05),  # below the margin
    ],
)
def test_an_honest_build_does_not_wait_more(pairs: list[Pair]) -> None:
    assert waits_more(pairs, QUICK) is None
    assert not may_wait_more(pairs, QUICK)


def test_too_few_pairs_for_the_level_are_a_refusal_and_not_silence() -> None:
    assert (
        waits_more(waiting(2.0, 2.0, 1.0, 1.0, 6), QUICK) == "6 pairs are too few to know at 1% whether it waits more"
    )
    assert waits_more(waiting(2.0, 2.0, 1.0, 1.0, 7), QUICK) is None


@EVERY
def test_every_look_can_know(policy: Policy) -> None:
    assert all(extra_wait(waiting(2.0, 2.0, 2.0, 2.0, look.pairs)).bounded for look in policy.looks)


def test_a_wide_interval_is_no_refusal() -> None:
    pairs = [waiting(2.0, 2.0 + 2 * (i % 2), 1.0, 3.0 - 2 * (i % 2), 1)[0] for i in range(8)]
    assert extra_wait(pairs).lower < 0 < extra_wait(pairs).upper
    assert waits_more(pairs, QUICK) is None


@pytest.mark.parametrize(("gain", "claims"), [(0.0, False), (0.3, True)], ids=["equal", "faster"])
def test_noise_of_40_percent_refuses_an_honest_build_in_at_most_one_and_a_half_percent(
    gain: float, *, claims: bool
) -> None:
    rng = np.random.default_rng(11)
    gates = [refused(busy(rng, 32, gain=gain), QUICK, claims=claims) for _ in range(400)]
    assert sum(gates) <= 6


def test_a_build_that_sleeps_as_long_as_it_works_is_caught_under_noise_of_40_percent() -> None:
    rng = np.random.default_rng(12)
    assert sum(refused(busy(rng, 32, wait=2.0), QUICK, claims=False) for _ in range(200)) >= 198


def test_a_faster_build_that_sleeps_the_gain_twice_over_is_caught_under_noise_of_40_percent() -> None:
    rng = np.random.default_rng(13)
    assert sum(refused(busy(rng, 32, gain=0.3, wait=2.0), QUICK, claims=True) for _ in range(200)) >= 196
