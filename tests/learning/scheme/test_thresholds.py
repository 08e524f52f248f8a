from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Sources, four_sources, relaxed_bound, whittle_index
from analysis.learning import (
    best_soft_thresholds,
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)
from analysis.results import NotConverged


def sampled(sources, threshold, kappa, offset, horizon, rng):
    """Play the soft policy literally, on states."""
    x, reward, engaged = sources.u.copy(), np.zeros(horizon), np.zeros(horizon)
    for epoch in range(horizon):
        chance = 1 / (1 + np.exp(-kappa * ((x - threshold) / sources.u_star.max() - offset)))
        active = rng.random(len(sources)) < chance
        reward[epoch], engaged[epoch] = x[active].sum(), active.sum()
        x = np.where(active, 0.0, sources.alpha * x) + sources.u
    return reward, engaged


def test_renewal_value_equals_simulation():
    sources = four_sources()
    value = soft_threshold_value(sources, sources.u_star, 2.0)
    reward, engaged = sampled(sources, sources.u_star, 2.0, 0.5, 40_000, np.random.default_rng(3))
    blocks = reward.reshape(40, -1).mean(axis=1)
    error = 4 * blocks.std(ddof=1) / np.sqrt(40)
    assert reward.mean() == pytest.approx(value.average_reward, abs=error)
    assert engaged.mean() == pytest.approx(value.engaged, rel=0.02)
    assert engaged.std() == pytest.approx(value.engaged_std, rel=0.02)


def test_upper_thresholds_earn_printed():
    sources = four_sources()
    value = soft_threshold_value(sources, sources.u_star, 2.0)
    assert round(value.average_reward, -1) == 160
    assert round(value.engaged) == 1


@settings(max_examples=25)
@given(st.lists(st.floats(0.01, 0.95), min_size=4, max_size=4))
def test_steep_logit_is_threshold(share):
    sources = four_sources()
    age = np.ceil(-np.log1p(-np.array(share)) / sources.decay)
    level = (sources.state_at_age(age) + sources.state_at_age(age - 1)) / 2
    soft = soft_threshold_value(sources, level, 1e7, offset=0.0)
    hard = hard_threshold_value(sources, level)
    np.testing.assert_allclose(soft.reward, hard.reward, rtol=1e-9)
    np.testing.assert_allclose(soft.rate, 1 / age, rtol=1e-9)


def test_limits_always_and_never():
    sources = four_sources()
    always = soft_threshold_value(sources, sources.u - 1e9, 5.0)
    np.testing.assert_allclose(always.reward, sources.u, rtol=1e-12)
    np.testing.assert_allclose(always.rate, 1.0)
    never = soft_threshold_value(sources, sources.u_star + 1e9, 5.0)
    np.testing.assert_array_equal(never.rate, 0.0)
    np.testing.assert_array_equal(hard_threshold_value(sources, sources.u_star).rate, 0.0)


@settings(max_examples=20)
@given(st.floats(0.1, 20), st.floats(1e-3, 1e3))
def test_value_scales_with_content(kappa, factor):
    sources = four_sources()
    grown = Sources(sources.arrival_rate * factor, sources.mean_utility, sources.decay_rate)
    level = 0.7 * sources.u_star
    value = soft_threshold_value(sources, level, kappa)
    np.testing.assert_allclose(
        soft_threshold_value(grown, level * factor, kappa).reward, value.reward * factor, rtol=1e-9
    )
    rarer = soft_threshold_value(sources, level, kappa, offset=0.6)
    assert (rarer.rate < value.rate).all()


def test_kappa_reduces_engaged_arms():
    sources = four_sources()
    values = [soft_threshold_value(sources, sources.u_star, k) for k in (0.5, 1, 2, 5, 10)]
    assert (np.diff([value.engaged for value in values]) < 0).all()
    assert (np.diff([value.engaged_std for value in values]) < 0).all()


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
    with pytest.raises(ValueError, match=r"engaged must be in \[.*\] at kappa = .*, got 0.001"):
        best_soft_thresholds(sources, 5.0, 0.001)


def test_jumping_thresholds_are_refused():
    """Logits as steep as steps crawl the first source each 29 epochs or each 30, never between."""
    sources = Sources([41.8366, 7.6935, 20.136], [9.7752, 0.8964, 0.5789], [0.0263, 0.9706, 0.2083])
    with pytest.raises(NotConverged, match=r"at kappa = 10000: .* jump less at a smaller kappa"):
        best_soft_thresholds(sources, 10_000.0, 0.0344574861, projected=False)
    assert best_soft_thresholds(sources, 100.0, 0.0344574861, projected=False)


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 0.99), min_size=4, max_size=4))
def test_index_thresholds_tie_with_rival(share):
    sources = four_sources()
    x = np.array(share) * sources.u_star
    level = whittle_threshold(sources, x)
    index = whittle_index(sources, x)
    for arm in range(4):
        at = x.copy()
        at[arm] = level[arm]
        rival = np.delete(index, arm).max()
        assert whittle_index(sources, at)[arm] == pytest.approx(rival, abs=1e-6)
    best = int(np.argmax(index))
    assert x[best] >= level[best] - 1e-6


@settings(max_examples=50)
@given(st.lists(st.floats(0.0, 0.9), min_size=4, max_size=4), st.integers(0, 3), st.floats(0, 0.09))
def test_index_thresholds_grow_with_states(share, arm, more):
    sources = four_sources()
    x = np.array(share) * sources.u_star
    raised = x.copy()
    raised[arm] += more * sources.u_star[arm]
    change = whittle_threshold(sources, raised) - whittle_threshold(sources, x)
    assert (np.delete(change, arm) >= -1e-6).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: soft_threshold_value(s, s.u, 0.0), r"kappa must be a number in \(0, inf\)"),
        (lambda s: soft_threshold_value(s, s.u[:2], 1.0), r"threshold must have shape \(4,\)"),
        (lambda s: soft_threshold_value(s, s.u, 1.0, scale=-1), "scale must be a number"),
        (lambda s: best_soft_thresholds(s, 1.0, 4.0), r"engaged must be a number in \(0, 4\)"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(four_sources())
