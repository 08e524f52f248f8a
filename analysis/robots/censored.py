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
NEGLIGIBLE = 1e-24
# Beyond these sizes, of the cut and of the table of weights (2 GB), sparse elimination is better.
LARGEST_CUT = 3000
LARGEST_TABLE = 250_000_000


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
def _needed(departure: Ints, arrival: Ints, cut: Ints) -> tuple[Ints, int]:
    """Give a number to each state that a path from the cut may pass (-1 to the others)."""
    states = cut.size
    row = np.full(states, -1, dtype=np.int64)
    stack = np.empty(2 * states, dtype=np.int64)
    height = 0
    rows = 0
    for state in range(states):
        if cut[state] >= 0:
            row[state] = rows
            rows += 1
            stack[height] = state
            height += 1
    while height:
        height -= 1
        state = stack[height]
        for target in (departure[state], arrival[state]):
            if target >= 0 and row[target] < 0:
                row[target] = rows
                rows += 1
                stack[height] = target
                height += 1
    return row, rows


@njit(cache=True)
def _rates(
    state: int, width: int, departure: Ints, arrival: Ints, arrival_rate: float, service_rate: float
) -> tuple[float, float]:
    """Return the rates at which a state is left by a departure and by an arrival."""
    served = service_rate if departure[state] >= 0 else 0.0
    arrived = arrival_rate * (state % width) if arrival[state] >= 0 else 0.0
    return served, arrived


@njit(cache=True)
def _cost_rate(state: int, levels: int, width: int, arrival_rate: float, gamma: float) -> float:
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
    """Return the chain censored on the cut: transition matrix, costs and times between visits."""
    states = cut.size
    width = states // levels
    size = cut.max() + 1
    row, rows = _needed(departure, arrival, cut)
    if size > LARGEST_CUT or rows * size > LARGEST_TABLE:
        raise MemoryError("the cut is too long to censor the chain on it")
    weight = np.empty((rows, size))
    low = np.full(rows, size, dtype=np.int64)
    high = np.zeros(rows, dtype=np.int64)
    cost = np.zeros(rows)
    time = np.zeros(rows)
    for state in order:
        here = row[state]
        if here < 0:
            continue
        served, arrived = _rates(state, width, departure, arrival, arrival_rate, service_rate)
        total = served + arrived
        cost[here] = _cost_rate(state, levels, width, arrival_rate, gamma) / total
        time[here] = 1.0 / total
        first, last = size, 0
        for target in (departure[state], arrival[state]):
            if target < 0:
                continue
            if cut[target] >= 0:
                first, last = min(first, cut[target]), max(last, cut[target] + 1)
            else:
                there = row[target]
                first, last = min(first, low[there]), max(last, high[there])
        mine = weight[here]
        mine[first:last] = 0.0
        for event in range(2):
            target = departure[state] if event == 0 else arrival[state]
            if target < 0:
                continue
            chance = (served if event == 0 else arrived) / total
            if cut[target] >= 0:
                mine[cut[target]] += chance
            else:
                there = row[target]
                cost[here] += chance * cost[there]
                time[here] += chance * time[there]
                theirs = weight[there]
                for column in range(low[there], high[there]):
                    mine[column] += chance * theirs[column]
        while first < last and mine[first] < NEGLIGIBLE:
            first += 1
        while first < last and mine[last - 1] < NEGLIGIBLE:
            last -= 1
        low[here], high[here] = first, last
    chain = np.zeros((size, size))
    costs = np.empty(size)
    times = np.empty(size)
    for state in range(states):
        name = cut[state]
        if name >= 0:
            here = row[state]
            chain[name, low[here] : high[here]] = weight[here, low[here] : high[here]]
            costs[name] = cost[here]
            times[name] = time[here]
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
        served, arrived = _rates(state, width, departure, arrival, arrival_rate, service_rate)
        value = _cost_rate(state, levels, width, arrival_rate, gamma) - gain
        if served > 0.0:
            value += served * bias[departure[state]]
        if arrived > 0.0:
            value += arrived * bias[arrival[state]]
        bias[state] = value / (served + arrived)
    return bias


@njit(cache=True)
def evaluate(
    after_departure: Bools,
    after_arrival: Bools,
    arrival_rate: float,
    service_rate: float,
    gamma: float,
) -> tuple[float, Floats]:
    """Return the gain and bias of a policy with one recurrent class.

    Raises `numpy.linalg.LinAlgError` where the policy has several (a caller must also check the
    residual, since a singular system need not be seen as one) and MemoryError where the cut is
    too long.
    """
    levels = after_departure.shape[0]
    departure, arrival = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, departure, arrival)
    chain, costs, times = censor(
        order, departure, arrival, cut, levels, arrival_rate, service_rate, gamma
    )
    # The bias is zero at the first cut state, whose column is free to carry the gain.
    system = -chain
    for name in range(times.size):
        system[name, name] += 1.0
    system[:, 0] = times
    solved = np.linalg.solve(system, costs)
    gain = solved[0]
    at_cut = np.zeros(times.size)
    at_cut[1:] = solved[1:]
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
