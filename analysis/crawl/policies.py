"""Policies for a crawl: functions ``(sources, budget, seconds) -> policy``, named in settings.

Rates of the sources are per epoch; `seconds` is the length of an epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_number, check_whole
from analysis.crawl.feeds.listing import contradict, listing_window, mean_rate, time_to, weight_at
from analysis.crawl.frontier.state import Outcome
from analysis.crawl.frontier.turn import TurnPolicy
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.construction import timetable
from analysis.ephemeral.timetables.table import Timetable
from analysis.learning.certainty_equivalence import CertaintyEquivalence
from analysis.trace.deployed import NutchAdaptive
from analysis.trace.frequencies import FrequencyPolicy, best_fixed_frequencies, lambdacrawl

Arms = NDArray[np.int64]
MEMORY = 90 * 86_400.0
"""Default memory of `ListingIndex`: seconds after which an observation has weight 1/e."""


class _Sum(IntEnum):
    """Columns of what is added up of each source."""

    LISTED = 0
    TIME_LISTED = 1
    COUNTED = 2
    TIME_COUNTED = 3
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

    def index(self, age: Arms) -> Floats:
        """Return the index of each source at its age."""
        return whittle_index_at_age(self.sources, age)


class ListingIndex(IndexPolicy):
    """The index policy with rates estimated from listings of feeds and counts of new items.

    The decay rate follows from a half-life that the user chooses; estimated are the rate of a
    source's items and, if feeds state values, the mean value of a new item. A source that was never
    fetched has an infinite index.

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

    Examples
    --------
    >>> from analysis.crawl import ListingIndex, Outcome
    >>> policy = ListingIndex(1, half_life=24.0, seconds=3600.0)
    >>> hours = tuple(3600.0 * k for k in range(1, 11))
    >>> policy.observe([Outcome(0, "found", items=10, reward=8.0, ages=hours)])
    >>> policy.rate.round(2).tolist()
    [0.9]
    """

    def __init__(
        self,
        size: int,
        half_life: float,
        seconds: float,
        *,
        memory: float = np.inf,
        shape: float = 1.0,
        dates: bool = True,
    ) -> None:
        check_kind("dates", dates, bool)
        size = check_integer("size", size, 1)
        half_life = check_number("half_life", half_life, 0, low_open=True, high_open=True)
        decay = np.full(size, np.log(2.0) / half_life)
        super().__init__(Sources(decay, np.ones(size), decay))  # of u* = 1
        self.seconds = check_number("seconds", seconds, 0, low_open=True, high_open=True)
        self.memory = check_number("memory", memory, 0, low_open=True)
        self.shape = check_number("shape", shape, 0, low_open=True, high_open=True)
        self.half_life, self.dates = half_life, dates
        self._sums = np.zeros((size, len(_Sum)))
        self._age = np.ones(size, dtype=np.int64)

    @property
    def rate(self) -> Floats:
        """Current estimates of items per epoch, shape (N,)."""
        fade = np.exp(-self._age / self.memory)
        items = fade * (self._sums[:, _Sum.LISTED] + self._sums[:, _Sum.COUNTED])
        time = fade * (self._sums[:, _Sum.TIME_LISTED] + self._sums[:, _Sum.TIME_COUNTED])
        return (self.shape + items) / (self.shape / mean_rate(items, time, self.shape) + time)

    @property
    def worth(self) -> Floats:
        """Current estimates of the value of a new item, shape (N,)."""
        return (1.0 + self._sums[:, _Sum.WORTH]) / (1.0 + self._sums[:, _Sum.EXPECTED])

    def index(self, age: Arms) -> Floats:
        """Return the index of each source at its age; infinite for one never fetched."""
        self._age = np.array(age)
        u_star = self.rate * self.worth / self.sources.decay
        known = self._sums[:, _Sum.WATCHED] > 0
        return np.where(known, u_star * whittle_index_at_age(self.sources, age), np.inf)

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Update the estimates with the items found and the listings of successful fetches."""
        for outcome in outcomes:
            row, age = self._sums[outcome.source], float(self._age[outcome.source])
            ages = np.array(outcome.ages) / self.seconds if self.dates else np.empty(0)
            if row[_Sum.WATCHED]:
                row[: _Sum.WATCHED] *= np.exp(-age / self.memory)
                self._count(row, outcome, ages, age)
            else:
                row[_Sum.LISTED], row[_Sum.TIME_LISTED] = listing_window(ages, self.memory)
            if outcome.ages or not outcome.items:
                new = np.sort(outcome.ages)[: outcome.items] / self.seconds
                row[_Sum.WORTH] += outcome.reward
                row[_Sum.EXPECTED] += np.exp2(-new / self.half_life).sum()
            row[_Sum.WATCHED], self._age[outcome.source] = 1.0, 0

    def _count(self, row: Floats, outcome: Outcome, ages: Floats, since: float) -> None:
        """Add the window of a later fetch; drop the first listing if the counts contradict it."""
        if since == 0:  # no time has passed
            return
        if outcome.known or not ages.size or ages[-1] >= since:
            time = time_to(since, self.memory)
            row[_Sum.COUNTED] += outcome.items * time / since
        else:  # all listed items are new: the window ends at the oldest
            time = time_to(float(ages[-1]), self.memory)
            row[_Sum.COUNTED] += weight_at(ages, self.memory).sum()
        row[_Sum.TIME_COUNTED] += time
        if row[_Sum.TIME_LISTED] > 0 and contradict(*row[_Sum.LISTED : _Sum.TIME_COUNTED + 1]):
            row[_Sum.LISTED] = row[_Sum.TIME_LISTED] = 0.0

    def rescale(self, ratio: float) -> None:
        """Count times in epochs that are shorter by the factor `ratio`."""
        ratio = check_number("ratio", ratio, 0, low_open=True, high_open=True)
        self._sums[:, [_Sum.TIME_LISTED, _Sum.TIME_COUNTED]] *= ratio

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the learner as arrays, for `restore`."""
        return {"sums": self._sums.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state that `state` returned."""
        self._sums[...] = state["sums"]


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
    that of rates sampled from their posterior, above a floor on the number of crawls. The book's
    page on the crawler compares these settings with others.
    """
    return CertaintyEquivalence(len(sources))


def listing_index(sources: Sources, budget: int, seconds: float, half_life: float) -> ListingIndex:
    """Return the index policy that learns rates from the dates in listings, and by counting.

    It uses the number of sources only, and `half_life`, which is ``CRAWL_HALF_LIFE``. Its memory
    is `MEMORY`.
    """
    return ListingIndex(len(sources), half_life / seconds, seconds, memory=MEMORY / seconds)


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
