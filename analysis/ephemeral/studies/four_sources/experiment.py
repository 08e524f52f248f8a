"""What the printed average of four sources is the average of.

A document that prints an average reward without saying from which state, over how many epochs and
divided by what leaves three choices. `scan_averages` tries all of them, so that a printed value can
be traced to the choices that give it, and `chance_of_a_hit` estimates how probable such a match is
by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.checks import check_integer, check_number
from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import INITIAL_STATES, Cycle, simulate
from analysis.ephemeral.sources import Sources

#: What the sum of n terms is divided by: their number, or the last epoch as in (4) of the report.
DIVISORS = {"epochs": 0, "epochs - 1": -1}


def scan_averages(
    sources: Sources, policy: Policy | str, budget: int, longest: int
) -> pd.DataFrame:
    """Average reward over the first n epochs, for every initial state, n and divisor.

    `policy`: a policy or the name of a built-in one; `longest`: largest n, at least 2. Columns
    initial_state, epochs, divisor and average.
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
    """Return the rows of a scan whose average rounds to a printed number."""
    near = (averages["average"] - printed).abs() <= 0.5 * 10.0**-digits
    return averages[near].reset_index(drop=True)


def chance_of_a_hit(
    averages: pd.DataFrame, printed: float, half_width: float, digits: int = 2
) -> float:
    """Return the share of numbers around a print that some row of a scan would have rounded to.

    `half_width`: how far they reach on each side, above 0.
    """
    half_width = check_number("half_width", half_width, 0, low_open=True)
    unit = 10.0**-digits
    tried = np.rint(printed / unit) + np.arange(-np.rint(half_width / unit), half_width / unit + 1)
    return float(np.isin(tried, np.rint(averages["average"] / unit)).mean())


def greedy_rank(sources: Sources, utility: Floats, ages: Floats) -> Floats:
    """Return what the slides' greedy policy ranks by, as they print it, at ages in epochs.

    `utility`: what is put for xi, one number a source; `ages`: epochs since the last crawl.
    """
    elapsed = ages * sources.period
    worth = sources.arrival_rate * utility / sources.decay_rate
    return np.asarray(worth * -np.expm1(-sources.decay_rate * elapsed))


def uncrawled_contents(sources: Sources, epochs: int) -> Floats:
    """Return the contents of sources at ages 1, 2, ..., by the recursion (2) from empty ones."""
    contents = [np.zeros(len(sources))]
    for _ in range(epochs):
        contents.append(sources.alpha * contents[-1] + sources.u)
    return np.array(contents[1:])


@dataclass(frozen=True)
class Results:
    """What the page computes: the sources, the cycles, and the scan behind the printed average."""

    sources: Sources
    budgets: tuple[int, int]  # the two budgets
    # Long run of the index policy with each budget.
    first: Cycle
    second: Cycle
    alone: Cycle  # long run of a crawler that stays with the source of largest u
    epoch_rewards: Floats  # reward of each epoch of the first cycle; shape (period,)
    fits: pd.DataFrame  # the rows of the scan that round to the printed average
    scanned: int  # number of averages in the scan
    chance: float  # share of the numbers within 1.5 of the print that the scan would have hit
    drawn: Floats  # utility of one random item of each source; shape (N,)
    # Largest long-run reward of all policies with the first budget, by a search over cycles.
    optimum: float
