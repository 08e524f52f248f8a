"""Policies for a crawl: functions ``(sources, budget, seconds) -> policy``, named in settings.

Rates of the sources are per epoch; `seconds` is the length of an epoch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_number, check_positive, check_whole
from analysis.crawl.feeds.listing import (
    counts_differ,
    listing_window,
    mean_rate,
    time_to,
    weight_at,
)
from analysis.crawl.frontier.frontier import TurnPolicy
from analysis.crawl.frontier.state import DAY, NEVER, Outcome
from analysis.display import brief
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.lagrangian import PricedSources, crawl_price
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.table import Timetable, timetable
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.trace.deployed import NutchAdaptive
from analysis.trace.policies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl

Arms = NDArray[np.int64]
MEMORY = 90 * 86_400.0
"""Default memory of `ListingIndex`: seconds after which an observation has weight 1/e."""


LEARNED = CertaintyEquivalenceOptions("ucb")
"""Settings of `learned_index`."""
FIRST, CHANGE = 4.0, 6.0
"""Standard deviations by which counts contradict a first listing, or what was seen later on."""
BLOCK, PAUSE = 7 * DAY, 3 * DAY
"""Seconds of counts that are compared with what was seen before; least ones to find a rate lower,
which is more than a weekend."""
SOON = 3_600.0
"""Seconds within which no feed is expected to replace all that it lists."""


class Ids(IntEnum):
    """Whether the ids of a source tell which items are new."""

    CHANGING = -1
    UNKNOWN = 0
    STABLE = 1
    IN_QUESTION = 2


class _Sum(IntEnum):
    """Columns of what is added up of each source."""

    PAST = 0
    TIME_PAST = 1
    RECENT = 2
    TIME_RECENT = 3
    WORTH = 4
    EXPECTED = 5
    WATCHED = 6


@brief
class IndexPolicy:
    """The Whittle index policy by age, which sorts the sources once an epoch.

    It makes the choices of `WhittlePolicy`; further calls in the same epoch reuse the order.

    Parameters
    ----------
    sources : Sources
        N sources.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.crawl import IndexPolicy
    >>> from analysis.ephemeral import Observation, four_sources
    >>> seen = Observation(0, np.array([1, 1, 20, 1]), np.full(4, np.nan))
    >>> IndexPolicy(four_sources()).select(seen, 1).tolist()
    [0]
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(self, sources: Sources) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        self._seen: Observation | None = None

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index at their ages."""
        budget = check_whole("budget", budget, 1, len(self.sources))
        if observation is not self._seen:
            self._seen = observation
            self._order = np.argsort(-self.index(observation.age), kind="stable")
        return np.sort(self._order[:budget])

    @property
    def estimates(self) -> Sources:
        """The sources as the policy believes them to be, with rates per epoch."""
        return self.sources

    def index(self, age: Arms) -> Floats:
        """Return the index of each source at its age."""
        return whittle_index_at_age(self.sources, age)

    def index_of_content(self, content: Floats) -> Floats:
        """Return the index of each source at an expected content, as pings change it."""
        return whittle_index(self.estimates, content)


class ListingIndex(IndexPolicy):
    """The index policy with rates estimated from listings of feeds and counts of new items.

    The decay rate follows from a half-life that the user chooses; estimated are the rate of a
    source's items and, if feeds state values, the mean value of a new item. A source that was never
    fetched has an infinite index.

    No listing excludes a source: what counts contradict is dropped, and a source whose last fetch
    is `stale_age` ago has at least the mean rate of all. Nor does a source take the budget that
    lists nothing but new items at every fetch: its ids are tried by a fetch in the next epoch, if
    that is within an hour. If they change, the rate is that of the dates, and without dates
    the geometric mean of what is listed and what the prior expects is counted. `analysis.crawl.
    feeds.listing` has the reasons.

    With a `budget` the sources rank by their Lagrangian index. Its price is that of the relaxed
    problem for the sources that were fetched before, at their present estimates. It is solved for
    whenever the index is asked for: so it follows the rates, and a restart needs no price.

    Parameters
    ----------
    size : int
        N, the number of sources.
    half_life : float
        Epochs in which an item loses half of its value; positive.
    seconds : float
        Length of an epoch; positive.
    memory : float
        H in epochs, as in `analysis.crawl.feeds.listing`; ``inf`` to forget nothing.
    shape : float
        a of the gamma prior, whose mean is fitted to all sources; positive.
    dates : bool
        Whether to use the dates in listings; otherwise items are only counted.
    stale_age : float, optional
        Age in epochs from which on a source has at least the mean rate of all, ``inf`` for never;
        an eighth of the memory by default.
    budget : int, optional
        Fetches in an epoch, from 1 to N, for the Lagrangian index; without it the index is
        Whittle's.

    Attributes
    ----------
    price : float or None
        Price of a fetch at which the sources were ranked last; None under Whittle's index, and
        before the first ranking.

    Examples
    --------
    >>> from analysis.crawl import ListingIndex, Outcome
    >>> policy = ListingIndex(1, half_life=24.0, seconds=3600.0)
    >>> hours = tuple(3600.0 * k for k in range(1, 11))
    >>> policy.observe([Outcome(0, "found", items=10, reward=8.0, ages=hours)])
    >>> policy.rate.round(2).tolist()
    [0.9]
    """

    NEW_ARRAYS = ("ids", "recounted")
    """Arrays of the state that states of earlier versions lack."""

    def __init__(
        self,
        size: int,
        half_life: float,
        seconds: float,
        *,
        memory: float = np.inf,
        shape: float = 1.0,
        dates: bool = True,
        stale_age: float | None = None,
        budget: int | None = None,
    ) -> None:
        check_kind("dates", dates, bool)
        size = check_integer("size", size, 1)
        self.budget = None if budget is None else check_whole("budget", budget, 1, size)
        self.price: float | None = None
        self._holds_price = False
        half_life = check_positive("half_life", half_life)
        decay = np.full(size, np.log(2.0) / half_life)
        super().__init__(Sources(decay, np.ones(size), decay))  # of u* = 1
        self.seconds = check_positive("seconds", seconds)
        self.memory = check_number("memory", memory, 0, low_open=True)
        self.shape = check_positive("shape", shape)
        self.half_life, self.dates = half_life, dates
        stale_age = self.memory / 8 if stale_age is None else stale_age
        self.stale_age = check_number("stale_age", stale_age, 0, low_open=True)
        self._sums = np.zeros((size, len(_Sum)))
        self._ids = np.zeros(size, dtype=np.int8)
        self._recounted = np.zeros(size, dtype=bool)
        self._age = np.ones(size, dtype=np.int64)

    @property
    def rate(self) -> Floats:
        """Current estimates of items per epoch, shape (N,)."""
        items, time = self._seen_so_far()
        mean = mean_rate(items, time, self.shape)
        estimate = (self.shape + items) / (self.shape / mean + time)
        return np.where(self._age < self.stale_age, estimate, np.maximum(estimate, mean))

    @property
    def is_priced(self) -> bool:
        """Whether the index is the Lagrangian one, which depends on the budget."""
        return self.budget is not None

    @property
    def ids_change(self) -> NDArray[np.bool_]:
        """Sources that list nothing but new items at every fetch, shape (N,)."""
        return self._ids == Ids.CHANGING

    @property
    def worth(self) -> Floats:
        """Current estimates of the value of a new item, shape (N,)."""
        return (1.0 + self._sums[:, _Sum.WORTH]) / (1.0 + self._sums[:, _Sum.EXPECTED])

    @property
    def estimates(self) -> Sources:
        """The sources by their current rates and values, per epoch."""
        return Sources(self.rate, self.worth, self.sources.decay)

    def index(self, age: Arms) -> Floats:
        """Return the index of each source at its age; infinite for one to be fetched at once."""
        self._age = np.array(age)
        is_watched = self._sums[:, _Sum.WATCHED] > 0
        if self.budget is None:
            u_star = self.rate * self.worth / self.sources.decay
            index = u_star * whittle_index_at_age(self.sources, age)
        elif is_watched.any():
            if self.price is None or not self._holds_price:
                self._solve_for_price(is_watched)
            index = PricedSources(self.estimates, self.price or 0.0).index(age)
        else:
            index = np.empty(len(self.sources))
        return np.where(is_watched & (self._ids != Ids.IN_QUESTION), index, np.inf)

    def index_of_content(self, content: Floats) -> Floats:
        """Return the index of each source at an expected content, at the price in force."""
        if self.budget is None:
            return super().index_of_content(content)
        return PricedSources(self.estimates, self.price or 0.0).index_of_content(content)

    def hold_price(self) -> None:
        """Solve for the price once more and keep it: nothing new is learned from now on."""
        self.price, self._holds_price = None, True

    def _solve_for_price(self, is_watched: NDArray[np.bool_]) -> None:
        """Solve the relaxed problem of the sources that were fetched before.

        Of others nothing is known: new ones come first anyway, and those of which each fetch failed
        take next to nothing of the budget.
        """
        assert self.budget is not None
        rate, worth, decay = self.rate, self.worth, self.sources.decay
        watched = Sources(rate[is_watched], worth[is_watched], decay[is_watched])
        self.price = crawl_price(watched, min(self.budget, len(watched)))

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Update the estimates with the items found and the listings of successful fetches."""
        for outcome in outcomes:
            row, age = self._sums[outcome.source], float(self._age[outcome.source])
            ages = np.sort(outcome.ages) / self.seconds if self.dates else np.empty(0)
            if row[_Sum.WATCHED]:
                row[: _Sum.WATCHED] *= np.exp(-age / self.memory)
                if age > 0:
                    self._add(outcome.source, *self._window(outcome, ages, age))
            else:
                row[_Sum.PAST], row[_Sum.TIME_PAST] = listing_window(ages, self.memory)
            if outcome.items <= len(outcome.ages):  # else some of them have no plausible date
                new = np.sort(outcome.ages)[: outcome.items] / self.seconds
                row[_Sum.WORTH] += outcome.reward
                row[_Sum.EXPECTED] += np.exp2(-new / self.half_life).sum()
            row[_Sum.WATCHED], self._age[outcome.source] = 1.0, 0

    def _window(self, outcome: Outcome, ages: Floats, since: float) -> tuple[float, float]:
        """Return items and time of the window of a later fetch, `since` epochs after the last."""
        items, listed = float(outcome.items), outcome.items + outcome.known
        all_new = items > 0 and outcome.known == 0
        reaches = ages.size > 0 and ages[-1] >= since  # back to the last fetch
        if listed:
            self._judge_ids(outcome.source, since, all_new, reaches)
        if all_new and reaches and ages.size > 1:  # dates belie the ids: their own rate counts
            by_dates, time = listing_window(ages, self.memory)
            items = min(items, by_dates / time * since) if time > 0 else items
        elif ages.size and not all_new:
            # Items dated before the last fetch are not new; a day is left for dates that are late
            # or have no time.
            new = np.count_nonzero(ages <= since + DAY / self.seconds)
            items = min(items, new * listed / ages.size)
        elif all_new and self._ids[outcome.source] == Ids.CHANGING:
            # Half an item more than the prior expects, so that few epochs are not taken for none.
            expected = mean_rate(*self._seen_so_far(), self.shape) * since + 0.5
            items = math.sqrt(items * expected)
        elif all_new and ages.size and ages[-1] > 0:  # the window ends at the oldest item
            time = time_to(float(ages[-1]), self.memory)
            return float(weight_at(ages, self.memory).sum()), time
        time = time_to(since, self.memory)
        return items * time / since, time

    def _judge_ids(self, source: int, since: float, all_new: bool, reaches: bool) -> None:
        """Decide whether the ids of a source tell its new items, after a listing of some items."""
        if not all_new:
            self._ids[source] = Ids.STABLE
        elif since * self.seconds <= SOON:
            if not (reaches or self._ids[source] == Ids.CHANGING):
                self._sums[source, : _Sum.WORTH] = 0.0  # what was counted by ids
            self._ids[source] = Ids.CHANGING
        elif self._ids[source] == Ids.UNKNOWN and self.seconds <= SOON:
            self._ids[source] = Ids.IN_QUESTION
        elif self._ids[source] == Ids.IN_QUESTION:  # it could not be fetched soon
            self._ids[source] = Ids.STABLE

    def _add(self, source: int, items: float, time: float) -> None:
        """Add a window of a later fetch; drop what was seen before if it is contradicted."""
        row, first = self._sums[source], not self._recounted[source]
        past, time_past = row[_Sum.PAST], row[_Sum.TIME_PAST]
        recent, time_recent = row[_Sum.RECENT], row[_Sum.TIME_RECENT]
        before, time_before = past + recent, time_past + time_recent
        rises = time_before > 0 and items * time_before > before * time
        if rises and counts_differ(before, time_before, items, time, CHANGE):
            past = time_past = recent = time_recent = 0.0
        recent, time_recent = recent + items, time_recent + time
        less = recent * time_past < past * time_recent
        deviations = FIRST if first else CHANGE
        if (
            time_past > 0
            and (first or not less or time_recent >= PAUSE / self.seconds)
            and counts_differ(past, time_past, recent, time_recent, deviations)
        ):
            past = time_past = 0.0
        if time_recent >= BLOCK / self.seconds:
            past, time_past, recent, time_recent = past + recent, time_past + time_recent, 0.0, 0.0
            self._recounted[source] = True
        row[: _Sum.WORTH] = past, time_past, recent, time_recent

    def _seen_so_far(self) -> tuple[Floats, Floats]:
        """Return items and time of all windows of each source, faded by its age."""
        fade = np.exp(-self._age / self.memory)
        sums = self._sums
        items, time = sums[:, _Sum.PAST], sums[:, _Sum.TIME_PAST]
        return fade * (items + sums[:, _Sum.RECENT]), fade * (time + sums[:, _Sum.TIME_RECENT])

    def rescale(self, ratio: float) -> None:
        """Count times in epochs that are shorter by the factor `ratio`."""
        ratio = check_positive("ratio", ratio)
        self._sums[:, [_Sum.TIME_PAST, _Sum.TIME_RECENT]] *= ratio

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the learner as arrays, for `restore`."""
        return {
            "sums": self._sums.copy(),
            "ids": self._ids.copy(),
            "recounted": self._recounted.copy(),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state that `state` returned."""
        self._sums[...] = state["sums"]
        self._ids[...] = state["ids"]
        self._recounted[...] = state["recounted"]


def index(sources: Sources, budget: int, seconds: float) -> IndexPolicy:
    """Return the Whittle index policy for known sources."""
    return IndexPolicy(sources)


def constant_gaps(sources: Sources, budget: int, seconds: float) -> Timetable:
    """Return the timetable of constant gaps with the best certificate."""
    return timetable(sources, budget)


def learned_index(sources: Sources, budget: int, seconds: float) -> CertaintyEquivalence:
    """Return the index policy that estimates all rates while it crawls, given N alone.

    If new items have dates it learns from their values and ages, which identify both rates of a
    source even at a single age; from other fetches it uses the sum of values only. Its index is
    the largest one of plausible rates (UCB), above a floor on the number of crawls. The book's
    page on the crawler compares these settings with others.
    """
    return CertaintyEquivalence(len(sources), LEARNED)


def listing_index(
    sources: Sources, budget: int, seconds: float, half_life: float, *, priced: bool = False
) -> ListingIndex:
    """Return the index policy that learns rates from the dates in listings, and by counting.

    It uses the number of sources only, and `half_life`, which is ``CRAWL_HALF_LIFE``. Its memory
    is `MEMORY`. A source counts as stale after an eighth of that, or after eight times as many
    epochs as a fetch of each source takes, if that is longer. If `priced`, the index is the
    Lagrangian one, at the price of the budget.
    """
    size, memory = len(sources), MEMORY / seconds
    return ListingIndex(
        size,
        half_life / seconds,
        seconds,
        memory=memory,
        stale_age=max(memory / 8, 8 * size / budget),
        budget=budget if priced else None,
    )


def listing_lagrangian(
    sources: Sources, budget: int, seconds: float, half_life: float
) -> ListingIndex:
    """Return `listing_index` with the Lagrangian index, whose price follows the learned rates.

    That index is sensitive to its price: where the price is 2% off, its advantage over Whittle's is
    gone.
    """
    return listing_index(sources, budget, seconds, half_life, priced=True)


def default_max_age(policy: Any, size: int, budget: int, seconds: float) -> int:
    """Return the age in epochs from which on a source comes first, if the user sets none.

    For policies that learn 30 days, or eight times as many epochs as a fetch of each source takes,
    if that is longer: then no wrong estimate excludes a source. Others have no such age.
    """
    if not (hasattr(policy, "observe") or hasattr(policy, "update")):
        return NEVER
    return max(math.ceil(30 * DAY / seconds), 8 * math.ceil(size / budget))


def fixed_frequencies(sources: Sources, budget: int, seconds: float) -> FrequencyPolicy:
    """Return the policy of the frequencies that solve the relaxed problem, evenly spaced."""
    return best_fixed_frequencies(sources, budget)


def lambda_crawl(sources: Sources, budget: int, seconds: float) -> RandomPolicy:
    """Return LambdaCrawl with known change rates."""
    return lambdacrawl(sources, budget)


def nutch_adaptive(sources: Sources, budget: int, seconds: float) -> NutchAdaptive:
    """Return Nutch's adaptive schedule with its default settings."""
    return NutchAdaptive(len(sources), seconds)


def round_robin(sources: Sources, budget: int, seconds: float) -> TurnPolicy:
    """Return round robin: the sources that were chosen longest ago come first."""
    return TurnPolicy(len(sources))
