"""A subsidised restart arm solved exactly, and the index straight from its definition.

With a penalty lambda on every active epoch (a subsidy for passivity, up to a constant) one arm is

    V(x) = min{(1-b) c(x,0) + b sum_y P(x,y) V(y),  (1-b)(c(x,1) + lambda) + b sum_y Q(y) V(y)},

or, with V = g + (1-b) h and sum Q h = 0, for every discount up to and with 1,

    g + h(x) = min{c(x,0) + b sum_y P(x,y) h(y),  c(x,1) + lambda},

which keeps its digits as b tends to 1, where V becomes the same in every state. Policy iteration
solves it to rounding; the index w(x) is the root in lambda of the advantage of passivity in x.

Source: the restart slides (2019), slides 8 to 10.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq

from analysis.checks import check_integer, check_number
from analysis.mdp import NotConverged, Solution, recurrent_classes
from analysis.restarts.arm import RestartArm, check_discount


def solve_subsidised(arm: RestartArm, discount: float, subsidy: float) -> Solution:
    """Solve one arm with a penalty on activity by policy iteration.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1]; at 1 the average-cost problem, for an arm whose passive chain has one recurrent
        class.
    subsidy : float
        Penalty lambda on every active epoch.

    Returns
    -------
    Solution
        `bias` holds the normalised values V, or at discount 1 the relative values with Q h = 0.

    Raises
    ------
    NotConverged
        If policy iteration has not settled after ten times as many rounds as states.
    ValueError
        If the discount or the subsidy is not a number in its range; at discount 1, if a policy on
        the way has several closed classes.
    """
    discount = check_discount(discount)
    gain, relative, policy, iterations = _solve_relative(
        arm, discount, check_number("subsidy", subsidy)
    )
    passive, active = relative_action_values(arm, discount, subsidy, relative)
    residual = float(np.abs(np.minimum(passive, active) - gain - relative).max())
    if discount == 1:
        return Solution(gain, relative, policy, iterations, residual, True)
    values, residual = gain + (1 - discount) * relative, (1 - discount) * residual
    return Solution(np.nan, values, policy, iterations, residual, True)


def _solve_relative(
    arm: RestartArm, discount: float, subsidy: float
) -> tuple[float, NDArray[np.float64], NDArray[np.int64], int]:
    """Return g, h, an optimal policy and the rounds of policy iteration."""
    policy = np.ones(arm.states, dtype=np.int64)
    for iteration in range(1, 10 * arm.states + 10):
        gain, relative = relative_values(arm, discount, subsidy, policy)
        passive, active = relative_action_values(arm, discount, subsidy, relative)
        # Keep the action where both tie, so that rounding cannot make the policy cycle.
        slack = 1e-13 * max(float(np.abs(passive).max()), float(np.abs(active).max()))
        better = np.where(policy == 1, passive < active - slack, active < passive - slack)
        if not better.any():
            return gain, relative, policy, iteration
        policy = np.where(better, 1 - policy, policy)
    raise NotConverged(f"policy iteration did not settle in {iteration} rounds")


def relative_values(
    arm: RestartArm, discount: float, subsidy: float, policy: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """Return g and h of a policy, with sum Q h = 0, at any discount in (0, 1].

    Raises
    ------
    ValueError
        At discount 1, if the policy has several closed classes.
    """
    kernel = np.where(policy[:, None] == 1, arm.reset, arm.passive)
    if discount == 1 and len(recurrent_classes(sparse.csr_array(kernel))) > 1:
        raise ValueError(
            "discount must be below 1 for this arm and policy, got 1: they have several closed "
            "classes, hence no single average cost"
        )
    system = np.zeros((arm.states + 1, arm.states + 1))
    system[:-1, :-1] = np.eye(arm.states) - discount * kernel
    system[:-1, -1] = 1.0
    system[-1, :-1] = arm.reset
    cost = np.where(policy == 1, arm.active_cost + subsidy, arm.passive_cost)
    solved: NDArray[np.float64] = np.linalg.solve(system, np.append(cost, 0.0))
    return float(solved[-1]), solved[:-1]


def relative_action_values(
    arm: RestartArm, discount: float, subsidy: float, relative: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what passivity and activity cost in each state, given h with sum Q h = 0."""
    passive = arm.passive_cost + discount * (arm.passive @ relative)
    return passive, arm.active_cost + subsidy


def evaluate_policy(
    arm: RestartArm, discount: float, subsidy: float, policy: NDArray[np.int64]
) -> tuple[float, NDArray[np.float64]]:
    """Return gain (nan below discount 1) and normalised or relative values of a policy."""
    gain, relative = relative_values(arm, discount, subsidy, policy)
    if discount == 1:
        return gain, relative
    return np.nan, gain + (1 - discount) * relative


def least_over_policies(arm: RestartArm, discount: float, subsidy: float) -> NDArray[np.float64]:
    """Return the least value in each state over all 2^K policies, by trying every one.

    Parameters
    ----------
    arm : RestartArm
        With at most 12 states.
    discount : float
        In (0, 1).
    subsidy : float

    Returns
    -------
    ndarray, shape (states,)
    """
    discount = check_discount(discount, average=False)
    check_integer("states", arm.states, 1, 12)
    least = np.full(arm.states, np.inf)
    for actions in product((0, 1), repeat=arm.states):
        least = np.minimum(least, evaluate_policy(arm, discount, subsidy, np.array(actions))[1])
    return least


def action_values(
    arm: RestartArm, discount: float, subsidy: float, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return H(., 0) and H(., 1) of slide 9 for given values."""
    scale = 1 - discount if discount < 1 else 1.0
    passive = scale * arm.passive_cost + discount * (arm.passive @ values)
    active = scale * (arm.active_cost + subsidy) + discount * (arm.reset @ values)
    return passive, active


def index_by_definition(arm: RestartArm, discount: float) -> NDArray[np.float64]:
    """Return the subsidy at which each state's two actions tie, by root finding.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1].

    Returns
    -------
    ndarray, shape (states,)
    """
    discount = check_discount(discount)

    def advantage(subsidy: float, state: int) -> float:
        _, relative, _, _ = _solve_relative(arm, discount, subsidy)
        passive, active = relative_action_values(arm, discount, subsidy, relative)
        return float(active[state] - passive[state])

    spread = float(np.ptp(np.concatenate([arm.passive_cost, arm.active_cost]))) or 1.0
    index = np.empty(arm.states)
    for state in range(arm.states):
        low, high = -spread, spread
        while advantage(low, state) >= 0:
            low *= 4
        while advantage(high, state) <= 0:
            high *= 4
            if high > 1e12 * spread:
                raise NotConverged(f"state {state} is never left passive up to subsidy {high:.3g}")
        index[state] = brentq(advantage, low, high, args=(state,), xtol=1e-13 * spread, rtol=1e-14)
    return index
