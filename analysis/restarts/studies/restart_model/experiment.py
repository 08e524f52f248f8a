"""Single arms solved in several ways, and how a cost is written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.report import apart
from analysis.restarts.arm import RestartArm
from analysis.restarts.whittle.definition import (
    SubsidisedSolution,
    evaluate_policy,
    least_over_policies,
)
from analysis.results import Estimate

#: Largest difference of two exact routes that counts as rounding.
AGREE = 1e-10
Case = tuple[RestartArm, float, SubsidisedSolution]


def check_single_arms(cases: Sequence[Case], discount: float) -> pd.DataFrame:
    """Compare solved arms with slides 8 and 9, without the solver.

    `cases`: arms of at most 12 states, each with its exact solution at a penalty. One row a case,
    largest absolute difference over the states: ``linear``, of the value from the cost of the
    solution's policy plus the penalty times its activity; ``least``, of the value from the least
    over all policies, each valued by its linear equations; ``equation``, of the two sides of the
    optimality equation.
    """
    rows = []
    for arm, penalty, solved in cases:
        cost = evaluate_policy(arm, discount, 0.0, solved.policy)[1]
        activity = evaluate_policy(arm, discount, 1.0, solved.policy)[1] - cost
        least = least_over_policies(arm, discount, penalty)
        passive = (1 - discount) * arm.passive_cost + discount * arm.passive @ solved.values
        restart = discount * float(arm.reset @ solved.values)
        active = (1 - discount) * (arm.active_cost + penalty) + restart
        differences = {
            "linear": cost + penalty * activity,
            "least": least,
            "equation": np.minimum(passive, active),
        }
        rows.append({k: float(np.abs(v - solved.values).max()) for k, v in differences.items()})
    return pd.DataFrame(rows)


def bound_is_loose(exact: pd.DataFrame) -> bool:
    """Return whether the relaxed bound lies below the optimum of some system, beyond rounding."""
    return bool((exact.bound < exact.optimal - AGREE - 2 * exact.residual).any())


def up_to(percent: float) -> float:
    """Return the next tenth of a per cent above; 0 where rounding left less than nothing.

    Examples
    --------
    >>> up_to(7.01), up_to(-1e-14)
    (7.1, 0.0)
    """
    return float(np.ceil(10 * percent)) / 10 + 0.0


def simulated_in_words(estimate: Estimate) -> str:
    """Return a text on the mean cost of simulated paths, with its interval if they differ.

    `estimate`: mean of the paths with its 99.99% interval.
    """
    if not apart(estimate.low, estimate.high, ".4f"):
        return f"{estimate.value:.4f} on every path"
    ends = f"between {estimate.low:.4f} and {estimate.high:.4f} at 99.99%"
    return f"{estimate.value:.4f}, {ends}"
