"""Parts that share one multiplier against one scheduler of all sources."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.partition import (
    PartitionedScheduler,
    cluster_plan,
)
from analysis.ephemeral.scheduler.register import spread_ages

COUNT, BUDGET = 20_000, 300


@pytest.fixture(scope="module")
def sources():
    rng = np.random.default_rng(0)
    draws = rng.lognormal([[0], [0], [-3]], 1, (3, COUNT))
    return Sources(*draws)


@pytest.fixture(scope="module")
def ages(sources):
    return spread_ages(sources, BUDGET, np.random.default_rng(1))


def average_reward(scheduler, warm_up=100, epochs=150):
    for _ in range(warm_up):
        scheduler.crawl()
    return np.mean([scheduler.crawl()[1].sum() for _ in range(epochs)])


def test_one_part_is_the_scheduler_itself(sources, ages):
    whole = Scheduler(sources, BUDGET, ages)
    parts = PartitionedScheduler(sources, np.zeros(COUNT, int), BUDGET, ages)
    for _ in range(50):
        np.testing.assert_array_equal(*(np.sort(s.crawl()[0]) for s in (whole, parts)))


def test_the_budget_holds_in_every_epoch(sources, ages):
    part = np.random.default_rng(2).integers(0, 7, COUNT)
    scheduler = PartitionedScheduler(sources, part, BUDGET, ages)
    for _ in range(60):
        numbers, rewards = scheduler.crawl()
        assert numbers.size == np.unique(numbers).size == rewards.size == BUDGET
        assert scheduler.quotas.sum() == BUDGET


def test_shared_multiplier_unifies_parts(sources, ages):
    order = np.argsort(np.argsort(sources.decay_rate))
    part = order * 8 // COUNT  # each part has sources of its own kind
    whole = average_reward(Scheduler(sources, BUDGET, ages))
    losses = [
        1 - average_reward(PartitionedScheduler(sources, part, BUDGET, ages, exchange=way)) / whole
        for way in (False, True)
    ]
    assert losses[0] > 1e-3
    assert abs(losses[1]) < 3e-4  # windows of one length differ by as much


@pytest.mark.parametrize("exchange", [False, True])
def test_small_budget_reaches_parts(exchange):
    twins = Sources([1.0] * 6, [1.0] * 6, [0.1] * 6)
    part = np.arange(6) % 3
    scheduler = PartitionedScheduler(twins, part, 1, 1, exchange=exchange)
    crawled = np.concatenate([scheduler.crawl()[0] for _ in range(60)])
    np.testing.assert_array_equal(np.bincount(crawled, minlength=6), [10] * 6)


def test_quotas_average_to_shares():
    sources = Sources([1.0] * 10, [1.0] * 10, [0.1] * 10)
    part = np.array([0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
    scheduler = PartitionedScheduler(sources, part, 3, exchange=False)
    spent = np.zeros(3)
    for epoch in range(1, 101):
        scheduler.crawl()
        assert scheduler.quotas.sum() == 3
        spent += scheduler.quotas
        assert np.abs(spent - 3 * epoch * np.array([0.5, 0.3, 0.2])).max() < 2
    np.testing.assert_array_equal(spent, [150, 90, 60])


def unequal_costs(seed):
    """Random sources of unequal costs, a split of them, and a budget."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 60))
    ways = rng.choice([0.5, 1.0, 3.0, 7.0], size), rng.lognormal(0, 1, size)
    few = rng.choice([1.0, 1.0 + 1e-4], size)
    few[0], few[-1] = 1.0, 1.0 + 1e-4
    cost = [*ways, few][seed % 3]
    sources = Sources(*rng.lognormal([[0], [0], [-2]], 1, (3, size)), cost=cost)
    parts = int(rng.integers(1, min(size, 8) + 1))
    part = np.r_[np.arange(parts), rng.integers(0, parts, size - parts)]
    return sources, part, float(rng.uniform(0.02, 1.1) * cost.sum())


@pytest.mark.sampled
@pytest.mark.parametrize("seeds", [range(24), pytest.param(range(24, 324), marks=pytest.mark.slow)])
def test_unequal_parts_match_one_scheduler(seeds):
    for seed in seeds:
        check_unequal_parts(seed)


def check_unequal_parts(seed):
    sources, part, budget = unequal_costs(seed)
    one, many = Scheduler(sources, budget), PartitionedScheduler(sources, part, budget)
    for _ in range(40):
        np.testing.assert_array_equal(*(np.sort(s.crawl()[0]) for s in (one, many)))
        assert many.quotas.sum() <= budget * (1 + 1e-9)


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_ties_between_parts(parts):
    """All sources of one cost are alike: every epoch's last place is a tie over all parts."""
    cost = np.r_[np.full(30, 1.0), np.full(12, 3.0)]
    sources = Sources(np.r_[np.full(30, 2.0), np.full(12, 8.0)], np.ones(42), np.full(42, 0.1),
                      cost=cost)  # fmt: skip
    schedulers = Scheduler(sources, 7.5), PartitionedScheduler(sources, np.arange(42) % parts, 7.5)
    earned, spent = np.zeros(2), np.zeros(2)
    for _ in range(200):
        for i, scheduler in enumerate(schedulers):
            numbers, rewards = scheduler.crawl()
            earned[i] += rewards.sum()
            spent[i] += cost[numbers].sum()
            assert cost[numbers].sum() <= 7.5
    assert earned[1] == pytest.approx(earned[0], rel=0.01)
    assert spent[1] == pytest.approx(spent[0], rel=0.01)


def test_extreme_budgets():
    sources = Sources([1.0, 2.0, 3.0], [1.0] * 3, [0.1] * 3, cost=[1.0, 2.0, 4.0])
    parts = PartitionedScheduler(sources, [0, 1, 1], 7.0)
    for _ in range(3):
        assert np.sort(parts.crawl()[0]).tolist() == [0, 1, 2]
    parts.budget = 0.9
    for _ in range(3):
        assert parts.crawl()[0].size == 0
    parts.budget = 3.0
    one = Scheduler(sources, 3.0, ages=[4, 4, 4])
    for _ in range(20):
        np.testing.assert_array_equal(*(np.sort(s.crawl()[0]) for s in (one, parts)))


def test_quotas_need_equal_costs():
    sources = Sources([1.0] * 4, [1.0] * 4, [0.1] * 4, cost=[1.0, 1.0, 1.0, 1.0001])
    with pytest.raises(ValueError, match="exchange"):
        PartitionedScheduler(sources, [0, 0, 1, 1], 2, exchange=False)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([0, 1], "part"),
        ([0.0, 0.0, 0.0, 0.0], "part"),
        ([0, 2, 0, 2], "part"),
        ([0, -1, 0, 0], "part"),
    ],
)
def test_wrong_parts_are_named(part, message):
    with pytest.raises(ValueError, match=message):
        PartitionedScheduler(four_sources(), part, 2)


def test_cluster_on_paper():
    plan = cluster_plan(1e10, 0.01, 100, 42.0, 1e10, 0.5)
    assert plan["sources"] == 1e8
    assert plan["memory"] == pytest.approx(4.2e9)
    assert plan["seconds"] == pytest.approx(0.5 * 1e8 * 32 / 1e10)
    assert (plan["messages"], plan["bytes"]) == (400, 3200)
    with pytest.raises(ValueError, match="machines"):
        cluster_plan(1e10, 0.01, 0, 42.0, 1e10, 0.5)
