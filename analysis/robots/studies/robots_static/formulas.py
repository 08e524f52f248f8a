"""What the static section of the robot study speaks of, as functions that a test can falsify.

All with mu = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.robots.static import mm1k, theory

Floats = NDArray[np.float64]

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


def printed_14(rho: float, gamma: float, capacity: int, last_exponent: int) -> float:
    """Return the right side of (14) at K_n = `capacity`, with the exponent of its last power."""
    n = capacity
    middle = (gamma * n + n + 2) * rho ** (n + 1)
    last = (n + 1) * (1 + gamma) * rho**last_exponent
    return rho ** (2 * n + 2) - middle + last - gamma


@dataclass(frozen=True)
class Formulas:
    """What the draft's statements speak of, each as a function.

    Attributes
    ----------
    load, cost, starvation, full, loss, robots, limit_robots, limit_cost, turning : callable
        As in `analysis.robots.static.mm1k`.
    identities, order, numerator, reduced, reduced_minimum : callable
        As in `analysis.robots.static.theory`.
    law, eq11, eq14 : callable
        (3), (11) and (14) as printed.
    critical : callable
        gamma(K).
    bound : callable
        The weight from which on the proof of Proposition 2 takes the best load to exceed one.
    exponent : callable
        The exponent of the last power of (14), from K and K_n.
    """

    load: Callable[..., float] = mm1k.optimal_load
    cost: Callable[..., Any] = mm1k.static_cost
    starvation: Callable[..., Any] = mm1k.starvation_probability
    full: Callable[..., Any] = mm1k.full_probability
    loss: Callable[..., Any] = mm1k.loss_rate
    robots: Callable[..., int] = mm1k.optimal_robots
    limit_robots: Callable[..., int] = mm1k.large_capacity_robots
    limit_cost: Callable[..., float] = mm1k.infinite_capacity_cost
    turning: Callable[..., int] = mm1k.turning_capacity
    identities: Callable[[int], dict[str, bool]] = theory.static_identities
    order: Callable[..., int] = theory.zero_order_at_one
    numerator: Callable[..., float] = theory.numerator
    reduced: Callable[..., float] = theory.reduced_numerator
    reduced_minimum: Callable[..., float] = theory.reduced_minimum
    law: Callable[..., Floats] = printed_law
    eq11: Callable[..., float] = printed_11
    eq14: Callable[..., float] = printed_14
    critical: Callable[..., float] = mm1k.critical_gamma
    bound: Callable[[int], float] = lambda k: (k + 1) / k
    exponent: Callable[[int, int], int] = lambda k, _: k


def wrong_shares(formulas: Formulas, tries: int, rng: np.random.Generator) -> dict[int, float]:
    """Return how often (16) gives another number than the optimum, by capacity."""
    shares = {}
    for capacity in (5, 15, 50, 200):
        rates = np.exp(rng.uniform(np.log(0.05), np.log(2), tries))
        weights = np.exp(rng.uniform(np.log(0.2), np.log(5), tries))
        other = [
            formulas.limit_robots(r, g) != formulas.robots(r, g, capacity)
            for r, g in zip(rates, weights, strict=True)
        ]
        shares[capacity] = float(np.mean(other))
    return shares


def best_loads(formulas: Formulas) -> dict[int, Floats]:
    """Return the best loads for all weights of the grid, by capacity from 2 on."""
    return {
        k: np.array([formulas.load(float(g), k) for g in WEIGHTS]) for k in range(2, LARGEST + 1)
    }


GRID = f"{len(WEIGHTS)} weights from 0.05 to 30, capacities up to {LARGEST}"
RATIONAL = "equal in rational arithmetic at more points than the degree, K = 2, 3, 5, 8"
