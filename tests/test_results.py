"""Estimates and their intervals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.results import (
    AverageSolution,
    DiscountedSolution,
    Estimate,
    least_for_median,
    student_band,
)

samples = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30).filter(lambda v: np.ptp(v) > 1e-3)


@given(samples, st.floats(0.5, 0.999))
def test_mean_has_t_interval(values, level):
    found = Estimate.of(values, level)
    peer = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    assert found.interval == pytest.approx((peer.low, peer.high), rel=1e-9, abs=1e-6)
    assert found.value == pytest.approx(np.mean(values))
    assert found.replications == len(values)


def test_median_beyond_horizon():
    found = Estimate.median_of([1.0, np.inf, np.inf, np.inf, np.inf, 2.0])
    assert found.value == found.high == np.inf


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.9375, 0.95, 0.96875, 0.99, 0.999])
def test_small_sample_median_is_refused(level):
    least = least_for_median(level)
    assert 1 - 2.0 ** (1 - least) >= level
    assert least == 2 or 1 - 2.0 ** (2 - least) < level
    assert Estimate.median_of(np.arange(least), level).interval == (0.0, least - 1.0)
    with pytest.raises(ValueError, match=f"replications of values must be an integer .* {least}"):
        Estimate.median_of(np.arange(least - 1), level)


@pytest.mark.parametrize("size", [6, 7, 9, 14, 30])
def test_median_interval_is_shortest(size):
    """The coverage of the interval between the r-th values from both ends is binomial."""
    low, high = Estimate.median_of(np.arange(size)).interval
    below = int(low)
    assert high == size - 1 - below
    assert 1 - 2 * stats.binom.cdf(below, size, 0.5) >= 0.95
    assert 1 - 2 * stats.binom.cdf(below + 1, size, 0.5) < 0.95


@pytest.mark.parametrize(
    "values", [[1.0] * 6 + [np.nan], ["1"] * 7, [True] * 7, np.ma.array([1.0] * 7)]
)
def test_non_number_has_no_median(values):
    with pytest.raises(ValueError, match="values"):
        Estimate.median_of(values)


def test_band_is_entrywise():
    values = np.random.default_rng(9).normal(size=(6, 4))
    mean, low, high = student_band(values)
    for i in range(4):
        one = Estimate.of(values[:, i])
        assert (mean[i], low[i], high[i]) == pytest.approx((one.value, one.low, one.high))


@pytest.mark.parametrize("size", range(6, 12))
def test_median_ignores_order(size):
    values = np.random.default_rng(size).permutation(2.0 ** np.arange(size))
    assert Estimate.median_of(values).value == np.median(values)
    assert least_for_median() == least_for_median(0.95) == 6


def test_solutions_are_shown_without_their_tables():
    known = {"policy": np.array([7]), "iterations": 1, "residual": 0.0, "converged": True}
    average = AverageSolution(**known, method="m", gain=2.0, bias=np.array([7.5]))
    discounted = DiscountedSolution(**known, method="m", values=np.array([7.5]))
    assert "7" not in repr(average) + repr(discounted)
    assert "gain=2.0" in repr(average)


# On samples made to break them, in exact fractions and by binomial coverage.

SAMPLES = {
    "large values, small spread": [1e15 + k for k in range(7)],
    "rates over ten decades": [10.0**k for k in range(-5, 6)],
    "equal values": [0.1] * 9,
    "two values": [1.0, -1.0],
    "signs": [-1e-300, 1e-300, 2e-300],
}


def test_mean_equals_fractions():
    for values in SAMPLES.values():
        exact = sum(map(Fraction, values)) / len(values)
        spread = sum((Fraction(v) - exact) ** 2 for v in values) / (len(values) - 1)
        half = stats.t.ppf(0.975, len(values) - 1) * float(spread / len(values)) ** 0.5
        for found in (Estimate.of(values), Estimate(*_band(values), len(values))):
            room = 1e-13 * max(map(abs, values))
            assert found.value == pytest.approx(float(exact), abs=room)
            assert found.half_width == pytest.approx(half, rel=1e-6, abs=room)


def _band(values):
    mean, low, high = student_band(np.array(values)[:, None])
    return float(mean[0]), float(low[0]), float(high[0])


def test_median_interval_covers():
    """The interval covers at least as often as it says, counted over all orders of signs."""
    for level in (0.5, 0.75, 0.9, 0.95, 0.99):
        for size in range(least_for_median(level), 25):
            low, high = Estimate.median_of(np.arange(size), level).interval
            below, above = int(low), size - 1 - int(high)
            missed = stats.binom.cdf(below, size, 0.5) + stats.binom.cdf(above, size, 0.5)
            assert 1 - missed >= level - 1e-12


def test_non_finite_sample_is_refused():
    for values in ([1e308, -1e308, 1e308], [1.0, np.nan], [np.ma.masked, 1.0], [], "x", [1.0]):
        with pytest.raises(ValueError, match="values"):
            Estimate.of(values)
