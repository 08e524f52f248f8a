"""Machines, queues and crawlers that restart: their arms, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm

MACHINES = ("steady", "fast and cheap", "fails at once", "dear")
QUEUES = ("steady trickle", "bursts", "busy and cheap", "rare and urgent")


def arms_table(
    arms: Sequence[RestartArm], names: Sequence[str], passive: str, active: str
) -> pd.DataFrame:
    """Return the kernels, restart laws and costs of arms.

    `names`: one name an arm; `passive`, `active`: heads of the columns of the two costs. One row
    an arm and state: the law of the next state if passive, and the two costs; the last row of an
    arm is the law after a restart, with no costs.
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for arm, name in zip(arms, names, strict=True):
        for x in range(arm.states):
            costs = {passive: float(arm.passive_cost[x]), active: float(arm.active_cost[x])}
            rows[name, str(x)] = _law(arm.passive[x]) | costs
        rows[name, "restart"] = _law(arm.reset)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["arm", "state"])


def _law(law: Floats) -> dict[str, float]:
    return {f"to {y}": float(p) for y, p in enumerate(law)}


def loss(costs: Mapping[str, float] | pd.Series[float], policy: str) -> float:
    """Return by what percentage a policy costs more than the optimum (never less: rounding)."""
    return max(0.0, float(100 * (costs[policy] / costs["optimum"] - 1)))
