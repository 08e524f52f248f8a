"""The crawler's choices against rankings written anew, and its readings by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad

from analysis.crawl import (
    FeedReader,
    Frontier,
    IndexPolicy,
    Outcome,
    Reply,
    Site,
    due_dates,
    export,
    listed_ages,
    listing_window,
    read_feed,
)
from analysis.ephemeral import Observation, Sources, relaxed_problem, whittle_index_at_age

NOW = pd.Timestamp("2026-03-01 12:00:00", tz="UTC")


def ten_decades(size=40):
    """Sources whose rates, worths and decays differ by ten decades."""
    rng = np.random.default_rng(size)
    rate, worth, decay = (10.0 ** rng.uniform(*ends, size) for ends in ((-5, 5), (-5, 5), (-9, 1)))
    return Sources(rate, worth, decay)


SETS = {
    "rates over ten decades": ten_decades(),
    "equal sources": Sources(np.ones(30), np.ones(30), np.full(30, 0.3)),
    "near-ties": Sources(1 + 1e-13 * np.arange(30), np.ones(30), np.full(30, 0.3)),
    "some that never publish": Sources(np.repeat([0.0, 1.0], 9), np.ones(18), np.full(18, 0.3)),
    "one source": Sources([2.0], [1.0], [0.5]),
    "slow decay": Sources(np.arange(1.0, 9), np.ones(8), 10.0 ** -np.arange(1.0, 9)),
}


def ages_of(size, seed=0):
    rng = np.random.default_rng([seed, size])
    return rng.integers(0, 10 ** rng.integers(1, 7, size))


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_index_policy_ranks_by_index(sources):
    """The chosen sources are those of largest index, by a sort in Python."""
    age = ages_of(len(sources))
    seen = Observation(0, age, np.full(len(sources), np.nan))
    value = whittle_index_at_age(sources, age)
    order = sorted(range(len(sources)), key=lambda i: (-value[i], i))
    policy = IndexPolicy(sources)
    for budget in {1, (len(sources) + 1) // 2, len(sources)}:
        assert policy.select(seen, budget).tolist() == sorted(order[:budget])


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("name", [name for name in SETS if name != "slow decay"])
def test_due_dates_ask_for_frequencies(name, share):
    """The intervals ask for the frequencies of the relaxed problem, and in all for the budget."""
    sources = SETS[name]
    size = len(sources)
    budget = share * size
    urls, ages = [str(i) for i in range(size)], np.zeros(size)
    found = due_dates(sources, urls, ages, NOW, seconds=1e6, budget=budget, longest=1e10)
    relaxed = relaxed_problem(sources, budget)
    often = found["interval"].to_numpy() < 1e10  # the others come as seldom as may be
    asked = (1e6 / found["interval"])[often].to_numpy()
    assert asked == pytest.approx(relaxed.frequency[often], rel=1e-6)
    assert (relaxed.frequency[~often] <= 1.001e-4).all()
    assert (relaxed.frequency[often] <= 1 / relaxed.age[often] * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("hosts", "delay", "budget"), [(1, 1.0, 4), (3, 2.5, 2), (5, 0.3, 30), (7, 0.0, 6)]
)
@pytest.mark.parametrize("name", ["rates over ten decades", "equal sources", "near-ties"])
def test_frontier_ranks_what_hosts_allow(name, hosts, delay, budget):
    """Each place goes to the largest index that may be fetched: ranked anew for every place."""
    sources = SETS[name]
    size = len(sources)
    where = np.arange(size) % hosts
    crawl = Frontier(IndexPolicy(sources), where.tolist(), budget, rng=np.random.default_rng(0))
    free, known = np.zeros(hosts), np.zeros(hosts, dtype=bool)
    for epoch in range(12):
        value = whittle_index_at_age(sources, crawl.age)
        room = np.where(known & (delay < 1), np.inf if delay == 0 else 1 // max(delay, 1e-9), 1)
        room[free > epoch] = 0
        taken = []
        for i in sorted(range(size), key=lambda i: (-value[i], i)):
            if len(taken) < budget and room[where[i]] > 0:
                taken.append(i)
                room[where[i]] -= 1
        assert crawl.choose().tolist() == sorted(taken), epoch
        for i in taken:
            crawl.settle(Outcome(i, "found", delay=delay))
            free[where[i]], known[where[i]] = epoch + max(np.ceil(delay), 1), True


def feed(*items):
    return (
        "<rss><channel>" + "".join(f"<item>{i}</item>" for i in items) + "</channel></rss>"
    ).encode()


@pytest.mark.parametrize(
    ("published", "now", "half_life", "worth"),
    [
        ("Mon, 01 Jan 2024 00:00:00 GMT", 1_704_067_210.0, 1.0, 2.0**-10),
        ("Fri, 01 Jan 2094 00:00:00 GMT", 0.0, 1.0, 1.0),
        ("Wed, 31 Dec 1969 23:00:00 GMT", 0.0, 3600.0, 0.5),
        ("", 0.0, 1.0, 1.0),
        ("Mon, 01 Jan 0000 00:00:00 GMT", 0.0, 1.0, 1.0),
    ],
)
def test_items_lose_worth_by_half_life(published, now, half_life, worth):
    body = feed(f"<guid>1</guid><pubDate>{published}</pubDate>")
    found = FeedReader(half_life).read(Reply(200, {}, body, time=now), "")
    assert found.reward == pytest.approx(worth, rel=1e-12)


@pytest.mark.parametrize(("decay", "before"), [(1e-12, 3600.0), (40.0, 1.0), (0.5, 1e6)])
def test_site_serves_what_age_has_left(decay, before):
    """What a crawl finds is the sum over items of utility times what age has left of it."""
    times, utility = np.array([-before, 0.0, 900.0]), np.array([1e6, 1.0, 1e-6])
    site = Site(Sources([1.0], [1.0], [decay]), [times], [utility])
    for epoch in (0, 1, 5):
        now = site.time(epoch)
        there = times <= epoch * 3600
        left = utility * np.exp(-decay * (epoch * 3600 - times) / 3600)
        found = read_feed(site.reply(0, "/feed/0.xml", {}, now), "")
        assert found.reward == pytest.approx(left[there].sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "column"), [("nutch", "fetchTime"), ("stormcrawler", "nextFetchDate")]
)
def test_exported_dates_parse_back(kind, column):
    """The dates of a crawler's export parse back to those that were found."""
    sources = SETS["some that never publish"]
    urls = [f"http://127.0.0.1/{i}?a=1,2" for i in range(len(sources))]
    found = due_dates(sources, urls, np.zeros(len(sources)), NOW, seconds=60.0, budget=2.0)
    frame = export(found, kind)
    assert (pd.to_datetime(frame[column]) == found["next_fetch"]).all()
    assert frame["url"].tolist() == urls


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ([5.0], True),
        ([5.0, -1.7e308], True),
        ([5.0, 4.0, None, None], True),
        ([5.0, None, None], False),
        ([5.0] * 9, False),
        ([4.5, 4.0], True),
        (np.repeat(np.arange(5.0), 2), True),
    ],
)
def test_listed_ages_are_believed(dates, expected):
    assert bool(listed_ages(dates, 5.0)) == expected


@pytest.mark.parametrize(
    ("ages", "memory"),
    [
        (np.arange(1.0, 9.0), 1e-3),
        (np.arange(1.0, 9.0), 1e12),
        (3e7 * np.arange(1.0, 4.0), 1e7),
    ],
)
def test_listing_window_is_an_integral(ages, memory):
    items, time = listing_window(ages, memory)
    assert items == pytest.approx(sum(np.exp(-age / memory) for age in ages[:-1]))
    kink = [min(5 * memory, ages[-1])]
    exact = {"limit": 500, "epsabs": 0.0, "epsrel": 1e-10, "points": kink}
    assert time == pytest.approx(quad(lambda x: np.exp(-x / memory), 0, ages[-1], **exact)[0])
