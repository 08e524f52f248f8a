"""Policies deployed elsewhere: each against its own description, worked by hand."""

import numpy as np
import pytest

from analysis.ephemeral import Observation
from analysis.trace.deployed import (
    AutoTtl,
    CommaFeed,
    EntryFrequency,
    FeedReader,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
)
from analysis.trace.policies import (
    FrequencyPolicy,
    lambdacrawl_rates,
)


def seen(epoch, age):
    age = np.asarray(age)
    return Observation(epoch, age, np.full(age.size, np.nan))


def followed(policy, size, budget, epochs):
    """Visits of a policy that looks at ages alone, shape (N, epochs)."""
    age, visits = np.ones(size, dtype=np.int64), np.zeros((size, epochs), dtype=bool)
    for epoch in range(epochs):
        arms = policy.select(seen(epoch, age), budget, None)
        visits[arms, epoch] = True
        age += 1
        age[arms] = 1
    return visits


# Fixed frequencies.


def test_frequencies_are_kept_evenly():
    visits = followed(FrequencyPolicy([0.5, 0.25, 0.25, 0.0]), 4, 1, 404)[:, 4:]
    assert visits.sum(axis=1).tolist() == [200, 100, 100, 0]
    assert set(np.diff(np.flatnonzero(visits[1]))) == {4}


def test_zero_frequency_is_never_visited():
    assert FrequencyPolicy([0.0, 1.0, 0.0]).select(seen(0, [9, 1, 9]), 2).tolist() == [1]


# LambdaCrawl.


def test_lambdacrawl_skips_silent_sources():
    assert lambdacrawl_rates([0.0, 1.0, 1.0], [1.0, 1.0, 0.0], 0.5).tolist() == [0.0, 0.5, 0.0]


# Nutch.


def test_nutch_adapts_interval():
    policy = NutchAdaptive(2, 3600.0)
    assert policy.select(seen(0, [1, 1]), 2).tolist() == [0, 1]
    policy.update(np.array([0, 1]), np.array([0.3, 0.0]))
    month = 30 * 24
    assert policy.interval.tolist() == pytest.approx([0.8 * month, 1.4 * month])
    assert policy.due.tolist() == pytest.approx([0.8 * month, 1.4 * month])
    assert policy.select(seen(575, [1, 1]), 2).size == 0
    assert policy.select(seen(576, [1, 1]), 2).tolist() == [0]


def test_nutch_waits_for_unchanged_source():
    policy = NutchAdaptive(1, 86_400.0)
    policy.interval[0] = 2.0
    policy.select(seen(10, [1]), 1)
    policy.update(np.array([0]), np.array([0.0]))  # nothing since epoch 0
    assert policy.interval[0] == 10.0
    assert policy.due[0] == pytest.approx(10 + 10 - 0.3 * 10)


def test_nutch_limits_intervals():
    policy = NutchAdaptive(2, 86_400.0)
    policy.interval[:] = [360.0, 60 / 86_400]
    policy.select(seen(0, [1, 1]), 2)
    policy.update(np.array([0, 1]), np.array([0.0, 1.0]))
    assert policy.interval.tolist() == pytest.approx([365.0, 60 / 86_400])


def test_longest_overdue_goes_first():
    policy = NutchAdaptive(4)
    policy.due[:] = [3.0, 1.0, 2.0, 9.0]
    assert policy.select(seen(5, [1] * 4), 2).tolist() == [1, 2]
    assert policy.select(seen(5, [1] * 4), 4).tolist() == [0, 1, 2]


def test_nutch_and_silent_sources():
    """NUTCH-1564: after 1 / 0.3 longest intervals without news the due time lies in the past."""
    for mended in (False, True):
        policy = NutchAdaptive(1, 3600.0, longest=10 * 3600.0, mended=mended)
        policy.select(seen(40, [1]), 1)
        policy.update(np.array([0]), np.array([0.0]))
        assert policy.due[0] == pytest.approx(40 + 10 - 0.3 * (10 if mended else 40))
        assert (policy.due[0] > 40) == mended


def test_nutch_matches_own_simulation():
    """AdaptiveFetchSchedule.main, worked by hand: steps of a day, a change every 30 days.

    At the factors of nutch-default.xml; the intervals begin at 30 days.
    """
    policy, seen_changes, lines = NutchAdaptive(1, 86_400.0), 0, []
    for day in range(80):
        policy.epoch = day
        if policy.due[0] <= day:
            new = day == 0 or day // 30 > seen_changes
            seen_changes = day // 30
            policy.update(np.array([0]), np.array([float(new)]))
            lines.append((day, float(policy.interval[0]), float(policy.due[0])))
    assert np.array(lines) == pytest.approx(
        np.array(
            [
                (0, 24.0, 24.0),
                (24, 33.6, 24 + 33.6 - 0.3 * 24),
                (51, 26.88, 51 + 26.88),
                (78, 21.504, 78 + 21.504),
            ]
        )
    )


# StormCrawler: the example of its own test, AdaptiveSchedulerTest.testSchedule.


def test_stormcrawler_matches_own_test():
    """First visit, unchanged, 304, changed, at limits of 2 and 10 and a first interval of 5."""
    policy = StormCrawler(1, 60.0, first=300.0, shortest=120.0, longest=600.0)
    found = []
    for new in (True, False, False, True):
        policy.select(seen(0, [1]), 1)
        policy.update(np.array([0]), np.array([float(new)]))
        found.append(policy.interval[0])
    assert found == [5, 7, 10, 6]
    assert 5 < found[1] < found[2] > found[3]  # what the test itself asks for
    assert policy.due[0] == 6


def test_stormcrawler_keeps_zero_interval():
    """Below a minute the interval falls to 0 and stays there; a first visit comes once only."""
    policy, found = StormCrawler(1, 60.0, first=240.0, shortest=10.0), []
    for epoch, new in enumerate([True] * 6 + [False] * 2):
        assert policy.select(seen(10 * epoch, [1]), 1).tolist() == [0]
        policy.update(np.array([0]), np.array([float(new)]))
        found.append(policy.interval[0])
    assert found == [4, 2, 1, 0, 0, 0, 0, 0]
    assert policy.due[0] == 70


# Entry frequency.


@pytest.mark.parametrize(
    ("weekly", "settings", "minutes"),
    [
        (1, {"shortest": 60.0, "longest": 300.0}, 5),  # EntryFrequencyMaxInterval
        (0, {"shortest": 60.0, "longest": 300.0}, 5),  # ...MaxIntervalZeroWeeklyCount
        (10_080, {"shortest": 6000.0, "longest": 30_000.0}, 100),  # ...MinInterval
        (7, {"factor": 2.0}, 12 * 60),  # ...Factor
    ],
)
def test_entry_frequency_matches_own_tests(weekly, settings, minutes):
    """Those of Miniflux, internal/model/feed_test.go, by name."""
    policy = EntryFrequency(1, 60.0, **settings)
    policy.select(seen(20_000, [1]), 1)
    policy.read(np.array([0]), [np.full(weekly, 19_999.0)])
    assert policy.due[0] - 20_000 == minutes


# FreshRSS with AutoTTL.


@pytest.mark.parametrize(
    ("times", "hours"),
    [
        ([], 24),  # no entries: the longest
        ([710.0], 24),  # one entry: a mean of 0
        ([700.0, 703.0, 712.0, 715.0], 3.75),  # (715 - 700) / 4, as its SQL counts
        ([719.0] * 3 + [719.5], 1),  # below the default of an hour
        ([100.0, 719.0], 24),  # above a day
        ([-1.0, 700.0, 718.0], 9),  # older than 30 days: not counted
    ],
)
def test_autottl_interval(times, hours):
    policy = AutoTtl(1, 3600.0)
    policy.select(seen(719, [1]), 1)
    policy.read(np.array([0]), [np.array(times)])
    assert policy.due[0] - 719 == pytest.approx(hours)


def test_interval_from_weekly_items():
    policy = EntryFrequency(3, 3600.0)
    policy.select(seen(1000, [1] * 3), 3)
    inside, outside = 1000 - 24 * 7 + 1, 1000 - 24 * 7 - 1
    policy.read(np.arange(3), [np.full(14, inside), np.full(14, outside), np.full(5000, inside)])
    assert policy.due.tolist() == pytest.approx([1012.0, 1024.0, 1000 + 5 / 60])


def test_items_are_remembered_for_week():
    policy = EntryFrequency(1, 3600.0)
    policy.select(seen(100, [1]), 1)
    policy.read(np.array([0]), [np.full(21, 99.0)])
    assert policy.due[0] == pytest.approx(108.0)
    policy.select(seen(99 + 167, [1]), 1)
    policy.read(np.array([0]), [np.empty(0)])
    assert policy.due[0] == pytest.approx(99 + 167 + 8)
    policy.select(seen(99 + 168, [1]), 1)
    policy.read(np.array([0]), [np.empty(0)])
    assert policy.due[0] == pytest.approx(99 + 168 + 24)


def wait(policy, times, now=800):
    """Hours until the next visit after one that shows items at these hours."""
    policy.select(seen(now, [1]), 1)
    policy.read(np.array([0]), [np.array(times, dtype=float)])
    return policy.due[0] - now


# CommaFeed: the cases of its own FeedRefreshIntervalCalculatorTest, empirical interval.


@pytest.mark.parametrize(
    ("times", "hours"),
    [
        ([], 100),  # withNullPublishedDate
        ([800 - 31 * 24.0], 100),  # with31DaysOldPublishedDate
        ([800 - 15 * 24.0], 50),  # with15DaysOldPublishedDate
        ([800 - 8 * 24.0], 25),  # with8DaysOldPublishedDate
        ([800 - 5 * 24 - 4.0, 800 - 5 * 24.0], 2),  # averageBetweenBounds
        ([800 - 5 * 24.0, 800 - 5 * 24 + 1e-3], 0.5),  # averageBelowMinimum
        ([20.0, 799.0], 25),  # averageAboveMaximum
        ([800 - 5 * 24.0], 100),  # noAverage
    ],
)
def test_commafeed_matches_own_tests(times, hours):
    policy = CommaFeed(1, 3600.0, shortest=1800.0, longest=100 * 3600.0)
    assert wait(policy, times) == pytest.approx(hours)


def test_commafeed_forgets_unlisted_items():
    policy = CommaFeed(1, 3600.0, shortest=60.0, longest=100 * 3600.0, listed=3)
    assert wait(policy, [0.0, 790.0, 794.0, 798.0]) == pytest.approx(2.0)


# Nextcloud News, by feed-io's UpdateStats, worked by hand; ten minutes are its tolerance.


@pytest.mark.parametrize(
    ("times", "hours"),
    [
        ([], 1),  # no items: the shortest
        ([790.0], 1),  # one item, no gap: the shortest
        ([800 - 7.8 * 24], 24),  # sleepy
        ([770.0, 780.0, 790.0], 1),  # 1.1 of ten hours after the newest
        ([700.0, 782.0, 790.0, 798.0], 6.8),  # the median 8, 1.1 of it since the newest
        ([700.0, 776.0, 780.0, 784.0], 14.8),  # the median is over: the mean 28, 784 + 30.8
        ([796.0, 797.0, 798.0], 1),  # both are over: the shortest
        ([600.0, 799.0], 24),  # at most a day
    ],
)
def test_nextcloud_waits_since_newest_item(times, hours):
    assert wait(NextcloudNews(1, 3600.0), times) + 1 / 6 == pytest.approx(hours)


# Friendica, by its adjustPollFrequency, worked by hand; 792 is a midnight.


@pytest.mark.parametrize(
    ("times", "hours"),
    [
        ([], 24),  # no posts
        ([799.0], 24),  # a single one
        ([600.0, 620.0], 24),  # none for a week
        ([700.0, 760.0], 12),  # no day with two
        ([792.0, 800.0], 3),  # 2 in 8 hours: 6 a day
        ([792.0, 792.5, 793.0], 1),  # 3 in four hours at least: 18 a day
        ([792.0 + i / 2 for i in range(5)], 0.5),  # 30 a day
        ([792.0 + i / 4 for i in range(9)], 0.25),  # 54 a day
    ],
)
def test_friendica_counts_daily_items(times, hours):
    assert wait(Friendica(1, 3600.0), times) == pytest.approx(hours)


def test_friendica_after_years():
    for days, hours in ((365, 24), (366, 168), (730, 168), (731, 720)):
        assert wait(Friendica(1, 3600.0), [1.0, 2.0], now=24 * days) == hours


def test_only_feed_reader_reads():
    assert isinstance(EntryFrequency(1), FeedReader)
    assert not isinstance(NutchAdaptive(1), FeedReader)


@pytest.mark.parametrize(
    "policy",
    [NutchAdaptive, StormCrawler, EntryFrequency, AutoTtl, CommaFeed, NextcloudNews, Friendica],
)
def test_wrong_arguments_are_refused(policy):
    with pytest.raises(ValueError, match="longest"):
        policy(1, shortest=60.0, longest=59.0)
    with pytest.raises(ValueError, match="budget"):
        policy(2).select(seen(0, [1, 1]), 3)
