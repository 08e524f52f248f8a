"""Parts that share one multiplier against one scheduler of all sources."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.partition import PartitionedScheduler

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


def test_sharing_a_multiplier_makes_unlike_parts_one(sources, ages):
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
def test_a_budget_below_the_number_of_parts_reaches_every_part(exchange):
    twins = Sources([1.0] * 6, [1.0] * 6, [0.1] * 6)
    part = np.arange(6) % 3
    scheduler = PartitionedScheduler(twins, part, 1, exchange=exchange)
    crawled = np.concatenate([scheduler.crawl()[0] for _ in range(60)])
    np.testing.assert_array_equal(np.bincount(crawled, minlength=6), [10] * 6)


def test_fixed_quotas_average_to_the_exact_shares():
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


def test_costs_keep_to_the_budget():
    rng = np.random.default_rng(3)
    cost = rng.choice([0.5, 1.0, 3.0], 2_000)
    sources = Sources(*rng.lognormal([[0], [0], [-3]], 1, (3, 2_000)), cost=cost)
    scheduler = PartitionedScheduler(sources, np.arange(2_000) % 5, 60)
    for _ in range(80):
        numbers, _ = scheduler.crawl()
        assert cost[numbers].sum() <= 60 * (1 + 1e-9)
    assert cost[numbers].sum() > 60 - 5 * 3.0  # each part may leave less than one crawl's cost


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ([0, 1], "part must be 4 integers"),
        ([0.0, 0.0, 0.0, 0.0], "part must be 4 integers"),
        ([0, 2, 0, 2], "part must use every number from 0 to 2"),
        ([0, -1, 0, 0], "part must use every number"),
    ],
)
def test_wrong_parts_are_named(part, message):
    with pytest.raises(ValueError, match=message):
        PartitionedScheduler(four_sources(), part, 2)
