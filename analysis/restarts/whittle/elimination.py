"""All passive sets of a restart arm from one factorisation.

Let S be the states left passive, A = I - b P, r = c0 - c1 + b P c1, and let the cycle start from Q.
Then L = Q c1 + Q_S A_SS^-1 r_S (discounted cost of a cycle), M = 1 + b Q_S A_SS^-1 1 (its length).
Adding a state s to S is one step of Gaussian elimination of A, with right-hand sides r and 1:

    L <- L + a h,   M <- M + b a g,   a = expected discounted visits to s on first entry,

where h = num(s)/pivot, g = den(s)/pivot after the steps before. The ratio num(s)/den(s) is the
critical value nu(s) of the stopping problem u = min(0, r - nu + b P u): the cost per discounted
epoch above which s is better left alone. The subsidy at which s ties is w(s) = nu(s) M - b L, and w
grows with nu along the elimination at the rate M >= 1, which is why every restart arm is indexable.
Pivots are sums of terms of one sign (Grassmann, Taksar and Heyman), so none cancels.

Where cycles are long, M may be beyond 1e16 and all nu agree in every digit. What is eliminated is
therefore the excess e(i) = num(i) - nu den(i) over the critical value nu reached so far: it does
not change when a state is eliminated, and the next nu is higher by e(s)/den(s), with no difference
of two gains. `rounding` estimates how far rounding moves the index, and corrects it.

Where few entries of A are not zero, or few of its rows reach back, elimination in the order of the
states fills a row only from its first entry that is not zero on, and a column only from its own
first one: the envelope. If k is eliminated while l(k) later rows and u(k) later columns have begun,
it costs l(k) u(k) multiplications. Where a passive epoch never improves the state, A is a triangle,
l = 0, and there is nothing to eliminate. Where it moves the state by a few levels only, A is a
band, and SuperLU takes a small part of the time of a dense factorisation, with the same pivots in
the same order (George and Liu 1981, chapter 4).

Source: the restart slides (2019), slides 11 to 16. In the order of critical values it is the
elimination that gives the Gittins index of -r (Sonin 2008, Nino-Mora 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dtrtrs
from scipy.sparse.linalg import splu, spsolve_triangular

from analysis.arrays import Floats, Ints, one_thread
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, stack_arms
from analysis.restarts.whittle.elimination_steps import (
    Outcome,
    eliminate_batch,
    read_elimination,
)
from analysis.restarts.whittle.rounding import (
    MOST_BITS,
    TOLERANCE,
    Elimination,
    eliminate_in_balls,
    eliminate_in_floats,
)
from analysis.results import NotConverged

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


def count_begun(matrix: Floats) -> tuple[Floats, Floats]:
    """Return 1 + l(k) and 1 + u(k), rows and columns that have begun when k is eliminated.

    The diagonal counts as not zero.
    """
    nonzero = matrix != 0.0
    np.fill_diagonal(nonzero, True)
    rows, columns = (
        np.cumsum(np.bincount(first, minlength=first.size)) - np.arange(first.size)
        for first in (nonzero.argmax(axis=1), nonzero.argmax(axis=0))
    )
    return rows.astype(np.float64), columns.astype(np.float64)


def factorise_in_envelope(passive: Floats, discount: float) -> Factors | None:
    """Factorise A = I - b P in its envelope; None if that is slow, or a pivot is 0.

    At discount 1 the last pivot of a closed class, which is 0, is set to 1.
    """
    states = len(passive)
    rows, columns = count_begun(passive)
    if (rows == 1).all():
        return _factorise_triangle(passive, discount)
    if states < STATES_FROM or PENALTY * float(rows @ columns) > states**3 / 3:
        return None
    return _factorise_band(passive, discount)


def _factorise_triangle(passive: Floats, discount: float) -> Factors:
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


def _factorise_band(passive: Floats, discount: float) -> Factors | None:
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


#: From this many states on, the factorisation in state order is left to LAPACK.
LAPACK_FROM = 64
#: A factorisation by LAPACK, which reads the diagonal of P, takes rows that sum to 1 this closely.
EXACT_ROWS = 1e-12
#: Up to this many states, an elimination that rounding disturbs is repeated in ball arithmetic.
BALLS_TO = 300
#: An elimination in floating point is not repeated where its error is at most this.
SAFE = 1e-10


def eliminate(arm: RestartArm, discount: float, *, adaptive: bool) -> Elimination | None:
    """Eliminate an arm's states in state order or, if `adaptive`, in order of their critical value.

    Returns None at discount 1, in state order, if a class closes before a state that does not lead
    there without later ones: the policies in between have several average costs. Raises ValueError
    at discount 1 if the passive chain has several closed classes, and NotConverged if rounding may
    have moved a crossing by more than `TOLERANCE`.
    """
    elimination = _eliminate_carefully(arm, discount, adaptive)
    if elimination is None:
        classes = recurrent_classes(sparse.csr_array(arm.passive))
        if len(classes) > 1:
            raise multichain_error(f"states {classes[0].tolist()}")
        return None
    return elimination


def _eliminate_carefully(arm: RestartArm, discount: float, adaptive: bool) -> Elimination | None:
    """Eliminate with as much care as the arm needs; None as `eliminate`."""
    elimination = None
    if arm.states >= LAPACK_FROM and arm.short < EXACT_ROWS:
        with one_thread(arm.states):
            elimination = (
                _search_order(arm, discount) if adaptive else _eliminate_in_order(arm, discount)
            )
    if elimination is None or not elimination.residual <= SAFE:
        elimination = eliminate_in_floats(arm, discount, adaptive=adaptive, probes=False)
    if elimination is not None and not elimination.residual <= SAFE:
        elimination = eliminate_in_floats(arm, discount, adaptive=adaptive, probes=True)
    advice = f"arms of up to {BALLS_TO} states are solved in as many digits as they take"
    if elimination is not None and not elimination.residual <= SAFE and arm.states <= BALLS_TO:
        try:
            elimination = eliminate_in_balls(arm, discount, adaptive=adaptive, tolerance=SAFE)
            advice = f"an elimination in {MOST_BITS} bits does not tell more"
        except ImportError:
            advice = f"with python-flint installed, {advice}"
    if elimination is not None and not elimination.residual <= TOLERANCE:
        raise NotConverged(
            f"rounding may have moved the index of an arm of {arm.states} states by "
            f"{elimination.residual:.2g} of its size at discount {discount!r}, where cycles last "
            f"up to {np.nanmax(elimination.length[:-1]):.2g} epochs; {advice}"
        )
    return elimination


class Eliminations(NamedTuple):
    """What `Elimination` holds, by arm first, of several arms in an optimal order each."""

    order: Ints
    crossings: Floats
    cost: Floats
    length: Floats
    activity: Floats


def eliminate_all(arms: Sequence[RestartArm], discount: float) -> Eliminations:
    """Eliminate arms of one size, each in state order where that is optimal.

    Raises ValueError if the arms differ in size or, at discount 1, a passive chain has several
    closed classes, and NotConverged as `eliminate`.
    """
    passive, reset, passive_cost, active_cost = stack_arms(arms)
    count, states = reset.shape
    order, error = np.empty((count, states), dtype=np.int64), np.empty(count)
    crossings = np.empty((count, states))
    cost, length, activity = np.empty((3, count, states + 1))
    without = eliminate_batch(
        passive, reset, passive_cost, active_cost, discount,
        order, crossings, cost, length, activity, error,
    )  # fmt: skip
    if without >= 0:
        raise multichain_error(f"the states of arms[{without}]")
    for n in np.flatnonzero(~(error <= SAFE)):
        single = eliminate(arms[int(n)], discount, adaptive=True)
        assert single is not None  # as the batch went through
        order[n], crossings[n], cost[n] = single.order, single.crossings, single.cost
        length[n], activity[n] = single.length, single.activity
    return Eliminations(order, crossings, cost, length, activity)


def multichain_error(where: str) -> ValueError:
    """Return the error for an arm whose average-cost index does not exist."""
    return ValueError(
        "discount must be below 1 for this arm, got 1.0: its passive chain has several closed "
        f"classes, the first found among {where}"
    )


def _search_order(arm: RestartArm, discount: float) -> Elimination | None:
    """Find the order of critical values by factorising in a guess and sorting by what comes out.

    An order along which critical values never fall is the greedy one, so the search proves its own
    result; None where it has not settled after a few rounds (three or four are usual).
    """
    order = np.argsort(arm.stopping_cost(discount), kind="stable")
    for _ in range(8):
        elimination = _eliminate_in_order(arm, discount, order)
        if elimination is None or elimination.rising:
            return elimination
        order = order[np.argsort(elimination.critical, kind="stable")]
    return None


def _factorise_dense(passive: Floats, discount: float) -> Factors | None:
    """Factorise A by LAPACK; None where a row would have to move.

    A is diagonally dominant by rows, so its transpose, which is how LAPACK sees a C-ordered array,
    is dominant by columns: partial pivoting leaves every row where it is.
    """
    states = len(passive)
    a = np.multiply(passive, -discount)
    a.flat[:: states + 1] += 1.0
    lu, rows, _ = dgetrf(a.T, overwrite_a=1)
    if not np.array_equal(rows, np.arange(states)):
        return None
    if discount == 1:
        lu[-1, -1] = 1.0
    return Factors(
        lu.diagonal(),
        lambda right: dtrtrs(lu, np.asfortranarray(right), trans=1, overwrite_b=1)[0],
        lambda visits: dtrtrs(lu, visits, lower=1, unitdiag=1)[0],
    )


def _eliminate_in_order(
    arm: RestartArm, discount: float, order: Ints | None = None
) -> Elimination | None:
    """Eliminate in a given order by LAPACK, or by what structure allows.

    None where a closed class ends early (discount 1).
    """
    states = arm.states
    idle, repair = arm.passive_cost, arm.active_cost
    idle, repair = idle - idle.min(), repair - repair.min()
    cost = idle - repair + discount * (arm.passive @ repair)
    visits, passive = arm.reset, arm.passive
    if order is None:
        order = np.arange(states)
    else:
        passive = passive[order][:, order]
        cost, visits = cost[order], visits[order]
    factors = factorise_in_envelope(passive, discount) or _factorise_dense(passive, discount)
    if factors is None or (factors.pivots[:-1] <= 1e-13).any():
        return None
    h, g = factors.values(np.column_stack([cost, np.ones(states)])).T
    outcome = Outcome(order, *np.empty((2, states)), *np.empty((3, states + 1)))
    rising, residual = read_elimination(
        arm.passive_cost, arm.active_cost, discount, float(arm.reset @ repair),
        cost, h, g, factors.visits(visits), factors.pivots, outcome,
    )  # fmt: skip
    return Elimination(*outcome, rising, residual)
