"""Value functions of one source with random content, equations (20) and (21) of the report.

Contents live on a lattice 0, h, 2h, ...; between and above its points a function is continued
linearly, above with slope 1, as every value function is once crawling is best. With `ahead` for
E V(alpha x + U) and V_0 = E V(U), one source with subsidy lambda, discount d and cost C has

    V_d(x) = max( C lambda + d E V_d(alpha x + U),  x + d E V_d(U) ),                        (20)
    W(x)   = max( x, g + E W(alpha x + U) ),   g = C lambda - beta,   beta = E W(U),

the second being (21) with the term after a crawl restored and V = W - beta. For a fixed g < 0 it is
a problem of optimal stopping, W(x) = max over tau of E[X_tau + g tau], so that W increases with g.
Both are solved by policy iteration; the residual of the equation is returned.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.content_law import content_law
from analysis.results import NotConverged

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RandomSource:
    """One source with random content, on a lattice.

    Attributes
    ----------
    state : ndarray, shape (points,)
        Contents, from 0.
    alpha, mean, cost : float
        Share left after an epoch, u = E U, and C.
    chain : ndarray, shape (points, points)
        Law of alpha x + U for each content x; what passes the end is put there.
    excess : ndarray, shape (points,)
        Mean of what passes the end.
    """

    state: Floats
    alpha: float
    mean: float
    cost: float
    chain: Floats
    excess: Floats

    def ahead(self, value: Floats) -> Floats:
        """E V(alpha x + U) for each content x; shape (points,). Entry 0 is E V(U)."""
        return self.chain @ value + self.excess


@dataclass(frozen=True, eq=False)
class RandomValue:
    """Solution of a dynamic programming equation of one source.

    Attributes
    ----------
    value : ndarray, shape (points,)
        V_d or W.
    crawl : ndarray of bool, shape (points,)
        Where crawling is best.
    fading : ndarray, shape (points,)
        E (alpha d)^tau, with tau the epochs until the first crawl (d = 1 for W).
    residual : float
        Largest error of the equation.
    """

    value: Floats
    crawl: NDArray[np.bool_]
    fading: Floats
    residual: float


def random_source(
    sources: Sources, arm: int, utility: Utility, *, points: int = 400, reach: float = 8.0
) -> RandomSource:
    """Put one source on a lattice.

    Parameters
    ----------
    sources : Sources
        N sources.
    arm : int
        Which one, from 0.
    utility : Utility
        Law of an item's utility, with a finite second moment.
    points : int
        Lattice points, at least 20.
    reach : float
        The lattice ends so many standard deviations of a never crawled source above u*.

    Returns
    -------
    RandomSource

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    check_integer("arm", arm, 0, len(sources) - 1)
    check_integer("points", points, 20)
    check_number("reach", reach, 0, low_open=True, high_open=True)
    if not np.isfinite(utility.second_moment):
        raise ValueError(f"utility must have a finite second moment, got {utility!r}")
    alpha, mean = float(sources.alpha[arm]), float(sources.u[arm])
    variance = float(Arrivals(sources, utility).variance[arm])
    end = float(sources.u_star[arm]) + reach * np.sqrt(variance / (1 - alpha**2))
    step = end / (points - 1)
    items, decay = float(sources.arrival_rate[arm] * sources.period), float(sources.decay[arm])
    scale = float(sources.mean_utility[arm])
    law = content_law(items, decay, utility, step, points, scale)
    state = step * np.arange(points)
    beyond = max(0.0, 1.0 - float(law.sum()))  # above the lattice, with this first moment
    moment = max(0.0, mean - float(law @ state))
    chain = np.zeros((points, points))
    excess = beyond * (alpha * state - end) + moment if beyond > 0 else np.zeros(points)
    chain[:, -1] = beyond
    for j in range(points):
        position = alpha * j
        below = int(position)
        for first, weight in ((below, 1 - position + below), (below + 1, position - below)):
            inside = points - first
            chain[j, first:] += weight * law[:inside]
            passed = weight * law[inside:]
            chain[j, -1] += passed.sum()
            excess[j] += step * float(passed @ np.arange(1, first + 1))
    return RandomSource(state, alpha, mean, float(sources.cost[arm]), chain, excess)


def discounted_random_value(source: RandomSource, subsidy: float, discount: float) -> RandomValue:
    """Solve (20).

    Parameters
    ----------
    source : RandomSource
        The source.
    subsidy : float
        lambda, paid per unit of cost in an epoch without a crawl.
    discount : float
        In (0, 1).

    Returns
    -------
    RandomValue

    Raises
    ------
    ValueError
        If the discount is out of range.
    NotConverged
        If policy iteration does not settle.
    """
    check_number("subsidy", subsidy, low_open=True, high_open=True)
    check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    fresh = np.broadcast_to(source.chain[0], source.chain.shape)
    rewards = (np.full(source.state.size, source.cost * subsidy), source.state.copy())
    rewards = (rewards[0] + discount * source.excess, rewards[1] + discount * source.excess[0])
    return _solve(source, rewards, (discount * source.chain, discount * fresh), discount)


def stopping_value(source: RandomSource, waiting: float) -> RandomValue:
    """Solve W = max(x, g + E W(alpha x + U)) for a given g.

    Parameters
    ----------
    source : RandomSource
        The source.
    waiting : float
        g, what an epoch of waiting earns; negative.

    Returns
    -------
    RandomValue

    Raises
    ------
    ValueError
        If g is not negative.
    NotConverged
        If policy iteration does not settle.
    """
    check_number("waiting", waiting, high=0, low_open=True, high_open=True)
    rewards = (waiting + source.excess, source.state)
    return _solve(source, rewards, (source.chain, np.zeros_like(source.chain)), 1.0)


def average_random_value(source: RandomSource, subsidy: float) -> tuple[RandomValue, float]:
    """Solve (21) with the term after a crawl restored: the g at which C lambda = g + E W(U).

    Parameters
    ----------
    source : RandomSource
        The source.
    subsidy : float
        lambda; the threshold that belongs to it must lie on the lattice.

    Returns
    -------
    solution : RandomValue
        W, which is V + beta.
    gain : float
        beta.

    Raises
    ------
    ValueError
        If the subsidy is so large that waiting costs less than 1e-5 u an epoch.
    """
    check_number("subsidy", subsidy, low_open=True, high_open=True)

    def surplus(waiting: float) -> float:
        after_crawl = float(source.ahead(stopping_value(source, waiting).value)[0])
        return waiting + after_crawl - source.cost * subsidy

    low = min(-source.mean, source.cost * subsidy - source.mean) - 1e-9
    waiting = float(brentq(surplus, low, -1e-5 * source.mean, xtol=1e-13 * source.mean))
    solution = stopping_value(source, waiting)
    return solution, float(source.ahead(solution.value)[0])


def _solve(
    source: RandomSource, rewards: tuple[Floats, Floats], chains: tuple[Floats, Floats], fade: float
) -> RandomValue:
    """Policy iteration for V = max over a of r_a + P_a V, started from crawling everywhere."""
    crawl = np.ones(source.state.size, dtype=bool)
    identity = np.eye(crawl.size)
    for _ in range(100):
        chain = np.where(crawl[:, None], chains[1], chains[0])
        value = np.linalg.solve(identity - chain, np.where(crawl, rewards[1], rewards[0]))
        both = [reward + chain @ value for reward, chain in zip(rewards, chains, strict=True)]
        better = both[1] >= both[0] - 1e-11 * abs(value).max()
        if (better == crawl).all():
            residual = float(np.abs(np.maximum(*both) - value).max())
            waiting = np.where(crawl[:, None], 0.0, source.alpha * fade * source.chain)
            fading = np.linalg.solve(identity - waiting, crawl.astype(np.float64))
            return RandomValue(
                np.asarray(value, np.float64), crawl, np.asarray(fading, np.float64), residual
            )
        crawl = better
    raise NotConverged("policy iteration did not settle in 100 steps")
