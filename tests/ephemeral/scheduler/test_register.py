"""A scheduler with a price of pages: its crawls are those of a full sort under the capped index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Scheduler, Sources, four_sources
from analysis.ephemeral.scheduler.partition import PartitionedScheduler
from analysis.ephemeral.scheduler.register import caps, pages_per_epoch, queued_sources
from analysis.joint import Engine, frozen_index, frozen_reward, priced_index
from tests.ephemeral.scheduler.test_core import (
    FullSort,
    many_sources,
    same_crawl,
    some_sources,
)


class CappedSort(FullSort):
    """The policy by its rules, where each index has a cap."""

    def __init__(self, sources, budget, ages, price, **limits):
        super().__init__(sources, budget, ages, **limits)
        self.pages, self.price = pages_per_epoch(sources), price

    def ranks(self):
        cap = caps(self.limit, self.decay, self.pages, self.price)
        rank = np.minimum(super().ranks(), cap)
        return np.where(cap < 0, -np.inf, rank)

    def add(self, sources, ages):
        super().add(sources, ages)
        self.pages = np.append(self.pages, pages_per_epoch(sources))

    def rerate(self, numbers, sources):
        super().rerate(numbers, sources)
        self.pages[numbers] = pages_per_epoch(sources)


PRICES = st.sampled_from([0.0, 1e-9, 0.3, 0.5, 1.0, 2.9, 100.0, 1e6])


@given(data=st.data(), costs=st.booleans(), limited=st.booleans())
@settings(max_examples=60)
def test_crawls_equal_capped_sort(data, costs, limited):
    size = data.draw(st.integers(1, 9))
    sources = data.draw(some_sources(size, costs))
    budget = data.draw(st.sampled_from([7.0, 20.0] if limited else [0.5, 1.0, 2.0, 3.3, 20.0]))
    ages = np.array(data.draw(st.lists(st.integers(0, 300), min_size=size, max_size=size)))
    limits = {"min_age": data.draw(st.integers(0, 3))}
    if limited:
        limits["max_age"] = np.full(size, 10 * size)
    price = data.draw(PRICES)
    scheduler = Scheduler(sources, budget, ages, price=price, **limits)
    reference = CappedSort(sources, budget, ages, price, **limits)
    actions = st.sampled_from(["crawl", "crawl", "budget", "price", "rerate", "add"])
    for action in data.draw(st.lists(actions, min_size=1, max_size=40)):
        if action == "crawl":
            same_crawl(scheduler, reference)
        elif action == "budget":
            same_crawl(scheduler, reference, data.draw(st.sampled_from([0.0, 1.0, 9.0])))
        elif action == "price":
            scheduler.price = reference.price = data.draw(PRICES)
        elif action == "rerate":
            more = data.draw(some_sources(1, costs and not limited))
            if not limited:
                scheduler.rerate([0], more)
                reference.rerate(np.array([0]), more)
        elif action == "add" and not limited:
            more = data.draw(some_sources(2, costs))
            scheduler.add(more, 3, min_age=limits["min_age"])
            reference.add(more, 3)
            reference.least[-2:] = limits["min_age"]


@pytest.mark.parametrize("costs", [False, True])
def test_changing_prices_at_scale(costs):
    cost = np.random.default_rng(1).choice([0.5, 1.0, 3.0], 3000) if costs else 1.0
    sources = many_sources(3000, cost=cost)
    ages = np.random.default_rng(2).integers(1, 60, 3000)
    scheduler = Scheduler(sources, 100, ages, price=0.2)
    reference = CappedSort(sources, 100, ages, 0.2)
    for epoch in range(80):
        if epoch in (30, 50, 65):
            scheduler.price = reference.price = {30: 1.0, 50: 0.02, 65: 1e9}[epoch]
        same_crawl(scheduler, reference)
    assert scheduler.crawl()[0].size == 0  # no page is worth that much


def test_zero_price_changes_nothing():
    """The crawls without a price, to the last bit of what is expected of them."""
    sources = many_sources(2000, cost=np.random.default_rng(1).choice([0.5, 1.0], 2000))
    plain, free = Scheduler(sources, 50), Scheduler(sources, 50, price=0.0)
    for _ in range(60):
        for one, other in zip(plain.crawl(), free.crawl(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert plain.marginal_index == free.marginal_index
    assert plain.rebuilds == free.rebuilds


@pytest.mark.parametrize("price", [1e-6, 0.05, 0.9, 1.0, 3.0, 1e5])
def test_caps_equal_priced_index(price):
    sources = Sources(
        [1.0, 2.0, 3.0, 0.0, 2.0, 250.0],
        [1.0, 2.0, 0.5, 1.0, 0.0, 1.0],
        [0.3, 1e-3, 5.0, 1.0, 1.0, 1.0],
        [1.0, 2.0, 3.0, 1.0, 1.0, 0.1],
        period=0.5,
    )
    found = caps(sources.u_star / sources.cost, sources.decay, pages_per_epoch(sources), price)
    expected = priced_index(sources, [10**9] * 6, price)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def queued_set(rng, decay):
    size = len(decay)
    return Sources(
        10.0 ** rng.uniform(-2, 1.5, size), 10.0 ** rng.uniform(-1, 1, size), decay,
        10.0 ** rng.uniform(-1, 1, size), period=10.0 ** rng.uniform(-1, 0.5),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_queue_index_of_other_sources(seed):
    """The frozen-queue index, a sum over the pages of a batch, where all of them find room."""
    rng = np.random.default_rng([31, seed])
    sources = queued_set(rng, 10.0 ** rng.uniform(-2, 1, 4))
    engine, queue = Engine(10.0 ** rng.uniform(-1, 2), 1500), int(rng.integers(0, 40))
    price = 10.0 ** rng.uniform(-3, 0)
    ages = np.arange(1, 7)[:, None] * np.ones(4)  # a batch has at most 700 pages on average
    seen = queued_sources(sources, engine.index_rate, queue)
    for fresh in (False, True):
        found = priced_index(seen, ages, price, fresh)
        expected = frozen_index(sources, engine, ages, queue, price=price, fresh=fresh)
        unit = seen.u_star + price * sources.arrival_rate * sources.period * 7
        assert (np.abs(found - expected) <= 1e-12 * unit / sources.cost).all()
    worth = frozen_reward(sources, engine, ages, queue)
    np.testing.assert_allclose(seen.state_at_age(ages), worth, rtol=1e-12)


@pytest.mark.parametrize(("queue", "price"), [(0, 0.02), (3, 0.02), (25, 0.4), (60, 1e-3)])
def test_equal_decay_queue_is_price(queue, price):
    """The frozen index behind q pages is delta^q times that at the price p / delta^q."""
    rng, engine = np.random.default_rng(queue), Engine(1.7, 1200)
    sources, kept = queued_set(rng, [0.3] * 5), (1.7 / 2.0) ** queue
    ages = np.arange(1, 12)[:, None] * np.ones(5)
    queued = frozen_index(sources, engine, ages, queue, price=price)
    dearer = kept * frozen_index(sources, engine, ages, 0, price=price / kept)
    np.testing.assert_allclose(queued, dearer, rtol=1e-12, atol=1e-12 * kept)
    capped = kept * priced_index(queued_sources(sources, 1.7), ages, price / kept)
    np.testing.assert_allclose(queued, capped, rtol=1e-12, atol=1e-12 * kept)


QUEUES = st.sampled_from([0, 1, 7, 300, 10**6])


@given(data=st.data(), costs=st.booleans())
@settings(max_examples=25)
def test_queue_crawls_equal_sort(data, costs):
    """At rates that differ: the sources as they look through the queue, ranked anew each epoch."""
    size = data.draw(st.integers(1, 8))
    sources, rate = (
        data.draw(some_sources(size, costs)),
        data.draw(st.sampled_from([0.2, 3.0, 1e4])),
    )
    budget, queue = data.draw(st.sampled_from([0.5, 1.0, 3.3])), data.draw(QUEUES)
    price = data.draw(st.sampled_from([None, 0.0, 0.3, 2.0]))
    scheduler = Scheduler(sources, budget, 1, price=price, index_rate=rate, queue=queue)
    age = np.ones(size)
    for action in data.draw(st.lists(st.sampled_from(["crawl", "crawl", "queue", "rerate", "add"]),
                                     min_size=1, max_size=25)):  # fmt: skip
        if action == "queue":
            scheduler.queue = queue = data.draw(QUEUES)
        elif action == "rerate":
            new = data.draw(some_sources(1, costs))
            scheduler.rerate([0], new)
            sources = joined(new, sources).subset([0, *range(2, len(sources) + 1)])
        elif action == "add":
            new = data.draw(some_sources(1, costs))
            scheduler.add(new, 2)
            sources, age = joined(sources, new), np.append(age, 2.0)
        else:
            reference = CappedSort(queued_sources(sources, rate, queue), budget, age, price or 0.0)
            seen = columns_of(scheduler, reference)
            same_crawl(scheduler, seen)
            age = seen.age


def joined(*parts):
    names = ("arrival_rate", "mean_utility", "decay_rate", "cost")
    return Sources(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def columns_of(scheduler, reference):
    """The reference at the scheduler's own limits: equal sources tie to the last bit in both."""
    entries = scheduler._register.entries()
    own = entries["limit"][np.argsort(entries["number"])]
    np.testing.assert_allclose(own, reference.limit, rtol=1e-9, atol=1e-300)
    reference.limit = own
    return reference


def test_moving_queue_at_scale():
    sources, rng = many_sources(2000), np.random.default_rng(4)
    scheduler = Scheduler(sources, 60, 1, price=0.05, index_rate=400.0)
    age = np.ones(2000)
    for _ in range(60):
        queue = scheduler.queue = int(rng.integers(0, 900))
        seen = queued_sources(sources, 400.0, queue)
        index = priced_index(seen, age, 0.05)
        numbers, rewards = scheduler.crawl()
        order = np.argsort(-index, kind="stable")[:60]
        np.testing.assert_array_equal(np.sort(numbers), np.sort(order[index[order] >= 0]))
        np.testing.assert_allclose(rewards, seen.state_at_age(age)[numbers], rtol=1e-10)
        age += 1
        age[numbers] = 1


def test_fast_engine_changes_nothing():
    sources = many_sources(500)
    plain, queued = Scheduler(sources, 20), Scheduler(sources, 20, index_rate=1e15, queue=100)
    for _ in range(50):
        np.testing.assert_array_equal(*(np.sort(s.crawl()[0]) for s in (plain, queued)))


def test_wrong_queues_are_refused_by_name():
    with pytest.raises(ValueError, match="queue"):
        Scheduler(four_sources(), 1, queue=3)
    plain = Scheduler(four_sources(), 1)
    with pytest.raises(ValueError, match="queue needs a scheduler that was given an index_rate"):
        plain.queue = 0
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="index_rate"):
            Scheduler(four_sources(), 1, index_rate=wrong)
    queued = Scheduler(four_sources(), 1, index_rate=2.0, queue=4)
    for wrong in (-1, 0.5, np.nan):
        with pytest.raises(ValueError, match="queue"):
            queued.queue = wrong
    assert queued.queue == 4
    assert queued.crawl()[0].size == 1


@pytest.mark.parametrize("costs", [False, True])
def test_shared_multiplier_takes_price(costs):
    """Where costs differ, the crawls of one machine; else the budget, and near what one earns."""
    cost = np.random.default_rng(6).choice([0.5, 1.0, 3.0], 600) if costs else 1.0
    sources, part = many_sources(600, cost=cost), np.arange(600) % 3
    one = Scheduler(sources, 25, price=0.7)
    many = PartitionedScheduler(sources, part, 25, price=0.7)
    earned = np.zeros((2, 150))
    for epoch in range(150):
        crawls = [scheduler.crawl() for scheduler in (one, many)]
        earned[:, epoch] = [rewards.sum() for _, rewards in crawls]
        if costs:
            np.testing.assert_array_equal(*(np.sort(numbers) for numbers, _ in crawls))
        assert sources.cost[crawls[1][0]].sum() <= 25 * (1 + 1e-12)
    assert earned[1, 50:].sum() == pytest.approx(earned[0, 50:].sum(), rel=0.01)


def test_demand_counts_by_the_capped_index():
    sources = many_sources(400)
    scheduler = Scheduler(sources, 20, price=0.5)
    for _ in range(30):
        scheduler.crawl()
    index = np.minimum(
        priced_index(sources, scheduler.ages, 0.0), priced_index(sources, [10**9] * 400, 0.5)
    )
    for subsidy in (0.0, 0.01, 0.3, 2.0, 50.0):
        assert scheduler.demand(subsidy) == np.count_nonzero(index >= subsidy)


def test_missing_price_cannot_be_set():
    scheduler = Scheduler(four_sources(), 1)
    assert scheduler.price == 0.0
    with pytest.raises(ValueError, match="price"):
        scheduler.price = 0.1
    priced = Scheduler(four_sources(), 1, price=0.1)
    for wrong in (-1.0, np.nan, np.inf, "x"):
        with pytest.raises(ValueError, match="price"):
            priced.price = wrong
    assert priced.price == 0.1
