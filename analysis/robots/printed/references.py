r"""Where Proposition 4 stops for every reference state at once.

The draft's relative value iteration leaves its reference state x_hat open.  T(h + c) = T h + c for
a constant c, so that the iterates of two reference states differ by a constant a step:
h_k(x; x_hat) = h_k(x; x_0) - h_k(x_hat; x_0).  One run with any x_0 thus holds all of them, and the
stopping rule for x_hat compares differences of that run,

    |(h_{k+1} - h_k)(x) - (h_{k+1} - h_k)(x_hat)| < tolerance |h_k(x) - h_k(x_hat)|  for all x.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from analysis.arrays import Floats, Ints
from analysis.display import brief
from analysis.results import NotConverged
from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed.relative import (
    CHANGES,
    HIDDEN,
    ROUNDING,
    STEP,
    TOLERANCE,
    change_of,
    checked_reference,
    checked_run,
    operator,
    why_none,
)


@brief
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
        q, r, s = checked_reference(reference, self.updates.shape[1:])
        if self.updates[s, q, r] == -2:
            raise NotConverged(
                "rounding hides where Proposition 4's stopping rule begins to hold for the "
                f"reference {(q, r, s)}: a larger tolerance may show it"
            )
        return int(self.updates[s, q, r]), float(self.cost[s, q, r])


@njit(cache=True)
def _settled(
    old: Floats, new: Floats, states: Ints, at: int, first: int, tolerance: float, rounding: float
) -> int:
    """Return -1 if the stopping rule holds for a reference state, -2 if rounding hides whether.

    Else return where it does not hold; the search begins at position `first`, where it failed the
    last time.
    """
    base, moved, found = old[at], new[at] - old[at], -1
    for k in range(states.size):
        position = (first + k) % states.size
        x = states[position]
        change = change_of(old[x] - base, new[x] - old[x] - moved, tolerance, rounding)
        if change == CHANGES:
            return position
        if change == HIDDEN:
            found = -2
    return found


@njit(cache=True)
def _run_all(
    shape: tuple[int, int, int],
    rates: tuple[float, float, float],
    states: Ints,
    step: float,
    tolerance: float,
    max_updates: int,
) -> tuple[Ints, Floats]:
    """Return updates and cost for each of the states (flat numbers) as the reference.

    The updates are -1 at the limit, -2 where rounding hides whether the rule holds.
    """
    h = np.zeros(shape)
    old, new = np.zeros(h.size), np.zeros(h.size)
    updates = np.full(states.size, -1)
    failed = np.zeros(states.size, dtype=np.int64)
    cost = np.full(states.size, np.nan)
    waiting = states.size
    for update in range(1, max_updates + 2):
        image = operator(h, rates[0], rates[1], rates[2])
        flat_image, flat = image.ravel(), h.ravel()
        for k in range(states.size):
            if updates[k] == update - 1:
                cost[k] = flat_image[states[k]] - flat[states[k]]
        if waiting == 0 or update > max_updates:
            break
        offset = flat_image[states[0]] - flat[states[0]]
        rounding = ROUNDING * np.abs(image).max()
        for x in states:
            old[x] = flat[x]
            flat[x] = (1.0 - step) * old[x] + step * (flat_image[x] - offset)
            new[x] = flat[x]
        for k in range(states.size):
            if updates[k] == -1:
                failed[k] = _settled(old, new, states, states[k], failed[k], tolerance, rounding)
                if failed[k] < 0:
                    updates[k] = update if failed[k] == -1 else -2
                    waiting -= 1
    return updates, cost


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
    step, tolerance, max_updates = checked_run(model, step, tolerance, max_updates)
    shape = (3, *model.shape)
    inside = np.ones(shape, dtype=np.bool_)
    inside[0, 0], inside[1, :, 0], inside[2, 0, 0] = False, False, False
    states = np.flatnonzero(inside)
    rates = (model.arrival_rate, model.service_rate, model.gamma)
    updates, cost = _run_all(shape, rates, states, step, tolerance, max_updates)
    if (updates == -1).any():
        left = int((updates == -1).sum())
        raise NotConverged(
            f"{left} reference states: {why_none(model, -1, tolerance, max_updates)}"
        )
    all_updates, all_costs = np.full(shape, -1), np.full(shape, np.nan)
    all_updates[inside], all_costs[inside] = updates, cost
    return ReferenceRuns(all_updates, all_costs)
