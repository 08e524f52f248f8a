"""One row of a study on random sources: functions of (point, rng), made for `analysis.sweep`.

Each draws its own sources, so that a statement is checked over many instances rather than the four
of Table 1. Rates and decay are uniform, as in no document: the ranges are the studies' own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.checks import check_integer
from analysis.ephemeral.instances import random_sources
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
from analysis.ephemeral.sources import Sources
from analysis.results import NotConverged


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
