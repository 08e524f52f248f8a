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

from analysis.arrays import Floats, Ints
from analysis.display import brief
from analysis.results import NotConverged
from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed.relative import (
    STEP,
    TOLERANCE,
    checked_reference,
    checked_run,
    iterate,
    state_mask,
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
    inside = state_mask(model.shape)
    states = np.flatnonzero(inside)
    rates = (model.arrival_rate, model.service_rate, model.gamma)
    h = np.zeros(inside.shape)
    updates, cost = iterate(h, rates, states, states, step, tolerance, max_updates)
    if (updates == -1).any():
        left = int((updates == -1).sum())
        raise NotConverged(
            f"{left} reference states: {why_none(model, -1, tolerance, max_updates)}"
        )
    all_updates, all_costs = np.full(inside.shape, -1), np.full(inside.shape, np.nan)
    all_updates[inside], all_costs[inside] = updates, cost
    return ReferenceRuns(all_updates, all_costs)
