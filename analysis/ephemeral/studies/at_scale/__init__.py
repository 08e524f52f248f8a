"""Studies of millions of sources: what the scheduler earns, what limits on ages and a split cost.

All run the schedulers themselves and hold what they earn against the relaxed problem, whose value
no policy exceeds. Nothing here measures time; that is the benchmarks' business.

* Exactness: every epoch's crawls against a ranking of all sources by Theorem 1 of the report.
* Politeness: minimal and maximal ages, against the relaxed problem under the same limits.
* A cluster: fixed quotas and a shared multiplier, against one scheduler; and what it takes in
  memory and messages for any number of sources.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 3 and 6.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index, whittle_index_at_age
from analysis.ephemeral.optimum.relaxed import relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.observed import ObservedScheduler
from analysis.ephemeral.scheduler.partition import NUMBERS_EXCHANGED, PartitionedScheduler
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]
Ages = NDArray[np.int64]
#: Folder of what benchmarks measured, in units that do not depend on the machine.
MEASURED = Path(__file__).with_name("measured")
FLOAT = 8
"""Bytes of a number."""
PASS = 4 * FLOAT
"""Bytes that a bare pass moves for each source: three arrays read, one written."""


class Crawls(Protocol):
    """Any scheduler of known ages."""

    def crawl(self) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch."""


def lognormal_sources(size: int, rng: np.random.Generator) -> Sources:
    """Draw sources that differ from each other by orders of magnitude.

    Arrival rates and utilities have median 1, decay rates median exp(-3); all are lognormal with
    unit variance of the logarithm.
    """
    size = check_integer("size", size, 1)
    rate, utility = rng.lognormal(0, 1, size), rng.lognormal(0, 1, size)
    return Sources(rate, utility, rng.lognormal(-3, 1, size))


def rewards(scheduler: Crawls, epochs: int) -> Floats:
    """Crawl so many epochs and return what each earned, shape (epochs,)."""
    return np.array([scheduler.crawl()[1].sum() for _ in range(epochs)])


class Agreement(NamedTuple):
    """Epochs held against a ranking of all sources, and in how many the same were crawled."""

    equal: int
    epochs: int


def ranked_in_full(sources: Sources, budget: int, ages: Ages, epochs: int) -> Agreement:
    """Hold every crawl of the scheduler against a ranking of all sources at their ages.

    Parameters
    ----------
    sources : Sources
        N sources of cost 1.
    budget : int
        Crawls per epoch.
    ages : ndarray of int, shape (N,)
        Ages at the first epoch.
    epochs : int
        How many.

    Returns
    -------
    Agreement
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
    """Crawl random content of random sources, once seeing it and once knowing ages alone.

    Every crawl that sees is held against a ranking of all sources at what is there. The first half
    of the epochs is not counted in the rewards. Made for `analysis.sweep`.

    Parameters
    ----------
    point : (size, budget, epochs)
        Number of sources, crawls per epoch, and epochs; utilities are exponential.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict
        ``gain`` of seeing over knowing ages, relative; ``seeing`` and ``ages``, rewards in units of
        the relaxed bound of who knows ages alone; ``equal``, epochs with the same crawls as the
        full ranking; ``rankings``, how often the scheduler itself ranked all sources.
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


def price_of_limits(
    sources: Sources,
    budget: float,
    limits: list[tuple[int, float]],
    warm_up: int,
    epochs: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Share of the reward that limits on ages cost: the policy's, and the best possible.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost per epoch.
    limits : list of (min_age, max_age)
        One pair for all sources; a maximal age may be ``inf``.
    warm_up, epochs : int
        Epochs before, and while, rewards are counted.
    rng : numpy.random.Generator
        Draws the ages at the start.

    Returns
    -------
    pandas.DataFrame
        Columns min_age, max_age, policy (1 - reward/bound without limits), relaxed (the same for
        the bound with limits) and spent (share of the budget).
    """
    free = relaxed_bound(sources, budget)[0]
    rows = []
    for low, high in limits:
        relaxed = relaxed_problem(sources, budget, min_age=max(low, 1), max_age=high)
        due = np.where(np.isinf(relaxed.age), np.ceil(10.0 / sources.decay), relaxed.age)
        age = 1 + np.floor(rng.random(len(sources)) * due).astype(np.int64)
        most = None if np.isinf(high) else int(high)
        scheduler = Scheduler(sources, budget, age, min_age=low, max_age=most)
        rewards(scheduler, warm_up)
        crawls = [scheduler.crawl() for _ in range(epochs)]
        spent = np.mean([sources.cost[numbers].sum() for numbers, _ in crawls]) / budget
        earned = np.mean([reward.sum() for _, reward in crawls])
        rows.append((low, high, 1 - earned / free, 1 - relaxed.bound / free, spent))
    return pd.DataFrame(rows, columns=["min_age", "max_age", "policy", "relaxed", "spent"])


def against_compiled_ranking(benchmarks: pd.DataFrame) -> dict[str, float]:
    """Return how many times as fast the calendar is as a compiled ranking of all ages.

    Parameters
    ----------
    benchmarks : pandas.DataFrame
        Rows of ``measured/benchmarks.csv``.

    Returns
    -------
    dict
        ``compiled-ratio`` at the largest number of sources, ``compiled-size``; ``compiled-low`` and
        ``compiled-high``, least and largest ratio at the smallest number, ``compiled-smaller``,
        where every epoch of the calendar follows one of the ranking.
    """
    same = benchmarks["peer"].eq("compiled full ranking")
    rows = benchmarks[same & benchmarks["name"].eq("epoch of the calendar")]
    sizes = rows["note"].str.extract(r"N = (\S+),")[0].astype(float)
    ratio = rows["ratio"].groupby(sizes).agg(["min", "max"])
    if len(ratio) != 2 or (sizes == sizes.max()).sum() != 1:
        raise ValueError(f"benchmarks must rank two numbers of sources, got {sizes.tolist()}")
    few, many = ratio.index
    return {
        "compiled-ratio": float(ratio.loc[many, "max"]),
        "compiled-size": many,
        "compiled-low": float(ratio.loc[few, "min"]),
        "compiled-high": float(ratio.loc[few, "max"]),
        "compiled-smaller": few,
    }


def without_infinities(price: pd.DataFrame) -> pd.DataFrame:
    """Return prices as they are shown: no maximal age where there is no limit.

    Parameters
    ----------
    price : pandas.DataFrame
        As `price_of_limits` returns it.
    """
    return price.replace(np.inf, np.nan)


def predicates_of_limits(price: pd.DataFrame) -> dict[str, float]:
    """Return what sentences on limits rest on.

    Parameters
    ----------
    price : pandas.DataFrame
        As `price_of_limits` returns it, minimal ages before maximal ones, each rising.

    Returns
    -------
    dict
        First and last minimal and maximal age and the policy's price of each; the largest ``gap``
        between that and the least possible; ``limits-dearer``, whether longer minimal and shorter
        maximal ages cost more.
    """
    least, most = price[np.isinf(price.max_age)], price[np.isfinite(price.max_age)]
    dearer = (np.diff(least.policy) > 0).all() and (np.diff(most.policy) < 0).all()
    return {
        "min-first": int(least.min_age.iloc[0]),
        "min-last": int(least.min_age.iloc[-1]),
        "min-low": float(least.policy.iloc[0]),
        "min-high": float(least.policy.iloc[-1]),
        "max-first": int(most.max_age.iloc[0]),
        "max-last": int(most.max_age.iloc[-1]),
        "max-low": float(most.policy.iloc[0]),
        "max-high": float(most.policy.iloc[-1]),
        "gap": float((price.policy - price.relaxed).max()),
        "limits-dearer": bool(dearer),
    }


def predicates_of_parts(simulated: pd.DataFrame, by_decay: pd.Series) -> dict[str, bool]:
    """Tell whether a shared multiplier loses clearly less than quotas on a split by decay rate.

    Parameters
    ----------
    simulated : pandas.DataFrame
        As `price_of_parts` returns it.
    by_decay : pandas.Series
        Loss of the bound under quotas, by number of parts.
    """
    shared = simulated[simulated.exchange].loss.abs().max()
    return {"multiplier-wins": bool(shared < 0.5 * by_decay.min())}


def price_of_parts(
    sources: Sources,
    budget: float,
    parts: list[int],
    warm_up: int,
    epochs: int,
    seed: int,
) -> pd.DataFrame:
    """Share of one scheduler's reward that a split over several costs.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost per epoch, of all parts together.
    parts : list of int
        Numbers of parts.
    warm_up, epochs : int
        Epochs before, and while, rewards are counted.
    seed : int
        Of the ages at the start and of the random splits, which are those of `bound_of_parts`.

    Returns
    -------
    pandas.DataFrame
        Columns parts, split ("at random" or "by decay rate"), exchange (of a multiplier; otherwise
        quotas are fixed), loss (against one scheduler) and resolution: half the difference between
        the losses of the run's two halves.
    """
    ages = spread_ages(sources, budget, np.random.default_rng(seed))
    one = Scheduler(sources, budget, ages)
    rewards(one, warm_up)
    whole = rewards(one, epochs)
    halves = [slice(None, epochs // 2), slice(epochs // 2, None)]
    rows = []
    for count in parts:
        for name, part in splits(sources, count, seed).items():
            for exchange in (False, True):
                many = PartitionedScheduler(sources, part, budget, ages, exchange=exchange)
                rewards(many, warm_up)
                earned = rewards(many, epochs)
                first, second = (1 - earned[half].mean() / whole[half].mean() for half in halves)
                loss = 1 - earned.mean() / whole.mean()
                rows.append((count, name, exchange, loss, abs(first - second) / 2))
    return pd.DataFrame(rows, columns=["parts", "split", "exchange", "loss", "resolution"])


def noise_of_parts(simulated: pd.DataFrame) -> float:
    """Return how far from zero a simulated loss may lie by chance.

    Parameters
    ----------
    simulated : pandas.DataFrame
        As `price_of_parts` returns it.

    Returns
    -------
    float
        The largest resolution of a run, or loss with a shared multiplier, whichever is larger.
    """
    shared = simulated[simulated.exchange].loss.abs()
    return float(max(simulated.resolution.max(), shared.max()))


def bound_of_parts(sources: Sources, budget: float, parts: list[int], seed: int) -> pd.DataFrame:
    """Share of the relaxed bound that is lost when each part has a quota by its number of sources.

    Parameters
    ----------
    sources : Sources
        N sources of cost 1.
    budget : float
        Cost per epoch, of all parts together.
    parts : list of int
        Numbers of parts.
    seed : int
        Of the random splits.

    Returns
    -------
    pandas.DataFrame
        Columns parts, split and loss.
    """
    whole = relaxed_bound(sources, budget)[0]
    rows = []
    for count in parts:
        for name, part in splits(sources, count, seed).items():
            members = [np.flatnonzero(part == p) for p in range(count)]
            quotas = [budget * own.size / len(sources) for own in members]
            bounds = [
                relaxed_bound(sources.subset(own), quota)[0]
                for own, quota in zip(members, quotas, strict=True)
            ]
            rows.append((count, name, 1 - sum(bounds) / whole))
    return pd.DataFrame(rows, columns=["parts", "split", "loss"])


def splits(sources: Sources, count: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Split sources into parts of one size, at random and in order of decay rate."""
    size = len(sources)
    rng = np.random.default_rng([seed, count])
    place = np.empty(size, dtype=np.int64)
    place[np.argsort(sources.decay_rate, kind="stable")] = np.arange(size)
    return {"at random": rng.permutation(size) % count, "by decay rate": place * count // size}


def cluster_plan(
    sources: float,
    crawled: float,
    machines: int,
    bytes_per_source: float,
    bandwidth: float,
    passes: float,
) -> dict[str, Any]:
    """Work out what an epoch takes on a cluster of machines that share a multiplier.

    Parameters
    ----------
    sources : float
        How many in all.
    crawled : float
        Share of them that is crawled in an epoch.
    machines : int
        How many.
    bytes_per_source : float
        Memory that the calendar holds.
    bandwidth : float
        Bytes per second that a core moves between memory and itself.
    passes : float
        Time of the calendar's epoch in units of a bare pass.

    Returns
    -------
    dict
        ``sources``, ``memory`` and ``crawls`` of a machine; ``seconds`` of an epoch on one core of
        it; ``messages`` and ``bytes`` that the coordinator sends and receives in an epoch;
        ``indices``, the bytes that it would receive if every machine sent all its indices.
    """
    sources = check_number("sources", sources, 1)
    crawled = check_number("crawled", crawled, 0, 1, low_open=True)
    machines = check_integer("machines", machines, 1)
    own = sources / machines
    return {
        "sources": own,
        "memory": own * bytes_per_source,
        "crawls": own * crawled,
        "seconds": passes * own * PASS / check_number("bandwidth", bandwidth, 0, low_open=True),
        "messages": NUMBERS_EXCHANGED * machines,
        "bytes": NUMBERS_EXCHANGED * machines * FLOAT,
        "indices": sources * FLOAT,
    }


def _largest(rank: Floats, count: int) -> NDArray[np.intp]:
    return np.argpartition(rank, rank.size - count)[rank.size - count :]
