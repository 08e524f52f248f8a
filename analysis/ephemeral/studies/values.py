"""Rewards of all runs of several comparisons, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.ephemeral.stochastic.simulation import Comparison


def rewards_by_run(comparisons: Mapping[Any, Comparison], by: str) -> pd.DataFrame:
    """Return the reward of every run of several comparisons, one row a run and policy.

    Parameters
    ----------
    comparisons : mapping of str or float to Comparison
        Policies on common random numbers, by what tells the comparisons apart.
    by : str
        What that is.

    Returns
    -------
    pandas.DataFrame
        Columns `by`, replication, policy, reward (per epoch).
    """
    runs = pd.concat(
        pd.DataFrame(one.rewards).rename_axis("replication").reset_index().assign(**{by: value})
        for value, one in comparisons.items()
    )
    return runs.melt([by, "replication"], var_name="policy", value_name="reward")
