r"""The controlled queue: how many robots to keep active, given the backlog.

The robot study, section 3.  An arriving robot is stopped and may be restarted at once; after a
departure one more robot may be started.  Between events the state is (q, r), pages in the queue and
active robots.  With U(q, r) = min{V(q, r), V(q, r+1)} for r < N, U(q, N) = V(q, N), the optimality
equation (24) on these post-decision states is

    theta + (mu 1(q>0) + lambda r) V(q, r) = gamma 1(q=0) + lambda r 1(q=K)
                           + mu 1(q>0) U(q-1, r) + lambda r U(min(q+1, K), r-1),

with U(0, 0) = V(0, 1), the forced action of (17); theta is the cost per unit of time.  Both
decisions minimise the same function, so that one table ``policy[q, r]`` serves both: q pages are
left, r robots are active without the one in question; is it (re)started?

`RobotControl.solve` runs policy iteration with the exact evaluation of `analysis.robots.censored`;
``method="sparse"`` runs `analysis.mdp.policy_iteration` on the same states instead.  The chain with
the draft's own states and algorithm is in `analysis.robots.relative`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from analysis.checks import check_choice, check_integer
from analysis.mdp import NotConverged, policy_iteration, recurrent_classes, stationary_law
from analysis.robots import censored
from analysis.robots.checks import positive
from analysis.robots.result import ControlSolution

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class RobotControl:
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
        Places in the queue K, at least 2, the one in service included.
    gamma : float
        Weight of starvation against the loss rate, positive.
    """

    robots: int
    arrival_rate: float
    service_rate: float
    capacity: int
    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "robots", check_integer("robots", self.robots, 1))
        object.__setattr__(self, "capacity", check_integer("capacity", self.capacity, 2))
        for name in ("arrival_rate", "service_rate", "gamma"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (K + 1, N + 1) of everything that is indexed by state."""
        return self.capacity + 1, self.robots + 1

    def curve_policy(self, curve: ArrayLike) -> Bools:
        """Return the policy that starts a robot when at most curve[r] pages are left, r < N."""
        heights = np.asarray(curve)
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

    def _first_policy(self) -> Bools:
        """Return a curve near most optima: K/2 at load 1, and falling slowly."""
        gap = self.service_rate / self.arrival_rate - np.arange(self.robots)
        return self.curve_policy(np.floor(0.5 * self.capacity + 0.3 * gap))

    def solve(self, method: str = "censored", max_iterations: int = 200) -> ControlSolution:
        """Return an optimal policy, by policy iteration.

        Parameters
        ----------
        method : {"censored", "sparse"}
            How policies are evaluated: by censoring, or by sparse elimination.
        max_iterations : int
            Limit on the number of policies.

        Raises
        ------
        NotConverged
            If the limit is reached.
        """
        check_choice("method", method, ("censored", "sparse"))
        policy = self._first_policy()
        if method == "censored":
            try:
                gain, flat, iterations = censored.iterate_policies(
                    policy, self.arrival_rate, self.service_rate, self.gamma, max_iterations
                )
            except (np.linalg.LinAlgError, MemoryError):  # several recurrent classes, or a long cut
                return self.solve("sparse", max_iterations)
            if iterations < 0:
                return self.solve("sparse", max_iterations)
            bias = flat.reshape(self.shape)
        else:
            gain, bias, policy, iterations = self._solve_sparse(policy, max_iterations)
        residual = self.bellman_residual(gain, bias)
        scale = max(1.0, float(np.nanmax(np.abs(bias)))) * self._event_rate
        if not residual <= 1e-11 * scale:
            if method == "sparse":
                raise NotConverged(f"the optimality equation is violated by {residual:.3g}")
            return self.solve("sparse", max_iterations)
        return self._described(gain, bias, policy, policy, iterations, residual)

    def evaluate(
        self, policy: ArrayLike, after_arrival: ArrayLike | None = None
    ) -> ControlSolution:
        """Return what a policy costs.

        Parameters
        ----------
        policy : array_like of bool, shape (K + 1, N + 1)
            Whether a robot is started when q pages are left and r robots are active.
        after_arrival : array_like of bool, shape (K + 1, N + 1), optional
            Another table for decisions at arrivals (r without the arriving robot); `policy` then
            holds at departures only.

        Raises
        ------
        ValueError
            If a table has a wrong shape, or the policy has several recurrent classes, whose costs
            may differ.
        """
        tables = []
        for name, table in (("policy", policy), ("after_arrival", after_arrival)):
            checked = np.array(policy if table is None else table, dtype=np.bool_)
            if checked.shape != self.shape:
                raise ValueError(f"{name} must have shape {self.shape}, got {checked.shape}")
            checked[0, 0] = True
            tables.append(checked)
        departure, arrival = censored.successors(*tables)
        classes = recurrent_classes(self._rates(departure, arrival)[1:, 1:])
        if len(classes) > 1:
            levels = [np.unique((m + 1) % (self.robots + 1)).tolist() for m in classes]
            raise ValueError(
                f"policy must have one recurrent class, got {len(classes)}, "
                f"with active robots {levels}"
            )
        try:
            gain, flat = censored.evaluate(
                tables[0], tables[1], self.arrival_rate, self.service_rate, self.gamma
            )
        except MemoryError:
            gain, flat = self._evaluate_sparse(departure, arrival)
        bias = flat.reshape(self.shape)
        residual = self._evaluation_residual(gain, flat, departure, arrival)
        return self._described(gain, bias, tables[0], tables[1], 1, residual)

    @property
    def _event_rate(self) -> float:
        return self.arrival_rate * self.robots + self.service_rate

    def _grid(self) -> tuple[Ints, Ints, Floats]:
        """Return q, r and the cost per unit of time of each state, flat."""
        q, r = (axis.ravel() for axis in np.indices(self.shape))
        cost = self.gamma * (q == 0) + self.arrival_rate * r * (q == self.capacity)
        return q, r, cost

    def bellman_residual(self, gain: float, bias: Floats) -> float:
        """Return the largest violation of the optimality equation, in the unit of the gain."""
        K = self.capacity
        least = bias.copy()
        least[:, :-1] = np.minimum(bias[:, :-1], bias[:, 1:])
        least[0, 0] = bias[0, 1]
        q, r, cost = (values.reshape(self.shape) for values in self._grid())
        served = self.service_rate * (q > 0) * (least[np.maximum(q - 1, 0), r] - bias)
        met = least[np.minimum(q + 1, K), np.maximum(r - 1, 0)]
        arrived = self.arrival_rate * r * (met - bias)
        arrived[:, 0] = 0.0
        violation = cost - gain + served + arrived
        return float(np.abs(violation.ravel()[1:]).max())

    def _evaluation_residual(
        self, gain: float, bias: Floats, departure: Ints, arrival: Ints
    ) -> float:
        _, r, cost = self._grid()
        violation = cost - gain
        for target, rate in ((departure, self.service_rate), (arrival, self.arrival_rate * r)):
            moves = target >= 0
            violation[moves] += (rate * np.ones(r.size))[moves] * (
                bias[target[moves]] - bias[moves]
            )
        return float(np.abs(violation[1:]).max())

    def _rates(self, departure: Ints, arrival: Ints) -> sparse.csr_array:
        """Return the rates between states under a policy, without the diagonal."""
        _, r, _ = self._grid()
        source = np.arange(r.size)
        moves = [
            (source[target >= 0], target[target >= 0], rate[target >= 0])
            for target, rate in (
                (departure, np.full(r.size, self.service_rate)),
                (arrival, self.arrival_rate * r),
            )
        ]
        rows, columns, rates = (np.concatenate(parts) for parts in zip(*moves, strict=True))
        return sparse.csr_array((rates, (rows, columns)), shape=(r.size, r.size))

    def _described(
        self,
        gain: float,
        bias: Floats,
        after_departure: Bools,
        after_arrival: Bools,
        iterations: int,
        residual: float,
    ) -> ControlSolution:
        departure, arrival = censored.successors(after_departure, after_arrival)
        rates = self._rates(departure, arrival)
        # From (0, 1), where every policy is sent that leaves the queue empty.
        law = stationary_law(rates[1:, 1:])
        classes = recurrent_classes(rates[1:, 1:])
        members = 1 + next(states for states in classes if law[states].sum() > 0.5)
        occupancy = np.append(0.0, law)
        q, r, _ = self._grid()
        return ControlSolution(
            gain=float(gain),
            bias=bias,
            policy=after_departure,
            iterations=iterations,
            residual=residual,
            converged=True,
            occupancy=occupancy.reshape(self.shape),
            starvation=float(occupancy[q == 0].sum()),
            loss_rate=float(self.arrival_rate * (occupancy * r)[q == self.capacity].sum()),
            mean_robots=float(occupancy @ r),
            min_robots=int(r[members].min()),
            max_robots=int(r[members].max()),
        )

    def _evaluate_sparse(self, departure: Ints, arrival: Ints) -> tuple[float, Floats]:
        """Evaluate a policy as the only one of a problem in the general form."""
        moves = self._rates(departure, arrival)[1:, 1:] / self._event_rate
        chain = sparse.csr_array(moves + sparse.diags_array(1.0 - moves.sum(axis=1)))
        solution = policy_iteration([chain], -self._grid()[2][None, 1:])
        return -solution.gain, np.append(np.nan, -solution.bias) / self._event_rate

    def _solve_sparse(self, first: Bools, max_iterations: int) -> tuple[float, Floats, Bools, int]:
        """Solve by the general policy iteration on the uniformised chain."""
        transitions, costs = self.uniformised()
        after = first.ravel()
        q, r, _ = self._grid()
        width = self.robots + 1
        down = after[np.maximum(q - 1, 0) * width + r]
        up = after[np.minimum(q + 1, self.capacity) * width + np.maximum(r - 1, 0)]
        start = (2 * down + up)[1:].astype(np.int64)
        solution = policy_iteration(
            transitions, -costs, initial=start, max_iterations=max_iterations
        )
        bias = np.append(np.nan, -solution.bias).reshape(self.shape) / self._event_rate
        policy = np.zeros(self.shape, dtype=np.bool_)
        policy[:, :-1] = bias[:, 1:] < bias[:, :-1]
        policy[0, 0] = True
        return -solution.gain, bias, policy, solution.iterations

    def uniformised(self) -> tuple[list[sparse.csr_array], Floats]:
        """Return the problem in the general form: P[action] and costs per unit of time.

        The states are those of `bias`, flat, without (0, 0); action 2 d + a starts a robot after a
        departure if d is 1, after an arrival if a is 1; epochs come at rate lambda N + mu.
        """
        q, r, cost = self._grid()
        K, N = self.capacity, self.robots
        states = np.arange(q.size)
        served = self.service_rate * (q > 0) / self._event_rate
        arrived = self.arrival_rate * r / self._event_rate
        nothing = (self.service_rate * (q == 0) + self.arrival_rate * (N - r)) / self._event_rate
        transitions = []
        for action in range(4):
            started = np.where((q == 1) & (r == 0), 1, action // 2)
            departure = np.maximum(q - 1, 0) * (N + 1) + np.minimum(r + started, N)
            arrival = np.minimum(q + 1, K) * (N + 1) + np.maximum(r - 1 + action % 2, 0)
            matrix = sparse.csr_array(
                (
                    np.concatenate([served, arrived, nothing]),
                    (np.tile(states, 3), np.concatenate([departure, arrival, states])),
                ),
                shape=(q.size, q.size),
            )
            transitions.append(matrix[1:, 1:])
        return transitions, np.tile(cost[1:], (4, 1))


def without_cap(
    arrival_rate: float, service_rate: float, capacity: int, gamma: float
) -> tuple[RobotControl, ControlSolution]:
    """Return a model with so many robots that more would not help, and its solution.

    The number is doubled until no state with all robots active recurs and doubling it once more
    changes neither the cost nor the policy.

    Parameters
    ----------
    arrival_rate, service_rate, capacity, gamma
        As in `RobotControl`.
    """
    positive("arrival_rate", arrival_rate), positive("service_rate", service_rate)
    robots = math.ceil(service_rate / arrival_rate) + check_integer("capacity", capacity, 2)
    model = RobotControl(robots, arrival_rate, service_rate, capacity, gamma)
    solution = model.solve()
    for _ in range(20):
        larger = RobotControl(2 * model.robots, arrival_rate, service_rate, capacity, gamma)
        other = larger.solve()
        same = np.array_equal(other.policy[:, : model.robots], solution.policy[:, : model.robots])
        close = math.isclose(other.gain, solution.gain, rel_tol=1e-9)
        if solution.max_robots < model.robots and same and close:
            return model, solution
        model, solution = larger, other
    raise NotConverged(f"{model.robots} robots were still too few")
