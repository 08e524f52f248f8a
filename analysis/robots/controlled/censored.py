"""Exact evaluation of a policy of the controlled queue, by censoring its chain on a few states.

States are post-decision pairs (q, r): q pages in the queue, r active robots, between events.  Under
a policy each state has at most two successors, one after a departure and one after an arrival, so

    (mu 1(q>0) + lambda r) V(q,r) = gamma 1(q=0) + lambda r 1(q=K) - theta
                                    + mu 1(q>0) V(departure) + lambda r V(arrival).

In the order of `ordering` nearly every successor comes before its predecessor, and the few that do
not form the *cut*.  One sweep in that order writes every value as an expectation over the state in
which the cut is next entered (weights that are probabilities, so nothing cancels), which leaves a
dense system on the cut: the chain censored there (Kemeny, Snell and Knapp 1976, section 6.1; Meyer
1989).  `elimination` solves it.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools, Floats, Ints
from analysis.kernel_cache import njit
from analysis.robots.controlled.elimination import cycle_values
from analysis.robots.controlled.ordering import count_uses, cut_and_order, successors

# Weights at the ends of a row that no double-precision sum with 1 can feel.
NEGLIGIBLE = 1e-20


@njit
def rates_out(
    state: int, departure: Ints, arrival: Ints, serving: Floats, bringing: Floats
) -> tuple[float, float]:
    """Return the rates at which a state is left by a departure and by an arrival.

    `serving` holds the departure rate for each q, `bringing` the arrival rate for each r.
    """
    q, r = divmod(state, bringing.size)
    served = serving[q] if departure[state] >= 0 else 0.0
    arrived = bringing[r] if arrival[state] >= 0 else 0.0
    return served, arrived


@njit
def cost_rate(state: int, serving: Floats, bringing: Floats, gamma: float) -> float:
    """Return the cost per unit of time spent in a state."""
    q, r = divmod(state, bringing.size)
    if q == 0:
        return gamma
    return bringing[r] if q == serving.size - 1 else 0.0


@njit
def censor(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, serving: Floats, bringing: Floats,
    gamma: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return the chain censored on the cut: transition matrix, costs and times between visits.

    The weights of a state are nonzero on a window of the cut only, and are kept, in a row of
    `table`, until the last state that moves there has used them.
    """
    states = cut.size
    size = 0
    for state in range(states):
        size = max(size, cut[state] + 1)
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
        served, arrived = rates_out(state, departure, arrival, serving, bringing)
        total = served + arrived
        here_cost = cost_rate(state, serving, bringing, gamma) / total
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
            for slot_row in range(rows):
                for column in range(size):
                    longer[slot_row, column] = table[slot_row, column]
            table = longer
            free = np.arange(rows, 3 * rows)  # the first half is free; the rest is room
            available = rows
        if name < 0:
            available -= 1
            slot[state] = free[available]
            mine = table[slot[state], first:last]
            for column in range(mine.size):
                mine[column] = 0.0
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


@njit
def spread(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, serving: Floats, bringing: Floats,
    gamma: float, gain: float, at_cut: tuple[Floats, Floats, Floats],
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """Return cost, time and bias of every state from those on the cut (nan at (0, 0))."""
    states = cut.size
    cost, time, bias = np.empty(states), np.empty(states), np.empty(states)
    cost[0], time[0], bias[0] = np.nan, np.nan, np.nan
    for state in range(states):
        name = cut[state]
        if name >= 0:
            cost[state], time[state], bias[state] = (
                at_cut[0][name],
                at_cut[1][name],
                at_cut[2][name],
            )
    for state in order:
        if cut[state] >= 0:
            continue
        served, arrived = rates_out(state, departure, arrival, serving, bringing)
        here = cost_rate(state, serving, bringing, gamma)
        ahead, later, above = here, 1.0, here - gain
        for target, rate in ((departure[state], served), (arrival[state], arrived)):
            if rate > 0.0:
                ahead += rate * cost[target]
                later += rate * time[target]
                above += rate * bias[target]
        total = served + arrived
        cost[state], time[state], bias[state] = ahead / total, later / total, above / total
    return cost, time, bias


def evaluate(
    after_departure: Bools, after_arrival: Bools, serving: Floats, bringing: Floats, gamma: float
) -> tuple[float, Floats, Floats, Floats]:
    """Return the gain of a policy with one recurrent class, and cost, time and bias of each state.

    Cost and time run until one much visited state is next entered; the gain and they are sums of
    terms of one sign, exact to a few units in the last place however small they are.  The bias is
    cost - gain * time, summed by itself.
    """
    departure, arrival = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, departure, arrival)
    chain, costs, times = censor(order, departure, arrival, cut, serving, bringing, gamma)
    gain, at_cut = cycle_values(chain, costs, times)
    cost, time, bias = spread(
        order, departure, arrival, cut, serving, bringing, gamma, gain, at_cut
    )
    return gain, cost, time, bias
