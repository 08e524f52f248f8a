"""Facts that the derivation of the index uses, each computed by a second method.

With u* = C = 1 and content x in [0, 1], the discounted value of a finite horizon is a maximum of
straight lines,

    V_0(x) = x,   V_n(x) = max( lambda + d V_{n-1}(alpha x + u), x + d V_{n-1}(u) ),

so that it is convex with slopes in [0, 1]. For the average reward every number b > lambda in the
place of the gain solves (10) of the report with *some* value at u; V(u) = 0 identifies the gain.
The index is the maximum of increasing lines, one for each age k,

    C gamma(x) = max over k >= 1 of  X_k - k (1 - alpha)(u* - x),   X_k = u* (1 - alpha^k).

A source that starts above u* stays above it until its first crawl; `run_from_above` follows the
distance to u*, whose sign rounding cannot change.

Reference: report 8702, sections 4 to 6: Lemmas 1 to 4, (10), Theorem 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_array, check_choice, check_integer, check_number, check_whole
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.theory.structure import waits
from analysis.mdp.cycles import maximum_mean_cycle


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
