"""Averages over the first epochs of a run, and which of them rounds to a printed number.

A document that prints an average reward without saying from which state, over how many epochs and
divided by what leaves three choices. `scan_averages` lays them all out, so that a printed value can
be traced to the choices that give it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import INITIAL_STATES, simulate
from analysis.ephemeral.sources import Sources

#: What the sum of n terms is divided by: their number, or the last epoch as in (4) of the report.
DIVISORS = {"epochs": 0, "epochs - 1": -1}


def scan_averages(
    sources: Sources, policy: Policy | str, budget: int, longest: int
) -> pd.DataFrame:
    """Average reward over the first n epochs, for every start, n and divisor.

    Parameters
    ----------
    sources : Sources
        N sources.
    policy : Policy or str
        A policy or the name of a built-in one.
    budget : int
        Sources crawled at each epoch.
    longest : int
        Largest n, at least 2.

    Returns
    -------
    pandas.DataFrame
        Columns initial_state, epochs, divisor and average.
    """
    check_integer("longest", longest, 2)
    epochs = np.arange(2, longest + 1)
    parts = []
    for initial_state in INITIAL_STATES:
        run = simulate(sources, policy, budget, longest, initial_state=initial_state)
        sums = np.cumsum(run.reward)[1:]
        for divisor, shift in DIVISORS.items():
            columns = {"initial_state": initial_state, "epochs": epochs, "divisor": divisor}
            parts.append(pd.DataFrame(columns | {"average": sums / (epochs + shift)}))
    return pd.concat(parts, ignore_index=True)


def rounding_to(averages: pd.DataFrame, printed: float, digits: int = 2) -> pd.DataFrame:
    """Return the rows of a scan whose average rounds to a printed number.

    Parameters
    ----------
    averages : pandas.DataFrame
        As `scan_averages` returns it.
    printed : float
        The printed number.
    digits : int
        Its decimals.
    """
    near = (averages["average"] - printed).abs() <= 0.5 * 10.0**-digits
    return averages[near].reset_index(drop=True)
