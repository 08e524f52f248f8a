"""Values and tables of the page `restart-model`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import save_table, save_value
from analysis.restarts.policies import RestartBandit
from analysis.restarts.studies.restart_model.experiment import bound_is_loose, up_to


def save_numbers(bandit: RestartBandit, exact: pd.DataFrame) -> None:
    """Save the numbers that the page quotes, bounds rounded outward to the digit shown."""
    above = 100 * (exact[["index", "index_best"]].div(exact.optimal, axis=0).max() - 1)
    lowest = exact.lowest / exact.optimal
    save_value("restart-model-joint", bandit.joint_states)
    save_value("restart-model-instances", len(exact))
    save_value("restart-model-index-most", up_to(above["index"]))
    save_value("restart-model-tied-most", up_to(above["index_best"]))
    save_value("restart-model-lowest-least", np.floor(10 * lowest.min()) / 10)
    save_value("restart-model-lowest-most", np.ceil(10 * lowest.max()) / 10)
    save_value("restart-model-bound-below", 100 * float((1 - exact.bound / exact.optimal).mean()))
    save_value("restart-model-loose", bound_is_loose(exact))


POLICIES = {
    "bound": "relaxed bound",
    "optimal": "optimum",
    "index_best": "index, best ties",
    "index": "index, lower arm",
    "myopic": "myopic",
    "lowest": "lowest index",
}


def save_first_costs(exact: pd.DataFrame) -> None:
    """Save the exact costs of the first systems of the page on the model."""
    save_table(
        "restart-model-costs",
        exact.set_index("instance")[list(POLICIES)].head(3),
        "Exact cost per epoch on the first three systems, from arms as good as new: the relaxed "
        "bound, the optimum, and four policies.",
        formats=".4f",
        labels=POLICIES,
    )
