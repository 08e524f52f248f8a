"""Gain, costs, times and visits of a chain whose visits have costs and times, without subtractions.

States are eliminated one by one (Grassmann, Taksar and Heyman 1985): a state k that is left out
hands its visits on, P_ij becoming P_ij + P_ik P_kj / (1 - P_kk), where 1 - P_kk is the sum of the
other probabilities of row k; costs and times are handed on as well.  The chain is taken to be
narrow along its diagonal, as a censored chain is, and is eliminated from both ends towards a much
visited state; what remains there is one renewal cycle.

The kernels here and beside this module are written as loops over elements.  With whole slices in
the place of the loops Numba takes three times as long to compile them, since it compiles the
messages about shapes that do not fit along with each.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.kernel_cache import njit

LAZY_STEPS = 8
# A state that makes cycles so much longer than its own visits is a bad one to keep: their costs and
# times cancel in the bias.
LONG_CYCLE = 1e4


@njit
def _largest_product(factors: Floats, others: Floats) -> int:
    """Return where the product of two arrays is largest."""
    largest = 0
    for position in range(factors.size):
        if factors[position] * others[position] > factors[largest] * others[largest]:
            largest = position
    return largest


@njit
def _much_visited(chain: Floats, times: Floats, low: Ints, high: Ints) -> int:
    """Return the state with the most time after a few lazy steps from the uniform law."""
    size = times.size
    mass = np.full(size, 1.0)
    for _ in range(LAZY_STEPS):
        moved = np.empty(size)
        for name in range(size):
            moved[name] = 0.5 * mass[name]
        for name in range(size):
            window = moved[low[name] : high[name]]
            row = chain[name, low[name] : high[name]]
            half = 0.5 * mass[name]
            for column in range(row.size):
                window[column] += half * row[column]
        mass = moved
    return _largest_product(mass, times)


@njit
def _towards(
    centre: int, table: Floats, costs: Floats, times: Floats, low: Ints, high: Ints, order: Ints
) -> int:
    """Eliminate all states but `centre` in place; return -1, or a state with no way to it."""
    size = times.size
    # The states left are first..last; each step leaves out one of the two ends.
    first, last = 0, size - 1
    for step in range(size - 1):
        upward = first < centre
        state = first if upward else last
        first, last = (first + 1, last) if upward else (first, last - 1)
        order[step] = state
        start, stop = max(low[state], first), min(high[state], last + 1)
        row = table[state, start:stop]
        outflow = 0.0
        for column in range(row.size):
            outflow += row[column]
        if not outflow > 0.0:
            return state
        for column in range(row.size):
            row[column] /= outflow
        costs[state] /= outflow
        times[state] /= outflow
        for predecessor in range(first, last + 1):
            share = table[predecessor, state]
            if share == 0.0:
                continue
            costs[predecessor] += share * costs[state]
            times[predecessor] += share * times[state]
            target = table[predecessor, start:stop]
            for column in range(row.size):
                target[column] += share * row[column]
            low[predecessor], high[predecessor] = (
                min(low[predecessor], start),
                max(high[predecessor], stop),
            )
            table[predecessor, state] = share / outflow
    order[size - 1] = centre
    return -1


@njit
def _visits(order: Ints, table: Floats) -> Floats:
    """Return the expected visits to each state between two visits to the one that stayed."""
    size = order.size
    visits = np.zeros(size)
    visits[order[-1]] = 1.0
    remaining = order[-1], order[-1] + 1
    for step in range(size - 2, -1, -1):
        state = order[step]
        total = 0.0
        for predecessor in range(remaining[0], remaining[1]):
            total += visits[predecessor] * table[predecessor, state]
        visits[state] = total
        remaining = min(remaining[0], state), max(remaining[1], state + 1)
    return visits


@njit
def eliminate(chain: Floats, costs: Floats, times: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Eliminate all states but one from a copy of the chain; return their order and what is left.

    The order ends with the state that stayed.  Row k of the table, shape (size, size), has the
    probabilities with which k, when it was left out, led on to the states left; column k those with
    which the states left led to k, over 1 - P_kk.  Costs and times are those expected from each
    state until one that was left at that moment.  Raises ValueError if there are several recurrent
    classes.
    """
    size = times.size
    low = np.zeros(size, dtype=np.int64)
    high = np.full(size, size, dtype=np.int64)
    for name in range(size):
        while low[name] < size and chain[name, low[name]] == 0.0:
            low[name] += 1
        while high[name] > 0 and chain[name, high[name] - 1] == 0.0:
            high[name] -= 1
    order = np.empty(size, dtype=np.int64)
    centre = _much_visited(chain, times, low, high)
    transient = 0
    for attempt in range(3):
        table, on_costs, on_times = chain.copy(), costs.copy(), times.copy()
        closed = _towards(centre, table, on_costs, on_times, low.copy(), high.copy(), order)
        if closed >= 0:
            transient += 1
            if transient == 2:
                break
            centre = closed
        elif attempt == 2 or on_times[centre] < LONG_CYCLE * times[centre]:
            return order, table, on_costs, on_times
        else:
            centre = _largest_product(_visits(order, table), times)
    raise ValueError("chain must have one recurrent class, got several")


@njit
def _hand_back(
    order: Ints, table: Floats, costs: Floats, times: Floats
) -> tuple[float, tuple[Floats, Floats, Floats]]:
    """Return what `cycle_values` does from what `eliminate` leaves; costs and times in place."""
    size = times.size
    gain = costs[order[-1]] / times[order[-1]]
    costs[order[-1]], times[order[-1]] = 0.0, 0.0
    bias = np.empty(size)
    for name in range(size):
        bias[name] = costs[name] - gain * times[name]
    remaining = order[-1], order[-1] + 1
    for step in range(size - 2, -1, -1):
        state = order[step]
        row = table[state, remaining[0] : remaining[1]]
        ahead, later = costs[remaining[0] : remaining[1]], times[remaining[0] : remaining[1]]
        above = bias[remaining[0] : remaining[1]]
        for column in range(row.size):
            costs[state] += row[column] * ahead[column]
            times[state] += row[column] * later[column]
            bias[state] += row[column] * above[column]
        remaining = min(remaining[0], state), max(remaining[1], state + 1)
    return gain, (costs, times, bias)


def cycle_values(
    chain: Floats, costs: Floats, times: Floats
) -> tuple[float, tuple[Floats, Floats, Floats]]:
    """Return the gain, and expected cost, time and cost above the gain until one state is entered.

    The gain is the cost over the time of one cycle.  Costs and times are not negative, so that each
    keeps its relative accuracy; what they cost above the gain, cost - gain * time, is the bias, and
    is summed apart, since where most states cost the same its terms are much smaller than theirs.
    """
    values: tuple[float, tuple[Floats, Floats, Floats]] = _hand_back(
        *eliminate(chain, costs, times)
    )
    return values


def cycle_visits(chain: Floats, times: Floats) -> Floats:
    """Return the expected visits to each state in one cycle, 1 for the state that stays."""
    order, table, _, _ = eliminate(chain, times, times)
    visits: Floats = _visits(order, table)
    return visits
