"""The rate of a feed from its listing: theorems against quadrature, dates that lie, a crawl."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from analysis.crawl import Frontier, ListingIndex, Outcome, Reply, listed_ages, listing_window
from analysis.crawl.feeds.listing import mean_rate
from analysis.crawl.feeds.reader import FeedReader
from analysis.crawl.local.site import random_site
from analysis.crawl.local.transport import crawl_in_process
from analysis.crawl.policies import listing_index
from analysis.crawl.store import Store
from analysis.ephemeral import Sources

DAY = 86_400.0


def expectation(function, n, rate):
    """Mean of a function of the age of the n-th item, by quadrature."""
    law = stats.gamma(n, scale=1 / rate)
    return integrate.quad(lambda x: function(x) * law.pdf(x), 0, np.inf, limit=200)[0]


def listings(n, rate, count, rng):
    return np.cumsum(rng.exponential(1 / rate, (count, n)), axis=1)


# Theorem 1.


@pytest.mark.parametrize("memory", [0.3, 2.0, np.inf])
@pytest.mark.parametrize("rate", [0.2, 3.0])
def test_two_items_give_unbiased_rate(rate, memory):
    """Both ages integrated out, without the step of the proof that conditions on one of them."""

    def estimate(newest, oldest):
        items, time = listing_window([newest, oldest], memory)
        return items / time * rate**2 * np.exp(-rate * oldest)

    def inner(oldest):
        return integrate.quad(estimate, 0, oldest, args=(oldest,))[0]

    found = integrate.quad(inner, 0, 60 / rate, points=[0.01 / rate, 1 / rate], limit=200)[0]
    assert found == pytest.approx(rate, rel=1e-5)


@pytest.mark.parametrize(("n", "memory"), [(3, 1.0), (15, 4.0), (15, np.inf)])
def test_more_items_give_unbiased_rate(n, memory):
    rng = np.random.default_rng(n)
    ratios = [np.divide(*listing_window(ages, memory)) for ages in listings(n, 2.0, 6_000, rng)]
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 2.0) < 4 * error
    assert 2.0 / (n - 1) > 4 * error  # the border, if it counted, would be seen


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_items_tell_nothing(n):
    assert listing_window([3.0] * n) == (0.0, 0.0)


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
    assert time == pytest.approx(
        integrate.quad(lambda x: np.exp(-x / memory), 0, ages[-1], **exact)[0]
    )


# Theorem 2, a listing cut by time, later fetches.


@pytest.mark.parametrize("n", [2, 3, 15])
@pytest.mark.parametrize("load", [0.3, 5.0, 40.0])
def test_cut_window_is_unbiased(n, load):
    rate, cut = 2.0, load / 2.0
    law, count = stats.gamma(n, scale=1 / rate), stats.poisson(load)
    whole = integrate.quad(lambda x: (n - 1) / x * law.pdf(x), 0, cut, epsabs=1e-12)[0]
    k = np.arange(n)
    assert whole + (k * count.pmf(k)).sum() / cut == pytest.approx(rate, rel=1e-8)


@pytest.mark.parametrize("load", [0.5, 3.0, 20.0])
def test_time_limited_listing_bias(load):
    rate = 2.0
    cut = load / rate

    def given(n):
        """Mean of the estimate when n items are printed: the oldest is the largest uniform."""
        law = stats.beta(n, 1)
        return integrate.quad(lambda x: (n - 1) / (cut * x) * law.pdf(x), 0, 1)[0]

    chance = stats.poisson(load).pmf
    mean = sum(chance(n) * given(n) for n in range(2, int(load + 60)))
    assert mean == pytest.approx(rate * -np.expm1(-load), rel=1e-8)


@pytest.mark.parametrize("n", [2, 5, 15])
@pytest.mark.parametrize("later", [0.1, 2.0, 50.0])
def test_listing_and_later_count_bias(n, later):
    rate = 2.0
    mean = expectation(lambda x: (n - 1 + rate * later) / (x + later), n, rate)
    bias = -expectation(lambda x: later / (x + later) ** 2, n, rate)
    assert mean - rate == pytest.approx(bias, rel=1e-5, abs=1e-9)
    assert 0 < -bias <= min(1 / later, rate / (4 * (n - 1)))


@pytest.mark.parametrize("windows", [1, 3, 20])
def test_window_without_one_border(windows):
    n, rate = 5, 2.0
    assert expectation(lambda x: (windows * n - 1) / x, windows * n, rate) == pytest.approx(rate)


@pytest.mark.parametrize("memory", [2.0, 30.0, np.inf])
@pytest.mark.parametrize("prior", [(1.0, 0.1), (1.0, 5.0), (0.3, 2.0)])
@pytest.mark.parametrize("n", [3, 15])
def test_prior_bias_is_bounded(n, prior, memory):
    (a, b), rate = prior, 2.0

    def estimate(x):
        time = listing_window([x, x], memory)[1]
        return (a + (n - 1) * time / x) / (b + time)

    bound = abs(a - b * rate) * (rate / (n - 1) + 1 / memory)
    bound += b * rate * (rate / (n - 2) + 1 / memory)
    assert abs(expectation(estimate, n, rate) - rate) <= bound


# Dates that lie.

LIES = {
    "most are missing": [900.0, None, None],
    "not a number": [900.0, float("nan"), 700.0],
    "all are the time of the fetch": [1000.0] * 10,
    "most are one date": [900.0, 800.0, 700.0, 700.0, 700.0, 700.0],
    "nothing is listed": [],
}


@pytest.mark.parametrize("lie", LIES)
def test_dates_that_lie_are_not_believed(lie):
    assert listed_ages(LIES[lie], 1000.0) == ()


@pytest.mark.parametrize(
    "dates",
    [[5.0], [5.0, -1.7e308], [5.0, 4.0, None, None], [4.5, 4.0], np.repeat(np.arange(5.0), 2)],
)
def test_odd_dates_that_may_be_true_are_believed(dates):
    assert listed_ages(dates, 5.0)


RECENT = np.cumsum(np.random.default_rng(3).exponential(DAY / 8, 10))  # ages of ten items
YEAR = 365 * DAY
OUTLIERS = {
    "none": [],
    "one missing": [None],
    "one in the future": [-30 * DAY],
    "one pin": [4 * YEAR],
    "two pins": [4 * YEAR, 4.1 * YEAR],
    "five pins": [20 * DAY, 37 * DAY, 54 * DAY, 71 * DAY, 88 * DAY],
    "pins of one date": [YEAR] * 9,
    "dates of 1970": [56 * YEAR] * 2,
    "silence of years": 4 * YEAR + 3 * DAY * np.arange(10),
    "silence of months": 200 * DAY + 30 * DAY * np.arange(10),
}


@pytest.mark.parametrize("outliers", OUTLIERS)
def test_outliers_alone_are_dropped(outliers):
    now = 60.0 * YEAR
    ages = [*RECENT, *OUTLIERS[outliers]]
    found = listed_ages([None if age is None else now - age for age in ages], now)
    assert found == pytest.approx(RECENT)


def test_single_new_item_after_years_is_kept():
    ages = [2 * 3600.0, *(4 * YEAR + 3 * DAY * np.arange(10))]
    assert listed_ages([-age for age in ages], 0.0) == (7200.0,)


def test_future_dates_keep_rate():
    """In a wrong zone the newest items are in the future; the others show the rate."""
    ages = np.cumsum(np.random.default_rng(4).exponential(DAY / 8, 200))
    believed = listed_ages(-(ages - 5 * 3600.0), 0.0)
    items, time = listing_window(np.array(believed) / DAY)
    assert items / time == pytest.approx(8.0, rel=0.2)


@pytest.mark.parametrize("n", [2, 5, 15, 100])
def test_honest_dates_are_accepted(n):
    ages = listings(n, 1.0, 5_000, np.random.default_rng(n))
    believed = sum(bool(listed_ages((1e6 - row).tolist(), 1e6)) for row in ages)
    assert believed >= stats.binom(5_000, 1 - 1e-4).ppf(1e-4)


def test_fast_clock_is_accepted():
    assert listed_ages([1010.0, 900.0, 800.0], 1000.0) == (0.0, 100.0, 200.0)


# The learner.


def learner(**options):
    return ListingIndex(1, half_life=1.0, seconds=DAY, **options)


def seen(policy, age, **found):
    """Let the only source be fetched at an age."""
    policy.index(np.array([age]))
    policy.observe([Outcome(0, "found", **found)])
    return policy.rate[0]


def days(*ages):
    return tuple(DAY * age for age in ages)


def test_first_listing_excludes_its_border():
    policy = learner(shape=1e-9)
    assert seen(policy, 1, items=3, ages=days(1, 2, 4)) == pytest.approx(0.5)


def test_later_fetches_are_counted():
    policy = learner(shape=1e-9)
    seen(policy, 1, items=3, ages=days(1, 2, 4))
    assert seen(policy, 6, items=3, known=2, ages=()) == pytest.approx(0.5)
    assert seen(policy, 10, items=0, known=5) == pytest.approx(5 / 20)


def test_new_listing_counts_its_window():
    policy = learner(shape=1e-9)
    seen(policy, 1, items=3, ages=days(1, 2, 4))
    assert seen(policy, 100, items=3, ages=days(1, 3, 6)) == pytest.approx(5 / 10)


def test_undated_first_fetch_is_ignored():
    policy = learner(shape=1e-9)
    assert seen(policy, 1, items=15) == pytest.approx(1.0)  # the mean of a prior without data
    assert seen(policy, 10, items=5, known=10) == pytest.approx(0.5)


def test_contradicted_listing_is_dropped():
    policy = learner(shape=1e-9)
    hour = 1 / 24
    assert seen(policy, 1, items=15, ages=days(*(hour * np.arange(1, 16)))) > 20
    for _ in range(3):
        rate = seen(policy, 5, items=1, known=14)
    assert rate == pytest.approx(3 / 15)


def test_old_counts_fade():
    policy = ListingIndex(2, half_life=1.0, seconds=DAY, memory=10.0)
    often, seldom = days(*range(1, 11)), days(*range(100, 1100, 100))
    policy.observe([Outcome(i, "found", items=10, ages=(often, seldom)[i]) for i in (0, 1)])
    assert policy.rate[1] < 0.3 * policy.rate[0]
    policy.index(np.array([1, 1000]))
    assert policy.rate[1] == pytest.approx(policy.rate[0], rel=0.2)  # the mean of the prior


def test_stated_values_are_learned():
    policy = learner()
    for _ in range(40):
        seen(policy, 2, items=2, known=9, ages=days(0.5, 1, *range(3, 12)), reward=7 * 0.5**0.5)
    expected = 40 * (0.5**0.5 + 0.5)
    assert policy.worth[0] == pytest.approx((1 + 40 * 7 * 0.5**0.5) / (1 + expected))


@pytest.mark.parametrize("seed", range(12))
def test_prior_mean_maximises_likelihood(seed):
    """Counts of a Poisson number with a gamma rate are negative binomial.

    Of many sources that were hardly watched the posterior is the prior: expectation-maximisation
    stops there before it has moved.
    """
    rng = np.random.default_rng(seed)
    shape, seldom = 10.0 ** rng.uniform(-2, 1.5), seed % 3 == 0
    time = 10.0 ** rng.uniform(-2, 3, rng.integers(2, 30))
    items = rng.poisson(time * rng.gamma(shape, 1.0 / shape, time.size)).astype(float)
    items[0] += 1
    if seldom:
        time, items = np.append(time, np.full(3000, 1e-6)), np.append(items, np.zeros(3000))

    def unlikely(log_mean):
        chance = shape / (shape + np.exp(log_mean) * time)
        return -stats.nbinom.logpmf(items, shape, chance).sum()

    best = optimize.minimize_scalar(unlikely, bounds=(-30, 30), options={"xatol": 1e-9})
    found = mean_rate(items, time, shape)
    assert np.log(found) == pytest.approx(best.x, abs=1e-5)
    unwatched = np.append(time, 0.0), np.append(items, 0.0)
    assert mean_rate(unwatched[1], unwatched[0], shape) == found


def test_prior_mean_at_float_limits():
    """Where all were watched alike it is the common ratio; without items it is 1."""
    for time in (1e-300, 1.0, 1e300):
        for shape in (1e-9, 1.0, 1e9):
            assert mean_rate(np.array([1.0, 3.0]), np.full(2, time), shape) == pytest.approx(
                2 / time, rel=1e-8
            )
    tiny, zero = np.array([1e-300, 1e3]), np.zeros(2)
    assert mean_rate(np.array([0.0, 500.0]), tiny, 1.0) == pytest.approx(0.5, rel=1e-9)
    assert mean_rate(zero, tiny, 1.0) == mean_rate(np.ones(2), zero, 1.0) == 1


def test_unfetched_source_comes_first():
    policy = ListingIndex(3, half_life=1.0, seconds=DAY)
    policy.observe([Outcome(1, "found", items=3, ages=days(0.1, 0.2, 0.3))])
    value = policy.index(np.array([9, 9, 9]))
    assert np.isinf(value).tolist() == [True, False, True]


def test_reader_feeds_the_learner():
    def item(id, date):
        return f"<item><guid>{id}</guid><pubDate>{date}</pubDate></item>"

    dates = ["Tue, 02 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT"]
    now, read = 1_704_153_600 + 3600, FeedReader()

    def reply(*items):
        return Reply(200, {}, f"<rss><channel>{''.join(items)}</channel></rss>".encode(), time=now)

    first = read(reply(item(1, dates[0]), item(0, dates[1])), "")
    assert (first.known, first.ages) == (0, (3600.0, 3600.0 + DAY))
    again = read(reply(item(1, dates[0]), item(0, "")), first.memory)
    assert (again.known, again.ages) == (2, (3600.0,))
    assert read(Reply(304, {}, b"", time=now), first.memory).known == 2


def test_ids_that_change_are_counted_by_dates():
    policy = ListingIndex(20, half_life=24.0, seconds=3600.0, memory=90 * 24.0)
    ages = tuple((3600.0 * 3 * np.arange(0.5, 10)).tolist())
    for _ in range(48):
        policy.index(np.ones(20, dtype=int))
        policy.observe([Outcome(0, "found", items=10, reward=8.0, ages=ages)])
    assert 4 < 24 * policy.rate[0] < 12
    assert policy.ids_change.tolist() == [True] + 19 * [False]
    policy.index(np.ones(20, dtype=int))
    policy.observe([Outcome(0, "found", items=0, known=10, ages=ages)])
    assert not policy.ids_change.any()


def test_reissued_items_are_not_counted():
    policy = learner(shape=1e-9)
    seen(policy, 1, items=3, ages=days(1, 2, 4))
    assert seen(policy, 6, items=5, known=1, ages=days(3, *range(20, 25))) == pytest.approx(0.3)


def test_new_ids_are_checked_again():
    policy = ListingIndex(2, half_life=24.0, seconds=3600.0)
    for source in (0, 1):
        policy.observe([Outcome(source, "found", items=10)])
    policy.index(np.array([40, 40]))
    policy.observe([Outcome(source, "found", items=10, known=0) for source in (0, 1)])
    assert np.isinf(policy.index(np.array([1, 1]))).all()
    policy.observe([Outcome(0, "found", items=1, known=9), Outcome(1, "found", items=10)])
    assert np.isfinite(policy.index(np.array([1, 1]))).all()
    assert policy.ids_change.tolist() == [False, True]
    rate = policy.rate
    assert 11 / 60 < rate[0] < 1
    assert rate[1] < 3  # ten are listed


def test_stale_source_has_the_mean_rate():
    policy = ListingIndex(2, half_life=1.0, seconds=DAY, stale_age=30.0)
    often, seldom = days(*range(1, 11)), days(*range(100, 1100, 100))
    policy.observe([Outcome(i, "found", items=10, ages=(often, seldom)[i]) for i in (0, 1)])
    policy.index(np.array([1, 29]))
    assert policy.rate[1] < 0.02
    policy.index(np.array([1, 30]))
    assert 0.1 < policy.rate[1] < policy.rate[0]


def test_later_change_of_rate_is_noticed():
    """Sixty days of one rate do not hide the next one for as long."""
    policy = learner()
    for change, low, high in ((8, 6, 10), (0.25, 0.1, 0.8), (8, 6, 10)):
        for _ in range(15):
            rate = seen(policy, 4, items=round(4 * change), known=9)
        assert low < rate < high


@pytest.mark.parametrize("aside", [False, True])
def test_state_of_an_earlier_version_loads(aside):
    """It lacks what is kept of ids. A source that was not listed meanwhile keeps its old row."""

    def frontier(*names):
        return Frontier(ListingIndex(len(names), 1.0, DAY), names, 1, rng=0, names=names)

    crawl = frontier("a", "b")
    crawl.policy.observe([Outcome(1, "found", items=3, ages=days(1, 2, 4))])
    state, rate = crawl.state(), crawl.policy.rate
    layout = json.loads(state.layout)
    layout["each"] = [array for array in layout["each"] if array[0] == "sums"]
    sources = {
        name: replace(source, learned=crawl.policy.state()["sums"][i].tobytes())
        for i, (name, source) in enumerate(state.sources.items())
    }
    old = replace(state, layout=json.dumps(layout), sources=sources)
    if aside:
        between = frontier("a")
        between.restore(old)
        old = between.state()
    crawl = frontier("a", "b")
    crawl.restore(old)
    assert crawl.policy.rate.tolist() == rate.tolist()


def test_state_of_another_format_is_refused():
    crawl = Frontier(ListingIndex(1, 1.0, DAY), ["a"], 1, rng=0, names=["a"])
    with pytest.raises(ValueError, match="state"):
        crawl.restore(replace(crawl.state(), layout='{"each": [], "whole": []}'))


# In a crawl.


def a_site(size=20, epochs=60, length=15):
    rng = np.random.default_rng(5)
    rate = np.exp(rng.uniform(np.log(0.05), np.log(5.0), size))
    sources = Sources(rate, np.ones(size), np.full(size, np.log(2.0) / 1.5))
    options = {"seconds": int(DAY), "length": length, "stated": False, "before": 300}
    return random_site(sources, epochs, rng, **options)


def crawl(site, policy, **settings):
    given = {
        "CRAWL_BUDGET": 2,
        "CRAWL_EPOCHS": 60,
        "CRAWL_PERIOD": DAY,
        "CRAWL_HALF_LIFE": 1.5 * DAY,
        "CRAWL_POLICY": f"analysis.crawl.policies.{policy}",
    }
    return crawl_in_process(site, given | settings)


@pytest.mark.sampled
def test_listings_beat_worths():
    site = a_site()
    by_dates = crawl(site, "listing_index")
    log = by_dates.store.frame()
    late = log["epoch"] >= 10  # after the first ten epochs, in which all are fetched once
    found = log["reward"][late].sum()
    policy = by_dates.frontier.policy
    assert policy.half_life == 1.5
    assert np.abs(np.log(policy.rate / site.sources.arrival_rate)).max() < 1.2
    worths = crawl(site, "learned_index").store.frame()
    known = crawl(site, "index").store.frame()
    assert found > 1.05 * worths["reward"][worths["epoch"] >= 10].sum()
    assert found > 0.93 * known["reward"][known["epoch"] >= 10].sum()


def test_killed_learner_continues(tmp_path):
    """Fetches of an open epoch come back from the journal with all that they showed."""

    def frontier():
        policy = listing_index(Sources(np.ones(4), np.ones(4), np.ones(4)), 2, DAY, DAY)
        return Frontier(policy, range(4), 2, rng=np.random.default_rng(0), seconds=DAY)

    whole, store = frontier(), Store(tmp_path)
    store.restore(whole)
    for epoch in range(6):
        arms = whole.choose()
        for i in arms.tolist():
            ages = days(0.1 * i + 0.1, epoch + 1.0, 9.0)
            outcome = Outcome(
                i, "found", reward=1.0, items=3 - epoch % 3, known=epoch % 3, ages=ages
            )
            store.note(whole, outcome)
            if epoch == 5 and i == arms[-1]:
                break  # the kill: noted and not settled
            whole.settle(outcome)
        else:
            store.save(whole, 0.0)
    store.close()
    other = frontier()
    Store(tmp_path).restore(other)
    other.choose()
    for outcome in Store(tmp_path).finished(other):
        other.settle(outcome)
    whole.settle(outcome)
    assert other.state() == whole.state()
