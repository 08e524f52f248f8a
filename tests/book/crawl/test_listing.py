"""The page on listings: the worlds that it crawls, and what the learners earn."""

import numpy as np
import pytest

from book.crawl import listing as page

POINT = {"size": 12, "budget": 2, "epochs": 80, "half_life": 1.5, "length": 15, "memory": 30.0}


@pytest.fixture(scope="module")
def runs():
    return page.crawl_worlds(POINT | {"jump": False, "lies": 0.0}, 4, 1)


def test_listings_beat_counts_beat_sums(runs):
    early = {name: page.compute_shares(runs, name, 0, 30).mean() for name in runs}
    assert early["listing"] > early["counting"] + 0.03
    assert early["counting"] > max(early["ucb"], early["thompson"])


def test_false_dates_reduce_to_counting():
    lying = page.crawl_worlds(POINT | {"jump": False, "lies": 1.0}, 1, 2)
    assert lying["listing"] == pytest.approx(lying["counting"])


def test_rates_exchanged_half_way():
    feeds = page.sample_feeds(30, 400, np.random.default_rng(3), jump=True)
    for rates, begin, end in ((feeds.rate, 0, 200), (feeds.then, 200, 400)):
        counts = [np.count_nonzero((t >= begin) & (t < end)) for t in feeds.published]
        assert np.abs(counts - 200 * rates).max() < 5 * np.sqrt(200 * rates.max())
    assert sorted(feeds.then) == sorted(feeds.rate)


def test_listed_items_count_once():
    """One feed fetched in every epoch: all items of the crawl count, as old as they are then."""
    times = np.array([-3.0, -0.5, 0.25, 0.5, 2.75])
    one = np.ones(1)
    feeds = page.Feeds([times], one, one, 3600.0, np.zeros(1, dtype=bool))
    policy = page.make_learner("index", feeds, 2.0, np.inf, 4)
    rng = np.random.default_rng(0)
    found = page.crawl_feeds(feeds, policy, 1, 4, 2.0, 15, rng)
    assert found == pytest.approx(2.0 ** -np.array([0.25, np.inf, np.inf, 0.125]) + [
        0, 2**-0.375 + 2**-0.25, 0, 0])  # fmt: skip
    short = page.crawl_feeds(feeds, policy, 1, 4, 2.0, 1, rng)
    assert short == pytest.approx([2**-0.25, 2**-0.25, 0, 2**-0.125])


def test_trace_has_mean_rates():
    feeds = page.read_trace_feeds(104 * 7 * 86_400, 100, 6)
    inside = [np.count_nonzero((t >= 0) & (t < 100)) for t in feeds.published]
    assert feeds.rate == pytest.approx(np.array(inside) / 100)
    assert len(inside) == 436
