"""What the pages of this part share: a value or table of several of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.comparison import Comparison
from analysis.report import save_values


def rewards_by_run(comparisons: Mapping[Any, Comparison], by: str) -> pd.DataFrame:
    """Return the reward of every run of several comparisons, one row a run and policy.

    Columns `by`, replication, policy, reward (per epoch).
    """
    runs = pd.concat(
        pd.DataFrame(one.rewards).rename_axis("replication").reset_index().assign(**{by: value})
        for value, one in comparisons.items()
    )
    return runs.melt([by, "replication"], var_name="policy", value_name="reward")


def save_rates(prefix: str, sources: Sources) -> None:
    """Save rates, utilities and costs of sources, for an explorable of the page to read."""
    names = ("arrival_rate", "mean_utility", "decay_rate", "cost")
    save_values(prefix, {name.replace("_", "-"): getattr(sources, name) for name in names})
