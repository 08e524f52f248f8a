"""All passive sets of a restart arm from one factorisation.

Let S be the states left passive, A = I - b P, r = c0 - c1 + b P c1, and let the cycle start from Q.
Then L = Q c1 + Q_S A_SS^-1 r_S (discounted cost of a cycle), M = 1 + b Q_S A_SS^-1 1 (its length).
Adding a state s to S is one step of Gaussian elimination of A, with right-hand sides r and 1:

    L <- L + a h,   M <- M + b a g,   a = expected discounted visits to s on first entry,

where h = num(s)/pivot, g = den(s)/pivot after the steps before. The ratio num(s)/den(s) is the
critical value nu(s) of the stopping problem u = min(0, r - nu + b P u): the cost per discounted
epoch above which s is better left alone. The subsidy at which s ties is w(s) = nu(s) M - b L, and
w grows with nu along the elimination at the rate M >= 1, which is why every restart arm is
indexable. Pivots are sums of terms of one sign (Grassmann, Taksar and Heyman), so none cancels.

Source: the restart slides (2019), slides 11 to 16. In the order of critical values it is the
elimination that gives the Gittins index of -r (Sonin 2008, Nino-Mora 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dtrtrs

from analysis.mdp.chains import recurrent_classes
from analysis.restarts.arm import RestartArm, stack_arms
from analysis.restarts.envelope import Factors, factors_in_envelope

#: From this many states on, the factorisation in state order is left to LAPACK.
LAPACK_FROM = 64


@njit(cache=True)
def _eliminate(a, visits, num, den, discount, adaptive, order, critical, crossings, cost, length):  # type: ignore[no-untyped-def]
    """Eliminate in place; return the number of states done, and whether critical values never fall.

    Fewer states are done only at discount 1, where one does not lead into the class closed before.

    On entry `a` is A = I - b P (its diagonal is not read), `visits` is Q, `num` is r, `den` is 1,
    cost[0] and length[0] are L(0) and M(0). At discount 1 a closed class ends with pivot 0: its
    average cost is the greatest gain that leaving it passive can have, and states that still lead
    into it are told apart by cost per unit of probability of ending there. A fall among these shows
    in no crossing if Q does not lead into the class, so that it is looked for here.
    """
    states = a.shape[0]
    for i in range(states):
        order[i] = i
    leak = 1.0 - discount
    closed, gain, slope, last, rising = False, 0.0, 1.0, 0.0, True
    for k in range(states):
        s = k
        if adaptive:
            for i in range(k + 1, states):
                # num/den compared without dividing; den is never negative.
                left, right = num[i] * den[s], num[s] * den[i]
                if den[i] > 0 and (
                    den[s] == 0 or left < right or (left == right and order[i] < order[s])
                ):
                    s = i
            if s != k:
                _swap(a, visits, num, den, order, k, s)
        if den[k] == 0.0:
            return k, False
        off = 0.0
        for j in range(k + 1, states):
            off -= a[k, j]
        ratio = num[k] / den[k]
        if closed and ratio < last - 1e-12 * (abs(ratio) + abs(gain)):
            rising = False
        if k == 0:
            crossings[0] = ratio - discount * cost[0]
        else:
            crossings[k] = crossings[k - 1] + (ratio - last) * slope
        critical[k] = gain if closed else ratio
        pivot = leak * den[k] + off
        if pivot == 0.0:
            cost[k + 1], length[k + 1] = cost[k], length[k]
            if visits[k] > 0:
                cost[k + 1], length[k + 1] = np.nan, np.inf
            closed, gain, leak, slope, last = True, ratio, 1.0, visits[k], 0.0
            for i in range(k + 1, states):
                num[i] -= gain * den[i]
                den[i] = -a[i, k]
            continue
        first = visits[k] / pivot
        if not closed:
            cost[k + 1] = cost[k] + first * num[k]
            length[k + 1] = length[k] + discount * first * den[k]
            slope = length[k + 1]
        else:
            slope += first * den[k]
            cost[k + 1], length[k + 1] = cost[k], length[k]
            if slope > 0:
                cost[k + 1], length[k + 1] = np.nan, np.inf
        last = ratio
        for j in range(k + 1, states):
            visits[j] -= first * a[k, j]
        for i in range(k + 1, states):
            f = a[i, k] / pivot
            if f != 0.0:
                num[i] -= f * num[k]
                den[i] -= f * den[k]
                for j in range(k + 1, states):
                    a[i, j] -= f * a[k, j]
    return states, rising


@njit(cache=True)
def _swap(a, visits, num, den, order, k, s):  # type: ignore[no-untyped-def]
    for vector in (visits, num, den):
        vector[k], vector[s] = vector[s], vector[k]
    order[k], order[s] = order[s], order[k]
    for j in range(a.shape[0]):
        a[k, j], a[s, j] = a[s, j], a[k, j]
    for i in range(a.shape[0]):
        a[i, k], a[i, s] = a[i, s], a[i, k]


@njit(cache=True)
def _start(passive, c0, c1, discount, a, num):  # type: ignore[no-untyped-def]
    states = c0.shape[0]
    for i in range(states):
        total = 0.0
        for j in range(states):
            a[i, j] = -discount * passive[i, j]
            total += passive[i, j] * c1[j]
        num[i] = c0[i] - c1[i] + discount * total


@njit(cache=True)
def _eliminate_batch(passive, reset, c0, c1, discount, order, crossings, cost, length):  # type: ignore[no-untyped-def]
    """Eliminate a batch of arms in an optimal order; return the first arm without one, or -1.

    `passive` is (n, K, K), `reset`, `c0`, `c1` are (n, K). Filled are `order` and `crossings`
    (n, K), `cost` and `length` (n, K + 1): in state order where its crossings never fall.
    """
    arms, states = c0.shape
    a, critical = np.empty((states, states)), np.empty(states)
    num, den, visits = np.empty(states), np.empty(states), np.empty(states)
    for n in range(arms):
        found = False
        for adaptive in (False, True):
            _start(passive[n], c0[n], c1[n], discount, a, num)
            cost[n, 0], length[n, 0] = 0.0, 1.0
            for x in range(states):
                visits[x], den[x] = reset[n, x], 1.0
                cost[n, 0] += reset[n, x] * c1[n, x]
            done, rising = _eliminate(
                a, visits, num, den, discount, adaptive,
                order[n], critical, crossings[n], cost[n], length[n],
            )  # fmt: skip
            found = done == states and (adaptive or (rising and is_nondecreasing(crossings[n])))
            if found:
                break
        if not found:
            return n
    return -1


@njit(cache=True)
def is_nondecreasing(values):  # type: ignore[no-untyped-def]
    """Whether values never fall along the order, but for rounding."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    risen = 1
    for k in range(1, values.size):
        risen += values[k] - values[k - 1] >= -1e-12 * largest
    return risen == values.size


@dataclass(frozen=True, eq=False)
class Elimination:
    """What one elimination found; k counts the states of `order` left passive.

    Attributes
    ----------
    order : ndarray of int, shape (states,)
    critical, crossings : ndarray, shape (states,)
        nu and w along the order.
    cost, length : ndarray, shape (states + 1,)
        L(k) and M(k); at discount 1, nan and infinite where the arm is never active again.
    rising : bool
        Whether critical values never fall among states eliminated after a class has closed.
    """

    order: NDArray[np.int64]
    critical: NDArray[np.float64]
    crossings: NDArray[np.float64]
    cost: NDArray[np.float64]
    length: NDArray[np.float64]
    rising: bool


def eliminate(arm: RestartArm, discount: float, *, adaptive: bool) -> Elimination | None:
    """Eliminate the states of an arm, in state order or in order of their critical value.

    Parameters
    ----------
    arm : RestartArm
    discount : float
        In (0, 1].
    adaptive : bool
        Whether to choose the next state by its critical value rather than by its number.

    Returns
    -------
    Elimination
        None at discount 1, in state order, if a class closes before a state that does not lead
        there without later ones: the policies in between have several average costs.

    Raises
    ------
    ValueError
        At discount 1, if the passive chain has several closed classes.
    """
    states = arm.states
    if states >= LAPACK_FROM:
        found = _search_order(arm, discount) if adaptive else _eliminate_in_order(arm, discount)
        if found is not None:
            return found
    a, num = -discount * arm.passive, arm.stopping_cost(discount)
    order = np.empty(states, dtype=np.int64)
    critical, crossings = np.empty(states), np.empty(states)
    cost, length = np.empty(states + 1), np.empty(states + 1)
    cost[0], length[0] = arm.reset @ arm.active_cost, 1.0
    done, rising = _eliminate(
        a, arm.reset.copy(), num, np.ones(states), discount, adaptive,
        order, critical, crossings, cost, length,
    )  # fmt: skip
    if done == states:
        return Elimination(order, critical, crossings, cost, length, adaptive or rising)
    classes = recurrent_classes(sparse.csr_array(arm.passive))
    if len(classes) > 1:
        raise multichain_error(f"states {classes[0].tolist()}")
    return None


class Eliminations(NamedTuple):
    """What the eliminations of several arms found, in an optimal order of each; see `Elimination`.

    Attributes
    ----------
    order : ndarray of int, shape (arms, states)
    crossings : ndarray, shape (arms, states)
    cost, length : ndarray, shape (arms, states + 1)
    """

    order: NDArray[np.int64]
    crossings: NDArray[np.float64]
    cost: NDArray[np.float64]
    length: NDArray[np.float64]


def eliminate_all(arms: Sequence[RestartArm], discount: float) -> Eliminations:
    """Eliminate the states of arms of one size, each in state order where that is optimal.

    Parameters
    ----------
    arms : sequence of RestartArm
        All with the same number of states.
    discount : float
        In (0, 1].

    Raises
    ------
    ValueError
        If the arms differ in size; at discount 1, if a passive chain has several closed classes.
    """
    passive, reset, passive_cost, active_cost = stack_arms(arms)
    count, states = reset.shape
    found = Eliminations(
        np.empty((count, states), dtype=np.int64),
        np.empty((count, states)),
        np.empty((count, states + 1)),
        np.empty((count, states + 1)),
    )
    without = _eliminate_batch(
        passive, reset, passive_cost, active_cost, discount,
        found.order, found.crossings, found.cost, found.length,
    )  # fmt: skip
    if without >= 0:
        raise multichain_error(f"the states of arms[{without}]")
    return found


def multichain_error(where: str) -> ValueError:
    """Return the error for an arm whose average-cost index does not exist."""
    return ValueError(
        "discount must be below 1 for this arm, got 1.0: its passive chain has several closed "
        f"classes, the first found among {where}"
    )


def _search_order(arm: RestartArm, discount: float) -> Elimination | None:
    """Find the order of critical values by factorising in a guess and sorting by what comes out.

    An order along which the crossings never fall is the greedy one, so the search proves its own
    result; None where it has not settled after a few rounds (three or four are usual).
    """
    order = np.argsort(arm.stopping_cost(discount), kind="stable")
    for _ in range(8):
        found = _eliminate_in_order(arm, discount, order)
        if found is None or is_nondecreasing(found.crossings):
            return found
        order = order[np.argsort(found.critical, kind="stable")]
    return None


def _dense_factors(passive: NDArray[np.float64], discount: float) -> Factors | None:
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
    arm: RestartArm, discount: float, order: NDArray[np.int64] | None = None
) -> Elimination | None:
    """Eliminate in a given order by LAPACK, or by what structure allows.

    None where a closed class ends early (discount 1).
    """
    states = arm.states
    cost, visits, passive = arm.stopping_cost(discount), arm.reset, arm.passive
    if order is None:
        order = np.arange(states)
    else:
        passive = passive[order][:, order]
        cost, visits = cost[order], visits[order]
    factors = factors_in_envelope(passive, discount) or _dense_factors(passive, discount)
    if factors is None or (factors.pivots[:-1] <= 1e-13).any():
        return None
    h, g = factors.values(np.column_stack([cost, np.ones(states)])).T
    first = factors.visits(visits)
    critical = h / g
    base = arm.reset @ arm.active_cost
    cycle = np.concatenate(([base], base + np.cumsum(first * h)))
    length = np.concatenate(([1.0], 1.0 + discount * np.cumsum(first * g)))
    if discount == 1:
        cycle[-1], length[-1] = np.nan, np.inf
    rises = np.diff(critical, prepend=0.0) * length[:-1]
    rises[0] -= discount * base
    return Elimination(order, critical, np.cumsum(rises), cycle, length, True)
