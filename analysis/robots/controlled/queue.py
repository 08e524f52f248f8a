"""The queue of pages whose robots are started and stopped: its numbers, states, rates and policies.

A state (q, r) holds q pages and r active robots; flat arrays number it q (N + 1) + r.  What the
solvers need to know of the rates they read here, as one rate for each q and one for each r.
`uniformised` writes the same model in the general form of `analysis.mdp`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_array, check_booleans, check_integer, check_positive

LARGEST_MODEL = 100_000_000
"""States of a model, (K + 1) (N + 1)."""


@dataclass(frozen=True)
class ControlledQueue:
    """A queue of pages fed by robots that are started and stopped.

    Parameters
    ----------
    robots : int
        Available robots N, at least 1.
    arrival_rate : float
        Pages that an active robot brings per unit of time, lambda, positive.
    service_rate : float
        Pages indexed per unit of time, mu, positive.
    capacity : int
        Places in the queue K, at least 1, the one in service included.
    gamma : float
        Weight of starvation against the loss rate, positive.
    speedup : sequence of float, length N + 1, optional
        How many times the pages of one robot 0..N active ones bring together: it starts with 0 and
        rises. Without it robots do not hinder each other, and r of them bring r times as much.
    """

    robots: int
    arrival_rate: float
    service_rate: float
    capacity: int
    gamma: float
    speedup: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "robots", check_integer("robots", self.robots, 1))
        object.__setattr__(self, "capacity", check_integer("capacity", self.capacity, 1))
        for name in ("arrival_rate", "service_rate", "gamma"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if (states := math.prod(self.shape)) > LARGEST_MODEL:
            raise ValueError(
                f"robots and capacity must make at most {LARGEST_MODEL} states, got {states}"
            )
        if self.speedup is not None:
            object.__setattr__(self, "speedup", self._checked_speedup(self.speedup))

    def _checked_speedup(self, speedup: ArrayLike) -> tuple[float, ...]:
        """Return the speedup as a tuple if it is one, or raise."""
        checked = check_array("speedup", speedup, 0.0)
        rises = checked.shape == (self.robots + 1,) and (np.diff(checked) > 0).all()
        if not rises or checked[0] != 0.0:
            raise ValueError(
                f"speedup must start with 0 and rise, one number for each of 0 to {self.robots} "
                f"active robots, got {checked.tolist()}"
            )
        return tuple(checked.tolist())

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (K + 1, N + 1) of everything that is indexed by state."""
        return self.capacity + 1, self.robots + 1

    @cached_property
    def departure_rates(self) -> Floats:
        """Pages that leave per unit of time when q wait, mu 1(q > 0), shape (K + 1,)."""
        rates = np.full(self.capacity + 1, self.service_rate)
        rates[0] = 0.0
        rates.flags.writeable = False
        return rates

    @cached_property
    def arrival_rates(self) -> Floats:
        """Pages that r active robots bring per unit of time, shape (N + 1,).

        They are lambda r, or lambda times the speedup.
        """
        linear = np.arange(self.robots + 1, dtype=np.float64)
        rates = self.arrival_rate * (linear if self.speedup is None else np.array(self.speedup))
        rates.flags.writeable = False
        return rates

    @property
    def event_rate(self) -> float:
        """Rate of the uniformised chain, nu = mu + the arrival rate of all robots, lambda N."""
        return float(self.arrival_rates.max() + self.departure_rates.max())

    def grid(self) -> tuple[Ints, Ints, Floats]:
        """Return q, r and the cost per unit of time of each state, in flat arrays."""
        q, r = (axis.ravel() for axis in np.indices(self.shape))
        cost = self.gamma * (q == 0) + self.arrival_rates[r] * (q == self.capacity)
        return q, r, cost

    def curve_policy(self, curve: ArrayLike) -> Bools:
        """Return the policy that starts a robot when at most curve[r] pages are left, r < N."""
        heights = check_array("curve", curve)
        if heights.shape != (self.robots,):
            raise ValueError(
                f"curve must have one height for each of 0 to {self.robots - 1} active robots, "
                f"got shape {heights.shape}"
            )
        policy = np.zeros(self.shape, dtype=np.bool_)
        policy[:, :-1] = np.arange(self.capacity + 1)[:, None] <= heights
        policy[0, 0] = True
        return policy

    def static_policy(self) -> Bools:
        """Return the policy that keeps all robots active, pi_N of the draft."""
        return self.curve_policy(np.full(self.robots, self.capacity))

    def policy_table(self, name: str, table: ArrayLike) -> Bools:
        """Return a checked copy of a policy's table, with the start that is forced at (0, 0).

        Raises ValueError if the shape is not (K + 1, N + 1) or an entry is not true or false.
        """
        policy = check_booleans(name, table)
        if policy.shape != self.shape:
            raise ValueError(f"{name} must have shape {self.shape}, got {policy.shape}")
        policy[0, 0] = True
        return policy


def uniformised(model: ControlledQueue) -> tuple[list[sparse.csr_array], Floats]:
    """Return the problem in the form of `analysis.mdp`: P[action], and costs, shape (4, states).

    The states are those of the bias, flat, without (0, 0); action 2 d + a starts a robot after a
    departure if d is 1, after an arrival if a is 1; epochs come at rate lambda N + mu, and costs
    are per unit of time, as is the gain.
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
