"""Values, tables and data of the page `dual-descent`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.ephemeral.relaxed import RelaxedSolution
from analysis.ephemeral.studies.dual_descent.experiment import has_one_multiplier
from analysis.report import apart, save_data, save_table, save_value
from analysis.results import student_band

#: By what share of the budget runs may overspend and still count as keeping it.
_OVERSPENT = 5e-3


def without_bound(bounds: pd.Series) -> str:
    """Return a clause on why some runs have no bound, empty if all have one."""
    return "; there is none where nothing is spent" if bounds.isna().any() else ""


def keeps_budget(spent: float, budget: float) -> bool:
    """Return whether the low end of an interval of spending is within the budget, or near it."""
    return bool(spent <= budget * (1 + _OVERSPENT))


def save_half(steps: pd.DataFrame, budget: float) -> None:
    """Save the table of the step rules."""
    save_table(
        "dual-descent-half",
        steps,
        f"Price, spending and reward of {len(steps)} step rules at a budget of {budget:g}, in the "
        "second half of the run. The bound is the relaxed one for what is spent, and what the "
        f"sources may hold when that half begins{without_bound(steps['bound'])}.",
        formats=".3f",
    )


def save_by_budget(by_budget: pd.DataFrame) -> None:
    """Save the table of every budget."""
    farthest = by_budget["distance"].max()
    shown = by_budget.drop(columns="reward / bound of the budget")
    save_table(
        "dual-descent-budgets",
        shown,
        "Where the price ends for several budgets and two step rules, and what is spent and earned "
        "in the second half of the run, the bound being that of what is spent, and what the "
        f"sources may hold when that half begins{without_bound(shown['reward / bound'])}. The "
        f"largest distance from a multiplier is {farthest:.3f}.",
        formats=dict.fromkeys(map(str, shown), ".4f") | {"reward / bound": ".3f"},
    )


def save_random(outcome: Sequence[tuple[float, float, float]], budget: float) -> None:
    """Save every run of random content, and the table of their averages."""
    columns = {
        "cost": "cost per epoch, average over the second half of the run",
        "reward": "reward per epoch, corrected by the control variate",
        "price": "average price in the second half, in units of the index",
    }
    runs = pd.DataFrame(np.asarray(outcome), columns=pd.Index(columns))
    runs.insert(0, "replication", range(len(runs)))
    save_data(
        "dual-descent-runs",
        runs,
        f"One row a run of dual descent on random content, at a budget of {budget:g}.",
        {"replication": "number of the run", **columns},
    )
    mean, low, high = student_band(outcome)
    differ = [apart(*ends, ".4f") for ends in zip(low, high, strict=True)]  # between the runs
    rows = {"mean": mean, "95% from": np.where(differ, low, np.nan)}
    rows["95% to"] = np.where(differ, high, np.nan)
    index = pd.Index(["cost per epoch", "reward per epoch", "price"], name="quantity")
    save_table(
        "dual-descent-random",
        pd.DataFrame(rows, index=index),
        f"Dual descent on random content at a budget of {budget:g}: averages over {len(runs)} runs "
        "and their 95% confidence intervals.",
        formats=".4f",
        instances="dual-descent-runs",
    )


def of_relaxed(relaxed: RelaxedSolution) -> dict[str, float]:
    """Return the multipliers and the bound of the relaxed problem."""
    return {
        "multiplier": relaxed.subsidy,
        "smallest": relaxed.smallest_subsidy,
        "one-multiplier": has_one_multiplier(relaxed),
        "bound": relaxed.bound,
    }


def of_budgets(ours: pd.DataFrame, faster: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the descent at every budget.

    Keys: among others ``interval-low`` and ``interval-high``, the multipliers of the first budget.
    """
    return {
        "cases": len(ours),
        "farthest": ours["distance"].max(),
        "farthest-faster": faster["distance"].max(),
        "faster-nearer": int((faster["distance"] < ours["distance"]).sum()),
        "interval-low": ours["smallest multiplier"].iloc[0],
        "interval-high": ours["largest multiplier"].iloc[0],
        "slow-spent": faster["cost per epoch"].iloc[0],
    }


def save_random_means(outcome: Sequence[tuple[float, float, float]], budget: float) -> None:
    """Save means of runs on random content with intervals, and whether the budget holds."""
    mean, low, high = student_band(outcome)
    save_value("dual-random-kept", keeps_budget(low[0], budget))
    for column, name in enumerate(("spent", "reward", "price")):
        save_value(
            f"dual-random-{name}",
            mean[column],
            interval=(low[column], high[column]),
            replications=len(outcome),
        )
