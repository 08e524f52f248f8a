"""A finite Markov decision problem as its solvers take it: one matrix of rows, one of rewards.

In state ``s`` action ``a`` earns ``rewards[a, s]`` and moves to ``t`` with probability
``transitions[a][s, t]``; a reward of ``-inf`` marks an action that is not allowed.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from analysis.checks import check_array, check_kind

Transitions = NDArray[np.float64] | Sequence[sparse.spmatrix]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPARSE = (sparse.sparray, sparse.spmatrix)
"""Both of SciPy's kinds of sparse matrices."""


def stacked(transitions: Transitions, rewards: ArrayLike) -> tuple[sparse.csr_array, Floats]:
    """Return the checked problem: all actions' rows in one CSR matrix, and the rewards."""
    earned = numbers_or_forbidden(rewards)
    if earned.ndim != 2 or earned.size == 0:
        raise ValueError(f"rewards must have shape (actions, states), got shape {earned.shape}")
    actions, states = earned.shape
    check_kind("transitions", transitions, Sized)
    if len(transitions) != actions:
        raise ValueError(
            f"transitions must hold one matrix for each of the {actions} actions of rewards, "
            f"got {len(transitions)}"
        )
    matrices = []
    for action, given in enumerate(transitions):
        name = f"transitions[{action}]"
        matrix = given if isinstance(given, SPARSE) else check_array(name, given)
        if matrix.shape != (states, states):
            raise ValueError(f"{name} must have shape ({states}, {states}), got {matrix.shape}")
        matrices.append(sparse.csr_array(matrix, dtype=np.float64))
    allowed = np.isfinite(earned)
    if not allowed.any(axis=0).all():
        state = int(np.flatnonzero(~allowed.any(axis=0))[0])
        raise ValueError(f"rewards must allow at least one action in state {state}, got none")
    rows = sparse.csr_array(sparse.vstack(matrices))
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


def numbers_or_forbidden(rewards: ArrayLike) -> Floats:
    """Return rewards as an array of numbers that are finite, or -inf where not allowed."""
    try:
        earned = np.ascontiguousarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"rewards must be an array of numbers, got {rewards!r:.200}") from None
    if np.isnan(earned).any() or np.isposinf(earned).any():
        raise ValueError("rewards must be finite, or -inf for an action that is not allowed")
    return earned


def action_values(rows: sparse.csr_array, rewards: Floats, bias: Floats) -> Floats:
    """Return rewards + transitions @ bias, shape (actions, states)."""
    return rewards + (rows @ bias).reshape(rewards.shape)


def policy_chain(rows: sparse.csr_array, policy: Ints) -> sparse.csr_array:
    """Return the transition matrix of a policy, shape (states, states)."""
    states = policy.size
    return rows[policy * states + np.arange(states)]
