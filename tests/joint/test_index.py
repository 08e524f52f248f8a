"""The index with a price and with a queue: its definition, its limits, and what its proof uses."""

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine, crawl_reward, frozen_index, frozen_reward, priced_index
from analysis.mdp import policy_iteration
from tests.joint.test_relaxed import drawn_sources


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
    sources, _, _ = drawn_sources(seed, 1)
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


def drawn_engine(rng):
    source = Sources(
        [10.0 ** rng.uniform(-2, 2)], [1.0], [10.0 ** rng.uniform(-3, 1)],
        period=10.0 ** rng.uniform(-3, 0),
    )  # fmt: skip
    engine = Engine(10.0 ** rng.uniform(-1, 2), int(rng.integers(1, 40)))
    return source, engine, int(rng.integers(0, engine.places)), 10.0 ** rng.uniform(-3, 0)


def test_fresh_reward_is_concave():
    rng, ages = np.random.default_rng(0), np.arange(0, 200)[:, None]
    for _ in range(40):
        source, engine, queue, price = drawn_engine(rng)
        for options in ({}, {"price": price, "fresh": True}):
            worth = frozen_reward(source, engine, ages, queue, **options)[:, 0]
            unit = 1e-13 * worth.max()
            assert (np.diff(worth) >= -unit).all()
            assert (np.diff(worth, 2) <= 4 * unit).all()
            index = frozen_index(source, engine, ages[1:], queue, **options)[:, 0]
            assert (np.diff(index) >= -2000 * unit).all()
            assert index.max() <= worth.max() + 2000 * unit


def test_whole_reward_rises_then_falls():
    """Observed, not proved: in random order, or at a price."""
    rng, ages = np.random.default_rng(1), np.arange(0, 200)[:, None]
    for _ in range(40):
        source, engine, queue, price = drawn_engine(rng)
        for options in ({"order": "random"}, {"order": "random", "price": price}, {"price": price}):
            worth = frozen_reward(source, engine, ages, queue, **options)[:, 0]
            unit = 1e-12 * np.abs(worth).max()
            rises = np.diff(worth)
            top = int(worth.argmax())
            assert (rises[:top] >= -unit).all()
            assert (rises[top:] <= unit).all()
            assert (np.diff(rises[:top]) <= unit).all()
