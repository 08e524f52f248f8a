"""The recurrent classes of a policy, and how to lead all states into one of them.

A state has at most two successors, so that one pass of Tarjan's algorithm (1972) is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.kernel_cache import njit

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@njit
def recurrent_class(departure: Ints, arrival: Ints) -> Ints:
    """Return the number of each state's recurrent class, -1 for transient states and (0, 0).

    `departure` and `arrival` hold the successors, -1 for none, as `ordering.successors` gives them.
    """
    states = departure.size
    found = np.full(states, -1, dtype=np.int64)
    order = np.full(states, -1, dtype=np.int64)
    low = np.empty(states, dtype=np.int64)
    component = np.full(states, -1, dtype=np.int64)
    edge = np.zeros(states, dtype=np.int64)
    path, stack = np.empty(states, dtype=np.int64), np.empty(states, dtype=np.int64)
    seen, height, components, classes = 0, 0, 0, 0
    for root in range(1, states):
        if order[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            state = path[depth]
            if edge[state] == 0:
                order[state], low[state] = seen, seen
                seen += 1
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
                    found[stack[position]] = classes
                classes += 1
            components += 1
            height = first
    return found


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
    inside = members.copy()
    while True:
        lands = np.where(table, np.roll(inside, -1), inside)  # where a decision leads
        grown = inside | ((down >= 0) & lands[down]) | ((up >= 0) & lands[up])
        grown[0] = False
        if (grown == inside).all():
            other = np.where(table, inside, np.roll(inside, -1))
            change = ~lands & other & (r < width - 1)
            change[0] = False
            if not change.any():
                return table.reshape(policy.shape)
            table ^= change
        inside = grown
