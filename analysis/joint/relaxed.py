r"""The relaxed problem of a crawler whose pages take a share of an indexing engine.

Besides the budget M of crawls, at most S pages are indexed per epoch, S = s T for an engine of rate
s. Both constraints need hold on average only. With phi_i(lambda, p) the maximum of zero and
the quotients (R(k) - lambda)/k of source i (`analysis.joint.index`), Lagrangian duality gives

    bound = min over lambda, p >= 0 of  lambda M + p S + sum_i phi_i(lambda, p).

Fresh only, it is above every policy that indexes at most S pages per epoch on average, whatever its
queue, order and losses, as long as pages of one source and age are worth the same: what is indexed
of a crawl at age k is worth at most R(k) more than p times its pages. Fetch all, it is above every
policy that takes whole crawls, also with losses where these do not depend on the worth of a page: a
share of a crawl that is worth r(k) then earns that share of it. Where stale pages are left or lost
it is no bound. For windows of whole epochs the two bounds are the same: R(k) = r(m) for a window of
m <= k epochs, and (r(m) - lambda)/k <= (r(m) - lambda)/m, so that on average crawling at age m for
a share m/k of the time does as well. They differ where content fades within an epoch or two.

*A price for each phase.* All crawls fall on the epochs, and the engine completes pages all the
time, at most s dt of them in dt. So most pages wait, whatever the order. Let tau in [0, T) be the
phase of a completion and let pi(tau) >= 0 be the price of one there. A page that is t old when it
is crawled and is indexed at phase tau, in that epoch or a later one, is worth at most xi e^{-mu (t
+ tau)}. A crawl at age k is then worth at most

    R(k) = Lambda int_0^{kT} max(0, max_tau [xi e^{-mu (t + tau)} - pi(tau)]) dt

more than what its pages pay, and as in `analysis.joint.index`

    bound(lambda, pi) = lambda M + s int_0^T pi + sum_i max(0, max_k (R_i(k) - lambda C_i) / k)

is above every policy, whatever its queue, order and losses, as long as pages of one source and age
are worth the same. Prices come from a linear programme over crawls, cells of page ages and phases.
It is a rough one; the bound is then evaluated with these prices so that each error adds to it: the
price is constant on short phases, a page is worth what it is at their beginning, and the integrand,
which is convex in t, is summed by trapezoids.

Reference: Whittle (1988); report 8702, sections 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_integer, check_kind, check_number, check_positive
from analysis.ephemeral.relaxed import due_ages
from analysis.ephemeral.sources import Sources, check_budget
from analysis.joint.index import (
    Engine,
    check_boolean,
    checked_price,
    fading_at_price,
    largest_index,
)
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
    pages = check_positive("pages", pages)
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
    pages = check_positive("pages", pages)
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
        surplus[:, subsidy >= largest_index(sources, price)] = 0.0
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


# A price for each phase of an epoch


FINE = 512
"""Short phases of an epoch on which the price is constant."""
STEPS = 64
"""Trapezoids an epoch of page ages."""
LONGEST = 200
"""Largest age at a crawl that is tried one by one; older crawls are bounded together."""


@read_only_arrays
@dataclass(frozen=True)
class PhaseBound:
    """A bound with a price for each phase of an epoch.

    Attributes
    ----------
    bound : float
        Above what any policy earns per epoch.
    subsidy : float
        Of a unit of crawl cost.
    phase, price : ndarray, shape (cells,)
        Middles of the phases in units of time, and what a completion costs there.
    """

    bound: float
    subsidy: float
    phase: Floats = field(repr=False)
    price: Floats = field(repr=False)


def phase_bound(
    sources: Sources,
    budget: float,
    engine: Engine,
    *,
    ages: int = 8,
    parts: int = 12,
    cells: int = 24,
) -> PhaseBound:
    """Return a bound on what any policy earns that counts when in an epoch pages are indexed.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost of crawls per epoch on average, M.
    engine : Engine
        The engine; its places do not matter.
    ages, parts, cells : int
        Size of the linear programme: largest age at a crawl, cells of page ages an epoch, phases.
        More of them give better prices; with any, the bound is one.

    Returns
    -------
    PhaseBound

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotConverged
        If the linear programme is not solved.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(phase_bound(four_sources(), 1, Engine(350.0, 1000)).bound)
    176
    """
    check_kind("sources", sources, Sources)
    check_kind("engine", engine, Engine)
    budget = check_budget(sources, budget)
    ages = check_integer("ages", ages, 1, 50)
    parts = check_integer("parts", parts, 1, 50)
    cells = check_integer("cells", cells, 2, 100)
    price = _programme(sources, budget, engine, ages, parts, cells)
    middle = (np.arange(cells) + 0.5) / cells
    fine = np.interp((np.arange(FINE) + 0.5) / FINE, middle, price)
    worth, late = _crawl_worth(sources, fine)
    capacity = engine.index_rate * sources.period * float(fine.mean())
    age = np.arange(1, worth.shape[1] + 1)

    def bound(subsidy: float) -> float:
        surplus = ((worth - subsidy * sources.cost[:, None]) / age).max(axis=1)
        return subsidy * budget + capacity + float(np.maximum(surplus, late).sum())

    most = float((worth.max(axis=1) / sources.cost).max())
    best = minimize_scalar(bound, bounds=(0.0, max(most, 1e-300)), method="bounded").x
    best = min((0.0, float(best), most), key=bound)
    return PhaseBound(bound(best), best, middle * sources.period, price)


def _programme(
    sources: Sources, budget: float, engine: Engine, ages: int, parts: int, cells: int
) -> Floats:
    """Return the price of a completion by phase, from a linear programme at middles of cells."""
    size, period = len(sources), sources.period
    step = period / parts
    old, phase = (np.arange(ages * parts) + 0.5) * step, (np.arange(cells) + 0.5) * period / cells
    fade = sources.decay_rate[:, None, None] * np.add.outer(old, phase)
    unit = float(sources.u.max()) or 1.0
    worth = sources.mean_utility[:, None, None] * np.exp(-fade) / unit
    rows = size * old.size
    # Pages of an age that are indexed are at most those crawled at that age or older.
    younger = (np.arange(old.size)[:, None] < parts * np.arange(1, ages + 1)).astype(float)
    crawled = sparse.block_diag(
        [sparse.coo_array(-step * rate * younger) for rate in sources.arrival_rate]
    )
    used = sparse.kron(np.ones((1, rows)), sparse.eye(cells))
    once = sparse.kron(sparse.eye(size), np.arange(1, ages + 1)[None])
    limits = sparse.bmat(
        [
            [crawled, sparse.kron(sparse.eye(rows), np.ones((1, cells)))],
            [None, used],
            [once, None],
            [np.repeat(sources.cost, ages)[None], None],
        ],
        format="csr",
    )
    most = [np.zeros(rows), np.full(cells, engine.index_rate * period / cells), np.ones(size)]
    solution = linprog(
        -np.concatenate([np.zeros(size * ages), worth.ravel()]),
        A_ub=limits,
        b_ub=np.concatenate([*most, [budget]]),
        method="highs",
    )
    if solution.status:
        raise NotConverged(f"the linear programme of phases: {solution.message}")
    price: Floats = np.maximum(-solution.ineqlin.marginals[rows : rows + cells], 0.0) * unit
    return price


def _crawl_worth(sources: Sources, price: Floats) -> tuple[Floats, Floats]:
    """Return bounds on R(k), k up to `LONGEST`, (N, LONGEST), and on R(k+1) - R(k) beyond, (N,).

    The integrand falls with age, so that (R(k) - lambda) / k of an older crawl is at most the
    larger of its value at `LONGEST` and that last increment.
    """
    old = np.arange(LONGEST * STEPS + 1) * (sources.period / STEPS)
    begin = np.arange(price.size) / price.size * sources.period
    result, late = np.empty((len(sources), LONGEST)), np.empty(len(sources))
    for i, (rate, first, mu) in enumerate(
        zip(sources.arrival_rate, sources.mean_utility, sources.decay_rate, strict=True)
    ):
        fresh = first * np.exp(-mu * old)
        best = _envelope(np.exp(-mu * begin), price, fresh)
        pieces = 0.5 * (best[1:] + best[:-1]) * (sources.period / STEPS)
        result[i] = rate * np.cumsum(pieces)[STEPS - 1 :: STEPS]
        late[i] = rate * best[-1] * sources.period
    return result, late


def _envelope(slope: Floats, price: Floats, worth: Floats) -> Floats:
    """Return the largest of zero and slope * worth - price over the phases, for each worth."""
    best = np.zeros_like(worth)
    for block in range(0, worth.size, 1024):
        rows = worth[block : block + 1024]
        value = rows[:, None] * slope - price
        best[block : block + 1024] = np.maximum(value.max(axis=1), 0.0)
    return best
