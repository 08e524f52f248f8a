"""Factors of A = I - b P where few of its entries are not zero, or few of its rows reach back.

Elimination in the order of the states fills a row only from its first entry that is not zero on,
and a column only from its own first one: the envelope. If k is eliminated while l(k) later rows and
u(k) later columns have begun, it costs l(k) u(k) multiplications. Wear by a bounded number of
levels (a band), shocks that lead to the worst state (an arrow) and wear without repair (a triangle)
have small envelopes; there SuperLU takes a small part of the time of a dense factorisation, with
the same pivots in the same order.

Reference: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981),
chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu, spsolve_triangular

Floats = NDArray[np.float64]

STATES_FROM = 200
"""From this many states on it is worth while to look at the envelope."""
PENALTY = 50.0
"""How many multiplications of a dense factorisation take the time of one in an envelope."""


class Factors(NamedTuple):
    """A factorised system A^T = L U without exchanges, L with ones on its diagonal.

    Attributes
    ----------
    pivots : ndarray, shape (states,)
        Diagonal of U.
    values : callable
        Solves U^T x = right, for right sides of shape (states, n): values when a state is
        eliminated.
    visits : callable
        Solves L x = visits: visits to each state on first entry.
    """

    pivots: Floats
    values: Callable[[Floats], Floats]
    visits: Callable[[Floats], Floats]


def envelope_cost(matrix: Floats) -> float:
    """Return how many multiplications elimination of a square matrix takes in its envelope.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        With a diagonal that counts as not zero.

    Returns
    -------
    float
        Sum over k of (1 + l(k)) (1 + u(k)); n (n + 1) (2 n + 1) / 6 for a full matrix.
    """
    there = matrix != 0.0
    np.fill_diagonal(there, True)
    waiting = []
    for first in (there.argmax(axis=1), there.argmax(axis=0)):
        begun = np.cumsum(np.bincount(first, minlength=first.size))
        waiting.append(begun - np.arange(first.size))  # the k-th itself counts for the 1
    return float(np.dot(waiting[0].astype(float), waiting[1]))


def factors_in_envelope(passive: Floats, discount: float) -> Factors | None:
    """Factorise A = I - b P in its envelope; None where a dense factorisation takes less.

    Parameters
    ----------
    passive : ndarray, shape (states, states)
    discount : float
        At 1, the last pivot of a closed class, which is 0, is set to 1.

    Returns
    -------
    Factors
        None also if a pivot is 0.
    """
    states = len(passive)
    if states < STATES_FROM or PENALTY * envelope_cost(passive) > states**3 / 3:
        return None
    chain = sparse.csr_array(passive)
    ends = np.zeros(states)
    ends[-1] = discount == 1
    system = sparse.eye_array(states) + sparse.diags_array(ends) - discount * chain
    try:
        lu = splu(
            sparse.csc_array(system.T),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"Equil": False},
        )
    except RuntimeError:  # so SuperLU calls a matrix that is singular
        return None
    if not np.array_equal(lu.perm_r, np.arange(states)):
        return None
    upper, lower = sparse.csr_array(lu.U.T), sparse.csr_array(lu.L)
    return Factors(
        lu.U.diagonal(),
        lambda right: spsolve_triangular(upper, right, lower=True),
        lambda visits: spsolve_triangular(lower, visits, lower=True, unit_diagonal=True),
    )
