"""Why every restart arm has an index: slide 11 read to the letter.

Slide 11 says that state x is passive iff its critical value is below W_lambda, with

    (1 - b) inf over tau of (L(x, tau) - c(x, 1)) / (1 - b^tau)   and   W = lambda + b sum Q V.

To the letter, b^tau is a number, so that tau is a fixed time. The optimality equation of slide 9
asks for stopping times, E_x b^tau, and W = (1 - b) lambda + b sum Q V. Here both corrections are
made and undone, one at a time, and the sets are compared with those of an exactly solved arm.

Source: the restart slides (2019), slides 9 to 12.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.restarts.arm import RestartArm, check_discount
from analysis.restarts.whittle.definition import solve_subsidised
from analysis.restarts.whittle.index import whittle_index
from analysis.restarts.whittle.indexability import critical_values

#: What is left of the future when fixed times are no longer followed.
NEGLIGIBLE = 1e-13
#: Largest difference of two routes to an index that counts as rounding.
AGREE = 1e-8


def fixed_time_values(arm: RestartArm, discount: float) -> Floats:
    """Return the infimum of the slides' ratio over fixed times 1, 2, ... instead of stopping times.

    Returns: nowhere below `critical_values`.
    """
    discount = check_discount(discount, average=False)
    expected, weight = arm.stopping_cost(discount), 1.0
    total, length = np.zeros(arm.states), 0.0
    least = np.full(arm.states, np.inf)
    while weight > NEGLIGIBLE:
        total, length = total + weight * expected, length + weight
        least = np.minimum(least, total / length)
        expected, weight = arm.passive @ expected, weight * discount
    return least


def passive_set_readings(arms: Sequence[RestartArm], discount: float) -> pd.DataFrame:
    """Count the subsidies at which each reading of slide 11 gives a wrong passive set.

    `arms`: each is solved at one subsidy between any two of its indices, and beyond both ends. One
    row per reading: ``ratio`` ("fixed times" or "stopping times"), ``level`` ("printed" or
    "corrected"), how many sets are ``wrong`` and how many were ``checked``.
    """
    count = {(r, w): 0 for r in ("fixed times", "stopping times") for w in ("printed", "corrected")}
    checked = 0
    for arm in arms:
        ratios = {
            "fixed times": fixed_time_values(arm, discount),
            "stopping times": critical_values(arm, discount),
        }
        index = np.sort(whittle_index(arm, discount).index)
        between = (index[:-1] + index[1:]) / 2
        for subsidy in (index[0] - 1, *between, index[-1] + 1):
            solved = solve_subsidised(arm, discount, float(subsidy))
            restart = discount * float(arm.reset @ solved.values)
            levels = {"printed": subsidy + restart, "corrected": (1 - discount) * subsidy + restart}
            checked += 1
            for ratio, level in count:
                passive = ratios[ratio] < levels[level]
                count[ratio, level] += bool((passive != (solved.policy == 0)).any())
    rows = [{"ratio": r, "level": w, "wrong": wrong} for (r, w), wrong in count.items()]
    return pd.DataFrame(rows).assign(checked=checked)
