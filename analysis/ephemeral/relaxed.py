"""The relaxed problem: an upper bound on every policy, for any number of sources.

In Whittle's relaxation the budget holds on average only. With a subsidy lambda for each unit of
cost that is not spent, the problem splits into one problem a source, whose best cycle crawls at age
k for ever, and Lagrangian duality gives

    bound = min over lambda >= 0 of  lambda M + sum_i max(0, max_k (X_i(k) - lambda C_i) / k),

with X_i(k) = u*_i (1 - alpha_i^k). The maximising age is the first one whose Whittle index is at
least lambda, so the spending at lambda is sum_i C_i / k_i(lambda), a falling step function, and the
minimiser is where it crosses the budget. The bound is attained when the budget need hold on average
only: at the crossing, two neighbouring ages of the tied source share the time.

A source whose gaps between crawls must lie in [l_i, h_i] has its maximum over those k alone. Up to
the maximising age of the free problem the quotient rises, and from there it falls, so the best age
is the free one moved into the interval; with h_i finite the source is crawled even at a loss.

Reference: report 8702, sections 3 and 6; Whittle (1988).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_kind, check_number
from analysis.display import brief
from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget
from analysis.kernel_cache import njit


@brief
@read_only_arrays
@dataclass(frozen=True)
class RelaxedSolution:
    """Solution of the relaxed problem.

    Attributes
    ----------
    bound : float
        Best average reward when the budget holds on average; no policy earns more.
    subsidy : float
        The multiplier: the largest subsidy at which the spending reaches the budget, to a relative
        1e-12 (rounding of the sum must not move it to another age).
    smallest_subsidy : float
        The smallest multiplier: above it the spending no longer exceeds the budget. The two are
        equal unless the budget is spent exactly over a whole interval of subsidies.
    age : ndarray, shape (N,)
        Age at which each source is due at that subsidy, ``inf`` for never.
    frequency : ndarray, shape (N,)
        Crawls per epoch of each source in a solution that spends the budget exactly, f. Gaps of
        the two whole numbers of epochs next to 1/f, mixed so that 1/f is their mean, earn `primal`.
    primal : float
        Reward per epoch of that solution; equals `bound` up to rounding.
    """

    bound: float
    subsidy: float
    smallest_subsidy: float
    age: Floats
    frequency: Floats
    primal: float


@njit
def _due_ages(subsidy: float, limit: Floats, decay: Floats, low: Floats, high: Floats) -> Floats:
    """Return the first age in [low, high] at which each index reaches the subsidy; inf for none."""
    ages = np.empty_like(limit)
    for i in range(limit.size):
        if subsidy >= limit[i] and subsidy > 0:
            ages[i] = high[i]
            continue
        target, h_decay = subsidy / limit[i] if subsidy > 0 else 0.0, h(decay[i])
        below, above = low[i] - 1.0, high[i]
        if np.isinf(above):
            above = max(1.0, low[i])
            # In floating point the index can stay one rounding below its limit for ever.
            while (
                relative_index_at_age(decay[i], h_decay, above) < target and decay[i] * above < 800
            ):
                below, above = above, 2.0 * above
        while above - below > 1.0:
            middle = np.floor(0.5 * (below + above))
            if middle in (below, above):
                break
            if relative_index_at_age(decay[i], h_decay, middle) >= target:
                above = middle
            else:
                below = middle
        ages[i] = above
    return ages


def due_ages(sources: Sources, subsidy: float) -> Floats:
    """Return the age at which each source is crawled in its own problem, under a subsidy.

    It is the first age whose Whittle index is at least the subsidy, ``inf`` where there is none;
    shape (N,). The subsidy is for each unit of cost not spent; ValueError if it is negative.
    """
    check_kind("sources", sources, Sources)
    subsidy = check_number("subsidy", subsidy, 0)
    return due_ages_of(sources.u_star / sources.cost, sources.decay, subsidy)


def due_ages_of(limit: Floats, decay: Floats, subsidy: float) -> Floats:
    """Return the due ages of sources of u*/C = `limit` and mu T = `decay`, without checks."""
    ones = np.ones(limit.size)
    return _due_ages(float(subsidy), limit, decay, ones, np.full_like(ones, np.inf))


def relaxed_problem(
    sources: Sources,
    budget: float,
    *,
    min_age: ArrayLike = 1,
    max_age: ArrayLike = np.inf,
) -> RelaxedSolution:
    """Solve the relaxed problem exactly, by bisection on the subsidy.

    Sources whose due age is the same at both ends of the bracket leave the search, so that the work
    is a few passes over the sources whatever their number.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost spent per epoch, at most the sum of all costs (N, if every crawl costs 1).
    min_age, max_age : array_like, shape (N,) or scalar
        Least and greatest number of epochs between two crawls of a source; whole numbers, the
        greatest may be ``inf``. What a least age leaves of the budget is not spent.

    Returns
    -------
    RelaxedSolution

    Raises
    ------
    ValueError
        If the budget is not in (0, sum of costs], ages are out of range, or the maximal ages ask
        for more than the budget.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(relaxed_problem(four_sources(), 1).bound, 2)
    260.39
    """
    budget = check_budget(sources, budget)
    least, most = age_limits(sources, min_age, max_age)
    if (load := float((sources.cost / most).sum())) > budget * (1.0 + ROUNDING):
        raise ValueError(f"max_age must ask for at most {budget:g} an epoch, got {load:g}")
    most_spent = float((sources.cost / least).sum())
    budget = min(budget, most_spent)
    low, often, seldom = _crossing(sources, budget * (1.0 - ROUNDING), least, most)
    spent = [float((sources.cost / ages).sum()) for ages in (often, seldom)]
    ceiling = budget * (1.0 + ROUNDING)
    smallest = 0.0
    if ceiling <= most_spent:
        smallest = low if spent[0] >= ceiling else _crossing(sources, ceiling, least, most)[0]
    share = 1.0 if spent[0] == spent[1] else (budget - spent[1]) / (spent[0] - spent[1])
    share = min(max(share, 0.0), 1.0)
    frequency = share / often + (1.0 - share) / seldom
    primal = share * _reward_rate(sources, often) + (1.0 - share) * _reward_rate(sources, seldom)
    surplus = (sources.state_at_age(often) - low * sources.cost) / often
    surplus[np.isinf(most)] = np.maximum(surplus[np.isinf(most)], 0.0)  # or never crawled
    bound = low * budget + float(surplus.sum())
    return RelaxedSolution(bound, low, smallest, often, frequency, primal)


def relaxed_bound(sources: Sources, budget: float) -> tuple[float, float]:
    """Return the relaxed problem's value, which bounds every policy, and its subsidy.

    See `relaxed_problem` for the parameters and errors.

    Returns
    -------
    bound, subsidy : float

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> bound, subsidy = relaxed_bound(four_sources(), 1)
    >>> round(bound, 2), round(subsidy, 2)
    (260.39, 105.06)
    """
    solution = relaxed_problem(sources, budget)
    return solution.bound, solution.subsidy


def age_limits(sources: Sources, low: ArrayLike, high: ArrayLike) -> tuple[Floats, Floats]:
    """Return least and greatest ages, one a source, or raise naming `min_age` or `max_age`."""
    size = len(sources)
    least, most = _one_or_each("min_age", low, size), _one_or_each("max_age", high, size)
    outside = (least < 1) | (least > most) | (least == np.inf)
    broken = (least != np.floor(least)) | (most != np.floor(most))
    for bad, rule in (
        (outside, "min_age must be at least 1 and not above max_age"),
        (broken, "min_age and max_age must be whole numbers, or max_age inf"),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(f"{rule}, got {least[i]:g} and {most[i]:g} for source {i}")
    return least.copy(), most.copy()


def _one_or_each(name: str, ages: ArrayLike, size: int) -> Floats:
    """Return one age a source, from one number for all or one each; ages may be infinite."""
    array = check_array(name, ages, finite=False)
    if array.shape not in {(), (size,)}:
        raise ValueError(f"{name} must be one number or have shape ({size},), got {array.shape}")
    return np.broadcast_to(array, size)


def _crossing(
    sources: Sources, spending: float, least: Floats, most: Floats
) -> tuple[float, Floats, Floats]:
    """Return the largest subsidy at which so much is spent, and due ages at it and above it.

    The order in which costs are added moves their sum by a rounding: `spending` must lie apart from
    any sum that is meant to be equal to it.
    """
    limit = sources.u_star / sources.cost
    low, high = 0.0, float(limit.max())
    often, seldom = least.copy(), most.copy()
    active = np.arange(len(sources))
    settled = 0.0
    while (middle := 0.5 * (low + high)) not in (low, high):
        args = (limit[active], sources.decay[active], often[active], seldom[active])
        ages = _due_ages(middle, *args)
        if settled + float((sources.cost[active] / ages).sum()) >= spending:
            low, often[active] = middle, ages
        else:
            high, seldom[active] = middle, ages
        same = often[active] == seldom[active]
        gone = active[same]
        settled += float((sources.cost[gone] / often[gone]).sum())
        active = active[~same]
    return low, often, seldom


def _reward_rate(sources: Sources, ages: Floats) -> float:
    """Return the reward per epoch when each source is crawled at one and the same age for ever."""
    return float((sources.state_at_age(ages) / ages).sum())
