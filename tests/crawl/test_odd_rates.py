"""One odd feed among 59 ordinary ones: how often it is fetched, against the index at its true rate.

The odd feed publishes 8 items a day and lists 10, the others 1 a day; an epoch is an hour and has
one fetch. Items have ids and dates alone, so that the reader has nothing else to know them by.
"""

import calendar
from email.utils import formatdate

import numpy as np
import pytest

from analysis.crawl import FeedReader, Frontier, IndexPolicy, ListingIndex, Outcome, Reply
from analysis.crawl.feeds.listing import believed_ages
from analysis.ephemeral import Sources, whittle_index_at_age

DAY, HOUR = 86_400.0, 3600.0
START = float(calendar.timegm((2026, 3, 1, 0, 0, 0)))
SIZE = 60


class KnownRates(IndexPolicy):
    """The index at the true rates, of which that of the first source depends on the epoch."""

    def __init__(self, true_rate):
        ones, decay = np.ones(SIZE), np.full(SIZE, np.log(2.0) / 24)
        super().__init__(Sources(ones, ones, decay))
        self.true_rate, self.epoch = true_rate, 0

    def index(self, age):
        rate = np.r_[self.true_rate(self.epoch), np.ones(SIZE - 1)]
        return rate * whittle_index_at_age(self.sources, age)


def listed(times, now):
    """Return number and time of the newest ten items, the newest first."""
    count = int(np.searchsorted(times, now, side="right"))
    return [(str(j), float(times[j])) for j in range(count - 1, max(count - 11, -1), -1)]


def feed(items):
    body = "".join(
        f"<item><guid isPermaLink='false'>{id}</guid>"
        + (f"<pubDate>{formatdate(date)}</pubDate>" if date is not None else "")
        + "</item>"
        for id, date in items
    )
    return f"<rss version='2.0'><channel>{body}</channel></rss>".encode()


def crawl(days, policy, published, show, seed=0):
    """Return the number of fetches of each source."""
    rng = np.random.default_rng(seed)
    rates = np.r_[8.0, np.ones(SIZE - 1)]
    times = [
        np.sort(rng.uniform(START - 60 * DAY, START + days * DAY, rng.poisson(r * (days + 60))))
        for r in rates
    ]
    times[0] = published(times[0])
    frontier = Frontier(policy, range(SIZE), 1, rng=1, seconds=HOUR, min_age=1)
    reader, memory, last = FeedReader(DAY), "", np.full(SIZE, -np.inf)
    fetches = np.zeros(SIZE, dtype=int)
    for epoch in range(days * 24):
        policy.epoch, now = epoch, START + epoch * HOUR
        for i in frontier.choose().tolist():
            fetches[i] += 1
            newest = listed(times[i], now)
            if i == 0:
                body = feed(show(newest, now, epoch))
                reading = reader.read(Reply(200, {}, body, time=now), memory)
                memory, new, known = reading.memory, len(reading.items), reading.known
                reward, ages = reading.reward, reading.ages
            else:
                dates = np.array([date for _, date in newest])
                new = int((dates > last[i]).sum())
                known, ages = dates.size - new, believed_ages(dates.tolist(), now)
                reward = float(np.exp2((dates[:new] - now) / DAY).sum())
            last[i] = now
            frontier.settle(Outcome(i, "found", reward=reward, items=new, known=known, ages=ages))
    return fetches


def same(times):
    return times


def as_is(items, now, epoch):
    return items


def with_pins(*days):
    pins = [(f"pin{k}", START - day * DAY) for k, day in enumerate(days)]
    return lambda items, now, epoch: pins + items


def dated(change):
    return lambda items, now, epoch: [(id, change(date, now, epoch)) for id, date in items]


def renamed(change):
    """Return what a feed shows whose ids change at every fetch."""
    return lambda items, now, epoch: [
        (f"{id}-{epoch}", change(date, now, epoch)) for id, date in items
    ]


def edited(date, now, epoch):
    """Return the date of the last edit, which may be any in six hours."""
    hours = np.random.default_rng([epoch, int(date)]).uniform(0, 6)
    return max(date, now - hours * HOUR)


def silence(days, step=3.0):
    """Return ten items, `step` days apart, before a silence of so many days."""
    return START - DAY * (days + step * np.arange(10))[::-1]


def wakes(times, silent, begin):
    return np.r_[silence(silent), times[times >= START + begin * DAY]]


LISTINGS = {
    "ordinary": as_is,
    "one pin": with_pins(1500),
    "two pins": with_pins(1500, 1400),
    "three pins": with_pins(900, 1400, 300),
    "pins of weeks": with_pins(20, 37, 54, 71, 88),
    "two dates of 1970": lambda items, now, epoch: [*items[:8], ("p", 0.0), ("q", 0.0)],
    "a future event": lambda items, now, epoch: [("event", now + 30 * DAY), *items],
    "dates 5 h ahead": dated(lambda date, now, epoch: date + 5 * HOUR),
    "dates 12 h ahead": dated(lambda date, now, epoch: date + 12 * HOUR),
    "dates 5 h late": dated(lambda date, now, epoch: date - 5 * HOUR),
    "dates 12 h late": dated(lambda date, now, epoch: date - 12 * HOUR),
    "dates without time": dated(lambda date, now, epoch: date - date % DAY),
    "dates of edits": dated(edited),
    "dates of the fetch": dated(lambda date, now, epoch: now),
    "no dates": dated(lambda date, now, epoch: None),
    "half of the dates": lambda items, now, epoch: [
        (id, date if int(id) % 2 else None) for id, date in items
    ],
    "new ids": renamed(lambda date, now, epoch: date),
    "new ids, changing dates": renamed(lambda date, now, epoch: date + epoch % 60),
    "new ids, dates of the hour": renamed(lambda date, now, epoch: now - date % 600),
    "new ids, no dates": renamed(lambda date, now, epoch: None),
}
CHANGES = {
    "revived after years": (lambda times: wakes(times, 1500, -0.5), lambda epoch: 8),
    "revived after months": (lambda times: wakes(times, 200, -0.5), lambda epoch: 8),
    "wakes after the first fetch": (lambda times: wakes(times, 1500, 0.1), lambda epoch: 8),
    "wakes on day 5": (
        lambda times: wakes(times, 100, 5),
        lambda epoch: 8 * (epoch >= 120),
    ),
}
CEASED = {
    "dies on day 1": lambda times: times[times < START + DAY],
    "dead for 60 days": lambda times: silence(60, 0.125),
    "imported an hour before": lambda times: np.sort(
        np.r_[START - HOUR - np.linspace(0, 600, 300), times[times > START][::80]]
    ),
    "imported on day 5": lambda times: np.sort(
        np.r_[times[::80], START + 5 * DAY - np.linspace(0, 600, 300)]
    ),
}


def learner():
    return ListingIndex(SIZE, 24.0, HOUR, memory=90 * 24.0)


def assert_fetched_as_deserved(days, published, show, true_rate=lambda epoch: 8.0):
    deserved = crawl(days, KnownRates(true_rate), published, as_is)[0]
    assert 0.5 * deserved <= crawl(days, learner(), published, show)[0] <= 2 * deserved


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["two pins", "new ids, no dates", "new ids, changing dates"])
def test_odd_listing_neither_starves_nor_feasts(kind):
    assert_fetched_as_deserved(30, same, LISTINGS[kind])


def test_feed_that_wakes_is_noticed():
    published, true_rate = CHANGES["wakes on day 5"]
    assert_fetched_as_deserved(30, published, as_is, true_rate)


@pytest.mark.slow
@pytest.mark.parametrize("days", [30, 200])
@pytest.mark.parametrize("kind", LISTINGS)
def test_odd_listings_are_fetched_as_deserved(kind, days):
    assert_fetched_as_deserved(days, same, LISTINGS[kind])


@pytest.mark.slow
@pytest.mark.parametrize("days", [30, 200])
@pytest.mark.parametrize("kind", CHANGES)
def test_changes_are_noticed(kind, days):
    published, true_rate = CHANGES[kind]
    assert_fetched_as_deserved(days, published, as_is, true_rate)


@pytest.mark.slow
@pytest.mark.parametrize("days", [30, 200])
@pytest.mark.parametrize("kind", CEASED)
def test_feed_that_ceases_does_not_outlast_others(kind, days):
    """The index would hardly ever fetch it: it is fetched less than twice as often as others."""
    fetches = crawl(days, learner(), CEASED[kind], as_is)
    assert 1 <= fetches[0] <= 2 * fetches[1:].mean()
