"""The Lagrangian bound: a lower bound on the cost of every policy, for any number of arms.

Let `budget` arms be active per epoch on (normalised, discounted) average only, and price activity
at lambda. Arms then part, and by weak duality, for every lambda,

    J(g) >= sum_i min_k {D_i(k) + lambda N_i(k)} - m lambda      for every policy g,

with D_i, N_i of the nested policies of arm i, started from its initial state. The right side is
concave and piecewise linear in lambda; its maximum is where the activity of the arms crosses m.

Source: the restart slides (2019), slide 8 (the decomposition); the bound is the book's addition.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_kind
from analysis.restarts.arm import RestartArm
from analysis.restarts.policies import RestartBandit, initial_states
from analysis.restarts.threshold import Thresholds, thresholds


def from_state(
    arm: RestartArm, nested: Thresholds, state: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return D(k) and N(k) of an arm's nested policies started in a state rather than from Q.

    Parameters
    ----------
    arm : RestartArm
    nested : Thresholds
        Of the arm, in critical order, at a discount below 1.
    state : int
        Where the arm starts.

    Returns
    -------
    tuple of ndarray, shape (states + 1,)
    """
    placed = RestartArm(arm.passive, np.eye(arm.states)[state], arm.passive_cost, arm.active_cost)
    first = thresholds(placed, nested.discount, order="critical").elimination
    left = 1 - nested.discount
    # What remains, discounted, when the first cycle is over and the next starts from Q.
    remaining = np.clip(1 - left * first.length, 0, None)
    rate = left * first.cost + remaining * nested.cost_rate
    activity = remaining * (left / nested.discount + nested.activity)
    return rate, activity


def relaxed_bound(
    bandit: RestartBandit, initial_state: Sequence[int] | None = None
) -> tuple[float, float]:
    """Return the Lagrangian bound on the cost of every policy, and the subsidy that attains it.

    Parameters
    ----------
    bandit : RestartBandit
    initial_state : sequence of int, optional
        Initial state of each arm; the first of all if not given.

    Returns
    -------
    bound : float
        At most the cost J of every policy from `initial_state`.
    subsidy : float
        Price of one active epoch at which the bound is attained.
    """
    check_kind("bandit", bandit, RestartBandit)
    states = initial_states(bandit, initial_state)
    rates, activities, crossings, drops = [], [], [], []
    cache: dict[tuple[int, int], tuple[NDArray[np.float64], ...]] = {}
    for arm, state in zip(bandit.arms, states, strict=True):
        key = (id(arm), int(state))
        if key not in cache:
            nested = thresholds(arm, bandit.discount, order="critical")
            cache[key] = (*from_state(arm, nested, int(state)), nested.crossings)
        rate, activity, crossing = cache[key]
        rates.append(rate)
        activities.append(activity)
        crossings.append(crossing)
        drops.append(-np.diff(activity))
    prices = np.concatenate(crossings)
    order = np.argsort(prices, kind="stable")
    after = sum(a[0] for a in activities) - np.cumsum(np.concatenate(drops)[order])
    subsidy = float(prices[order[np.argmax(after <= bandit.budget)]])
    total = sum(float((d + subsidy * n).min()) for d, n in zip(rates, activities, strict=True))
    return total - bandit.budget * subsidy, subsidy
