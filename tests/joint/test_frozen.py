"""The index with a frozen queue: its two limits, and what its proof uses."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, whittle_index_at_age
from analysis.joint import Engine, batch_value, frozen_index, frozen_reward, priced_index

AGES = np.arange(1, 7)[:, None] * np.ones(4)


@pytest.mark.parametrize("order", ["freshest", "random"])
def test_fast_engine_has_ephemeral_index(order):
    found = frozen_index(four_sources(), Engine(1e14, 4000), AGES, 3, order=order)
    np.testing.assert_allclose(found, whittle_index_at_age(four_sources(), AGES), rtol=1e-9)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("price", [0.01, 0.3])
def test_fast_engine_has_priced_index(price, fresh):
    engine = Engine(1e15, 4000)
    found = frozen_index(four_sources(), engine, AGES, 3, price=price, fresh=fresh)
    expected = priced_index(four_sources(), AGES, price, fresh)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * expected.max())


def test_small_queue_changes_index():
    """250 pages come at once at each crawl of age 1: 100 places lose most of them."""
    engine, free = Engine(1e14, 100), whittle_index_at_age(four_sources(), AGES[:1])
    assert (np.abs(frozen_index(four_sources(), engine, AGES[:1], 0) / free - 1) > 0.03).all()
    worth = frozen_reward(four_sources(), engine, AGES[:1], 0)
    assert (worth < 0.6 * four_sources().u).all()


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


def test_batch_value_matches_pages():
    """Pages drawn one by one: Poisson times of publication, gamma times of indexing."""
    rng, runs = np.random.default_rng(5), 20_000
    source, engine, queue, window = Sources([3.0], [2.0], [0.6]), Engine(1.5, 6), 2, 1.7
    number = rng.poisson(3.0 * window, runs)
    for order in ("freshest", "random"):
        total = np.zeros(runs)
        for run, pages in enumerate(number):
            ages = rng.uniform(0, window, pages)
            joined = (np.sort(ages) if order == "freshest" else ages)[: engine.places - queue]
            delay = rng.gamma(queue, 1 / 1.5) + np.cumsum(rng.exponential(1 / 1.5, joined.size))
            total[run] = (2.0 * np.exp(-0.6 * (joined + delay))).sum()
        value, pages = batch_value(source, engine, [window], queue, order)
        error = total.std() / np.sqrt(runs)
        assert abs(total.mean() - value[0]) < 4 * error
        kept = np.minimum(number, engine.places - queue)
        assert abs(kept.mean() - pages[0]) < 4 * kept.std() / np.sqrt(runs)
