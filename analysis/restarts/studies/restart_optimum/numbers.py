"""Values and tables of the page `restart-optimum`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.published import printed_number
from analysis.report import save_data, save_table, save_values
from analysis.restarts.studies.experiment import SYSTEM

#: Difference of two ratios, in %, that counts as rounding.
ROUNDING = 1e-4


def save_numbers(systems: pd.DataFrame, joint_states: int, instances: int) -> None:
    """Save the numbers that the page quotes."""
    low = printed_number("C-e12-lo")
    inside = systems.alpha >= low
    kept = {
        "printed-low": low,
        "median": systems.alpha.median(),
        "joint": joint_states,
        "generators": systems.kernel.nunique(),
        "systems": len(systems),
        "instances": instances,
        "least": systems.alpha.min(),
        "most": systems.alpha.max(),
        "any-initial": 100 * systems.index_least.min(),
        "any-initial-best": 100 * systems.index_best_least.min(),
        "worst-ties": systems.alpha_worst.min(),
        "best-ties": systems.alpha_best.min(),
        "inside": 100 * float(inside.mean()),
        "median-loss": max(0.0, np.ceil(100 * (100 - systems.alpha.median())) / 100),
    }
    save_values("restart-optimum", kept | statements(systems))


def statements(systems: pd.DataFrame) -> dict[str, bool]:
    """Return which sentences of the page are true of these systems.

    Returns: whether the least ratio depends on how ties are broken, and whether, with ties broken
    well, it is lower from some initial state than from new arms; both beyond rounding.
    """
    best = systems.alpha_best.min()
    return {
        "ties-matter": bool(systems.alpha_worst.min() < best - ROUNDING),
        "initial-matters": bool(100 * systems.index_best_least.min() < best - ROUNDING),
    }


EXACT = {
    "optimal": "least cost per epoch of any policy, exact, from new arms",
    "bound": "relaxed bound on it",
    "index": "cost of the index policy, ties to the lower arm",
    "index_best": "the same with ties broken in the best way",
    "index_worst": "the same with ties broken in the worst way",
    "alpha": "100 optimal/index, %",
    "alpha_best": "100 optimal/index_best, %",
    "alpha_worst": "100 optimal/index_worst, %",
}


def save_systems_of_the_optimum(systems: pd.DataFrame) -> None:
    """Save every system of experiments (1) and (2) with its exact costs and ratios."""
    columns = {name: said for name, said in SYSTEM.items() if name in systems} | EXACT
    save_data(
        "restart-optimum-systems",
        systems[list(columns)],
        "One row a random system and budget, solved exactly, of the experiments on the optimum.",
        columns,
    )


def save_generators_of_the_optimum(bands: pd.DataFrame, instances: int) -> None:
    """Save where the ratios of each budget and generator lie."""
    save_table(
        "restart-optimum-generators",
        bands.drop(columns="greatest"),
        f"Optimum over index policy in %, {instances} systems a row: least, 5% quantile and "
        "median with ties to the lower arm, how many lie below the printed end, and the least "
        "with every tie broken in the worst and in the best way.",
        formats=".2f",
        instances="restart-optimum-systems",
    )


def save_fullest_bins(counts: pd.DataFrame, instances: int, budget: int) -> None:
    """Save how many systems one bin of 1% can hold, by generator and ties."""
    save_table(
        "restart-optimum-bins",
        counts.rename_axis("generator"),
        f"How many of {instances} systems one bin of 1% can hold, wherever the bins begin, "
        f"by how ties are broken; $m = {budget}$.",
        instances="restart-optimum-systems",
    )
