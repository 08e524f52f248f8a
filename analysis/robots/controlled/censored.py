"""Exact evaluation of a policy of the controlled queue, by censoring its chain on a few states.

States are post-decision pairs (q, r): q pages in the queue, r active robots, between events.  Under
a policy each state has at most two successors, one after a departure and one after an arrival, so

    (mu 1(q>0) + lambda r) V(q,r) = gamma 1(q=0) + lambda r 1(q=K) - theta
                                    + mu 1(q>0) V(departure) + lambda r V(arrival).

In the order of `ordering` nearly every successor comes before its predecessor, and
the few that do not form the *cut*.  One sweep in that order writes every value as an expectation
over the state in which the cut is next entered (weights that are probabilities, so nothing
cancels), which leaves a dense system on the cut: the chain censored there (Kemeny, Snell and Knapp
1976, section 6.1; Meyer 1989).  `analysis.robots.controlled.elimination` solves it.

Numba's cache on disk does not see changes in a function that a kernel of another module calls:
after a change to those two modules it has to be emptied, as the Makefile's commands do.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.robots.controlled.elimination import cycle_values
from analysis.robots.controlled.ordering import count_uses, cut_and_order, successors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Weights at the ends of a row that no double-precision sum with 1 can feel.
NEGLIGIBLE = 1e-20
# With a longer cut sparse elimination is better.
LARGEST_CUT = 3000


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
    uses = count_uses(departure, arrival, cut)
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
