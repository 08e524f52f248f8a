"""Values and tables of the page `four-sources`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.ephemeral.policies import Policy
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.four_sources.experiment import chance_of_a_hit

_ROUNDING = 1e-9
#: Gaps that a cell of a table lists one by one.
_LISTED = 40


def of_the_print(
    sources: Sources, alone: Policy, averages: pd.DataFrame, fit: pd.Series, printed: float
) -> dict[str, float]:
    """Return the page's numbers on the finite run that gives the printed average.

    Keys: ``print-epochs``, its number of epochs; ``same-recipe``, the average of `alone` over the
    same epochs from the same state; ``literal-divisor``, the sum of the run divided by one epoch
    less; ``hit-chance`` and ``hit-chance-wide``, the share of the numbers within 1.5 and within
    4.5 of the print that some average rounds to.
    """
    epochs, initial_state = int(fit.epochs), fit.initial_state
    same_run = averages.epochs.eq(epochs) & averages.initial_state.eq(initial_state)
    other = averages[same_run & averages.divisor.eq("epochs - 1")]
    recipe = simulate(sources, alone, 1, epochs, initial_state=initial_state)
    return {
        "print-epochs": epochs,
        "same-recipe": recipe.average_reward,
        "literal-divisor": float(other.average.iloc[0]),
        "hit-chance": chance_of_a_hit(averages, printed, 1.5),
        "hit-chance-wide": chance_of_a_hit(averages, printed, 4.5),
    }


def predicates(size: int, budgets: tuple[int, int], rewards: pd.DataFrame) -> dict[str, float]:
    """Return the truth values and numbers that sentences of the page depend on.

    Keys: ``two-budgets``, whether they differ; with the first of them ``all-crawled``, whether
    every source is crawled at every epoch; ``greedy-alike``, whether greedy earns what the index
    policy earns though there is a choice, and ``greedy-apart``, whether it does not;
    ``over-greedy``, by how much the index policy earns more, relative to its own reward where
    greedy earns nothing; and ``greedy-long-run`` and ``robin-long-run``, what the others earn.
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
        "greedy-long-run": greedy,
        "robin-long-run": float(first["round-robin"]),
    }


def gaps_in_words(gaps: Sequence[int]) -> str:
    """Return a text that lists the gaps between crawls, or counts them where there are many."""
    if len(gaps) <= _LISTED:
        return ", ".join(map(str, gaps)) or "never crawled"
    lengths, often = np.unique(gaps, return_counts=True)
    if lengths.size <= _LISTED // 2:
        return ", ".join(f"{often[k]} of {lengths[k]}" for k in range(lengths.size))
    return f"{len(gaps)}, from {lengths[0]} to {lengths[-1]}"
