"""Many values of a page at once: predicates, numbers of its solutions, rewards of all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.report import save_value


def save_values(page: str, values: Mapping[str, float]) -> None:
    """Keep values for the prose of a page, each under the page's name and its own.

    Parameters
    ----------
    page : str
        Name of the page.
    values : mapping of str to float, int or bool
        What is kept, by name.
    """
    for name, value in values.items():
        save_value(f"{page}-{name}", value)


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
