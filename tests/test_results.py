"""Estimates and their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.results import Estimate, student_band

samples = st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=30).filter(lambda v: np.ptp(v) > 1e-3)


@given(samples, st.floats(0.5, 0.999))
def test_a_mean_has_the_interval_of_the_t_test(values, level):
    found = Estimate.of(values, level)
    peer = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    assert found.interval == pytest.approx((peer.low, peer.high), rel=1e-9, abs=1e-6)
    assert found.value == pytest.approx(np.mean(values))
    assert found.replications == len(values)


@given(samples, st.floats(0.1, 10), st.floats(-100, 100))
def test_an_estimate_moves_with_its_values(values, scale, shift):
    plain, moved = Estimate.of(values), Estimate.of(scale * np.array(values) + shift)
    assert moved.value == pytest.approx(scale * plain.value + shift, abs=1e-6)
    assert moved.half_width == pytest.approx(scale * plain.half_width, rel=1e-6)


def test_the_interval_of_a_mean_covers_as_often_as_it_says():
    rng = np.random.default_rng(7)
    hits = [
        low <= 1.0 <= high
        for low, high in (Estimate.of(rng.exponential(size=40)).interval for _ in range(2000))
    ]
    assert 0.91 < np.mean(hits) < 0.97


def test_the_interval_of_a_median_covers_at_least_as_often_as_it_says():
    rng = np.random.default_rng(8)
    found = [Estimate.median_of(rng.exponential(size=25)) for _ in range(2000)]
    hits = [one.low <= np.log(2) <= one.high for one in found]
    assert 0.94 < np.mean(hits) < 0.995


def test_a_median_may_lie_beyond_the_horizon():
    found = Estimate.median_of([1.0, np.inf, np.inf, np.inf, 2.0])
    assert found.value == found.high == np.inf


def test_a_band_is_the_estimate_entry_by_entry():
    values = np.random.default_rng(9).normal(size=(6, 4))
    mean, low, high = student_band(values)
    for i in range(4):
        one = Estimate.of(values[:, i])
        assert (mean[i], low[i], high[i]) == pytest.approx((one.value, one.low, one.high))


@pytest.mark.parametrize(
    ("values", "message"), [([1.0], "replications"), ([1.0, np.nan], "values"), ("x", "values")]
)
def test_what_is_no_sample_is_refused_by_name(values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Estimate.of(values)
