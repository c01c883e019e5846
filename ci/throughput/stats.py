"""Paired log ratios: the Hodges-Lehmann estimate and the exact signed-rank interval around it.

The rank statistic stands up to the spikes of a shared machine, which a mean and its t interval do not. Its only
assumption on the pairs is that, around the true shift, each is as likely above as below by any amount: which random
order within a pair provides.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its bounds; log ratios.

    Attributes:
        estimate: Hodges-Lehmann (median of all pairwise means).
        lower: one-sided lower bound at level 1 - alpha; -inf when the pairs are too few for that level.
        upper: one-sided upper bound at level 1 - alpha; inf likewise.
        n: pairs.
        alpha: error level per side.
    """

    estimate: float
    lower: float
    upper: float
    n: int
    alpha: float

    @property
    def bounded(self) -> bool:
        """Whether the pairs were enough for the level."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)


def walsh_averages(values: Sequence[float]) -> NDArray[np.float64]:
    """All (x_i + x_j) / 2 with i <= j, ascending; shape (n (n + 1) / 2,)."""
    x = np.asarray(values, dtype=np.float64)
    rows, columns = np.triu_indices(len(x))
    averages: NDArray[np.float64] = np.sort((x[rows] + x[columns]) / 2)
    return averages


def signed_rank_cdf(n: int) -> NDArray[np.float64]:
    """P(W <= w) for w = 0 .. n (n + 1) / 2 of Wilcoxon's signed-rank sum under the null; exact counting."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1.0
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    cdf: NDArray[np.float64] = np.cumsum(counts) / 2.0**n
    return cdf


def interval(values: Sequence[float], alpha: float) -> Interval:
    """Hodges-Lehmann estimate and exact signed-rank bounds (Hollander, Wolfe, Chicken: section 3.3).

    Args:
        values: one log ratio per pair, finite.
        alpha: error level per side.

    Raises:
        ValueError: no values, or some that are not finite.
    """
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError(f"{len(values)} values, all of which must be finite numbers")
    averages = walsh_averages(values)
    depth = int(
        np.searchsorted(signed_rank_cdf(len(values)), alpha, side="right")
    )  # count of w with P(W <= w) <= alpha
    bounded = depth > 0
    return Interval(
        estimate=float(np.median(averages)),
        lower=float(averages[depth - 1]) if bounded else -math.inf,
        upper=float(averages[-depth]) if bounded else math.inf,
        n=len(values),
        alpha=alpha,
    )


def t_interval(values: Sequence[float], alpha: float) -> Interval:
    """Mean and Student bounds: printed beside the other as a check, never judged by.

    Raises:
        ValueError: fewer than two values.
    """
    if len(values) < 2:
        raise ValueError("a t interval needs two values")
    mean = float(np.mean(values))
    half = float(scipy_stats.t.ppf(1 - alpha, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))
    return Interval(estimate=mean, lower=mean - half, upper=mean + half, n=len(values), alpha=alpha)
