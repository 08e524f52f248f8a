"""Prices of pages: index and bound against their definitions and another solver."""

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import Sources
from analysis.joint import crawl_reward, priced_index, priced_problem
from analysis.mdp import policy_iteration
from analysis.results import NotConverged


def drawn(seed, size=None):
    """Sources whose rates differ by decades, and a budget and pages that may both bind."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5)) if size is None else size
    decades = {
        name: 10.0 ** rng.uniform(low, high, size)
        for name, low, high in (
            ("arrival_rate", -1, 1),
            ("mean_utility", -1, 1),
            ("decay_rate", -1, 0.7),
            ("cost", -0.5, 0.5),
        )
    }
    sources = Sources(**decades, period=10.0 ** rng.uniform(-0.3, 0.3))
    budget = sources.cost.sum() * rng.uniform(0.05, 1)
    return sources, budget, sources.arrival_rate.sum() * sources.period * rng.uniform(0.05, 1.1)


def by_programme(sources, budget, pages, windows, ages):
    """The relaxed problem as one linear programme over sources, ages and windows (epochs)."""
    columns = []
    for i in range(len(sources)):
        for k in range(1, ages + 1):
            for m in windows(k):
                time = m * sources.period
                content = sources.u_star[i] * -np.expm1(-sources.decay_rate[i] * time)
                share = np.where(np.arange(len(sources)) == i, k, 0)
                columns.append([content, sources.cost[i], sources.arrival_rate[i] * time, *share])
    columns = np.array(columns)
    limits = [budget, pages, *np.ones(len(sources))]
    found = linprog(-columns[:, 0], A_ub=columns[:, 1:].T, b_ub=limits, method="highs")
    assert found.status == 0
    return -found.fun


@pytest.mark.parametrize("seed", range(3))
def test_fresh_bound_matches_linear_programme(seed):
    sources, budget, pages = drawn(seed, 2)
    found = priced_problem(sources, budget, pages, fresh=True)
    grid = by_programme(sources, budget, pages, lambda k: np.linspace(0, k, 200)[1:], 25)
    assert grid <= found.bound * (1 + 1e-9)
    assert grid == pytest.approx(found.bound, rel=1e-4)


def passive_states(reward, subsidy):
    """States in which waiting is best, and how much better it is, for one source by its age."""
    ages = reward.size
    waits, restarts = np.zeros((2, ages, ages))
    waits[np.arange(ages), np.minimum(np.arange(1, ages + 1), ages - 1)] = 1.0
    restarts[:, 0] = 1.0
    earned = np.array([np.full(ages, subsidy), reward])
    bias = policy_iteration([waits, restarts], earned).bias
    values = earned + np.array([waits @ bias, restarts @ bias])
    return values[0] - values[1]


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_index_equals_definition(seed, fresh):
    """A dynamic programme over the ages, at subsidies below, at and above every index."""
    sources, _, _ = drawn(seed, 1)
    price = sources.mean_utility[0] * [0.02, 0.1, 0.3, 0.6, 0.95, 1.3][seed]
    age = np.arange(1, 41)[:, None]
    reward = crawl_reward(sources, age, price, fresh)[:, 0]
    index = priced_index(sources, age, price, fresh)[:, 0] * sources.cost[0]
    unit = np.abs(reward).max()
    subsidies = np.unique(np.concatenate([index, np.linspace(-1, index.max() + 1, 7)]))
    for subsidy in subsidies:
        better = passive_states(reward, subsidy)[:30]  # the last ages feel the end of the chain
        assert (better[index[:30] < subsidy - 1e-8 * unit] > -1e-9 * unit).all()
        assert (better[index[:30] > subsidy + 1e-8 * unit] < 1e-9 * unit).all()
        at = np.abs(index[:30] - subsidy) <= 1e-12 * unit
        assert np.abs(better[at]).max(initial=0) <= 1e-9 * unit or subsidy == index.max()


def test_duality_gap_is_refused():
    sources, budget, pages = drawn(1, 4)
    with pytest.raises(NotConverged, match="max_columns = 1"):
        priced_problem(sources, budget, pages, max_columns=1)
