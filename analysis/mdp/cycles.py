"""Deterministic average-reward problems: the cycle of largest mean reward.

When each action moves to one known state, ``successors[a, s]``, the best long-run average is the
largest mean reward of a cycle of the graph.  `maximum_mean_cycle` finds it by Howard's policy
iteration (Cochet-Terrasson, Cohen, Gaubert, McGettrick and Quadrat 1998; Dasdan 2004): each policy
is a functional graph, whose cycles give each state a gain eta(s) and a bias

    h(s) = rewards[a, s] - eta(s) + h(successors[a, s]),

and it is improved first in the gain of the successor, then in the bias.

A policy alone, played from a start, runs into a cycle of its own: `follow_to_cycle` finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.checks import check_integer, check_integers
from analysis.kernel_cache import njit
from analysis.mdp.problem import EPSILON, check_policy, check_rewards, largest
from analysis.results import AverageSolution, NotConverged

State = TypeVar("State")
Output = TypeVar("Output")


def follow_to_cycle(
    step: Callable[[State], tuple[Output, State]],
    state: State,
    horizon: int,
    *,
    key: Callable[[State], Hashable],
) -> tuple[list[Output], int | None]:
    """Follow a deterministic system for at most `horizon` steps, until a state recurs.

    `step` takes a state and returns an output and the next state. `key` returns a hashable key of a
    state; it is called before each step, which may change the state in place. Returns the outputs,
    and the step from which on they repeat, None if no state recurred.
    """
    first_steps: dict[Hashable, int] = {}
    outputs: list[Output] = []
    while (state_key := key(state)) not in first_steps and len(outputs) < horizon:
        first_steps[state_key] = len(outputs)
        output, state = step(state)
        outputs.append(output)
    return outputs, first_steps.get(state_key)


@njit
def _evaluate(successors: Ints, rewards: Floats, policy: Ints, eta: Floats, bias: Floats) -> None:
    """Write the gain and bias of each state of a policy's functional graph.

    One state of each cycle keeps the bias that it had under the last policy: otherwise the
    iteration could alternate between cycles of the same gain.
    """
    states = policy.size
    mark = np.zeros(states, dtype=np.int64)  # 0 unseen, positive: the walk that saw it first
    path = np.empty(states, dtype=np.int64)
    for start in range(states):
        if mark[start]:
            continue
        length, state = 0, start
        while not mark[state]:
            mark[state] = start + 1
            path[length] = state
            length += 1
            state = successors[policy[state], state]
        if mark[state] == start + 1:  # a new cycle, from `state` back to itself
            # The sum of a long cycle is compensated (Kahan): an error of the gain adds up around
            # the cycle, and would pass for an improvement where it closes.
            total, lost, count, member = 0.0, 0.0, 0, state
            while True:
                term = rewards[policy[member], member] - lost
                larger = total + term
                lost = (larger - total) - term
                total = larger
                count += 1
                member = successors[policy[member], member]
                if member == state:
                    break
            eta[state] = total / count
        anchor = state
        for position in range(length - 1, -1, -1):
            state = path[position]
            if state == anchor and mark[anchor] == start + 1:
                continue
            following = successors[policy[state], state]
            eta[state] = eta[following]
            bias[state] = rewards[policy[state], state] - eta[state] + bias[following]


@njit
def _improve(
    successors: Ints, rewards: Floats, policy: Ints, eta: Floats, bias: Floats, slack: float
) -> int:
    """Improve the policy in the gain, or at equal gain in the bias; count the changes."""
    actions, states = rewards.shape
    changed = 0
    for state in range(states):
        for action in range(actions):
            if rewards[action, state] == -np.inf:
                continue
            following = successors[action, state]
            if eta[following] > eta[successors[policy[state], state]] + slack:
                policy[state] = action
                changed += 1
    if changed:
        return changed
    for state in range(states):
        best = bias[state]
        for action in range(actions):
            if rewards[action, state] == -np.inf:
                continue
            following = successors[action, state]
            if eta[following] < eta[state] - slack:
                continue
            value = rewards[action, state] - eta[state] + bias[following]
            if value > best + slack:
                best = value
                # In a cycle the new action may seem better by a rounding error alone.
                changed += action != policy[state]
                policy[state] = action
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
    scale = largest(earned)
    for iteration in range(1, max_iterations + 1):
        _evaluate(target, earned, policy, eta, bias)
        slack = 1e-12 * scale + 64 * EPSILON * float(np.abs(bias).max())
        if _improve(target, earned, policy, eta, bias, slack) == 0:
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
    state = initial_state
    for _ in range(states):  # after so many steps the walk is on its cycle
        state = int(target[policy[state], state])
    cycle = [state]
    while (state := int(target[policy[state], state])) != cycle[0]:
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
