"""Claims of the page `restart-optimum` on rows of the slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.published import printed_number
from analysis.report import Claim, claim
from analysis.restarts.arm import RestartArm
from analysis.restarts.instances import STRUCTURED_KERNELS
from analysis.restarts.studies.restart_optimum.experiment import BIN


def claims(
    systems: pd.DataFrame,
    instances: int,
    arms: Sequence[RestartArm],
    larger: RestartArm,
    monotone: Mapping[str, bool],
    discount: float,
    drawn: tuple[Sequence[float], Sequence[float]],
) -> list[Claim]:
    """Return the page's claims on the rows of slides 7, 18, 19 and 21.

    `systems`: of all generators and budgets, with their ratios; `arms`: the arms of one system;
    `larger`: an arm of twice as many states; `monotone`: whether the drawn kernels of a generator
    are all stochastically monotone; `drawn`: the ticks of both axes of the histogram.
    """
    ticks, counts = drawn
    kinds = {kind: [ok for name, ok in monotone.items() if (name in STRUCTURED_KERNELS) == kind]
             for kind in (True, False)}  # fmt: skip
    return [
        *_slide_18(arms[0], larger, kinds, discount),
        claim("C-alpha-def"),
        claim("C-e12-X", arms[0].states),
        claim("C-e12-n", len(arms)),
        claim("C-e12-m", sorted(systems.budget.unique())),
        *_range(systems, instances),
        claim("C-e12-fig", figure="restart-optimum-histogram", numbers={"width": BIN}),
        claim("C-e12-100", instances),
        claim("C-e12-xaxis", ticks),
        claim("C-e12-yaxis", counts),
        claim("C-e12-split"),
        *(_close(row, systems) for row in ("C-close", "C-concl-close")),
    ]


def _slide_18(
    arm: RestartArm, larger: RestartArm, kinds: Mapping[bool, Sequence[bool]], discount: float
) -> list[Claim]:
    best = 1 + int(np.argmin(arm.passive_cost))
    power = np.log2(arm.passive_cost[2] / arm.passive_cost[1])
    sizes = np.array([larger.states - 1, arm.states - 1])
    growth = np.log(larger.active_cost[0] / arm.active_cost[0]) / np.log(sizes[0] / sizes[1])
    return [
        claim("C-Q-det", (arm.reset[0], arm.reset[1], arm.reset[-1])),
        claim("C-c0", (0, -best, power)),
        claim(
            "C-c1", (1, arm.active_cost[0] / (arm.states - 1) ** 2, -1, round(float(growth), 12))
        ),
        claim("C-beta", discount),
        claim("C-P-structured", all(kinds[True]), numbers={"families": len(kinds[True])}),
        claim("C-P-random", all(kinds[False]), numbers={"families": len(kinds[False])}),
    ]


def _range(systems: pd.DataFrame, instances: int) -> list[Claim]:
    least = systems.groupby("kernel", sort=False).alpha.min()
    greatest = systems.groupby(["kernel", "budget"], sort=False)[["alpha", "alpha_worst"]].max()
    ends = {"worst_ties": systems.alpha_worst.min(), "best_ties": systems.alpha_best.min()}
    ends |= {"instances": instances, "least": least.to_dict()}
    return [
        claim("C-e12-lo", systems.alpha.min(), numbers=ends),
        claim("C-e12-hi", systems.alpha.max(), alternatives=greatest.to_numpy().ravel()),
    ]


def _close(row: str, systems: pd.DataFrame) -> Claim:
    low = printed_number("C-e12-lo")
    share, median = float((systems.alpha >= low).mean()), float(systems.alpha.median())
    numbers = {
        "systems": len(systems),
        "generators": systems.kernel.nunique(),
        "median": median,
        "share": share,
        "low": low,
        "least": systems.alpha.min(),
        "best_ties": systems.alpha_best.min(),
    }
    return claim(row, numbers=numbers)
