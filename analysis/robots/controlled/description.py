"""What a policy of the controlled queue does: its law, averages and residual."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools, Floats, Ints
from analysis.kernel_cache import njit
from analysis.robots.controlled import censored, elimination, ordering


@njit
def _reachable(start: int, departure: Ints, arrival: Ints) -> Bools:
    """Mark the states that a policy reaches from a state."""
    found = np.zeros(departure.size, dtype=np.bool_)
    stack = np.empty(2 * departure.size, dtype=np.int64)
    stack[0], height = start, 1
    found[start] = True
    while height:
        height -= 1
        state = stack[height]
        for target in (departure[state], arrival[state]):
            if target >= 0 and not found[target]:
                found[target] = True
                stack[height] = target
                height += 1
    return found


@njit
def _pass_on(
    order: Ints, departure: Ints, arrival: Ints, cut: Ints, at_cut: Floats, serving: Floats,
    bringing: Floats,
) -> Floats:  # fmt: skip
    """Return the stationary law of all states from the visits to the cut."""
    visits = np.zeros(cut.size)
    law = np.zeros(cut.size)
    for position in range(order.size - 1, -1, -1):
        state = order[position]
        if cut[state] >= 0:
            visits[state] = at_cut[cut[state]]
        served, arrived = censored.rates_out(state, departure, arrival, serving, bringing)
        law[state] = visits[state] / (served + arrived)
        for target, rate in ((departure[state], served), (arrival[state], arrived)):
            if target >= 0 and cut[target] < 0:
                visits[target] += rate * law[state]
    total = 0.0
    for state in range(law.size):
        total += law[state]
    for state in range(law.size):
        law[state] /= total
    return law


def occupancy(
    after_departure: Bools, after_arrival: Bools, serving: Floats, bringing: Floats
) -> tuple[Floats, Bools]:
    """Return the stationary law of a policy with one recurrent class, and that class."""
    moves = ordering.successors(after_departure, after_arrival)
    order, cut = ordering.cut_and_order(after_arrival, *moves)
    chain, _, times = censored.censor(order, *moves, cut, serving, bringing, 0.0)
    visits = elimination.cycle_visits(chain, times)
    law = _pass_on(order, *moves, cut, visits, serving, bringing)
    return law, _reachable(int(law.argmax()), *moves)


@njit
def optimality_residual(
    bias: Floats, gain: float, serving: Floats, bringing: Floats, gamma: float
) -> float:
    """Return the largest violation of the optimality equation by a gain and a bias.

    `bias` has shape (levels, width); the unit is that of the gain.
    """
    levels, width = bias.shape
    top = width - 1
    largest = 0.0
    for q in range(levels):
        above = min(q + 1, levels - 1)
        for r in range(width):
            if q == 0 and r == 0:
                continue
            violation = (gamma if q == 0 else 0.0) - gain
            if q > 0:
                best = bias[q - 1, min(r + 1, top)]
                if q > 1 or r > 0:
                    best = min(best, bias[q - 1, r])
                violation += serving[q] * (best - bias[q, r])
            if r > 0:
                best = min(bias[above, r - 1], bias[above, r]) - bias[q, r]
                if q == levels - 1:
                    best += 1.0
                violation += bringing[r] * best
            largest = max(largest, abs(violation))
    return largest


@njit
def averages(law: Floats, recurs: Bools, bringing: Floats) -> tuple[float, float, float, int, int]:
    """Return starvation, loss rate, mean robots, fewest and most robots."""
    width = bringing.size
    full = law.size - width
    starvation, loss_rate, robots = 0.0, 0.0, 0.0
    fewest, most = width, -1
    for state in range(law.size):
        r = state % width
        robots += r * law[state]
        if state < width:
            starvation += law[state]
        if state >= full:
            loss_rate += bringing[r] * law[state]
        if recurs[state]:
            fewest, most = min(fewest, r), max(most, r)
    return starvation, loss_rate, robots, fewest, most
