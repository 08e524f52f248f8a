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

`RobotControl.solve` runs the policy iteration of `optimal_policy`, whose gains have their relative
accuracy however small they are.  `analysis.mdp` solves the same model in its general form
(`uniformised`), to the accuracy of its residual.

*Policy iteration on the controlled queue that keeps the relative accuracy of the smallest gains.*
Where the optimum is 1e-25, the bias of the rare expensive states is of the order of 1, and a bias
held as one number per state hides what decides the optimum. So each state keeps two: C, the
expected cost until a much visited state is next entered, and T, the expected time, both sums of
terms of one sign. The bias is V = C - theta T, and one more robot is better at (q, r) if

    C(q, r+1) - C(q, r) < theta (T(q, r+1) - T(q, r)),

which is decided to within rounding of the four terms of that very state.  A decision that is left
undecided costs no more than that share of what the state costs and takes anyway.  Where C and
theta T are large and nearly equal, V is summed by itself and its own differences decide.

A policy with several recurrent classes keeps the cheapest, and its other states are led there
(Puterman 1994, section 9.5), so that each policy has one gain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import check_array, check_booleans, check_integer, check_positive, set_fields
from analysis.display import brief
from analysis.results import NotConverged
from analysis.robots import policy_chain
from analysis.robots.policy_chain import lead_to, recurrent_class, successors

LARGEST_MODEL = 100_000_000
"""States of a model, (K + 1) (N + 1)."""
LARGEST_DOUBLED = 2**17
"""States of a model up to which `without_cap` doubles the robots, or four times its first model."""
#: States of the cut up to which a policy is evaluated: the system on the cut is dense.
LARGEST_CUT = 3000
#: Share of a state's own cost and time that rounding can amount to.
ROUNDING = 1e-14
#: Share below which two actions are treated as equally good when ties are settled.
TIE = 1e-12


@brief
@read_only_arrays
@dataclass(frozen=True)
class ControlSolution:
    """A policy of the controlled queue and what it costs.

    Attributes
    ----------
    gain : float
        Cost per unit of time, theta = gamma * starvation + loss_rate, to nearly all its digits
        however small it is.
    bias : ndarray, shape (K + 1, N + 1)
        Relative values V(q, r), nan at (0, 0), which is never entered.
    policy : ndarray of bool, shape (K + 1, N + 1)
        Whether a robot is started when q pages are left and r robots are active; decided in each
        state to the accuracy of that state's own costs.
    iterations : int
        Policies that were evaluated.
    residual : float
        Largest violation of the equation that `gain` and `bias` solve, in the unit of the gain; the
        true gain is no farther away.
    converged : bool
        True; a solver that does not settle raises `NotConverged`.
    occupancy : ndarray, shape (K + 1, N + 1)
        Stationary probability of each state.
    starvation : float
        Fraction of time with an empty queue.
    loss_rate : float
        Pages lost per unit of time.
    mean_robots : float
        Mean number of active robots.
    min_robots, max_robots : int
        Fewest and most active robots in the recurrent states.
    """

    gain: float
    bias: Floats = field(repr=False)
    policy: Bools = field(repr=False)
    iterations: int
    residual: float
    converged: bool
    occupancy: Floats = field(repr=False)
    starvation: float
    loss_rate: float
    mean_robots: float
    min_robots: int
    max_robots: int

    @property
    def is_switching_curve(self) -> bool:
        """Whether activation stops at one queue length f(r), which does not rise with r."""
        table = self.policy[:, :-1].copy()
        table[0, 0] = True
        falling = (table[1:] <= table[:-1]).all() and (table[:, 1:] <= table[:, :-1]).all()
        return bool(falling)

    @property
    def curve(self) -> Ints:
        """The curve f(r), r < N: a robot is started when at most f(r) pages are left (-1: never).

        Raises ValueError if the policy is not a monotone switching curve.
        """
        if not self.is_switching_curve:
            raise ValueError("policy must be a monotone switching curve to be read as one")
        return self.policy[:, :-1].sum(axis=0) - 1

    @property
    def last_start(self) -> int:
        """The most active robots at which one more is started as the queue empties (Table 2).

        Raises ValueError if a robot is never started there.
        """
        starts = np.flatnonzero(self.policy[0])
        if not starts.size:
            raise ValueError("policy must start a robot at an empty queue")
        return int(starts[-1])


@dataclass(frozen=True)
class RobotControl:
    """The controlled queue: its rates, its states and policies, and their costs.

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

    Examples
    --------
    >>> solution = RobotControl(3, 0.3, 1.0, 4, gamma=1.2).solve()
    >>> round(solution.gain, 4), solution.max_robots
    (0.3364, 3)
    """

    robots: int
    arrival_rate: float
    service_rate: float
    capacity: int
    gamma: float
    speedup: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        set_fields(
            self,
            robots=check_integer("robots", self.robots, 1),
            arrival_rate=check_positive("arrival_rate", self.arrival_rate),
            service_rate=check_positive("service_rate", self.service_rate),
            capacity=check_integer("capacity", self.capacity, 1),
            gamma=check_positive("gamma", self.gamma),
        )
        if (states := math.prod(self.shape)) > LARGEST_MODEL:
            raise ValueError(
                f"robots and capacity must make at most {LARGEST_MODEL} states, got {states}"
            )
        if self.speedup is not None:
            set_fields(self, speedup=self._checked_speedup(self.speedup))

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

    def solve(self, max_iterations: int = 200) -> ControlSolution:
        """Return an optimal policy, by policy iteration.

        Parameters
        ----------
        max_iterations : int
            Limit on the number of policies.

        Raises
        ------
        ValueError
            If an argument is not allowed, or a policy on the way has a chain that would have to be
            censored on more than 3000 states; `uniformised` has the model for `analysis.mdp`.
        NotConverged
            If the limit is reached, or rounding leaves a residual that is not rounding.
        """
        max_iterations = check_integer("max_iterations", max_iterations, 1)
        # A switching curve near most optima: K/2 where the load is 1, falling slowly.
        spare = self.service_rate / self.arrival_rate - np.arange(self.robots)
        first = self.curve_policy(0.5 * self.capacity + 0.3 * spare)
        evaluation, policy, iterations = optimal_policy(self, first, max_iterations)
        evaluation, policy = settle_ties(self, evaluation, policy)
        bias = evaluation.bias
        best = np.zeros(self.shape, dtype=np.bool_)
        best[:, :-1] = bias[:, 1:] < bias[:, :-1]
        best[0, 0] = True
        residual = self._residual(evaluation, best, best)
        visit = self.gamma / self.arrival_rates[1]  # what the longest visit to an empty queue costs
        scale = max(1.0, visit, float(np.abs(bias.ravel()[1:]).max())) * self.event_rate
        if not residual <= 1e-11 * scale:
            raise NotConverged(f"rounding leaves a violation of {residual:.3g} of the equation")
        return self._describe(evaluation, policy, policy, iterations, residual)

    def evaluate(
        self, policy: ArrayLike, after_arrival: ArrayLike | None = None
    ) -> ControlSolution:
        """Return the cost of a policy.

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
            If a table has a wrong shape, the policy has several recurrent classes, whose costs may
            differ, or its chain would have to be censored on more than 3000 states.
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
        check_cut(self, "policy", down, up)
        evaluation = evaluate(self, down, up)
        residual = self._residual(evaluation, down, up)
        return self._describe(evaluation, down, up, 1, residual)

    def _residual(
        self, evaluation: Evaluation, after_departure: Bools, after_arrival: Bools
    ) -> float:
        """Return the largest violation of the equation in which these tables decide."""
        gain, bias = evaluation.gain, evaluation.bias
        kept, started = bias[:, :-1], bias[:, 1:]
        departed, arrived = bias.copy(), bias.copy()
        departed[:, :-1] = np.where(after_departure[:, :-1], started, kept)
        arrived[:, :-1] = np.where(after_arrival[:, :-1], started, kept)
        violation = np.zeros(self.shape)
        violation[0] = self.gamma
        violation -= gain
        violation[1:] += self.service_rate * (departed[:-1] - bias[1:])
        step = np.vstack([arrived[1:], arrived[-1:]])[:, :-1] - started
        step[-1] += 1.0  # a full queue loses the page
        violation[:, 1:] += self.arrival_rates[1:] * step
        return float(np.abs(violation.ravel()[1:]).max())

    def _describe(
        self,
        evaluation: Evaluation,
        after_departure: Bools,
        after_arrival: Bools,
        iterations: int,
        residual: float,
    ) -> ControlSolution:
        """Return the solution of an evaluated policy, with its stationary averages."""
        rates = self.departure_rates, self.arrival_rates
        law = policy_chain.occupancy(after_departure, after_arrival, *rates).reshape(self.shape)
        recurrent = recurrent_class(*successors(after_departure, after_arrival)) == 0
        active = np.flatnonzero(recurrent.reshape(self.shape).any(axis=0))
        return ControlSolution(
            gain=float(evaluation.gain),
            bias=evaluation.bias,
            policy=after_departure,
            iterations=iterations,
            residual=residual,
            converged=True,
            occupancy=law,
            starvation=float(law[0].sum()),
            loss_rate=float(law[-1] @ self.arrival_rates),
            mean_robots=float(law.sum(axis=0) @ np.arange(self.robots + 1)),
            min_robots=int(active[0]),
            max_robots=int(active[-1]),
        )


# Policy iteration


@brief
@read_only_arrays
@dataclass(frozen=True)
class Evaluation:
    """Costs of a policy with one recurrent class.

    `gain` is its cost per unit of time; `cost`, `time` and `bias`, shape (K + 1, N + 1), are C, T
    and V, nan at (0, 0).
    """

    gain: float
    cost: Floats
    time: Floats
    bias: Floats

    def advantages(self) -> tuple[Floats, Floats]:
        """Return the cost of one more robot in each state, and the size of the terms subtracted.

        Both have shape (K + 1, N); at (0, 0) a robot has to be started.
        """
        cost, time, bias = self.cost, self.time, self.bias
        from_cycles = cost[:, 1:] - cost[:, :-1] - self.gain * (time[:, 1:] - time[:, :-1])
        terms = cost + self.gain * time
        size = terms[:, 1:] + terms[:, :-1]
        # Where C and theta T are far above every bias, their difference has lost its digits.
        largest = 100.0 * float(np.abs(bias.ravel()[1:]).max())
        extra_cost = np.where(size > largest, bias[:, 1:] - bias[:, :-1], from_cycles)
        extra_cost[0, 0], size[0, 0] = -1.0, 0.0
        return extra_cost, np.minimum(size, largest)


def has_short_cut(after_departure: Bools, after_arrival: Bools) -> bool:
    """Whether the dense system on the cut of a policy has at most `LARGEST_CUT` unknowns."""
    moves = successors(after_departure, after_arrival)
    return bool(policy_chain.cut_and_order(after_arrival, *moves)[1].max() < LARGEST_CUT)


def check_cut(model: RobotControl, name: str, after_departure: Bools, after_arrival: Bools) -> None:
    """Raise ValueError, naming the argument, unless a policy has a short cut."""
    if not has_short_cut(after_departure, after_arrival):
        raise ValueError(
            f"{name} must leave a chain to be censored on at most {LARGEST_CUT} states, got more "
            f"with {model.robots} robots and capacity {model.capacity}: solve "
            "uniformised(model) by analysis.mdp"
        )


def evaluate(model: RobotControl, after_departure: Bools, after_arrival: Bools) -> Evaluation:
    """Evaluate a policy with one recurrent class and a short cut.

    Raises NotConverged if the costs or times of a cycle leave the range of double precision.
    """
    rates = model.departure_rates, model.arrival_rates, model.gamma
    gain, *flat = policy_chain.evaluate(after_departure, after_arrival, *rates)
    if not (np.isfinite(gain) and all(np.isfinite(values[1:]).all() for values in flat)):
        raise NotConverged(f"costs or times of {model} leave the range of double precision")
    return Evaluation(gain, *(values.reshape(model.shape) for values in flat))


def optimal_policy(
    model: RobotControl, first: Bools, max_iterations: int
) -> tuple[Evaluation, Bools, int]:
    """Improve a first policy until no action is better, beyond rounding, in any state.

    Returns the evaluation, the policy and the number of policies tried. Raises ValueError where a
    policy on the way has too long a cut, and NotConverged at the limit of policies.
    """
    candidate, slack, tried = first, ROUNDING, set[bytes]()
    for iteration in range(1, max_iterations + 1):
        policy = _with_one_class(model, candidate)
        evaluation = evaluate(model, policy, policy)
        extra_cost, size = evaluation.advantages()
        better = policy.copy()
        # Within the slack neither action is better, and the decision stays as it was.
        better[:, :-1] = extra_cost < -slack * size
        better[:, :-1] |= policy[:, :-1] & (extra_cost <= slack * size)
        if (better == policy).all():
            return evaluation, policy, iteration
        if (name := better.tobytes()) in tried:  # rounding goes in circles
            slack *= 10.0
        tried.add(name)
        candidate = better
    raise NotConverged(f"policy iteration had not settled after {max_iterations} policies")


def _with_one_class(model: RobotControl, policy: Bools) -> Bools:
    """Return the policy, its states led into the cheapest recurrent class if it has several."""
    label = recurrent_class(*successors(policy, policy))
    if label.max() == 0:
        check_cut(model, "robots and capacity", policy, policy)
        return policy
    single = [lead_to(policy, label == name) for name in range(label.max() + 1)]
    for table in single:
        check_cut(model, "robots and capacity", table, table)
    gains = [evaluate(model, table, table).gain for table in single]
    return single[int(np.argmin(gains))]


def settle_ties(
    model: RobotControl, evaluation: Evaluation, policy: Bools
) -> tuple[Evaluation, Bools]:
    """Settle ties so that the policy becomes a switching curve, if that costs nothing.

    Rounding decides between actions that are equally good; the smallest curve that starts a robot
    wherever that is clearly better takes their place if its gain is the same.
    """
    extra_cost, size = evaluation.advantages()
    starts = extra_cost < -TIE * size
    starts = np.logical_or.accumulate(starts[::-1, ::-1], axis=0)
    starts = np.logical_or.accumulate(starts, axis=1)[::-1, ::-1]
    if (starts & (extra_cost > TIE * size)).any() or (starts == policy[:, :-1]).all():
        return evaluation, policy
    curve = np.zeros_like(policy)
    curve[:, :-1] = starts
    several = recurrent_class(*successors(curve, curve)).max() > 0
    if several or not has_short_cut(curve, curve):
        return evaluation, policy
    on_curve = evaluate(model, curve, curve)
    if not on_curve.gain <= evaluation.gain * (1.0 + 1e-13):
        return evaluation, policy
    return on_curve, curve


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
    arrival_rate = check_positive("arrival_rate", arrival_rate)
    service_rate = check_positive("service_rate", service_rate)
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
        doubled = larger.solve()
        same = np.array_equal(doubled.policy[:, : model.robots], solution.policy[:, : model.robots])
        close = math.isclose(doubled.gain, solution.gain, rel_tol=1e-9)
        if solution.max_robots < model.robots and same and close:
            return model, solution
        model, solution = larger, doubled
    raise NotConverged(
        f"{model.robots} robots were still too few at gamma = {model.gamma:g}, arrival_rate = "
        f"{arrival_rate:g} and capacity = {capacity}"
    )


def uniformised(model: RobotControl) -> tuple[list[sparse.csr_array], Floats]:
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
