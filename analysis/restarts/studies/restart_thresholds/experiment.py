"""Thresholds and the closed form, each in several ways.

Thresholds are numbered from 1 on the slides and in the figures: threshold k is active from state k
on, and the last, one more than there are states, is never active.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints
from analysis.restarts.arm import RestartArm
from analysis.restarts.whittle.definition import evaluate_policy
from analysis.restarts.whittle.threshold import (
    Thresholds,
    cycle_by_definition,
    rates_by_equations,
    thresholds,
)

#: Largest difference of two exact routes, relative to 1 plus the value, that counts as rounding.
AGREE = 1e-9
#: Difference of two activities below which two lines count as one.
SAME = 1e-12
#: A penalty on activity other than the two that separate cost from activity.
THIRD_PENALTY = 2.5


def by_route(indices: Mapping[str, ArrayLike]) -> pd.DataFrame:
    """Return an index by the routes that compute it, as it is shown, 0/0 where one is not defined.

    `indices`: index of each state, by route.
    """
    values = np.array(list(indices.values()), dtype=float)
    columns = pd.Index([f"state {k + 1}" for k in range(values.shape[1])])
    shown = pd.DataFrame(values.round(4) + 0.0, pd.Index(list(indices), name="index by"), columns)
    return shown.astype(object).where(np.isfinite(values), "0/0")


def skipping_arm(second: float) -> RestartArm:
    """Return an arm of 4 states that wears by two at a time, and so skips the second from new.

    `second`: cost of a passive epoch in the second state.
    """
    costs = np.array([0.0, second, 2.0, 4.0])
    return RestartArm(np.eye(4)[[2, 2, 3, 3]], np.eye(4)[0], costs, np.full(4, 1.5))


def compare_cycles(arms: Sequence[RestartArm], discount: float) -> pd.DataFrame:
    """Compute cost and length of a cycle, and cost and activity of a threshold, in several ways.

    One row an arm and threshold: ``cost_sum`` and ``length_sum`` by the sums that define L and M,
    ``cost`` and ``length`` by elimination; ``rate`` and ``activity``, D and N by the linear
    equations of the policy; ``priced``, its cost by these at `THIRD_PENALTY`.
    """
    rows = []
    for number, arm in enumerate(arms):
        found = thresholds(arm, discount).elimination
        for k in range(arm.states + 1):
            cost_sum, length_sum = cycle_by_definition(arm, discount, k)
            rate, activity = rates_by_equations(arm, discount, k)
            policy = (np.arange(arm.states) >= k).astype(np.int64)
            values = evaluate_policy(arm, discount, THIRD_PENALTY, policy)[1]
            sums = {"cost_sum": cost_sum, "length_sum": length_sum}
            eliminated = {"cost": found.cost[k], "length": found.length[k]}
            solved = {"rate": rate, "activity": activity, "priced": float(arm.reset @ values)}
            rows.append({"arm": number, "threshold": k + 1} | sums | eliminated | solved)
    return pd.DataFrame(rows)


def best_in_states(lines: Thresholds, prices: Floats) -> Ints:
    """Return the least threshold in X, so without never active, that costs least at each price.

    As `Thresholds.best`, from differences, so that lines that coincide are told from rounding.
    """
    falls = -np.diff(lines.activity)[:-1]
    beyond = np.cumsum(falls * (lines.crossings[:-1] - prices[:, None]), axis=1)
    return np.asarray(np.pad(beyond, ((0, 0), (1, 0))).argmin(axis=1))


def gaps_at(
    arms: Sequence[RestartArm], discount: float, indices: Sequence[Floats]
) -> tuple[list[Floats], int]:
    """Return by how much neighbouring lines differ at an index, and how many pairs coincide.

    Of each arm and state k, D(k) + w N(k) - D(k+1) - w N(k+1), with D and N by linear equations.
    """
    gaps, same = [], 0
    for arm, index in zip(arms, indices, strict=True):
        lines = [rates_by_equations(arm, discount, k) for k in range(arm.states + 1)]
        cost, activity = -np.diff(np.array(lines), axis=0).T
        gaps.append(cost + index * activity)
        same += int((np.abs(activity) <= SAME).sum())
    return gaps, same


def crossings_of_four(lines: Thresholds, first: int) -> dict[tuple[int, int], float]:
    """Return where the lines of four neighbouring thresholds cross, of neighbours and next but one.

    `first`: place of the first of the four lines. Keys: by pair of lines; nan where they coincide,
    since the states between are never visited.
    """
    rate, activity = (values[first : first + 4] for values in (lines.cost_rate, lines.activity))
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    apart = {(i, j): float(activity[i] - activity[j]) for i, j in pairs}
    return {
        (i, j): float(rate[j] - rate[i]) / slope if slope > SAME else float("nan")
        for (i, j), slope in apart.items()
    }


def a_crossing(lines: Thresholds, near: int) -> int:
    """Return the state nearest to one, from 0, at whose threshold two different lines cross."""
    differ = np.flatnonzero(lines.activity[:-1] > lines.activity[1:] + SAME)
    return int(differ[np.abs(differ - near).argmin()])
