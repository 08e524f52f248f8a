"""All passive sets of a restart arm from one elimination, and how far rounding moves the index.

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
of two gains.

*Structure.* Where few entries of A are not zero, or few of its rows reach back, elimination in the
order of the states fills a row only from its first entry that is not zero on, and a column only
from its own first one: the envelope. If k is eliminated while l(k) later rows and u(k) later
columns have begun, it costs l(k) u(k) multiplications. Where a passive epoch never improves the
state, A is a triangle, l = 0, and there is nothing to eliminate. Where it moves the state by a few
levels only, A is a band, and SuperLU takes a small part of the time of a dense factorisation, with
the same pivots in the same order (George and Liu 1981, chapter 4).

*Rounding.* A bound on the error that holds where cycles are short is checked first. Elsewhere
random errors of the size of rounding are added to every term and carried through the elimination:
what reaches the index says how far rounding itself can have moved it (small-sample statistical
condition estimation, Kenney and Laub 1994). An arm whose index is moved too far is eliminated in
ball arithmetic (Johansson 2017), by the same steps, with as many bits as that takes.

Source: the restart slides (2019), slides 11 to 16. In the order of critical values it is the
elimination that gives the Gittins index of -r (Sonin 2008, Nino-Mora 2007). Kenney and Laub,
Small-sample statistical condition estimates for general matrix functions, SIAM Journal on
Scientific Computing 15; Johansson, Arb: efficient arbitrary-precision midpoint-radius interval
arithmetic, IEEE Transactions on Computers 66.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dtrtrs
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu, spsolve_triangular

from analysis.arrays import Floats, Ints, one_thread, read_only_arrays
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, stack_arms
from analysis.restarts.elimination_steps import (
    UNDECIDED,
    Arm,
    Outcome,
    Steps,
    System,
    eliminate_arm,
    eliminate_batch,
    eliminate_in_place,
    read_elimination,
    restore_costs,
    set_up_elimination,
    sum_crossings,
)
from analysis.results import NotConverged

#: Largest error of an index, relative to its size and the spread of the costs of either action.
TOLERANCE = 1e-9
#: Errors that are sown at a time.
PROBES = 4
#: Bits of the first elimination in balls, and of the last.
LEAST_BITS, MOST_BITS = 256, 65536
NO_SIGNS, NOTHING_LOST = np.empty((0, 0)), np.empty(0)


STATES_FROM = 700
"""From this many states on SuperLU's own preparations are worth while."""
PENALTY = 1000.0
"""So many multiplications of a dense factorisation at most take the time of one in an envelope."""
#: From this many states on, the factorisation in state order is left to LAPACK.
LAPACK_FROM = 64
#: A factorisation by LAPACK, which reads the diagonal of P, takes rows that sum to 1 this closely.
EXACT_ROWS = 1e-12
#: Up to this many states, an elimination that rounding disturbs is repeated in ball arithmetic.
BALLS_TO = 300
#: An elimination in floating point is not repeated where its error is at most this.
SAFE = 1e-10


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Elimination:
    """What one elimination found; k counts the states of `order` left passive.

    Attributes
    ----------
    order : ndarray of int, shape (states,)
    critical, crossings : ndarray, shape (states,)
        nu and w along the order.
    cost, length, activity : ndarray, shape (states + 1,)
        L(k), M(k) and N(k), the normalised discounted number of active epochs. L is nan and M
        infinite where the arm is never active again (discount 1); M is infinite above 1e308.
    rising : bool
        Whether critical values never fall along the order, which is then optimal.
    residual : float
        Estimate of the largest error of a crossing, relative to its size and the spread of the
        costs of either action.
    """

    order: Ints
    critical: Floats
    crossings: Floats
    cost: Floats
    length: Floats
    activity: Floats
    rising: bool
    residual: float


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


# Factorisations in the order of the states


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


# What rounding does to an elimination, and eliminations in ball arithmetic


@lru_cache
def _signs(states: int) -> Floats:
    """Return random signs, each with a weight of its own, so that no two errors cancel exactly."""
    rng = np.random.default_rng(states)
    size = (PROBES, states)
    return rng.uniform(0.5, 1.0, size) * rng.choice([-1.0, 1.0], size)


def _lost(values: Floats, differences: Floats) -> Floats:
    """Return exactly what values less the least of them lost to rounding (Knuth's two-sum)."""
    least = values - differences
    return (values - (differences + least)) + (least - values.min())


def _rounding_of_costs(arm: RestartArm, discount: float) -> Floats:
    """Return the terms of r that are rounded; 0 where r is exact."""
    idle, repair = (cost - cost.min() for cost in (arm.passive_cost, arm.active_cost))
    if not repair.any():
        return idle * (_lost(arm.passive_cost, idle) != 0)
    moved = np.abs(arm.active_cost - arm.active_cost[:, None])
    return idle + (1 - discount) * repair + discount * (arm.passive * moved).sum(axis=1)


def eliminate_in_floats(
    arm: RestartArm, discount: float, *, adaptive: bool, probes: bool
) -> Elimination | None:
    """Eliminate in floating point; the error is bounded, or estimated from errors sown.

    None where fewer states can be eliminated than there are; see `eliminate_in_place`.
    """
    states = arm.states
    order = np.empty(states, dtype=np.int64)
    outcome = Outcome(order, *np.empty((2, states)), *np.empty((3, states + 1)))
    signs, lost = NO_SIGNS, NOTHING_LOST
    if probes:
        signs, lost = _signs(states), _rounding_of_costs(arm, discount)
    arrays = Arm(arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    done, rising, error = eliminate_arm(arrays, discount, signs, lost, adaptive, outcome)
    return Elimination(*outcome, rising, error) if done else None


def eliminate_in_balls(
    arm: RestartArm, discount: float, *, adaptive: bool, tolerance: float
) -> Elimination | None:
    """Eliminate in ball arithmetic, with more and more bits until the error is small enough.

    None where fewer states can be eliminated than there are; see `eliminate_in_place`. Where terms
    of the size of 1 - b decide at discount 1, the limit of discounts that tend to it is found.
    Raises ImportError if python-flint is not installed.
    """
    from flint import arb, ctx

    bits = LEAST_BITS
    while True:
        with ctx.workprec(bits):
            elimination = _one_in_balls(arm, arb(discount), adaptive)
        # More bits tell apart what differs; what may tie even then is left to the limit.
        if isinstance(elimination, int):
            negligible = _negligible(arm)
            if bits >= min(negligible, MOST_BITS):
                return _limit_in_balls(arm, adaptive, tolerance, negligible)
        elif elimination is None or elimination.residual <= tolerance or bits >= MOST_BITS:
            return elimination
        bits *= 2


def _negligible(arm: RestartArm) -> int:
    """Return bits such that 1 - b = 2^-bits is negligible at whatever pace the passive chain moves.

    A state that can be reached is reached by a path of probability 2^-d or more, d being the
    longest of all shortest paths in the lengths -log2 P. A set of n states that can be left is
    therefore left within n 2^d epochs on average, whose square is short beside 1/(1 - b).
    """
    nonzero = arm.passive > 0
    steps = np.zeros_like(arm.passive)
    # A step that is certain has a length too, as no entry stands for no step.
    steps[nonzero] = 1e-9 - np.log2(arm.passive[nonzero])
    paths = csgraph.shortest_path(sparse.csr_array(steps))
    longest = float(paths[np.isfinite(paths)].max()) + np.log2(arm.states)
    bits = LEAST_BITS
    while bits < 2 * longest + LEAST_BITS / 2:
        bits *= 2
    return bits


def _limit_in_balls(arm: RestartArm, adaptive: bool, tolerance: float, bits: int) -> Elimination:
    """Eliminate at discounts 1 - 2^-bits until the crossings of two of them agree.

    Begun with the bits of `_negligible`, a cycle of more than 2^(bits/2) epochs is one that does
    not end at discount 1. Raises NotConverged if the first two discounts take more than
    `MOST_BITS`.
    """
    from flint import arb, ctx

    if 8 * bits > MOST_BITS:
        raise NotConverged(
            f"states of an arm of {arm.states} states tie at discount 1, and which comes first is "
            f"decided by terms of the size of 1 - discount; its passive chain is so slow that a "
            f"discount of 1 - 2^-{bits} would be needed to tell: take a discount below 1"
        )
    previous = np.full(arm.states, np.inf)
    spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
    while True:
        with ctx.workprec(4 * bits):
            elimination = _one_in_balls(arm, 1 - arb(2) ** -bits, adaptive)
        assert isinstance(elimination, Elimination)  # below discount 1 every state is eliminated
        crossings = np.empty(arm.states)
        crossings[elimination.order] = elimination.crossings
        with np.errstate(invalid="ignore"):
            change = np.abs(crossings - previous) / (np.abs(crossings) + spread)
        residual = max(
            elimination.residual, float(np.nan_to_num(change, nan=0.0, posinf=np.inf).max())
        )
        if residual <= tolerance or 8 * bits > MOST_BITS:
            endless = np.log2(elimination.length) > bits / 2
            return replace(
                elimination,
                cost=np.where(endless, np.nan, elimination.cost),
                length=np.where(endless, np.inf, elimination.length),
                activity=np.where(endless, 0.0, elimination.activity),
                residual=residual,
            )
        bits, previous = 2 * bits, crossings


def _balls(values: Floats) -> NDArray[np.object_]:
    from flint import arb

    return np.array([arb(float(x)) for x in values.flat], dtype=object).reshape(values.shape)


def _one_in_balls(arm: RestartArm, b: Any, adaptive: bool) -> Elimination | int | None:
    """Return the elimination at a discount; `UNDECIDED` as `eliminate_in_place` says."""
    from flint import arb

    states = arm.states
    passive, reset, idle, repair = (
        _balls(x) for x in (arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    )
    order = np.empty(states, dtype=np.int64)
    a, excess, rises = (np.empty((rows, states), dtype=object) for rows in (states, 1, 1))
    den, visits, dens, critical, crossings = np.empty((5, states), dtype=object)
    weights, cost, length, activity = np.empty((4, states + 1), dtype=object)
    begin, _, spread = set_up_elimination(
        passive, reset, idle, repair, b, a, visits, excess, den, cost, length, activity
    )
    steps = Steps(order, critical, rises, weights, dens, cost, length, activity)
    done, closing = eliminate_in_place(
        System(a, visits, excess, den), b, np.empty((0, states)), adaptive, 0, steps
    )
    if done < states:
        return None
    if closing == UNDECIDED:
        return UNDECIDED
    sum_crossings(begin, rises[0], weights, crossings)
    error = float(np.finfo(float).eps)
    longest = max(arb(weight).abs_upper() for weight in weights[:-1])
    for k in range(states):
        wrong = crossings[k].rad()
        if k > 0 and not rises[0, k] > 0:
            # What looks like nothing may come first or second; see `elimination_steps`.
            wrong += rises[0, k].rad() * arb(dens[k]).abs_upper() * longest**2
        if wrong > 0:
            share = float(wrong / (abs(crossings[k]).mid() + spread.mid()))
            error = max(error, share) if share < np.inf else np.inf
    restore_costs(idle, repair, b, critical, cost, length, activity)
    rising = all(rise > 0 or rise.contains(0) for rise in rises[0, 1:])
    return Elimination(
        order, _middles(critical), _middles(crossings), _middles(cost), _middles(length),
        _middles(activity), rising, error,
    )  # fmt: skip


def _middles(values: NDArray[np.object_]) -> Floats:
    return np.array([float(x if isinstance(x, float) else x.mid()) for x in values])
