"""Prices and queues: 40 digits, integrals page by page, dynamic programmes, and what proofs use."""

from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.stats import poisson

from analysis.ephemeral import Sources
from analysis.joint import (
    Engine,
    batch_value,
    best_window,
    crawl_reward,
    frozen_index,
    frozen_reward,
    priced_index,
    queued_sources,
)
from analysis.mdp import policy_iteration

SOURCES = {
    "one source": Sources([2.0], [3.0], [0.4], period=0.5),
    "content that lasts": Sources([3.0, 1.0], [1.0, 2.0], [1e-6, 1e-4]),
    "content gone within an epoch": Sources([9.0, 4.0], [1.0, 2.0], [30.0, 8.0]),
    "costs of four decades": Sources([1.0, 2, 3], [1.0, 2, 0.5], [0.3, 0.7, 1], [0.01, 1, 100]),
    "values of 20 decades": Sources([1.0, 1.0], [1e-10, 1e10], [0.5, 0.2]),
    "a source without items": Sources([0.0, 2.0], [1.0, 1.0], [0.5, 0.5]),
    "a source without value": Sources([2.0, 2.0], [0.0, 1.0], [0.5, 0.5]),
    "equal sources": Sources([1.0] * 3, [1.0] * 3, [0.5] * 3),
}  # fmt: skip
AGES = (1, 2, 5, 40)
#: Prices as shares of the worth of a new page.
SHARES = (0.0, 1e-9, 0.3, 0.97, 1.0, 5.0)


def exact_reward(sources, i, k, price, fresh):
    """What a crawl is worth less its pages, in 40 digits; k whole or not."""
    names = ("arrival_rate", "mean_utility", "decay_rate")
    rate, worth, mu = (mpmath.mpf(float(getattr(sources, name)[i])) for name in names)
    time = mpmath.mpf(float(k)) * mpmath.mpf(sources.period)
    if fresh:
        time = min(time, exact_window(sources, i, price))
    return rate * (worth / mu * -mpmath.expm1(-mu * time) - mpmath.mpf(price) * time)


def exact_window(sources, i, price):
    worth = mpmath.mpf(float(sources.mean_utility[i]))
    if price == 0:
        return mpmath.inf if worth > 0 else mpmath.mpf(0)
    if worth <= price:
        return mpmath.mpf(0)
    return mpmath.log(worth / mpmath.mpf(price)) / mpmath.mpf(float(sources.decay_rate[i]))


def points(sources):
    """Prices and, for each, how near to 1 its share is: the window has lost as many digits."""
    for share in SHARES:
        yield share * float(sources.mean_utility.max()), 1e-13 / min(abs(1 - share) + 1e-12, 1)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_best_window(sources):
    for price, _ in points(sources):
        with mpmath.workdps(40):
            exact = [float(exact_window(sources, i, price)) for i in range(len(sources))]
        scale = 1e-15 / sources.decay_rate.min()
        np.testing.assert_allclose(best_window(sources, price), exact, rtol=1e-13, atol=8 * scale)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_crawl_reward(sources):
    for (price, room), fresh, k in product(points(sources), (False, True), AGES):
        with mpmath.workdps(40):
            exact = [float(exact_reward(sources, i, k, price, fresh)) for i in range(len(sources))]
        unit = sources.state_at_age(k) + price * sources.arrival_rate * sources.period * k
        found = crawl_reward(sources, [k] * len(sources), price, fresh)
        assert (np.abs(found - exact) <= room * (np.abs(exact) if fresh else unit)).all()


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_priced_index(sources):
    """R(k) - k [R(k+1) - R(k)] up to the age at which R is largest, and from there that R."""
    for (price, room), fresh, k in product(points(sources), (False, True), AGES):
        found = priced_index(sources, [k] * len(sources), price, fresh)
        for i in range(len(sources)):
            with mpmath.workdps(40):
                worth = [exact_reward(sources, i, j, price, fresh) for j in range(1, k + 2)]
                exact = worth[k - 1] - k * (worth[k] - worth[k - 1])
                if worth[k] < worth[k - 1]:
                    exact = max(worth)
                exact = float(exact) / sources.cost[i]
            unit = abs(exact) + (0 if fresh else price * sources.arrival_rate[i] * sources.period)
            assert abs(found[i] - exact) <= 10 * room * unit, (price, fresh, k, i)


def drawn_sources(seed, size=None):
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


ENGINES = {
    "one place": (Engine(1.0, 1), 0),
    "no room": (Engine(1.0, 3), 3),
    "a slow engine": (Engine(1e-3, 6), 2),
    "a fast engine": (Engine(1e9, 6), 2),
    "many places": (Engine(3.0, 60), 10),
}
NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)


def integral(function, upper, scale):
    """Integrate over [0, upper] what varies within multiples of `scale`."""
    ends = np.unique(np.append(upper * np.linspace(0, 1, 5), scale * np.array([0.25, 1, 4, 16])))
    ends = ends[ends <= upper]
    half = np.diff(ends)[:, None] / 2
    points = ends[:-1, None] + half * (1 + NODES)
    return float((half * WEIGHTS * function(points.ravel()).reshape(points.shape)).sum())


def exact_batch(sources, i, engine, window, queue, order):
    """Worth and number of the pages that find room, by what each page finds.

    Freshest first: a page of age t joins behind the Poisson number of younger ones.
    """
    names = ("arrival_rate", "mean_utility", "decay_rate")
    rate, worth, mu = (float(getattr(sources, name)[i]) for name in names)
    delta, number = engine.index_rate / (engine.index_rate + mu), np.arange(engine.places - queue)
    if order == "random":
        found = poisson.sf(number, rate * window)
        each = worth * -np.expm1(-mu * window) / (mu * window)
        return float(each * found @ delta ** (queue + 1.0 + number)), float(found.sum())

    def worth_at(age):
        younger = poisson.pmf(number, rate * age[:, None])
        return rate * worth * np.exp(-mu * age) * (younger @ delta ** (queue + 1.0 + number))

    def room_at(age):
        return rate * poisson.pmf(number, rate * age[:, None]).sum(axis=1)

    return integral(worth_at, window, 1 / mu), integral(room_at, window, 1 / mu)


@pytest.mark.parametrize("name", ENGINES)
def test_batch_value(name):
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 1e-4, 30.0])
    for window, order in product((0.5, 7.0), ("freshest", "random")):
        value, pages = batch_value(sources, engine, [window] * 3, queue, order)
        for i in range(3):
            exact = exact_batch(sources, i, engine, window, queue, order)
            assert (value[i], pages[i]) == pytest.approx(exact, rel=1e-11, abs=1e-15), (i, order)


@pytest.mark.parametrize("name", ENGINES)
def test_frozen_reward(name):
    """The best window is no worse than any other; without one, all pages count."""
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 1e-4, 30.0])
    for price in (0.0, 0.02, 0.4):
        for k in (1, 6):
            grid = np.append(np.geomspace(1e-4 * k, k, 2000), 0.0)[:, None] * np.ones(3)
            value, pages = batch_value(sources, engine, grid, queue)
            best = (value - price * pages).max(axis=0)
            found = frozen_reward(sources, engine, [k] * 3, queue, price=price, fresh=True)
            assert (found >= best - 1e-13).all()
            np.testing.assert_allclose(found, best, rtol=1e-4, atol=1e-12)
            whole = frozen_reward(sources, engine, [k] * 3, queue, price=price)
            np.testing.assert_allclose(whole, (value - price * pages)[-2], rtol=1e-12)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_queued_sources(sources):
    """What a crawl is worth when it is indexed, page by page, and what is alike in both."""
    for rate, queue, k in ((0.3, 0, 1), (2.0, 7, 3), (1e6, 100, 2)):
        seen = queued_sources(sources, rate, queue)
        worth = seen.state_at_age(np.full(len(sources), k))
        for i in range(len(sources)):
            window, engine = k * sources.period, Engine(rate, queue + 200)
            exact = exact_batch(sources, i, engine, window, queue, "freshest")[0]
            assert worth[i] == pytest.approx(exact, rel=1e-10, abs=1e-300), (rate, queue, i)
        np.testing.assert_array_equal(seen.arrival_rate, sources.arrival_rate)
        np.testing.assert_array_equal(seen.cost, sources.cost)


@pytest.mark.parametrize("name", ENGINES)
def test_frozen_index(name):
    """Where two neighbouring ages tie, and the best reward where R falls."""
    engine, queue = ENGINES[name]
    sources = Sources([2.0, 9.0, 0.3], [3.0, 1.0, 1.0], [0.4, 0.1, 30.0], [1.0, 2.0, 0.5])
    ages = np.arange(1, 30)[:, None] * np.ones(3)
    for options in (
        {},
        {"order": "random"},
        {"price": 0.1, "fresh": True},
        {"price": 0.1},
        {"price": 0.1, "order": "random"},
    ):
        worth = frozen_reward(sources, engine, ages, queue, **options)
        now, later, k = worth[:-1], worth[1:], ages[:-1]
        tie = (k + 1) * now - k * later
        expected = np.where(later < now, np.maximum.accumulate(now), tie) / sources.cost
        found = frozen_index(sources, engine, k, queue, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


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
