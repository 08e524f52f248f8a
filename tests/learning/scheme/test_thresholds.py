"""Values of threshold policies against laws of ages, and best thresholds against others."""

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
from tests.ephemeral.sets import QUICK, SETS


@pytest.mark.parametrize("name", QUICK)
def test_soft_threshold_value(name):
    """Renewals against the stationary law of one arm's ages, by products over ages."""
    sources = SETS[name]
    scale = float(sources.u_star.max())
    for kappa in (1e-3, 1.0, 30.0, 1e4):
        for share in (0.0, 0.5, 1.0):
            level = sources.u_star * share
            value = soft_threshold_value(sources, level, kappa)
            for arm in range(len(sources)):
                ages = np.arange(1, 3001)
                x = sources.state_at_age(ages[:, None])[:, arm]
                log_stay = -np.logaddexp(0, kappa * ((x - level[arm]) / scale - 0.5))
                alive = np.exp(np.concatenate([[0.0], np.cumsum(log_stay)[:-1]]))
                if alive[-1] > 1e-12:
                    continue  # a longer list than this one
                rate = 1 / alive.sum()
                reward = rate * np.sum(-alive * np.expm1(log_stay) * x)
                assert value.rate[arm] == pytest.approx(rate, rel=1e-8)
                assert value.reward[arm] == pytest.approx(reward, rel=1e-8, abs=1e-300)


def test_slow_decays_are_refused():
    for decay in (1e-14, 1e-10):
        sources = Sources([250.0] * 2, [1.0] * 2, [0.5, decay])
        with pytest.raises(ValueError, match="sources"):
            soft_threshold_value(sources, [1.0, 1.0], 10.0)
        with pytest.raises(ValueError, match="sources"):
            best_soft_thresholds(sources, 10.0, 0.5)


def test_hard_threshold_value():
    """Thresholds at the states themselves: crawled at that age, not the one after."""
    for decay in (1e-14, 1e-3, 0.3, 0.7, 5.0):
        sources = Sources([3.0], [2.0], [decay])
        for age in (1, 2, 3, 5, 7, 10, 30, 100):
            level = sources.state_at_age([age])
            if level[0] >= sources.u_star[0] * (1 - 1e-13):
                continue
            for threshold, due in ((level, age), (np.nextafter(level, np.inf), age + 1)):
                value = hard_threshold_value(sources, threshold)
                first = next(k for k in range(1, 200) if sources.state_at_age([k]) >= threshold)
                assert first == due
                assert value.rate[0] == 1 / due
                truth = sources.state_at_age([due])[0] / due
                assert value.reward[0] == pytest.approx(truth, rel=1e-15)
        assert hard_threshold_value(sources, [-1.0]).rate[0] == 1
        assert hard_threshold_value(sources, sources.u_star).rate[0] == 0


@pytest.mark.parametrize("name", ["one source", "equal sources", "unlike", "decay 1e3"])
def test_best_soft_thresholds(name):
    """As many arms as asked for and no worse than thresholds drawn at random, or refused.

    Steep curves make the best thresholds jump at a price, as does content of one value at all ages.
    """
    sources = SETS[name]
    rng = np.random.default_rng(5)
    for kappa in (1.0, 10.0, 1e4):
        engaged = 0.6 * len(sources)
        try:
            _, best = best_soft_thresholds(sources, kappa, engaged, projected=False)
        except (NotConverged, ValueError) as error:
            refused = str(error)
            assert "engaged" in refused
            assert kappa > 10 or sources.decay.max() > 100
            continue
        assert best.engaged == pytest.approx(engaged, abs=1e-5)
        for _ in range(20):
            level = sources.u_star.max() * rng.uniform(-1, 1, len(sources))
            other = soft_threshold_value(sources, level, kappa)
            if other.engaged <= engaged:
                assert other.average_reward <= best.average_reward * (1 + 1e-5)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_whittle_threshold(sources):
    if len(sources) == 1:
        with pytest.raises(ValueError, match="sources"):
            whittle_threshold(sources, [1.0])
        return
    rng = np.random.default_rng(6)
    for _ in range(3):
        state = sources.state_at_age(rng.integers(1, 20, len(sources)))
        threshold = whittle_threshold(sources, state)
        index = whittle_index(sources, state)
        for arm in range(len(sources)):
            trial = state.copy()
            trial[arm] = threshold[arm]
            rival = np.delete(index, arm).max()
            if sources.u[arm] > 0:
                assert whittle_index(sources, trial)[arm] == pytest.approx(rival, rel=1e-9)


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
