"""Crawls of unequal cost: ways to fill a cost budget in order of the index.

The report requires sum_i C_i v_i = M on average (5), the slides in every epoch; both divide the
index by C_i, so that gamma_i is content per unit of cost. With unequal costs "the top M" has no one
meaning. The ways to fill, with the sources in falling order of gamma_i:

    stop        take sources until one does not fit
    skip        leave out what does not fit and go on
    reach       take sources until the budget is reached: the report's "number of top sources for
                the constraint to be reached", which overshoots
    value       the set that fits with the largest sum of C_i gamma_i, the index before division
    index       the set that fits with the largest sum of gamma_i
    debt        as `reach`, but an overshoot is owed: the budget holds on average, as in (5)

Only `stop`, `skip`, `value` and `index` keep the budget in every epoch; `optimal_cycle` is their
exact optimum, and the relaxed bound that of `debt`. A set of costs that adds up to M exactly need
not exist, so that the slides' equality can be infeasible: `exact_sets` lists the sets that do.

A limit in a site's robots.txt is no cost but a least age between two crawls: `least_age` forbids
younger sources whatever the way to fill.

Reference: report 8702, (5) and Theorem 1; slides, (5) and (6).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import check_array, check_choice, check_integer, check_number
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.optimum.exact import MOST_SOURCES
from analysis.ephemeral.simulation import follow_to_cycle
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget
from analysis.kernel_cache import njit

FILLS = ("stop", "skip", "reach", "value", "index", "debt")


@brief
@read_only_arrays
@dataclass(frozen=True)
class CostRun:
    """Long-run averages of one way to fill the budget.

    `average_reward` and `average_cost` are per epoch, `largest_cost` is that of any epoch,
    `frequency`, shape (N,), has crawls per epoch. They are averages over one `period` in epochs; 0
    if none was found and the second half of the run was averaged instead.
    """

    average_reward: float
    average_cost: float
    largest_cost: float
    frequency: Floats
    period: int


def fill_budget(gamma: ArrayLike, cost: ArrayLike, budget: float, fill: str) -> NDArray[np.int64]:
    """Return the sources to crawl in one epoch, rising, by the way to fill, one of `FILLS`.

    `gamma` is the index per unit of cost, shape (N,), with ``-inf`` for sources that are never
    taken; the budget of "debt" is what is left after earlier overshoots. "value" and "index" are
    for at most 12 sources. ValueError names the argument, its value and the allowed range.
    """
    check_choice("fill", fill, FILLS)
    costs = check_array("cost", cost, 0, low_open=True)
    if costs.ndim != 1:
        raise ValueError(f"cost must be one-dimensional, got shape {costs.shape}")
    budget = check_number("budget", budget, high_open=True)
    try:
        indices = np.asarray(gamma, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"gamma must be an array of numbers, got {gamma!r:.200}") from None
    if indices.shape != costs.shape or np.isnan(indices).any():
        raise ValueError(f"gamma must be numbers of shape {costs.shape}, got {gamma!r}")
    if fill in ("value", "index"):
        sets = _all_sets(costs.size)
        worth = np.where(np.isfinite(indices), indices, -np.inf)
        chosen = _best_set(sets, costs, worth * (costs if fill == "value" else 1.0), budget)
    else:
        order = np.argsort(-indices, kind="stable")
        chosen = _fill_in_order(order, indices, costs, budget, FILLS.index(fill))
    return np.flatnonzero(chosen)


def simulate_costs(
    sources: Sources,
    fill: str,
    budget: float,
    *,
    horizon: int = 20_000,
    least_age: ArrayLike = 1,
) -> CostRun:
    """Run the index policy on expected contents with a cost budget and a way to fill, of `FILLS`.

    The budget, cost per epoch, is at least the smallest cost, except for "debt" and "reach"; the
    search for a period ends after `horizon` epochs, at least 2; `least_age` is the fewest epochs
    between two crawls, for all sources or of shape (N,). ValueError names the argument, its value
    and the allowed range.
    """
    check_choice("fill", fill, FILLS)
    budget = check_budget(sources, budget)
    cheapest = float(sources.cost.min())
    if fill not in ("debt", "reach") and budget < cheapest * (1 - ROUNDING):
        raise ValueError(f"budget must be at least the smallest cost, {cheapest:g}, got {budget:g}")
    horizon = check_integer("horizon", horizon, 2)
    minimal_age = check_array("least_age", least_age, 1)
    if minimal_age.shape not in {(), (len(sources),)}:
        raise ValueError(f"least_age must have shape ({len(sources)},), got {minimal_age.shape}")
    minimal_age = np.broadcast_to(minimal_age, len(sources))
    oldest = np.maximum(sources.settled_age + 1, minimal_age)

    def step(state: tuple[Floats, float]) -> tuple[tuple[Bools, float], tuple[Floats, float]]:
        age, credit = state
        gamma = np.where(age >= minimal_age, whittle_index_at_age(sources, age), -np.inf)
        room = credit + budget if fill == "debt" else budget
        arms = fill_budget(gamma, sources.cost, room, fill)
        chosen = np.zeros(len(sources), dtype=bool)
        chosen[arms] = True
        reward = float(sources.state_at_age(age)[arms].sum())
        if fill == "debt":
            # What is not spent is lost only when nothing is left to crawl.
            credit = min(credit + budget - float(sources.cost[arms].sum()), 0.0)
        age = np.minimum(age + 1, oldest)
        age[arms] = 1
        return (chosen, reward), (age, credit)

    steps, first = follow_to_cycle(
        step,
        (np.ones(len(sources)), 0.0),
        horizon,
        key=lambda state: (state[0].tobytes(), round(state[1], 9)),
    )
    period = 0 if first is None else len(steps) - first
    averaged = steps[-period:] if period else steps[horizon // 2 :]
    chosen = np.array([crawled for crawled, _ in averaged])
    spent = chosen @ sources.cost
    return CostRun(
        float(np.mean([reward for _, reward in averaged])),
        float(spent.mean()),
        float(spent.max()),
        chosen.mean(axis=0),
        period,
    )


def exact_sets(sources: Sources, budget: float) -> list[tuple[int, ...]]:
    """Return the sets of sources whose costs add up to the budget exactly, of at most 12 sources.

    There are none if the slides' constraint (5) cannot be met.
    """
    budget = check_budget(sources, budget)
    sets = _all_sets(len(sources))
    totals = sets @ sources.cost
    hits = np.abs(totals - budget) <= ROUNDING * max(1.0, budget)
    return [tuple(int(i) for i in np.flatnonzero(row)) for row in sets[hits]]


def _all_sets(size: int) -> Bools:
    """Return every set of sources, one a row; ValueError for more than 12."""
    if size > MOST_SOURCES:
        raise ValueError(f"sources must be at most {MOST_SOURCES} to try every set, got {size}")
    rows = [members for count in range(size + 1) for members in combinations(range(size), count)]
    sets = np.zeros((len(rows), size), dtype=bool)
    for row, members in zip(sets, rows, strict=True):
        row[list(members)] = True
    return sets


def _best_set(sets: Bools, cost: Floats, worth: Floats, budget: float) -> Bools:
    """Return the set that fits with the largest total worth."""
    open_sets = sets[~(sets & ~np.isfinite(worth)).any(axis=1)]
    fitting = open_sets[open_sets @ cost <= budget * (1 + ROUNDING)]
    return fitting[np.argmax(fitting @ np.where(np.isfinite(worth), worth, 0.0))]


@njit
def _fill_in_order(
    order: NDArray[np.int64], gamma: Floats, cost: Floats, budget: float, fill: int
) -> Bools:
    """Return the sources taken in a given order; `fill` is a position in FILLS."""
    chosen = np.zeros(cost.size, dtype=np.bool_)
    overshoots = fill in (2, 5)
    remaining = budget if overshoots else budget * (1.0 + ROUNDING)
    for i in order:
        if gamma[i] == -np.inf:
            break
        if overshoots:
            if remaining <= 1e-9 * cost[i]:  # what rounding leaves is nothing
                break
        elif cost[i] > remaining:
            if fill == 0:
                break
            continue
        chosen[i] = True
        remaining -= cost[i]
    return chosen
