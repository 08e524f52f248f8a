"""Policies for a crawl: functions ``(sources, budget, seconds) -> policy``, as settings name them.

Rates of the sources are per epoch, and an epoch takes so many seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Observation, RoundRobinPolicy, WhittlePolicy
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import CertaintyEquivalence
from analysis.trace.deployed import (
    FrequencyPolicy,
    NutchAdaptive,
    best_fixed_frequencies,
    lambdacrawl,
)

Arms = NDArray[np.int64]


class CalendarPolicy:
    """The index policy by `Scheduler`, kept in step with the ages that the crawl says.

    `Scheduler` takes it that every source that it names was crawled. Here sources fail, or may not
    be fetched (age 0): those are taken out of its calendar, and put back at their true age.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : int
        Fetches in an epoch.
    """

    def __init__(self, sources: Sources, budget: int) -> None:
        self._sources = sources
        self._scheduler = Scheduler(sources, budget)
        self._number = np.arange(len(sources))  # of each source in the scheduler, -1 for absent
        self._source = np.arange(len(sources))  # behind each number
        self._epoch = -1

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources of largest index at their ages."""
        if observation.epoch == self._epoch:  # asked for more: the calendar has gone on already
            return WhittlePolicy(self._sources).select(observation, budget)
        self._epoch = observation.epoch
        self._follow(observation.age)
        numbers, _ = self._scheduler.crawl(budget)
        return np.sort(self._source[numbers])

    def _follow(self, age: Arms) -> None:
        """Make the calendar hold the sources of positive age, each at its age."""
        here = self._number >= 0
        wrong = here.copy()
        wrong[here] = self._scheduler.ages[self._number[here]] != age[here]
        if wrong.any():
            self._scheduler.remove(self._number[wrong])
            self._number[wrong] = -1
        back = np.flatnonzero((self._number < 0) & (age > 0))
        if back.size:
            numbers = self._scheduler.add(self._sources.subset(back), age[back])
            self._number[back] = numbers
            self._source = np.concatenate([self._source, back])


def index(sources: Sources, budget: int, seconds: float) -> CalendarPolicy:
    """Return the Whittle index policy for known sources."""
    return CalendarPolicy(sources, budget)


def learned_index(sources: Sources, budget: int, seconds: float) -> CertaintyEquivalence:
    """Return the index policy that estimates rates while it crawls; it is told N alone."""
    return CertaintyEquivalence(len(sources))


def fixed_frequencies(sources: Sources, budget: int, seconds: float) -> FrequencyPolicy:
    """Return the frequencies that solve the relaxed problem, evenly spaced."""
    return best_fixed_frequencies(sources, budget)


def lambda_crawl(sources: Sources, budget: int, seconds: float) -> RandomPolicy:
    """Return LambdaCrawl with known change rates."""
    return lambdacrawl(sources, budget)


def nutch_adaptive(sources: Sources, budget: int, seconds: float) -> NutchAdaptive:
    """Return Nutch's adaptive schedule with its default settings."""
    return NutchAdaptive(len(sources), seconds)


def round_robin(sources: Sources, budget: int, seconds: float) -> RoundRobinPolicy:
    """Return the policy that fetches what has waited longest."""
    return RoundRobinPolicy()
