"""What "the top sources for the constraint to be reached" earns and spends, with costs.

Each random instance is solved exactly, so that every way to fill a budget is compared with the
optimum within that budget; `cost_row` does one instance. A limit on how often a site may be
visited is compared with a cost that brings about the same: `least_cost` finds that cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.optimum.costs import FILLS, CostRun, simulate_costs
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.results import NotConverged

#: Sizes of the random instances, (sources, budget).
POINTS = ((3, 4.0), (4, 4.0), (4, 5.0))
_COST_STEP = 0.5


def cost_row(point: tuple[int, float], rng: np.random.Generator) -> dict[str, Any]:
    """Compare the ways to fill a cost budget on one random instance with costs.

    Keys: for each fill, its reward in units of the optimum within the budget at every epoch, and
    its cost in units of the budget (``stop``, ``stop_cost``, ...); ``bound``, the optimum when the
    budget holds on average.
    """
    size, budget = point
    while True:
        sources = random_sources(size, rng, costs=True)
        if sources.cost.sum() <= budget:
            continue
        try:
            optimum = optimal_cycle(sources, budget, tolerance=1e-7, max_states=400_000)
            break
        except NotConverged:
            continue
    row: dict[str, Any] = {"sources": size, "budget": budget}
    for fill in FILLS:
        run = simulate_costs(sources, fill, budget)
        row[fill] = run.average_reward / optimum.average_reward
        row[f"{fill}_cost"] = run.average_cost / budget
    row["bound"] = relaxed_problem(sources, budget).bound / optimum.average_reward
    return row


def summary(instances: pd.DataFrame) -> pd.DataFrame:
    """Return loss and spending of each way to fill the budget over random instances.

    Columns ``mean loss`` and ``worst loss`` against the optimum within the budget (negative where
    more is spent), and ``mean cost`` and ``largest cost`` in budgets.
    """
    rows = {
        fill: {
            "mean loss": 1 - instances[fill].mean(),
            "worst loss": 1 - instances[fill].min(),
            "mean cost": instances[f"{fill}_cost"].mean(),
            "largest cost": instances[f"{fill}_cost"].max(),
        }
        for fill in FILLS
    }
    return pd.DataFrame(rows).T.rename_axis("way to fill")


def fills_that_differ(sources: Sources, budgets: tuple[float, ...]) -> list[float]:
    """Return the budgets at which the ways to fill do not all crawl alike."""
    return [
        budget
        for budget in budgets
        if len({tuple(simulate_costs(sources, fill, budget).frequency) for fill in FILLS}) > 1
    ]


def least_cost(sources: Sources, arm: int, delay: int, budget: float) -> tuple[float, CostRun]:
    """Find the least cost at which a source is crawled no oftener than once in so many epochs.

    The budget holds on average (the way to fill is *debt*), so that a cost above it can be paid.

    `delay`: epochs between two crawls on average, at least 1. `cost`: in steps of 0.5; `run`: what
    the sources earn then.
    """
    delay = check_integer("delay", delay, 1)
    for cost in np.arange(float(sources.cost[arm]), budget * delay + 1, _COST_STEP):
        costs = sources.cost.copy()
        costs[arm] = cost
        run = simulate_costs(replace(sources, cost=costs), "debt", budget)
        if run.frequency[arm] <= 1 / delay + 1e-12:
            break
    return float(cost), run


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    instances: pd.DataFrame  # rows of `cost_row`
    # Budgets at which, with costs of one, the ways to fill do not all crawl alike.
    differ: list[float]
