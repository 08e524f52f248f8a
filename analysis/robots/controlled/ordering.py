"""The order in which states are censored, and the cut that has to stay.

States are post-decision pairs (q, r), q pages in the queue and r active robots, with the number
q (N + 1) + r.  Under a policy each has at most two successors, one after a departure and one after
an arrival.  Below a switching curve the chain drifts towards more robots, above it towards fewer,
so that the states can be put in an order in which nearly every successor comes before its
predecessor: first the states where an arriving robot is stopped, by rising q + r, then the others,
by falling q + r.  The few successors that come later form the *cut*.  Any policy has such an order;
for a switching curve the cut is about as long as the curve.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.kernel_cache import njit

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@njit
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


@njit
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


@njit
def count_uses(departure: Ints, arrival: Ints, cut: Ints) -> Ints:
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
