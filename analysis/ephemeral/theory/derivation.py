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

from analysis.checks import check_array, check_choice, check_integer, check_number
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.mdp.cycles import maximum_mean_cycle

Floats = NDArray[np.float64]


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

    Parameters
    ----------
    decay : float
        mu T, positive.
    subsidy : float
        Reward of an epoch without a crawl.
    discount : float
        In (0, 1).
    horizon : int
        n, not negative.
    state : array_like
        Contents in [0, 1].
    last : {"crawl", "best"}
        V_0(x) = x, as the report prints, or max(x, lambda), as it defines V_n.

    Returns
    -------
    ndarray
        Same shape as `state`.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
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

    Parameters
    ----------
    decay : float
        mu T, at least 1e-3.
    subsidy : float
        Reward of an epoch without a crawl.
    gain : float
        More than `subsidy`.
    state : array_like
        Contents in [0, 1].

    Returns
    -------
    ndarray
        Same shape as `state`.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    decay = check_number("decay", decay, 1e-3)
    gain = check_number("gain", gain, subsidy, low_open=True)
    x = check_array("state", state, 0, 1)
    wait = np.arange(np.ceil(40.0 / decay) + 2)
    content = 1.0 - (1.0 - x[..., None]) * np.exp(-decay * wait)
    return ((subsidy - gain) * wait + content).max(axis=-1) - gain


def gain_by_solver(decay: float, subsidy: float) -> float:
    """Return the gain of one source with u* = C = 1, by policy iteration on its orbit.

    Parameters
    ----------
    decay : float
        mu T, at least 0.05.
    subsidy : float
        Reward of an epoch without a crawl.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    _, successors, rewards = orbit_problem(decay, subsidy)
    return float(maximum_mean_cycle(successors, rewards)[0].gain)


def orbit_problem(decay: float, subsidy: float) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Return the problem of one source with u* = C = 1 on the states after a crawl.

    Parameters
    ----------
    decay : float
        mu T, at least 0.05.
    subsidy : float
        Reward of an epoch without a crawl.

    Returns
    -------
    content : ndarray, shape (ages,)
        Content of each state; the last is u* to machine precision.
    successors : ndarray of int, shape (2, ages)
        State that waiting and crawling lead to.
    rewards : ndarray, shape (2, ages)
        Rewards of waiting and of crawling.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    decay = check_number("decay", decay, 0.05)
    ages = int(np.ceil(40.0 / decay)) + 1
    content = -np.expm1(-decay * np.arange(1, ages + 1))
    wait = np.minimum(np.arange(1, ages + 1), ages - 1)
    successors = np.array([wait, np.zeros(ages, dtype=np.int64)])
    return content, successors, np.array([np.full(ages, float(subsidy)), content])


def index_as_maximum(sources: Sources, state: ArrayLike, ages: int = 2000) -> Floats:
    """Return the Whittle index below u* as the maximum of its lines, one for each age.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (..., N)
        Contents, not above u*.
    ages : int
        Number of ages; large enough if alpha^ages is less than 1 - x/u*.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If a state is negative or above u*.
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
    """Run the index policy from contents that may be above u*.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : int
        M, sources crawled at each epoch.
    excess : array_like, shape (N,)
        X - u* at the start; at least -u*.
    epochs : int
        Length of the run.
    above : {"definition", "printed"}
        Index from u* on: x/C, by definition, or 0, by the log^+ of Theorem 1.

    Returns
    -------
    reward : ndarray, shape (epochs,)
        Content collected at each epoch.
    crawls : ndarray, shape (N,)
        Number of crawls of each source.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    budget = check_integer("budget", budget, 1, len(sources))
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
