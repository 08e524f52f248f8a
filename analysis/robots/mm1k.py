r"""A fixed number of robots in front of an exponential indexing engine: the M/M/1/K queue.

The robot study, section 2.  N robots bring pages at rate lambda each to a queue with K places (the
one in service included) that is served at rate mu; the load is rho = N lambda / mu.  The cost

    C(rho) = gamma P(X = 0) + lambda N P(X = K) = (gamma + mu rho^{K+1}) / (1 + rho + ... + rho^K)

weighs starvation against loss, equations (1) to (4); the second form has no 0/0 at load 1.  With
g = gamma/mu its derivative has the sign of h_K(rho) - g, where

    h_K(rho) = rho^K P(rho) / Q(rho),   P = sum_{i<=K} (K+1-i) rho^i,   Q = sum_{i<K} (i+1) rho^i,

increases from 0 to infinity, so that the best load is the root of h_K = g (Lemma 1).  Everything is
computed from log rho, hence accurate near load 1 and far from it.

*The best fixed number of robots where the queue has many places: limits, and where they begin.* The
robot study, section 2, Lemma 2 and Proposition 1, in the notation of the module.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from analysis.arrays import Floats
from analysis.checks import check_array, check_finite, check_integer, check_number, check_positive

LARGEST_CAPACITY = 10_000_000
"""Places of a queue whose best load is searched for: each evaluation sums over them."""


def _log_load(rho: ArrayLike) -> Floats:
    load = check_array("rho", rho, 0)
    with np.errstate(divide="ignore"):
        return np.log(load)


def _first_term_share(x: Floats, capacity: int) -> Floats:
    """Return 1 / (1 + e^x + ... + e^{Kx})."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.expm1(x) / np.expm1((capacity + 1) * x)
    share = np.where(x == 0.0, 1.0 / (capacity + 1), share)
    # Where both exponentials overflow the share is e^{-Kx} (1 - e^{-x}).
    far = x > 600.0 / (capacity + 1)
    return np.where(far, -np.expm1(-np.abs(x)) * np.exp(-capacity * np.abs(x)), share)


def _plain(value: Floats) -> float | Floats:
    return float(value) if value.ndim == 0 else value


def starvation_probability(rho: ArrayLike, capacity: int) -> float | Floats:
    """Return P(X = 0), the fraction of time that the queue is empty, equation (3).

    Parameters
    ----------
    rho : array_like
        Load, at least 0.
    capacity : int
        Places in the queue, at least 1.

    Examples
    --------
    >>> round(starvation_probability(1.0, 9), 4)
    0.1
    """
    capacity = check_integer("capacity", capacity, 1)
    return _plain(_first_term_share(_log_load(rho), capacity))


def full_probability(rho: ArrayLike, capacity: int) -> float | Floats:
    """Return P(X = K), the fraction of time that the queue is full, equation (3).

    Parameters
    ----------
    rho : array_like
        Load, at least 0.
    capacity : int
        Places in the queue, at least 1.

    Examples
    --------
    >>> round(full_probability(1.0, 9), 4)
    0.1
    """
    capacity = check_integer("capacity", capacity, 1)
    return _plain(_first_term_share(-_log_load(rho), capacity))


def loss_rate(rho: ArrayLike, capacity: int, service_rate: float = 1.0) -> float | Floats:
    """Return the pages lost per unit of time, mu rho P(X = K).

    Parameters
    ----------
    rho : array_like
        Load, at least 0.
    capacity : int
        Places in the queue, at least 1.
    service_rate : float
        Pages indexed per unit of time, positive.

    Examples
    --------
    >>> round(loss_rate(1.0, 9), 4)
    0.1
    """
    service_rate = check_positive("service_rate", service_rate)
    load = check_array("rho", rho, 0)
    with np.errstate(over="ignore"):
        loss = np.asarray(full_probability(load, capacity)) * service_rate * load
    check_finite(
        "the loss rate",
        float(loss.max(initial=0.0)),
        rho=float(load.max(initial=0.0)),
        service_rate=service_rate,
    )
    return _plain(loss)


def static_cost(
    rho: ArrayLike, gamma: float, capacity: int, service_rate: float = 1.0
) -> float | Floats:
    """Return the cost C(rho, gamma, K), equation (4).

    Parameters
    ----------
    rho : array_like
        Load, at least 0; an array gives an array of costs.
    gamma : float
        Weight of starvation, positive, in the unit of `service_rate`.
    capacity : int
        Places in the queue, at least 1.
    service_rate : float
        Pages indexed per unit of time, positive.

    Returns
    -------
    float or ndarray
        Cost per unit of time.

    Examples
    --------
    >>> round(static_cost(1.0, 1.2, 10), 4)
    0.2
    """
    gamma = check_positive("gamma", gamma)
    empty = np.asarray(starvation_probability(rho, capacity))
    with np.errstate(over="ignore"):
        cost = gamma * empty + np.asarray(loss_rate(rho, capacity, service_rate))
    check_finite("the cost", float(cost.max(initial=0.0)), gamma=gamma, service_rate=service_rate)
    return _plain(cost)


def critical_gamma(capacity: int, service_rate: float = 1.0) -> float:
    """Return gamma(K) = mu (K + 2) / K, the weight at which the best load is 1 (Lemma 1).

    Examples
    --------
    >>> critical_gamma(10)
    1.2
    """
    capacity = check_integer("capacity", capacity, 1)
    service_rate = check_positive("service_rate", service_rate)
    critical = (capacity + 2) / capacity * service_rate
    return check_finite("gamma(K)", critical, service_rate=service_rate)


def log_ratio(gamma: float, service_rate: float) -> float:
    """Return log(gamma/mu), or raise ValueError unless both are positive."""
    gamma = check_positive("gamma", gamma)
    service_rate = check_positive("service_rate", service_rate)
    ratio = gamma / service_rate
    if 0.0 < ratio < math.inf:
        return math.log(ratio)
    return math.log(gamma) - math.log(service_rate)


def _log_sum(log_terms: Floats) -> float:
    largest = float(log_terms.max())
    return largest + math.log(float(np.exp(log_terms - largest).sum()))


def log_slope_ratio(x: float, capacity: int) -> float:
    """Return log h_K(e^x), increasing in x; the cost falls while it is below log(gamma/mu)."""
    powers = np.arange(capacity + 1)
    numerator = _log_sum(np.log(capacity + 1 - powers) + powers * x)
    denominator = _log_sum(np.log(powers[1:]) + powers[:-1] * x)
    return capacity * x + numerator - denominator


def optimal_load(gamma: float, capacity: int, service_rate: float = 1.0) -> float:
    """Return rho(gamma, K), the load of least cost (Lemma 1).

    Parameters
    ----------
    gamma : float
        Weight of starvation, positive.
    capacity : int
        Places in the queue, from 1 to ten million.
    service_rate : float
        Pages indexed per unit of time, positive.

    Examples
    --------
    >>> round(optimal_load(1.2, 10), 4)
    1.0
    """
    capacity = check_integer("capacity", capacity, 1, LARGEST_CAPACITY)
    target = log_ratio(gamma, service_rate)
    # log h_K has a slope of at least 1 in x, and is log((K+2)/K) at x = 0.
    gap = target - math.log((capacity + 2) / capacity)
    if gap == 0.0:
        return 1.0
    x = brentq(
        lambda x: log_slope_ratio(x, capacity) - target,
        min(0.0, gap) - 1e-9,
        max(0.0, gap) + 1e-9,
        xtol=1e-15,
        rtol=8.9e-16,
    )
    with np.errstate(over="ignore"):
        load = float(np.exp(x))
    return check_finite("the best load", load, gamma=gamma, service_rate=service_rate)


def optimal_robots(
    arrival_rate: float, gamma: float, capacity: int, service_rate: float = 1.0
) -> int:
    """Return N(gamma, K), the number of robots of least cost, at least 1 (Proposition 1).

    Of two numbers that cost the same the smaller is returned.

    Parameters
    ----------
    arrival_rate : float
        Pages that one robot brings per unit of time, positive.
    gamma : float
        Weight of starvation, positive.
    capacity : int
        Places in the queue, at least 1.
    service_rate : float
        Pages indexed per unit of time, positive.

    Examples
    --------
    >>> optimal_robots(0.05, 1.2, 10)
    20
    """
    arrival_rate = check_positive("arrival_rate", arrival_rate)
    service_rate = check_positive("service_rate", service_rate)
    rates = {"arrival_rate": arrival_rate, "service_rate": service_rate}
    check_finite("lambda / mu", arrival_rate / service_rate, **rates)
    robots = optimal_load(gamma, capacity, service_rate) * service_rate / arrival_rate
    check_finite("N", robots, gamma=gamma, **rates)
    low, high = max(1, math.floor(robots)), max(1, math.ceil(robots))
    costs = [
        static_cost(n * arrival_rate / service_rate, gamma, capacity, service_rate)
        for n in (low, high)
    ]
    return high if costs[1] < costs[0] else low


# The best fixed number of robots where the queue has many places: limits, and where they begin

LARGEST_TURN = 2**18
"""Capacity up to which it is looked for where the best load turns."""


def turning_capacity(gamma: float, service_rate: float = 1.0) -> int:
    """Return K_0 of Lemma 2, the capacity from which the best load falls (the draft left it blank).

    It is the smallest K >= 2 with rho(gamma, K) >= rho(gamma, K + 1), and exists when gamma > mu.

    Parameters
    ----------
    gamma : float
        Weight of starvation, above `service_rate`.
    service_rate : float
        Pages indexed per unit of time, positive.

    Raises
    ------
    ValueError
        If gamma is not above mu, or so little above it that K_0, which is about 4 mu/(gamma - mu),
        is beyond 2^18.

    Examples
    --------
    >>> turning_capacity(3.0)
    3
    """
    gamma = check_positive("gamma", gamma)
    service_rate = check_positive("service_rate", service_rate)
    ratio = gamma / service_rate
    if ratio <= 1.0:
        raise ValueError(
            f"gamma must be above service_rate = {service_rate:g} for the best load to turn, "
            f"got {gamma:g}"
        )

    def falls(capacity: int) -> bool:
        x = math.log(optimal_load(ratio, capacity))
        return x > 0.0 and log_slope_ratio(x, capacity + 1) >= math.log(ratio)

    # Once it falls it falls for ever (Lemma 2), so that bisection finds the turn.
    high = 2
    while not falls(high):
        if high >= LARGEST_TURN:
            raise ValueError(
                f"gamma must be so far above service_rate that the best load turns at a capacity "
                f"below {high}, got {gamma:.17g} for {service_rate:g}"
            )
        high *= 2
    return bisect_left(range(high + 1), True, lo=max(2, high // 2), key=falls)


def limiting_drift(gamma: float, service_rate: float = 1.0) -> float:
    """Return x with K (rho(gamma, K) - 1) -> x as K grows: Lemma 3 with its rate.

    It is the root of a(x)/a(-x) = gamma/mu with a(x) = e^x - 1 - x, and the minimiser of
    x (gamma/mu + e^x) / (e^x - 1), the limit of K C / mu at load 1 + x/K.

    Parameters
    ----------
    gamma : float
        Weight of starvation, positive.
    service_rate : float
        Pages indexed per unit of time, positive.

    Examples
    --------
    >>> round(limiting_drift(2.0), 4)
    1.0357
    """
    target = log_ratio(gamma, service_rate)
    if target == 0.0:
        return 0.0

    def log_a(x: float) -> float:  # log of 2 a(x) / x^2, which is near 0 where x is
        if abs(x) < 0.5:  # by its series, since e^x - 1 - x cancels
            term, total = x / 3.0, 0.0
            for k in range(4, 26):
                total += term
                term *= x / k
            return math.log1p(total)
        if x > 40.0:  # e^x, which may be beyond a float, is all that counts
            return math.log(2.0) + x - 2.0 * math.log(x)
        return math.log(2.0 * abs(math.expm1(x) - x)) - 2.0 * math.log(abs(x))

    bound = abs(target) + 3.0
    while log_a(bound) - log_a(-bound) < abs(target):
        bound *= 2.0
    ends = (0.0, bound) if target > 0.0 else (-bound, 0.0)
    # Relative accuracy: near gamma = mu the root is near 0.
    close = {"xtol": 1e-300, "rtol": 4 * sys.float_info.epsilon, "maxiter": 1000}
    return float(brentq(lambda x: log_a(x) - log_a(-x) - target, *ends, **close))


def limiting_cost(x: float, gamma: float, service_rate: float = 1.0) -> float:
    """Return the limit of K C(1 + x/K, gamma, K) as K grows, mu x (g + e^x) / (e^x - 1).

    Examples
    --------
    >>> round(limiting_cost(1.0, 2.0), 4)
    2.7459
    """
    gamma = check_positive("gamma", gamma)
    service_rate = check_positive("service_rate", service_rate)
    x = check_number("x", x, low_open=True, high_open=True)
    if x == 0.0:
        cost = gamma + service_rate
    elif x > 0.0:  # with e^-x, which cannot be too large
        cost = x * (gamma * math.exp(-x) + service_rate) / -math.expm1(-x)
    else:
        cost = x * (gamma + service_rate * math.exp(x)) / math.expm1(x)
    return check_finite("the cost", cost, x=x, gamma=gamma, service_rate=service_rate)


def infinite_capacity_cost(rho: float, gamma: float, service_rate: float = 1.0) -> float:
    """Return C(rho, gamma, infinity), the limit that (16) uses: gamma (1-rho)+ + mu (rho-1)+.

    Examples
    --------
    >>> round(infinite_capacity_cost(0.9, 2.0), 4)
    0.2
    """
    gamma = check_positive("gamma", gamma)
    service_rate = check_positive("service_rate", service_rate)
    rho = check_number("rho", rho, 0, high_open=True)
    cost = gamma * max(0.0, 1.0 - rho) + service_rate * max(0.0, rho - 1.0)
    return check_finite("the cost", cost, rho=rho, service_rate=service_rate)


def large_capacity_robots(arrival_rate: float, gamma: float, service_rate: float = 1.0) -> int:
    """Return approximation (16) of N(gamma, K) for large K, with what the draft leaves undefined.

    rho+ and rho- are the loads with mu/lambda rounded up and down; up wins ties; at least 1.

    Parameters
    ----------
    arrival_rate : float
        Pages that one robot brings per unit of time, positive.
    gamma : float
        Weight of starvation, positive.
    service_rate : float
        Pages indexed per unit of time, positive.

    Examples
    --------
    >>> large_capacity_robots(0.05, 2.0)
    20
    """
    arrival_rate = check_positive("arrival_rate", arrival_rate)
    service_rate = check_positive("service_rate", service_rate)
    balanced = service_rate / arrival_rate
    check_finite("mu / lambda", balanced, service_rate=service_rate, arrival_rate=arrival_rate)
    if balanced <= 1.0:
        return 1
    up, down = math.ceil(balanced), math.floor(balanced)
    costs = [infinite_capacity_cost(n / balanced, gamma, service_rate) for n in (up, down)]
    return up if costs[0] <= costs[1] else down
