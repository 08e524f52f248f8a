"""The best fixed number of robots where the queue has many places: limits, and where they begin.

The robot study, section 2, Lemma 2 and Proposition 1, in the notation of `mm1k`.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left

from scipy.optimize import brentq

from analysis.checks import check_number
from analysis.robots.checks import check_finite, check_positive
from analysis.robots.static.mm1k import log_ratio, log_slope_ratio, optimal_load

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
    gamma, service_rate = (
        check_positive("gamma", gamma),
        check_positive("service_rate", service_rate),
    )
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
    gamma, service_rate = (
        check_positive("gamma", gamma),
        check_positive("service_rate", service_rate),
    )
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
    gamma, service_rate = (
        check_positive("gamma", gamma),
        check_positive("service_rate", service_rate),
    )
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
