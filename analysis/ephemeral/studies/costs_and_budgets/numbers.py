"""Values and data of the page `costs-and-budgets`."""

from __future__ import annotations

import pandas as pd

from analysis.ephemeral.optimum.costs import FILLS, CostRun
from analysis.report import save_data


def save_instances(instances: pd.DataFrame) -> None:
    """Save the random instances, one row each."""
    columns = {"sources": "sources in the instance", "budget": "cost per epoch that is allowed"}
    for fill in FILLS:
        columns[fill] = f"reward of {fill}, in units of the optimum within the budget"
        columns[f"{fill}_cost"] = f"cost per epoch of {fill}, in budgets"
    columns["bound"] = "relaxed bound, in units of the optimum within the budget"
    save_data(
        "costs-and-budgets-instances",
        instances[list(columns)],
        "One row a random instance with costs, all ways to fill the budget in it.",
        columns,
    )


def of_instances(instances: pd.DataFrame, ways: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the random instances."""
    losses = {
        f"{fill}-{word}": float(ways[f"{word} loss"][fill])
        for fill in ("stop", "skip", "index")
        for word in ("mean", "worst")
    }
    first = instances.iloc[0]
    followed = {
        f"followed-{fill}": 100 * float(1 - first[fill]) for fill in ("value", "index", "reach")
    }
    return (
        losses
        | followed
        | {
            "followed": 1,
            "instances": len(instances),
            "reach-spending": float(ways["mean cost"]["reach"]),
            "reach-worst": float(ways["largest cost"]["reach"]),
            "debt-spending": float(ways["mean cost"]["debt"]),
            "debt-bound": float((1 - instances["debt"] / instances["bound"]).mean()),
            "value-exact": float((1 - instances["value"] < 1e-6).mean()),
            "value-worst": float(ways["worst loss"]["value"]),
        }
    )


def of_limits(free: CostRun, limited: CostRun, costly: CostRun) -> dict[str, float]:
    """Return the share of the reward that a least age and a cost of source 1 take."""
    return {
        "delay-price": 1 - limited.average_reward / free.average_reward,
        "cost-price": 1 - costly.average_reward / free.average_reward,
    }
