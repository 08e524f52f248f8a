"""The scheduler that ranks by the Lagrangian index against a full sort, epoch by epoch."""

import numpy as np
import pytest

from analysis.ephemeral import Scheduler, Sources, crawl_price, four_sources, lagrangian_index
from analysis.ephemeral.instances import lognormal_sources, random_sources
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


@pytest.mark.parametrize("precision", ["double", "single"])
def test_state_can_be_saved(precision, tmp_path):
    scheduler = Scheduler(random_sources(90, 13), 7, priority="lagrangian", precision=precision)
    for _ in range(40):
        scheduler.crawl()
    scheduler.save(tmp_path / "state.npz")
    again = Scheduler.load(tmp_path / "state.npz")
    assert again.crawl_price == scheduler.crawl_price
    for _ in range(40):
        one, other = scheduler.crawl()[0], again.crawl()[0]
        assert sorted(one) == sorted(other)


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
        ({"priority": "lagrangian", "price": 0.1}, "priority"),
        ({"priority": "lagrangian", "index_rate": 2.0}, "priority"),
    ],
)
def test_wrong_priorities_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        Scheduler(four_sources(), 1, **options)


def test_price_needs_its_priority():
    with pytest.raises(ValueError, match="crawl_price"):
        Scheduler(four_sources(), 1).crawl_price = 3.0
