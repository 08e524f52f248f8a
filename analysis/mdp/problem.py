"""A finite Markov decision problem as its solvers take it: one matrix of rows, one of rewards.

In state ``s`` action ``a`` earns ``rewards[a, s]`` and moves to ``t`` with probability
``transitions[a][s, t]``; a reward of ``-inf`` marks an action that is not allowed.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import splu

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_integers, check_kind, normalising_factors, shown
from analysis.results import NotConverged

Transitions = Floats | Sequence[sparse.spmatrix]

EPSILON = float(np.finfo(float).eps)
"""Relative spacing of floats."""
SPARSE = (sparse.sparray, sparse.spmatrix)
"""Both of SciPy's kinds of sparse matrices."""


def stacked(transitions: Transitions, rewards: ArrayLike) -> tuple[sparse.csr_array, Floats]:
    """Check a problem; return the rows of all actions in one CSR matrix, and the rewards.

    Rows whose sum differs from 1 by more than rounding are divided by their sums.
    """
    earned = check_rewards(rewards)
    actions, states = earned.shape
    check_kind("transitions", transitions, Sized)
    if len(transitions) != actions:
        raise ValueError(
            f"transitions must hold one matrix for each of the {actions} actions of rewards, "
            f"got {len(transitions)}"
        )
    matrices, wrong = [], np.isfinite(earned)
    for action, argument in enumerate(transitions):
        name = f"transitions[{action}]"
        matrix = argument if isinstance(argument, SPARSE) else check_array(name, argument)
        if matrix.shape != (states, states):
            raise ValueError(f"{name} must have shape ({states}, {states}), got {matrix.shape}")
        doubled = sparse.csr_array(matrix, dtype=np.float64)
        sums = np.asarray(doubled.sum(axis=1)).ravel()
        _, apart = normalising_factors(argument, sums)
        wrong[action] &= apart
        unscaled = apart | (np.abs(sums - 1) <= 16 * EPSILON)
        divided = sparse.diags_array(1 / np.where(unscaled, 1.0, sums)) @ doubled
        matrices.append(doubled if unscaled.all() else divided)
    rows = sparse.csr_array(sparse.vstack(matrices))
    if rows.nnz and rows.data.min() < -1e-12:
        raise ValueError(f"transitions must be non-negative, got {rows.data.min()}")
    if wrong.any():
        action, state = np.argwhere(wrong)[0]
        total = float(rows[[action * states + state]].sum())
        raise ValueError(
            f"transitions must have rows that sum to 1, got {total} "
            f"for action {action}, state {state}"
        )
    return rows, earned


def check_rewards(rewards: ArrayLike) -> Floats:
    """Return rewards, shape (actions, states), -inf where not allowed, or raise naming them."""
    earned = check_array("rewards", rewards, finite=False)
    if earned.ndim != 2 or earned.size == 0:
        raise ValueError(f"rewards must have shape (actions, states), got shape {earned.shape}")
    if np.isposinf(earned).any():
        raise ValueError("rewards must be finite, or -inf for an action that is not allowed")
    allowed = np.isfinite(earned).any(axis=0)
    if not allowed.all():
        raise ValueError(
            f"rewards must allow at least one action in state {allowed.argmin()}, got none"
        )
    return earned


def check_policy(name: str, policy: ArrayLike, rewards: Floats) -> Ints:
    """Return one allowed action a state, shape (states,), or raise naming the argument."""
    chosen = check_integers(name, policy)
    actions, states = rewards.shape
    if chosen.shape != (states,) or chosen.min() < 0 or chosen.max() >= actions:
        raise ValueError(
            f"{name} must be {states} actions from 0 to {actions - 1}, got {shown(policy)}"
        )
    allowed = np.isfinite(rewards[chosen, np.arange(states)])
    if not allowed.all():
        state = int(allowed.argmin())
        raise ValueError(f"{name} must be allowed, got {chosen[state]} in state {state}")
    return chosen


def action_values(rows: sparse.csr_array, rewards: Floats, bias: Floats) -> Floats:
    """Return rewards + transitions @ bias, shape (actions, states)."""
    return rewards + (rows @ bias).reshape(rewards.shape)


def policy_chain(rows: sparse.csr_array, policy: Ints) -> sparse.csr_array:
    """Return the transition matrix of a policy, shape (states, states)."""
    states = policy.size
    return rows[policy * states + np.arange(states)]


def largest(rewards: Floats) -> float:
    """Return the largest absolute value of an allowed reward; 1e-300 where all are zero."""
    return max(float(np.abs(rewards[np.isfinite(rewards)]).max()), 1e-300)


def most_visited(chain: sparse.csr_array, members: Ints) -> int:
    """Return a state among `members` of large stationary probability, as a reference."""
    submatrix = chain[members][:, members].T.tocsr()
    mass = np.full(members.size, 1.0 / members.size)
    for _ in range(64):
        mass = 0.5 * (mass + submatrix @ mass)
    return int(members[mass.argmax()])


def relative_values(
    chain: sparse.csr_array, reward: Floats, reference: int
) -> tuple[float, Floats]:
    """Return g and h, zero at `reference`, with h(s) + g = reward(s) + sum_t chain[s, t] h(t).

    If `chain` has one recurrent class they are gain and bias. If `chain` is a discount b times a
    chain, its discounted values are g / (1 - b) + h; the digits that all values have in common as b
    tends to 1 are in g alone. Raises NotConverged if the system is singular in floating point.
    """
    states = reward.size
    # As h(reference) = 0, the column of the reference state holds the coefficients of the gain.
    others = sparse.coo_array(sparse.eye_array(states) - chain)
    not_reference = others.col != reference
    entries = np.append(others.data[not_reference], np.ones(states))
    rows = np.append(others.row[not_reference], np.arange(states))
    columns = np.append(others.col[not_reference], np.full(states, reference))
    system = sparse.csc_array((entries, (rows, columns)), shape=chain.shape)
    try:
        factor = splu(system)
    except RuntimeError as error:
        raise NotConverged(
            "a policy's linear system is singular in floating point: its chain has several "
            "recurrent classes, or nearly so"
        ) from error
    bias = factor.solve(reward)
    bias += factor.solve(reward - system @ bias)  # one step of iterative refinement
    gain = float(bias[reference])
    bias[reference] = 0.0
    return gain, bias
