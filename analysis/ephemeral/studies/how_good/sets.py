"""Random sets of sources: how many joint ages the optimum takes, and how long cycles are.

Companion of `how_good`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.schedules import constant_gaps
from analysis.ephemeral.simulation import long_run_cycle
from analysis.results import NotConverged


def joint_ages(size: int, sets: int, seed: int) -> list[int]:
    """Count the joint ages that bracket the optimum of random sets to six digits, at M = 1.

    Parameters
    ----------
    size : int
        Sources in a set, at most 5.
    sets : int
        Number of sets, at least 1. Sets that need more than a million are drawn again, and those
        that need none, because the index policy earns the relaxed bound.
    seed : int
        Seed of the sets.

    Returns
    -------
    list of int
        One number a set.
    """
    sets = check_integer("sets", sets, 1)
    needed: list[int] = []
    for number in range(sets):
        rng = np.random.default_rng([seed, size, number])
        while len(needed) == number:
            try:
                optimum = optimal_cycle(random_sources(size, rng), 1, tolerance=1e-6)
            except NotConverged:
                continue
            if optimum.states:
                needed.append(optimum.states)
    return needed


def periods_of_random_sets(size: int, sets: int, seed: int) -> pd.DataFrame:
    """Find the period of the index policy's cycle on random sets at every budget.

    Parameters
    ----------
    size, sets : int
        Sources in a set, and number of sets, each at least 1.
    seed : int
        Seed of the sets.

    Returns
    -------
    pandas.DataFrame
        Columns ``instance``, ``budget``, ``period`` and ``trivial``: constant gaps.
    """
    sets = check_integer("sets", sets, 1)
    rows = []
    for instance in range(sets):
        sources = random_sources(size, np.random.default_rng([seed, 5, instance]))
        for budget in range(1, size + 1):
            cycle = long_run_cycle(sources, "whittle", budget)
            rows.append((instance, budget, cycle.period, constant_gaps(cycle)))
    return pd.DataFrame(rows, columns=["instance", "budget", "period", "trivial"])
