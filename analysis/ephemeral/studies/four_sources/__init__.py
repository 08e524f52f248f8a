"""Four sources: the report's worked example, and what its printed average is the average of.

A document that prints an average reward without saying from which state, over how many epochs and
divided by what leaves three choices. `scan_averages` lays them all out, so that a printed value can
be traced to the choices that give it, and `chance_of_a_hit` says what such a trace is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.checks import check_integer, check_number
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import INITIAL_STATES, Cycle, simulate
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
#: Gaps that a cell of a table lists one by one.
_LISTED = 40
#: What the sum of n terms is divided by: their number, or the last epoch as in (4) of the report.
DIVISORS = {"epochs": 0, "epochs - 1": -1}


def scan_averages(
    sources: Sources, policy: Policy | str, budget: int, longest: int
) -> pd.DataFrame:
    """Average reward over the first n epochs, for every initial state, n and divisor.

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
    longest = check_integer("longest", longest, 2)
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


def chance_of_a_hit(
    averages: pd.DataFrame, printed: float, half_width: float, digits: int = 2
) -> float:
    """Return the share of numbers around a print that some row of a scan would have rounded to.

    Parameters
    ----------
    averages : pandas.DataFrame
        As `scan_averages` returns it.
    printed : float
        The printed number, centre of the numbers that are tried.
    half_width : float
        How far they reach on each side, above 0.
    digits : int
        Decimals of the numbers that are tried.
    """
    half_width = check_number("half_width", half_width, 0, low_open=True)
    unit = 10.0**-digits
    tried = np.rint(printed / unit) + np.arange(-np.rint(half_width / unit), half_width / unit + 1)
    return float(np.isin(tried, np.rint(averages["average"] / unit)).mean())


def greedy_content(sources: Sources, ages: Floats) -> Floats:
    """Return what the slides' greedy policy ranks by, as they print it, at ages in epochs.

    Parameters
    ----------
    sources : Sources
        N sources.
    ages : ndarray, shape (ages, 1)
        Epochs since the last crawl.
    """
    elapsed = ages * sources.period
    worth = sources.arrival_rate * sources.mean_utility / sources.decay_rate
    return np.asarray(worth * -np.expm1(-sources.decay_rate * elapsed))


def predicates(size: int, budgets: tuple[int, int], rewards: pd.DataFrame) -> dict[str, float]:
    """Return what sentences of the page rest on.

    Parameters
    ----------
    size : int
        Number of sources.
    budgets : tuple of int
        The two budgets.
    rewards : pandas.DataFrame
        Long-run rewards, one row a policy and one column a budget, ``M = 1`` and so on.

    Returns
    -------
    dict
        ``two-budgets``, whether they differ; with the first of them ``all-crawled``, whether every
        source is crawled at every epoch; ``greedy-alike``, whether greedy earns what the index
        policy earns though there is a choice, and ``greedy-apart``, whether it does not; and
        ``over-greedy``, by how much the index policy earns more, relative to its own reward where
        greedy earns nothing.
    """
    first = rewards[f"M = {budgets[0]}"]
    index, greedy = float(first["whittle"]), float(first["greedy"])
    over = (index - greedy) / (greedy or index or 1.0)
    choice, alike = budgets[0] < size, abs(over) < _ROUNDING
    return {
        "two-budgets": budgets[0] != budgets[1],
        "all-crawled": not choice,
        "greedy-alike": choice and alike,
        "greedy-apart": choice and not alike,
        "over-greedy": 0.0 if alike else over,
    }


def gaps_in_words(gaps: Sequence[int]) -> str:
    """List the gaps between crawls of a source; where there are too many, say how often each is.

    Parameters
    ----------
    gaps : sequence of int
        Epochs between two crawls, in their order over one period.
    """
    if len(gaps) <= _LISTED:
        return ", ".join(map(str, gaps)) or "never crawled"
    lengths, often = np.unique(gaps, return_counts=True)
    if lengths.size <= _LISTED // 2:
        return ", ".join(f"{often[k]} of {lengths[k]}" for k in range(lengths.size))
    return f"{len(gaps)}, from {lengths[0]} to {lengths[-1]}"


@dataclass(frozen=True)
class Results:
    """What the page computes: the sources, the cycles, and the scan behind the printed average.

    Attributes
    ----------
    sources : Sources
    budgets : tuple of int
        The two budgets.
    first, second : Cycle
        Long run of the index policy with each budget.
    alone : Cycle
        Long run of a crawler that stays with the source of largest u.
    epoch_rewards : ndarray, shape (period,)
        Reward of each epoch of the first cycle.
    fits : pandas.DataFrame
        The rows of the scan that round to the printed average.
    scanned : int
        Number of averages in the scan.
    chance : float
        Share of the numbers within 1.5 of the print that the scan would have hit.
    optimum : float
        Largest long-run reward of all policies with the first budget, by a search over cycles.
    """

    sources: Sources
    budgets: tuple[int, int]
    first: Cycle
    second: Cycle
    alone: Cycle
    epoch_rewards: Floats
    fits: pd.DataFrame
    scanned: int
    chance: float
    optimum: float
