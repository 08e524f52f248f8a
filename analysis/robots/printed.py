r"""The draft's own decision process, as corrected and as printed, and its algorithm.

The robot study, section 3.1: states (q, r, s), actions 0 and 1, transitions (19) to (21)
(`full_chain`).  The solvers do without this process; it is here for comparison with them, and to
show what goes wrong where (19) and (20) are used as printed, or where Lemma 4 calls the process
communicating.

Proposition 4 is relative value iteration on it (`proposition_4`).  States x = (q, r, s) are read
just before an event of type s: 0 departure, 1 arrival, 2 fictitious; events come at rate
nu = lambda N + mu.  With the misprints of (19) and (20) corrected, the next event after a state is
left with q' pages and r' robots is a departure with probability mu 1(q'>0)/nu, an arrival with
lambda r'/nu, else fictitious.  From
h_0 = 0

    h_{k+1}(x) = (1 - tau) h_k(x) + tau (T h_k(x) - T h_k(x_hat)),
    T h(x) = c(x) + min_a E[h(x') | x, a],   c(x) = gamma 1(q=0) + nu 1(q=K, s=1),

until ``max |(h_{k+1} - h_k)/h_k| < 1e-5`` over the states, those where both are 0 left out (the
reference always is one).  The optimal cost is then T h(x_hat), not tau T h(x_hat) as printed.

Relative values smaller than rounding count as 0.  Where rounding hides whether the rule holds, the
run ends with an error.

The draft leaves x_hat open.  T(h + c) = T h + c for a constant c, so that the iterates of two
reference states differ by a constant a step: h_k(x; x_hat) = h_k(x; x_0) - h_k(x_hat; x_0).  One
run with any x_0 thus holds all of them, and the stopping rule for x_hat compares differences of it,

    |(h_{k+1} - h_k)(x) - (h_{k+1} - h_k)(x_hat)| < tolerance |h_k(x) - h_k(x_hat)|  for all x.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
    shown,
)
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.results import NotConverged
from analysis.robots.control import RobotControl

State = tuple[int, int, int]


@brief
@read_only_arrays
@dataclass(frozen=True)
class FullChain:
    """The decision process of section 3.1.

    Attributes
    ----------
    states : list of (q, r, s)
        The state space X, in the order of the matrices.
    transitions : list of two sparse arrays, shape (states, states)
        ``transitions[a]`` holds the probabilities (19) to (21) under action a; rows of actions that
        are not allowed are empty.
    costs : ndarray, shape (2, states)
        The one-step cost (18), infinite for actions that are not allowed.
    """

    states: list[State] = field(repr=False)
    transitions: list[sparse.csr_array] = field(repr=False)
    costs: Floats = field(repr=False)

    def reachable(self, start: State) -> set[State]:
        """Return the states that some policy reaches from a state in one step or more."""
        graph = sparse.csr_array(self.transitions[0] + self.transitions[1])
        index = {state: number for number, state in enumerate(self.states)}
        reached: set[int] = set()
        for first in graph[[index[start]]].nonzero()[1]:
            reached |= set(csgraph.breadth_first_order(graph, int(first))[0].tolist())
        return {self.states[number] for number in reached}

    def classes(self) -> tuple[list[list[State]], list[State]]:
        """Return the closed communicating classes of the process, and the states outside them.

        The process is communicating if there is one class and nothing outside, weakly
        communicating if there is one class and what lies outside is transient under every policy.
        """
        closed = recurrent_classes(sparse.csr_array(self.transitions[0] + self.transitions[1]))
        closed_classes = [[self.states[n] for n in members] for members in closed]
        transient = np.setdiff1d(np.arange(len(self.states)), np.concatenate(closed))
        outside = [self.states[n] for n in transient]
        return closed_classes, outside


MISPRINTS = ("19.2", "19.3", "20.3")
"""Lines of (19) and (20) that are misprinted."""


def state_mask(shape: tuple[int, ...]) -> Bools:
    """Return which (s, q, r) are states, shape (3, K + 1, N + 1)."""
    is_state = np.ones((3, *shape), dtype=np.bool_)
    is_state[0, 0] = is_state[1, :, 0] = is_state[2, 0, 0] = False
    return is_state


def state_space(model: RobotControl) -> list[State]:
    """Return X: (q, r, s) without (0, 0, 2), (0, r, 0) and (q, 0, 1)."""
    is_state = state_mask(model.shape)
    return [(q, r, s) for q, r, s in np.ndindex(*model.shape, 3) if is_state[s, q, r]]


def allowed_actions(state: State) -> tuple[int, ...]:
    """Return A_x."""
    q, r, s = state
    if s == 2:
        return (0,)
    return (1,) if (q, r, s) == (1, 0, 0) else (0, 1)


def transition(
    model: RobotControl, state: State, action: int, *, misprints: tuple[str, ...] = ()
) -> dict[State, float]:
    """Return the probabilities of the next state; lines of `MISPRINTS` are taken as printed."""
    q, r, s = state
    lam, mu, nu = model.arrival_rate, model.service_rate, model.event_rate
    if s == 0:
        queue_after, active_after = q - 1, min(r + action, model.robots)
    elif s == 1:
        queue_after, active_after = min(q + 1, model.capacity), r + action - 1
    else:
        queue_after, active_after = q, r
    served = mu * (queue_after > 0) / nu
    arrived = lam * active_after / nu
    nothing = 1.0 - served - arrived
    elsewhere = queue_after
    if s == 0 and "19.2" in misprints:
        arrived = lam * r / nu
        nothing = 1.0 - served - arrived
    if s == 0 and "19.3" in misprints:
        nothing = 1.0 - (mu * (queue_after > 0) - lam * r) / nu
    if s == 1 and "20.3" in misprints:
        elsewhere = min(q + 1, model.robots)
    moves = (
        ((queue_after, active_after, 0), served),
        ((queue_after, active_after, 1), arrived),
        ((elsewhere, active_after, 2), nothing),
    )
    return {target: chance for target, chance in moves if abs(chance) > 1e-14}


def full_chain(model: RobotControl, *, misprints: tuple[str, ...] = ()) -> FullChain:
    """Return the decision process, corrected unless lines are to be taken as printed.

    Raises
    ------
    ValueError
        If the lines as printed lead out of the state space or give no probabilities, or the model
        has a speedup, which the draft's process has not.

    Examples
    --------
    >>> from analysis.robots import RobotControl
    >>> chain = full_chain(RobotControl(2, 0.3, 1.0, 3, 1.2))
    >>> len(chain.states), len(chain.transitions)
    (28, 2)
    """
    check_kind("model", model, RobotControl)
    if model.speedup is not None:
        raise ValueError(f"model must be without a speedup, got {model.speedup}")
    check_kind("misprints", misprints, Iterable)
    for misprint in misprints:
        check_choice("misprints", misprint, MISPRINTS)
    states = state_space(model)
    index = {state: number for number, state in enumerate(states)}
    entries: list[list[tuple[int, int, float]]] = [[], []]
    costs = np.full((2, len(states)), np.inf)
    nu = model.event_rate
    for number, state in enumerate(states):
        q, _, s = state
        for action in allowed_actions(state):
            costs[action, number] = model.gamma * (q == 0) + nu * (q == model.capacity and s == 1)
            row = transition(model, state, action, misprints=misprints)
            if abs(sum(row.values()) - 1.0) > 1e-12:
                raise ValueError(
                    f"misprints must leave probabilities, got a sum of {sum(row.values()):.6g} "
                    f"from {state} under action {action}"
                )
            for target, chance in row.items():
                if target not in index:
                    raise ValueError(
                        f"misprints must not lead out of the state space, got {target} "
                        f"from {state} under action {action}"
                    )
                entries[action].append((number, index[target], chance))
    shape = (len(states), len(states))
    transitions = []
    for moves in entries:
        rows, columns, chances = (np.array(column) for column in zip(*moves, strict=True))
        transitions.append(sparse.csr_array((chances, (rows, columns)), shape=shape))
    return FullChain(states, transitions, costs)


#: The draft's tau, and the bound of its stopping rule.
STEP, TOLERANCE = 0.99999, 1e-5
#: Most that rounding changes a difference of two values by, as a share of the largest value.
ROUNDING = 2.0**-48


@brief
@read_only_arrays
@dataclass(frozen=True)
class PrintedRun:
    """Where Proposition 4 stops.

    Attributes
    ----------
    cost : float
        T h(x_hat) at the last h: what the draft prints as the cost, not yet the optimum.
    updates : int
        Updates of h until the stopping rule held.  Figures 6 to 8 print this number, Table 1 one
        more.
    values : ndarray, shape (3, K + 1, N + 1)
        h(q, r, s) with s first; nan outside the state space.
    policy : ndarray of bool, shape (2, K + 1, N + 1)
        Whether the action at (q, r, s) is 1, s first.
    """

    cost: float
    updates: int
    values: Floats = field(repr=False)
    policy: Bools = field(repr=False)


@brief
@read_only_arrays
@dataclass(frozen=True)
class ReferenceRuns:
    """Where Proposition 4 stops, by reference state, in arrays h(q, r, s) with s first.

    `updates` of h until the stopping rule held are -1 outside the state space, -2 where rounding
    hides when it begins to hold; `cost` is T h(x_hat) there, nan where the updates are negative.
    Both have shape (3, K + 1, N + 1).
    """

    updates: Ints = field(repr=False)
    cost: Floats = field(repr=False)

    def at(self, reference: tuple[int, int, int]) -> tuple[int, float]:
        """Return updates and cost for the reference state (q, r, s).

        Raises ValueError if it is no state, and NotConverged if rounding hides where the stopping
        rule begins to hold for it.
        """
        q, r, s = check_reference(reference, self.updates.shape[1:])
        if self.updates[s, q, r] == -2:
            raise NotConverged(
                "rounding hides where Proposition 4's stopping rule begins to hold for the "
                f"reference {(q, r, s)}: a larger tolerance may show it"
            )
        return int(self.updates[s, q, r]), float(self.cost[s, q, r])


def _next_event(h: Floats, arrival_rate: float, service_rate: float, event_rate: float) -> Floats:
    """Return E[h(x')] for each pair (q', r') that a state may be left with."""
    served = np.full((h.shape[1], 1), service_rate / event_rate)
    served[0] = 0.0  # an empty queue serves no page; h is 0 where no event can occur
    arrived = arrival_rate * np.arange(h.shape[2]) / event_rate
    ahead: Floats = served * h[0] + arrived * h[1] + (1.0 - served - arrived) * h[2]
    return ahead


def apply_operator(h: Floats, arrival_rate: float, service_rate: float, gamma: float) -> Floats:
    """Return T h on the whole state space; the entries outside stay 0."""
    event_rate = arrival_rate * (h.shape[2] - 1) + service_rate
    ahead = _next_event(h, arrival_rate, service_rate, event_rate)
    starved = np.zeros((h.shape[1], 1))
    starved[0] = gamma
    lost = np.zeros((h.shape[1], 1))
    lost[-1] = event_rate
    image = np.zeros(h.shape)
    # A served page: keep the robots or start one more; from (1, 0) one must start.
    started = np.hstack([ahead[:-1, 1:], ahead[:-1, -1:]])
    image[0, 1:] = np.minimum(ahead[:-1], started)
    image[0, 1, 0] = started[0, 0]
    # An arrived page: stop its robot or keep it; a full queue loses the page.
    above = np.vstack([ahead[1:], ahead[-1:]])
    image[1, :, 1:] = starved + lost + np.minimum(above[:, :-1], above[:, 1:])
    image[2] = starved + ahead
    image[2, 0, 0] = 0.0
    return image


def _compare_changes(
    old: Floats, new: Floats, at: Ints, states: Ints | slice, tolerance: float, rounding: float
) -> tuple[Bools, Bools]:
    """Return where the stopping rule of reference states fails at states, and where it holds.

    Neither is true where rounding hides which.
    """
    value = np.abs(old[states] - old[at])
    change = np.abs(new[states] - old[states] - (new[at] - old[at]))
    holds = (value <= rounding) & (change <= rounding)
    holds |= change + rounding < tolerance * (value - rounding)
    fails = ~holds & (change - rounding >= tolerance * (value + rounding))
    return fails, holds


def iterate(
    h: Floats, rates: tuple[float, float, float], states: Ints, references: Ints, step: float,
    tolerance: float, max_updates: int,
) -> tuple[Ints, Floats]:  # fmt: skip
    """Iterate from h, in place, until the stopping rule holds for each of the reference states.

    Returns the updates that each takes, -1 at the limit and -2 where rounding hides whether the
    rule holds, and T h(x_hat) there.  States have flat numbers; h is kept as for the first
    reference state.
    """
    flat = h.reshape(-1)
    references = np.searchsorted(states, references)
    updates = np.full(references.size, -1)
    # The state at which each rule failed the last time is tried first: it mostly fails again.
    failed = np.zeros(references.size, dtype=np.intp)
    cost = np.full(references.size, np.nan)
    waiting, first = np.arange(references.size), references[0]
    for update in range(1, max_updates + 2):
        image = apply_operator(h, *rates)
        old, moved = flat[states], image.reshape(-1)[states]
        settled = updates == update - 1
        cost[settled] = (moved - old)[references[settled]]
        if waiting.size == 0 or update > max_updates:
            break
        rounding = ROUNDING * np.abs(image).max()
        new = (1.0 - step) * old + step * (moved - (moved[first] - old[first]))
        flat[states] = new
        at = references[waiting]
        fails, _ = _compare_changes(old, new, at, failed[waiting], tolerance, rounding)
        for k in waiting[~fails]:
            fails, holds = _compare_changes(
                old, new, references[k], slice(None), tolerance, rounding
            )
            if fails.any():
                failed[k] = np.argmax(fails)
            else:
                updates[k] = update if holds.all() else -2
        waiting = np.flatnonzero(updates == -1)
    return updates, cost


def check_run(
    model: RobotControl, step: float, tolerance: float, max_updates: int
) -> tuple[float, float, int]:
    """Return tau, the bound of the stopping rule and the limit, or raise ValueError."""
    check_kind("model", model, RobotControl)
    if model.speedup is not None:
        raise ValueError(f"model must be without a speedup, got {model.speedup}")
    step = check_number("step", step, 0, 1, low_open=True, high_open=True)
    tolerance = check_positive("tolerance", tolerance)
    return step, tolerance, check_integer("max_updates", max_updates, 1)


def check_reference(reference: ArrayLike, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return a reference state (q, r, s) of a queue of shape (K + 1, N + 1), or raise."""
    state = check_integers("reference", reference)
    if state.shape != (3,):
        raise ValueError(f"reference must be a state (q, r, s), got {shown(reference)}")
    q, r, s = (int(number) for number in state)
    in_range = 0 <= q < shape[0] and 0 <= r < shape[1] and 0 <= s < 3
    if not (in_range and state_mask(shape)[s, q, r]):
        raise ValueError(
            f"reference must be a state (q, r, s) with q from 0 to {shape[0] - 1}, r from 0 to "
            f"{shape[1] - 1} and an event s that can occur, got {(q, r, s)}"
        )
    return q, r, s


def explain_no_count(model: RobotControl, updates: int, tolerance: float, max_updates: int) -> str:
    """Return why a run has no count of updates: -1 at the limit, -2 where rounding hides it."""
    load = model.robots * model.arrival_rate / model.service_rate
    at = f"a tolerance of {tolerance:g} and robots * arrival_rate / service_rate = {load:g}"
    if updates == -1:
        return (
            f"Proposition 4's stopping rule did not hold in {max_updates} updates at {at}: take "
            "that load nearer to 1, fewer robots, or a larger tolerance"
        )
    return (
        f"rounding hides where Proposition 4's stopping rule begins to hold at {at}: values of "
        f"states differ by less than rounding. Take that load nearer to 1, a capacity below "
        f"{model.capacity}, or a larger tolerance"
    )


def proposition_4(
    model: RobotControl,
    *,
    step: float = STEP,
    tolerance: float = TOLERANCE,
    reference: tuple[int, int, int] = (1, 1, 1),
    initial: ArrayLike | None = None,
    max_updates: int = 200_000,
) -> PrintedRun:
    """Run the draft's relative value iteration to its own stopping rule.

    Parameters
    ----------
    model : RobotControl
        The controlled queue.
    step : float, in (0, 1)
        The draft's tau.
    tolerance : float
        Largest relative change of h at which to stop.
    reference : tuple of int
        The state x_hat = (q, r, s), which the draft leaves open.
    initial : array_like, shape (3, K + 1, N + 1), optional
        h_0(q, r, s) with s first, 0 at x_hat, which the draft leaves open too; 0 without it.
        Entries outside the state space are not used.
    max_updates : int
        Limit on the number of updates.

    Raises
    ------
    ValueError
        If an argument is out of range, `reference` is no state, or the model has a speedup, which
        the draft's process has not.
    NotConverged
        If the limit is reached, or rounding hides where the rule begins to hold.

    Examples
    --------
    >>> from analysis.robots import RobotControl
    >>> run = proposition_4(RobotControl(2, 0.3, 1.0, 3, 1.2))
    >>> round(run.cost, 4)
    0.5751
    """
    step, tolerance, max_updates = check_run(model, step, tolerance, max_updates)
    q, r, s = check_reference(reference, model.shape)
    is_state = state_mask(model.shape)
    h = np.zeros(is_state.shape)
    if initial is not None:
        h = check_array("initial", initial).copy()
        if h.shape != is_state.shape or h[s, q, r] != 0.0:
            raise ValueError(
                f"initial must have shape {is_state.shape} and be 0 at the reference state "
                f"{reference}, got shape {h.shape}"
            )
        h[~is_state] = 0.0
    rates = (model.arrival_rate, model.service_rate, model.gamma)
    x_hat = np.array([np.ravel_multi_index((s, q, r), is_state.shape)])
    counts, cost = iterate(h, rates, np.flatnonzero(is_state), x_hat, step, tolerance, max_updates)
    updates = int(counts[0])
    if updates < 0:
        raise NotConverged(explain_no_count(model, updates, tolerance, max_updates))
    ahead = _next_event(h, model.arrival_rate, model.service_rate, model.event_rate)
    better = np.zeros(model.shape, dtype=np.bool_)
    better[:, :-1] = ahead[:, 1:] < ahead[:, :-1]
    policy = np.zeros((2, *model.shape), dtype=np.bool_)
    policy[0, 1:] = better[:-1]
    policy[0, 1, 0] = True
    policy[1, :-1, 1:] = better[1:, :-1]
    policy[1, -1, 1:] = better[-1, :-1]
    h[~is_state] = np.nan
    return PrintedRun(float(cost[0]), updates, h, policy)


def every_reference(
    model: RobotControl,
    *,
    step: float = STEP,
    tolerance: float = TOLERANCE,
    max_updates: int = 200_000,
) -> ReferenceRuns:
    """Run Proposition 4 with every state as the reference state.

    Arguments and errors are those of `proposition_4`; NotConverged also if the limit is reached for
    some reference state.
    """
    step, tolerance, max_updates = check_run(model, step, tolerance, max_updates)
    is_state = state_mask(model.shape)
    states = np.flatnonzero(is_state)
    rates = (model.arrival_rate, model.service_rate, model.gamma)
    h = np.zeros(is_state.shape)
    updates, cost = iterate(h, rates, states, states, step, tolerance, max_updates)
    if (updates == -1).any():
        unsettled = int((updates == -1).sum())
        raise NotConverged(
            f"{unsettled} reference states: {explain_no_count(model, -1, tolerance, max_updates)}"
        )
    all_updates, all_costs = np.full(is_state.shape, -1), np.full(is_state.shape, np.nan)
    all_updates[is_state], all_costs[is_state] = updates, cost
    return ReferenceRuns(all_updates, all_costs)
