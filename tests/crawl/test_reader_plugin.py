"""The plugin for the library ``reader``, with the library on this machine where it is installed."""

from datetime import UTC, datetime

import numpy as np
import pytest

from analysis.crawl.local.site import FeedServer, Site
from analysis.crawl.reader_plugin import intervals, schedule
from analysis.ephemeral import Sources, relaxed_problem

HOUR = 3600
RATES = np.array([1.0, 0.3, 0.1, 0.03, 0.01])


@pytest.mark.parametrize("budget", [0.2, 1.0, 2.5])
def test_intervals_ask_for_the_budget(budget):
    epochs = intervals(RATES, budget, 24.0)
    assert (1 / epochs).sum() == pytest.approx(budget)
    decay = np.full(5, np.log(2) / 24.0)
    relaxed = relaxed_problem(Sources(RATES, np.ones(5), decay), budget)
    assert 1 / epochs == pytest.approx(relaxed.frequency)


def test_large_budget_updates_once():
    assert intervals(RATES, 99.0, 24.0) == pytest.approx(np.ones(5))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 1, "half_life": -1}, "half_life"),
        ({"budget": 1, "shortest": 59}, "shortest"),
        ({"budget": 1, "shortest": 7200, "longest": 3600}, "longest"),
    ],
)
def test_wrong_settings_are_refused_by_name(wrong, said):
    with pytest.raises(ValueError, match=said):
        schedule(**wrong)


@pytest.fixture
def library():
    pytest.importorskip("sgmllib", reason="sgmllib3k, which `reader` needs, is not installed")
    return pytest.importorskip("reader", reason="the library `reader` is not installed")


def a_site(hours=24 * 14):
    rng = np.random.default_rng(4)
    published = [
        np.sort(rng.uniform(-2000 * HOUR, hours * HOUR, rng.poisson(r * (2000 + hours))))
        for r in RATES
    ]
    sources = Sources(RATES, np.ones(5), np.full(5, np.log(2) / 24))
    worth = [np.ones(times.size) for times in published]
    return Site(sources, published, worth, seconds=HOUR, length=30, stated=False)


def test_updates_follow_relaxed_problem(library):
    """Two weeks, an attempt an hour: the requests of each feed, and of all of them together."""
    site, now = a_site(), [0.0]
    with FeedServer(site, clock=lambda: now[0]) as server:
        plugin = schedule(1.0, 24 * HOUR, clock=lambda: now[0])
        reader = library.make_reader(":memory:", plugins=[plugin])
        reader._now = lambda: datetime.fromtimestamp(now[0], UTC)  # as in the library's own tests
        urls = server.urls()
        for url in urls:
            reader.add_feed(url)
        for hour in range(24 * 14):
            now[0] = float(site.time(hour))
            reader.update_feeds(scheduled=True)
        paths = [request.path for request in server.served]
        counts = np.array([sum(path == f"/feed/{i}.xml" for path in paths) for i in range(5)])
        set_ = [reader.get_tag(url, ".reader.update")["interval"] for url in urls]
        reader.close()
    wanted = 24 * 14 / np.minimum(intervals(RATES, 1.0, 24.0), 30 * 24)
    assert counts[:3] == pytest.approx(wanted[:3], rel=0.35)  # the rates are learned
    assert (np.diff(counts) <= 0).all()
    assert (np.diff(set_) >= 0).all()
    assert 0.7 * 336 < counts.sum() < 1.3 * 336
