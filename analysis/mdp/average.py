"""Average-reward solvers for any finite Markov decision problem, dense or sparse.

The problem: in state ``s`` action ``a`` earns ``rewards[a, s]`` and moves to ``t`` with probability
``transitions[a][s, t]``. Maximise the long-run average reward per epoch. A gain g and a bias h
solve it when, in every state,

    g + h(s) = max_a { rewards[a, s] + sum_t transitions[a][s, t] h(t) }.

`relative_value_iteration` iterates this equation (Bertsekas 1987, section 7.1; Puterman 1994,
section 8.5) and stops on the span of a step, which bounds the gain from both sides.
`policy_iteration` solves it exactly, one sparse linear system a policy (Puterman 1994, chapters 8
and 9). Both need a weakly communicating problem, in which the best gain is the same from every
state, and raise an error otherwise. To minimise costs, pass their negatives and negate the gain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_number, check_positive
from analysis.mdp.chains import recurrent_classes
from analysis.mdp.problem import (
    EPSILON,
    Transitions,
    action_values,
    check_policy,
    largest,
    most_visited,
    policy_chain,
    relative_values,
    stacked,
)
from analysis.results import AverageSolution, NotConverged


def relative_value_iteration(
    transitions: Transitions,
    rewards: ArrayLike,
    *,
    reference: int = 0,
    step: float = 0.5,
    tolerance: float = 1e-10,
    max_iterations: int = 100_000,
) -> AverageSolution:
    """Solve an average-reward problem by relative value iteration.

    Parameters
    ----------
    transitions : ndarray, shape (actions, states, states), or sequence of sparse matrices
        ``transitions[a][s, t]`` is the probability of moving from s to t under action a. Rows sum
        to 1 to within 1e-9, rows of float32 to within 1e-6, and are divided by their sums where
        those differ from 1 by more than rounding.
    rewards : array_like, shape (actions, states)
        Expected reward of one epoch; ``-inf`` marks an action that is not allowed.
    reference : int
        State at which the bias is zero.
    step : float, in (0, 1]
        Part of the new values that is taken over; below 1 it makes periodic chains converge.
    tolerance : float
        Largest allowed violation of the optimality equation, relative to the largest reward; the
        gain is at least as exact.
    max_iterations : int
        Limit on the number of iterations.

    Returns
    -------
    AverageSolution
        With ``residual`` half the span of the last step, a bound on the error of ``gain``.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or value.
    NotConverged
        If the limit is reached first, as in a problem whose gain depends on the state.

    Examples
    --------
    >>> import numpy as np
    >>> stay, move = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.2, 0.8], [0.4, 0.6]])
    >>> solution = relative_value_iteration([stay, move], [[1.0, 0.0], [0.0, 2.0]])
    >>> round(solution.gain, 4), solution.policy.tolist()
    (1.3333, [1, 1])
    """
    rows, earned = stacked(transitions, rewards)
    states = earned.shape[1]
    reference = check_integer("reference", reference, 0, states - 1)
    step = check_number("step", step, 0, 1, low_open=True)
    tolerance = check_positive("tolerance", tolerance)
    max_iterations = check_integer("max_iterations", max_iterations, 1)
    bias = np.zeros(states)
    residual, unit = np.inf, largest(earned)
    for iteration in range(1, max_iterations + 1):
        values = action_values(rows, earned, bias)
        best = values.max(axis=0)
        change = best - bias
        low, high = float(change.min()), float(change.max())
        residual = (high - low) / 2
        if residual <= tolerance * unit:
            bias = bias - bias[reference]
            return AverageSolution(
                gain=(low + high) / 2,
                bias=bias,
                policy=values.argmax(axis=0),
                iterations=iteration,
                residual=residual,
                converged=True,
                method="relative value iteration",
            )
        bias = bias + step * (change - change[reference])
    raise NotConverged(
        f"relative value iteration left a residual of {residual:.3g}, above the tolerance "
        f"{tolerance * unit:.3g}, after {max_iterations} iterations"
    )


def _lead_to(rows: sparse.csr_array, rewards: Floats, policy: Ints, target: Ints) -> Ints:
    """Return `policy`, changed in the states from which it never reaches the set `target`.

    Each of them takes the action most likely to lead closer to the set, so that the way there is
    not improbable.
    """
    actions, states = rewards.shape
    policy = policy.copy()
    reached = np.zeros(states, dtype=bool)
    reached[target] = True
    chain = policy_chain(rows, policy)
    while (farther := ~reached & ((chain @ reached.astype(float)) > 0)).any():
        reached |= farther
    while not reached.all():
        into = (rows @ reached.astype(float)).reshape(actions, states)
        into[~np.isfinite(rewards)] = 0.0
        leads = ~reached & (into.max(axis=0) > 0)
        if not leads.any():
            state = int(np.flatnonzero(~reached)[0])
            raise ValueError(
                "the problem must be weakly communicating: no policy leads from state "
                f"{state} to the best recurrent class"
            )
        policy[leads] = into[:, leads].argmax(axis=0)
        reached |= leads
    return policy


def policy_iteration(
    transitions: Transitions,
    rewards: ArrayLike,
    *,
    initial: ArrayLike | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> AverageSolution:
    """Solve an average-reward problem by policy iteration.

    A policy with several recurrent classes keeps the best of them, and its other states are led
    there (Puterman 1994, section 9.5), so that each policy has one gain.

    Parameters
    ----------
    transitions : ndarray, shape (actions, states, states), or sequence of sparse matrices
        ``transitions[a][s, t]`` is the probability of moving from s to t under action a. Rows sum
        to 1 to within 1e-9, rows of float32 to within 1e-6, and are divided by their sums where
        those differ from 1 by more than rounding.
    rewards : array_like, shape (actions, states)
        Expected reward of one epoch; ``-inf`` marks an action that is not allowed.
    initial : array_like of int, shape (states,), optional
        First policy; the one of largest immediate rewards by default.
    tolerance : float
        Largest allowed violation of the optimality equation, relative to the largest reward; the
        gain is at least as exact.
    max_iterations : int
        Limit on the number of policies.

    Returns
    -------
    AverageSolution
        Exact up to rounding, which ``residual`` bounds: no gain is further off than it is.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or value, or the problem is not weakly communicating.
    NotConverged
        If the limit is reached, or rounding leaves a residual above the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> stay, move = np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.2, 0.8], [0.4, 0.6]])
    >>> solution = policy_iteration([stay, move], [[1.0, 0.0], [0.0, 2.0]])
    >>> round(solution.gain, 4), solution.policy.tolist()
    (1.3333, [1, 1])
    """
    rows, earned = stacked(transitions, rewards)
    states = np.arange(earned.shape[1])
    unit = largest(earned)
    policy = earned.argmax(axis=0)
    if initial is not None:
        policy = check_policy("initial", initial, earned)
    tolerance = check_positive("tolerance", tolerance)
    max_iterations = check_integer("max_iterations", max_iterations, 1)
    tried: set[bytes] = set()
    for iteration in range(1, max_iterations + 1):
        chain = policy_chain(rows, policy)
        classes = recurrent_classes(chain)
        best_class = classes[0]
        if len(classes) > 1:
            gains = []
            for members in classes:
                reference = int(np.searchsorted(members, most_visited(chain, members)))
                submatrix = chain[members][:, members]
                reward = earned[policy[members], members]
                gains.append(relative_values(submatrix, reward, reference)[0])
            best_class = classes[int(np.argmax(gains))]
            policy = _lead_to(rows, earned, policy, best_class)
            chain = policy_chain(rows, policy)
        reference = most_visited(chain, best_class)
        gain, bias = relative_values(chain, earned[policy, states], reference)
        values = action_values(rows, earned, bias)
        current = values[policy, states]
        noise = 4 * EPSILON * float(np.abs(bias).max())
        better = values.max(axis=0) > current + 1e-12 * unit + 4 * noise
        if not better.any():
            residual = float(np.abs(values.max(axis=0) - gain - bias).max()) + noise
            if not residual <= tolerance * unit:
                raise NotConverged(
                    f"policy iteration left a residual of {residual:.3g}, above the tolerance "
                    f"{tolerance * unit:.3g}: under the last policy some transitions are too rare"
                )
            return AverageSolution(
                gain=gain,
                bias=bias,
                policy=policy,
                iterations=iteration,
                residual=residual,
                converged=True,
                method="policy iteration",
            )
        tried.add(policy.tobytes())
        policy = np.where(better, values.argmax(axis=0), policy)
        if policy.tobytes() in tried:
            raise NotConverged("policy iteration cycles: rounding hides which policy is better")
    raise NotConverged(f"policy iteration had not converged after {max_iterations} policies")
