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
