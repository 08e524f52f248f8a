"""Small systems: optima by trying all policies; bound, optimum and policies in their order."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine, JointSystem, delay_bound, priced_problem
from analysis.mdp import relative_value_iteration
from tests.joint.test_index import SOURCES, exact_batch


def page_by_page(system, ages, queue, crawls):
    """Reward and law of the next queue, from what is on the page: joins and indexing in turn."""
    sources, engine, law, reward = system.sources, system.engine, {queue: 1.0}, 0.0
    for i, width in crawls:
        window = min(ages[i], system.windows[width]) * sources.period
        joined = {}
        for q, chance in law.items():
            reward += chance * exact_batch(sources, i, engine, window, q, system.order)[0]
            rest, mean = 1.0, float(sources.arrival_rate[i] * window)
            for n in range(engine.places - q):
                share = np.exp(-mean) * mean**n / factorial(n)
                joined[q + n] = joined.get(q + n, 0.0) + chance * share
                rest -= share
            joined[engine.places] = joined.get(engine.places, 0.0) + chance * rest
        law = joined
    after, mean = {}, engine.index_rate * sources.period
    for q, chance in law.items():
        rest = 1.0
        for n in range(q):
            share = np.exp(-mean) * mean**n / factorial(n)
            after[q - n] = after.get(q - n, 0.0) + chance * share
            rest -= share
        after[0] = after.get(0, 0.0) + chance * rest
    return reward, after


def optima(system):
    """The best of all policies of a tiny system, one by one."""
    shape = [range(1, system.ages + 1)] * len(system.sources)
    states = [(ages, q) for ages in product(*shape) for q in range(system.engine.places + 1)]
    place = {state: n for n, state in enumerate(states)}
    actions, size = system.actions, len(states)
    moves, rewards = np.zeros((len(actions), size, size)), np.zeros((len(actions), size))
    for (a, crawls), (n, (ages, q)) in product(enumerate(actions), enumerate(states)):
        crawled = [i for i, _ in crawls]
        older = [1 if i in crawled else min(k + 1, system.ages) for i, k in enumerate(ages)]
        rewards[a, n], law = page_by_page(system, ages, q, crawls)
        for target, chance in law.items():
            moves[a, n, place[tuple(older), target]] += chance
    best = -np.inf
    for policy in product(range(len(actions)), repeat=size):
        rows, earned = moves[policy, range(size)], rewards[policy, range(size)]
        average = np.linalg.matrix_power(0.5 * (rows + np.eye(size)), 2**12)[-1]
        best = max(best, float(average @ earned))
    found = system.solve()
    assert found.gain == pytest.approx(best, rel=1e-7)
    assert relative_value_iteration(*system.problem).gain == pytest.approx(best, rel=1e-7)
    assert system.gain(found.policy) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("order", ["freshest", "random"])
def test_optimum_of_tiny_system(order):
    one = Sources([1.5], [1.0], [0.5])
    optima(JointSystem(one, 1, Engine(0.7, 1), 3, order=order))
    optima(JointSystem(one, 1, Engine(0.7, 1), 2, windows=(0.4, np.inf), order=order))


@pytest.mark.parametrize("order", ["freshest", "random"])
def test_optimum_of_two_sources(order):
    two = Sources([1.5, 0.7], [1.0, 3.0], [0.5, 2.0])
    optima(JointSystem(two, 2, Engine(0.7, 1), 1, order=order))


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_delay_bound(sources):
    """Any engine is at most as good as a fast one, and that one as good as none at all."""
    budget = 0.4 * float(sources.cost.sum())
    pages = float((sources.arrival_rate * sources.period).sum()) + 1
    fast = delay_bound(sources, budget, Engine(1e15, 5)).bound
    free = priced_problem(sources, budget, pages).bound
    assert fast == pytest.approx(free, rel=1e-8)
    slower = [delay_bound(sources, budget, Engine(s, 5)).bound for s in (0.3, 3.0, 30.0)]
    assert (np.diff([*slower, fast]) >= -1e-9 * free).all()


def drawn(seed):
    """Two or three sources, an engine of up to six places, now and then a choice of windows."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    sources = Sources(
        10.0 ** rng.uniform(-0.7, 0.7, size),
        10.0 ** rng.uniform(-0.7, 0.7, size),
        10.0 ** rng.uniform(-1, 0.5, size),
    )
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(1, 7)))
    windows = [(np.inf,), (1.0, np.inf), (0.3, np.inf)][seed % 3]
    order = ["freshest", "random"][seed % 2]
    budget = int(rng.integers(1, 3))
    return JointSystem(sources, budget, engine, 6 - size, windows, order)


def policies(system, price):
    """Blind, stopped, priced and frozen-queue index policies."""
    places = system.engine.places
    yield system.index_policy("blind")
    yield system.index_policy("blind", stop=places // 2)
    for share in (0.0, 0.5, 1.0):
        yield system.index_policy("priced", price=share * price)
        yield system.index_policy("frozen", price=share * price)
    yield system.index_policy("frozen", price=0.5 * price, stop=places // 2)


@pytest.mark.parametrize("seeds", [range(15), pytest.param(range(100), marks=pytest.mark.slow)])
def test_bound_optimum_policies_ordered(seeds):
    for seed in seeds:
        system = drawn(seed)
        pages = system.engine.index_rate * system.sources.period
        free = priced_problem(system.sources, system.budget, pages, fresh=True)
        bound = delay_bound(system.sources, system.budget, system.engine)
        optimum = system.solve()
        assert free.bound >= bound.bound * (1 - 1e-9)
        assert bound.bound >= optimum.gain - optimum.residual
        earned = [system.gain(policy) for policy in policies(system, bound.price)]
        best = optimum.gain + optimum.residual
        assert best + 1e-9 * bound.bound >= max(earned), seed
        own = system.gain(optimum.policy)
        assert own == pytest.approx(optimum.gain, abs=optimum.residual + 1e-9 * bound.bound)


def test_age_error_bounds_gain():
    sources, engine = Sources([0.8, 0.5], [1.0, 2.0], [0.4, 0.2]), Engine(0.8, 4)
    few = JointSystem(sources, 1, engine, 3)
    whole = JointSystem(sources, 1, engine, 9)
    choice = JointSystem(sources, 1, engine, 9, windows=(3.0, np.inf))
    gains = [system.solve().gain for system in (whole, few, choice)]
    assert gains == sorted(gains)  # whole crawls of old batches are worse than part of them
    assert gains[0] < gains[1] < gains[2] <= gains[1] + few.age_error


def test_seeing_queue_earns_more():
    """An engine of half the pages: the index of part I fills the queue with what is stale."""
    sources = Sources([1.0, 2.0, 1.5], [1.0, 0.6, 0.3], [0.7, 0.35, 0.2])
    system = JointSystem(sources, 2, Engine(1.5, 6), 4, windows=(1.0, 2.0, np.inf))
    price = delay_bound(sources, 2, system.engine).price
    blind = system.gain(system.index_policy("blind"))
    frozen = max(system.gain(system.index_policy("frozen", price=c * price)) for c in (0.5, 1.0))
    assert frozen > 1.5 * blind
    assert system.solve().gain >= frozen


def test_wrong_system_is_refused():
    sources = Sources([1.0, 2.0], [1.0, 0.5], [0.5, 0.7])
    with pytest.raises(ValueError, match="transitions"):
        JointSystem(sources, 2, Engine(1.0, 200), 200)
    with pytest.raises(ValueError, match="costs of 1"):
        JointSystem(Sources([1.0], [1.0], [1.0], cost=2.0), 1, Engine(1.0, 2), 2)
    system = JointSystem(sources, 1, Engine(1.0, 2), 2)
    for wrong in ([0, 1], np.full(12, 3), np.full(12, -1)):
        with pytest.raises(ValueError, match="policy"):
            system.gain(wrong)
    with pytest.raises(ValueError, match="stop"):
        system.index_policy("blind", stop=3)
    with pytest.raises(ValueError, match="index"):
        system.index_policy("best")
    with pytest.raises(ValueError, match="tolerance"):
        system.solve(tolerance=0)
