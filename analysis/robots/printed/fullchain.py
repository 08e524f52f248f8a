r"""The draft's own decision process, state by state, as corrected and as printed.

The robot study, section 3.1: states (q, r, s), actions 0 and 1, transitions (19) to (21).  The
solvers do without it; it is here for comparison with them, and to show what goes wrong where (19)
and (20) are used as printed, or where Lemma 4 calls the process communicating.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_choice, check_kind
from analysis.display import brief
from analysis.mdp.chains import recurrent_classes
from analysis.robots.controlled.control import RobotControl

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
        found: set[int] = set()
        for first in graph[[index[start]]].nonzero()[1]:
            found |= set(csgraph.breadth_first_order(graph, int(first))[0].tolist())
        return {self.states[number] for number in found}

    def classes(self) -> tuple[list[list[State]], list[State]]:
        """Return the closed communicating classes of the process, and the states outside them.

        The process is communicating if there is one class and nothing outside, weakly
        communicating if there is one class and what lies outside is transient under every policy.
        """
        closed = recurrent_classes(sparse.csr_array(self.transitions[0] + self.transitions[1]))
        inside = [[self.states[n] for n in members] for members in closed]
        transient = np.setdiff1d(np.arange(len(self.states)), np.concatenate(closed))
        outside = [self.states[n] for n in transient]
        return inside, outside


MISPRINTS = ("19.2", "19.3", "20.3")
"""Lines of (19) and (20) that are misprinted."""


def state_space(model: RobotControl) -> list[State]:
    """Return X: (q, r, s) without (0, 0, 2), (0, r, 0) and (q, 0, 1)."""
    return [
        (q, r, s)
        for q in range(model.capacity + 1)
        for r in range(model.robots + 1)
        for s in range(3)
        if not (s == 0 and q == 0) and not (s == 1 and r == 0) and (q, r, s) != (0, 0, 2)
    ]


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
        after, left = q - 1, min(r + action, model.robots)
    elif s == 1:
        after, left = min(q + 1, model.capacity), r + action - 1
    else:
        after, left = q, r
    served = mu * (after > 0) / nu
    arrived = lam * left / nu
    nothing = 1.0 - served - arrived
    elsewhere = after
    if s == 0 and "19.2" in misprints:
        arrived = lam * r / nu
        nothing = 1.0 - served - arrived
    if s == 0 and "19.3" in misprints:
        nothing = 1.0 - (mu * (after > 0) - lam * r) / nu
    if s == 1 and "20.3" in misprints:
        elsewhere = min(q + 1, model.robots)
    moves = (
        ((after, left, 0), served),
        ((after, left, 1), arrived),
        ((elsewhere, left, 2), nothing),
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
        rows, columns, chances = (np.array(part) for part in zip(*moves, strict=True))
        transitions.append(sparse.csr_array((chances, (rows, columns)), shape=shape))
    return FullChain(states, transitions, costs)
