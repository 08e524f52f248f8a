"""What pages of this part share: traces, a reader's own among them, pings, and experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.trace.experiment import Experiment, ratio_interval
from analysis.trace.signals import read_pings
from analysis.trace.trace import WEEK, Repair, Trace, publications, read_trace

SIZES = ("small", "middle", "large")
"""Names of the three budgets of a page."""
LABELS = {
    "index": "index, trained rates",
    "shrunk": "index, rates with a prior",
    "forgetting": "index, rates that forget",
    "fixed": "best fixed frequencies",
    "greedy": "largest expected content",
    "lambdacrawl": "LambdaCrawl, drawn",
    "even": "LambdaCrawl's rates, even",
    "nutch": "Nutch adaptive",
    "entry": "entry frequency",
    "robin": "round robin",
    "oracle": "index, test-period rates",
    "feed": "index that sees contents",
}
"""Policies that a page replays, by the names that figures and tables give them."""


def load_trace(kind: str, path: str) -> Trace:
    """Return a reader's own items, or the publications of a kind where there is no file."""
    return read_trace(path)[0] if path else publications(kind)


def check_weeks(trace: Trace, parameters: Mapping[str, Any]) -> None:
    """Refuse a trace too short for `training` and `test`, or with fewer sources than `large`."""
    training, test, large = (parameters[name] for name in ("training", "test", "large"))
    if (training + test) * WEEK > trace.end - trace.begin:
        raise ValueError(
            "training and test must fit into the trace, which has "
            f"{(trace.end - trace.begin) // WEEK} weeks, got {training} and {test}"
        )
    if large > len(trace):
        raise ValueError(f"large must be at most the {len(trace)} sources, got {large}")
    # The first half of the training period has to give rates to the other half, which chooses.
    ends = trace.begin + np.array([0, training // 2, training, training + test]) * WEEK
    if not all(trace.counts(*period).any() for period in pairwise(ends.tolist())):
        raise ValueError(
            "training must leave items for both of its halves and for the test, got "
            f"{training} weeks, {test} for the test"
        )


def set_up_experiments(
    trace: Trace, training: int, test: int, half_life: float, budgets: Sequence[int], phases: int
) -> dict[str, Experiment]:
    """Set up the comparison on a trace at three budgets, by size."""
    split = trace.begin + training * WEEK
    base = partial(Experiment, trace, trace.begin, split, split + test * WEEK, half_life)
    return {size: base(budget, phases=phases) for size, budget in zip(SIZES, budgets, strict=True)}


def make_experiment(trace: Trace, test: int, half_life: float, budget: int) -> Experiment:
    """Split a trace: so many weeks at its end for the test, or half if it is shorter."""
    weeks = (trace.end - trace.begin) // WEEK
    if weeks < 4:
        raise ValueError(f"trace must span at least 4 weeks, got {weeks}")
    test = min(test, weeks // 2)
    end = trace.begin + weeks * WEEK
    return Experiment(
        trace, trace.begin, end - test * WEEK, end, half_life, budget, phases=1,
        warm_up=min(4, weeks - test),
    )  # fmt: skip


def check_files(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse files and parameters of which no comparison can be made."""
    trace = load_trace(parameters["kind"], parameters["trace"])
    names = ("test", "half_life", "budget")
    setting = make_experiment(trace, *(parameters[name] for name in names))
    for period, rates in {"training": setting.trained, "test": setting.tested}.items():
        if not rates.any():
            raise ValueError(f"trace must have items in the {period} period, got none")
    if parameters["signals"]:
        read_pings(parameters["signals"], trace)


def tabulate_repairs(repairs: list[Repair]) -> pd.DataFrame:
    """Return what was done to rows of a file of pings."""
    rows = [(repair.what, len(repair.rows), repair.rows[0]) for repair in repairs]
    rows = rows or [("nothing had to be done", 0, 0)]
    return pd.DataFrame(rows, columns=["what was done", "rows", "first"])


def measure_ratio(reward: Floats, other: Floats, weights: Floats) -> tuple[float, float, float]:
    """Return the ratio of two rewards by week, and its interval from samples of weeks.

    ValueError naming the trace if the other collects nothing in all weeks of some sample.
    """
    if not (weights @ other > 0).all():
        raise ValueError(
            "trace must have items in most weeks of the test that a visit can find, got "
            f"{int((other > 0).sum())} of {other.size} weeks with one"
        )
    return ratio_interval(reward, other, weights)
