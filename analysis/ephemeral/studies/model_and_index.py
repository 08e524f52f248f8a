"""The report's sections 2, 4, 5 and 6 line by line: how far each equation is from holding.

Every function measures residuals or counts on the grid or the random cases it is given; the
verdicts are drawn where the numbers are shown. Values and contents are in units of u*, costs are 1.

Reference: report 8702, (2), (3), (7) to (18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from analysis.checks import check_array, check_integer
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.derivation import finite_horizon_value, gain_by_solver, value_at_gain
from analysis.ephemeral.theory.structure import average_value, crawl_advantage, discounted_value

Floats = NDArray[np.float64]

_CONTENTS = 101
_SLOWEST_SOLVED = 0.05  # a generic solver needs too many ages for slower decay


def growth_error(sources: Sources, share: float) -> float:
    """Integrate the growth of expected content over one epoch, and compare it with (2) and (3).

    Parameters
    ----------
    sources : Sources
        N sources.
    share : float
        Content at the start in units of u*; 0 is an empty source, as in (3).

    Returns
    -------
    float
        Largest relative difference.
    """
    limit = sources.u_star
    flow = solve_ivp(
        lambda _, x: sources.arrival_rate * sources.mean_utility - sources.decay_rate * x,
        (0, sources.period), share * limit, rtol=1e-10, atol=1e-10,
    )  # fmt: skip
    stated = sources.alpha * share * limit + sources.u
    return float(np.abs(flow.y[:, -1] / stated - 1).max())


@dataclass(frozen=True)
class TransientChecks:
    """Whether the statements on contents before and after the first crawl held in every run.

    Attributes
    ----------
    stays_below : bool
        Under any control contents are at most those without a crawl, and less after a crawl.
    falls : bool
        A source above u* falls towards it while it is not crawled, without reaching it.
    drops : bool
        After the first crawl contents are at most u*.
    """

    stays_below: bool
    falls: bool
    drops: bool


def transient_checks(runs: int, epochs: int, rng: np.random.Generator) -> TransientChecks:
    """Follow contents under random controls, from starts below and above u*, with alpha = 0.7.

    Parameters
    ----------
    runs, epochs : int
        Number and length of the runs, at least 2 and 1; every other one starts below u*.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TransientChecks
    """
    check_integer("runs", runs, 2)
    check_integer("epochs", epochs, 1)
    control = rng.random((runs, epochs)) < rng.uniform(0, 1, (runs, 1))
    low = np.arange(runs) % 2 == 1
    begin = np.where(low, rng.uniform(0, 1, runs), rng.uniform(1, 3, runs))
    content, free, untouched = begin.copy(), begin.copy(), np.ones(runs, bool)
    stays_below = falls = drops = True
    for crawl in control.T:
        untouched &= ~crawl
        content = np.where(crawl, 0.0, 0.7 * content) + 0.3
        before, free = free[~low], 0.7 * free + 0.3
        falls &= bool((free[~low] < before).all() and (free[~low] > 1 - 1e-12).all())
        touched = ~untouched & low
        stays_below &= bool((content <= free + 1e-12).all())
        stays_below &= bool((content[touched] < free[touched]).all())
        drops &= bool((content[~untouched] <= 1).all())
    return TransientChecks(stays_below, falls, drops)


@dataclass(frozen=True)
class EquationResiduals:
    """Largest residuals on a grid of mu T and subsidies, in units of u*.

    Attributes
    ----------
    average, discounted : float
        Of (10), and of (8) relative to the value.
    literal : float
        Of (11) as printed, at a cost of two.
    solver : float
        Gain against policy iteration on the orbit.
    threshold : float
        Gain against that of crawling in B^c and waiting in B.
    any_gain : float
        Of (10) without V(u) = 0, with the gain 0.1 too large.
    active : float
        Of V(x') = x' - beta at the states x' that follow an active one.
    """

    average: float
    discounted: float
    literal: float
    solver: float
    threshold: float
    any_gain: float
    active: float


def equation_residuals(
    decays: Sequence[float], subsidies: Sequence[float], discounts: Sequence[float]
) -> EquationResiduals:
    """Put the value functions into the dynamic programs of sections 4 and 5.

    Parameters
    ----------
    decays, subsidies, discounts : sequence of float
        mu T; C lambda in units of u*, in (0, 1); discount factors.

    Returns
    -------
    EquationResiduals
    """
    rows = [_residuals(d, c, discounts) for d in decays for c in subsidies]
    return EquationResiduals(*np.max(rows, axis=0).tolist())


def _residuals(decay: float, subsidy: float, discounts: Sequence[float]) -> tuple[float, ...]:
    x = np.linspace(0, 1, _CONTENTS)
    ahead = 1 - (1 - x) * np.exp(-decay)
    value, gain = average_value(decay, subsidy, x)
    after = average_value(decay, subsidy, ahead)[0]
    high = gain + 0.1
    other, other_ahead = (value_at_gain(decay, subsidy, high, y) for y in (x, ahead))
    discounted = [
        np.abs(discounted_value(decay, subsidy, d, x) / _right_of_8(decay, subsidy, d, x) - 1).max()
        for d in discounts
    ]
    orbit = -np.expm1(-decay * np.arange(1, int(40 / decay) + 2))
    k = 1 + int(np.argmax(crawl_advantage(decay, subsidy, orbit) >= -1e-12))
    by_solver = gain_by_solver(decay, subsidy) if decay >= _SLOWEST_SOLVED else gain
    following = ahead[crawl_advantage(decay, subsidy, x) >= 0]
    stays = average_value(decay, subsidy, following)[0] - following + gain
    return (
        float(np.abs(value + gain - np.maximum(subsidy + after, x)).max()),
        float(max(discounted)),
        float(np.abs(value + gain - np.maximum(subsidy / 2 + after, x)).max()),
        abs(by_solver - gain),
        abs((orbit[k - 1] + (k - 1) * subsidy) / k - gain),
        float(np.abs(other + high - np.maximum(subsidy + other_ahead, x)).max()),
        float(np.abs(stays).max(initial=0)),
    )


def _right_of_8(decay: float, subsidy: float, discount: float, x: Floats) -> Floats:
    alpha = np.exp(-decay)
    wait = discounted_value(decay, subsidy, discount, 1 - (1 - x) * alpha)
    fresh = discounted_value(decay, subsidy, discount, 1 - alpha)
    return np.maximum(subsidy + discount * wait, x + discount * fresh)


def finite_horizon_checks(
    decays: Sequence[float], subsidies: Sequence[float], discounts: Sequence[float]
) -> tuple[float, float]:
    """Follow V_n to its limit, from V_0 = x as printed and from max(x, C lambda).

    Parameters
    ----------
    decays, subsidies, discounts : sequence of float
        mu T; C lambda in units of u*; discount factors.

    Returns
    -------
    excess : float
        Largest distance of V_20 to the limit beyond delta^10 times that of V_10.
    bend : float
        Least second difference of V_20.
    """
    x = np.linspace(0, 1, _CONTENTS)
    excess, bends = [], []
    for d in decays:
        for c in subsidies:
            for discount in discounts:
                limit = discounted_value(d, c, discount, x)
                for last in ("crawl", "best"):
                    middle, end = (
                        finite_horizon_value(d, c, discount, n, x, last=last) for n in (10, 20)
                    )
                    far = discount**10 * np.abs(middle - limit).max()
                    excess.append(np.abs(end - limit).max() - far)
                    bends.append(np.diff(end, 2).min())
    return float(max(excess)), float(min(bends))


def count_passages(sources: Sources, state: ArrayLike, *, fresh: bool) -> NDArray[np.int64]:
    """Count the epochs until an uncrawled source holds a content, as (16) defines eta.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (K, N)
        Contents to reach, in (0, u*).
    fresh : bool
        Start from X(0) = u, as the report says before (15), rather than from 0.

    Returns
    -------
    ndarray of int, shape (K, N)
        First time t with X(t) of at least the content.

    Raises
    ------
    ValueError
        Naming the first content that is never reached.
    """
    goal = check_array("state", state, 0, low_open=True)
    if (goal >= sources.u_star).any():
        raise ValueError(f"state must be below u* = {sources.u_star}, got {goal.max(axis=0)}")
    content = np.broadcast_to(sources.u if fresh else 0.0, goal.shape).copy()
    waits = np.zeros(goal.shape, dtype=np.int64)
    while (waiting := content < goal).any():
        content = np.where(waiting, sources.alpha * content + sources.u, content)
        waits += waiting
    return waits


def tie_residuals(decays: Sequence[float], cases: int, rng: np.random.Generator) -> tuple:
    """Compare (17) and (18) with the gain of the dynamic program at random ties.

    Parameters
    ----------
    decays : sequence of float
        mu T to choose from.
    cases : int
        Random states, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    gain, tie : float
        Largest differences, in units of u*.
    """
    check_integer("cases", cases, 1)
    gains, ties = [], []
    for x in rng.uniform(0.02, 0.98, cases):
        d = float(rng.choice(decays))
        source = Sources(np.ones(1), np.ones(1), np.array([d]))  # u* = 1 / d
        c = float(whittle_index(source, [x / d])[0] * d)
        eta = float(np.ceil(np.log1p(-x) / -d))
        beta = average_value(d, c, x)[1]
        gains.append(abs((c * (eta - 1) - np.expm1(-d * eta)) / eta - beta))
        ties.append(abs(-np.expm1(-d) * (x - 1) + beta - c))
    return max(gains), max(ties)
