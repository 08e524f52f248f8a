"""Policies at fixed rates, evenly spaced or at random (LambdaCrawl), and one that forgets.

best fixed frequencies   the visits per epoch that solve the relaxed problem, evenly spaced
LambdaCrawl              for change rate D and importance m, visits at random at the rate ::

                             rho = (-D + sqrt(D^2 + 4 m D / lambda)) / 2,

                         lambda such that the rates sum to the budget; it minimises the average of
                         m H(n), n the changes since the last visit, H(n) = 1 + 1/2 + ... + 1/n

All see ages only. Time is counted in epochs.

forgetting index         the index at arrival rates that are estimated with fading weights: an item
                         of age t counts with weight exp(-t/memory), and so does the time for which
                         the source was watched. With a gamma prior of shape a and rate b (hours)
                         the estimate after a visit, whatever it found, is ::

                             (a + weights of its items) / (b + integral of weights over the time),

                         for an infinite memory and no prior the number of items per hour

Reference: Kolobov, Peres, Lu and Horvitz, Staying up to date with online content changes using
reinforcement learning for scheduling (NeurIPS 2019), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    LARGEST,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_whole,
    set_fields,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import Arms, Observation, check_ages, top
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.trace.kernels import fade_known
from analysis.trace.trace import HOUR, Trace, weighted_counts


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class FrequencyPolicy:
    """Visit each source evenly at a fixed frequency: those furthest through their interval first.

    Parameters
    ----------
    frequency : array_like, shape (N,)
        Visits per epoch, in [0, 1]; a source of frequency 0 is never visited.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Observation
    >>> from analysis.trace import FrequencyPolicy
    >>> seen = Observation(epoch=0, age=np.array([1, 3, 9]), state=np.full(3, np.nan))
    >>> FrequencyPolicy([0.5, 0.25, 0.0]).select(seen, 1).tolist()
    [1]
    """

    frequency: Floats

    def __post_init__(self) -> None:
        set_fields(self, frequency=check_array("frequency", self.frequency, 0, 1))
        if self.frequency.ndim != 1:
            raise ValueError(f"frequency must have shape (N,), got {self.frequency.shape}")

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources of largest age times frequency, ties to the smaller number."""
        check_ages(observation, self.frequency.size)
        budget = check_whole("budget", budget, 1, self.frequency.size)
        elapsed = observation.age * self.frequency
        arms = np.argsort(-elapsed, kind="stable")[:budget]
        return np.sort(arms[elapsed[arms] > 0])


def best_fixed_frequencies(sources: Sources, budget: float) -> FrequencyPolicy:
    """Return the policy of the best fixed frequencies, those that solve the relaxed problem.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Visits per epoch, in (0, N].

    Returns
    -------
    FrequencyPolicy

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> best_fixed_frequencies(four_sources(), 1).frequency.round(4).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    return FrequencyPolicy(relaxed_problem(sources, budget).frequency)


def lambdacrawl_rates(change_rate: ArrayLike, importance: ArrayLike, budget: float) -> Floats:
    """Return the visit rates of least harmonic penalty (LambdaCrawl), at most one visit an epoch.

    Parameters
    ----------
    change_rate : array_like, shape (N,)
        D, changes per epoch; not negative.
    importance : array_like, shape (N,)
        m, weight of a source; not negative.
    budget : float
        Visits per epoch, in (0, n], n the number of sources where both are positive.

    Returns
    -------
    ndarray, shape (N,)
        Visits per epoch, which sum to the budget; 0 where a source never changes or weighs nothing.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> lambdacrawl_rates([0.1, 1.0], [1.0, 1.0], 0.5).round(4).tolist()
    [0.1667, 0.3333]
    """
    change = check_array("change_rate", change_rate, 0)
    weight = check_array("importance", importance, 0)
    if change.ndim != 1 or weight.shape != change.shape:
        raise ValueError(
            f"importance must have the shape of change_rate, {change.shape}, got {weight.shape}"
        )
    live = (change > 0) & (weight > 0)
    budget = check_number("budget", budget, 0, float(live.sum()), low_open=True)
    rates = np.zeros_like(change)
    d, pressure = change[live], weight[live] * change[live]

    def visits(log_lambda: float) -> Floats:
        a = pressure * np.exp(-log_lambda)
        return np.minimum(1.0, 2.0 * a / (d + np.sqrt(d * d + 4.0 * a)))

    # Below `low` every source is visited at each epoch, at `high` their sum is below the budget.
    low = float(np.log(pressure / (1.0 + d)).min())
    high = float(np.log(pressure.sum() / d.min())) - np.log(budget) + np.log(d.size)
    if visits(low).sum() <= budget:
        rates[live] = visits(low)
    else:
        root = brentq(lambda x: visits(x).sum() - budget, low, high, xtol=1e-14, rtol=1e-14)
        rates[live] = visits(root)
    return rates


def lambdacrawl(sources: Sources, budget: float) -> RandomPolicy:
    """Return LambdaCrawl with known change rates: visits at random at `lambdacrawl_rates`.

    A source's importance is the mean utility of its items, and an item is a change.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Visits per epoch.

    Returns
    -------
    RandomPolicy

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> lambdacrawl(four_sources(), 1).frequency.round(3).tolist()
    [0.505, 0.354, 0.101, 0.04]
    """
    check_kind("sources", sources, Sources)
    change = sources.arrival_rate * sources.period
    return RandomPolicy(lambdacrawl_rates(change, sources.mean_utility, budget))


@brief
@dataclass(eq=False)
class Known:
    """The observations of each source so far; arrays of shape (N,).

    Attributes
    ----------
    last : ndarray
        Hour up to which the source has been watched.
    items, hours : ndarray
        Weighted number of items, and of hours watched.
    age : ndarray of int
        Epochs since the last visit.
    """

    last: Floats
    items: Floats
    hours: Floats
    age: Ints

    __copy__ = deepcopy  # no copy shares what a run changes in place


@brief
class ForgettingIndex:
    """The index policy with fading estimates of the rates.

    Parameters
    ----------
    sources : Sources
        Mean utilities, decay rates (per hour) and period (hours); the arrival rates are not used.
    known : Known
        Observations before the first epoch; updated in place.
    memory : float
        Hours after which the weight of an item is 1/e; may be ``inf``.
    prior : (float, float)
        Shape and rate (hours) of the gamma prior; not negative.
    begin : int
        Second of epoch 0.
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        sources: Sources,
        known: Known,
        memory: float,
        prior: tuple[float, float],
        begin: int,
    ) -> None:
        check_kind("sources", sources, Sources)
        check_kind("known", known, Known)
        if known.items.size != len(sources):
            raise ValueError(f"known must be of {len(sources)} sources, got {known.items.size}")
        self.memory = _hours("memory", memory)
        gamma = check_array("prior", prior, 0)
        if gamma.shape != (2,):
            raise ValueError(f"prior must be a shape and a rate, got shape {gamma.shape}")
        self.shape, self.rate = gamma.tolist()
        self.sources, self.known = sources, known
        self.begin = check_integer("begin", begin, -LARGEST)
        self.scale = sources.mean_utility / sources.decay_rate
        unit = sources.decay_rate
        self._unit = Sources(unit, np.ones(unit.size), unit, period=sources.period)
        self._epoch = 0

    @property
    def estimate(self) -> Floats:
        """Current estimates of the arrival rates, items per hour; shape (N,)."""
        return (self.known.items + self.shape) / (self.known.hours + self.rate)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources of largest index at the estimated rates."""
        self._epoch = observation.epoch
        relative = whittle_index_at_age(self._unit, observation.age)
        return top(self.estimate * self.scale * relative, budget)

    def read(self, arms: Arms, published: Sequence[Floats]) -> None:
        """Update the estimates of the visited sources; times in epochs."""
        hour = self.begin / HOUR + self._epoch * self.sources.period
        known = self.known
        for arm, times in zip(arms, published, strict=True):
            hours = self.begin / HOUR + np.asarray(times) * self.sources.period
            fade_known(arm, hour, self.memory, known.last, known.items, known.hours)
            known.items[arm] += np.exp((hours - hour) / self.memory).sum()


def known_from(trace: Trace, begin: int, end: int, memory: float, age: Ints) -> Known:
    """Return the weighted counts of an observer of every item published in [begin, end).

    Parameters
    ----------
    trace : Trace
        N sources.
    begin, end : int
        Seconds.
    memory : float
        As in `ForgettingIndex`.
    age : ndarray of int, shape (N,)
        Epochs since the last visit, at `end`.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.trace import known_from, publications
    >>> trace = publications()
    >>> age, day = np.ones(len(trace), dtype=int), 86_400
    >>> seen = known_from(trace, trace.begin, trace.begin + day, np.inf, age)
    >>> round(float(seen.hours[0]), 6)
    24.0
    """
    check_kind("trace", trace, Trace)
    memory, begin = _hours("memory", memory), check_integer("begin", begin, -LARGEST)
    end = check_integer("end", end, begin)
    epochs = check_integers("age", age)
    if epochs.shape != (len(trace),) or (epochs < 0).any():
        raise ValueError(f"age must be {len(trace)} numbers of epochs, got {shown(age)}")
    low, high = np.searchsorted(trace.time, [begin, end])
    weight = np.exp(-(end - trace.time[low:high]) / HOUR / memory)
    items = weighted_counts(trace.source[low:high], weight, len(trace))
    hours = memory * -np.expm1(-(end - begin) / HOUR / memory)
    size = len(trace)
    return Known(np.full(size, end / HOUR), items, np.full(size, hours), epochs)


def _hours(name: str, memory: float) -> float:
    """Return a memory in hours; an infinite one as a finite one with the same effect."""
    return min(check_number(name, memory, 0, low_open=True), 1e15)
