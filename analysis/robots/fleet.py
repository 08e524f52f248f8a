r"""Robots that differ: how many of each kind, fixed or controlled (the study's final remarks).

Robots of kind i bring pages at rate lambda_i and cost c_i per unit of time while active (travel,
politeness, the region that they crawl).  Held fixed, n_i robots of each kind feed the queue at rate
Lambda = sum n_i lambda_i, a Poisson stream, so that the cost is C(Lambda/mu) + sum c_i n_i.

Controlled, the state between events is (q, r_1, ..., r_m).  As in the draft, an arriving robot is
stopped and may be restarted, itself and no other; after a departure one robot of any kind may be
started.  With V the relative values,

    theta + (mu 1(q>0) + sum_i lambda_i r_i) V(q, r) = gamma 1(q=0) + Lambda(r) 1(q=K) + sum c_i r_i
        + mu 1(q>0) min{V(q-1, r), min_i V(q-1, r+e_i)}
        + sum_i lambda_i r_i min{V(q+, r-e_i), V(q+, r)},

and a robot must be started when the queue empties with none active, as in the draft's (17).

Where robots are alike it does not matter which one is restarted.  Where they differ it does, and
``substitution=True`` is the other reading: in place of an arriving robot any idle one may be
started, so that the last minimum is over V(q+, r-e_i) and all V(q+, r-e_i+e_j).

A price s_i per robot started is a running cost: in the long run robots of kind i are started as
often as they arrive, lambda_i E r_i times per unit of time, so that it costs what a running cost of
c_i = lambda_i s_i does, under every control.

*Linear rules* start a robot while the backlog, with its weights, is low.  When an event leaves
queue q and r_i active robots of kind i, the rule starts a robot of kind j if

    q + sum_i w_i r_i < t_j

and one of that kind may be started.  After a departure kinds are tried in a fixed order; a robot
that arrives may be restarted, itself and no other, or with ``substitution`` any idle one in the
same order.  With an empty queue and no robot active the first kind is started whatever t says.
Robots that are alike have w = 1 and one t in the draft's straight switching line q + r < t.
`tune_rules` searches weights, thresholds and order.  Many of them make the same chain, so that
chains and not parameters are evaluated, a stack at a time by elimination in dense arrays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import (
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
    set_fields,
    shown,
)
from analysis.display import brief
from analysis.mdp.average import policy_iteration
from analysis.mdp.chains import stationary_law
from analysis.results import NotConverged
from analysis.robots.mm1k import static_cost

LARGEST_CHOICE = 5_000_000


@dataclass(frozen=True)
class RobotKind:
    """Robots that are alike.

    Parameters
    ----------
    arrival_rate : float
        Pages that one of them brings per unit of time, positive.
    available : int
        How many there are, at least 1.
    running_cost : float
        Cost per unit of time of an active one, at least 0.
    change_rate : float
        Pages of their area that change per unit of time, positive. Robots of one area find the same
        pages, so that n of them bring less than n times what one does, see `rate`. Infinite by
        default: they do not compete.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kind = RobotKind(arrival_rate=0.5, available=3, change_rate=1.0)
    >>> [round(float(kind.rate(n)), 3) for n in range(4)]
    [0.0, 0.393, 0.632, 0.777]
    """

    arrival_rate: float
    available: int
    running_cost: float = 0.0
    change_rate: float = math.inf

    def __post_init__(self) -> None:
        set_fields(
            self,
            arrival_rate=check_positive("arrival_rate", self.arrival_rate),
            available=check_integer("available", self.available, 1),
            running_cost=check_number("running_cost", self.running_cost, 0.0, high_open=True),
            change_rate=check_number("change_rate", self.change_rate, 0.0, low_open=True),
        )

    def rate(self, active: ArrayLike) -> Floats:
        """Return the pages that some active robots bring per unit of time.

        Robots fetch pages of their area at random, and a page that has not changed since the last
        fetch brings nothing: Lambda(n) = s (1 - exp(-lambda n / s)), concave, with s the change
        rate and lambda the arrival rate.

        Parameters
        ----------
        active : array_like of int
            Active robots n.

        Returns
        -------
        ndarray
            Of the shape of `active`.
        """
        fetched = self.arrival_rate * np.asarray(active, float)
        if self.change_rate == math.inf:
            return np.asarray(fetched)
        return np.asarray(-self.change_rate * np.expm1(-fetched / self.change_rate))


def check_kinds(kinds: Sequence[RobotKind]) -> tuple[RobotKind, ...]:
    """Return kinds as a tuple, or raise ValueError unless each is a `RobotKind`."""
    check_kind("kinds", kinds, Sequence)
    if not kinds or not all(isinstance(kind, RobotKind) for kind in kinds):
        raise ValueError(f"kinds must be one RobotKind or more, got {shown(kinds)}")
    return tuple(kinds)


def optimal_fleet(
    kinds: Sequence[RobotKind], gamma: float, capacity: int, service_rate: float = 1.0
) -> tuple[tuple[int, ...], float]:
    """Return how many robots of each kind to keep active, and the cost.

    Every combination with at least one robot is compared; of equal ones the first in
    lexicographic order is returned.

    Parameters
    ----------
    kinds : sequence of RobotKind
        The kinds.
    gamma : float
        Weight of starvation.
    capacity : int
        Places in the queue.
    service_rate : float
        Pages indexed per unit of time.

    Raises
    ------
    ValueError
        If there are more than five million combinations.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kinds = [RobotKind(0.1, 5), RobotKind(0.3, 2, running_cost=0.01)]
    >>> active, cost = optimal_fleet(kinds, 1.2, 10)
    >>> active, round(cost, 4)
    ((4, 2), 0.22)
    """
    kinds = check_kinds(kinds)
    total = math.prod(kind.available + 1 for kind in kinds)
    if total > LARGEST_CHOICE:
        raise ValueError(f"kinds must allow at most {LARGEST_CHOICE} combinations, got {total}")
    service_rate = check_positive("service_rate", service_rate)
    counts = np.indices([kind.available + 1 for kind in kinds]).reshape(len(kinds), -1)[:, 1:]
    costs = _fleet_costs(kinds, counts, gamma, capacity, service_rate)
    best = int(np.argmin(costs))
    return tuple(int(n) for n in counts[:, best]), float(costs[best])


def fleet_by_margins(
    kinds: Sequence[RobotKind], gamma: float, capacity: int, service_rate: float = 1.0
) -> tuple[tuple[int, ...], float]:
    """Return the best of the fleets that grow by the largest gain of rate per running cost.

    The cost of a fleet depends on its kinds through the total rate and the running costs alone. If
    robots could be divided, the best fleet of each running cost would be found by adding where a
    unit of cost brings most pages, since rates are concave; with whole robots this is a rule.

    Parameters
    ----------
    kinds, gamma, capacity, service_rate
        As `optimal_fleet` takes them.

    Returns
    -------
    active : tuple of int
        Active robots of each kind.
    cost : float
        Cost per unit of time, at least that of `optimal_fleet`.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kinds = [RobotKind(0.1, 5), RobotKind(0.3, 2, running_cost=0.01)]
    >>> active, cost = fleet_by_margins(kinds, 1.2, 10)
    >>> active, round(cost, 4)
    ((5, 2), 0.2387)
    """
    kinds = check_kinds(kinds)
    service_rate = check_positive("service_rate", service_rate)
    active = np.zeros(len(kinds), np.int64)
    path = []
    while any(n < kind.available for n, kind in zip(active, kinds, strict=True)):
        # Robots without a running cost come first, those that bring most before the others.
        gains = [
            (kind.running_cost == 0, gain / (kind.running_cost or 1.0), -number)
            for number, (n, kind) in enumerate(zip(active, kinds, strict=True))
            if n < kind.available
            for gain in [float(kind.rate(n + 1) - kind.rate(n))]
        ]
        active[-max(gains)[2]] += 1
        path.append(active.copy())
    counts = np.array(path).T
    costs = _fleet_costs(kinds, counts, gamma, capacity, service_rate)
    best = int(np.argmin(costs))
    return tuple(int(n) for n in counts[:, best]), float(costs[best])


def _fleet_costs(
    kinds: Sequence[RobotKind], counts: Ints, gamma: float, capacity: int, service_rate: float
) -> Floats:
    """Return the costs of fleets, one a column of `counts`."""
    total = sum(kind.rate(count) for kind, count in zip(kinds, counts, strict=True))
    running = np.array([kind.running_cost for kind in kinds]) @ counts
    queue = static_cost(np.asarray(total) / service_rate, gamma, capacity, service_rate)
    return np.asarray(queue + running)


LARGEST_MODEL = 1_000_000
"""States of a controlled queue with several kinds of robots."""


@brief
@read_only_arrays
@dataclass(frozen=True)
class FleetValue:
    """What a control of a fleet costs.

    Attributes
    ----------
    gain : float
        Cost per unit of time.
    occupancy : ndarray, shape (K + 1, N_1 + 1, ...)
        Stationary probabilities.
    starvation, loss_rate, running_cost : float
        Fraction of time with an empty queue, pages lost and running costs per unit of time.
    mean_robots : tuple of float
        Mean number of active robots of each kind.
    """

    gain: float
    occupancy: Floats = field(repr=False)
    starvation: float
    loss_rate: float
    running_cost: float
    mean_robots: tuple[float, ...]


@brief
@read_only_arrays
@dataclass(frozen=True)
class FleetSolution(FleetValue):
    """An optimal control of a fleet.

    Attributes
    ----------
    gain : float
        Cost per unit of time of `policy`, with nearly all its digits.
    occupancy, starvation, loss_rate, running_cost, mean_robots
        As `FleetValue` has them.
    bias : ndarray, shape (K + 1, N_1 + 1, ...)
        Relative values; nan where the queue is empty and no robot is active.
    policy : ndarray of int, shape (1 + m, K + 1, N_1 + 1, ...)
        Kind that is started when an event leaves that state, -1 for none: after a departure first,
        then after arrivals of each of the m kinds.
    iterations : int
        Policies that were evaluated.
    residual : float
        Largest violation of the optimality equation, in the unit of the gain: no control costs
        less than the gain minus twice that.
    """

    bias: Floats = field(repr=False)
    policy: Ints = field(repr=False)
    iterations: int
    residual: float

    @property
    def start(self) -> Ints:
        """Kind that is started when a departure leaves a state, shape (K + 1, N_1 + 1, ...)."""
        return self.policy[0]


@dataclass(frozen=True)
class FleetControl:
    """The controlled queue with robots of several kinds.

    Parameters
    ----------
    kinds : sequence of RobotKind
        The kinds; the state space has (K + 1) prod (N_i + 1) states, at most a million.
    service_rate : float
        Pages indexed per unit of time.
    capacity : int
        Places in the queue, at least 1.
    gamma : float
        Weight of starvation.
    substitution : bool
        Whether any idle robot may be started in place of one that arrives; by default an arriving
        robot may restart only itself, as in the draft.

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> kinds = (RobotKind(0.1, 2), RobotKind(0.3, 1))
    >>> round(FleetControl(kinds, 1.0, 4, 1.2).solve().gain, 4)
    0.627
    """

    kinds: tuple[RobotKind, ...]
    service_rate: float
    capacity: int
    gamma: float
    substitution: bool = False

    def __post_init__(self) -> None:
        set_fields(
            self,
            kinds=check_kinds(self.kinds),
            service_rate=check_positive("service_rate", self.service_rate),
            capacity=check_integer("capacity", self.capacity, 1),
            gamma=check_positive("gamma", self.gamma),
        )
        check_kind("substitution", self.substitution, bool)
        if any(kind.change_rate < math.inf for kind in self.kinds):
            raise ValueError("kinds must not compete for pages: change_rate must be infinite here")
        if (states := math.prod(self.shape)) > LARGEST_MODEL:
            raise ValueError(
                f"kinds and capacity must make at most {LARGEST_MODEL} states, got {states}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of everything that is indexed by state."""
        return (self.capacity + 1, *(kind.available + 1 for kind in self.kinds))

    @property
    def _event_rate(self) -> float:
        return self.service_rate + sum(k.arrival_rate * k.available for k in self.kinds)

    def _moves(self, starts: Sequence[Ints]) -> tuple[Ints, Ints, Floats]:
        """Return source, target and rate of each transition, given the kinds started by event.

        ``starts[e]`` has the kind, -1 for none, for each state that event e can leave.
        """
        steps = np.append(self.strides, 0)
        moves = [
            (source, pre_decision + steps[started], rate)
            for started, (source, pre_decision, rate) in zip(starts, self.events, strict=True)
        ]
        sources, targets, rates = (np.concatenate(parts) for parts in zip(*moves, strict=True))
        return sources, targets, rates

    def _action(self, kinds: tuple[int, ...]) -> sparse.csr_array:
        """Return the uniformised chain when these kinds are started after each event, -1 for none.

        No robot is started where none of the kind is idle, one of the first where one must be.
        """
        starts = []
        for kind, (_, pre_decision, _) in zip(kinds, self.events, strict=True):
            started = np.where(self._idle[kind, pre_decision], kind, -1)
            starts.append(np.where((pre_decision == 0) & (started < 0), 0, started))
        sources, targets, rates = self._moves(starts)
        states = np.arange(self._idle.shape[1])
        stays = np.maximum(self._event_rate - np.bincount(sources, rates, states.size), 0.0)
        chances = np.append(rates, stays) / self._event_rate
        places = (np.append(sources, states), np.append(targets, states))
        return sparse.csr_array((chances, places), shape=(states.size,) * 2)[1:, 1:]

    def solve(self, order: Sequence[int] | None = None) -> FleetSolution:
        """Return an optimal control, by policy iteration with sparse elimination.

        Parameters
        ----------
        order : sequence of int, optional
            Kinds in the order in which departures have to start them: a kind only where no robot
            of an earlier one is idle. By default any idle robot may be started.

        Raises
        ------
        NotConverged
            If it does not settle, or rates and gamma are so far apart that the residual exceeds
            the gain.
        ValueError
            If ``order`` does not name each kind once.
        """
        every = tuple(range(len(self.kinds)))
        ranked = every if order is None else tuple(check_integers("order", order).tolist())
        if sorted(ranked) != list(every):
            raise ValueError(f"order must name each of {len(every)} kinds once, got {shown(order)}")
        allowed = self._startable(None if order is None else ranked)
        follow = [(-1, *(every if self.substitution else (kind,))) for kind in every]
        actions = list(itertools.product((-1, *every), *follow))
        chains = [self._action(action) for action in actions]
        # At first every robot that arrives goes on and departures start the first kind with idle
        # robots, so that there is one recurrent class: all are active.
        starts = np.array([actions.index((kind, *every)) for kind in ranked])
        first = starts[self._idle[list(ranked), 1:].argmax(axis=0)]
        rewards = -np.tile(self.costs[1:], (len(actions), 1))
        for row, (started, *_) in zip(rewards, actions, strict=True):
            if order is not None:
                row[~self._departure_allowed(started, allowed)] = -np.inf
        rewards[first, np.arange(first.size)] = -self.costs[1:]
        solution = policy_iteration(chains, rewards, initial=first)
        bias = np.append(np.nan, -solution.bias).reshape(self.shape) / self._event_rate
        policy = self._best(bias, allowed)
        # The linear system's gain is rounding below the residual; the stationary law's is not.
        value = self.evaluate(policy)
        if solution.residual > value.gain:
            raise NotConverged(
                f"rates and gamma are too far apart: rounding of {solution.residual:.3g} hides "
                f"which control is best, at a gain of {value.gain:.3g}"
            )
        return FleetSolution(
            **vars(value),
            bias=bias,
            policy=policy,
            iterations=solution.iterations,
            residual=solution.residual,
        )

    def evaluate(self, policy: ArrayLike) -> FleetValue:
        """Return what a control costs, from the stationary law of the chain that it makes.

        Parameters
        ----------
        policy : array_like of int, shape (1 + m, K + 1, N_1 + 1, ...)
            Kind that is started when an event leaves that state, -1 for none: after a departure
            first, then after arrivals of each of the m kinds, as ``FleetSolution.policy`` has it.
            States that an event cannot leave are not looked at. With an empty queue and no robot
            active one has to be started; the chain is started there.

        Raises
        ------
        ValueError
            If the shape is wrong, a robot is started that is not idle or may not be started, or
            the control can end in more than one recurrent class.

        Examples
        --------
        >>> from analysis.robots import RobotKind
        >>> model = FleetControl((RobotKind(0.1, 2), RobotKind(0.3, 1)), 1.0, 4, 1.2)
        >>> round(model.evaluate(model.solve().policy).gain, 4)
        0.627
        """
        chosen = check_integers("policy", policy)
        shape = (1 + len(self.kinds), *self.shape)
        if chosen.shape != shape or not (-1 <= chosen.min() <= chosen.max() < len(self.kinds)):
            raise ValueError(
                f"policy must be of shape {shape} with kinds 0 to {len(self.kinds) - 1}, "
                f"-1 for none, got {shown(policy)}"
            )
        starts = [
            chosen[event].reshape(-1)[pre_decision]
            for event, (_, pre_decision, _) in enumerate(self.events)
        ]
        for event, started in enumerate(starts):
            self._check_started(event, started)
        sources, targets, rates = self._moves(starts)
        chain = sparse.csr_array((rates, (sources, targets)), shape=(self.costs.size,) * 2)
        law = stationary_law(chain, int(self.strides[chosen[0].flat[0]]))
        return self._value(float(law @ self.costs), law)

    def _check_started(self, event: int, started: Ints) -> None:
        """Refuse robots that are not idle, or that may not be started after an event."""
        pre_decision = self.events[event][1]
        wrong = (started >= 0) & ~self._idle[started, pre_decision]
        wrong |= (pre_decision == 0) & (started < 0)
        if event and not self.substitution:
            wrong |= (started >= 0) & (started != event - 1)
        if wrong.any():
            position = int(np.argmax(wrong))
            state = tuple(int(n) for n in np.unravel_index(pre_decision[position], self.shape))
            raise ValueError(
                "policy must start an idle robot that may be started, and one where the queue is "
                f"empty and none is active, got {started[position]} after event {event} in {state}"
            )

    @cached_property
    def _states(self) -> tuple[Ints, Ints]:
        """Queue and active robots of each state, shapes (states,) and (m, states)."""
        grid = np.indices(self.shape).reshape(len(self.shape), -1)
        return grid[0], grid[1:]

    @cached_property
    def _idle(self) -> Bools:
        """Whether a robot of each kind is idle, shape (m, states)."""
        return self._states[1] < np.array([[kind.available] for kind in self.kinds])

    @property
    def strides(self) -> Ints:
        """By how much the start of a robot of each kind moves the number of a state."""
        return np.asarray(np.cumprod((1, *self.shape[:1:-1]))[::-1])

    @cached_property
    def costs(self) -> Floats:
        """Cost per unit of time of each state."""
        queue, robots = self._states
        running = np.array([k.running_cost for k in self.kinds]) @ robots
        return self.gamma * (queue == 0) + self._losses + running

    @property
    def _losses(self) -> Floats:
        queue, robots = self._states
        arrivals = np.array([k.arrival_rate for k in self.kinds]) @ robots
        return np.asarray(arrivals * (queue == self.capacity))

    @cached_property
    def events(self) -> list[tuple[Ints, Ints, Floats]]:
        """States, what each event leaves of them before a start, and its rate there."""
        queue, robots = self._states
        strides = self.strides
        below = int(strides[0]) * (self.kinds[0].available + 1)
        busy = np.flatnonzero(queue)
        events = [(busy, busy - below, np.full(busy.size, self.service_rate))]
        for kind, count, stride in zip(self.kinds, robots, strides, strict=True):
            active = np.flatnonzero(count)
            pre_decision = active - stride + below * (queue[active] < self.capacity)
            events.append((active, pre_decision, kind.arrival_rate * count[active]))
        return events

    def _value(self, gain: float, law: Floats) -> FleetValue:
        """Return the parts of the cost under a stationary law."""
        queue, robots = self._states
        mean = robots @ law
        return FleetValue(
            gain=gain,
            occupancy=law.reshape(self.shape),
            starvation=float(law[queue == 0].sum()),
            loss_rate=float(law @ self._losses),
            running_cost=float(mean @ [k.running_cost for k in self.kinds]),
            mean_robots=tuple(mean.tolist()),
        )

    def _startable(self, order: tuple[int, ...] | None) -> Bools:
        """Whether a departure that leaves a state may start each kind, shape (m, states)."""
        allowed, ranked = self._idle.copy(), list(order or ())
        for rank, kind in enumerate(ranked):
            allowed[kind] &= ~self._idle[ranked[:rank]].any(axis=0)
        return allowed

    def _departure_allowed(self, started: int, allowed: Bools) -> Bools:
        """Whether a departure from each state but the first may start a kind (-1: none)."""
        queue, robots = self._states
        if started >= 0:
            return allowed[started, 1:]
        return ~((queue == 1) & (robots.sum(axis=0) == 0))[1:]

    def _best(self, bias: Floats, allowed: Bools) -> Ints:
        """Return the kind that is best started after each event, -1 for none."""
        values = bias.reshape(-1)
        moved = np.full((1 + len(self.kinds), values.size), np.inf)
        moved[0] = values
        moved[0, 0] = np.inf  # with an empty queue and no robot one must be started
        for kind, stride in enumerate(self.strides):
            idle = np.flatnonzero(self._idle[kind])
            moved[1 + kind, idle] = values[idle + stride]
        departure = moved.copy()
        departure[1:][~allowed] = np.inf
        choices = [departure.argmin(axis=0)]
        for kind in range(len(self.kinds)):
            rows = range(1 + len(self.kinds)) if self.substitution else (0, 1 + kind)
            choices.append(np.array(rows)[moved[list(rows)].argmin(axis=0)])
        return (np.stack(choices) - 1).reshape(1 + len(self.kinds), *self.shape)


# Linear rules

RETURN = 1e-9
"""Rate, in parts of all others, at which a chain in the search begins anew: where a rule has more
than one recurrent class, this picks those that are reached from an empty queue."""

STEPS = (-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0)
"""By how much the search changes a weight or a threshold at once."""


@dataclass(frozen=True)
class LinearRule:
    """A linear rule.

    `weights` says what an active robot of each kind counts, in pages, `thresholds` below which
    level robots of each kind are started, and `order` in which order the kinds are tried.
    """

    weights: tuple[float, ...]
    thresholds: tuple[float, ...]
    order: tuple[int, ...]

    def policy(self, model: FleetControl) -> Ints:
        """Return what the rule starts after each event, as `FleetControl.evaluate` takes it."""
        queue, *active = np.indices(model.shape)
        level = queue + sum(w * r for w, r in zip(self.weights, active, strict=True))
        startable = [
            (level < t) & (r < kind.available)
            for t, r, kind in zip(self.thresholds, active, model.kinds, strict=True)
        ]
        best = np.full(model.shape, -1)
        for kind in reversed(self.order):
            best[startable[kind]] = kind
        best[(0,) * best.ndim] = self.order[0] if best.flat[0] < 0 else best.flat[0]
        if model.substitution:
            return np.stack([best] * (1 + len(active)))
        return np.stack([best, *(np.where(on, k, -1) for k, on in enumerate(startable))])


def compute_gains(model: FleetControl, policies: Ints) -> Floats:
    """Return the costs per unit of time of a stack of controls, begun with an empty queue.

    Each is as `FleetControl.evaluate` takes it. Costs are known to within `RETURN` times the time
    that a chain takes to forget its beginning.
    """
    count, states = len(policies), int(np.prod(model.shape))
    strides = np.append(model.strides, 0)
    rates = np.zeros((count, states, states))
    for event, (source, pre_decision, rate) in enumerate(model.events):
        started = policies[:, event].reshape(count, -1)[:, pre_decision]
        np.add.at(rates, (np.arange(count)[:, None], source, pre_decision + strides[started]), rate)
    first = strides[policies[:, 0].reshape(count, -1)[:, 0]]
    total = rates.sum(axis=2)
    begun = RETURN * total.max(axis=1)
    # Balance of flow: law (diag(total + begun) - rates) = begun at the first state.
    system = -rates.transpose(0, 2, 1)
    system[:, np.arange(states), np.arange(states)] += total + begun[:, None]
    entered = np.zeros((count, states, 1))
    entered[np.arange(count), first, 0] = begun
    law = np.linalg.solve(system, entered)[:, :, 0]
    return np.asarray((law @ model.costs) / law.sum(axis=1))


def tune_rules(model: FleetControl) -> tuple[LinearRule, LinearRule]:
    """Return the best linear rules that a search finds: with one threshold, and one for each kind.

    It starts at the best of some straight lines, one weight for all and one threshold, in each
    order of the kinds, and changes the order, one weight, one threshold or all thresholds by one of
    `STEPS` as long as this lowers the cost. The second rule is sought from the first, so that it
    costs no more. Neither need be the best of all.

    Parameters
    ----------
    model : FleetControl

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> model = FleetControl((RobotKind(0.9, 1), RobotKind(0.4, 2)), 1.0, 3, 4.0)
    >>> _, rule = tune_rules(model)
    >>> model.evaluate(rule.policy(model)).gain < 1.01 * model.solve().gain
    True
    """
    cost_of: dict[bytes, float] = {}
    kinds = range(len(model.kinds))
    levels = np.arange(0.5, model.capacity + sum(k.available for k in model.kinds) + 1)
    lines = [
        LinearRule((weight,) * len(kinds), (float(t),) * len(kinds), order)
        for order in itertools.permutations(kinds)
        for weight in (0.5, 1.0)
        for t in levels
    ]
    start = _best(model, lines, cost_of)[0]
    line = _descend(model, start, cost_of, one_threshold=True)
    return line, _descend(model, line, cost_of, one_threshold=False)


def _descend(
    model: FleetControl, rule: LinearRule, cost_of: dict[bytes, float], *, one_threshold: bool
) -> LinearRule:
    """Change a rule as long as a change lowers its cost by more than rounding."""
    cost = _best(model, [rule], cost_of)[1]
    while True:
        better, lower = _best(model, _neighbours(rule, one_threshold=one_threshold), cost_of)
        if lower > cost * (1 - 1e-7):
            return rule
        rule, cost = better, lower


def _neighbours(rule: LinearRule, *, one_threshold: bool) -> list[LinearRule]:
    """Return the rules with another order, weight or threshold."""
    kinds = range(len(rule.weights))
    rules = [replace(rule, order=order) for order in itertools.permutations(kinds)]
    for step in STEPS:
        for kind in kinds:
            own = [step * (k == kind) for k in kinds]
            rules.append(replace(rule, weights=_sum(rule.weights, own)))
            if not one_threshold:
                rules.append(replace(rule, thresholds=_sum(rule.thresholds, own)))
        rules.append(replace(rule, thresholds=_sum(rule.thresholds, [step for _ in kinds])))
    return rules


def _sum(values: tuple[float, ...], change: list[float]) -> tuple[float, ...]:
    return tuple(a + b for a, b in zip(values, change, strict=True))


def _best(
    model: FleetControl, rules: list[LinearRule], cost_of: dict[bytes, float]
) -> tuple[LinearRule, float]:
    """Return the cheapest of some rules and its cost; `known` keeps the cost of each chain."""
    policies = [rule.policy(model) for rule in rules]
    keys = [policy.tobytes() for policy in policies]
    new = {key: policy for key, policy in zip(keys, policies, strict=True) if key not in cost_of}
    if new:
        cost_of.update(
            zip(new, compute_gains(model, np.stack(list(new.values()))).tolist(), strict=True)
        )
    costs = [cost_of[key] for key in keys]
    cheapest = int(np.argmin(costs))
    return rules[cheapest], costs[cheapest]
