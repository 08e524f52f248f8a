"""The exact optimum, by dynamic programming on the ages of all sources together.

Once every source has been crawled, its content is a function of its age k, the epochs since the
last crawl: X_i(k) = u*_i (1 - alpha_i^k). The joint problem is then deterministic with integer
states, and its optimum is the largest mean reward of a cycle. Ages have to be cut off somewhere, so
two problems are solved, with the content at the last age set to

    X_i(K_i)  a problem that can be played in the true model:  a lower bound,
    u*_i      at least the true content at every later age:    an upper bound,

and the cut-offs grow until the two agree. Crawling one more source when the budget allows never
hurts (its content now is worth more than what would be left of it later), so only sets of sources
to which nothing can be added are tried.

Reference: report 8702, (2) to (5), for which it calls dynamic programming intractable.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_kind, check_number
from analysis.ephemeral.optimum.relaxed import relaxed_problem
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget
from analysis.mdp.cycles import maximum_mean_cycle
from analysis.results import NotConverged

MOST_SOURCES = 12


@dataclass(frozen=True)
class Optimum:
    """The best long-run average reward, bracketed.

    Attributes
    ----------
    average_reward : float
        Reward per epoch of the best cycle found, a policy that can be played.
    upper : float
        No policy earns more.
    crawls : tuple of tuple of int
        Sources crawled at each epoch of that cycle, numbered from 0.
    last_age : ndarray of int, shape (N,)
        Where ages were cut off.
    """

    average_reward: float
    upper: float
    crawls: tuple[tuple[int, ...], ...]
    last_age: NDArray[np.int64]


def feasible_sets(sources: Sources, budget: float) -> list[tuple[int, ...]]:
    """Return the sets of sources that fit in the budget and to which no other source can be added.

    Parameters
    ----------
    sources : Sources
        At most 12 sources.
    budget : float
        Cost that may be spent in one epoch.

    Returns
    -------
    list of tuple of int

    Raises
    ------
    ValueError
        If there are too many sources, or the budget is out of range.
    """
    check_kind("sources", sources, Sources)
    if len(sources) > MOST_SOURCES:
        raise ValueError(
            f"sources must be at most {MOST_SOURCES} for an exact optimum, got {len(sources)}"
        )
    budget = check_budget(sources, budget)
    cheapest = float(sources.cost.min())
    if budget < cheapest * (1.0 - ROUNDING):
        raise ValueError(f"budget must be at least the smallest cost, {cheapest:g}, got {budget:g}")
    room = budget * (1.0 + ROUNDING)
    everything = range(len(sources))
    fitting = [
        set(some)
        for size in range(1, len(sources) + 1)
        for some in combinations(everything, size)
        if sources.cost[list(some)].sum() <= room
    ]
    return [tuple(sorted(some)) for some in fitting if not any(some < other for other in fitting)]


def optimal_cycle(
    sources: Sources,
    budget: float,
    *,
    tolerance: float = 1e-9,
    max_states: int = 1_000_000,
) -> Optimum:
    """Find the best cycle of crawls for a few sources.

    Parameters
    ----------
    sources : Sources
        N sources, at most 12.
    budget : float
        Cost that may be spent in one epoch (with costs of 1, the number of sources crawled).
    tolerance : float
        Largest relative distance of the two bounds.
    max_states : int
        Largest number of joint ages.

    Returns
    -------
    Optimum

    Raises
    ------
    ValueError
        If there are too many sources, or the budget is out of range.
    NotConverged
        If the bounds still differ when the number of joint ages reaches its limit.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(optimal_cycle(four_sources(), 1).average_reward, 2)
    260.39
    """
    sets = feasible_sets(sources, budget)
    tolerance = check_number("tolerance", tolerance, 0, 1, low_open=True, high_open=True)
    most = check_number("max_states", max_states, 1)
    relaxed = relaxed_problem(sources, budget)
    due = np.where(np.isfinite(relaxed.age), relaxed.age, 1)
    oldest = np.maximum(1, np.ceil(-np.log(tolerance / 100) / sources.decay))
    margin, known = 2, ""
    while True:
        oldest_kept = np.minimum(due + margin, oldest)
        if (states := float(np.prod(oldest_kept))) > most:
            raise NotConverged(
                f"the optimum to a relative {tolerance:g} needs {states:.2g} joint ages{known}; "
                f"raise max_states = {max_states} or the tolerance, or take `relaxed_bound`"
            )
        last_age = oldest_kept.astype(np.int64)
        average_reward, crawls = _solve(sources, sets, last_age, optimistic=False)
        upper = min(_solve(sources, sets, last_age, optimistic=True)[0], relaxed.bound)
        upper = max(upper, average_reward)  # they may cross by rounding alone
        if upper - average_reward <= tolerance * upper:
            return Optimum(average_reward, upper, crawls, last_age)
        known = f" (with fewer it lies in [{average_reward:.6g}, {upper:.6g}])"
        margin *= 2


def optimal_average_reward(sources: Sources, budget: float) -> float:
    """Return the best long-run average reward, exact for a few sources.

    See `optimal_cycle` for the parameters and errors. The budget is a cost, not a number of
    sources: what no source fits into is not spent, and 1.5 earns what 1 does if each crawl costs 1.

    Returns
    -------
    float
        Reward per epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(optimal_average_reward(four_sources(), 1), 2)
    260.39
    """
    return optimal_cycle(sources, budget).average_reward


def _solve(
    sources: Sources,
    sets: list[tuple[int, ...]],
    last_age: NDArray[np.int64],
    optimistic: bool,
) -> tuple[float, tuple[tuple[int, ...], ...]]:
    """Largest mean reward of a cycle of joint ages, and its crawls."""
    ages = np.indices(tuple(last_age)).reshape(len(sources), -1) + 1
    content = sources.state_at_age(ages.T).T
    if optimistic:
        content = np.where(ages == last_age[:, None], sources.u_star[:, None], content)
    older = np.minimum(ages + 1, last_age[:, None])
    successors = np.empty((len(sets), ages.shape[1]), dtype=np.int64)
    rewards = np.empty(successors.shape)
    for action, arms in enumerate(sets):
        following = older.copy()
        following[list(arms)] = 1
        successors[action] = np.ravel_multi_index(tuple(following - 1), tuple(last_age))
        rewards[action] = content[list(arms)].sum(axis=0)
    solution, cycle = maximum_mean_cycle(successors, rewards)
    return solution.gain, tuple(sets[action] for action in solution.policy[cycle])
