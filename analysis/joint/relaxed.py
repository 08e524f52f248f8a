r"""The relaxed problem of a crawler whose pages take a share of an indexing engine.

Besides the budget M of crawls, at most S pages are indexed per epoch, S = s T for an engine of rate
s. Both constraints need hold on average only. With phi_i(lambda, p) the maximum of zero and
the quotients (R(k) - lambda)/k of source i (`analysis.joint.prices`), Lagrangian duality gives

    bound = min over lambda, p >= 0 of  lambda M + p S + sum_i phi_i(lambda, p).

Fresh only, it is above every policy that indexes at most S pages per epoch on average, whatever its
queue, order and losses, as long as pages of one source and age are worth the same: what is indexed
of a crawl at age k is worth at most R(k) more than p times its pages. Fetch all, it is above every
policy that takes whole crawls, also with losses where these do not depend on the worth of a page: a
share of a crawl that is worth r(k) then earns that share of it. Where stale pages are left or lost
it is no bound. For windows of whole epochs the two bounds are the same: R(k) = r(m) for a window of
m <= k epochs, and (r(m) - lambda)/k <= (r(m) - lambda)/m, so that on average crawling at age m for
a share m/k of the time does as well. They differ where content fades within an epoch or two.

Reference: Whittle (1988); report 8702, sections 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_integer, check_number
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.sources import Sources, check_budget
from analysis.joint.prices import check_boolean, checked_price, fading_at_price, largest_reward
from analysis.results import NotConverged

TOLERANCE = 1e-9
"""Largest gap between bound and policy that is returned, relative to the content of all sources."""


@read_only_arrays
@dataclass(frozen=True)
class PricedSolution:
    """Solution of the relaxed problem with crawls and pages.

    Attributes
    ----------
    bound : float
        Best average reward per epoch when both constraints hold on average.
    primal : float
        Reward per epoch of a mixture of policies that keeps both; at most `bound`, and equal to it
        up to `TOLERANCE`.
    subsidy, price : float
        The multipliers: of a unit of crawl cost, and of a page.
    frequency : ndarray, shape (N,)
        Crawls per epoch of each source in that mixture.
    pages : ndarray, shape (N,)
        Pages per epoch of each source in it.
    columns : int
        Policies that the search tried.
    """

    bound: float
    primal: float
    subsidy: float
    price: float
    frequency: Floats = field(repr=False)
    pages: Floats = field(repr=False)
    columns: int


def priced_problem(
    sources: Sources, budget: float, pages: float, *, fresh: bool = False, max_columns: int = 500
) -> PricedSolution:
    """Solve the relaxed problem with a budget of crawls and one of pages.

    The dual is minimised by column generation: a linear programme mixes the policies known so far,
    its multipliers are the next prices, and at these each source has its best age in closed form.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost of crawls per epoch on average, in (0, sum of costs].
    pages : float
        Pages per epoch on average, S; positive.
    fresh : bool
        Whether crawls may leave stale pages, or take all.
    max_columns : int
        Policies to try before giving up.

    Returns
    -------
    PricedSolution

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotConverged
        If a gap above `TOLERANCE` is left between the bound and the policies.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> found = priced_problem(four_sources(), 1, 250)
    >>> round(found.bound, 2), round(found.price, 3), round(found.subsidy, 2)
    (179.79, 0.655, 0.0)
    """
    budget = check_budget(sources, budget)
    pages = check_number("pages", pages, 0, low_open=True, high_open=True)
    fresh = check_boolean("fresh", fresh)
    max_columns = check_integer("max_columns", max_columns, 1)
    limits = np.array([budget, pages])
    unit = max(float(sources.u.sum()), 1e-300)
    columns = [np.zeros((3, len(sources)))]
    bound, prices = np.inf, np.zeros(2)
    while True:
        primal, weights, multipliers = _mixture(np.array(columns), limits, unit)
        column = _best_ages(sources, multipliers[0], multipliers[1], fresh)
        value = float(multipliers @ limits) + _surplus(column, multipliers)
        if value < bound:
            bound, prices = value, multipliers
        if bound - primal <= 1e-12 * unit:
            break
        if (
            any((column == column_before).all() for column_before in columns)
            or len(columns) >= max_columns
        ):
            break
        columns.append(column)
    if not bound - primal <= TOLERANCE * unit:
        raise NotConverged(
            f"a gap of {bound - primal:.3g} is left between the bound {bound:.6g} and the policies "
            f"after {len(columns)} of at most max_columns = {max_columns} columns"
        )
    _, cost, pages_taken = np.tensordot(weights, np.array(columns), 1)
    return PricedSolution(
        bound=max(bound, primal),
        primal=primal,
        subsidy=float(prices[0]),
        price=float(prices[1]),
        frequency=cost / sources.cost,
        pages=pages_taken,
        columns=len(columns),
    )


def dual_value(
    sources: Sources,
    budget: float,
    pages: float,
    *,
    subsidy: float,
    price: float,
    fresh: bool = False,
) -> float:
    """Return the dual function, lambda M + p S + sum_i phi_i: a bound at any prices.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget, pages : float
        M, cost of crawls per epoch, and S, pages per epoch.
    subsidy, price : float
        lambda, for each unit of cost not spent, and p, for each page; not negative.
    fresh : bool
        Whether crawls may leave stale pages, or take all.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(dual_value(four_sources(), 1, 1000, subsidy=105.06, price=0.0), 2)
    260.39
    """
    budget = check_budget(sources, budget)
    pages = check_number("pages", pages, 0, low_open=True, high_open=True)
    subsidy = check_number("subsidy", subsidy, 0, high_open=True)
    sources, price = checked_price(sources, price)
    prices = np.array([subsidy, price])
    column = _best_ages(sources, subsidy, price, check_boolean("fresh", fresh))
    return float(prices @ [budget, pages]) + _surplus(column, prices)


def _best_ages(sources: Sources, subsidy: float, price: float, fresh: bool) -> Floats:
    """Return reward, cost and pages per epoch of each source at its best age, shape (3, N)."""
    fading = fading_at_price(sources, price)
    due = due_ages(sources, subsidy)
    candidates = np.stack([due, np.floor(fading / sources.decay), np.ceil(fading / sources.decay)])
    ages = np.where(np.isfinite(candidates), np.maximum(candidates, 1.0), 1.0)
    if not fresh:
        ages = np.where(np.isfinite(due), due, 1.0)[None]
    limit = fading if fresh else np.full_like(fading, np.inf)
    phase = np.minimum(sources.decay * ages, limit)
    reward = sources.u_star * -np.expm1(-phase) / ages
    pages = sources.arrival_rate * phase / sources.decay_rate / ages
    cost = sources.cost / ages
    surplus = reward - subsidy * cost - price * pages
    if not fresh:
        surplus[:, subsidy * sources.cost >= largest_reward(sources, price, fading)] = 0.0
    best = surplus.argmax(axis=0)
    column = np.stack([reward, cost, pages])[:, best, np.arange(len(sources))]
    column[:, surplus.max(axis=0) <= 0.0] = 0.0
    return column


def _surplus(column: Floats, prices: Floats) -> float:
    reward, cost, pages = column
    return float((reward - prices[0] * cost - prices[1] * pages).sum())


def _mixture(columns: Floats, limits: Floats, unit: float) -> tuple[float, Floats, Floats]:
    """Return the best reward of policies mixed within the limits, weights and multipliers."""
    reward, used = columns[:, 0].sum(axis=1) / unit, columns[:, 1:].sum(axis=2) / limits
    solution = linprog(
        -reward,
        A_ub=used.T,
        b_ub=np.ones(2),
        A_eq=np.ones((1, reward.size)),
        b_eq=[1.0],
        method="highs",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )
    if solution.status:
        raise NotConverged(f"the mixture of {reward.size} policies: {solution.message}")
    weights = np.maximum(solution.x, 0.0)
    multipliers = np.maximum(-solution.ineqlin.marginals, 0.0) * unit / limits
    return float(reward @ weights) * unit, weights, multipliers
