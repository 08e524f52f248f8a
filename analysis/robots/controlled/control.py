"""The controlled queue: how many robots to keep active, given the backlog.

The robot study, section 3.  An arriving robot is stopped and may be restarted at once; after a
departure one more robot may be started.  Between events the state is (q, r), pages in the queue and
active robots.  With U(q, r) = min{V(q, r), V(q, r+1)} for r < N, U(q, N) = V(q, N), the optimality
equation (24) on these post-decision states is

    theta + (mu 1(q>0) + lambda r) V(q, r) = gamma 1(q=0) + lambda r 1(q=K)
                           + mu 1(q>0) U(q-1, r) + lambda r U(min(q+1, K), r-1),

with U(0, 0) = V(0, 1), the forced action of (17); theta is the cost per unit of time.  Both
decisions minimise the same function, so that one table ``policy[q, r]`` serves both: q pages are
left, r robots are active without the one in question; is it (re)started?  For robots that work each
for itself the optimal table is a switching curve (`analysis.robots.curve`).

`RobotControl.solve` runs the policy iteration of `improvement`; where that would need a long dense
system, or on request, that of `analysis.mdp` on the same states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_choice, check_integer
from analysis.results import NotConverged
from analysis.robots.checks import positive
from analysis.robots.controlled import description, improvement, uniformised
from analysis.robots.controlled.classes import recurrent_class
from analysis.robots.controlled.ordering import successors
from analysis.robots.controlled.queue import LARGEST_MODEL, ControlledQueue
from analysis.robots.controlled.result import ControlSolution

METHODS = ("auto", "censored", "sparse")
LARGEST_DOUBLED = 2**17
"""States of a model up to which `without_cap` doubles the robots, or four times its first model."""


@dataclass(frozen=True)
class RobotControl(ControlledQueue):
    """The controlled queue with its solvers; parameters as in `ControlledQueue`.

    Examples
    --------
    >>> solution = RobotControl(3, 0.3, 1.0, 4, gamma=1.2).solve()
    >>> round(solution.gain, 4), solution.max_robots
    (0.3364, 3)
    """

    def solve(self, method: str = "auto", max_iterations: int = 200) -> ControlSolution:
        """Return an optimal policy, by policy iteration.

        Parameters
        ----------
        method : {"auto", "censored", "sparse"}
            How policies are evaluated: by censoring, which keeps the relative accuracy of however
            small a gain, or by sparse elimination. "auto" censors unless the chain would have to be
            censored on more than 3000 states.
        max_iterations : int
            Limit on the number of policies.

        Returns
        -------
        ControlSolution
            Its ``method`` says which ran.

        Raises
        ------
        ValueError
            If an argument is not allowed, or the model is too large for "censored".
        NotConverged
            If the limit is reached, or rounding leaves a residual that is not rounding.
        """
        check_choice("method", method, METHODS)
        max_iterations = check_integer("max_iterations", max_iterations, 1)
        # A switching curve near most optima: K/2 where the load is 1, falling slowly.
        spare = self.service_rate / self.arrival_rate - np.arange(self.robots)
        first = self.curve_policy(0.5 * self.capacity + 0.3 * spare)
        found = None
        if method != "sparse":
            found = improvement.optimal_policy(self, first, max_iterations)
        if found is not None:
            evaluation, policy, iterations = found
            evaluation, policy = improvement.tidied(self, evaluation, policy)
            gain, bias, ran = evaluation.gain, evaluation.bias, "censored"
        elif method == "censored":
            raise ValueError(
                f"method must be 'auto' or 'sparse' for this model, got 'censored': it is censored "
                f"on {improvement.LARGEST_CUT} states at most"
            )
        else:
            gain, bias, policy, iterations = uniformised.solve(self, first, max_iterations)
            ran = "sparse"
        rates = self.departure_rates, self.arrival_rates
        residual = description.optimality_residual(bias, gain, *rates, self.gamma)
        visit = self.gamma / self.arrival_rates[1]  # what the longest visit to an empty queue costs
        scale = max(1.0, visit, float(np.abs(bias.ravel()[1:]).max())) * self.event_rate
        if not residual <= 1e-11 * scale:
            raise NotConverged(f"rounding leaves a violation of {residual:.3g} of the equation")
        return self._described(gain, bias, policy, policy, iterations, residual, ran)

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
        down = self.policy_table("policy", policy)
        up = down if after_arrival is None else self.policy_table("after_arrival", after_arrival)
        departure, arrival = successors(down, up)
        label = recurrent_class(departure, arrival)
        if label.max() > 0:
            _, r, _ = self.grid()
            active = [np.unique(r[label == name]).tolist() for name in range(label.max() + 1)]
            raise ValueError(
                f"policy must have one recurrent class, got {len(active)}, "
                f"with active robots {sorted(active)}"
            )
        if improvement.has_short_cut(down, up):
            evaluation = improvement.evaluate(self, down, up)
            gain, bias, ran = evaluation.gain, evaluation.bias, "censored"
        else:
            gain, flat = uniformised.evaluate(self, departure, arrival)
            bias, ran = flat.reshape(self.shape), "sparse"
        residual = self._evaluation_residual(gain, bias.ravel(), departure, arrival)
        return self._described(gain, bias, down, up, 1, residual, ran)

    def _evaluation_residual(
        self, gain: float, bias: Floats, departure: Ints, arrival: Ints
    ) -> float:
        q, r, cost = self.grid()
        violation = cost - gain
        rates = self.departure_rates[q], self.arrival_rates[r]
        for target, rate in zip((departure, arrival), rates, strict=True):
            moves = target >= 0
            violation[moves] += rate[moves] * (bias[target[moves]] - bias[moves])
        return float(np.abs(violation[1:]).max())

    def _described(
        self,
        gain: float,
        bias: Floats,
        after_departure: Bools,
        after_arrival: Bools,
        iterations: int,
        residual: float,
        method: str,
    ) -> ControlSolution:
        if method == "censored":
            rates = self.departure_rates, self.arrival_rates
            law, recurs = description.occupancy(after_departure, after_arrival, *rates)
        else:
            law, recurs = uniformised.occupancy(self, after_departure, after_arrival)
        starvation, loss_rate, mean, fewest, most = description.averages(
            law, recurs, self.arrival_rates
        )
        return ControlSolution(
            gain=float(gain),
            bias=bias,
            policy=after_departure,
            method=method,
            iterations=iterations,
            residual=residual,
            converged=True,
            occupancy=law.reshape(self.shape),
            starvation=starvation,
            loss_rate=loss_rate,
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

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotConverged
        If models of about `LARGEST_DOUBLED` states have too few robots, or a solver fails.

    Examples
    --------
    >>> model, solution = without_cap(0.5, 1.0, 4, 1.2)
    >>> model.robots >= solution.max_robots, round(solution.gain, 4)
    (True, 0.1029)
    """
    arrival_rate = positive("arrival_rate", arrival_rate)
    service_rate = positive("service_rate", service_rate)
    capacity = check_integer("capacity", capacity, 1)
    if not service_rate / arrival_rate < LARGEST_MODEL:
        raise ValueError(
            f"arrival_rate must be more than service_rate / {LARGEST_MODEL}, got {arrival_rate:g} "
            f"and {service_rate:g}"
        )
    robots = math.ceil(service_rate / arrival_rate) + capacity
    model = RobotControl(robots, arrival_rate, service_rate, capacity, gamma)
    solution = model.solve()
    most = max(LARGEST_DOUBLED, 4 * robots * (capacity + 1))
    while 2 * model.robots * (capacity + 1) <= most:
        larger = RobotControl(2 * model.robots, arrival_rate, service_rate, capacity, gamma)
        other = larger.solve()
        same = np.array_equal(other.policy[:, : model.robots], solution.policy[:, : model.robots])
        close = math.isclose(other.gain, solution.gain, rel_tol=1e-9)
        if solution.max_robots < model.robots and same and close:
            return model, solution
        model, solution = larger, other
    raise NotConverged(
        f"{model.robots} robots were still too few at gamma = {model.gamma:g}, arrival_rate = "
        f"{arrival_rate:g} and capacity = {capacity}"
    )
