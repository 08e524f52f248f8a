"""Robots of several kinds, and how many of each to keep active (the study's final remarks)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_kind, check_number, shown
from analysis.robots.checks import check_positive
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
    change_rate : float
        Pages of their area that change per unit of time, positive. Robots of one area find the same
        pages, so that n of them bring less than n times what one does, see `rate`. Infinite by
        default: they do not compete.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kind = RobotKind(arrival_rate=0.5, available=3, change_rate=1.0)
    >>> [round(float(kind.rate(n)), 3) for n in range(4)]
    [0.0, 0.393, 0.632, 0.777]
    """

    arrival_rate: float
    available: int
    running_cost: float = 0.0
    change_rate: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "arrival_rate", check_positive("arrival_rate", self.arrival_rate))
        object.__setattr__(self, "available", check_integer("available", self.available, 1))
        cost = check_number("running_cost", self.running_cost, 0.0, high_open=True)
        object.__setattr__(self, "running_cost", cost)
        change = check_number("change_rate", self.change_rate, 0.0, low_open=True)
        object.__setattr__(self, "change_rate", change)

    def rate(self, active: ArrayLike) -> Floats:
        """Return the pages that some active robots bring per unit of time.

        Robots fetch pages of their area at random, and a page that has not changed since the last
        fetch brings nothing: Lambda(n) = s (1 - exp(-lambda n / s)), concave, with s the change
        rate and lambda the arrival rate.

        Parameters
        ----------
        active : array_like of int
            Active robots n.

        Returns
        -------
        ndarray
            Of the shape of `active`.
        """
        fetched = self.arrival_rate * np.asarray(active, float)
        if self.change_rate == math.inf:
            return np.asarray(fetched)
        return np.asarray(-self.change_rate * np.expm1(-fetched / self.change_rate))


def check_kinds(kinds: Sequence[RobotKind]) -> tuple[RobotKind, ...]:
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
    kinds = check_kinds(kinds)
    total = math.prod(kind.available + 1 for kind in kinds)
    if total > LARGEST_CHOICE:
        raise ValueError(f"kinds must allow at most {LARGEST_CHOICE} combinations, got {total}")
    service_rate = check_positive("service_rate", service_rate)
    counts = np.indices([kind.available + 1 for kind in kinds]).reshape(len(kinds), -1)[:, 1:]
    costs = _fleet_costs(kinds, counts, gamma, capacity, service_rate)
    best = int(np.argmin(costs))
    return tuple(int(n) for n in counts[:, best]), float(costs[best])


def fleet_by_margins(
    kinds: Sequence[RobotKind], gamma: float, capacity: int, service_rate: float = 1.0
) -> tuple[tuple[int, ...], float]:
    """Return the best of the fleets that grow by the largest gain of rate per running cost.

    The cost of a fleet depends on its kinds through the total rate and the running costs alone. If
    robots could be divided, the best fleet of each running cost would be found by adding where a
    unit of cost brings most pages, since rates are concave; with whole robots this is a rule.

    Parameters
    ----------
    kinds, gamma, capacity, service_rate
        As `optimal_fleet` takes them.

    Returns
    -------
    active : tuple of int
        Active robots of each kind.
    cost : float
        Cost per unit of time, at least that of `optimal_fleet`.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kinds = [RobotKind(0.1, 5), RobotKind(0.3, 2, running_cost=0.01)]
    >>> active, cost = fleet_by_margins(kinds, 1.2, 10)
    >>> active, round(cost, 4)
    ((5, 2), 0.2387)
    """
    kinds = check_kinds(kinds)
    service_rate = check_positive("service_rate", service_rate)
    active = np.zeros(len(kinds), np.int64)
    path = []
    while any(n < kind.available for n, kind in zip(active, kinds, strict=True)):
        # Robots without a running cost come first, those that bring most before the others.
        gains = [
            (kind.running_cost == 0, gain / (kind.running_cost or 1.0), -number)
            for number, (n, kind) in enumerate(zip(active, kinds, strict=True))
            if n < kind.available
            for gain in [float(kind.rate(n + 1) - kind.rate(n))]
        ]
        active[-max(gains)[2]] += 1
        path.append(active.copy())
    counts = np.array(path).T
    costs = _fleet_costs(kinds, counts, gamma, capacity, service_rate)
    best = int(np.argmin(costs))
    return tuple(int(n) for n in counts[:, best]), float(costs[best])


def _fleet_costs(
    kinds: Sequence[RobotKind], counts: Ints, gamma: float, capacity: int, service_rate: float
) -> Floats:
    """Return the costs of fleets, one a column of `counts`."""
    total = sum(kind.rate(count) for kind, count in zip(kinds, counts, strict=True))
    running = np.array([kind.running_cost for kind in kinds]) @ counts
    queue = static_cost(np.asarray(total) / service_rate, gamma, capacity, service_rate)
    return np.asarray(queue + running)
