"""The calendar at scale: every crawl against a full ranking, and what observed content is worth.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 3 and 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.instances import lognormal_sources
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.observed import ObservedScheduler
from analysis.ephemeral.sources import Sources

Ages = NDArray[np.int64]


class Agreement(NamedTuple):
    """Epochs compared with a ranking of all sources, and epochs with the same crawls."""

    equal: int
    epochs: int


def ranked_in_full(sources: Sources, budget: int, ages: Ages, epochs: int) -> Agreement:
    """Compare every crawl of the scheduler with a ranking of all sources at their ages.

    `ages`: ages at the first epoch.
    """
    scheduler, age = Scheduler(sources, budget, ages), ages.copy()
    equal = 0
    for _ in range(epochs):
        best = _largest(whittle_index_at_age(sources, age), budget)
        equal += np.array_equal(np.sort(scheduler.crawl()[0]), np.sort(best))
        age += 1
        age[best] = 1
    return Agreement(equal, epochs)


def observed_row(point: tuple[int, int, int], rng: np.random.Generator) -> dict[str, float]:
    """Crawl random content of random sources, with contents observed and by ages alone.

    Crawls with observed contents are compared with a ranking of all sources. The first half
    of the epochs is not counted in the rewards. Made for `analysis.sweep`.

    Keys: ``gain``, relative, of observing; ``seeing`` and ``ages``, rewards in units of the relaxed
    bound on policies that observe ages alone; ``equal``, epochs with the same crawls as the full
    ranking; ``rankings``, how often the scheduler itself ranked all sources.
    """
    size, budget, epochs = point
    sources = lognormal_sources(size, rng)
    ages = spread_ages(sources, budget, rng)
    seen = ObservedScheduler(sources, budget, sources.state_at_age(ages))
    blind = Scheduler(sources, budget, ages)
    content = sources.state_at_age(ages)  # of the crawler that does not see it
    arrived = np.ascontiguousarray(Arrivals(sources).sample(epochs, rng).T)
    equal, earned = 0, np.zeros((epochs, 2))
    for epoch in range(epochs):
        best = _largest(whittle_index(sources, seen.state), budget)
        numbers, reward = seen.crawl(arrived[epoch])
        equal += np.array_equal(numbers, np.sort(best))
        chosen = blind.crawl()[0]
        earned[epoch] = reward.sum(), content[chosen].sum()
        content[chosen] = 0.0
        content = sources.alpha * content + arrived[epoch]
    seeing, known = earned[epochs // 2 :].mean(axis=0) / relaxed_bound(sources, budget)[0]
    return {
        "gain": seeing / known - 1,
        "seeing": seeing,
        "ages": known,
        "equal": equal,
        "rankings": seen.rebuilds,
    }


def _largest(rank: Floats, count: int) -> NDArray[np.intp]:
    return np.argpartition(rank, rank.size - count)[rank.size - count :]
