"""What a timetable loses at most, before one is made: constants of the grids.

For neighbouring gaps p < q <= R p the loss at a gap g between them is 1 - L(g)/X(g), L the chord of
X from p to q, and its supremum over all decay rates and gaps is eta(R). A family of gaps m 2^j
wastes at most (p(m) - 1)/m of the budget, p(m) the least prime factor of m > 1. So gaps m 2^j with
m in a set S lose at most eta(R) + (W + 1/2)/M, W the sum over m; powers of two eta(2).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

from analysis.checks import check_integer, check_number
from analysis.ephemeral.timetables.grid import least_prime


@cache
def chord_loss(ratio: float) -> float:
    """Return eta(R), the largest relative loss between two neighbouring gaps p and R p.

    Parameters
    ----------
    ratio : float
        R, greater than 1.

    Returns
    -------
    float
        The supremum over decay rates and real gaps; 3.782% at R = 2.

    Examples
    --------
    >>> round(chord_loss(2.0), 7)
    0.0378208
    """
    check_number("ratio", ratio, 1.0, low_open=True, high_open=True)
    inner = minimize_scalar(
        lambda x: -_loss_at(x, ratio), bounds=(1e-3, 3.0), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    return float(-inner.fun)


def _loss_at(p: float, ratio: float) -> float:
    """Largest loss over gaps between p and R p, in units of the mean life of content."""
    low, high = -np.expm1(-p), -np.expm1(-ratio * p)
    slope = (high - low) / ((ratio - 1.0) * p)

    def loss(gap: float) -> float:
        return 1.0 + (low + slope * (gap - p)) / np.expm1(-gap)

    found = minimize_scalar(
        lambda gap: -loss(gap), bounds=(p, ratio * p), method="bounded", options={"xatol": 1e-10}
    )
    return float(-found.fun)


def waste(odd_parts: Sequence[int]) -> float:
    """Return W, the part of the budget that gaps m 2^j with m in a set can leave unused.

    Parameters
    ----------
    odd_parts : sequence of int
        Odd numbers; with m > 1 also m divided by its least prime factor.

    Examples
    --------
    >>> round(waste([1, 3]), 4), round(waste([1, 3, 5, 7]), 4)
    (0.6667, 2.3238)
    """
    return sum((least_prime(m) - 1) / m for m in odd_parts if m > 1)


def guaranteed_loss(budget: int, odd_parts: Sequence[int] | None = None) -> float:
    """Return what the best timetable loses at most, for every set of sources.

    Parameters
    ----------
    budget : int
        Crawls per epoch.
    odd_parts : sequence of int, optional
        Odd parts of the gaps: 1 alone, or all odd numbers below a power of two. By default the
        least of what these promise.

    Returns
    -------
    float
        As a share of the relaxed bound; at most 1.

    Examples
    --------
    >>> [round(guaranteed_loss(1000, range(1, 2**a, 2)), 5) for a in (1, 2, 3, 4)]
    [0.03782, 0.01435, 0.00684, 0.00613]
    >>> round(guaranteed_loss(10**6), 6)
    5.1e-05
    """
    check_integer("budget", budget, 1)
    if odd_parts is None:
        return min(guaranteed_loss(budget, odd_below(a)) for a in range(1, 13))
    if len(odd_parts) == 1:
        return chord_loss(2.0)
    coarse = chord_loss(1.0 + 1.0 / len(odd_parts))
    return min(1.0, coarse + (waste(odd_parts) + 0.5) / budget)


def odd_below(exponent: int) -> tuple[int, ...]:
    """Return the odd numbers below 2^exponent."""
    return tuple(range(1, 2**exponent, 2))
