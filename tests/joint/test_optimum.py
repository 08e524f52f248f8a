"""Small systems: bound, optimum and policies in their order, and what the optimum tends to."""

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.joint import Engine, JointSystem, delay_bound, priced_problem


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
