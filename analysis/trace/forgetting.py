"""The index policy with arrival rates estimated with exponentially fading weights.

An item of age t counts with weight exp(-t/memory), and so does the time for which the source was
watched. With a gamma prior of shape a and rate b (hours) the estimate after a visit is ::

    rate = (a + sum of weights of its items) / (b + integral of weights over the watched time),

for an infinite memory and no prior the number of items per hour. Every visit updates the estimate
of its source, whatever it finds; between visits the estimate does not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import (
    LARGEST,
    check_array,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.policies import Arms, Observation, top
from analysis.ephemeral.sources import Sources
from analysis.trace.kernels import fade_known
from analysis.trace.trace import HOUR, Trace, weighted_counts


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
