"""The Lagrangian bound: a lower bound on the cost of every policy, for any number of arms.

Let `budget` arms be active per epoch on (normalised, discounted) average only, and price activity
at lambda. Arms then part, and by weak duality, for every lambda,

    J(g) >= sum_i min_k {D_i(k) + lambda N_i(k)} - m lambda      for every policy g,

with D_i, N_i of the nested policies of arm i, started from its initial state. The right side is
concave and piecewise linear in lambda; its maximum is where the activity of the arms crosses m.

What a policy costs beyond the bound is what its actions lose against the arms' own optima at that
price, epoch by epoch (`epoch_losses`). Simulations that add up losses instead of costs have the
same mean and a smaller variance.

Source: the restart slides (2019), slide 8 (the decomposition); the bound is the book's addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.checks import check_kind, check_number
from analysis.restarts.arm import RestartArm, stack_arms
from analysis.restarts.policies import RestartBandit, index_scores, initial_states
from analysis.restarts.whittle.elimination import eliminate_all


def from_states(
    arms: Sequence[RestartArm], discount: float, states: Ints
) -> tuple[Floats, Floats, Floats]:
    """Return D(k) and N(k) of nested policies of arms started in given states, and crossings.

    Arms have one number of states and a discount in (0, 1). D and N have shape (arms, states + 1);
    the crossings, shape (arms, states), are the subsidies at which policies k and k + 1 cost the
    same.
    """
    one_minus_discount = 1 - discount
    eliminations = eliminate_all(arms, discount)
    rate = eliminations.cost / eliminations.length
    activity = eliminations.activity
    if any(arm.reset[state] != 1 for arm, state in zip(arms, states, strict=True)):
        placed = [
            RestartArm(arm.passive, np.eye(arm.states)[state], arm.passive_cost, arm.active_cost)
            for arm, state in zip(arms, states, strict=True)
        ]
        first = eliminate_all(placed, discount)
        # What remains, discounted, when the first cycle is over and the next starts from Q.
        remaining = discount * first.activity * first.length
        rate = one_minus_discount * first.cost + remaining * rate
        activity = remaining * (one_minus_discount / discount + activity)
    return rate, activity, eliminations.crossings


def _by_size(bandit: RestartBandit) -> Iterator[Ints]:
    """Yield the numbers of the arms of each size."""
    sizes = np.array(bandit.shape)
    for size in np.unique(sizes):
        yield np.flatnonzero(sizes == size)


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

    Examples
    --------
    >>> from analysis.restarts.instances import one_step, slide_arm
    >>> arms = [slide_arm(one_step(4, stay)) for stay in (0.2, 0.5, 0.8)]
    >>> bandit = RestartBandit(tuple(arms), budget=1, discount=0.9)
    >>> bound, price = relaxed_bound(bandit)
    >>> round(bound, 4)
    4.5
    """
    check_kind("bandit", bandit, RestartBandit)
    states = initial_states(bandit, initial_state)
    rates, activities, crossings = [], [], []
    for numbers in _by_size(bandit):
        arms = [bandit.arms[n] for n in numbers]
        rate, activity, crossing = from_states(arms, bandit.discount, states[numbers])
        rates.append(rate)
        activities.append(activity)
        crossings.append(crossing.ravel())
    prices = np.concatenate(crossings)
    order = np.argsort(prices, kind="stable")
    drops = np.concatenate([-np.diff(activity, axis=1).ravel() for activity in activities])
    activity_after = sum(float(activity[:, 0].sum()) for activity in activities) - np.cumsum(
        drops[order]
    )
    subsidy = float(prices[order[np.argmax(activity_after <= bandit.budget)]])
    total = sum(
        float((d + subsidy * n).min(axis=1).sum()) for d, n in zip(rates, activities, strict=True)
    )
    return total - bandit.budget * subsidy, subsidy


def epoch_losses(
    bandit: RestartBandit, price: float, initial_state: Sequence[int] | None = None
) -> tuple[list[Floats], list[Floats], float]:
    """Return the losses of a passive and of an active epoch, a table an arm, and a constant.

    With V_i the values of arm i at the price of an active epoch and H_i those of its actions, every
    policy g costs

        J(g) = sum_i V_i(x_i) - m price + (1 - b) E sum_t b^t sum_i loss_i(X_t, A_t)

    from the states x, the first of each arm by default, where loss_i(x, a) = (H_i(x, a) - V_i(x)) /
    (1 - b) is never negative; at the price of the relaxed bound losses are smallest. The constant
    is the sum of the first two terms.
    """
    check_kind("bandit", bandit, RestartBandit)
    price = check_number("price", price, low_open=True, high_open=True)
    b = bandit.discount
    initial = initial_states(bandit, initial_state)
    scores = index_scores(bandit)
    losses = [np.empty((2, states)) for states in bandit.shape]
    constant = -bandit.budget * price
    for numbers in _by_size(bandit):
        kernels, resets, idle, repair = stack_arms([bandit.arms[n] for n in numbers])
        charged = repair + price
        is_active = np.stack([scores[n] for n in numbers]) > price
        kernel = np.where(is_active[:, :, None], resets[:, None, :], kernels)
        cost = np.where(is_active, charged, idle)[:, :, None]
        # Values per epoch of weight one: V / (1 - b).
        values = np.linalg.solve(np.eye(resets.shape[1]) - b * kernel, cost)
        passive = idle + (b * (kernels @ values) - values)[:, :, 0]
        active = charged + (b * (resets[:, None, :] @ values) - values)[:, :, 0]
        for n, *both in zip(numbers, passive, active, strict=True):
            losses[n][:] = both
        constant += (1 - b) * float(values[np.arange(numbers.size), initial[numbers], 0].sum())
    return [passive for passive, _ in losses], [active for _, active in losses], constant
