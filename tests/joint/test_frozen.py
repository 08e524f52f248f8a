"""The index with a frozen queue: its two limits, and what its proof uses."""

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine, frozen_index, frozen_reward


def drawn(rng):
    source = Sources(
        [10.0 ** rng.uniform(-2, 2)], [1.0], [10.0 ** rng.uniform(-3, 1)],
        period=10.0 ** rng.uniform(-3, 0),
    )  # fmt: skip
    engine = Engine(10.0 ** rng.uniform(-1, 2), int(rng.integers(1, 40)))
    return source, engine, int(rng.integers(0, engine.places)), 10.0 ** rng.uniform(-3, 0)


def test_fresh_reward_is_concave():
    rng, ages = np.random.default_rng(0), np.arange(0, 200)[:, None]
    for _ in range(40):
        source, engine, queue, price = drawn(rng)
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
        source, engine, queue, price = drawn(rng)
        for options in ({"order": "random"}, {"order": "random", "price": price}, {"price": price}):
            worth = frozen_reward(source, engine, ages, queue, **options)[:, 0]
            unit = 1e-12 * np.abs(worth).max()
            rises = np.diff(worth)
            top = int(worth.argmax())
            assert (rises[:top] >= -unit).all()
            assert (rises[top:] <= unit).all()
            assert (np.diff(rises[:top]) <= unit).all()


def test_random_order_formula_is_bound():
    """R(k) - k [R(k+1) - R(k)] where R falls: the stated index is the largest R instead."""
    source, engine = Sources([2.0], [1.0], [0.2]), Engine(1.0, 5)
    ages = np.arange(1, 60)[:, None]
    worth = frozen_reward(source, engine, ages, 0, order="random")[:, 0]
    formula = worth[:-1] - np.arange(1, 59) * np.diff(worth)
    assert formula.max() > 1.2 * worth.max()
    index = frozen_index(source, engine, ages, 0, order="random")[:, 0]
    assert index.max() == pytest.approx(worth.max(), rel=1e-12)
    assert (np.diff(index) >= -1e-12).all()
