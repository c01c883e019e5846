"""Simulated pairs: log ratios with the troubles that real machines have, and samples made from them."""

from collections.abc import Sequence

import numpy as np

from ci.throughput.pairing import Turn
from ci.throughput.samples import Pair, Sample


def noisy_ratios(rng: np.random.Generator, n: int, *, gain: float = 0.0, spread: float = 0.015) -> list[float]:
    """`n` log ratios around `gain`: noise of `spread`, and a spike of 5 % on a side in every tenth sample."""
    spikes = 0.05 * ((rng.random(n) < 0.1).astype(float) - (rng.random(n) < 0.1).astype(float))
    return [float(value) for value in rng.normal(gain, spread, n) + spikes]


def drifting_times(rng: np.random.Generator, n: int) -> list[float]:
    """`n` log times of one unchanged program on a machine whose speed wanders slowly by 2 %, with 1 % jitter."""
    level, values = 0.0, []
    for _ in range(n):
        level = 0.95 * level + float(rng.normal(0, 0.02 * (1 - 0.95**2) ** 0.5))
        values.append(level + float(rng.normal(0, 0.01)))
    return values


def sample(ms: float, *, tokens: Sequence[int] = (1, 2, 3, 4), draft_n: int = 0, accepted: int = 0) -> Sample:
    return Sample(
        tokens=tuple(tokens),
        ms_per_token=ms,
        wall_ms_per_token=ms,
        cpu_ms_per_token=ms,
        elapsed_ms_per_token=ms,
        rounds=len(tokens) - accepted,
        draft_n=draft_n,
        draft_n_accepted=accepted,
    )


def pair(ratio: float, index: int = 0, *, a: Sample | None = None, b: Sample | None = None) -> Pair:
    """A pair whose tokens/s differ by exp(`ratio`)."""
    turn = Turn(index=index, order="ab", prompt=(index,), seed=index)
    return Pair(turn=turn, a=a or sample(2.0 * float(np.exp(ratio))), b=b or sample(2.0))
