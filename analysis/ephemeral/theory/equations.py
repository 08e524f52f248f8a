"""Value functions of one source, lemmas over grids, and printed equations of sections 4 to 6.

For a source with u* = 1 and C = 1 (a choice of units), after tau epochs of waiting the content x
has become x_tau = 1 - (1 - x) alpha^tau. Waiting tau epochs and then crawling gives

    V_d(x) = sup over 0 <= tau <= inf of  lambda (1 - d^tau) / (1 - d) + d^tau (x_tau + d V_d(u)),

with discount d; at x = u this is one equation for V_d(u), solved by the best cycle. For the average
reward, with V(u) = 0 and beta the gain, (10) of the report becomes

    V(x) = max over tau of  (lambda - beta) tau + x_tau - beta.

Every number b > lambda in the place of the gain solves (10) with *some* value at u; V(u) = 0
identifies the gain. With content x in [0, 1] the discounted value of a finite horizon is a maximum
of straight lines,

    V_0(x) = x,   V_n(x) = max( lambda + d V_{n-1}(alpha x + u), x + d V_{n-1}(u) ),

so that it is convex with slopes in [0, 1].

`lemma_checks` measures the margin of each lemma's statement over wide grids, `equation_residuals`
and what follows it the residuals of the printed equations.

Reference: report 8702, (7) to (14), (17), (18), Lemmas 1 to 5, Corollary 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_number,
    check_rng,
)
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.mdp.cycles import maximum_mean_cycle

_CONTENTS = 101
#: N'/N of (6).
SHARE = 0.25
#: C at which the second line of (11), as printed, is compared with the first.
COST = 2.0
_SLOWEST_SOLVED = 0.05  # a generic solver needs too many ages for slower decay


def discounted_value(decay: float, subsidy: float, discount: float, state: ArrayLike) -> Floats:
    """Return the value function (8) of one source with u* = C = 1, in states from 0 to 1.

    `decay` is mu T. ValueError names the argument, its value and the allowed range.
    """
    return _discounted(decay, subsidy, discount, state)[0]


def average_value(decay: float, subsidy: float, state: ArrayLike) -> tuple[Floats, float]:
    """Return the values V of (10), with V(u) = 0, and the gain beta of one source with u* = C = 1.

    `decay` is mu T; the states are from 0 to 1; the subsidy is below u* = 1, where never crawling
    takes over. ValueError names the argument, its value and the allowed range.
    """
    subsidy = check_number("subsidy", subsidy, high=1, low_open=True, high_open=True)
    content, wait = compute_waiting_times(decay, state)
    fresh = -np.expm1(-decay * (wait + 1.0))
    gain = float(((fresh + subsidy * wait) / (wait + 1.0)).max())
    value = ((subsidy - gain) * wait + content).max(axis=-1) - gain
    return value, gain


def crawl_advantage(decay: float, subsidy: float, state: ArrayLike) -> Floats:
    """Return x - V(alpha x + u) - lambda, the advantage of crawling now over waiting one epoch.

    The source is passive where this is negative. Arguments are those of `average_value`.
    """
    x = check_array("state", state, 0, 1)
    following = 1.0 - (1.0 - x) * np.exp(-decay)
    return x - average_value(decay, subsidy, following)[0] - subsidy


def lemma_checks(
    decays: Sequence[float],
    subsidies: Sequence[float],
    discounts: Sequence[float],
    points: int = 60,
) -> pd.DataFrame:
    """Measure the report's Lemmas 1 to 5 and Corollary 1, one row for each mu T and subsidy.

    Decays are at least 1e-3, subsidies in units of u*/C, in (0, 1) and increasing; `points` is the
    number of contents between u and u*. Every column is a margin that is not negative (up to
    rounding) where its statement holds:

    ``lipschitz``            Lemma 1 (2): 1 - steepest slope of V_d, over all discounts
    ``printed_constant``     (1 - alpha d)^tau / (1 - alpha), as printed, less the true slope
                             (alpha d)^tau: negative, so that the printed constant is no bound
    ``printed_control``      (alpha d)^tau for a control optimal from x, less the slope of the
                             chord of V_d from x to u*: negative, so that this control gives no
                             bound from above
    ``discounted_monotone``  Lemma 1 (3): least slope of V_d
    ``discounted_convex``    Lemma 1 (3): least second difference of V_d
    ``vanishing_discount``   1e-3 - |V_d - V_d(u) - V|, at 1 - d = 1e-7
    ``monotone``, ``convex`` Lemma 2 (1): the same of V
    ``slope``                Corollary 1: least slope of x - V(alpha x + u), less 1 - alpha
    ``threshold``            Lemma 5: minus the number of changes from active to passive
    ``nested``               Lemma 4: how much the advantage of crawling falls when lambda
                             rises to the next subsidy, at least (``nan`` in the last row)
    ``gain``                 beta - max(lambda, u), positive strictly between the two indices
    """
    rows = []
    for decay in decays:
        alpha, fresh = float(np.exp(-decay)), float(-np.expm1(-decay))
        x = np.linspace(fresh, 1.0, points)
        gap = x[1] - x[0]
        advantages = [crawl_advantage(decay, subsidy, x) for subsidy in subsidies]
        for number, subsidy in enumerate(subsidies):
            value, gain = average_value(decay, subsidy, x)
            advantage = advantages[number]
            slopes, bends, printed, control = [], [], [], []
            for discount in discounts:
                discounted, tau = _discounted(decay, subsidy, discount, x)
                slopes.append(np.diff(discounted) / gap)
                bends.append(np.diff(discounted, 2))
                power = alpha * discount
                printed.append((1 - power) ** tau / (1 - alpha) - power**tau)
                chords = (discounted[-1] - discounted[:-1]) / (x[-1] - x[:-1])
                control.append(power ** tau[:-1] - chords)
            near = discounted_value(decay, subsidy, 1 - 1e-7, np.append(fresh, x))
            active = advantage >= -1e-12
            last = number + 1 == len(subsidies)
            rows.append(
                {
                    "decay": decay,
                    "subsidy": subsidy,
                    "lipschitz": 1.0 - float(np.max(slopes)),
                    "printed_constant": float(np.min(printed)),
                    "printed_control": float(np.min(control)),
                    "discounted_monotone": float(np.min(slopes)),
                    "discounted_convex": float(np.min(bends)),
                    "vanishing_discount": 1e-3 - float(np.abs(near[1:] - near[0] - value).max()),
                    "monotone": float(np.diff(value).min() / gap),
                    "convex": float(np.diff(value, 2).min()),
                    "slope": float(np.diff(advantage).min() / gap) - fresh,
                    "threshold": -float((active[:-1] & ~active[1:]).sum()),
                    "nested": np.nan if last else float((advantage - advantages[number + 1]).min()),
                    "gain": gain - max(subsidy, fresh),
                }
            )
    return pd.DataFrame(rows)


def _discounted(
    decay: float, subsidy: float, discount: float, state: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the value function (8), and the wait before the first crawl (``inf`` for never)."""
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    content, wait = compute_waiting_times(decay, state)
    fresh = -np.expm1(-decay * (wait + 1.0))
    lost = -np.expm1(wait * np.log(discount))  # 1 - d^tau
    subsidies = subsidy * lost / (1.0 - discount)
    never = subsidy / (1.0 - discount)
    cycles = (subsidies + (1.0 - lost) * fresh) / -np.expm1((wait + 1.0) * np.log(discount))
    after_crawl = max(float(cycles.max()), never)
    values = subsidies + (1.0 - lost) * (content + discount * after_crawl)
    value = values.max(axis=-1)
    return np.maximum(value, never), np.where(value > never, values.argmax(axis=-1), np.inf)


def compute_waiting_times(decay: float, state: ArrayLike) -> tuple[Floats, Floats]:
    """Return the content after waits of 0, 1, ... epochs up to its limit, and these waits."""
    decay = check_number("decay", decay, 1e-3, high_open=True)
    x = check_array("state", state, 0, 1)
    wait = np.arange(np.ceil(40.0 / decay) + 2)
    return 1.0 - (1.0 - x[..., None]) * np.exp(-decay * wait), wait


# Facts of the derivation


def finite_horizon_value(
    decay: float,
    subsidy: float,
    discount: float,
    horizon: int,
    state: ArrayLike,
    *,
    last: str = "crawl",
) -> Floats:
    """Return V_n of section 4 for one source with u* = C = 1, as a maximum of lines.

    `decay` is mu T, `horizon` n, and the states are from 0 to 1. V_0 is x, as the report prints,
    for "crawl" as `last`, and max(x, lambda), as it defines V_n, for "best". ValueError names the
    argument, its value and the allowed range.
    """
    decay = check_number("decay", decay, 0, low_open=True)
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    horizon = check_integer("horizon", horizon, 0)
    check_choice("last", last, ("crawl", "best"))
    x = check_array("state", state, 0, 1)
    alpha, fresh = np.exp(-decay), -np.expm1(-decay)
    slope, height = np.array([1.0]), np.array([0.0])
    if last == "best":
        slope, height = np.array([1.0, 0.0]), np.array([0.0, subsidy])
    for _ in range(horizon):
        crawl = discount * float((slope * fresh + height).max())
        wait = subsidy + discount * (slope * fresh + height)
        slope = np.append(discount * alpha * slope, 1.0)
        height = np.append(wait, crawl)
    return (slope * x[..., None] + height).max(axis=-1)


def value_at_gain(decay: float, subsidy: float, gain: float, state: ArrayLike) -> Floats:
    """Return the solution V of (10) for any number in the place of the gain, with u* = C = 1.

    It is max over tau of (lambda - gain) tau + x_tau - gain, and is 0 at u only for the true gain.
    `decay` is mu T, at least 1e-3; the gain is more than the subsidy; states are from 0 to 1.
    ValueError names the argument, its value and the allowed range.
    """
    content, wait = compute_waiting_times(decay, state)
    gain = check_number("gain", gain, subsidy, low_open=True)
    return ((subsidy - gain) * wait + content).max(axis=-1) - gain


def gain_by_solver(decay: float, subsidy: float) -> float:
    """Return the gain of one source with u* = C = 1, by policy iteration on its orbit.

    `decay` is mu T, at least 0.05, else ValueError.
    """
    _, successors, rewards = orbit_problem(decay, subsidy)
    return float(maximum_mean_cycle(successors, rewards)[0].gain)


def orbit_problem(decay: float, subsidy: float) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return contents, next states and rewards of one source with u* = C = 1 after a crawl.

    States are the ages 1, 2, ..., until the content is u* to machine precision; next states and
    rewards of waiting and of crawling have shape (2, ages). `decay` is mu T, at least 0.05, else
    ValueError.
    """
    decay = check_number("decay", decay, 0.05)
    ages = int(np.ceil(40.0 / decay)) + 1
    content = -np.expm1(-decay * np.arange(1, ages + 1))
    wait = np.minimum(np.arange(1, ages + 1), ages - 1)
    successors = np.array([wait, np.zeros(ages, dtype=np.int64)])
    return content, successors, np.array([np.full(ages, float(subsidy)), content])


# Residuals of the printed equations


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
