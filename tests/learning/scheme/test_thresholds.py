from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, relaxed_bound
from analysis.learning import (
    best_soft_thresholds,
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)
from analysis.results import NotConverged


def test_upper_thresholds_earn_printed():
    sources = four_sources()
    value = soft_threshold_value(sources, sources.u_star, 2.0)
    assert round(value.average_reward, -1) == 160
    assert round(value.engaged) == 1


def test_limits_always_and_never():
    sources = four_sources()
    always = soft_threshold_value(sources, sources.u - 1e9, 5.0)
    np.testing.assert_allclose(always.reward, sources.u, rtol=1e-12)
    np.testing.assert_allclose(always.rate, 1.0)
    never = soft_threshold_value(sources, sources.u_star + 1e9, 5.0)
    np.testing.assert_array_equal(never.rate, 0.0)
    np.testing.assert_array_equal(hard_threshold_value(sources, sources.u_star).rate, 0.0)


def test_best_thresholds_beat_grid():
    four = four_sources()
    sources = Sources(four.arrival_rate[:2], four.mean_utility[:2], four.decay_rate[:2])
    levels, best = best_soft_thresholds(sources, 5.0, 0.3)
    assert best.engaged == pytest.approx(0.3, abs=1e-6)
    assert ((levels >= sources.u) & (levels <= sources.u_star)).all()
    free = best_soft_thresholds(sources, 5.0, 0.3, projected=False)[1]
    bound = relaxed_bound(sources, 1)[0]
    assert best.average_reward - 1e-5 <= free.average_reward <= bound
    one, two = np.linspace(sources.u, sources.u_star, 40).T
    for level in product(one, two):
        value = soft_threshold_value(sources, level, 5.0)
        if value.engaged <= 0.3:
            assert value.average_reward <= best.average_reward + 1e-6
    with pytest.raises(ValueError, match="engaged"):
        best_soft_thresholds(sources, 5.0, 0.001)


def test_jumping_thresholds_are_refused():
    """Logits as steep as steps crawl the first source each 29 epochs or each 30, never between."""
    sources = Sources([41.8366, 7.6935, 20.136], [9.7752, 0.8964, 0.5789], [0.0263, 0.9706, 0.2083])
    with pytest.raises(NotConverged, match=r"at kappa = 10000: .* jump less at a smaller kappa"):
        best_soft_thresholds(sources, 10_000.0, 0.0344574861, projected=False)
    assert best_soft_thresholds(sources, 100.0, 0.0344574861, projected=False)


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 0.9), min_size=4, max_size=4), st.integers(0, 3), st.floats(0, 0.09))
def test_index_thresholds_grow_with_states(share, arm, more):
    sources = four_sources()
    x = np.array(share) * sources.u_star
    raised = x.copy()
    raised[arm] += more * sources.u_star[arm]
    change = whittle_threshold(sources, raised) - whittle_threshold(sources, x)
    assert (np.delete(change, arm) >= -1e-6).all()
