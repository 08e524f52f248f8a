r"""Prices: the relaxed problem of a crawler whose pages take a share of an indexing engine.

Besides the budget M of crawls, at most S pages are indexed per epoch, S = s T for an engine of rate
s. Both constraints are asked to hold on average only. With a subsidy lambda for each unit of cost
that is not spent and a price p for each page, a crawl at age k is worth

    fetch all     r(k) = x_k - p Lambda T k,
    fresh only    R(k) = Lambda [xi/mu (1 - e^{-mu m}) - p m],   m = min(k T, ln(xi/p) / mu),

where x_k is the content at age k. A fresh crawl takes pages younger than m. What it leaves is worth
less than p a page, now and ever after, so that the age is still all that matters.

*Index.* Let R be concave in k, gamma_k = R(k) - k [R(k+1) - R(k)] and c = max_k R(k). A source that
is crawled at age k for ever earns lambda + (R(k) - lambda)/k an epoch, and

    (R(k+1) - lambda)/(k+1) - (R(k) - lambda)/k = (lambda - gamma_k) / (k (k+1)).

gamma_k rises, by (k+1) times a second difference, so the quotient rises while gamma_k < lambda, and
then falls. Let K be its first maximiser and phi the maximum. If phi > 0, which is lambda < c, then
h(k) = R(k) - lambda - phi for k >= K and h(k) = phi (k - 1) for k < K solve the optimality equation
with gain lambda + phi: crawling below K is not better, since R(K) - R(k) >= (K - k) phi by
concavity, nor is waiting from K on, since R(k+1) - R(k) <= phi there. If lambda >= c, no policy
earns more than lambda an epoch, and no state is better crawled. So passive states are those with
min(gamma_k, c) <= lambda: the source is indexable, with the index min(gamma_k, c). For *fetch all*
the price leaves gamma_k as it is, the index of part I, and only caps it. For *fresh only* R does
not fall, c = u* P(2, w) with w = ln(xi/p), and with z = min(mu T k, w) and d = min(mu T, w - z)

    gamma_k = u* [ P(2, z) + k e^{-z} ((mu T - d)(1 - e^{-d}) + h(d)) ],   h(y) = e^{-y} - 1 + y,

a sum of positive terms, P the regularised incomplete gamma function.

*Bound.* With phi_i the maximum of zero and the quotients of source i, Lagrangian duality gives

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
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.special import gammainc

from analysis.checks import (
    check_array,
    check_integer,
    check_kind,
    check_number,
    check_truths,
    shown,
)
from analysis.ephemeral.index import h, whittle_index_at_age
from analysis.ephemeral.optimum.relaxed import due_ages
from analysis.ephemeral.sources import Sources, check_budget
from analysis.results import NotConverged

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
"""Largest gap between bound and policy that is returned, relative to the content of all sources."""


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


def best_window(sources: Sources, price: float) -> Floats:
    """Return the age from which on a page is worth less than its price, ln(xi/p) / mu.

    Parameters
    ----------
    sources : Sources
        N sources.
    price : float
        Price of a page, p; not negative.

    Returns
    -------
    ndarray, shape (N,)
        In units of time; 0 where no page is worth its price, ``inf`` at a price of 0.

    Raises
    ------
    ValueError
        If the price is negative or not finite.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> best_window(four_sources(), 0.1).round(2).tolist()
    [3.29, 5.56, 0.99, 0.0]
    """
    return _fading(*_checked(sources, price)) / sources.decay_rate


def crawl_reward(sources: Sources, age: ArrayLike, price: float, fresh: bool = False) -> Floats:
    """Return what a crawl is worth less the price of its pages, r(k) or R(k).

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl; not negative.
    price : float
        Price of a page, p; not negative.
    fresh : bool
        Whether only pages younger than `best_window` are taken, or all.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> crawl_reward(four_sources(), [4] * 4, 0.1).round(2).tolist()
    [235.42, 276.7, -32.92, -45.88]
    >>> crawl_reward(four_sources(), [4] * 4, 0.1, fresh=True).round(2).tolist()
    [239.19, 276.7, 10.96, 0.0]
    """
    sources, price = _checked(sources, price)
    k = ages_of(sources, age)
    fading = _fading(sources, price)
    if one_truth("fresh", fresh):
        return sources.u_star * _relative_reward(np.minimum(sources.decay * k, fading), fading)
    return _whole_reward(sources, k, price, fading)


def priced_index(sources: Sources, age: ArrayLike, price: float, fresh: bool = False) -> Floats:
    """Return the Whittle index of each source when each page has a price.

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl, 1 at the epoch that follows it; at least 1.
    price : float
        Price of a page, p; not negative.
    fresh : bool
        Whether a crawl takes only pages younger than `best_window`, or all.

    Returns
    -------
    ndarray, shape (..., N)
        Subsidy for passivity, per unit of crawl cost, at which crawling and waiting tie. With
        ``fresh=False`` the index of part I, but at most the best reward of a crawl.

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> priced_index(four_sources(), [3] * 4, 0.1).round(2).tolist()
    [238.41, 170.02, 10.96, -6.96]
    >>> priced_index(four_sources(), [3] * 4, 0.1, fresh=True).round(2).tolist()
    [236.05, 170.02, 10.96, 0.0]
    """
    sources, price = _checked(sources, price)
    k = ages_of(sources, age, 1)
    fading = _fading(sources, price)
    if one_truth("fresh", fresh):
        z = np.minimum(sources.decay * k, fading)
        d = np.minimum(sources.decay, fading - z, where=fading > z, out=np.zeros_like(z))
        slope = (sources.decay - d) * -np.expm1(-d) + h(d)
        return sources.u_star * (gammainc(2.0, z) + k * np.exp(-z) * slope) / sources.cost
    return np.minimum(whittle_index_at_age(sources, k), _cap(sources, price, fading) / sources.cost)


def priced_problem(
    sources: Sources,
    budget: float,
    pages: float,
    *,
    fresh: bool = False,
    max_columns: int = 500,
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
    fresh = one_truth("fresh", fresh)
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
        if any((column == known).all() for known in columns) or len(columns) >= max_columns:
            break
        columns.append(column)
    if not bound - primal <= TOLERANCE * unit:
        raise NotConverged(
            f"a gap of {bound - primal:.3g} is left between the bound {bound:.6g} and the policies "
            f"after {len(columns)} of at most max_columns = {max_columns} columns"
        )
    _, cost, taken = np.tensordot(weights, np.array(columns), 1)
    return PricedSolution(
        bound=max(bound, primal),
        primal=primal,
        subsidy=float(prices[0]),
        price=float(prices[1]),
        frequency=cost / sources.cost,
        pages=taken,
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
    sources, price = _checked(sources, price)
    prices = np.array([subsidy, price])
    column = _best_ages(sources, subsidy, price, one_truth("fresh", fresh))
    return float(prices @ [budget, pages]) + _surplus(column, prices)


def one_truth(name: str, value: bool) -> bool:
    """Return a truth value, or raise naming it."""
    truth = check_truths(name, value)
    if truth.ndim:
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return bool(truth)


def ages_of(sources: Sources, age: ArrayLike, least: int = 0) -> Floats:
    """Return ages with one entry a source on the last axis, or raise naming them."""
    ages = check_array("age", age, least)
    if ages.ndim == 0 or ages.shape[-1] != len(sources):
        raise ValueError(f"age must have a last axis of {len(sources)} sources, got {ages.shape}")
    return ages


def _checked(sources: Sources, price: float) -> tuple[Sources, float]:
    check_kind("sources", sources, Sources)
    return sources, check_number("price", price, 0, high_open=True)


def _fading(sources: Sources, price: float) -> Floats:
    """How far a page fades until it is worth its price, w = ln(xi/p); 0 if it never is."""
    if price == 0.0:
        return np.where(sources.mean_utility > 0, np.inf, 0.0)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(sources.mean_utility) - np.log(price), 0.0)


def _relative_reward(y: Floats, fading: Floats) -> Floats:
    """1 - e^{-y} - y e^{-w} for y <= w, as a sum of positive terms."""
    with np.errstate(invalid="ignore"):
        left = np.where(np.isinf(fading), np.inf, np.maximum(fading - y, 0.0))
    return gammainc(2.0, y) + y * np.exp(-y) * -np.expm1(-left)


def _whole_reward(sources: Sources, k: Floats, price: float, fading: Floats) -> Floats:
    """r(k) = x_k - p Lambda T k; without cancellation until a page at that age is not worth p."""
    y = sources.decay * k
    plain = sources.state_at_age(k) - price * sources.arrival_rate * sources.period * k
    return np.where(y < fading, sources.u_star * _relative_reward(y, fading), plain)


def _best_age(sources: Sources, fading: Floats) -> Floats:
    """First age at which r is largest, ``inf`` at a price of 0."""
    # r(k+1) > r(k) while u alpha^k > p Lambda T, that is 1 - e^{-m} > m e^{m k - w}.
    with np.errstate(invalid="ignore"):
        last = (fading + np.log(-np.expm1(-sources.decay) / sources.decay)) / sources.decay
    return np.maximum(np.ceil(last), 1.0)


def _cap(sources: Sources, price: float, fading: Floats) -> Floats:
    """Largest reward of a crawl that takes all pages."""
    age = _best_age(sources, fading)
    finite = np.isfinite(age)
    best = _whole_reward(sources, np.where(finite, age, 1.0), price, fading)
    return np.where(finite, best, sources.u_star)


def _best_ages(sources: Sources, subsidy: float, price: float, fresh: bool) -> Floats:
    """Reward, cost and pages per epoch of each source at its best age; shape (3, N)."""
    fading = _fading(sources, price)
    due = due_ages(sources, subsidy)
    candidates = np.stack([due, np.floor(fading / sources.decay), np.ceil(fading / sources.decay)])
    ages = np.where(np.isfinite(candidates), np.maximum(candidates, 1.0), 1.0)
    if not fresh:
        ages = np.where(np.isfinite(due), due, 1.0)[None]
    limit = fading if fresh else np.full_like(fading, np.inf)
    taken = np.minimum(sources.decay * ages, limit)
    reward = sources.u_star * -np.expm1(-taken) / ages
    pages = sources.arrival_rate * taken / sources.decay_rate / ages
    cost = sources.cost / ages
    surplus = reward - subsidy * cost - price * pages
    if not fresh:
        surplus[:, subsidy * sources.cost >= _cap(sources, price, fading)] = 0.0
    best = surplus.argmax(axis=0)
    column = np.stack([reward, cost, pages])[:, best, np.arange(len(sources))]
    column[:, surplus.max(axis=0) <= 0.0] = 0.0
    return column


def _surplus(column: Floats, prices: Floats) -> float:
    reward, cost, pages = column
    return float((reward - prices[0] * cost - prices[1] * pages).sum())


def _mixture(columns: Floats, limits: Floats, unit: float) -> tuple[float, Floats, Floats]:
    """Mix policies within the limits: the best reward, their weights, and the multipliers."""
    reward, used = columns[:, 0].sum(axis=1) / unit, columns[:, 1:].sum(axis=2) / limits
    found = linprog(
        -reward,
        A_ub=used.T,
        b_ub=np.ones(2),
        A_eq=np.ones((1, reward.size)),
        b_eq=[1.0],
        method="highs",
        options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10},
    )
    if found.status:
        raise NotConverged(f"the mixture of {reward.size} policies: {found.message}")
    weights = np.maximum(found.x, 0.0)
    multipliers = np.maximum(-found.ineqlin.marginals, 0.0) * unit / limits
    return float(reward @ weights) * unit, weights, multipliers
