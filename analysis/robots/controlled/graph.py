"""The graph of a policy: successors of states, recurrent classes, and how to lead all into one.

States are post-decision pairs (q, r), q pages in the queue and r active robots, with the number
q (N + 1) + r.  Under a policy each has at most two successors, one after a departure and one after
an arrival, so that one pass of Tarjan's algorithm (1972) finds the classes.
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools, Ints
from analysis.kernel_cache import njit


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
def recurrent_class(departure: Ints, arrival: Ints) -> Ints:
    """Return the number of each state's recurrent class, -1 for transient states and (0, 0).

    `departure` and `arrival` hold the successors, -1 for none, as `ordering.successors` gives them.
    """
    states = departure.size
    class_of = np.full(states, -1, dtype=np.int64)
    order = np.full(states, -1, dtype=np.int64)
    low = np.empty(states, dtype=np.int64)
    component = np.full(states, -1, dtype=np.int64)
    edge = np.zeros(states, dtype=np.int64)
    path, stack = np.empty(states, dtype=np.int64), np.empty(states, dtype=np.int64)
    visit_count, height, components, classes = 0, 0, 0, 0
    for root in range(1, states):
        if order[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if edge[state] == 0:
                order[state], low[state] = visit_count, visit_count
                visit_count += 1
                stack[height] = state
                height += 1
            if edge[state] < 2:
                target = departure[state] if edge[state] == 0 else arrival[state]
                edge[state] += 1
                if target >= 0 and order[target] < 0:
                    depth += 1
                    path[depth] = target
                elif target >= 0 and component[target] < 0:
                    low[state] = min(low[state], order[target])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[state])
            if low[state] < order[state]:
                continue
            first = height - 1
            while stack[first] != state:
                first -= 1
            closed = True
            for position in range(first, height):
                component[stack[position]] = components
            for position in range(first, height):
                member = stack[position]
                for target in (departure[member], arrival[member]):
                    closed = closed and (target < 0 or component[target] == components)
            if closed:
                for position in range(first, height):
                    class_of[stack[position]] = classes
                classes += 1
            components += 1
            height = first
    return class_of


def lead_to(policy: Bools, members: Bools) -> Bools:
    """Return `policy`, changed where it never leads to the flat set `members`, so that it does.

    Only decisions change that no state uses which already leads there: both tables of successors
    go through the same decision (q, r), so that none of the changes undoes another.
    """
    levels, width = policy.shape
    q, r = np.divmod(np.arange(policy.size), width)
    down = np.where(q > 0, (q - 1) * width + r, -1)  # the decision after a departure
    up = np.where(r > 0, np.minimum(q + 1, levels - 1) * width + r - 1, -1)  # after an arrival
    table = policy.ravel().copy()
    leading = members.copy()
    while True:
        lands = np.where(table, np.roll(leading, -1), leading)  # where a decision leads
        grown = leading | ((down >= 0) & lands[down]) | ((up >= 0) & lands[up])
        grown[0] = False
        if (grown == leading).all():
            with_other_action = np.where(table, leading, np.roll(leading, -1))
            change = ~lands & with_other_action & (r < width - 1)
            change[0] = False
            if not change.any():
                return table.reshape(policy.shape)
            table ^= change
        leading = grown


@njit
def reachable(start: int, departure: Ints, arrival: Ints) -> Bools:
    """Mark the states that a policy reaches from a state, that state included."""
    reached = np.zeros(departure.size, dtype=np.bool_)
    stack = np.empty(2 * departure.size, dtype=np.int64)
    stack[0], height = start, 1
    reached[start] = True
    while height:
        height -= 1
        state = stack[height]
        for target in (departure[state], arrival[state]):
            if target >= 0 and not reached[target]:
                reached[target] = True
                stack[height] = target
                height += 1
    return reached
