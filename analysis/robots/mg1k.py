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
of points (`ServiceLaw`): constants are one point; other laws have the tanh-sinh nodes of their
quantile function, down to tails of 1e-294. They are enough if every second one, and all but the
longest time, give the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import gammainc

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import (
    check_array,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    set_fields,
    shown,
)
from analysis.results import NotConverged

# Laws of indexing times

NODES = 60
"""Nodes of tanh-sinh quadrature for each unit of its variable."""
REACH = 364
"""Nodes on each side of 0: the last ones are at probabilities below 1e-294."""


@read_only_arrays
@dataclass(frozen=True)
class ServiceLaw:
    """A law of indexing times as a weighted set of points.

    Attributes
    ----------
    name : str
        What to call it in a legend.
    mean : float
        Mean time, 1/mu.
    variation : float
        Squared coefficient of variation (infinite where the variance is).
    points, weights : ndarray, shape (nodes,)
        Times and their probabilities.
    coarse : ndarray, shape (nodes,), optional
        Weights of a rule of half as many nodes, by which the error of the other is known; None if
        the points are the law itself.

    Examples
    --------
    >>> law = gamma_law(2.0, mean=0.5)
    >>> law.mean, law.variation
    (0.5, 2.0)
    """

    name: str
    mean: float
    variation: float
    points: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    coarse: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        points = check_array("points", self.points, 0)
        rules = {"weights": self.weights} | ({} if self.coarse is None else {"coarse": self.coarse})
        for name, rule in rules.items():
            weights = check_array(name, rule, 0)
            if weights.shape != points.shape or not math.isclose(weights.sum(), 1, rel_tol=1e-9):
                raise ValueError(
                    f"{name} must be probabilities, one for each of {points.size} points, "
                    f"got {weights.size} of sum {weights.sum():g}"
                )
            set_fields(self, **{name: weights})
        set_fields(
            self,
            mean=check_positive("mean", self.mean),
            variation=check_number("variation", self.variation, 0),
            points=points,
        )


def _tanh_sinh() -> tuple[Floats, Floats, Floats]:
    """Return lower-tail and upper-tail probabilities and weights of tanh-sinh quadrature."""
    t = np.arange(-REACH, REACH + 1) / NODES
    argument = 0.5 * math.pi * np.sinh(t)
    lower = 1.0 / (1.0 + np.exp(-2.0 * argument))
    upper = 1.0 / (1.0 + np.exp(2.0 * argument))
    weights = math.pi * np.cosh(t) * lower * upper / NODES
    return lower, upper, weights


def _by_quantiles(
    name: str,
    quantile: Callable[[Floats], Floats],
    upper_quantile: Callable[[Floats], Floats],
    mean: float,
    variation: float,
) -> ServiceLaw:
    lower, upper, weights = _tanh_sinh()
    points = np.concatenate([quantile(lower[lower < 0.5]), upper_quantile(upper[lower >= 0.5])])
    coarse = np.where(np.arange(weights.size) % 2 == 0, weights, 0.0)
    return ServiceLaw(name, mean, variation, points, weights / weights.sum(), coarse / coarse.sum())


def exponential(mean: float = 1.0) -> ServiceLaw:
    """Return exponential indexing times, the M/M/1/K queue."""
    mean = check_positive("mean", mean)
    return _by_quantiles(
        "exponential", lambda p: -mean * np.log1p(-p), lambda p: -mean * np.log(p), mean, 1.0
    )


def deterministic(mean: float = 1.0) -> ServiceLaw:
    """Return constant indexing times."""
    mean = check_positive("mean", mean)
    return ServiceLaw("constant", mean, 0.0, np.array([mean]), np.array([1.0]))


def erlang(stages: int, mean: float = 1.0) -> ServiceLaw:
    """Return the sum of `stages` exponential times, of total mean `mean`."""
    stages, mean = check_integer("stages", stages, 1), check_positive("mean", mean)
    law = gamma_law(1.0 / stages, mean)
    return replace(law, name=f"Erlang-{stages}")


def gamma_law(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return gamma indexing times with a squared coefficient of variation."""
    variation, mean = check_positive("variation", variation), check_positive("mean", mean)
    law = stats.gamma(1.0 / variation, scale=mean * variation)
    return _by_quantiles(f"gamma, variation {variation:g}", law.ppf, law.isf, mean, variation)


def lognormal(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return lognormal indexing times with a squared coefficient of variation."""
    variation, mean = check_positive("variation", variation), check_positive("mean", mean)
    sigma = math.sqrt(math.log1p(variation))
    law = stats.lognorm(sigma, scale=mean * math.exp(-0.5 * sigma**2))
    return _by_quantiles(f"lognormal, variation {variation:g}", law.ppf, law.isf, mean, variation)


def hyperexponential(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return a mixture of two exponentials with balanced means (each half of the mean).

    The squared coefficient of variation is at least 1.
    """
    variation = check_number("variation", variation, 1.0, high_open=True)
    mean = check_positive("mean", mean)
    share = 0.5 * (1.0 + math.sqrt((variation - 1.0) / (variation + 1.0)))
    unit = exponential()
    parts = np.array([share, 1.0 - share])
    return ServiceLaw(
        f"hyper-exponential, variation {variation:g}",
        mean,
        variation,
        np.outer(0.5 * mean / parts, unit.points).ravel(),
        np.outer(parts, unit.weights).ravel(),
        None if unit.coarse is None else np.outer(parts, unit.coarse).ravel(),
    )


def from_scipy(law: stats.rv_frozen, name: str = "user's own") -> ServiceLaw:
    """Return the law of a frozen continuous distribution of scipy.stats, on non-negative numbers.

    Raises ValueError if the law has an infinite mean or negative values, is not continuous, or is
    too irregular for the quadrature (its mean is not reproduced to eight digits).
    """
    if not isinstance(getattr(law, "dist", None), stats.rv_continuous):
        raise ValueError(
            f"law must be a frozen continuous distribution of scipy.stats, got {shown(law)}"
        )
    mean = float(law.mean())
    if not (math.isfinite(mean) and mean > 0):
        raise ValueError(f"law must have a positive finite mean, got {mean}")
    if law.support()[0] < 0:
        raise ValueError(f"law must have no negative values, got support {law.support()}")
    with np.errstate(all="ignore"):  # what overflows is refused
        variation = float(law.var() / np.float64(mean) ** 2)
        furthest = float(law.isf(_tanh_sinh()[1].min()))
    if math.isnan(variation) or math.isinf(furthest):
        raise ValueError("law must have quantiles and a variance that floats can hold")
    result = _by_quantiles(name, law.ppf, law.isf, mean, variation)
    reproduced = float(result.points @ result.weights)
    if not abs(reproduced / mean - 1.0) < 1e-8:
        raise ValueError(
            f"law must be smooth and light enough in its tail for its mean {mean:g} to be found by "
            f"quadrature, got {reproduced:g}"
        )
    return result


# The queue

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
    >>> from analysis.robots.mg1k import deterministic
    >>> queue = GeneralQueue(0.9, 10, deterministic())
    >>> round(queue.load, 2)
    0.9
    """

    arrival_rate: float
    capacity: int
    service: ServiceLaw

    def __post_init__(self) -> None:
        check_kind("service", self.service, ServiceLaw)
        set_fields(
            self,
            arrival_rate=check_positive("arrival_rate", self.arrival_rate),
            capacity=check_integer("capacity", self.capacity, 1, LARGEST_CAPACITY),
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
    >>> from analysis.robots.mg1k import deterministic
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
    >>> from analysis.robots.mg1k import deterministic
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
    >>> from analysis.robots.mg1k import deterministic
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
