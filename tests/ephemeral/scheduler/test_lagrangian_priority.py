"""The scheduler that ranks by the Lagrangian index against a full sort, epoch by epoch."""

import numpy as np
import pytest

from analysis.ephemeral import (
    Observation,
    Scheduler,
    Sources,
    TunedLagrangianPolicy,
    crawl_price,
    four_sources,
    lagrangian_index,
    relaxed_problem,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import lognormal_sources, random_sources
from analysis.ephemeral.lagrangian import PricedSources
from analysis.ephemeral.scheduler.core import IDLE
from analysis.ephemeral.scheduler.partition import PartitionedScheduler
from analysis.ephemeral.scheduler.register import spread_ages
from tests.ephemeral.scheduler.test_core import FullSort, same_crawl


class LagrangianSort(FullSort):
    def __init__(self, sources, budget, ages=None, *, price=None, **limits):
        super().__init__(sources, budget, ages, **limits)
        total = float(sources.cost.sum())
        self.price = crawl_price(sources, min(budget, total)) if price is None else price
        self.sources = sources

    def ranks(self):
        # The scheduler adds the price; rounding of the sum must not part equal sources.
        return np.maximum(lagrangian_index(self.sources, self.age, self.price) + self.price, 0.0)


def copies(count):
    return Sources(
        *(
            np.repeat(column, count)
            for column in ([1.0, 2.0, 3.0], [1.0, 0.5, 0.7], [0.1, 0.3, 0.9])
        )
    )


SETS = {
    "like the book's": (random_sources(300, 1), 20),
    "over decades": (lognormal_sources(300, 2), 30),
    "copies": (copies(60), 25),
    "costs": (random_sources(200, 3, costs=True), 31.5),
    "nearly all": (random_sources(40, 4), 39),
    "all": (random_sources(40, 4), 40),
    "one crawl": (lognormal_sources(150, 5), 1),
    "twelve decades": (Sources(10.0 ** np.linspace(-6, 6, 60), np.ones(60), np.full(60, 0.2)), 3),
    "alpha near 0 and 1": (Sources(np.linspace(1, 3, 60), np.ones(60), [300.0, 1e-6, 0.4] * 20), 5),
    "one that brings nothing": (Sources([0.0, *[2.0] * 9], np.ones(10), np.full(10, 0.3)), 9),
    "slow": (Sources(np.linspace(1, 3, 80), np.ones(80), np.full(80, 1e-9)), 7),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("factor", [None, 0.5, 2.0])
def test_crawls_are_those_of_full_sort(name, factor):
    sources, budget = SETS[name]
    ages = np.random.default_rng(6).integers(0, 40, len(sources))
    price = None
    if factor is not None:
        price = factor * crawl_price(sources, min(budget, float(sources.cost.sum())))
    scheduler = Scheduler(sources, budget, ages, priority="lagrangian", crawl_price=price)
    reference = LagrangianSort(sources, budget, ages, price=price)
    assert scheduler.crawl_price == reference.price
    for epoch in range(120):
        same_crawl(scheduler, reference, budget * (0.5 if epoch % 7 == 3 else 1.0))


def test_limits_on_ages_hold():
    sources, rng = random_sources(120, 7), np.random.default_rng(8)
    least, most = rng.integers(0, 4, 120), rng.integers(20, 90, 120)
    options = {"min_age": least, "max_age": most}
    scheduler = Scheduler(sources, 10, 5, priority="lagrangian", **options)
    reference = LagrangianSort(sources, 10, 5, **options)
    for _ in range(150):
        same_crawl(scheduler, reference)


def test_price_can_be_changed():
    sources = random_sources(100, 9)
    scheduler = Scheduler(sources, 8, priority="lagrangian")
    solved = scheduler.crawl_price
    reference = LagrangianSort(sources, 8)
    for price in (0.6 * solved, 1.5 * solved, 0.0, None):
        scheduler.crawl_price = price
        reference.price = solved if price is None else price
        for _ in range(30):
            same_crawl(scheduler, reference)
    assert scheduler.crawl_price == pytest.approx(solved, rel=1e-12)


def test_sources_can_be_changed():
    sources = random_sources(60, 10)
    scheduler = Scheduler(sources, 5, 3, priority="lagrangian", crawl_price=2.0)
    scheduler.remove(np.arange(10))
    scheduler.rerate(np.arange(20, 30), random_sources(10, 11))
    scheduler.add(random_sources(10, 12), 3, numbers=np.arange(10))
    whole = [random_sources(10, 12), sources.subset(slice(10, 20)), random_sources(10, 11)]
    whole.append(sources.subset(slice(30, 60)))
    columns = ("arrival_rate", "mean_utility", "decay_rate")
    merged = Sources(*(np.concatenate([getattr(some, name) for some in whole]) for name in columns))
    reference = LagrangianSort(merged, 5, 3, price=2.0)
    for _ in range(60):
        same_crawl(scheduler, reference)


def test_demand_counts_the_ranks():
    sources = random_sources(80, 14)
    scheduler = Scheduler(sources, 6, 9, priority="lagrangian")
    ranks = lagrangian_index(sources, np.full(80, 9), scheduler.crawl_price) + scheduler.crawl_price
    levels = np.quantile(ranks, [0.1, 0.5, 0.9]) + 1e-9
    assert scheduler.demand(levels).tolist() == [(ranks >= level).sum() for level in levels]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"priority": "best"}, "priority"),
        ({"crawl_price": 1.0}, "crawl_price"),
        ({"priority": "lagrangian", "crawl_price": -1.0}, "crawl_price"),
        ({"priority": "lagrangian", "crawl_price": np.nan}, "crawl_price"),
        ({"priority": "lagrangian", "price": 0.1}, "priority"),
        ({"priority": "lagrangian", "index_rate": 2.0}, "priority"),
        ({"tune_price": True}, "tune_price"),
        ({"priority": "lagrangian", "tune_price": 1}, "tune_price"),
    ],
)
def test_wrong_priorities_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        Scheduler(four_sources(), 1, **options)
    if not {"index_rate", "tune_price"} & options.keys():
        with pytest.raises(ValueError, match=name):
            PartitionedScheduler(four_sources(), [0, 0, 1, 1], 2, **options)


def test_price_needs_its_priority():
    with pytest.raises(ValueError, match="crawl_price"):
        Scheduler(four_sources(), 1).crawl_price = 3.0


class TunedSort(LagrangianSort):
    """The rule that tunes the price, by a full sort: after every 50 epochs, unless nearly right."""

    def __init__(self, sources, budget, ages=None, **options):
        super().__init__(sources, budget, ages, **options)
        self.marginal = []

    def crawl(self, budget=None):
        rank, whittle = self.ranks(), whittle_index_at_age(self.sources, self.age)
        chosen, rewards = super().crawl(budget)
        # The scheduler stops before the first source that the rest of the budget does not pay for.
        waiting = np.setdiff1d(np.arange(rank.size), chosen)
        waiting = waiting[self.cost[waiting] <= (self.budget if budget is None else budget)]
        if chosen.size and waiting.size:
            last = chosen[np.lexsort((-chosen, rank[chosen]))[0]]
            first = waiting[np.lexsort((waiting, -rank[waiting]))[0]]
            self.marginal.append((whittle[last] + whittle[first]) / 2)
        if len(self.marginal) == 50:
            move = 0.3 * (np.mean(self.marginal) - self.price)
            self.marginal.clear()
            if abs(move) > IDLE * self.price:
                self.price += move
        return chosen, rewards


@pytest.mark.sampled
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("factor", [0.6, 1.7])
def test_tuned_price_is_that_of_full_sort(name, factor):
    sources, budget = SETS[name]
    ages = np.random.default_rng(6).integers(0, 40, len(sources))
    price = factor * crawl_price(sources, min(budget, float(sources.cost.sum())))
    options = {"priority": "lagrangian", "tune_price": True}
    scheduler = Scheduler(sources, budget, ages, crawl_price=price, **options)
    reference = TunedSort(sources, budget, ages, price=price)
    for epoch in range(320):
        same_crawl(scheduler, reference, budget * (0.5 if epoch % 7 == 3 else 1.0))
        assert scheduler.crawl_price == pytest.approx(reference.price, rel=1e-9)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_tuned_price_approaches_solved_one(factor):
    sources = lognormal_sources(2000, 15)
    solved = crawl_price(sources, 200)
    options = {"priority": "lagrangian", "crawl_price": factor * solved, "tune_price": True}
    scheduler = Scheduler(sources, 200, **options)
    for _ in range(1500):
        scheduler.crawl()
    assert scheduler.crawl_price == pytest.approx(solved, rel=0.01)
    # The sources fade twice as fast and bring half as much: the price follows.
    slower = Sources(0.5 * sources.arrival_rate, sources.mean_utility, 2 * sources.decay_rate)
    scheduler.rerate(np.arange(2000), slower)
    for _ in range(1500):
        scheduler.crawl()
    assert scheduler.crawl_price == pytest.approx(crawl_price(slower, 200), rel=0.01)


def test_tuned_policy_and_scheduler_agree():
    sources, ages = random_sources(150, 16), np.random.default_rng(17).integers(1, 30, 150)
    policy = TunedLagrangianPolicy(sources)
    policy.price = 1.3 * crawl_price(sources, 12)
    policy._priced = PricedSources(sources, policy.price)
    options = {"priority": "lagrangian", "crawl_price": policy.price, "tune_price": True}
    scheduler, age = Scheduler(sources, 12, ages, **options), ages.copy()
    for epoch in range(300):
        arms = policy.select(Observation(epoch, age.copy(), np.full(150, np.nan)), 12)
        assert np.sort(scheduler.crawl()[0]).tolist() == arms.tolist()
        age += 1
        age[arms] = 1
    assert scheduler.crawl_price == pytest.approx(policy.price, rel=1e-9)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_parts_crawl_as_full_sort(parts):
    """Where costs differ the coordinator finds the very sources that one machine would crawl."""
    sources = random_sources(200, 19, costs=parts > 1)
    ages = np.random.default_rng(20).integers(1, 30, 200)
    part = np.random.default_rng(21).integers(0, parts, 200)
    scheduler = PartitionedScheduler(sources, part, 21.5, ages, priority="lagrangian")
    reference = LagrangianSort(sources, 21.5, ages)
    for _ in range(120):
        assert np.sort(scheduler.crawl()[0]).tolist() == np.sort(reference.crawl()[0]).tolist()


def test_parts_share_one_price():
    """Parts of different kinds: visits and rewards are those of one machine."""
    sources = lognormal_sources(3000, 24)
    part = np.argsort(np.argsort(sources.decay_rate)) * 6 // 3000
    ages = spread_ages(sources, 150, 25)
    visits, rewards = np.zeros((2, 6)), np.zeros(2)
    machines = (
        Scheduler(sources, 150, ages, priority="lagrangian"),
        PartitionedScheduler(sources, part, 150, ages, priority="lagrangian"),
    )
    for i, machine in enumerate(machines):
        for epoch in range(400):
            numbers, earned = machine.crawl()
            assert numbers.size == 150
            if epoch >= 200:
                visits[i] += np.bincount(part[numbers], minlength=6)
                rewards[i] += earned.sum()
    np.testing.assert_allclose(visits[1], visits[0], rtol=0.01)
    assert rewards[1] == pytest.approx(rewards[0], rel=5e-4)


@pytest.mark.parametrize("end", ["smallest_subsidy", "subsidy"])
def test_crawls_hold_at_ends_of_interval(end):
    """At either end of the multipliers a source ties between two due ages."""
    sources = Sources([1.0, 1.0, 0.4, 0.3], np.ones(4), [0.7, 0.7, 40.0, 40.0]).subset(
        np.repeat(np.arange(4), 5)
    )
    price = getattr(relaxed_problem(sources, 10), end)
    ages = np.random.default_rng(26).integers(1, 9, 20)
    scheduler = Scheduler(sources, 10, ages, priority="lagrangian", crawl_price=price)
    reference = LagrangianSort(sources, 10, ages, price=price)
    for _ in range(100):
        same_crawl(scheduler, reference)
