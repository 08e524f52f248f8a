"""Simulation against exact values, and what common random numbers promise."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from analysis.restarts import RestartArm
from analysis.restarts.bandit import (
    RestartBandit,
    epoch_losses,
    index_scores,
    myopic_scores,
    relaxed_bound,
)
from analysis.restarts.instances import slide_arms
from analysis.restarts.joint import evaluate_scores
from analysis.restarts.simulation import BLOCK, CELLS, _draw_tables, _hash, simulate
from analysis.results import Estimate
from tests.restarts.support import draw_arm, draw_bandit, over_families


@pytest.mark.parametrize("price", [-0.7, 0.4])
def test_control_variate_keeps_mean(price):
    arms = tuple(draw_arm(n, k) for n, k in enumerate((2, 3, 4)))
    bandit = RestartBandit(arms, 1, 0.8)
    policies = {"index": index_scores(bandit), "myopic": myopic_scores(bandit)}
    rng = np.random.default_rng(2)
    settings = {"paths": 20_000, "epochs": 100, "initial_state": (1, 0, 2), "rng": rng}
    found = simulate(bandit, policies, price=price, **settings)
    for name, scores in policies.items():
        exact = evaluate_scores(bandit, scores).values[1, 0, 2]
        mean = found.mean(name, level=0.9999)
        assert mean.low - found.tail <= exact <= mean.high + found.tail


def test_price_narrows_interval():
    rng = np.random.default_rng(4)
    bandit = RestartBandit(tuple(slide_arms("sorted-simplex", 20, 6, rng)), 2, 0.9)
    bound, price = relaxed_bound(bandit)
    passive, active, constant = epoch_losses(bandit, price)
    assert constant == pytest.approx(bound, abs=1e-9)
    assert min(losses.min() for losses in passive + active) > -1e-9
    assert np.allclose([np.minimum(*both) for both in zip(passive, active, strict=True)], 0)
    index = {"index": index_scores(bandit)}
    spread = [
        simulate(bandit, index, paths=500, epochs=80, rng=rng, price=at).costs.std()
        for at in (None, price)
    ]
    assert spread[1] < 0.5 * spread[0]


def test_deterministic_arms_are_exact():
    up = np.eye(4, k=1)
    up[-1, -1] = 1
    arms = tuple(RestartArm(up, np.eye(4)[0], [0, 1, 2, c], [1, 1, 1, 1]) for c in (3, 5, 3, 4))
    bandit = RestartBandit(arms, 2, 0.8)
    policies = {"index": index_scores(bandit), "tied": [np.zeros(4)] * 4}
    found = simulate(bandit, policies, paths=3, epochs=200, rng=np.random.default_rng(0))
    for name, scores in policies.items():
        exact = evaluate_scores(bandit, scores).values.flat[0]
        assert np.allclose(found.costs[found.names.index(name)], exact, atol=1e-9)


def test_paths_are_reproducible():
    rng = np.random.default_rng(3)
    bandit = RestartBandit(tuple(slide_arms("lazy-simplex", 6, 5, rng)), 2, 0.9)
    index, myopic = index_scores(bandit), myopic_scores(bandit)

    def costs(policies, paths, threads):
        return simulate(
            bandit, policies, paths=paths, epochs=40, rng=np.random.default_rng(9), threads=threads
        ).costs

    both = costs({"index": index, "myopic": myopic}, BLOCK + 50, 2)
    assert np.array_equal(both[0], costs({"index": index}, BLOCK + 50, 1)[0])
    assert np.array_equal(both[:, :70], costs({"index": index, "myopic": myopic}, 70, 1))
    same = costs({"a": index, "b": index}, 64, 1)
    assert np.array_equal(same[0], same[1])


def test_table_inverts_distribution():
    passive = np.random.default_rng(0).dirichlet(np.full(6, 0.3), 6)
    passive[2] = np.eye(6)[3]
    arm = RestartArm(passive, np.eye(6)[0], np.zeros(6), np.zeros(6))
    (guide,), (cut,) = _draw_tables([arm], 6)
    starts = np.arange(CELLS, dtype=np.uint64) << np.uint64(56)
    for x in range(7):
        assert np.array_equal(guide[x], np.searchsorted(cut[x], starts, side="left"))
    drawn = np.random.default_rng(1).integers(2**64, size=20_000, dtype=np.uint64)
    for x in range(6):
        expected = np.searchsorted(cut[x], drawn, side="left")
        start = guide[x, (drawn // np.uint64(2**64 // CELLS)).astype(int)]
        assert (start <= expected).all()
        assert set(expected) <= set(np.flatnonzero(passive[x]))
        counts = np.bincount(expected, minlength=6)[passive[x] > 0]
        law = passive[x][passive[x] > 0]
        assert len(law) == 1 or stats.chisquare(counts, len(drawn) * law).pvalue > 1e-4


@njit
def _hash_all(counters):
    return np.array([_hash(c) for c in counters])


def test_counters_hash_uniformly():
    step = 0x9E3779B97F4A7C15
    drawn = _hash_all(np.array([k * step % 2**64 for k in range(1, 2000)], dtype=np.uint64))
    assert stats.kstest(drawn / 2**64, "uniform").pvalue > 1e-3


def test_saving_interval_covers():
    bandit = RestartBandit(
        tuple(slide_arms("lazy-wearing", 5, 5, np.random.default_rng(0))), 1, 0.9
    )
    policies = {"index": index_scores(bandit), "myopic": myopic_scores(bandit)}
    found = simulate(bandit, policies, paths=20_000, epochs=250, rng=np.random.default_rng(5))
    assert found.saving("index", "index") == Estimate(0.0, 0.0, 0.0, 20_000)
    by = {name: evaluate_scores(bandit, s).values.flat[0] for name, s in policies.items()}
    saved = found.saving("index", "myopic", level=0.9999)
    assert saved.low <= 100 * (1 - by["index"] / by["myopic"]) <= saved.high


@over_families(1, 10)
def test_cost_of_families_in_interval(family, count):
    """A simulated cost is the policy's value, to its interval.

    A tenth of each passive epoch leads anywhere: what happens in fewer than one of all paths is in
    no interval.
    """
    for number in range(count):
        drawn = draw_bandit(family, number)
        arms = [
            RestartArm(
                0.9 * arm.passive + 0.1 / arm.states, arm.reset, arm.passive_cost, arm.active_cost
            )
            for arm in drawn.arms
        ]
        system = RestartBandit(arms, drawn.budget, 0.9)
        ranked = index_scores(system)
        value = evaluate_scores(system, ranked).values[0, 0, 0]
        paths = simulate(
            system, {"index": ranked}, paths=400, epochs=250, rng=np.random.default_rng(number)
        )
        mean = paths.mean("index", level=1 - 1e-9)
        room = paths.tail + 1e-9 * np.abs(paths.costs).max()
        assert mean.low - room <= value <= mean.high + room
