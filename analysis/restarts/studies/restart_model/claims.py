"""Claims of the page `restart-model` on rows of the slides."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from analysis.arrays import Floats
from analysis.report import Claim, claim
from analysis.restarts.policies import RestartBandit
from analysis.restarts.studies.restart_model.experiment import AGREE
from analysis.results import DiscountedSolution, Estimate


def claims(
    bandit: RestartBandit,
    value: float,
    simulated: Estimate,
    solved: Mapping[int, DiscountedSolution],
    hundred: RestartBandit,
    apart: Floats,
    exact: pd.DataFrame,
    checked: pd.DataFrame,
) -> list[Claim]:
    """Return the page's claims on the rows of slides 1, 2, 4 to 9 and 17.

    `value`, `simulated`: cost of the index policy from its equations, and its mean over simulated
    paths with a 99.99% interval; `solved`: joint solutions of so many machines with 3 states;
    `hundred`: a hundred machines with 3 states; `apart`: the index of each of them.
    """
    low, high = simulated.low, simulated.high
    sizes = {machines: one.values.size for machines, one in solved.items()}
    beaten = exact.index_best - exact.optimal > 2 * exact.residual
    worse = exact.lowest > exact.index_worst + 2 * exact.residual
    more = 100 * (exact.lowest / exact.index_worst - 1)
    lowest = {
        "worse": int(worse.sum()),
        "systems": len(exact),
        "least": more.min(),
        "most": more.max(),
    }
    return [
        claim("C-meta"),
        claim("C-mole"),
        claim("C-model"),
        claim(
            "C-objective",
            low <= value <= high,
            numbers={
                "value": value,
                "mean": simulated.value,
                "low": low,
                "high": high,
                "paths": simulated.replications,
            },
        ),
        claim(
            "C-curse",
            sizes == {machines: 3**machines for machines in sizes},
            numbers={"sizes": sizes},
        ),
        claim("C-100x3", apart.shape),
        claim("C-3p100", float(hundred.joint_states)),
        claim("C-decompose", len(apart)),
        claim(
            "C-suboptimal",
            bool(beaten.any()),
            numbers={"beaten": int(beaten.sum()), "systems": len(exact)},
        ),
        claim("C-smallest", not worse.any(), numbers=lowest),
        claim("C-offline", not worse.any(), numbers=lowest),
        claim("C-c-lambda", bool(checked.linear.max() < AGREE), numbers={"arms": len(checked)}),
        claim(
            "C-dp",
            bool(checked[["least", "equation"]].max().max() < AGREE),
            numbers={"arms": len(checked)},
        ),
    ]
