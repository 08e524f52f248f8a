"""Policy iteration for the controlled queue, and what a policy costs, as compiled code.

The evaluation is that of `analysis.robots.censored`; the improvement compares V(q, r + 1) with
V(q, r), which decides both after a departure and after an arrival.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.robots.censored import (
    censor,
    cut_and_order,
    rates_out,
    spread,
    successors,
)
from analysis.robots.elimination import cycle_values, cycle_visits

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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


@njit(cache=True)
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


@njit(cache=True)
def occupancy(
    after_departure: Bools,
    after_arrival: Bools,
    arrival_rate: float,
    service_rate: float,
) -> tuple[Floats, Bools]:
    """Return the stationary law of a policy with one recurrent class, and that class.

    Raises as `evaluate` does.
    """
    levels, width = after_departure.shape
    departure, arrival = successors(after_departure, after_arrival)
    order, cut = cut_and_order(after_arrival, departure, arrival)
    chain, _, times = censor(
        order, departure, arrival, cut, levels, arrival_rate, service_rate, 0.0
    )
    at_cut = cycle_visits(chain, times)
    visits = np.zeros(cut.size)
    law = np.zeros(cut.size)
    for position in range(order.size - 1, -1, -1):
        state = order[position]
        if cut[state] >= 0:
            visits[state] = at_cut[cut[state]]
        served, arrived = rates_out(state, width, departure, arrival, arrival_rate, service_rate)
        law[state] = visits[state] / (served + arrived)
        for target, rate in ((departure[state], served), (arrival[state], arrived)):
            if target >= 0 and cut[target] < 0:
                visits[target] += rate * law[state]
    return law / law.sum(), _reachable(int(np.argmax(law)), departure, arrival)


@njit(cache=True)
def optimality_residual(
    bias: Floats, gain: float, arrival_rate: float, service_rate: float, gamma: float
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
                violation += service_rate * (best - bias[q, r])
            if r > 0:
                best = min(bias[above, r - 1], bias[above, r]) - bias[q, r]
                if q == levels - 1:
                    best += 1.0
                violation += arrival_rate * r * best
            largest = max(largest, abs(violation))
    return largest


@njit(cache=True)
def averages(law: Floats, recurs: Bools, width: int) -> tuple[float, float, float, int, int]:
    """Return starvation, mean robots at a full queue and at all, fewest and most robots."""
    full = law.size - width
    starvation, robots_when_full, robots = 0.0, 0.0, 0.0
    fewest, most = width, -1
    for state in range(law.size):
        r = state % width
        robots += r * law[state]
        if state < width:
            starvation += law[state]
        if state >= full:
            robots_when_full += r * law[state]
        if recurs[state]:
            fewest, most = min(fewest, r), max(most, r)
    return starvation, robots_when_full, robots, fewest, most


@njit(cache=True)
def line_policy(levels: int, width: int, balance: float) -> Bools:
    """Return a switching curve near most optima: K/2 at load 1 (r = balance), falling slowly."""
    policy = np.zeros((levels, width), dtype=np.bool_)
    for r in range(width - 1):
        height = 0.5 * (levels - 1) + 0.3 * (balance - r)
        for q in range(levels):
            policy[q, r] = q <= height
    policy[0, 0] = True
    return policy
