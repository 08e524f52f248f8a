"""Exact value functions of one source, lemmas over grids, and facts that the derivation uses.

For a source with u* = 1 and C = 1 (a choice of units), after tau epochs of waiting the content x
has become x_tau = 1 - (1 - x) alpha^tau. Waiting tau epochs and then crawling gives

    V_d(x) = sup over 0 <= tau <= inf of  lambda (1 - d^tau) / (1 - d) + d^tau (x_tau + d V_d(u)),

with discount d; at x = u this is one equation for V_d(u), solved by the best cycle. For the average
reward, with V(u) = 0 and beta the gain, (10) of the report becomes

    V(x) = max over tau of  (lambda - beta) tau + x_tau - beta.

`lemma_checks` measures the margin of each lemma's statement over wide grids.

The facts are computed by second methods. With content x in [0, 1] the discounted value of a finite
horizon is a maximum of straight lines,

    V_0(x) = x,   V_n(x) = max( lambda + d V_{n-1}(alpha x + u), x + d V_{n-1}(u) ),

so that it is convex with slopes in [0, 1]. For the average reward every number b > lambda in the
place of the gain solves (10) of the report with *some* value at u; V(u) = 0 identifies the gain.
The index is the maximum of increasing lines, one for each age k,

    C gamma(x) = max over k >= 1 of  X_k - k (1 - alpha)(u* - x),   X_k = u* (1 - alpha^k).

A source that starts above u* stays above it until its first crawl; `run_from_above` follows the
distance to u*, whose sign rounding cannot change.

Reference: report 8702, sections 4 to 6: (8), (10), Lemmas 1 to 5, Corollary 1, Theorem 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_array, check_choice, check_integer, check_number, check_whole
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.mdp.cycles import maximum_mean_cycle


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
    content, wait = waits(decay, state)
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
    content, wait = waits(decay, state)
    fresh = -np.expm1(-decay * (wait + 1.0))
    lost = -np.expm1(wait * np.log(discount))  # 1 - d^tau
    subsidies = subsidy * lost / (1.0 - discount)
    never = subsidy / (1.0 - discount)
    cycles = (subsidies + (1.0 - lost) * fresh) / -np.expm1((wait + 1.0) * np.log(discount))
    after_crawl = max(float(cycles.max()), never)
    values = subsidies + (1.0 - lost) * (content + discount * after_crawl)
    value = values.max(axis=-1)
    return np.maximum(value, never), np.where(value > never, values.argmax(axis=-1), np.inf)


def waits(decay: float, state: ArrayLike) -> tuple[Floats, Floats]:
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
    content, wait = waits(decay, state)
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


def index_as_maximum(sources: Sources, state: ArrayLike, ages: int = 2000) -> Floats:
    """Return the Whittle index below u* as the maximum of its lines, one for each age.

    States have shape (..., N); ValueError if one is negative or above u*. `ages` is large enough if
    alpha^ages is less than 1 - x/u*.
    """
    x = check_array("state", state, 0)
    if (x > sources.u_star).any():
        raise ValueError(f"state must be at most u* = {sources.u_star}, got {x}")
    ages = check_integer("ages", ages, 1)
    lag = -np.expm1(-sources.decay) * (sources.u_star - x)
    best = np.full(x.shape, -np.inf)
    for age in range(1, ages + 1):
        best = np.maximum(best, sources.state_at_age(age) - age * lag)
    return best / sources.cost


def run_from_above(
    sources: Sources, budget: int, excess: ArrayLike, epochs: int, *, above: str = "definition"
) -> tuple[Floats, Floats]:
    """Return the reward of each epoch and the crawls of each source under the index policy.

    `excess`, shape (N,), is X - u* at the start and may be positive; at least -u*. The index from
    u* on is x/C for "definition" as `above`, and 0, by the log^+ of Theorem 1, for "printed".
    ValueError names the argument, its value and the allowed range.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    epochs = check_integer("epochs", epochs, 1)
    check_choice("above", above, ("definition", "printed"))
    distance = check_array("excess", excess).copy()
    if distance.shape != (len(sources),) or (distance < -sources.u_star).any():
        raise ValueError(f"excess must hold {len(sources)} numbers of at least -u*, got {distance}")
    reward, crawls = np.empty(epochs), np.zeros(len(sources))
    for epoch in range(epochs):
        state = sources.u_star + distance
        index = whittle_index(sources, state)
        if above == "printed":
            index = np.where(distance >= 0, 0.0, index)
        chosen = np.argsort(-index, kind="stable")[:budget]
        reward[epoch] = state[chosen].sum()
        crawls[chosen] += 1
        distance *= sources.alpha
        distance[chosen] = -sources.alpha[chosen] * sources.u_star[chosen]
    return reward, crawls
