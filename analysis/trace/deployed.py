"""Schedulers that are deployed elsewhere, from their own descriptions: intervals that adapt.

Each requests a visit at a due time and knows no budget: visits that the budget has no room for
wait, longest overdue first, and budget that no source is due for is left unspent. All choose with
``select(observation, budget, rng) -> arms`` and see ages only. What a visit found reaches them
through ``update(arms, rewards)``, or ``read(arms, published)`` where they read item times, as a
feed shows them. Time is counted in epochs.

Nutch                    a source's interval is multiplied by 1 + 0.4 after a visit that found
                         nothing new and by 1 - 0.2 after one that did
StormCrawler             the same with factors 1.5 and a half, towards the shortest interval
entry frequency          a source's interval is a week over the items that it published last week
AutoTTL                  the mean gap between the items of the last 30 days
CommaFeed                half the mean gap between the items that the feed lists
Nextcloud News           until the mean gap has passed since the newest item
Friendica                by the most items of a day of the last seven

References: Apache Nutch 1.x, AdaptiveFetchSchedule with the settings of nutch-default.xml; Apache
StormCrawler, AdaptiveScheduler; Miniflux 2, entry_frequency scheduler; FreshRSS with the extension
AutoTTL; CommaFeed 7, FeedRefreshIntervalCalculator; Nextcloud News 28, where an administrator
allows next update times, with feed-io 6, UpdateStats; Friendica 2024, Feed::adjustPollFrequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_positive, check_whole
from analysis.display import brief
from analysis.ephemeral.policies import Observation
from analysis.trace import kernels

Arms = NDArray[np.int64]

DAY = 86_400.0
WEEK = 7 * DAY


@runtime_checkable
class FeedReader(Protocol):
    """A policy that reads the publication times of the items that a visit found."""

    def select(self, observation: Observation, budget: int, rng: np.random.Generator) -> Arms:
        """Return the numbers of at most `budget` sources to visit."""

    def read(self, arms: Arms, published: Sequence[Floats]) -> None:
        """Take the publication times, in epochs, of the items that each visited source showed."""


def longest_overdue(due: Floats, epoch: int, budget: int) -> Arms:
    """Return at most `budget` sources whose due time has come, the longest overdue first."""
    budget = check_whole("budget", budget, 1, due.size)
    waiting = np.flatnonzero(due <= epoch)
    if waiting.size > budget:
        waiting = waiting[np.argsort(due[waiting], kind="stable")[:budget]]
    return np.sort(waiting)


class DueTimes:
    """Due times of sources, and a choice by them; a subclass sets the next ones after a visit.

    There are `arms` sources. The length of an epoch is in seconds, as are the limits `shortest` and
    `longest` of the interval between two visits. All are positive.

    Attributes
    ----------
    due : ndarray, shape (N,)
        Next due time of each source, in epochs; 0 at first.
    epoch : int
        Epoch of the last call of `select`.
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, arms: int, epoch_seconds: float, shortest: float, longest: float) -> None:
        self.due = np.zeros(check_integer("arms", arms, 1))
        self.epoch_seconds = check_positive("epoch_seconds", epoch_seconds)
        self.shortest, self.longest = (
            check_positive("shortest", shortest),
            check_positive("longest", longest),
        )
        if self.shortest > self.longest:
            raise ValueError(
                f"shortest must be at most longest, got {self.shortest:g} and {self.longest:g}"
            )
        self.epoch = 0

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources that are due, at most `budget`, the longest overdue first."""
        self.epoch = observation.epoch
        return longest_overdue(self.due, self.epoch, budget)


@brief
class NutchAdaptive(DueTimes):
    """Apache Nutch's adaptive fetch schedule, by default with its default settings.

    After a visit with something new the interval is 0.8 of what it was; after one without it is
    1.4 times what it was, or the time since something new was last found if that is longer, and
    the next visit comes 0.3 of that time earlier (Nutch's sync_delta). Where nothing new was found
    for 1 / 0.3 of the longest interval, the next visit is due before this one: the source is due
    at every epoch (NUTCH-1564, open since 2013). All sources are due at the first epoch.

    Parameters
    ----------
    arms : int
        N.
    epoch_seconds : float
        Length of an epoch; positive.
    first, shortest, longest : float
        First interval and limits of all others, in seconds; positive.
    mended : bool
        Whether the time by which a visit comes earlier is counted up to the longest interval only.

    Attributes
    ----------
    interval, due, modified : ndarray, shape (N,)
        Interval, next due time, and time of the last visit that found something new, in epochs.
        With `epoch`, the whole state.
    epoch : int
        Epoch of the last call of `select`.

    Examples
    --------
    >>> from analysis.trace import NutchAdaptive
    >>> NutchAdaptive(2, epoch_seconds=3600.0).interval.tolist()
    [720.0, 720.0]
    """

    INCREASE, DECREASE, SYNC = 0.4, 0.2, 0.3

    def __init__(
        self,
        arms: int,
        epoch_seconds: float = 3600.0,
        *,
        first: float = 30 * DAY,
        shortest: float = 60.0,
        longest: float = 365 * DAY,
        mended: bool = False,
    ) -> None:
        super().__init__(arms, epoch_seconds, shortest, longest)
        check_kind("mended", mended, bool)
        self.mended = mended
        self.interval = np.full(self.due.size, check_positive("first", first) / self.epoch_seconds)
        self.modified = np.zeros(self.due.size)

    def update(self, arms: Arms, rewards: Floats) -> None:
        """Set the next due times; a source with a positive reward had something new."""
        new = np.asarray(rewards) > 0
        self.modified[arms] = np.where(new, self.epoch, self.modified[arms])
        since = self.epoch - self.modified[arms]
        interval = self.interval[arms] * np.where(new, 1.0 - self.DECREASE, 1.0 + self.INCREASE)
        shortest, longest = self.shortest / self.epoch_seconds, self.longest / self.epoch_seconds
        interval = np.clip(np.maximum(interval, since), shortest, longest)
        self.interval[arms] = interval
        shift = np.minimum(since, longest) if self.mended else since
        self.due[arms] = self.epoch + interval - self.SYNC * shift


@brief
class StormCrawler(DueTimes):
    """Apache StormCrawler's adaptive scheduler, by default with its default settings.

    A first visit is followed by another after a day. Then the interval I becomes (I + shortest) / 2
    after a visit with something new, and 1.5 I, at most the longest, after one without; all in
    whole minutes, rounded down. All sources are due at the first epoch.

    Parameters
    ----------
    arms : int
        N.
    epoch_seconds : float
        Length of an epoch; positive.
    first, shortest, longest : float
        Interval after the first visit and its limits, in seconds; positive.

    Attributes
    ----------
    interval : ndarray, shape (N,)
        Interval in whole minutes, nan before the first visit. At 0 a source is due at every epoch.
    due : ndarray, shape (N,)
        Next due time of each source, in epochs.
    epoch : int
        Epoch of the last call of `select`.

    Examples
    --------
    >>> from analysis.trace import StormCrawler
    >>> StormCrawler(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    def __init__(
        self,
        arms: int,
        epoch_seconds: float = 3600.0,
        *,
        first: float = DAY,
        shortest: float = 3600.0,
        longest: float = 14 * DAY,
    ) -> None:
        super().__init__(arms, epoch_seconds, shortest, longest)
        self.first = check_positive("first", first)
        self.interval = np.full(self.due.size, np.nan)

    def update(self, arms: Arms, rewards: Floats) -> None:
        """Set the next due times; a source with a positive reward had something new."""
        before = self.interval[arms]
        shorter = np.floor(0.5 * before + 0.5 * self.shortest / 60.0)
        longer = np.minimum(np.floor(1.5 * before), self.longest / 60.0)
        interval = np.where(np.asarray(rewards) > 0, shorter, longer)
        self.interval[arms] = np.where(np.isnan(before), self.first / 60.0, interval)
        self.due[arms] = self.epoch + 60.0 * self.interval[arms] / self.epoch_seconds


@brief
class EntryFrequency(DueTimes):
    """A feed reader's entry-frequency rule (Miniflux), by default with its default settings.

    The interval after a visit is a week divided by `factor` and by the number of items that the
    source is known to have published in the last week, in whole minutes. All sources are due at the
    first epoch.

    Parameters
    ----------
    arms : int
        N.
    epoch_seconds : float
        Length of an epoch; positive.
    factor : float
        Positive.
    shortest, longest : float
        Limits of the interval, in seconds; positive.

    Attributes
    ----------
    due : ndarray, shape (N,)
        Next due time of each source, in epochs.
    published : list of ndarray
        Times of the items of each source in the week before its last visit, in epochs. With `due`
        and `epoch`, the whole state.
    epoch : int
        Epoch of the last call of `select`.

    Examples
    --------
    >>> from analysis.trace import EntryFrequency
    >>> EntryFrequency(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    MEMORY = WEEK

    def __init__(
        self,
        arms: int,
        epoch_seconds: float = 3600.0,
        *,
        factor: float = 1.0,
        shortest: float = 300.0,
        longest: float = DAY,
    ) -> None:
        super().__init__(arms, epoch_seconds, shortest, longest)
        self.factor = check_positive("factor", factor)
        self.published: list[Floats] = [np.empty(0)] * self.due.size

    def read(self, arms: Arms, published: Sequence[Floats]) -> None:
        """Take the items just found, and set the next due times from those of the last week."""
        since = self.epoch - self.MEMORY / self.epoch_seconds
        for arm, times in zip(arms, published, strict=True):
            known = np.concatenate([self.published[arm], np.asarray(times, dtype=np.float64)])
            self.published[arm] = known[known > since]
            self.due[arm] = self.epoch + self.interval(self.published[arm])

    def interval(self, late: Floats) -> float:
        """Return the interval, in epochs, for the times of the items of the last week."""
        seconds = self.longest
        if late.size:
            seconds = 60.0 * round(WEEK / 60.0 / (late.size * self.factor))
        return float(np.clip(seconds, self.shortest, self.longest)) / self.epoch_seconds


class AutoTtl(EntryFrequency):
    """FreshRSS with the extension AutoTTL, by default with its default settings.

    The interval after a visit is the time from the first to the last of the items that the source
    is known to have published in the last 30 days over their number, in whole seconds, and the
    longest if that is 0. All sources are due at the first epoch.

    Parameters
    ----------
    arms : int
        N.
    epoch_seconds : float
        Length of an epoch; positive.
    shortest, longest : float
        Limits of the interval, in seconds; positive.

    Examples
    --------
    >>> from analysis.trace import AutoTtl
    >>> AutoTtl(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    MEMORY = 30 * DAY

    def __init__(
        self,
        arms: int,
        epoch_seconds: float = 3600.0,
        *,
        shortest: float = 3600.0,
        longest: float = DAY,
    ) -> None:
        super().__init__(arms, epoch_seconds, shortest=shortest, longest=longest)

    def interval(self, late: Floats) -> float:
        """Return the interval, in epochs, for the times of the items of the last 30 days."""
        gap = np.floor(np.ptp(late) * self.epoch_seconds / late.size + 1e-6) if late.size else 0.0
        seconds = float(gap) or self.longest
        return float(np.clip(seconds, self.shortest, self.longest)) / self.epoch_seconds


@brief
class CommaFeed(DueTimes):
    """CommaFeed's empirical refresh interval, by default with its default settings.

    The interval after a visit is half the mean gap between the items that the feed lists, up to a
    quarter of the longest. Where the newest item is one, two or four weeks old (exactly 7, 14 or 30
    days) it is a quarter, a half or all of the longest, and all of it where one item or none is
    listed. All sources are due at the first epoch.

    Parameters
    ----------
    arms : int
        N.
    epoch_seconds : float
        Length of an epoch; positive.
    shortest, longest : float
        Limits of the interval, in seconds; positive. By default five minutes and four hours.
    listed : int
        How many items a feed lists, the newest ones; an assumption. At least 1.

    Attributes
    ----------
    due : ndarray, shape (N,)
        Next due time of each source, in epochs.
    published : list of ndarray
        Times of the items that each source listed at its last visit, in epochs. With `due` and
        `epoch`, the whole state.
    epoch : int
        Epoch of the last call of `select`.

    Examples
    --------
    >>> from analysis.trace import CommaFeed
    >>> CommaFeed(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    RULE, SHORTEST, LONGEST = kernels.Schedule.COMMAFEED, 300.0, 4 * 3600.0

    def __init__(
        self,
        arms: int,
        epoch_seconds: float = 3600.0,
        *,
        shortest: float | None = None,
        longest: float | None = None,
        listed: int = 20,
    ) -> None:
        shortest = self.SHORTEST if shortest is None else shortest
        super().__init__(
            arms, epoch_seconds, shortest, self.LONGEST if longest is None else longest
        )
        self.listed = check_integer("listed", listed, 1)
        self.published: list[Floats] = [np.empty(0)] * self.due.size

    def read(self, arms: Arms, published: Sequence[Floats]) -> None:
        """Take the items just found, and set the next due times from those that are listed."""
        now = round(self.epoch * self.epoch_seconds)
        for arm, times in zip(arms, published, strict=True):
            known = np.concatenate([self.published[arm], np.asarray(times, dtype=np.float64)])
            self.published[arm] = known[-self.listed :]
            seconds = np.rint(self.published[arm] * self.epoch_seconds).astype(np.int64)
            limits = self.shortest, self.longest
            wait = kernels.listed_wait(int(self.RULE), seconds, now, *limits)
            self.due[arm] = self.epoch + wait / self.epoch_seconds


@brief
class NextcloudNews(CommaFeed):
    """The next update time of Nextcloud News (feed-io), which administrators can switch on.

    The next visit is due when the lesser of the mean and the median gap between the items that the
    feed lists, and a tenth of it, has passed since the newest; if that is over, the greater; if
    that is over too, after the shortest interval. Where the newest item is older than 7.7 days, and
    at most, it is the longest. What is due within ten minutes is visited. Without this setting all
    feeds are visited every hour. All sources are due at the first epoch.

    Parameters are those of `CommaFeed`; by default `shortest` is an hour and `longest` a day.

    Examples
    --------
    >>> from analysis.trace import NextcloudNews
    >>> NextcloudNews(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    RULE, SHORTEST, LONGEST = kernels.Schedule.NEXTCLOUD, 3600.0, DAY


@brief
class Friendica(CommaFeed):
    """Friendica's adjusted poll frequency, its default.

    For each of the last seven days with items that the feed lists at different times their number
    is taken as that of a day: times 24 hours over the time from the first to the last, of at least
    4 hours. By the largest of them the interval is 15 or 30 minutes, 1, 2, 3, 6 or 12 hours. It is
    a day where there was no item in seven days, and where one or none is listed; a week after a
    year without an item, 30 days after two. Days begin at the hour of the first epoch. All sources
    are due at the first epoch.

    Parameters are those of `CommaFeed`; by default the interval is from a quarter of an hour to 30
    days.

    Examples
    --------
    >>> from analysis.trace import Friendica
    >>> Friendica(2, epoch_seconds=3600.0).due.tolist()
    [0.0, 0.0]
    """

    RULE, SHORTEST, LONGEST = kernels.Schedule.FRIENDICA, 900.0, 30 * DAY
