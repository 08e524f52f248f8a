"""A scheduler with a price of pages: its crawls are those of a full sort under the capped index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.ephemeral import Scheduler, Sources, four_sources
from analysis.ephemeral.scheduler.pages import caps, pages_per_epoch
from analysis.joint import Engine, frozen_index, priced_index
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
def test_crawls_are_those_of_a_full_sort_under_the_capped_index(data, costs, limited):
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
def test_thousands_of_sources_at_prices_that_change(costs):
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


def test_a_price_of_nothing_changes_no_crawl():
    """The crawls without a price, to the last bit of what is expected of them."""
    sources = many_sources(2000, cost=np.random.default_rng(1).choice([0.5, 1.0], 2000))
    plain, free = Scheduler(sources, 50), Scheduler(sources, 50, price=0.0)
    for _ in range(60):
        for one, other in zip(plain.crawl(), free.crawl(), strict=True):
            np.testing.assert_array_equal(one, other)
    assert plain.marginal_index == free.marginal_index
    assert plain.rebuilds == free.rebuilds


@pytest.mark.parametrize("price", [1e-6, 0.05, 0.9, 1.0, 3.0, 1e5])
def test_caps_are_those_of_the_priced_index(price):
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


def test_a_queue_is_a_price_where_all_content_fades_alike():
    """A short batch that joins q pages: the frozen index is delta^q times that at p / delta^q."""
    sources = Sources([1e-5, 2e-5, 3e-5], [1.0, 2.0, 0.5], [0.3] * 3)
    engine, queue, price = Engine(1.7, 40), 12, 0.01
    kept = (engine.index_rate / (engine.index_rate + 0.3)) ** (queue + 1)
    ages = np.arange(1, 30)[:, None] * np.ones(3)
    queued = frozen_index(sources, engine, ages, queue, price=price)
    capped = kept * priced_index(sources, ages, price / kept)
    np.testing.assert_allclose(queued, capped, rtol=2e-4)


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


@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_saved_state_keeps_its_price(tmp_path, precision):
    scheduler = Scheduler(many_sources(500), 12, price=0.4, precision=precision, max_age=90)
    for _ in range(40):
        scheduler.crawl()
    scheduler.remove([7])
    scheduler.save(tmp_path / "state.npz")
    again = Scheduler.load(tmp_path / "state.npz")
    assert again.price == 0.4
    for epoch in range(60):
        if epoch == 30:
            scheduler.price = again.price = 0.05
        for one, other in zip(scheduler.crawl(), again.crawl(), strict=True):
            np.testing.assert_array_equal(np.sort(one), np.sort(other))


def test_a_price_that_was_not_given_cannot_be_set():
    scheduler = Scheduler(four_sources(), 1)
    assert scheduler.price == 0.0
    with pytest.raises(ValueError, match="price"):
        scheduler.price = 0.1
    priced = Scheduler(four_sources(), 1, price=0.1)
    for wrong in (-1.0, np.nan, np.inf, "x"):
        with pytest.raises(ValueError, match="price"):
            priced.price = wrong
    assert priced.price == 0.1
