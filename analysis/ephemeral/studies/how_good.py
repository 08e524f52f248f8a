"""One row of a study on random sources: functions of (point, rng), made for `analysis.sweep`.

Each draws its own sources, so that a statement is checked over many instances rather than the four
of Table 1. Rates and decay are uniform, as in no document: the ranges are the studies' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.costs import FILLS, simulate_costs
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.relaxed import relaxed_problem
from analysis.ephemeral.optimum.schedules import (
    best_periods,
    constant_gaps,
    schedule_reward,
    spread_schedule,
)
from analysis.ephemeral.optimum.static import fluid_frequencies, random_frequencies
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.simulation import compare
from analysis.results import NotConverged

COSTS = (1.0, 1.5, 2.0, 3.0)


def random_sources(size: int, rng: np.random.Generator, *, costs: bool = False) -> Sources:
    """Draw sources: rates on (1, 9), utilities on (0.2, 2), decay on (0.2, 1.5).

    Parameters
    ----------
    size : int
        Number of sources.
    rng : numpy.random.Generator
        Source of randomness.
    costs : bool
        Draw costs from `COSTS` rather than 1.

    Returns
    -------
    Sources
    """
    check_integer("size", size, 1)
    return Sources(
        rng.uniform(1, 9, size),
        rng.uniform(0.2, 2, size),
        rng.uniform(0.2, 1.5, size),
        cost=rng.choice(COSTS, size) if costs else np.ones(size),
    )


def optimality_row(point: tuple[int, int], rng: np.random.Generator) -> dict[str, Any]:
    """Compare policies with the exact optimum on one random instance.

    Parameters
    ----------
    point : (sources, budget)
        Sizes; at most 5 sources.
    rng : numpy.random.Generator
        Source of randomness. Sources are drawn again if their optimum needs too many joint ages.

    Returns
    -------
    dict
        Rewards per epoch in units of the optimum (``whittle``, ``myopic``, ``round-robin``,
        ``spread``, ``periodic``, ``draws``, ``fluid``, ``bound``), and of the index policy's cycle
        the ``period``, whether its gaps are ``constant`` and whether the multipliers form an
        ``interval``; ``redrawn``, how often sources were drawn again.
    """
    size, budget = point
    redrawn = 0
    while True:
        sources = random_sources(size, rng)
        relaxed = relaxed_problem(sources, budget)
        cycle = long_run_cycle(sources, "whittle", budget)
        try:
            optimum = _optimum(sources, budget, cycle.average_reward, relaxed.bound)
            break
        except NotConverged:
            redrawn += 1
    spread = spread_schedule(relaxed.frequency, budget, 2520)
    rewards = {
        "whittle": cycle.average_reward,
        "myopic": long_run_cycle(sources, "myopic", budget).average_reward,
        "round-robin": long_run_cycle(sources, "round-robin", budget).average_reward,
        "spread": schedule_reward(sources, spread),
        "periodic": best_periods(sources, budget)[1],
        "draws": random_frequencies(sources, budget).average_reward,
        "fluid": fluid_frequencies(sources, budget).average_reward,
        "bound": relaxed.bound,
    }
    return {
        "sources": size,
        "budget": budget,
        **{name: value / optimum for name, value in rewards.items()},
        "period": cycle.period,
        "constant": constant_gaps(cycle),
        "interval": relaxed.subsidy > relaxed.smallest_subsidy * (1 + 1e-9),
        "redrawn": redrawn,
    }


def _optimum(sources: Sources, budget: int, reached: float, bound: float) -> float:
    """Best average reward: what is reached if that is the bound, else by dynamic programming."""
    if reached >= bound * (1 - 1e-10):
        return reached
    return optimal_cycle(sources, budget, tolerance=1e-8, max_states=400_000).average_reward


def joint_ages(size: int, sets: int, seed: int) -> list[int]:
    """Count the joint ages that bracket the optimum of random sets to six digits, at M = 1.

    Parameters
    ----------
    size : int
        Sources in a set, at most 5.
    sets : int
        Number of sets, at least 1. Sets that would need more than a million are drawn
        again.
    seed : int
        Seed of the sets.

    Returns
    -------
    list of int
        One number a set.
    """
    check_integer("sets", sets, 1)
    needed: list[int] = []
    for number in range(sets):
        rng = np.random.default_rng([seed, size, number])
        while len(needed) == number:
            try:
                optimum = optimal_cycle(random_sources(size, rng), 1, tolerance=1e-6)
            except NotConverged:
                continue
            needed.append(int(np.prod(optimum.last_age)))
    return needed


def cost_row(point: tuple[int, float], rng: np.random.Generator) -> dict[str, Any]:
    """Compare the ways to fill a cost budget on one random instance with costs.

    Parameters
    ----------
    point : (sources, budget)
        At most 5 sources; cost per epoch, at least the dearest of `COSTS`.
    rng : numpy.random.Generator
        Source of randomness. Sources are drawn again if the budget pays for all of them, or if
        their optimum needs too many joint ages.

    Returns
    -------
    dict
        For each fill, its reward in units of the optimum within the budget at every epoch, and its
        cost in units of the budget (``stop``, ``stop_cost``, ...); ``bound``, the optimum when the
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


def variation_row(point: tuple[Utility, int, int], rng: np.random.Generator) -> dict[str, float]:
    """Play the four sources of Table 1 once against random content of a given law.

    Parameters
    ----------
    point : (utility, budget, horizon)
        Law of the utilities, sources crawled per epoch, and epochs.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    dict
        Average reward of each policy in `kernels.RULES` but the table, on common random numbers.
    """
    utility, budget, horizon = point
    rules = ("whittle", "theorem", "remark", "myopic", "greedy", "round-robin")
    halves = compare(Arrivals(four_sources(), utility), rules, budget, horizon, 2, rng, warm_up=50)
    return {rule: float(halves.rewards[rule].mean()) for rule in rules}


def bounds_of_random_content(
    sources: Sources, utility: Utility, budgets: Sequence[float], **options: Any
) -> list[tuple[float, float]]:
    """Relaxed bounds on policies that observe random content, one index curve a source.

    Parameters
    ----------
    sources : Sources
        N sources.
    utility : Utility
        Law of the utilities.
    budgets : sequence of float
        Costs per epoch.
    **options
        Handed to `stochastic_index`.

    Returns
    -------
    list of (bound, subsidy)
    """
    curves = [stochastic_index(sources, i, utility, **options) for i in range(len(sources))]
    return [stochastic_bound(sources, curves, budget) for budget in budgets]
