"""Discounted solvers for any finite Markov decision problem, dense or sparse.

With a discount b in (0, 1) the values V solve, in every state,

    V(s) = max_a { rewards[a, s] + b sum_t transitions[a][s, t] V(t) }.

Three algorithms that share nothing but the problem (Puterman 1994, chapter 6): value iteration,
stopped on the bounds of MacQueen and Porteus, which enclose V; policy iteration, one sparse linear
system a policy; the linear programme min sum V subject to V >= rewards + b P V, by HiGHS. To
minimise costs, pass their negatives and negate the values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.linalg import splu

from analysis.checks import check_choice, check_integer, check_number
from analysis.mdp.problem import Floats, Transitions, action_values, policy_chain, stacked
from analysis.results import DiscountedSolution, NotConverged

Answer = tuple[Floats, int]


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
        ``transitions[a][s, t]`` is the probability of moving from s to t under action a.
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
        `residual` is the largest violation of the optimality equation by `values`.

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
    check_number("discount", discount, 0, 1, low_open=True, high_open=True)
    check_choice("method", method, tuple(METHODS))
    check_number("tolerance", tolerance, 0, low_open=True, high_open=True)
    check_integer("max_iterations", max_iterations, 1)
    values, iterations = METHODS[method](rows, earned, discount, tolerance, max_iterations)
    worth = action_values(rows, earned, discount * values)
    residual = float(np.abs(worth.max(axis=0) - values).max())
    # The values are off by at most residual / (1 - discount).
    if not residual <= 2 * tolerance * (1 - discount) * max(float(np.abs(values).max()), 1e-300):
        slack = 64 * np.finfo(float).eps * max(float(np.abs(worth.max(axis=0)).max()), 1e-300)
        if not residual <= slack:
            raise NotConverged(f"{method} left a residual of {residual:.3g}")
    policy = worth.argmax(axis=0)
    return DiscountedSolution(
        values=values,
        policy=policy,
        iterations=iterations,
        residual=residual,
        converged=True,
        method=method,
    )


def _value_iteration(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    values = np.zeros(earned.shape[1])
    for iteration in range(1, limit + 1):
        updated = action_values(rows, earned, discount * values).max(axis=0)
        change = updated - values
        low, high = (discount / (1 - discount) * edge for edge in (change.min(), change.max()))
        values = updated
        width = (1 - discount) * tolerance * max(float(np.abs(values).max()), 1e-300)
        if high - low <= max(width, 64 * np.finfo(float).eps * float(np.abs(values).max())):
            return values + (low + high) / 2, iteration
    raise NotConverged(f"bounds are still {high - low:.3g} apart after {limit} iterations")


def _policy_iteration(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    states = np.arange(earned.shape[1])
    policy = earned.argmax(axis=0)
    for iteration in range(1, limit + 1):
        system = sparse.csc_array(
            sparse.eye_array(states.size) - discount * policy_chain(rows, policy)
        )
        values = splu(system).solve(earned[policy, states])
        worth = action_values(rows, earned, discount * values)
        # Keep the action where two tie, so that rounding cannot make the policy cycle.
        slack = 1e-12 * max(float(np.abs(values).max()), 1e-300) * (1 - discount)
        better = worth.max(axis=0) > worth[policy, states] + slack
        if not better.any():
            return values, iteration
        policy = np.where(better, worth.argmax(axis=0), policy)
    raise NotConverged(f"policy iteration had not settled after {limit} policies")


def _linear_programme(
    rows: sparse.csr_array, earned: Floats, discount: float, tolerance: float, limit: int
) -> Answer:
    actions, states = earned.shape
    scale = max(float(np.abs(earned[np.isfinite(earned)]).max()), 1e-300) / (1 - discount)
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
    values = scale * solved.x
    policy = action_values(rows, earned, discount * values).argmax(axis=0)
    system = sparse.csc_array(sparse.eye_array(states) - discount * policy_chain(rows, policy))
    # HiGHS finds the basis; its values are exact only to its tolerances.
    return splu(system).solve(earned[policy, np.arange(states)]), int(solved.nit)


METHODS: dict[str, Callable[[sparse.csr_array, Floats, float, float, int], Answer]] = {
    "policy iteration": _policy_iteration,
    "value iteration": _value_iteration,
    "linear programme": _linear_programme,
}
