"""A finite Markov decision problem as its solvers take it: one matrix of rows, one of rewards.

In state ``s`` action ``a`` earns ``rewards[a, s]`` and moves to ``t`` with probability
``transitions[a][s, t]``; a reward of ``-inf`` marks an action that is not allowed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Transitions = NDArray[np.float64] | Sequence[sparse.spmatrix]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def stacked(transitions: Transitions, rewards: ArrayLike) -> tuple[sparse.csr_array, Floats]:
    """Return the checked problem: all actions' rows in one CSR matrix, and the rewards."""
    earned = np.asarray(rewards, dtype=np.float64)
    if earned.ndim != 2 or earned.size == 0:
        raise ValueError(f"rewards must have shape (actions, states), got shape {earned.shape}")
    actions, states = earned.shape
    if len(transitions) != actions:
        raise ValueError(
            f"transitions must hold one matrix for each of {actions} actions, "
            f"got {len(transitions)}"
        )
    for action in range(actions):
        if transitions[action].shape != (states, states):
            raise ValueError(
                f"transitions[{action}] must have shape ({states}, {states}), "
                f"got {transitions[action].shape}"
            )
    if np.isnan(earned).any() or np.isposinf(earned).any():
        raise ValueError("rewards must be finite, or -inf for an action that is not allowed")
    allowed = np.isfinite(earned)
    if not allowed.any(axis=0).all():
        state = int(np.flatnonzero(~allowed.any(axis=0))[0])
        raise ValueError(f"rewards must allow at least one action in state {state}, got none")
    rows = sparse.csr_array(
        sparse.vstack([sparse.csr_array(transitions[action]) for action in range(actions)])
    )
    sums = np.asarray(rows.sum(axis=1)).reshape(actions, states)
    wrong = allowed & ~(np.abs(sums - 1.0) < 1e-9)
    if rows.nnz and rows.data.min() < -1e-12:
        raise ValueError(f"transitions must be non-negative, got {rows.data.min()}")
    if wrong.any():
        action, state = np.argwhere(wrong)[0]
        raise ValueError(
            f"transitions must have rows that sum to 1, got {sums[action, state]} "
            f"for action {action}, state {state}"
        )
    return rows, earned


def action_values(rows: sparse.csr_array, rewards: Floats, bias: Floats) -> Floats:
    """Return rewards + transitions @ bias, shape (actions, states)."""
    return rewards + (rows @ bias).reshape(rewards.shape)


def policy_chain(rows: sparse.csr_array, policy: Ints) -> sparse.csr_array:
    """Return the transition matrix of a policy, shape (states, states)."""
    states = policy.size
    return rows[policy * states + np.arange(states)]
