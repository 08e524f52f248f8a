"""Estimates against their definitions: exact fractions, SciPy's test, binomial coverage."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from analysis.results import Estimate, least_for_median, student_band

SAMPLES = {
    "large values, small spread": [1e15 + k for k in range(7)],
    "rates over ten decades": [10.0**k for k in range(-5, 6)],
    "equal values": [0.1] * 9,
    "two values": [1.0, -1.0],
    "signs": [-1e-300, 1e-300, 2e-300],
}


def means():
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


def medians():
    """The interval covers at least as often as it says, counted over all orders of signs."""
    for level in (0.5, 0.75, 0.9, 0.95, 0.99):
        for size in range(least_for_median(level), 25):
            low, high = Estimate.median_of(np.arange(size), level).interval
            below, above = int(low), size - 1 - int(high)
            missed = stats.binom.cdf(below, size, 0.5) + stats.binom.cdf(above, size, 0.5)
            assert 1 - missed >= level - 1e-12
        with pytest.raises(ValueError, match="replications of values"):
            Estimate.median_of(np.arange(least_for_median(level) - 1), level)


def beyond():
    for values in ([1e308, -1e308, 1e308], [1.0, np.nan], [np.ma.masked, 1.0], []):
        with pytest.raises(ValueError, match="values"):
            Estimate.of(values)


FAMILIES = {
    "Estimate": {"far and equal values": means, "few values": medians, "no numbers": beyond},
    "student_band": {"far and equal values": means},
    "least_for_median": {"levels": medians},
}
NOT_COMPUTED = {
    "NotConverged": "an error",
    "Solution": "a result",
    "AverageSolution": "a result",
    "DiscountedSolution": "a result",
}
