"""What a timetable loses at most, before one is made, and what any policy earns at most.

For neighbouring gaps p < q <= R p the loss at a gap g between them is 1 - L(g)/X(g), L the chord of
X from p to q, and its supremum over all decay rates and gaps is eta(R). A family of gaps m 2^j
wastes at most (p(m) - 1)/m of the budget, p(m) the least prime factor of m > 1. So gaps m 2^j with
m in a set S lose at most eta(R) + (W + 1/2)/M, W the sum over m; powers of two eta(2).

*What any policy earns at most, by a price for each crawl.* For any price lambda no policy earns
more in the long run than

    lambda M + sum_i max(0, max_k (X_i(k) - lambda) / k),

since a crawl after a gap k earns X_i(k), which is at most lambda and k times the maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, minimize_scalar

from analysis.checks import check_integer, check_kind, check_number, check_whole
from analysis.ephemeral.relaxed import age_limits, due_ages
from analysis.ephemeral.sources import Sources, check_unit_costs


def chord_loss(ratio: float) -> float:
    """Return eta(R), the largest relative loss between neighbouring gaps p and R p, R > 1.

    It is the supremum over decay rates and real gaps; 3.782% at R = 2.
    """
    ratio = check_number("ratio", ratio, 1.0, low_open=True, high_open=True)
    return _worst(ratio)[0]


def worst_share(ratio: float = 2.0) -> float:
    """Return the gap at which most is lost, as a multiple of its lower neighbour; 1.41944 at 2."""
    ratio = check_number("ratio", ratio, 1.0, low_open=True, high_open=True)
    return _worst(ratio)[1]


@cache
def _worst(ratio: float) -> tuple[float, float]:
    """Return eta(R), and the gap at which it is lost as a multiple of its lower neighbour."""
    inner = minimize_scalar(
        lambda x: -_loss_at(x, ratio)[0], bounds=(1e-3, 3.0), method="bounded",
        options={"xatol": 1e-9},
    )  # fmt: skip
    return _loss_at(float(inner.x), ratio)


def _loss_at(p: float, ratio: float) -> tuple[float, float]:
    """Return the largest loss over gaps between p and R p, and the gap over p.

    Gaps are in units of the mean life of content.
    """
    low, high = -np.expm1(-p), -np.expm1(-ratio * p)
    slope = (high - low) / ((ratio - 1.0) * p)

    def loss(gap: float) -> float:
        return 1.0 + (low + slope * (gap - p)) / np.expm1(-gap)

    optimum = minimize_scalar(
        lambda gap: -loss(gap), bounds=(p, ratio * p), method="bounded", options={"xatol": 1e-10}
    )
    return float(-optimum.fun), float(optimum.x) / p


def least_prime(number: int) -> int:
    """Return the least prime factor of a whole number of at least 2."""
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            return factor
        factor += 1
    return number


def waste(odd_parts: Sequence[int]) -> float:
    """Return W, the part of the budget that gaps m 2^j with m in a set can leave unused.

    The set has odd numbers, and with m > 1 also m divided by its least prime factor.

    >>> round(waste([1, 3]), 4), round(waste([1, 3, 5, 7]), 4)
    (0.6667, 2.3238)
    """
    return sum((least_prime(m) - 1) / m for m in odd_parts if m > 1)


def guaranteed_loss(budget: int, odd_parts: Sequence[int] | None = None) -> float:
    """Return what the best timetable loses at most, as a share of the relaxed bound, for every set.

    The odd parts of the gaps are 1 alone, or all odd numbers below a power of two; by default those
    that promise the least loss, of the powers up to 2^12.

    >>> [round(guaranteed_loss(1000, range(1, 2**a, 2)), 5) for a in (1, 2, 3, 4)]
    [0.03782, 0.01435, 0.00684, 0.00613]
    >>> round(guaranteed_loss(10**6), 6)
    5.1e-05
    """
    budget = check_whole("budget", budget, 1)
    if odd_parts is None:
        return min(guaranteed_loss(budget, odd_below(a)) for a in range(1, 13))
    if len(odd_parts) == 1:
        return chord_loss(2.0)
    coarse = chord_loss(1.0 + 1.0 / len(odd_parts))
    return min(1.0, coarse + (waste(odd_parts) + 0.5) / budget)


def odd_below(exponent: int) -> tuple[int, ...]:
    """Return the odd numbers below 2^exponent."""
    return tuple(range(1, 2**exponent, 2))


def chosen_base_loss(exponent: int | None = None) -> float:
    """Return what gaps m 2^j lose at most, as a share of the bound, for the best base m.

    With bases m from 2^a to 2^(a+1) - 1 the best of them loses at most any weighted mean of their
    losses, so at most the largest such mean over all decays and gaps, with the weights for which
    that is least. Computed on a table of decays and gaps, not proved to all digits. `exponent` is
    a, from 0 to 4, for sets all of whose relaxed gaps are at least 2^(a+1); None gives the limit of
    large ones, of bases spread evenly by logarithm.

    >>> [round(chosen_base_loss(a), 4) for a in (0, 1, 2)], round(chosen_base_loss(), 5)
    ([0.0378, 0.0311, 0.0262], 0.025)
    """
    if exponent is None:
        spread = np.exp2((np.arange(400) + 0.5) / 400)
        mean = minimize_scalar(
            lambda gap: -_chord_loss_at(gap, spread).mean(), bounds=(0.5, 3.0), method="bounded"
        )
        return float(-mean.fun)
    exponent = check_integer("exponent", exponent, 0, 4)
    bases = np.arange(2**exponent, 2 ** (exponent + 1))
    gap, shift = np.meshgrid(np.linspace(0.3, 4.0, 160), np.arange(160) / 160)
    over = np.exp2((shift.ravel()[:, None] - np.log2(bases)) % 1.0)  # gap over the one below
    table = _chord_loss_at(gap.ravel()[:, None], over)
    cost = np.append(np.zeros(bases.size), 1.0)
    rows = np.hstack([table, -np.ones((len(table), 1))])
    total = np.append(np.ones(bases.size), 0.0)[None]
    solution = linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=total, b_eq=[1.0])
    return float(solution.fun)


def _chord_loss_at(gap: ArrayLike, over: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the loss at a gap between p and 2p that is `over` p, in mean lives of content."""
    p = np.asarray(gap) / over
    low, high = -np.expm1(-p), -np.expm1(-2.0 * p)
    return 1.0 + (low + (high - low) * (over - 1.0)) / np.expm1(-np.asarray(gap))


# What any policy earns at most, by a price for each crawl


def bound_at_price(
    sources: Sources,
    budget: float,
    price: float,
    *,
    min_age: ArrayLike = 1,
    max_age: ArrayLike = np.inf,
) -> float:
    """Bound what any policy earns, by a price for each crawl: weak duality.

    The sum of the N maxima of (X_i(k) - price) / k over the whole numbers k in the limits of the
    source, none of them below 0 where the source may be left alone, and price times budget.

    Parameters
    ----------
    sources : Sources
        N sources with costs of 1.
    budget : float
        Crawls per epoch, at most, in the long run.
    price : float
        Any price of a crawl, not negative.
    min_age, max_age : array_like, shape (N,) or scalar
        As for `timetable`.

    Returns
    -------
    float
        Reward per epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(bound_at_price(four_sources(), 1, 105.06), 2)
    260.39
    """
    check_kind("sources", sources, Sources)
    check_unit_costs(sources)
    budget = check_number("budget", budget, 0, high_open=True)
    price = check_number("price", price, 0, high_open=True)
    least, most = age_limits(sources, min_age, max_age)
    age = np.clip(due_ages(sources, price), least, most)
    surplus = (sources.state_at_age(age) - price) / age
    return price * budget + float(np.where(np.isinf(most), np.maximum(surplus, 0.0), surplus).sum())
