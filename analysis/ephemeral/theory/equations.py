"""Residuals of the equations of the report's sections 4, 5 and 6.

Every function measures residuals, or counts, on a given grid or on random cases. Values and
contents are in units of u*, costs are 1.

Reference: report 8702, (7) to (18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import Rng, check_array, check_integer, check_rng
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.structure import (
    average_value,
    crawl_advantage,
    discounted_value,
    finite_horizon_value,
    gain_by_solver,
    orbit_problem,
    value_at_gain,
)
from analysis.mdp.cycles import maximum_mean_cycle

_CONTENTS = 101
#: N'/N of (6).
SHARE = 0.25
#: C at which the second line of (11), as printed, is compared with the first.
COST = 2.0
_SLOWEST_SOLVED = 0.05  # a generic solver needs too many ages for slower decay


@dataclass(frozen=True)
class EquationResiduals:
    """Largest residuals on a grid of mu T and subsidies, in units of u*."""

    # Residual of (10), and of (8) relative to the value.
    average: float
    discounted: float
    literal: float  # residual of (11) as printed, at a cost of `COST`
    solver: float  # difference of the gain from policy iteration on the orbit
    threshold: float  # difference of the gain from that of crawling in B^c and waiting in B
    any_gain: float  # residual of (10) without V(u) = 0, with the gain 0.1 too large
    active: float  # residual of V(x') = x' - beta at the states x' that follow an active one
    # Difference of the gains of (7) and (6) at N'/N = `SHARE`; and of that difference from lambda
    # (1 - N'/N).
    shift: float
    shifted: float
    relative: float  # residual of the display before (10), for V_delta - V_delta(u)


def equation_residuals(
    decays: Sequence[float], subsidies: Sequence[float], discounts: Sequence[float]
) -> EquationResiduals:
    """Insert the value functions into the dynamic programs of sections 4 and 5.

    `decays` are mu T, `subsidies` C lambda in units of u*, in (0, 1).
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
    relative = [_residual_before_10(decay, subsidy, d, x) for d in discounts]
    orbit = -np.expm1(-decay * np.arange(1, int(40 / decay) + 2))
    k = 1 + int(np.argmax(crawl_advantage(decay, subsidy, orbit) >= -1e-12))
    by_solver = gain_by_solver(decay, subsidy) if decay >= _SLOWEST_SOLVED else gain
    lagrangian = _gain_of_6(decay, subsidy) if decay >= _SLOWEST_SOLVED else 0.0
    shift = by_solver - lagrangian if decay >= _SLOWEST_SOLVED else (1 - SHARE) * subsidy
    following = ahead[crawl_advantage(decay, subsidy, x) >= 0]
    stays = average_value(decay, subsidy, following)[0] - following + gain
    return (
        float(np.abs(value + gain - np.maximum(subsidy + after, x)).max()),
        float(max(discounted)),
        float(np.abs(value + gain - np.maximum(subsidy / COST + after, x)).max()),
        abs(by_solver - gain),
        abs((orbit[k - 1] + (k - 1) * subsidy) / k - gain),
        float(np.abs(other + high - np.maximum(subsidy + other_ahead, x)).max()),
        float(np.abs(stays).max(initial=0)),
        shift,
        abs(shift - (1 - SHARE) * subsidy),
        max(relative),
    )


def _gain_of_6(decay: float, subsidy: float) -> float:
    """Return the largest value of (6), by policy iteration on the orbit."""
    content, successors, _ = orbit_problem(decay, subsidy)
    rewards = np.array([np.full(content.size, subsidy * SHARE), content - subsidy * (1 - SHARE)])
    return float(maximum_mean_cycle(successors, rewards)[0].gain)


def _right_of_8(decay: float, subsidy: float, discount: float, x: Floats) -> Floats:
    alpha = np.exp(-decay)
    wait = discounted_value(decay, subsidy, discount, 1 - (1 - x) * alpha)
    fresh = discounted_value(decay, subsidy, discount, 1 - alpha)
    return np.maximum(subsidy + discount * wait, x + discount * fresh)


def _residual_before_10(decay: float, subsidy: float, discount: float, x: Floats) -> float:
    """Return the residual of the discounted equation for the value less its value at u."""
    alpha = np.exp(-decay)
    ahead, fresh = 1 - (1 - x) * alpha, 1 - alpha
    value, after, base = (discounted_value(decay, subsidy, discount, y) for y in (x, ahead, fresh))
    right = np.maximum(subsidy + discount * (after - base), x)
    return float(np.abs(value - base + (1 - discount) * base - right).max())


def constant_policies(decays: Sequence[float], subsidies: Sequence[float]) -> pd.DataFrame:
    """Solve one source by policy iteration at subsidies from below the first index to above u*/C.

    Half and one and a half times the index of u, and 1.2 and 1.5 in units of u*/C, are added to the
    subsidies, so that sources that are always and never crawled are among those solved. Decays mu T
    are at least 0.05. One row each: ``decay``, ``subsidy``, ``gain``, ``fresh`` (u), least and
    largest value ``low`` and ``high`` of x - V(alpha x + u) over the states, and its value at ``u``
    and at ``u_star``; V(u) = 0.
    """
    rows = []
    for decay in decays:
        fresh = -np.expm1(-decay)
        for subsidy in sorted({*subsidies, 0.5 * fresh**2, 1.5 * fresh**2, 1.2, 1.5}):
            content, successors, rewards = orbit_problem(decay, subsidy)
            solution = maximum_mean_cycle(successors, rewards)[0]
            inner = content - (solution.bias[successors[0]] - solution.bias[0])
            row = (decay, subsidy, solution.gain, fresh, inner.min(), inner.max())
            rows.append((*row, inner[0], inner[-1]))
    columns = ["decay", "subsidy", "gain", "fresh", "low", "high", "u", "u_star"]
    return pd.DataFrame(rows, columns=columns)


def ends_of_interval(solved: pd.DataFrame) -> pd.DataFrame:
    """Return lambda_m of (13) and lambda_M of (14), one row a decay, from `constant_policies`.

    ``lambda_m`` is the least solved subsidy of at least the maximum, and ``lambda_M`` the largest
    of at most the minimum, of x - V(alpha x + u).
    """
    slack = 1e-9
    first = solved[solved.subsidy >= solved.high - slack].groupby("decay").subsidy.min()
    last = solved[solved.subsidy <= solved.low + slack].groupby("decay").subsidy.max()
    return pd.DataFrame({"lambda_m": first, "lambda_M": last})


def finite_horizon_checks(
    decays: Sequence[float], subsidies: Sequence[float], discounts: Sequence[float]
) -> tuple[float, float, float]:
    """Compare V_n with its limit, from V_0 = x as printed and from max(x, C lambda).

    Returns the largest distance of the printed V_0 = x from V_0 by the definition of V_n, in units
    of u*; the largest distance of V_20 from the limit beyond delta^10 times that of V_10; and the
    least second difference of V_20.
    """
    x = np.linspace(0, 1, _CONTENTS)
    starts, excess, bends = [], [], []
    for d in decays:
        for c in subsidies:
            for discount in discounts:
                limit = discounted_value(d, c, discount, x)
                first = finite_horizon_value(d, c, discount, 0, x, last="best")
                starts.append(np.abs(first - x).max())
                for last in ("crawl", "best"):
                    middle, end = (
                        finite_horizon_value(d, c, discount, n, x, last=last) for n in (10, 20)
                    )
                    far = discount**10 * np.abs(middle - limit).max()
                    excess.append(np.abs(end - limit).max() - far)
                    bends.append(np.diff(end, 2).min())
    return float(max(starts)), float(max(excess)), float(min(bends))


def count_passages(sources: Sources, state: ArrayLike, *, fresh: bool) -> NDArray[np.int64]:
    """Return the epochs until an uncrawled source holds a content, as (16) defines eta.

    The contents to reach, shape (K, N), are in (0, u*), else ValueError; the start is u for
    `fresh`, as the report says before (15), rather than 0.
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


def tie_residuals(decays: Sequence[float], cases: int, rng: Rng) -> tuple:
    """Return the largest differences of (17) and (18) from the gain at random ties, in units of u*.

    The gain is that of the dynamic program; `decays` are mu T to choose from.
    """
    rng = check_rng(rng)
    cases = check_integer("cases", cases, 1)
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
