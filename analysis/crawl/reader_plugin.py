"""A plugin of the feed reader library ``reader`` (https://pypi.org/project/reader/).

``make_reader("db.sqlite", plugins=[schedule(budget=20, half_life=86_400)])`` gives a reader whose
``update_feeds(scheduled=True)`` fetches each feed at the frequency of the relaxed problem, so that
all feeds together use the budget. Rates are learned from the dates of the entries in the reader's
own database (`analysis.crawl.feeds.listing`); the library itself respects ``Retry-After``.

The library has one setting a feed, a whole number of minutes between updates, counted from a fixed
date: the plugin sets it before each round of updates. The library is not a dependency of this
package: ``pip install reader sgmllib3k``. (reader 3.26 needs sgmllib3k but does not declare it.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from analysis.checks import check_number, check_positive
from analysis.crawl.feeds.listing import listed_ages
from analysis.crawl.feeds.reader import HALF_LIFE
from analysis.crawl.frontier.state import FOUND, Outcome
from analysis.crawl.policies import MEMORY, ListingIndex
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources

HOUR = 3600.0
MOST_ENTRIES = 500
"""Entries of a feed from whose dates its rate is learned: the newest."""


def schedule(
    budget: float,
    half_life: float = HALF_LIFE,
    *,
    shortest: float = HOUR,
    longest: float = 30 * 24 * HOUR,
    clock: Callable[[], float] = time.time,
) -> Callable[[Any], None]:
    """Return a plugin that sets how often each feed is updated.

    Parameters
    ----------
    budget : float
        Updates an hour of all feeds together; positive. Feeds that are never worth an update still
        get one every `longest` seconds.
    half_life : float
        Seconds in which an item loses half of its worth; positive.
    shortest, longest : float
        Seconds between two updates of a feed; at least 60, in order.
    clock : callable
        Returns the present Unix time.

    Returns
    -------
    callable
        For the argument ``plugins`` of ``reader.make_reader``.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    budget = check_positive("budget", budget)
    half_life = check_positive("half_life", half_life)
    shortest = check_number("shortest", shortest, 60, high_open=True)
    longest = check_number("longest", longest, shortest, high_open=True)

    def set_intervals(reader: Any) -> None:
        feeds = [feed.url for feed in reader.get_feeds(updates_enabled=True)]
        if not feeds:
            return
        now = clock()
        learned = ListingIndex(len(feeds), half_life / shortest, shortest, memory=MEMORY / shortest)
        for number, feed in enumerate(feeds):
            ages = _ages(reader, feed, now)
            learned.observe([Outcome(number, FOUND, items=len(ages), ages=ages)])
        seconds = intervals(learned.rate, budget * shortest / HOUR, half_life / shortest) * shortest
        key = reader.make_reader_reserved_name("update")
        for feed, wait in zip(feeds, np.clip(seconds, shortest, longest), strict=True):
            tag = reader.get_tag(feed, key, {})
            reader.set_tag(feed, key, {**tag, "interval": max(round(wait / 60), 1)})

    def init_reader(reader: Any) -> None:
        reader.before_feeds_update_hooks.append(set_intervals)

    return init_reader


def intervals(rate: np.ndarray, budget: float, half_life: float) -> np.ndarray:
    """Return the intervals that solve the relaxed problem, in epochs; ``inf`` for never.

    `rate` is in items per epoch, shape (N,), `budget` in updates per epoch, of which the excess
    over N is not used; in `half_life` epochs an item loses half of its value.
    """
    sources = Sources(rate, np.ones(rate.size), np.full(rate.size, np.log(2.0) / half_life))
    with np.errstate(divide="ignore"):
        return 1.0 / relaxed_problem(sources, min(budget, float(rate.size))).frequency


def _ages(reader: Any, feed: str, now: float) -> tuple[float, ...]:
    """Return the ages of a feed's newest entries in seconds; empty if dates are implausible."""
    entries = islice(reader.get_entries(feed=feed, sort="recent"), MOST_ENTRIES)
    dates = [entry.published or entry.updated for entry in entries]
    return listed_ages([None if date is None else date.timestamp() for date in dates], now)
