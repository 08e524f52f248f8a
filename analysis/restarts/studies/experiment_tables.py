"""Tables of the slides' experiments, and the systems behind them as tidy data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import save_data, save_table

SYSTEM = {
    "kernel": "generator of the kernels",
    "instance": "number of the system among those of its generator",
    "arms": "arms of the system, n",
    "budget": "arms active at each epoch, m",
}
SAVING = {
    "eps": "saving of the index policy over the myopic one, % of the latter's cost",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "bound": "relaxed bound on the cost per epoch",
    "gap": "by what percentage the index policy is above the bound",
}
SIMULATED = {
    "index": "simulated cost per epoch of the index policy",
    "myopic": "simulated cost per epoch of the myopic policy",
}
AHEAD = {"lookahead": "simulated cost per epoch of the policy that looks two epochs ahead"}
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
POLICIES = {
    "bound": "relaxed bound",
    "optimal": "optimum",
    "index_best": "index, best ties",
    "index": "index, lower arm",
    "myopic": "myopic",
    "lowest": "lowest index",
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


def save_systems_of_the_myopic_policy(large: pd.DataFrame, cells: pd.DataFrame) -> None:
    """Save every simulated system of experiments (3) and (4): of one size, and of all sizes."""
    columns = SYSTEM | SIMULATED | SAVING
    save_data(
        "restart-myopic-systems",
        large[list(columns)],
        "One row a random system of one size and budget, simulated on common random numbers.",
        columns,
    )
    columns = SYSTEM | SIMULATED | AHEAD | SAVING
    save_data(
        "restart-myopic-cells",
        cells[list(columns)],
        "One row a random system of each size and budget, simulated on common random numbers.",
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


def save_as_printed(systems: pd.DataFrame, paths: int, epochs: int) -> None:
    """Save the systems that are simulated with the slides' own counts."""
    shown = systems[["kernel", "arms", "budget", "index", "myopic", "eps", "low", "high"]].copy()
    shown.loc[shown.low == shown.high, ["low", "high"]] = np.nan  # both policies act alike
    save_table(
        "restart-myopic-as-printed",
        shown,
        f"Systems simulated by {paths} paths of {epochs} epochs with costs added up as the slides "
        "print it: cost of both policies, the saving in % and its 95% interval.",
        formats=".3f",
    )


def save_savings(table: pd.DataFrame) -> None:
    """Save the table of `restart_myopic.table_of`."""
    save_table(
        "restart-myopic-generators",
        table,
        "Saving of the index policy over the myopic one by generator, in % but for the "
        "number of systems: its range, the mean half-width of an interval, how many systems in a "
        "hundred one bin of 1% can hold, the median saving over the policy that looks two "
        "epochs ahead, and how far the index policy is above the relaxed bound.",
        formats=".2f",
        instances="restart-myopic-systems",
    )


def save_gaps(cells: pd.DataFrame) -> None:
    """Save by how much the index policy is above the relaxed bound, by size and budget."""
    save_table(
        "restart-myopic-gaps",
        cells.groupby(["arms", "budget"]).gap.agg(["min", "median", "max"]),
        "By what percentage the index policy is above the relaxed bound: least, median and "
        "greatest of all systems of a size and budget.",
        formats=".2f",
        instances="restart-myopic-cells",
    )


def save_losses(worst: pd.DataFrame) -> None:
    """Save the systems on which the myopic policy is the better one, if there are any."""
    if worst.empty:
        return
    columns = ["kernel", "budget", "optimal", "index_best", "myopic", "loss"]
    save_table(
        "restart-myopic-losses",
        worst[columns].head(5).reset_index(drop=True),
        f"The systems, of {len(worst)}, on which the index policy with ties broken in the best way "
        "loses most to the myopic policy: exact costs, and the loss in %.",
        formats=".4f",
    )


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
