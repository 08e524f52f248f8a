"""Discounted solvers for any finite Markov decision problem, dense or sparse.

With a discount b in (0, 1) the values V solve, in every state,

    V(s) = max_a { rewards[a, s] + b sum_t transitions[a][s, t] V(t) }.

There are three independent algorithms (Puterman 1994, chapter 6): value iteration, stopped on the
bounds of MacQueen and Porteus, which enclose V; policy iteration, one sparse linear system a
policy; and the linear programme min sum V subject to V >= rewards + b P V, by HiGHS. To minimise
costs, pass their negatives and negate the values.

As b tends to 1 all values tend to one number of order 1 / (1 - b), which leaves few digits for
their differences. The solvers therefore compute g and h of V = g / (1 - b) + h, where h is zero in
one state ::

    h(s) + g = max_a { rewards[a, s] + b sum_t transitions[a][s, t] h(t) },

which needs rows of transitions that sum to 1, and tends to the equation of average rewards.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog

from analysis.arrays import Floats, Ints
from analysis.checks import check_choice, check_integer, check_number, check_positive
from analysis.mdp.problem import (
    EPSILON,
    Transitions,
    action_values,
    largest,
    most_visited,
    policy_chain,
    relative_values,
    stacked,
)
from analysis.results import DiscountedSolution, NotConverged

Answer = tuple[float, Floats, int]


def solve_discounted(
    transitions: Transitions,
    rewards: ArrayLike,
    discount: float,
    *,
    method: str = "policy iteration",
    tolerance: float = 1e-10,
    max_iterations: int = 100_000,
) -> DiscountedSolution:
    """Solve a discounted problem.

    Parameters
    ----------
    transitions : ndarray, shape (actions, states, states), or sequence of sparse matrices
        ``transitions[a][s, t]`` is the probability of moving from s to t under action a. Rows sum
        to 1 to within 1e-9, rows of float32 to within 1e-6, and are divided by their sums where
        those differ from 1 by more than rounding.
    rewards : array_like, shape (actions, states)
        Expected reward of one epoch; ``-inf`` marks an action that is not allowed.
    discount : float
        In (0, 1).
    method : {"policy iteration", "value iteration", "linear programme"}
        The algorithm.
    tolerance : float
        Largest allowed error of the values, relative to the largest of them.
    max_iterations : int
        Limit on the number of policies or sweeps.

    Returns
    -------
    DiscountedSolution
        `residual` is the largest violation of the optimality equation, before the values are
        rounded; they are off by at most 1 / (1 - discount) times as much.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or value.
    NotConverged
        If the limit is reached, or rounding leaves an error above the tolerance.

    Examples
    --------
    A machine in two states: run it (it may fail), or repair it for 2.

    >>> run, repair = [[0.9, 0.1], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]]
    >>> found = solve_discounted(np.array([run, repair]), [[1.0, 0.0], [-1.0, -2.0]], 0.9)
    >>> found.policy.tolist(), found.values.round(4).tolist()
    ([0, 1], [7.5229, 4.7706])
    """
    rows, earned = stacked(transitions, rewards)
    discount = check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    check_choice("method", method, tuple(METHODS))
    tolerance = check_positive("tolerance", tolerance)
    max_iterations = check_integer("max_iterations", max_iterations, 1)
    gain, bias, iterations = METHODS[method](rows, earned, discount, tolerance, max_iterations)
    worth = action_values(rows, earned, discount * bias)
    residual = float(np.abs(worth.max(axis=0) - bias - gain).max())
    residual += 4 * EPSILON * float(np.abs(bias).max())  # as exact as it can be computed
    allowed = _allowed(gain, bias, discount, tolerance, largest(earned))
    if not residual <= allowed:
        raise NotConverged(
            f"{method} left a residual of {residual:.3g}, above the allowed {allowed:.3g}"
        )
    return DiscountedSolution(
        values=gain / (1 - discount) + bias,
        policy=worth.argmax(axis=0),
        iterations=iterations,
        residual=residual,
        converged=True,
        method=method,
    )


def _allowed(gain: float, bias: Floats, discount: float, tolerance: float, unit: float) -> float:
    """Return the residual for which the values are within tolerance, or as exact as floats."""
    top = float(np.abs(gain + (1 - discount) * bias).max())
    return max(tolerance * top, 16 * EPSILON * (1 - discount) * unit)


def _value_iteration(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    unit, bias = largest(earned), np.zeros(earned.shape[1])
    for iteration in range(1, limit + 1):
        updated = action_values(rows, earned, discount * bias).max(axis=0)
        change = updated - bias
        low, high = float(change.min()), float(change.max())
        gain = (low + high) / 2
        if high - low <= _allowed(gain, bias, discount, tolerance, unit):
            return gain, bias, iteration
        bias = updated - updated[0]
    raise NotConverged(
        f"value iteration left a residual of {(high - low) / 2:.3g} after {limit} iterations"
    )


def _evaluate(
    rows: sparse.csr_array, earned: Floats, discount: float, policy: Ints
) -> tuple[float, Floats]:
    """Return g and h of a policy."""
    chain, states = policy_chain(rows, policy), np.arange(policy.size)
    return relative_values(discount * chain, earned[policy, states], most_visited(chain, states))


def _policy_iteration(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    states = np.arange(earned.shape[1])
    policy = earned.argmax(axis=0)
    tried: set[bytes] = set()
    for iteration in range(1, limit + 1):
        gain, bias = _evaluate(rows, earned, discount, policy)
        worth = action_values(rows, earned, discount * bias)
        # Keep the action where two tie, so that rounding cannot make the policy cycle.
        slack = _allowed(gain, bias, discount, tolerance / 100, largest(earned))
        slack += 16 * EPSILON * float(np.abs(bias).max())
        better = worth.max(axis=0) > worth[policy, states] + slack
        if not better.any():
            return gain, bias, iteration
        tried.add(policy.tobytes())
        policy = np.where(better, worth.argmax(axis=0), policy)
        if policy.tobytes() in tried:
            raise NotConverged("policy iteration cycles: rounding hides which policy is better")
    raise NotConverged(f"policy iteration had not converged after {limit} policies")


def _linear_programme(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    actions, states = earned.shape
    scale = largest(earned) / (1 - discount)
    repeated = sparse.vstack([sparse.eye_array(states)] * actions, format="csr")
    allowed = np.isfinite(earned).ravel()
    solved = linprog(
        np.ones(states),
        A_ub=(discount * rows - repeated)[allowed],
        b_ub=-earned.ravel()[allowed] / scale,
        bounds=(None, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solved.x is None or not solved.success:
        raise NotConverged(f"the linear programme was not solved: {solved.message}")
    # HiGHS finds the basis; its values are exact only to its tolerances.
    policy = action_values(rows, earned, discount * scale * solved.x).argmax(axis=0)
    gain, bias = _evaluate(rows, earned, discount, policy)
    return gain, bias, int(solved.nit)


METHODS: dict[str, Callable[[sparse.csr_array, Floats, float, float, int], Answer]] = {
    "policy iteration": _policy_iteration,
    "value iteration": _value_iteration,
    "linear programme": _linear_programme,
}
