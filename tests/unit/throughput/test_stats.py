import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from ci.throughput.stats import interval, signed_rank_cdf, t_interval

RATIOS = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=24)


@pytest.mark.parametrize("n", [1, 5, 8, 16])
def test_the_null_law_is_that_of_scipy(n: int) -> None:
    """A sample whose negative ranks sum to w has the exact p value P(W <= w)."""
    ranks = np.arange(1, n + 1, dtype=float)
    cdf = signed_rank_cdf(n)
    for negative in range(n + 1):
        values = np.where(ranks <= negative, -ranks, ranks)
        wanted = scipy_stats.wilcoxon(values, alternative="greater", method="exact").pvalue
        assert cdf[negative * (negative + 1) // 2] == pytest.approx(wanted)


def test_a_known_interval() -> None:
    """Eight pairs at 0.4 % one-sided: the bounds are the extremes; at 5 % they move inward."""
    values = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.30]
    wide = interval(values, 0.004)
    assert (wide.lower, wide.upper) == (0.01, 0.30)
    assert wide.estimate == pytest.approx(0.05, abs=0.011)
    narrow = interval(values, 0.05)
    assert wide.lower < narrow.lower < narrow.estimate < narrow.upper < wide.upper


def test_too_few_pairs_for_the_level_have_no_bounds() -> None:
    found = interval([0.5] * 7, 0.004)
    assert (found.lower, found.upper, found.estimate) == (-math.inf, math.inf, 0.5)


@given(values=RATIOS, shift=st.floats(-1, 1, allow_subnormal=False))
def test_shifting_and_flipping_the_data_shifts_and_flips_the_interval(values: list[float], shift: float) -> None:
    plain, moved = interval(values, 0.05), interval([value + shift for value in values], 0.05)
    flipped = interval([-value for value in values], 0.05)
    assert moved.estimate == pytest.approx(plain.estimate + shift, abs=1e-9)
    assert moved.lower == pytest.approx(plain.lower + shift, abs=1e-9)
    assert flipped.lower == pytest.approx(-plain.upper, abs=1e-9)
    assert plain.lower <= plain.estimate <= plain.upper


@pytest.mark.parametrize("values", [[], [math.nan], [0.1, math.inf]])
def test_no_data_is_no_interval(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        interval(values, 0.05)


def test_the_interval_covers_as_promised() -> None:
    """2,000 seeded samples of 16: the one-sided misses stay at or below 5 %, and are not far below."""
    rng = np.random.default_rng(11)
    misses = sum(interval(list(rng.normal(0, 1, 16)), 0.05).lower > 0 for _ in range(2000))
    assert 60 <= misses <= 125


def test_the_t_interval_is_the_textbook_one() -> None:
    found = t_interval([1.0, 2.0, 3.0, 4.0], 0.025)
    half = 3.182446 * math.sqrt(5 / 3) / 2
    assert found.estimate == 2.5
    assert found.upper == pytest.approx(2.5 + half, rel=1e-5)
    with pytest.raises(ValueError, match="two values"):
        t_interval([1.0], 0.025)
