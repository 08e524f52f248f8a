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
    loss = {"beaten": int(beaten.sum()), "systems": len(exact)}
    lowest = {"worse": int(worse.sum()), "systems": len(exact)}
    lowest |= {"least": more.min(), "most": more.max()}
    paths = {"value": value, "mean": simulated.value, "low": low, "high": high}
    paths["paths"] = simulated.replications
    differences = checked[["linear", "least", "equation"]].max()
    tried = {"arms": len(checked)}
    return [
        claim("C-meta"),
        claim("C-mole"),
        claim("C-model"),
        claim("C-objective", numbers=paths),
        claim("C-curse", sizes == {n: 3**n for n in sizes}, numbers={"sizes": sizes}),
        claim("C-100x3", apart.shape),
        claim("C-3p100", float(hundred.joint_states)),
        claim("C-decompose", len(apart)),
        claim("C-suboptimal", bool(beaten.any()), numbers=loss),
        claim("C-smallest", not worse.any(), numbers=lowest),
        claim("C-offline", not worse.any(), numbers=lowest),
        claim("C-c-lambda"),
        claim("C-dp", bool(differences.max() < AGREE), numbers=tried),
    ]
