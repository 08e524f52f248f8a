"""What limits on ages and a split over machines cost, against the relaxed problem.

The schedulers themselves are run, and their reward is compared with the value of the relaxed
problem under the same limits or quotas, which no policy exceeds in the long run.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 3 and 6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.relaxed import relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.machines.partition import PartitionedScheduler
from analysis.ephemeral.scheduler.runs import rewards
from analysis.ephemeral.sources import Sources
from analysis.results import Estimate

#: Parts of a run of which the losses are compared: as published, each lasts a mean gap.
BLOCKS = 6


#: Epochs in which a schedule with a crawl delay is followed until it repeats itself.
LONGEST = 5000


def reward_of_cycle(sources: Sources, budget: float, delay: int) -> float:
    """Return the reward per epoch over the cycle of the index policy under a crawl delay.

    Where no cycle shows within `LONGEST` epochs it is the mean of their second half.

    `delay`: epochs between two crawls of a source, at least; all ages are that at the start.
    """
    scheduler = Scheduler(sources, budget, delay, min_age=delay)
    oldest = np.maximum(delay, np.ceil(-np.log(np.finfo(float).eps / 4) / sources.decay))
    seen: dict[tuple[float, ...], int] = {}
    earned: list[float] = []
    while len(earned) < LONGEST:
        ages = tuple(np.minimum(scheduler.ages, oldest))
        if ages in seen:
            return float(np.mean(earned[seen[ages] :]))
        seen[ages] = len(earned)
        earned.append(float(scheduler.crawl()[1].sum()))
    return float(np.mean(earned[LONGEST // 2 :]))


def price_of_limits(
    sources: Sources,
    budget: float,
    limits: list[tuple[int, float]],
    warm_up: int,
    epochs: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Share of the reward that limits on ages cost: the policy's, and the best possible.

    `limits`: one pair for all sources; a maximal age may be ``inf``; `warm_up`, `epochs`: epochs
    before, and while, rewards are counted. Columns min_age, max_age, policy (1 - reward/bound
    without limits), half_width of its 95% interval, from `BLOCKS` parts of the run, relaxed (the
    same for the bound with limits) and spent (share of the budget).
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
        earned = np.array([reward.sum() for _, reward in crawls])
        error = Estimate.of(_by_block(earned) / free).half_width
        rows.append((low, high, 1 - earned.mean() / free, error, 1 - relaxed.bound / free, spent))
    columns = ["min_age", "max_age", "policy", "half_width", "relaxed", "spent"]
    return pd.DataFrame(rows, columns=columns)


def price_of_parts(
    sources: Sources,
    budget: float,
    parts: list[int],
    warm_up: int,
    epochs: int,
    seed: int,
) -> pd.DataFrame:
    """Share of one scheduler's reward that a split over several costs.

    `parts`: numbers of parts; `warm_up`, `epochs`: epochs before, and while, rewards are counted.
    Columns parts, split ("at random" or "by decay rate"), exchange (of a multiplier; otherwise
    quotas are fixed), loss (against one scheduler) and half_width of its 95% interval, from
    `BLOCKS` parts of the run, one after another.
    """
    ages = spread_ages(sources, budget, np.random.default_rng(seed))
    one = Scheduler(sources, budget, ages)
    rewards(one, warm_up)
    whole = rewards(one, epochs)
    rows = []
    for count in parts:
        for name, part in splits(sources, count, seed).items():
            for exchange in (False, True):
                many = PartitionedScheduler(sources, part, budget, ages, exchange=exchange)
                rewards(many, warm_up)
                earned = rewards(many, epochs)
                half_width = Estimate.of(1 - _by_block(earned) / _by_block(whole)).half_width
                rows.append((count, name, exchange, 1 - earned.mean() / whole.mean(), half_width))
    return pd.DataFrame(rows, columns=["parts", "split", "exchange", "loss", "half_width"])


def _by_block(earned: Floats) -> Floats:
    """Return the mean rewards of the parts of a run, shape (`BLOCKS`,)."""
    return np.array([block.mean() for block in np.array_split(earned, BLOCKS)])


def bound_of_parts(sources: Sources, budget: float, parts: list[int], seed: int) -> pd.DataFrame:
    """Share of the relaxed bound that is lost when each part has a quota by its number of sources.

    `parts`: numbers of parts. Columns parts, split and loss.
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
