"""Formulas that the static section of the robot study prints, and the grid of their checks.

All with mu = 1.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.robots.static import limits, mm1k

CAPACITIES = (2, 3, 5, 8, 15, 40)
WEIGHTS = np.geomspace(0.05, 30, 25)
LOADS = np.geomspace(0.02, 20, 60)
LARGEST = 60
RATES = (0.05, 0.3, 1.7)


def printed_law(rho: float, capacity: int) -> Floats:
    """Return P(X = i) as (3) has it."""
    return np.asarray((1 - rho) / (1 - rho ** (capacity + 1)) * rho ** np.arange(capacity + 1))


def printed_11(limit: float, capacity: int) -> float:
    """Return the right side of (11) over the bracket on its left, with the printed parentheses."""
    k = capacity
    left = k * limit ** (k + 1) - (k + 1) * limit**k + 1
    return limit**k * ((limit ** (k + 2) - (k + 2)) * limit + (k + 1)) / left


def printed_14(rho: float, gamma: float, capacity: int, fixed: int) -> float:
    """Return the right side of (14) at K_n = `capacity`, whose last power has the `fixed` K."""
    n = capacity
    middle = (gamma * n + n + 2) * rho ** (n + 1)
    last = (n + 1) * (1 + gamma) * rho**fixed
    return rho ** (2 * n + 2) - middle + last - gamma


def wrong_shares(tries: int, rng: np.random.Generator) -> dict[int, float]:
    """Return how often (16) gives another number than the optimum, by capacity."""
    shares = {}
    for capacity in (5, 15, 50, 200):
        rates = np.exp(rng.uniform(np.log(0.05), np.log(2), tries))
        weights = np.exp(rng.uniform(np.log(0.2), np.log(5), tries))
        other = [
            limits.large_capacity_robots(r, g) != mm1k.optimal_robots(r, g, capacity)
            for r, g in zip(rates, weights, strict=True)
        ]
        shares[capacity] = float(np.mean(other))
    return shares


def best_loads() -> dict[int, Floats]:
    """Return the best loads for all weights of the grid, by capacity from 2 on."""
    return {
        k: np.array([mm1k.optimal_load(float(g), k) for g in WEIGHTS])
        for k in range(2, LARGEST + 1)
    }


#: The numbers of the grid, for the words of verdicts.
GRID = {"grid": len(WEIGHTS), "largest": LARGEST}
