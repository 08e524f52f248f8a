r"""A fixed number of robots in front of an exponential indexing engine: the M/M/1/K queue.

The robot study, section 2.  N robots bring pages at rate lambda each to a queue with K places (the
one in service included) that is served at rate mu; the load is rho = N lambda / mu.  The cost

    C(rho) = gamma P(X = 0) + lambda N P(X = K) = (gamma + mu rho^{K+1}) / (1 + rho + ... + rho^K)

weighs starvation against loss, equations (1) to (4); the second form has no 0/0 at load 1.  With
g = gamma/mu its derivative has the sign of h_K(rho) - g, where

    h_K(rho) = rho^K P(rho) / Q(rho),   P = sum_{i<=K} (K+1-i) rho^i,   Q = sum_{i<K} (i+1) rho^i,

increases from 0 to infinity, so that the best load is the root of h_K = g (Lemma 1).  Everything is
computed from log rho, hence accurate near load 1 and far from it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer
from analysis.robots.checks import check_finite, check_positive

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
    gamma, service_rate = (
        check_positive("gamma", gamma),
        check_positive("service_rate", service_rate),
    )
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
