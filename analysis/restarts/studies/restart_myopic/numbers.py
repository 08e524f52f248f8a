"""Values and tables of the page `restart-myopic`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import save_data, save_table, save_value, save_values
from analysis.restarts.studies.experiment import SYSTEM
from analysis.restarts.studies.restart_myopic.experiment import DEARER, losses_of_the_index


def save_numbers(
    table: pd.DataFrame, large: pd.DataFrame, small: pd.DataFrame, printed: pd.DataFrame
) -> None:
    """Save the numbers that the page quotes, bounds rounded outward to the digit shown."""
    worst = losses_of_the_index(small)
    kept = {
        "arms": int(large.arms.iloc[0]),
        "budget": int(large.budget.iloc[0]),
        "median-least": table["median"].min(),
        "median-most": table["median"].max(),
        "greatest": large.eps.max(),
        "widest": float(np.ceil(10 * (table["greatest"] - table["least"]).max()) / 10),
        "beaten": len(worst) > 0,
        "loss": float(np.ceil(100 * worst.loss.max()) / 100) if len(worst) else 0.0,
        "surely": len(worst),
        "negative": int((small["index"] > (1 + DEARER) * small.myopic).sum()),
        "small": len(small),
        "printed-systems": len(printed),
        "printed-half": float((printed.high - printed.low).mean() / 2),
        "half": float((large.high - large.low).mean() / 2),
    }
    save_values("restart-myopic", kept)


def save_counts(large: tuple[int, int], printed: tuple[int, int], half: float) -> None:
    """Save paths and epochs of both simulations, and how many paths a half-width of 0.05 takes."""
    for prefix, counts in (("", large), ("printed-", printed)):
        for name, count in zip(("paths", "epochs"), counts, strict=True):
            save_value(f"restart-myopic-{prefix}{name}", count)
    save_value("restart-myopic-enough", large[0] * (half / 0.05) ** 2)


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
        formats={**dict.fromkeys(table.columns.drop("systems"), ".2f"), "half-width": ".2g"},
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
