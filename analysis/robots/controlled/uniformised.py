"""The controlled queue in the general form of `analysis.mdp`: another route to the same numbers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints
from analysis.mdp.average import policy_iteration
from analysis.mdp.chains import stationary_law
from analysis.robots.controlled.ordering import successors
from analysis.robots.controlled.queue import ControlledQueue


def rates_between(model: ControlledQueue, departure: Ints, arrival: Ints) -> sparse.csr_array:
    """Return the rates between the states, given each one's successors (-1 for none)."""
    q, r, _ = model.grid()
    source = np.arange(r.size)
    moves = [
        (source[target >= 0], target[target >= 0], rate[target >= 0])
        for target, rate in (
            (departure, model.departure_rates[q]),
            (arrival, model.arrival_rates[r]),
        )
    ]
    rows, columns, rates = (np.concatenate(parts) for parts in zip(*moves, strict=True))
    return sparse.csr_array((rates, (rows, columns)), shape=(r.size, r.size))


def uniformised(model: ControlledQueue) -> tuple[list[sparse.csr_array], Floats]:
    """Return the problem in the general form: P[action] and costs per unit of time, (4, states).

    The states are those of the bias, flat, without (0, 0); action 2 d + a starts a robot after a
    departure if d is 1, after an arrival if a is 1; epochs come at rate lambda N + mu.
    """
    q, r, cost = model.grid()
    capacity, robots = model.capacity, model.robots
    states = np.arange(q.size)
    served, arrived = model.departure_rates[q], model.arrival_rates[r]
    idle = model.departure_rates.max() - served + model.arrival_rates.max() - arrived
    chances = np.concatenate([served, arrived, idle]) / model.event_rate
    transitions = []
    for action in range(4):
        started = np.where((q == 1) & (r == 0), 1, action // 2)
        departure = np.maximum(q - 1, 0) * (robots + 1) + np.minimum(r + started, robots)
        above = np.minimum(q + 1, capacity)
        arrival = above * (robots + 1) + np.maximum(r - 1 + action % 2, 0)
        targets = np.concatenate([departure, arrival, states])
        chain = sparse.csr_array((chances, (np.tile(states, 3), targets)), shape=(q.size, q.size))
        transitions.append(chain[1:, 1:])
    return transitions, np.tile(cost[1:], (4, 1))


def solve(
    model: ControlledQueue, first: Bools, max_iterations: int
) -> tuple[float, Floats, Bools, int]:
    """Return gain, bias, policy and iterations of the general policy iteration."""
    transitions, costs = uniformised(model)
    q, r, _ = model.grid()
    table = first.ravel()
    width = model.robots + 1
    down = table[np.maximum(q - 1, 0) * width + r]
    up = table[np.minimum(q + 1, model.capacity) * width + np.maximum(r - 1, 0)]
    start = (2 * down + up)[1:].astype(np.int64)
    solution = policy_iteration(transitions, -costs, initial=start, max_iterations=max_iterations)
    bias = np.append(np.nan, -solution.bias).reshape(model.shape) / model.event_rate
    policy = np.zeros(model.shape, dtype=np.bool_)
    policy[:, :-1] = bias[:, 1:] < bias[:, :-1]
    policy[0, 0] = True
    return -solution.gain, bias, policy, solution.iterations


def evaluate(model: ControlledQueue, departure: Ints, arrival: Ints) -> tuple[float, Floats]:
    """Return gain and flat bias of a policy, as the only one of a problem in the general form."""
    moves = rates_between(model, departure, arrival)[1:, 1:] / model.event_rate
    chain = sparse.csr_array(moves + sparse.diags_array(1.0 - moves.sum(axis=1)))
    solution = policy_iteration([chain], -model.grid()[2][None, 1:])
    return -solution.gain, np.append(np.nan, -solution.bias) / model.event_rate


def occupancy(
    model: ControlledQueue, after_departure: Bools, after_arrival: Bools
) -> tuple[Floats, Bools]:
    """Return the stationary law of a policy and the states that recur.

    Of several recurrent classes (equally good ones, under an optimal policy) the one that the
    first state (0, 1) leads to is taken.
    """
    rates = rates_between(model, *successors(after_departure, after_arrival))
    law = np.append(0.0, stationary_law(rates[1:, 1:]))
    return law, law > 0.0
