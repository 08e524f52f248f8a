"""One elimination of a restart arm's states, compiled; `elimination` says why.

A state that is left passive raises the critical value by e/den, its excess over the value reached
so far for each discounted epoch, and the index by M times that. What rounding does to the sum is
estimated beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from analysis.kernel_cache import compiled_twin, jitable, njit

#: Error of an elimination in floating point, relative to the terms that it adds up.
ROUNDING = 16 * float(np.finfo(float).eps)
#: Critical values count as tied up to so much, as a share of the range of r.
CLOSE = 1e-11
#: In place of a number of states: it is not known which state comes first.
UNDECIDED = -1

# Fields are arrays of floats (`order` of int), or of balls where `rounding` eliminates in those.


class Arm(NamedTuple):
    """One arm of K states: P (K, K), Q and the costs of either action (K)."""

    passive: Any
    reset: Any
    passive_cost: Any
    active_cost: Any


class System(NamedTuple):
    """What is eliminated in place: A (K, K), Q, the excess (1 + probes, K) and `den` (K)."""

    a: Any
    visits: Any
    excess: Any
    den: Any


class Steps(NamedTuple):
    """What each state leaves behind: K entries; of `weights`, `cost`, `length`, `ends` K + 1."""

    order: Any
    critical: Any
    rises: Any
    weights: Any
    dens: Any
    cost: Any
    length: Any
    ends: Any


class Outcome(NamedTuple):
    """What an elimination finds: K entries; of `cost`, `length` and `activity` K + 1."""

    order: Any
    critical: Any
    crossings: Any
    cost: Any
    length: Any
    activity: Any


def eliminate_state(a, den, k, pivot):  # type: ignore[no-untyped-def]
    """Eliminate state k from the rows and columns after it, and from `den`.

    In whole arrays, where neither factor is 0: balls take ten times as long one by one.
    """
    factors = a[k + 1 :, k] / pivot
    rows, columns = (np.flatnonzero(~(x == 0)) for x in (factors, a[k, k + 1 :]))
    factors, rows, columns = factors[rows], k + 1 + rows, k + 1 + columns
    den[rows] -= factors * den[k]
    a[np.ix_(rows, columns)] -= np.multiply.outer(factors, a[k, columns])


@compiled_twin(eliminate_state)
def _compiled_subtract(a, den, k, pivot):  # type: ignore[no-untyped-def]
    """Return what `eliminate_state` is where it is compiled: the same, entry by entry."""

    def one_by_one(a, den, k, pivot):  # type: ignore[no-untyped-def]
        states = a.shape[0]
        for i in range(k + 1, states):
            f = a[i, k] / pivot
            if f != 0.0:
                den[i] -= f * den[k]
                for j in range(k + 1, states):
                    a[i, j] -= f * a[k, j]

    return one_by_one


@jitable
def eliminate_in_place(system, discount, signs, adaptive, close, steps):  # type: ignore[no-untyped-def]
    """Eliminate in place; return the number of states done, and how many when a class closed.

    Fewer states are done only at discount 1, where one does not lead into the class closed before.
    The second number is `states` if none closed, and `UNDECIDED` if terms of the size of 1 - b
    decide what comes first: where a state ties with a class that it leads into by way of others.

    Critical values count as tied unless they differ for certain by more than `close`.

    On entry `a` is A = I - b P (its diagonal is not read), `visits` is Q, `den` is 1, excess[0] is
    r and cost[0], length[0] and ends[0] are those of no passive state. The k-th state raises the
    critical value by rises[0, k], and the index by that times weights[k], which is M. Further rows
    of `excess` and `rises` carry the errors that `signs` sows: one of the size of each term.

    At discount 1 a closed class ends with pivot 0: its average cost is the greatest gain that
    leaving it passive can have, and states that still lead into it are ordered by cost per unit of
    probability of ending there, which takes the place of `den`.
    """
    a, visits, excess, den = system
    order, critical, rises, weights, dens, cost, length, ends = steps
    states = a.shape[0]
    for i in range(states):
        order[i] = i
    leak = 1.0 - discount
    closing, level, weight, undecided = states, 0.0, 1.0, False
    for k in range(states):
        if adaptive:
            s = _least(excess[0], den, order, k)
            if s != k:
                _swap(a, visits, excess, den, order, k, s)
        if den[k] == 0.0:
            return k, closing
        off = 0.0
        for j in range(k + 1, states):
            off -= a[k, j]
        rise, own_den = excess[0, k] / den[k], den[k]
        weights[k], dens[k] = weight, own_den
        for p in range(excess.shape[0]):
            step = excess[p, k] / own_den
            rises[p, k] = step
            for i in range(k + 1, states):
                excess[p, i] -= step * den[i]
        if k > 0:
            for p in range(1, excess.shape[0]):
                for i in range(k + 1, states):
                    excess[p, i] += signs[p - 1, order[i]] * abs(rise) * den[i]
        if closing == states:
            level += rise
        critical[k] = level
        pivot = leak * own_den + off
        if pivot == 0.0:
            cost[k + 1], length[k + 1], ends[k + 1] = cost[k], length[k], ends[k]
            if visits[k] > 0:
                cost[k + 1], length[k + 1], ends[k + 1] = np.nan, np.inf, 0.0
            near = k > 0 and not abs(rise) > close
            for i in range(k + 1, states):
                near = near or (a[i, k] == 0.0 and not abs(excess[0, i]) > close * den[i])
                den[i] = -a[i, k]
            closing, leak, weight = k, 1.0, visits[k]
            undecided = undecided or near
            continue
        first = visits[k] / pivot
        if closing == states:
            cost[k + 1] = cost[k] + first * (level * own_den)
            weight += discount * first * own_den
            length[k + 1] = weight
        else:
            cost[k + 1], length[k + 1] = cost[k], length[k]
            weight += first * own_den
            if weight > 0:
                cost[k + 1], length[k + 1] = np.nan, np.inf
        total = 0.0
        for j in range(k + 1, states):
            visits[j] -= first * a[k, j]
            total += visits[j]
        ends[k + 1] = total
        eliminate_state(a, den, k, pivot)
    weights[states] = weight
    return states, UNDECIDED if undecided else closing


@jitable
def _least(excess, den, order, k):  # type: ignore[no-untyped-def]
    """Return the position, from k on, of the least excess/den; of equal ones the lower state's."""
    s = k
    for i in range(k + 1, den.shape[0]):
        # Compared without dividing; den is never negative.
        candidate, incumbent = excess[i] * den[s], excess[s] * den[i]
        if den[i] > 0 and (
            den[s] == 0 or candidate < incumbent or (candidate == incumbent and order[i] < order[s])
        ):
            s = i
    return s


@jitable
def _swap(a, visits, excess, den, order, k, s):  # type: ignore[no-untyped-def]
    visits[k], visits[s] = visits[s], visits[k]
    den[k], den[s] = den[s], den[k]
    order[k], order[s] = order[s], order[k]
    for p in range(excess.shape[0]):
        excess[p, k], excess[p, s] = excess[p, s], excess[p, k]
    for j in range(a.shape[0]):
        a[k, j], a[s, j] = a[s, j], a[k, j]
    for i in range(a.shape[0]):
        a[i, k], a[i, s] = a[i, s], a[i, k]


@jitable
def set_up_elimination(  # type: ignore[no-untyped-def]
    passive, reset, c0, c1, discount, a, visits, excess, den, cost, length, ends
):
    """Set an elimination up; return what the index begins from, the range of r and of the costs.

    Costs are counted from the least of either action, which keeps small differences exact: that
    changes every index by the difference of the two.
    """
    states = c0.shape[0]
    idle, repair = c0.min(), c1.min()
    spread = max(c0.max() - idle, c1.max() - repair)
    cost[0], length[0], ends[0] = 0.0, 1.0, 1.0
    for i in range(states):
        moved = 0.0
        for j in range(states):
            a[i, j] = -discount * passive[i, j]
            moved += passive[i, j] * (c1[j] - c1[i])
        excess[0, i] = (c0[i] - idle) - (1.0 - discount) * (c1[i] - repair) + discount * moved
        visits[i], den[i] = reset[i], 1.0
        cost[0] += reset[i] * (c1[i] - repair)
    reach = excess[0].max() - excess[0].min()
    return (idle - repair) - discount * cost[0], reach, spread


@jitable
def sum_crossings(begin, rises, weights, crossings):  # type: ignore[no-untyped-def]
    """Add up the crossings: `begin`, and every rise times its weight."""
    total = begin
    for k in range(rises.shape[0]):
        total += rises[k] * weights[k]
        crossings[k] = total


@jitable
def restore_costs(c0, c1, discount, critical, cost, length, ends):  # type: ignore[no-untyped-def]
    """Add the least costs, which `set_up_elimination` took off, and turn ends of cycles into N."""
    idle, repair = c0.min(), c1.min()
    for k in range(critical.shape[0]):
        critical[k] += idle - (1.0 - discount) * repair
    for k in range(cost.shape[0]):
        cost[k] += idle * (length[k] - ends[k]) + repair * ends[k]
        ends[k] /= length[k]


@jitable
def _largest_error(rises, dens, weights, crossings, unsure, direct, closing, spread):  # type: ignore[no-untyped-def]
    """Return how far rounding can have moved a crossing, relative to its size and the spread.

    `direct(k)` says how far, if the order is right. Rises of at most `unsure(k)` do not tell which
    state comes first, and what looks like nothing there may be worth the weight that a cycle has
    once all states of such a run are passive: that of the next, infinite where a class has closed.
    """
    states = rises.shape[0]
    next_weight = weights[states] if closing == states else np.inf
    worst, run = np.finfo(np.float64).eps, 0.0
    for k in range(states - 1, -1, -1):
        tied = k > 0 and abs(rises[k]) <= unsure[k] and unsure[k] > 0.0
        if tied:
            run = max(run, unsure[k] * dens[k] * next_weight)
        error = direct[k] + run
        if not tied:
            run, next_weight = 0.0, weights[k]
        if error != 0.0:
            error /= abs(crossings[k]) + spread
            if not error < np.inf:  # a term has overflowed, or is none
                return np.inf
            worst = max(worst, error)
    return worst


@jitable
def _bounded_error(rises, dens, weights, crossings, closing, reach, spread, rounding):  # type: ignore[no-untyped-def]
    """Return `_largest_error` by a bound that is of use where cycles are short."""
    states = rises.shape[0]
    if closing < states - 1:
        return np.inf
    unsure = np.full(states, rounding * reach)
    direct = 2.0 * rounding * reach * weights
    return _largest_error(rises, dens, weights, crossings, unsure, direct, closing, spread)


@njit
def read_elimination(  # type: ignore[no-untyped-def]
    c0, c1, discount, base, r, h, g, first, pivots, outcome
):
    """Read an elimination off the factors of A; return `rising` and the error as `eliminate_arm`.

    Critical values are divided out and their differences taken: the error grows with the length of
    the cycle over the least pivot. `r` counts costs from the least of either action, `base` is the
    mean of the active ones after a reset, and `first` holds the visits on first entry. All of
    `outcome` but its order is filled.
    """
    _, critical, crossings, cost, length, activity = outcome
    states = r.shape[0]
    spread = max(c0.max() - c0.min(), c1.max() - c1.min())
    reach, least, last = r.max() - r.min(), 1.0, 0.0
    rises, dens = np.empty(states), np.empty(states)
    cost[0], length[0], activity[0] = base, 1.0, 1.0
    for k in range(states):
        critical[k] = h[k] / g[k]
        rises[k], last = critical[k] - last, critical[k]
        dens[k] = g[k] * pivots[k]
        if k < states - 1:
            least = min(least, pivots[k])
        cost[k + 1] = cost[k] + first[k] * h[k]
        length[k + 1] = length[k] + discount * first[k] * g[k]
        activity[k + 1] = max(0.0, 1.0 - (1.0 - discount) * length[k + 1]) / discount
    closing = states
    if discount == 1.0:
        closing = states - 1
        cost[states], length[states], activity[states] = np.nan, np.inf, 0.0
    sum_crossings((c0.min() - c1.min()) - discount * base, rises, length, crossings)
    rounding = 4.0 * ROUNDING / least
    rising = _is_rising(rises, rounding * reach)
    error = _bounded_error(rises, dens, length, crossings, closing, reach, spread, rounding)
    restore_costs(c0, c1, discount, critical, cost, length, activity)
    return rising, error


@njit
def _is_rising(rises, unsure):  # type: ignore[no-untyped-def]
    falls = 0
    for k in range(1, rises.shape[0]):
        falls += rises[k] < -unsure
    return falls == 0


@njit
def eliminate_arm(arm, discount, signs, lost, adaptive, outcome):  # type: ignore[no-untyped-def]
    """Eliminate one arm; return whether all states went, critical values never fall, and the error.

    Filled is `outcome`. The error is estimated from errors sown by `signs` (probes, K), in r by as
    much as is `lost` there to rounding (K), and without signs is bounded.
    """
    passive, reset, c0, c1 = arm
    order, critical, crossings, cost, length, activity = outcome
    states, probes = c0.shape[0], signs.shape[0]
    a, excess = np.empty((states, states)), np.empty((1 + probes, states))
    rises, weights = np.empty((1 + probes, states)), np.empty(states + 1)
    den, visits, dens = np.empty(states), np.empty(states), np.empty(states)
    begin, reach, spread = set_up_elimination(
        passive, reset, c0, c1, discount, a, visits, excess, den, cost, length, activity
    )
    for p in range(probes):
        excess[p + 1] = signs[p] * lost
    steps = Steps(order, critical, rises, weights, dens, cost, length, activity)
    done, closing = eliminate_in_place(
        System(a, visits, excess, den), discount, signs, adaptive, CLOSE * reach, steps
    )
    if done < states:
        return False, False, np.inf
    sum_crossings(begin, rises[0], weights, crossings)
    if closing == UNDECIDED:
        rising, error = False, np.inf
    elif probes:
        rising, error = _estimated_error(rises, dens, weights, crossings, closing, spread)
    else:
        rising = _is_rising(rises[0], ROUNDING * reach)
        error = _bounded_error(rises[0], dens, weights, crossings, closing, reach, spread, ROUNDING)
    restore_costs(c0, c1, discount, critical, cost, length, activity)
    return True, rising, error


@njit
def _estimated_error(rises, dens, weights, crossings, closing, spread):  # type: ignore[no-untyped-def]
    """Return whether critical values never fall, and the error that the errors sown stand for."""
    rows, states = rises.shape
    rounding = ROUNDING * np.sqrt(float(states))
    unsure, direct, moved, summed = np.empty(states), np.empty(states), np.zeros(rows), 0.0
    rising = True
    for k in range(states):
        summed += abs(rises[0, k]) * weights[k]
        squares = total = 0.0
        for p in range(1, rows):
            moved[p] += rises[p, k] * weights[k]
            squares += moved[p] ** 2
            total += rises[p, k] ** 2
        direct[k] = rounding * (np.sqrt(squares / (rows - 1)) + summed)
        unsure[k] = rounding * np.sqrt(total / (rows - 1))
        rising = rising and (k == 0 or rises[0, k] >= -unsure[k])
    return rising, _largest_error(
        rises[0], dens, weights, crossings, unsure, direct, closing, spread
    )


@njit
def eliminate_batch(  # type: ignore[no-untyped-def]
    passive, reset, c0, c1, discount, order, crossings, cost, length, activity, error
):
    """Eliminate a batch of arms in an optimal order; return the first arm without one, or -1.

    `passive` is (n, K, K), `reset`, `c0`, `c1` are (n, K). Filled are `order` and `crossings`
    (n, K), `cost`, `length` and `activity` (n, K + 1), and `error` (n): in state order where
    critical values never fall in it.
    """
    arms, states = c0.shape
    critical, signs, lost = np.empty(states), np.empty((0, states)), np.empty(0)
    for n in range(arms):
        arm = Arm(passive[n], reset[n], c0[n], c1[n])
        outcome = Outcome(order[n], critical, crossings[n], cost[n], length[n], activity[n])
        for adaptive in (False, True):
            done, rising, error[n] = eliminate_arm(arm, discount, signs, lost, adaptive, outcome)
            if done and rising:
                break
        if not done:
            return n
    return -1
