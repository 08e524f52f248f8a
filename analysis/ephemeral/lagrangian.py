"""The Lagrangian index: what a crawl earns more than a wait, at the price of the relaxed problem.

At a price lambda of each unit of crawl cost every source has a problem of its own. With the content
X(k) = u* (1 - alpha^k) at age k, its charge l = lambda C and its best gap d, the due age (the first
at which the Whittle index is at least lambda), it gains g = (X(d) - l) / d an epoch, or g = 0 if no
crawl is worth its charge (d infinite). The index is the advantage of a crawl,

    A(k) = X(k) - l - g k       for k < d,
    A(k) = g - X(k+1) + X(k)    for k >= d.

It rises with the age and has the sign of the Whittle index less lambda. At the ages d and d - 1 it
is that difference, times C / d. Below, every number is per unit of cost, as the Whittle index is.

What any run loses against the bound g(lambda) = lambda M + sum_i g_i is, source by source and epoch
by epoch, A(k) where a source waits although it is due, and -A(k) where it is crawled too early:

    sum_t [ losses of epoch t + lambda (M - cost of epoch t) ]
        = T g(lambda) - (reward of T epochs) + H(start) - H(end),

H(ages) = sum_i h_i(age_i) with the bias h_i of the problem of a source: `losses` returns the terms.
So no policy earns more than the bound in the long run, and of all sets of sources the one with the
largest indices loses least in the present epoch.

References: Avrachenkov, Borkar and Shah, Lagrangian index policy for restless bandits with average
reward (arXiv 2412.12641), for the policy; closed form and identity are derived here and proved in
`proofs/lagrangian`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import check_array, check_kind, check_number, check_selected
from analysis.display import brief
from analysis.ephemeral.index import one_entry_a_source
from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.ephemeral.relaxed import due_ages, relaxed_problem
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget
from analysis.kernel_cache import njit

TUNED_EVERY = 50
"""Epochs from one self-tuned price to the next."""
TUNED_STEP = 0.3
"""Share of the way from a self-tuned price to the mean of the marginal Whittle indices."""


def lagrangian_index(sources: Sources, age: ArrayLike, price: float) -> Floats:
    """Return the Lagrangian index of each source by its age.

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl, 1 at the epoch that follows it; not negative.
    price : float
        lambda, charged for each unit of crawl cost; not negative. `crawl_price` solves for it.

    Returns
    -------
    ndarray, shape (..., N)
        What a crawl now earns more than a wait, per unit of crawl cost.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> lagrangian_index(four_sources(), [1, 2, 3, 4], price=80).round(2).tolist()
    [10.51, 12.53, -17.32, -28.86]
    """
    return PricedSources(sources, price).index(age)


def crawl_price(sources: Sources, budget: float) -> float:
    """Return the multiplier of the relaxed problem; the middle, where there is an interval.

    At the ends of an interval a source ties between two gaps, and the order of the Lagrangian
    indices can be a bad one: the middle is as far from both as can be.

    >>> from analysis.ephemeral import four_sources
    >>> round(crawl_price(four_sources(), 1), 2)
    100.15
    """
    relaxed = relaxed_problem(sources, budget)
    return 0.5 * (relaxed.smallest_subsidy + relaxed.subsidy)


@dataclass(frozen=True, eq=False)
class PricedSources:
    """Sources that pay a price for each unit of crawl cost, each with a problem of its own.

    Attributes
    ----------
    sources : Sources
        N sources.
    price : float
        lambda.
    """

    sources: Sources
    price: float

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        price = check_number("price", self.price, 0, high_open=True)
        object.__setattr__(self, "price", price)

    @cached_property
    def due(self) -> Floats:
        """Due age d of each source, ``inf`` where no crawl is worth its charge; shape (N,)."""
        return due_ages(self.sources, self.price)

    @cached_property
    def gain(self) -> Floats:
        """Gain g of each source, in content per epoch; shape (N,)."""
        due = np.where(np.isfinite(self.due), self.due, 1.0)
        surplus = self.sources.state_at_age(due) - self.price * self.sources.cost
        return np.where(np.isfinite(self.due), np.maximum(surplus, 0.0) / due, 0.0)

    def bound(self, budget: float) -> float:
        """Return g(lambda), which no policy with so much cost an epoch exceeds in the long run."""
        return self.price * budget + float(self.gain.sum())

    def index(self, age: ArrayLike) -> Floats:
        """Return the Lagrangian index of each source by its age, shape (..., N)."""
        k = one_entry_a_source("age", age, self.sources)
        index = np.empty(k.shape)
        limit = self.sources.u_star / self.sources.cost
        rows = np.ascontiguousarray(k.reshape(-1, len(self.sources)))
        _fill(limit, self.sources.decay, self.due, self.price, rows, index.reshape(rows.shape))
        return index

    def index_of_content(self, state: ArrayLike) -> Floats:
        """Return the Lagrangian index of each source by its content, shape (..., N).

        From content x the best wait has j epochs, the first at which one more brings at most g:
        the index is g j - (u* - x)(1 - alpha^j), or x - l where no wait is worth its end.
        """
        x = one_entry_a_source("state", state, self.sources)
        decay, gain = self.sources.decay, self.gain
        room = self.sources.u_star - x
        step = -np.expm1(-decay) * room  # what the next epoch of waiting brings
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wait = np.maximum(np.ceil(np.log(step / gain) / decay), 1.0)
            best = gain * wait + room * np.expm1(-decay * wait)
        best = np.where((room > 0) & (gain > 0), best, np.where(room > 0, np.inf, gain - step))
        never = np.where(gain > 0, np.inf, x - self.price * self.sources.cost)
        return np.minimum(best, never) / self.sources.cost

    def bias(self, age: Floats) -> Floats:
        """Return the bias h of each source by its age, which may be infinite; h(1) = 0."""
        surplus = self.sources.state_at_age(age) - self.price * self.sources.cost - self.gain
        late = np.where(np.isfinite(self.due), surplus, 0.0)
        early = self.gain * (np.where(age < self.due, age, 1.0) - 1.0)
        return np.where(age < self.due, early, late)


@njit
def advantage(limit: float, decay: float, due: float, price: float, age: float) -> float:
    """Lagrangian index of a source of u*/C = `limit` and mu T = `decay`, by due age and age.

    X(k) = u* (mk - h(mk)): for m d < 1 the terms in mk, which would cancel, are left out.
    """
    if np.isinf(due):
        return (limit - price) - limit * np.exp(-decay * age)
    if age < due:
        left = due - age
        if decay * due < 1.0:
            kept = age / due * h(decay * due) - h(decay * age)
            value = limit * kept - price * left / due
        else:
            value = left / due * (-limit * np.expm1(-decay * due) - price)
            value += limit * np.exp(-decay * age) * np.expm1(-decay * left)
        return min(value, 0.0)
    excess = max(limit * relative_index_at_age(decay, h(decay), due) - price, 0.0) / due
    later = np.expm1(-decay) * np.expm1(-decay * (age - due))
    return excess + limit * np.exp(-decay * due) * later


@njit
def _fill(
    limit: Floats, decay: Floats, due: Floats, price: float, age: Floats, index: Floats
) -> None:
    for row in range(age.shape[0]):
        for i in range(limit.size):
            index[row, i] = advantage(limit[i], decay[i], due[i], price, age[row, i])


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Losses:
    """What a run loses against the bound, term by term; content.

    Attributes
    ----------
    late : ndarray, shape (N, epochs)
        Lost since a source waited although it was due.
    early : ndarray, shape (N, epochs)
        Lost since a source was crawled before it was due.
    idle : ndarray, shape (epochs,)
        Price of what was not spent.
    reward : ndarray, shape (epochs,)
        Expected content collected.
    bound : float
        g(lambda): what no policy exceeds in the long run, per epoch.
    price : float
        lambda.
    carried : float
        H(start) - H(end): what older contents at the start let the run earn more. 0 for a cycle.
    """

    late: Floats
    early: Floats
    idle: Floats
    reward: Floats
    bound: float
    price: float
    carried: float

    @property
    def total(self) -> float:
        """The sum of all losses: epochs times bound, less the reward, plus `carried`."""
        return float(self.late.sum() + self.early.sum() + self.idle.sum())


def losses(
    sources: Sources,
    crawls: Sequence[Iterable[int]] | NDArray[np.bool_],
    budget: float | None = None,
    *,
    ages: ArrayLike | None = None,
    price: float | None = None,
) -> Losses:
    """Return what waiting too long and crawling too early lose, by source and epoch.

    Parameters
    ----------
    sources : Sources
        N sources.
    crawls : sequence of sets of int, or ndarray of bool, shape (N, epochs)
        Sources crawled at each epoch, as `Cycle.crawls` or `Trajectory.crawled` has them.
    budget : float, optional
        Cost that an epoch may spend; by default the largest cost of any of the epochs.
    ages : array_like of int, shape (N,), optional
        Ages at the first epoch, at least 0. By default the crawls are repeated for ever, and a
        source that is never crawled has its limit u*.
    price : float, optional
        lambda, by default `crawl_price`. The losses add up to the distance from the bound at it.

    Returns
    -------
    Losses

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources, long_run_cycle
    >>> cycle = long_run_cycle(four_sources(), "whittle", 2)
    >>> lost = losses(four_sources(), cycle.crawls)
    >>> round(lost.total / cycle.period, 6) == round(lost.bound - cycle.average_reward, 6)
    True
    """
    check_kind("sources", sources, Sources)
    chosen = _crawled(sources, crawls)
    spent = sources.cost @ chosen
    if budget is None:
        if not chosen.any():
            raise ValueError("crawls must have a crawl where no budget is given, got none")
        budget = float(spent.max())
    budget = check_budget(sources, budget)
    if (spent > budget * (1.0 + ROUNDING)).any():
        epoch = int(np.argmax(spent))
        raise ValueError(
            f"crawls must cost at most the budget of {budget:g} at each epoch, got "
            f"{spent[epoch]:g} at epoch {epoch}"
        )
    priced = PricedSources(sources, crawl_price(sources, budget) if price is None else price)
    age = np.empty((chosen.shape[1] + 1, len(sources)))
    age[0] = _cyclic_ages(chosen) if ages is None else _start(sources, ages)
    for epoch, crawled in enumerate(chosen.T):
        age[epoch + 1] = np.where(crawled, 1.0, age[epoch] + 1.0)
    # At this age a source that is never crawled has its limit to machine precision.
    oldest = np.maximum(sources.settled_age, np.where(np.isfinite(priced.due), priced.due, 1.0))
    finite = np.where(np.isfinite(age[:-1]), age[:-1], oldest)
    advantages = (priced.index(finite) * sources.cost).T
    reward = np.where(chosen, sources.state_at_age(age[:-1]).T, 0.0).sum(axis=0)
    return Losses(
        late=np.where(chosen, 0.0, np.maximum(advantages, 0.0)),
        early=np.where(chosen, np.maximum(-advantages, 0.0), 0.0),
        idle=priced.price * np.maximum(budget - spent, 0.0),
        reward=reward,
        bound=priced.bound(budget),
        price=priced.price,
        carried=float((priced.bias(age[0]) - priced.bias(age[-1])).sum()),
    )


def _crawled(sources: Sources, crawls: Sequence[Iterable[int]] | NDArray[np.bool_]) -> Bools:
    """Return the crawls as truth values of shape (N, epochs); ValueError names `crawls`."""
    size = len(sources)
    if isinstance(crawls, np.ndarray) and crawls.dtype == np.bool_:
        if crawls.ndim != 2 or crawls.shape[0] != size or not crawls.shape[1]:
            raise ValueError(f"crawls must have shape ({size}, epochs), got {crawls.shape}")
        return crawls
    check_kind("crawls", crawls, Sequence, np.ndarray)
    if (isinstance(crawls, np.ndarray) and crawls.ndim == 0) or not len(crawls):
        raise ValueError("crawls must have at least one epoch, got none")
    chosen = np.zeros((size, len(crawls)), dtype=bool)
    for epoch, arms in enumerate(crawls):
        chosen[check_selected(f"crawls[{epoch}]", arms, size, size), epoch] = True
    return chosen


def _start(sources: Sources, ages: ArrayLike) -> Floats:
    age = check_array("ages", ages, 0)
    if age.shape != (len(sources),) or (age != np.floor(age)).any():
        raise ValueError(
            f"ages must be whole numbers of shape ({len(sources)},), got {ages!r:.200}"
        )
    return age


def _cyclic_ages(chosen: Bools) -> Floats:
    """Return the ages at the first epoch of a cycle of crawls, ``inf`` without a crawl."""
    since = np.argmax(chosen[:, ::-1], axis=1) + 1.0
    return np.where(chosen.any(axis=1), since, np.inf)
