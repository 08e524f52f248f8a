"""The two bounds: other solvers, exact optima and simulations below them, and their limits."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from analysis.ephemeral import Sources, four_sources, relaxed_bound
from analysis.joint import (
    Engine,
    JointSystem,
    crawl_reward,
    delay_bound,
    dual_value,
    phase_bound,
    priced_problem,
    queued_index,
    simulate_engine,
)
from analysis.results import NotConverged
from tests.joint.test_index import SOURCES, drawn_sources


def programme(sources, budget, pages, ages=120, windows=1):
    """The relaxed problem as one linear programme over sources, ages and windows up to the age."""
    age = np.repeat(np.arange(1.0, ages + 1), windows)
    window = age * np.tile(np.arange(1, windows + 1) / windows, ages)
    content = np.array([sources.state_at_age(m) for m in window]).T.ravel()
    cost = np.repeat(sources.cost, age.size)
    taken = np.outer(sources.arrival_rate * sources.period, window).ravel()
    unit = content.max()
    found = linprog(
        -content / unit,
        A_ub=np.vstack([cost / budget, taken / pages, np.kron(np.eye(len(sources)), age)]),
        b_ub=np.ones(2 + len(sources)),
        method="highs",
    )
    assert found.status == 0
    return -found.fun * unit


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_priced_problem(sources):
    """Against the linear programme; windows add to it."""
    everything = float((sources.arrival_rate * sources.period).sum())
    for part, share in ((0.9, 0.2), (0.3, 1.1), (0.5, 0.5)):
        budget, pages = part * float(sources.cost.sum()), share * everything
        found = priced_problem(sources, budget, pages)
        assert found.bound == pytest.approx(programme(sources, budget, pages), rel=1e-7)
        assert found.primal <= found.bound <= found.primal + 1e-8 * sources.u.sum()
        assert found.frequency @ sources.cost <= budget * (1 + 1e-9)
        assert found.pages.sum() <= pages * (1 + 1e-9)
        fresh = priced_problem(sources, budget, pages, fresh=True)
        assert fresh.bound >= found.bound * (1 - 1e-9)
        assert fresh.pages.sum() <= pages * (1 + 1e-9)


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_dual_value(sources):
    """The best age by trying all ages up to 4,000, and windows as `crawl_reward` has them."""
    age = np.arange(1, 4001)[:, None] * np.ones(len(sources))
    for subsidy, price in product((0.0, 0.2, 3.0), (0.0, 0.05, 0.6)):
        subsidy, price = subsidy * float(sources.u.mean()), price * sources.mean_utility.max()
        for fresh in (False, True):
            surplus = crawl_reward(sources, age, price, fresh) - subsidy * sources.cost
            best = np.maximum((surplus / age).max(axis=0), 0).sum()
            found = dual_value(sources, 1e-3, 2.0, subsidy=subsidy, price=price, fresh=fresh)
            assert found == pytest.approx(best + subsidy * 1e-3 + 2 * price, rel=1e-11)


SMALL = {"ages": 5, "parts": 4, "cells": 6}


@pytest.mark.parametrize("seed", range(3))
def test_fresh_bound_matches_linear_programme(seed):
    sources, budget, pages = drawn_sources(seed, 2)
    found = priced_problem(sources, budget, pages, fresh=True)
    grid = programme(sources, budget, pages, ages=25, windows=199)
    assert grid <= found.bound * (1 + 1e-9)
    assert grid == pytest.approx(found.bound, rel=1e-4)


def test_duality_gap_is_refused():
    sources, budget, pages = drawn_sources(1, 4)
    with pytest.raises(NotConverged, match="max_columns = 1"):
        priced_problem(sources, budget, pages, max_columns=1)


@pytest.mark.parametrize("seed", range(8))
def test_no_policy_beats_bound(seed):
    rng = np.random.default_rng([8, seed])
    sources = Sources(*(10.0 ** rng.uniform(-0.7, 0.7, (3, 2))))
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(1, 7)))
    windows = [(np.inf,), (0.5, np.inf)][seed % 2]
    system = JointSystem(sources, 1 + seed % 2, engine, 5, windows)
    optimum = system.solve()
    bound = phase_bound(sources, system.budget, engine, **SMALL).bound
    assert optimum.gain - optimum.residual <= bound


def test_best_first_approaches_bound():
    sources, engine = four_sources(), Engine(350.0, 1000)
    bound = phase_bound(sources, 1, engine).bound
    policy = queued_index(sources, engine, "blind")
    runs = [
        simulate_engine(
            sources, engine, policy, 1, 60, warm_up=10, order="worth", preempt=True, push_out=True,
            rng=np.random.default_rng(run),
        ).average_reward
        for run in range(3)
    ]  # fmt: skip
    assert 0.93 * bound < np.mean(runs) < bound < 0.85 * delay_bound(sources, 1, engine).bound


def test_finer_programme_lowers_bound():
    bounds = [
        phase_bound(four_sources(), 1, Engine(350.0, 5), parts=n, cells=2 * n).bound
        for n in (1, 3, 8)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < 1.2 * bounds[-1]


@pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES)
def test_phase_bound(sources):
    """Above the price of each phase what is left is at most the best of a fine search."""
    budget = 0.4 * float(sources.cost.sum())
    engine = Engine(0.4 * float(sources.arrival_rate.sum()), 5)
    found = phase_bound(sources, budget, engine, ages=4, parts=3, cells=4)
    tau = np.linspace(0, sources.period, 801)
    price = np.interp(tau, found.phase, found.price)
    surplus = 0.0
    for i in range(len(sources)):
        old = np.linspace(0, 200, 20_001) * sources.period
        fade = np.exp(-sources.decay_rate[i] * old)[:, None]
        each = sources.mean_utility[i] * fade * np.exp(-sources.decay_rate[i] * tau[::40])
        best = np.maximum((each - price[::40]).max(axis=1), 0)
        pieces = 0.5 * (best[1:] + best[:-1]) * np.diff(old)
        reward = sources.arrival_rate[i] * np.cumsum(pieces)[99::100]
        quotient = (reward - found.subsidy * sources.cost[i]) / np.arange(1, 201)
        surplus += max(0.0, float(quotient.max()))
    capacity = engine.index_rate * sources.period * float(price.mean())
    least = found.subsidy * budget + capacity + surplus
    assert least * (1 - 2e-3) <= found.bound <= least * 1.1
    assert found.bound <= relaxed_bound(sources, budget)[0] * 1.5
