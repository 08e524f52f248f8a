"""Factors of A = I - b P where few of its entries are not zero, or few of its rows reach back.

Elimination in the order of the states fills a row only from its first entry that is not zero on,
and a column only from its own first one: the envelope. If k is eliminated while l(k) later rows and
u(k) later columns have begun, it costs l(k) u(k) multiplications. Where a passive epoch never
improves the state, A is a triangle, l = 0, and there is nothing to eliminate. Where it moves the
state by a few levels only, A is a band, and SuperLU takes a small part of the time of a dense
factorisation, with the same pivots in the same order.

Reference: George and Liu, Computer Solution of Large Sparse Positive Definite Systems (1981),
chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dtrtrs
from scipy.sparse.linalg import splu, spsolve_triangular

from analysis.arrays import Floats

STATES_FROM = 700
"""From this many states on SuperLU's own preparations are worth while."""
PENALTY = 1000.0
"""So many multiplications of a dense factorisation at most take the time of one in an envelope."""


class Factors(NamedTuple):
    """A factorised system A^T = L U without exchanges, L with ones on its diagonal.

    `pivots`, shape (states,), is the diagonal of U. `values` solves U^T x = right for right sides
    of shape (states, n): values when a state is eliminated. `visits` solves L x = visits: visits to
    each state on first entry.
    """

    pivots: Floats
    values: Callable[[Floats], Floats]
    visits: Callable[[Floats], Floats]


def begun(matrix: Floats) -> tuple[Floats, Floats]:
    """Return 1 + l(k) and 1 + u(k), rows and columns that have begun when k is eliminated.

    The diagonal counts as not zero.
    """
    there = matrix != 0.0
    np.fill_diagonal(there, True)
    rows, columns = (
        np.cumsum(np.bincount(first, minlength=first.size)) - np.arange(first.size)
        for first in (there.argmax(axis=1), there.argmax(axis=0))
    )
    return rows.astype(np.float64), columns.astype(np.float64)


def factors_in_envelope(passive: Floats, discount: float) -> Factors | None:
    """Factorise A = I - b P in its envelope; None if that is slow, or a pivot is 0.

    At discount 1 the last pivot of a closed class, which is 0, is set to 1.
    """
    states = len(passive)
    rows, columns = begun(passive)
    if (rows == 1).all():
        return _triangle(passive, discount)
    if states < STATES_FROM or PENALTY * float(rows @ columns) > states**3 / 3:
        return None
    return _sparse(passive, discount)


def _triangle(passive: Floats, discount: float) -> Factors:
    """Return the factors of a lower triangle A^T: U is its diagonal, L the columns over it."""
    a = np.multiply(passive, -discount)
    a.flat[:: len(a) + 1] += 1.0
    if discount == 1:
        a[-1, -1] = 1.0
    pivots = a.diagonal()
    return Factors(
        pivots,
        lambda right: right / pivots[:, None],
        lambda visits: pivots * dtrtrs(a.T, visits, lower=1)[0],
    )


def _sparse(passive: Floats, discount: float) -> Factors | None:
    """Return the factors that SuperLU finds without exchanges; None if a pivot is 0."""
    states = len(passive)
    ends = np.zeros(states)
    ends[-1] = discount == 1
    system = sparse.diags_array(1.0 + ends) - discount * sparse.csr_array(passive)
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
