r"""A fixed number of robots and any law of indexing times: the M/G/1/K queue.

The robot study announces this case (sections 5 and 6) and prints nothing of it.  Pages arrive at
rate Lambda = lambda N, indexing times S are independent with mean 1/mu, the queue has K places.
Left just after a departure the queue is a Markov chain on 0..K-1 driven by A, the arrivals of one
indexing time.  Cutting it between j and j+1 gives its law without a single subtraction,

    pi_{j+1} P(A = 0) = pi_0 P(A > j) + sum_{i=1}^{j} pi_i P(A > j - i + 1),

and with load rho = Lambda/mu the time averages are (Gross and Harris 1998, section 5.1.8)

    P(X = 0) = pi_0 / (pi_0 + rho),   loss rate = mu (1 - P(X = 0)) E[losses during one service],

    E[losses] = pi_0 E(A - K + 1)+ + sum_{i=1}^{K-1} pi_i E(A - K + i)+.

The law of S enters through Poisson probabilities averaged over it, so it is kept as a weighted set
of points (`laws.ServiceLaw`). They are enough if every second one, and all but the longest time,
give the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammainc

from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_positive, shown
from analysis.results import NotConverged
from analysis.robots.general.laws import ServiceLaw

RULES_APART = 1e-4, 1e-10
"""Most by which every second node, and all but the last one, may differ: relative errors.

The error of a tanh-sinh rule is about the square of that of half its nodes.
"""
LARGEST_CAPACITY = 10_000
"""Places of the queue: each has a table over all nodes."""
LARGEST_CHOICE = 10_000
"""Numbers of robots that are compared."""
TINY = 1e-290
"""Below it the product of two probabilities has few digits left."""


def _departure_law(none: Floats, above: Floats) -> Floats:
    """Return the law left behind by departures, shape (K, rules).

    above[j] is P(A > j), none is P(A = 0), by each rule.
    """
    law = np.zeros_like(above)
    law[0] = 1.0
    for j in range(len(above) - 1):
        reached = law[0] * above[j] + (law[1 : j + 1] * above[j:0:-1]).sum(axis=0)
        law[j + 1] = reached / none
        if (law[j + 1] > 1e200).any():
            law[: j + 2] /= law[j + 1]
    return law / law.sum(axis=0)


@dataclass(frozen=True)
class GeneralQueue:
    """The stationary queue of pages with general indexing times.

    Parameters
    ----------
    arrival_rate : float
        Pages that all robots together bring per unit of time, positive.
    capacity : int
        Places in the queue, from 1 to ten thousand, the one in service included.
    service : ServiceLaw
        Law of the indexing times.

    Examples
    --------
    >>> from analysis.robots.general.laws import deterministic
    >>> queue = GeneralQueue(0.9, 10, deterministic())
    >>> round(queue.load, 2)
    0.9
    """

    arrival_rate: float
    capacity: int
    service: ServiceLaw

    def __post_init__(self) -> None:
        check_kind("service", self.service, ServiceLaw)
        object.__setattr__(self, "arrival_rate", check_positive("arrival_rate", self.arrival_rate))
        object.__setattr__(
            self, "capacity", check_integer("capacity", self.capacity, 1, LARGEST_CAPACITY)
        )
        if float(self.service.weights @ np.exp(-self.arrival_rate * self.service.points)) < 1e-280:
            raise ValueError(
                "arrival_rate must leave an indexing time without arrivals a chance above 1e-280, "
                f"got {self.arrival_rate}"
            )

    @property
    def load(self) -> float:
        """Load rho, arrivals per mean indexing time."""
        return self.arrival_rate * self.service.mean

    def _arrivals(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return P(A = 0), P(A > j) and E(A - j)+ for j < K, by each rule of quadrature."""
        counts = np.arange(self.capacity)[:, None]
        expected = self.arrival_rate * self.service.points
        # Poisson(x) exceeds j with the regularised incomplete gamma probability P(j + 1, x).
        above = gammainc(counts + 1.0, expected)
        at_least = np.vstack([np.ones_like(expected), above[:-1]])
        overflow = np.maximum(expected * at_least - counts * above, 0.0)
        return np.exp(-expected) @ weights, above @ weights, overflow @ weights

    def measures(self) -> tuple[float, float]:
        """Return the starvation probability and the loss rate.

        Each is 0 where it is below what a float can hold.

        Raises
        ------
        NotConverged
            If the points of the law of indexing times are too few for eight digits.
        """
        rules = [self.service.weights]
        if self.service.coarse is not None:
            trimmed = self.service.weights.copy()
            trimmed[self.service.points.argmax()] = 0.0
            rules += [self.service.coarse, trimmed]
        none, above, overflow = self._arrivals(np.stack(rules, axis=1))
        law = _departure_law(none, above)
        starvation, busy = law[0] / (law[0] + self.load), self.load / (law[0] + self.load)
        # A service that finds i pages behind it (1 after an idle time) has K - i places free.
        lost = law[0] * overflow[-1] + (law[1:] * overflow[:0:-1]).sum(axis=0)
        losses = busy / self.service.mean * lost
        for name, by_rule in (("starvation probability", starvation), ("loss rate", losses)):
            apart = np.abs(by_rule[1:] - by_rule[0])
            if (apart > np.array(RULES_APART)[: apart.size] * by_rule[0] + TINY).any():
                raise NotConverged(
                    f"the {name} of {self} is not known: {by_rule[0]:.3g} by the points of the law "
                    f"of indexing times, {by_rule[1]:.3g} by half of them, {by_rule[2]:.3g} "
                    "without the longest time"
                )
        return float(starvation[0]), float(losses[0])


def general_cost(arrival_rate: float, gamma: float, capacity: int, service: ServiceLaw) -> float:
    """Return gamma P(X = 0) + loss rate when all robots together bring `arrival_rate`.

    Examples
    --------
    >>> from analysis.robots.general.laws import deterministic
    >>> round(general_cost(0.9, 1.2, 10, deterministic()), 4)
    0.1529
    """
    starvation, loss = GeneralQueue(arrival_rate, capacity, service).measures()
    return check_positive("gamma", gamma) * starvation + loss


def optimal_general_robots(
    arrival_rate: float, gamma: float, capacity: int, service: ServiceLaw
) -> int:
    """Return the number of robots of least cost, over every number that can be best.

    The loss rate is at least N lambda - mu: no number above (best + mu)/lambda needs a look.

    Parameters
    ----------
    arrival_rate : float
        Pages that one robot brings per unit of time.
    gamma : float
        Weight of starvation.
    capacity : int
        Places in the queue.
    service : ServiceLaw
        Law of the indexing times.

    Raises
    ------
    ValueError
        If an argument is out of range, or more than ten thousand numbers can be best.
    NotConverged
        As `GeneralQueue.measures` does.

    Examples
    --------
    >>> from analysis.robots.general.laws import deterministic
    >>> optimal_general_robots(0.05, 1.2, 10, deterministic())
    20
    """
    check_kind("service", service, ServiceLaw)
    arrival_rate = check_positive("arrival_rate", arrival_rate)
    # Numbers whose robots bring less than can be indexed lose nothing surely: all need a look.
    if arrival_rate * service.mean * LARGEST_CHOICE < 1.0:
        raise ValueError(
            f"arrival_rate must be so large that at most {LARGEST_CHOICE} numbers of robots can be "
            f"best, got {arrival_rate:g}"
        )
    best, least, number = 1, math.inf, 1
    while number * arrival_rate - 1.0 / service.mean < least:
        if number > LARGEST_CHOICE:
            raise ValueError(
                f"arrival_rate must be so large, and gamma so small, that at most {LARGEST_CHOICE} "
                f"numbers of robots can be best, got {arrival_rate:g} and {shown(gamma)}"
            )
        cost = general_cost(number * arrival_rate, gamma, capacity, service)
        if cost < least:
            best, least = number, cost
        number += 1
    return best


def optimal_general_load(gamma: float, capacity: int, service: ServiceLaw) -> float:
    """Return the load of least cost, to about seven digits.

    A grid finds the valley and Brent's method its floor; that there is only one valley is proved
    for exponential indexing times alone.

    Raises
    ------
    ValueError
        If the best load lies outside [1e-3, 1e2].

    Examples
    --------
    >>> from analysis.robots.general.laws import deterministic
    >>> round(optimal_general_load(1.2, 10, deterministic()), 3)
    1.009
    """
    check_kind("service", service, ServiceLaw)
    loads = np.geomspace(1e-3, 1e2, 80)
    loads = np.concatenate([[0.9e-3], loads, [1.1e2]])  # the ends of the range have neighbours

    def cost(load: float) -> float:
        return general_cost(load / service.mean, gamma, capacity, service)

    centre = int(np.argmin([cost(float(load)) for load in loads]))
    bounds = (loads[max(centre - 1, 0)], loads[min(centre + 1, loads.size - 1)])
    best = float(minimize_scalar(cost, bounds=bounds, options={"xatol": 1e-9}).x)
    if not 1e-3 <= best <= 1e2:
        raise ValueError(f"gamma must have its best load within [1e-3, 1e2], got {gamma}")
    return best
