r"""A bound that counts when in an epoch pages are indexed: a price for each phase.

All crawls fall on the epochs, and the engine completes pages all the time, at most s dt of them in
dt. So most pages wait, whatever the order. Let tau in [0, T) be the phase of a completion and let
pi(tau) >= 0 be the price of one there. A page that is t old when it is crawled and is indexed at
phase tau, in that epoch or a later one, is worth at most xi e^{-mu (t + tau)}. A crawl at age k is
then worth at most

    R(k) = Lambda int_0^{kT} max(0, max_tau [xi e^{-mu (t + tau)} - pi(tau)]) dt

more than what its pages pay, and as in `analysis.joint.prices`

    bound(lambda, pi) = lambda M + s int_0^T pi + sum_i max(0, max_k (R_i(k) - lambda C_i) / k)

is above every policy, whatever its queue, order and losses, as long as pages of one source and age
are worth the same. Prices come from a linear programme over crawls, cells of page ages and phases.
It is a rough one; the bound is then evaluated with these prices so that each error adds to it: the
price is constant on short phases, a page is worth what it is at their beginning, and the integrand,
which is convex in t, is summed by trapezoids.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_integer, check_kind
from analysis.ephemeral.sources import Sources, check_budget
from analysis.joint.frozen import Engine
from analysis.results import NotConverged

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
