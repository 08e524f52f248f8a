"""The two bounds: another solver, exact optima and simulations below them, and their limits."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.joint import (
    Engine,
    JointSystem,
    delay_bound,
    phase_bound,
    priced_problem,
    queued_index,
    simulate_engine,
)
from analysis.results import NotConverged
from tests.joint.test_definitions import programme

SMALL = {"ages": 5, "parts": 4, "cells": 6}


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
