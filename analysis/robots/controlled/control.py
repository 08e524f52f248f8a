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

`RobotControl.solve` runs policy iteration with the exact evaluation of `censored`;
``method="sparse"`` runs `analysis.mdp.policy_iteration` on the same states instead.  The chain with
the draft's own states and algorithm is in `analysis.robots.printed.relative`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_choice, check_integer
from analysis.mdp import NotConverged, recurrent_classes
from analysis.robots.checks import positive
from analysis.robots.controlled import censored, description, ordering
from analysis.robots.controlled import uniformised as general
from analysis.robots.controlled.result import ControlSolution

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

    def solve(self, method: str = "censored", max_iterations: int = 200) -> ControlSolution:
        """Return an optimal policy, by policy description.

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
        check_integer("max_iterations", max_iterations, 1)
        policy = description.line_policy(*self.shape, self.service_rate / self.arrival_rate)
        if method == "sparse":
            gain, bias, policy, iterations = general.solve(self, policy, max_iterations)
            solution = self._checked(gain, bias, policy, iterations)
            if solution is None:
                raise NotConverged("rounding leaves too large a violation of the equation")
            return solution
        try:
            solution = self._from_policies(policy, max_iterations)
        except MemoryError:  # the cut is too long
            solution = None
        return solution or self.solve("sparse", max_iterations)

    def _from_policies(self, policy: Bools, max_iterations: int) -> ControlSolution | None:
        """Improve a first policy; if that fails, others that value iteration leads to.

        On the way from a policy that is far off, others with several recurrent classes may lie.
        """
        solution = self._improved(policy, max_iterations)
        values = np.zeros(self.shape)
        for updates in (500, 5_000, 50_000):
            if solution is not None:
                return solution
            description.improve_values(
                values, updates, self.arrival_rate, self.service_rate, self.gamma
            )
            policy = np.zeros(self.shape, dtype=np.bool_)
            policy[:, :-1] = values[:, 1:] < values[:, :-1]
            policy[0, 0] = True
            solution = self._improved(policy, max_iterations)
        return solution

    def _improved(self, policy: Bools, max_iterations: int) -> ControlSolution | None:
        """Return the solution to which a policy improves, None if it fails on the way."""
        rates = self.arrival_rate, self.service_rate, self.gamma
        try:
            gain, flat, iterations = censored.iterate_policies(policy, *rates, max_iterations)
        except np.linalg.LinAlgError:  # several recurrent classes
            return None
        if iterations < 0:
            return None
        return self._checked(gain, flat.reshape(self.shape), policy, iterations)

    def _checked(
        self, gain: float, bias: Floats, policy: Bools, iterations: int
    ) -> ControlSolution | None:
        """Return the solution, None if it violates the optimality equation."""
        gain, bias, policy = self._tidied(gain, bias, policy)
        residual = self.bellman_residual(gain, bias)
        scale = max(1.0, float(np.abs(bias.ravel()[1:]).max())) * self.event_rate
        if not residual <= 1e-11 * scale:
            return None
        return self._described(gain, bias, policy, policy, iterations, residual)

    def _tidied(self, gain: float, bias: Floats, policy: Bools) -> tuple[float, Floats, Bools]:
        """Settle ties so that the policy becomes a switching curve, if that costs nothing.

        Rounding decides between actions that are equally good; the smallest curve that starts a
        robot wherever that is clearly better takes their place if its gain is the same.
        """
        gap = bias[:, 1:] - bias[:, :-1]
        gap[0, 0] = -1.0
        slack = 1e-12 * max(1.0, float(np.abs(bias.ravel()[1:]).max()))
        starts = gap < -slack
        starts = np.logical_or.accumulate(starts[::-1, ::-1], axis=0)
        starts = np.logical_or.accumulate(starts, axis=1)[::-1, ::-1]
        if (starts & (gap > slack)).any() or (starts == policy[:, :-1]).all():
            return gain, bias, policy
        curve = np.zeros_like(policy)
        curve[:, :-1] = starts
        rates = self.arrival_rate, self.service_rate, self.gamma
        try:
            other, flat = censored.evaluate(curve, curve, *rates)
        except (np.linalg.LinAlgError, MemoryError):
            return gain, bias, policy
        if not other <= gain * (1.0 + 1e-13):
            return gain, bias, policy
        return other, flat.reshape(self.shape), curve

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
        departure, arrival = ordering.successors(*tables)
        classes = recurrent_classes(general.rates_between(self, departure, arrival)[1:, 1:])
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
        except (np.linalg.LinAlgError, MemoryError):
            gain, flat = general.evaluate(self, departure, arrival)
        bias = flat.reshape(self.shape)
        residual = self._evaluation_residual(gain, flat, departure, arrival)
        return self._described(gain, bias, tables[0], tables[1], 1, residual)

    @property
    def event_rate(self) -> float:
        """Rate of the uniformised chain, nu = lambda N + mu."""
        return self.arrival_rate * self.robots + self.service_rate

    def grid(self) -> tuple[Ints, Ints, Floats]:
        """Return q, r and the cost per unit of time of each state, in flat arrays."""
        q, r = (axis.ravel() for axis in np.indices(self.shape))
        cost = self.gamma * (q == 0) + self.arrival_rate * r * (q == self.capacity)
        return q, r, cost

    def bellman_residual(self, gain: float, bias: Floats) -> float:
        """Return the largest violation of the optimality equation, in the unit of the gain."""
        rates = self.arrival_rate, self.service_rate
        return description.optimality_residual(bias, gain, *rates, self.gamma)

    def _evaluation_residual(
        self, gain: float, bias: Floats, departure: Ints, arrival: Ints
    ) -> float:
        _, r, cost = self.grid()
        violation = cost - gain
        for target, rate in ((departure, self.service_rate), (arrival, self.arrival_rate * r)):
            moves = target >= 0
            violation[moves] += (rate * np.ones(r.size))[moves] * (
                bias[target[moves]] - bias[moves]
            )
        return float(np.abs(violation[1:]).max())

    def _described(
        self,
        gain: float,
        bias: Floats,
        after_departure: Bools,
        after_arrival: Bools,
        iterations: int,
        residual: float,
    ) -> ControlSolution:
        rates = self.arrival_rate, self.service_rate
        try:
            law, recurs = description.occupancy(after_departure, after_arrival, *rates)
        except (np.linalg.LinAlgError, MemoryError):
            law, recurs = general.occupancy(self, after_departure, after_arrival)
        starvation, when_full, mean, fewest, most = description.averages(
            law, recurs, self.robots + 1
        )
        return ControlSolution(
            gain=float(gain),
            bias=bias,
            policy=after_departure,
            iterations=iterations,
            residual=residual,
            converged=True,
            occupancy=law.reshape(self.shape),
            starvation=starvation,
            loss_rate=self.arrival_rate * when_full,
            mean_robots=mean,
            min_robots=fewest,
            max_robots=most,
        )


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
