"""Exact evaluation of a policy of the controlled queue, by censoring its chain on a few states.

States are post-decision pairs (q, r): q pages in the queue, r active robots, between events.  Under
a policy each state has at most two successors, one after a departure and one after an arrival, so

    (mu 1(q>0) + lambda r) V(q,r) = gamma 1(q=0) + lambda r 1(q=K) - theta
                                    + mu 1(q>0) V(departure) + lambda r V(arrival).

Below a switching curve the chain drifts towards more robots, above it towards fewer, so that the
states can be put in an order in which nearly every successor comes before its predecessor: first
the states where an arriving robot is stopped, by rising q + r, then the others, by falling q + r.
The few successors that come later form the *cut*.  One sweep in that order writes every value as an
expectation over the state in which the cut is next entered (weights that are probabilities, so
nothing cancels), which leaves a dense system on the cut: the chain censored there (Kemeny, Snell
and Knapp 1976, section 6.1; Meyer 1989).  Any policy has such an order; for a switching curve the
cut is about as long as the curve.

The dense system is solved by eliminating states without subtractions (Grassmann, Taksar and Heyman
1985): a state k that is left out hands its visits on, P_ij becoming P_ij + P_ik P_kj / (1 - P_kk),
where 1 - P_kk is the sum of the other probabilities of row k; costs and times are handed on as
well.  The censored chain is narrow along its diagonal and is eliminated from both ends towards a
much visited state; what remains there is one renewal cycle.

All compiled code that calls other compiled code is in this one module: Numba's cache does not see
changes in the modules that a function calls.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Weights at the ends of a row that no double-precision sum with 1 can feel.
NEGLIGIBLE = 1e-20
# With a longer cut sparse elimination is better.
LARGEST_CUT = 3000
LAZY_STEPS = 8
# A state that makes cycles so much longer than its own visits is a bad one to keep: their costs and
# times cancel in the bias.
LONG_CYCLE = 1e4


@njit(cache=True)
def successors(after_departure: Bools, after_arrival: Bools) -> tuple[Ints, Ints]:
    """Return each state's successor after a departure and after an arrival, -1 for none.

    State (q, r) has number q (N + 1) + r.  A loss that leaves the state as it was is no event.
    """
    levels, width = after_departure.shape
    top = width - 1
    departure = np.full(levels * width, -1, dtype=np.int64)
    arrival = np.full(levels * width, -1, dtype=np.int64)
    for q in range(levels):
        for r in range(width):
            state = q * width + r
            if q > 0:
                up = 1 if r < top and after_departure[q - 1, r] else 0
                departure[state] = (q - 1) * width + r + up
            if r > 0:
                above = min(q + 1, levels - 1)
                up = 1 if after_arrival[above, r - 1] else 0
                target = above * width + r - 1 + up
                if target != state:
                    arrival[state] = target
    return departure, arrival


@njit(cache=True)
def cut_and_order(after_arrival: Bools, departure: Ints, arrival: Ints) -> tuple[Ints, Ints]:
    """Return the order of computation, and each state's number in the cut (-1 outside).

    State (0, 0) is left out: the model never enters it.
    """
    levels, width = after_arrival.shape
    states = levels * width
    stopping = np.zeros(states, dtype=np.bool_)
    for q in range(levels):
        for r in range(1, width):
            stopping[q * width + r] = not after_arrival[min(q + 1, levels - 1), r - 1]
    order = np.empty(states - 1, dtype=np.int64)
    place = np.full(states, -1, dtype=np.int64)
    count = 0
    for total in range(1, levels + width - 1):
        for q in range(min(levels - 1, total), max(-1, total - width), -1):
            state = q * width + total - q
            if stopping[state]:
                place[state] = count
                order[count] = state
                count += 1
    for total in range(levels + width - 2, 0, -1):
        for q in range(max(0, total - width + 1), min(levels - 1, total) + 1):
            state = q * width + total - q
            if not stopping[state]:
                place[state] = count
                order[count] = state
                count += 1
    cut = np.full(states, -1, dtype=np.int64)
    for position in range(count):
        for target in (departure[order[position]], arrival[order[position]]):
            if target >= 0 and place[target] >= position:
                cut[target] = 0
    size = 0
    for position in range(count):
        if cut[order[position]] == 0:
            cut[order[position]] = size
            size += 1
    return order, cut


@njit(cache=True)
def _uses(departure: Ints, arrival: Ints, cut: Ints) -> Ints:
    """Count how often each state is a successor of states that a path from the cut may pass.

    States that no such path passes have -1.
    """
    states = cut.size
    uses = np.full(states, -1, dtype=np.int64)
    stack = np.empty(2 * states, dtype=np.int64)
    height = 0
    for state in range(states):
        if cut[state] >= 0:
            uses[state] = 0
            stack[height] = state
            height += 1
    while height:
        height -= 1
        state = stack[height]
        for target in (departure[state], arrival[state]):
            if target < 0:
                continue
            if uses[target] < 0:
                uses[target] = 0
                stack[height] = target
                height += 1
            uses[target] += 1
    return uses


@njit(cache=True)
def rates_out(
    state: int, width: int, departure: Ints, arrival: Ints, arrival_rate: float, service_rate: float
) -> tuple[float, float]:
    """Return the rates at which a state is left by a departure and by an arrival."""
    served = service_rate if departure[state] >= 0 else 0.0
    arrived = arrival_rate * (state % width) if arrival[state] >= 0 else 0.0
    return served, arrived


@njit(cache=True)
def cost_rate(state: int, levels: int, width: int, arrival_rate: float, gamma: float) -> float:
    """Return the cost per unit of time spent in a state."""
    q = state // width
    if q == 0:
        return gamma
    return arrival_rate * (state % width) if q == levels - 1 else 0.0


@njit(cache=True)
def censor(
    order: Ints,
    departure: Ints,
    arrival: Ints,
    cut: Ints,
    levels: int,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
) -> tuple[Floats, Floats, Floats]:
    """Return the chain censored on the cut: transition matrix, costs and times between visits.

    The weights of a state are nonzero on a window of the cut only, and are kept, in a row of
    `table`, until the last state that moves there has used them.
    """
    states = cut.size
    width = states // levels
    size = cut.max() + 1
    if size > LARGEST_CUT:
        raise MemoryError("the cut is too long to censor the chain on it")
    uses = _uses(departure, arrival, cut)
    table = np.empty((64, size))
    free = np.arange(64)
    available = 64
    slot = np.full(states, -1, dtype=np.int64)
    low = np.full(states, size, dtype=np.int64)
    high = np.zeros(states, dtype=np.int64)
    cost = np.zeros(states)
    time = np.zeros(states)
    chain = np.zeros((size, size))
    costs = np.empty(size)
    times = np.empty(size)
    for state in order:
        if uses[state] < 0:
            continue
        served, arrived = rates_out(state, width, departure, arrival, arrival_rate, service_rate)
        total = served + arrived
        here_cost = cost_rate(state, levels, width, arrival_rate, gamma) / total
        here_time = 1.0 / total
        first, last = size, 0
        for target in (departure[state], arrival[state]):
            if target < 0:
                continue
            if cut[target] >= 0:
                first, last = min(first, cut[target]), max(last, cut[target] + 1)
            else:
                first, last = min(first, low[target]), max(last, high[target])
        name = cut[state]
        if name < 0 and available == 0:
            rows = table.shape[0]
            longer = np.empty((2 * rows, size))
            longer[:rows] = table
            table = longer
            free = np.arange(rows, 3 * rows)  # the first half is free; the rest is room
            available = rows
        if name < 0:
            available -= 1
            slot[state] = free[available]
            mine = table[slot[state], first:last]
            mine[:] = 0.0
        else:
            mine = chain[name, first:last]
        for event in range(2):
            target = departure[state] if event == 0 else arrival[state]
            if target < 0:
                continue
            chance = (served if event == 0 else arrived) / total
            if cut[target] >= 0:
                mine[cut[target] - first] += chance
                continue
            here_cost += chance * cost[target]
            here_time += chance * time[target]
            theirs = table[slot[target], low[target] : high[target]]
            part = mine[low[target] - first : high[target] - first]
            for column in range(theirs.size):
                part[column] += chance * theirs[column]
            uses[target] -= 1
            if uses[target] == 0:
                free[available] = slot[target]
                available += 1
        start, stop = 0, last - first
        while start < stop and mine[start] < NEGLIGIBLE:
            start += 1
        while start < stop and mine[stop - 1] < NEGLIGIBLE:
            stop -= 1
        low[state], high[state] = first + start, first + stop
        cost[state], time[state] = here_cost, here_time
        if name >= 0:
            costs[name], times[name] = here_cost, here_time
    return chain, costs, times


@njit(cache=True)
def spread(
    order: Ints,
    departure: Ints,
    arrival: Ints,
    cut: Ints,
    levels: int,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
    gain: float,
    at_cut: Floats,
) -> Floats:
    """Return the bias of every state from its values on the cut (nan at (0, 0))."""
    states = cut.size
    width = states // levels
    bias = np.empty(states)
    bias[0] = np.nan
    for state in range(states):
        if cut[state] >= 0:
            bias[state] = at_cut[cut[state]]
    for state in order:
        if cut[state] >= 0:
            continue
        served, arrived = rates_out(state, width, departure, arrival, arrival_rate, service_rate)
        value = cost_rate(state, levels, width, arrival_rate, gamma) - gain
        if served > 0.0:
            value += served * bias[departure[state]]
        if arrived > 0.0:
            value += arrived * bias[arrival[state]]
        bias[state] = value / (served + arrived)
    return bias


@njit(cache=True)
def _much_visited(chain: Floats, times: Floats, low: Ints, high: Ints) -> int:
    """Return the state with the most time after a few lazy steps from the uniform law."""
    size = times.size
    mass = np.full(size, 1.0)
    for _ in range(LAZY_STEPS):
        moved = 0.5 * mass
        for name in range(size):
            part = moved[low[name] : high[name]]
            row = chain[name, low[name] : high[name]]
            half = 0.5 * mass[name]
            for column in range(row.size):
                part[column] += half * row[column]
        mass = moved
    return int(np.argmax(mass * times))


@njit(cache=True)
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
        outflow = row.sum()
        if not outflow > 0.0:
            return state
        row /= outflow
        costs[state] /= outflow
        times[state] /= outflow
        for other in range(first, last + 1):
            share = table[other, state]
            if share == 0.0:
                continue
            costs[other] += share * costs[state]
            times[other] += share * times[state]
            target = table[other, start:stop]
            for column in range(row.size):
                target[column] += share * row[column]
            low[other], high[other] = min(low[other], start), max(high[other], stop)
            table[other, state] = share / outflow
    order[size - 1] = centre
    return -1


@njit(cache=True)
def _visits(order: Ints, table: Floats) -> Floats:
    """Return the expected visits to each state between two visits to the one that stayed."""
    size = order.size
    visits = np.zeros(size)
    visits[order[-1]] = 1.0
    left = order[-1], order[-1] + 1
    for step in range(size - 2, -1, -1):
        state = order[step]
        total = 0.0
        for other in range(left[0], left[1]):
            total += visits[other] * table[other, state]
        visits[state] = total
        left = min(left[0], state), max(left[1], state + 1)
    return visits


@njit(cache=True)
def eliminate(chain: Floats, costs: Floats, times: Floats) -> tuple[Ints, Floats, Floats, Floats]:
    """Eliminate all states but one from a copy of the chain.

    Returns
    -------
    order : ndarray of int, shape (size,)
        The states as they were left out; the last one stayed.
    table : ndarray, shape (size, size)
        Row k: the probabilities with which k, when it was left out, led on to the states left;
        column k: those with which the states left led to k, over 1 - P_kk.
    costs, times : ndarray, shape (size,)
        Expected cost and time from each state until one that was left at that moment.

    Raises
    ------
    numpy.linalg.LinAlgError
        If there are several recurrent classes.
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
            centre = int(np.argmax(_visits(order, table) * times))
    raise np.linalg.LinAlgError("there are several recurrent classes")


@njit(cache=True)
def cycle_values(chain: Floats, costs: Floats, times: Floats) -> tuple[float, Floats]:
    """Return the gain and the bias of a chain whose visits have costs and times.

    The gain is the cost over the time of one cycle; the bias is zero at one state.
    """
    order, table, costs, times = eliminate(chain, costs, times)
    size = times.size
    gain = costs[order[-1]] / times[order[-1]]
    bias = np.zeros(size)
    left = order[-1], order[-1] + 1
    for step in range(size - 2, -1, -1):
        state = order[step]
        row, values = table[state, left[0] : left[1]], bias[left[0] : left[1]]
        total = costs[state] - gain * times[state]
        for column in range(row.size):
            total += row[column] * values[column]
        bias[state] = total
        left = min(left[0], state), max(left[1], state + 1)
    return gain, bias


@njit(cache=True)
def cycle_visits(chain: Floats, times: Floats) -> Floats:
    """Return the expected visits to each state in one cycle, 1 for the state that stays."""
    order, table, _, _ = eliminate(chain, times, times)
    return _visits(order, table)


@njit(cache=True)
def evaluate(
    after_departure: Bools,
    after_arrival: Bools,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
) -> tuple[float, Floats]:
    """Return the gain and bias of a policy with one recurrent class.

    Raises `numpy.linalg.LinAlgError` where the policy has several, and MemoryError where the cut
    is too long.
    """
    levels = after_departure.shape[0]
    departure, arrival = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, departure, arrival)
    chain, costs, times = censor(
        order, departure, arrival, cut, levels, arrival_rate, service_rate, gamma
    )
    gain, at_cut = cycle_values(chain, costs, times)
    bias = spread(
        order, departure, arrival, cut, levels, arrival_rate, service_rate, gamma, gain, at_cut
    )
    return gain, bias


@njit(cache=True)
def improve(bias: Floats, policy: Bools, slack: float) -> int:
    """Activate where one more robot lowers the bias, stop where it raises it; count the changes.

    `policy` has shape (levels, width); within `slack` an action stays as it is.
    """
    levels, width = policy.shape
    changes = 0
    for q in range(levels):
        for r in range(width - 1):
            if q == 0 and r == 0:
                continue
            gap = bias[q * width + r + 1] - bias[q * width + r]
            if gap < -slack and not policy[q, r]:
                policy[q, r] = True
                changes += 1
            elif gap > slack and policy[q, r]:
                policy[q, r] = False
                changes += 1
    return changes


@njit(cache=True)
def iterate_policies(
    policy: Bools,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
    max_iterations: int,
) -> tuple[float, Floats, int]:
    """Run policy iteration from `policy`, which is left optimal; iterations -1 if unsettled."""
    for iteration in range(1, max_iterations + 1):
        gain, bias = evaluate(policy, policy, arrival_rate, service_rate, gamma)
        slack = 1e-12 * max(1.0, np.abs(bias[1:]).max())
        if improve(bias, policy, slack) == 0:
            return gain, bias, iteration
    return gain, bias, -1
