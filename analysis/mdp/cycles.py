"""Deterministic average-reward problems: the cycle of largest mean reward.

When each action moves to one known state, ``successors[a, s]``, the best long-run average is the
largest mean reward of a cycle of the graph.  `maximum_mean_cycle` finds it by Howard's policy
iteration (Cochet-Terrasson, Cohen, Gaubert, McGettrick and Quadrat 1998; Dasdan 2004): each policy
is a functional graph, whose cycles give each state a gain eta(s) and a bias

    h(s) = rewards[a, s] - eta(s) + h(successors[a, s]),

and it is improved first in the gain of the successor, then in the bias.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_integer, check_integers
from analysis.mdp.problem import EPSILON, check_policy, check_rewards, largest
from analysis.results import AverageSolution, NotConverged


def _evaluate(following: Ints, reward: Floats, eta: Floats, bias: Floats) -> None:
    """Write the gain and bias of each state, given its next state and reward under a policy.

    One state of each cycle keeps the bias that it had under the last policy: otherwise the
    iteration could alternate between cycles of the same gain.
    """
    on_cycle = _is_on_cycle(following)
    states = np.arange(following.size)
    # Doubling: `entry` is the state after 1, 2, 4, ... steps of a walk that ends at its cycle, and
    # `steps` the number of them that it took.
    entry = np.where(on_cycle, states, following)
    steps = (~on_cycle).astype(np.intp)
    while (more := steps[entry]).any():
        steps += more
        entry = entry[entry]
    # The smallest state of those whose walks enter a cycle at a state: the last one written stays.
    smallest = np.zeros_like(states)
    smallest[entry[::-1]] = states[::-1]
    cyclic = np.flatnonzero(on_cycle)
    seen = np.zeros_like(on_cycle)
    for anchor in cyclic[np.argsort(smallest[cyclic])].tolist():
        if not seen[anchor]:
            cycle = [anchor]
            while (state := int(following[cycle[-1]])) != anchor:
                cycle.append(state)
            seen[cycle] = True
            eta[cycle] = _mean(reward[cycle].tolist())
            for state in cycle[:0:-1]:
                bias[state] = reward[state] - eta[state] + bias[following[state]]
    eta[:] = eta[entry]
    surplus = reward - eta
    # Small integers are sorted by their digits, many times as fast as by comparison.
    order = np.argsort(steps.astype(np.min_scalar_type(steps.max())), kind="stable")[cyclic.size :]
    levels = np.cumsum(np.bincount(steps)[1:])[:-1]
    for level in np.split(order, levels):
        bias[level] = surplus[level] + bias[following[level]]


def _is_on_cycle(following: Ints) -> Bools:
    """Return whether each state is on a cycle: the states where walks are after many steps."""
    ahead, states = following.copy(), np.arange(following.size)
    while True:
        reached = np.zeros(following.size, dtype=bool)
        reached[ahead[states]] = True
        fewer = np.flatnonzero(reached)
        if fewer.size == states.size:  # each of them is reached again: no walk leaves its cycle
            return reached
        states = fewer
        ahead[states] = ahead[ahead[states]]  # twice as many steps


def _mean(rewards: list[float]) -> float:
    """Return the mean by a compensated sum (Kahan).

    An error of the gain adds up around a long cycle, and would pass for an improvement where it
    closes.
    """
    total, lost = 0.0, 0.0
    for reward in rewards:
        term = reward - lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    return total / len(rewards)


def _improve(
    successors: Ints, rewards: Floats, policy: Ints, eta: Floats, bias: Floats, slack: float
) -> bool:
    """Improve the policy in the gain, or at equal gain in the bias; return whether it changed."""
    several = bool(eta.min() < eta.max())  # gains
    changed = False
    if several:
        best = eta[successors[policy, np.arange(policy.size)]]
        for action, following in enumerate(successors):
            gain = eta[following]
            better = (gain > best + slack) & (rewards[action] > -np.inf)
            np.copyto(policy, action, where=better)
            np.copyto(best, gain, where=better)
            changed |= bool(better.any())
    if changed:
        return True
    best = bias.copy()
    for action, following in enumerate(successors):
        value = rewards[action] - eta
        value += bias[following]
        better = value > best + slack
        if several:
            better &= eta[following] >= eta - slack
        np.copyto(best, value, where=better)
        # In a cycle the new action may seem better by a rounding error alone.
        changed |= bool((better & (policy != action)).any())
        np.copyto(policy, action, where=better)
    return changed


def maximum_mean_cycle(
    successors: ArrayLike,
    rewards: ArrayLike,
    *,
    initial_state: int = 0,
    initial_policy: ArrayLike | None = None,
    max_iterations: int = 1000,
) -> tuple[AverageSolution, Ints]:
    """Solve a deterministic average-reward problem by Howard's policy iteration.

    Parameters
    ----------
    successors : array_like of int, shape (actions, states)
        State that each action leads to.
    rewards : array_like, shape (actions, states)
        Reward of one epoch; ``-inf`` marks an action that is not allowed.
    initial_state : int
        State from which the gain is reported.
    initial_policy : array_like of int, shape (states,), optional
        Action of each state to begin with; by default that of the largest reward.
    max_iterations : int
        Limit on the number of policies.

    Returns
    -------
    solution : AverageSolution
        Gain from `initial_state`, and the bias and action of every state.
    cycle : ndarray of int, shape (length,)
        The states of the cycle that the policy reaches from `initial_state`, in order.

    Raises
    ------
    ValueError
        If an argument has a wrong shape or value.
    NotConverged
        If the limit is reached, or rounding leaves a residual.

    Examples
    --------
    >>> solution, cycle = maximum_mean_cycle([[1, 0], [0, 1]], [[1.0, 0.0], [3.0, 1.0]])
    >>> solution.gain, sorted(cycle.tolist())
    (3.0, [0])
    """
    target = np.ascontiguousarray(check_integers("successors", successors))
    earned = check_rewards(rewards)
    max_iterations = check_integer("max_iterations", max_iterations, 1)
    if target.shape != earned.shape:
        raise ValueError(
            "successors and rewards must have one shape (actions, states), "
            f"got {target.shape} and {earned.shape}"
        )
    states = target.shape[1]
    if target.min() < 0 or target.max() >= states:
        raise ValueError(
            f"successors must be states from 0 to {states - 1}, "
            f"got values from {target.min()} to {target.max()}"
        )
    initial_state = check_integer("initial_state", initial_state, 0, states - 1)
    policy = earned.argmax(axis=0)
    if initial_policy is not None:
        policy = check_policy("initial_policy", initial_policy, earned)
    eta, bias = np.empty(states), np.zeros(states)
    scale, every = largest(earned), np.arange(states)
    for iteration in range(1, max_iterations + 1):
        following, reward = target[policy, every], earned[policy, every]
        _evaluate(following, reward, eta, bias)
        slack = 1e-12 * scale + 64 * EPSILON * float(np.abs(bias).max())
        if not _improve(target, earned, policy, eta, bias, slack):
            policies = iteration
            break
    else:
        raise NotConverged(f"Howard's iteration had not converged after {max_iterations} policies")

    values = earned - eta + bias[target]
    reachable = eta[target] >= eta - slack
    residual = float(np.abs(np.where(reachable, values, -np.inf).max(axis=0) - bias).max())
    if not residual <= 1e-9 * scale:
        raise NotConverged(
            f"Howard's iteration left a residual of {residual:.3g}, above {1e-9 * scale:.3g}"
        )
    step = following.tolist()
    state = initial_state
    for _ in range(states):  # after so many steps the walk is on its cycle
        state = step[state]
    cycle = [state]
    while (state := step[state]) != cycle[0]:
        cycle.append(state)
    solution = AverageSolution(
        gain=float(eta[initial_state]),
        bias=bias,
        policy=policy,
        iterations=policies,
        residual=residual,
        converged=True,
        method="policy iteration",
    )
    return solution, np.array(cycle, dtype=np.int64)
