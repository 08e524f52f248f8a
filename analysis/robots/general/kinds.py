"""Robots of several kinds, and how many of each to keep active (the study's final remarks)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.checks import check_integer, check_kind, check_number, shown
from analysis.robots.checks import positive
from analysis.robots.static.mm1k import static_cost

LARGEST_CHOICE = 5_000_000


@dataclass(frozen=True)
class RobotKind:
    """Robots that are alike.

    Parameters
    ----------
    arrival_rate : float
        Pages that one of them brings per unit of time, positive.
    available : int
        How many there are, at least 1.
    running_cost : float
        Cost per unit of time of an active one, at least 0.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> RobotKind(arrival_rate=0.5, available=3)
    RobotKind(arrival_rate=0.5, available=3, running_cost=0.0)
    """

    arrival_rate: float
    available: int
    running_cost: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrival_rate", positive("arrival_rate", self.arrival_rate))
        object.__setattr__(self, "available", check_integer("available", self.available, 1))
        cost = check_number("running_cost", self.running_cost, 0.0, high_open=True)
        object.__setattr__(self, "running_cost", cost)


def checked_kinds(kinds: Sequence[RobotKind]) -> tuple[RobotKind, ...]:
    """Return kinds as a tuple, or raise ValueError unless each is a `RobotKind`."""
    check_kind("kinds", kinds, Sequence)
    if not kinds or not all(isinstance(kind, RobotKind) for kind in kinds):
        raise ValueError(f"kinds must be one RobotKind or more, got {shown(kinds)}")
    return tuple(kinds)


def optimal_fleet(
    kinds: Sequence[RobotKind], gamma: float, capacity: int, service_rate: float = 1.0
) -> tuple[tuple[int, ...], float]:
    """Return how many robots of each kind to keep active, and the cost.

    Every combination with at least one robot is compared; of equal ones the first in
    lexicographic order is returned.

    Parameters
    ----------
    kinds : sequence of RobotKind
        The kinds.
    gamma : float
        Weight of starvation.
    capacity : int
        Places in the queue.
    service_rate : float
        Pages indexed per unit of time.

    Raises
    ------
    ValueError
        If there are more than five million combinations.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kinds = [RobotKind(0.1, 5), RobotKind(0.3, 2, running_cost=0.01)]
    >>> active, cost = optimal_fleet(kinds, 1.2, 10)
    >>> active, round(cost, 4)
    ((4, 2), 0.22)
    """
    kinds = checked_kinds(kinds)
    total = math.prod(kind.available + 1 for kind in kinds)
    if total > LARGEST_CHOICE:
        raise ValueError(f"kinds must allow at most {LARGEST_CHOICE} combinations, got {total}")
    service_rate = positive("service_rate", service_rate)
    counts = np.indices([kind.available + 1 for kind in kinds]).reshape(len(kinds), -1)[:, 1:]
    rates = np.array([kind.arrival_rate for kind in kinds])
    running = np.array([kind.running_cost for kind in kinds])
    costs = static_cost(rates @ counts / service_rate, gamma, capacity, service_rate)
    costs = np.asarray(costs) + running @ counts
    best = int(np.argmin(costs))
    return tuple(int(n) for n in counts[:, best]), float(costs[best])
