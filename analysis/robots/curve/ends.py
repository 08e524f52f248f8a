r"""Up to which weight the first switching curve is optimal, and from which the last one is.

As the weight of starvation gamma rises from 0, the *lossless* curve f_0(r) = max(K - 1 - r, -1) is
optimal until the box (K - m, m) is tied, m = min(K, N - 1); and the *saturated* curve f*, K on all
rows but the last and K - 1 there, is optimal from where (K, N - 2) is tied.  Both are known in
closed form (`lossless_until`, `saturated_from`).  With mu = 1 the first is the zero in theta of
delta_m, where

    A_0 = -theta, p_0 = 1, delta_0 = lambda / (1 + lambda),   A_r = -theta + lambda r A_(r-1),
    p_r = (A_r + lambda r p_(r-1)) / (1 + lambda r),
    delta_r = lambda (r delta_(r-1) + p_r) / (1 + lambda (r+1)),

with (K delta_(K-1) + p_K) / (K + 1) for delta_K, the box at an empty queue; and there theta = gamma
S_0.  The second is theta = mu + 2 lambda (N - 1), less mu for K = 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from analysis.checks import check_integer
from analysis.robots.checks import positive
from analysis.robots.curve.reduced import Box


class Threshold(NamedTuple):
    """Where one box is tied.

    Attributes
    ----------
    box : (int, int)
        q pages are left, r robots are active.
    gain, gamma : number
        The least cost per unit of time theta, and the weight of starvation, there.
    """

    box: Box
    gain: Any
    gamma: Any


def lossless_until(
    robots: int, arrival_rate: Any, capacity: int, service_rate: Any = 1
) -> Threshold:
    """Return up to where the curve K - 1 - r solves the optimality equation.

    For K >= N it is optimal up to there and not beyond; for K < N, where no recurrent state asks
    for the box, it has the least cost for a while longer.

    Parameters
    ----------
    robots : int
        Available robots N, at least 2.
    arrival_rate, service_rate : number
        lambda and mu; fractions give exact thresholds.
    capacity : int
        Places in the queue K, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range, or the weight beyond double precision.

    Examples
    --------
    >>> from fractions import Fraction
    >>> lossless_until(2, Fraction(1, 2), 2).gain
    Fraction(2, 3)
    """
    rate = _load(robots, arrival_rate, capacity, service_rate)
    last = min(capacity, robots - 1)
    zero = 0 * rate
    # Each as (constant, -slope in theta): no sum has terms of two signs.
    step, page, gap = zero + 1, (zero + 1, zero), (rate / (1 + rate), zero)
    for r in range(1, last + 1):
        total = rate * r
        step = 1 + total * step
        page = total * page[0] / (1 + total), (step + total * page[1]) / (1 + total)
        weight = rate * (r + 1) + (0 if r == capacity else 1)
        gap = (rate * (r * gap[0] + page[0]) / weight, rate * (r * gap[1] + page[1]) / weight)
    gain = gap[0] / gap[1]
    births = product = zero + 1
    for q in range(capacity):
        product = product * rate * min(robots, capacity - q)
        births = births + product
    return _threshold((capacity - last, last), gain, gain * births, service_rate)


def saturated_from(
    robots: int, arrival_rate: Any, capacity: int, service_rate: Any = 1
) -> Threshold:
    """Return from where on the curve K, ..., K, K - 1 is optimal.

    Parameters
    ----------
    robots, arrival_rate, capacity, service_rate
        As in `lossless_until`.

    Raises
    ------
    ValueError
        If an argument is out of range, or the weight beyond double precision.

    Examples
    --------
    >>> saturated_from(3, 1.0, 4).gain
    5.0
    """
    rate = _load(robots, arrival_rate, capacity, service_rate)
    load, extra = rate * robots, rate * (robots - 1)
    gain = (1 if capacity > 1 else 0) + 2 * extra
    total, power = 0 * rate + 1, 0 * rate + 1
    for _ in range(capacity):
        power = power * load
        total = total + power
    return _threshold((capacity, robots - 2), gain, gain * total - extra * power, service_rate)


def _load(robots: int, arrival_rate: Any, capacity: int, service_rate: Any) -> Any:
    """Return lambda / mu of checked arguments."""
    robots = check_integer("robots", robots, 2)
    capacity = check_integer("capacity", capacity, 1)
    positive("arrival_rate", arrival_rate), positive("service_rate", service_rate)
    return arrival_rate / service_rate


def _threshold(box: Box, gain: Any, gamma: Any, service_rate: Any) -> Threshold:
    """Return a threshold in the unit of time of the rates."""
    if not math.isfinite(gamma):
        raise ValueError(f"the weight at which {box} is tied must be finite, got {gamma}")
    return Threshold(box, gain * service_rate, gamma * service_rate)
