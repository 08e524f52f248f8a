"""Learners of rates side by side, on drawn feeds and on the trace.

All meet the same items. A fetch at epoch t finds what its feed lists and nobody found before, each
item worth 2^(-age / half-life); items published more than an epoch before the crawl begins are in
the listings and count nothing. Times are in epochs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.checks import check_integer, check_number
from analysis.crawl.feeds.listing import listed_ages
from analysis.crawl.frontier.state import FOUND, Outcome
from analysis.crawl.frontier.turn import TurnPolicy
from analysis.crawl.policies import IndexPolicy, ListingIndex
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.sweep import sweep
from analysis.trace.trace import WEEK, publications

DAY = 86_400.0
HISTORY = 400
"""Epochs before the crawl from which drawn feeds have items."""
LEARNERS = {
    "index": "index, rates known",
    "listing": "index, rates from listings",
    "forgetting": "the same, forgetting",
    "counting": "index, rates by counting",
    "ucb": "sums, optimistic",
    "thompson": "sums, drawn",
    "robin": "round robin",
}


@dataclass(frozen=True)
class Feeds:
    """Feeds that print dates."""

    # Times of the items of each feed in epochs, ascending; negative before the crawl.
    published: list[Floats]
    # Items per epoch in the first and the second half of the crawl, which only the index with
    # known rates uses; shape (N,).
    rate: Floats
    then: Floats
    seconds: float  # length of an epoch
    # Feeds that print the time of the fetch as the date of every item; shape (N,).
    lies: NDArray[np.bool_]


def drawn_feeds(
    size: int, epochs: int, rng: np.random.Generator, *, jump: bool = False, lies: float = 0.0
) -> Feeds:
    """Draw feeds: Poisson arrivals, rates log-uniform on (0.05, 5) a day, an epoch being a day.

    `jump`: whether the feeds exchange their rates in the middle of the crawl; `lies`: share of the
    feeds whose dates lie, in [0, 1].
    """
    size, epochs = check_integer("size", size, 1), check_integer("epochs", epochs, 2)
    lies = check_number("lies", lies, 0, 1)
    rate = np.exp(rng.uniform(np.log(0.05), np.log(5.0), size))
    order = rng.permutation(size)

    def items(rate: float, begin: float, end: float) -> Floats:
        return rng.uniform(begin, end, rng.poisson(rate * (end - begin)))

    published = []
    middle = epochs / 2 if jump else float(epochs)
    for i in range(size):
        first = items(rate[i], -HISTORY, middle)
        later = items(rate[order[i]], middle, epochs)
        published.append(np.sort(np.concatenate([first, later])))
    then = rate[order] if jump else rate
    return Feeds(published, rate, then, DAY, rng.permutation(size) < lies * size)


def trace_feeds(begin: int, epochs: int, hours: int) -> Feeds:
    """Return the publications of the book's trace as feeds, with their mean rates in the crawl.

    `begin`: second at which the crawl begins; `epochs`, `hours`: its length, and that of an epoch.
    """
    trace, seconds = publications(), 3600 * hours
    times = [(trace.times_of(i) - begin) / seconds for i in range(len(trace))]
    rate = np.array([np.count_nonzero((t >= 0) & (t < epochs)) for t in times]) / epochs
    return Feeds(times, rate, rate, float(seconds), np.zeros(len(trace), dtype=bool))


class KnownRates:
    """The index policy with known rates, which may change in the middle of the crawl.

    `feeds`: what is crawled; `half_life`, `middle`: in epochs.
    """

    def __init__(self, feeds: Feeds, half_life: float, middle: float) -> None:
        ones, decay = np.ones(feeds.rate.size), np.full(feeds.rate.size, np.log(2.0) / half_life)
        self._halves = [IndexPolicy(Sources(r, ones, decay)) for r in (feeds.rate, feeds.then)]
        self._middle = middle

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return the sources of largest index at the present rates."""
        half = self._halves[observation.epoch >= self._middle]
        return half.select(observation, budget)


def learner(name: str, feeds: Feeds, half_life: float, memory: float, epochs: int) -> Any:
    """Return a fresh policy by its name in `LEARNERS`; half-life and memory in epochs."""
    size = feeds.rate.size
    options: Mapping[str, dict[str, Any]] = {
        "listing": {},
        "forgetting": {"memory": memory},
        "counting": {"dates": False},
    }
    if name == "index":
        return KnownRates(feeds, half_life, epochs / 2)
    if name in options:
        return ListingIndex(size, half_life, feeds.seconds, **options[name])
    if name == "robin":
        return TurnPolicy(size)
    return CertaintyEquivalence(size, CertaintyEquivalenceOptions(exploration=name))


def crawled(
    feeds: Feeds,
    policy: Any,
    budget: int,
    epochs: int,
    half_life: float,
    length: int,
    rng: np.random.Generator,
) -> Floats:
    """Return what a policy finds in each epoch of a crawl; shape (epochs,).

    `policy`: the policy; outcomes are passed to its ``observe`` or contents to its ``update``, if
    any; `half_life`: epochs in which an item loses half of its worth; `length`: items that a feed
    lists.
    """
    size = feeds.rate.size
    age, last = np.ones(size, dtype=np.int64), np.full(size, -np.inf)
    found = np.zeros(epochs)
    for epoch in range(epochs):
        seen = Observation(epoch, age.copy(), np.full(size, np.nan))
        arms = policy.select(seen, budget, rng)
        fetches = [_fetch(feeds, int(i), epoch, last[i], half_life, length) for i in arms]
        rewards = np.array([one.worth for one in fetches])
        found[epoch] = rewards.sum()
        if hasattr(policy, "observe"):
            policy.observe([one.outcome(feeds, epoch) for one in fetches])
        elif hasattr(policy, "update"):
            policy.update(arms, rewards)
        elif hasattr(policy, "record_choice"):
            policy.record_choice(arms)
        age += 1
        age[arms], last[arms] = 1, epoch
    return found


@dataclass(frozen=True)
class _Fetch:
    """One fetch: its source, the times of the items listed, how many are new, what they are worth.

    `worth` leaves out items published more than an epoch before the crawl begins, `reward` does
    not.
    """

    source: int
    listed: Floats
    new: int
    reward: float
    worth: float

    def outcome(self, feeds: Feeds, epoch: int) -> Outcome:
        """Return the outcome that a policy which reads dates observes."""
        lies = feeds.lies[self.source]
        dates = np.full(self.listed.size, float(epoch)) if lies else self.listed
        ages = listed_ages((dates * feeds.seconds).tolist(), epoch * feeds.seconds)
        known = self.listed.size - self.new
        return Outcome(
            self.source, FOUND, items=self.new, reward=self.reward, known=known, ages=ages
        )


def _fetch(feeds: Feeds, i: int, epoch: int, last: float, half_life: float, length: int) -> _Fetch:
    """Fetch feed i at an epoch, after a fetch at the epoch `last`."""
    items = feeds.published[i]
    count = int(np.searchsorted(items, epoch, "right"))
    listed = items[max(0, count - length) : count]
    new = listed[listed > last]
    worth = np.exp2((new - epoch) / half_life)
    return _Fetch(i, listed, new.size, float(worth.sum()), float(worth[new > -1.0].sum()))


def world(point: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Floats]:
    """Let every learner crawl the same drawn feeds; value found in each epoch, by learner."""
    given = {"jump": point["jump"], "lies": point["lies"]}
    feeds = drawn_feeds(point["size"], point["epochs"], rng, **given)
    return side_by_side(feeds, point, rng)


def side_by_side(
    feeds: Feeds, point: Mapping[str, Any], rng: np.random.Generator
) -> dict[str, Floats]:
    """Let learners crawl some feeds, all with the same budget."""
    budget, epochs, half_life = point["budget"], point["epochs"], point["half_life"]
    found = {}
    for name in LEARNERS:
        policy = learner(name, feeds, half_life, point["memory"], epochs)
        found[name] = crawled(feeds, policy, budget, epochs, half_life, point["length"], rng)
    return found


def worlds(point: Mapping[str, Any], replications: int, seed: int) -> dict[str, Floats]:
    """Return what each learner found in so many drawn worlds; shape (replications, epochs)."""
    rows = sweep(world, [point], seed=seed, replications=replications, jobs=1, progress=False)[0]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def trace_runs(point: Mapping[str, Any], starts: int, hours: int, seed: int) -> dict[str, Floats]:
    """Crawl the trace from several days on; value by learner, shape (starts, epochs).

    The crawls begin after two years of history, eight weeks after one another.
    """
    runs = []
    for start in range(starts):
        feeds = trace_feeds((104 + 8 * start) * WEEK, point["epochs"], hours)
        runs.append(side_by_side(feeds, point, np.random.default_rng([seed, start])))
    return {name: np.array([run[name] for run in runs]) for name in runs[0]}


def shares(runs: Mapping[str, Floats], name: str, begin: int, end: int) -> Floats:
    """Value of a learner over that of the index with known rates, in [begin, end); one a run."""
    known, found = (runs[key][:, begin:end].sum(axis=1) for key in ("index", name))
    return np.asarray(found / known)
