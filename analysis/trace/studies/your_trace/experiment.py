"""What the page `your-trace` computes: policies on a reader's own trace, and a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.experiment import Experiment, choose_memory
from analysis.trace.forgetting import known_from
from analysis.trace.poisson import ENOUGH, against_surrogates
from analysis.trace.rates import gamma_prior
from analysis.trace.reading import Repair, read_trace
from analysis.trace.trace import DAY, HOUR, WEEK, Trace, publications

LABELS = {
    "index": "index, trained rates",
    "shrunk": "index, rates with a prior",
    "forgetting": "index, rates that forget",
    "fixed": "best fixed frequencies",
    "even": "LambdaCrawl's rates, even",
    "nutch": "Nutch adaptive",
    "entry": "entry frequency",
    "robin": "round robin",
    "oracle": "index, test-period rates",
    "feed": "index that sees contents",
}


def own_trace(path: str) -> Trace:
    """Read the reader's file, whatever is then done with equal rows."""
    return read_trace(path, duplicates="keep")[0]


def check_trace(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a trace without items enough for the training and the test that the parameters set."""
    trace, _ = load(parameters["trace"], parameters["duplicates"])
    names = ("share", "half_life", "budget", "period", "phases")
    plan = experiment(trace, *(parameters[name] for name in names))
    for period, rates in {"training": plan.trained, "test": plan.tested}.items():
        if not rates.any():
            raise ValueError(
                f"share must leave items for training and test, got {parameters['share']} and none "
                f"in the {period} period"
            )


def load(path: str, duplicates: str) -> tuple[Trace, list[Repair]]:
    """Read the reader's file, or take the book's trace where there is none."""
    return read_trace(path, duplicates=duplicates) if path else (publications("both"), [])


def experiment(
    trace: Trace, share: float, half_life: float, budget: int, period: int, phases: int
) -> Experiment:
    """Split a trace into a training and a test period of whole weeks."""
    weeks = (trace.end - trace.begin) // WEEK
    test = weeks - round(share * weeks)
    if weeks < 4 or not 1 <= test < weeks:
        raise ValueError(
            "the trace must span at least 4 weeks and leave one or more for training and for the "
            f"test, got {weeks} weeks, {test} of them for the test"
        )
    if budget > len(trace):
        raise ValueError(f"budget must be in [1, {len(trace)}], one a source, got {budget}")
    end = trace.begin + weeks * WEEK
    return Experiment(
        trace, trace.begin, end - test * WEEK, end, half_life, budget,
        period=period * 60, phases=phases, warm_up=min(4, weeks - test),
    )  # fmt: skip


def poisson_table(trace: Trace, number: int, seed: int) -> pd.DataFrame:
    """Compare the trace with surrogates by the statistics that it has, if items are enough."""
    if trace.counts(trace.begin, trace.end).max() < ENOUGH:
        return pd.DataFrame({"statistic": [f"no source has {ENOUGH} items: nothing to test"]})
    table = against_surrogates(trace, number, np.random.default_rng([seed, 1]))
    return table.dropna().round(3)


def ratio_with_interval(
    numerator: Floats, denominator: Floats, weights: Floats | None
) -> tuple[float, float, float]:
    """Ratio of two totals, with its block-bootstrap interval where the weeks bear one.

    `numerator`, `denominator`: weekly values. `ratio`, `low`, `high`: the ends are nan where there
    is no interval: without weights, where a sample holds nothing to divide by, and where all
    samples are alike.
    """
    if weights is not None and (weights @ denominator > 0).all():
        ratio, low, high = ratio_interval(numerator, denominator, weights)
        if high - low > 1e-12 * ratio:
            return ratio, low, high
    return float(numerator.sum() / denominator.sum()), np.nan, np.nan


def with_visits_kept(sources: Sources, budget: float, kept: float) -> Floats:
    """Return frequencies of visits, a share `kept` of them for sources that the best leave out.

    Where the relaxed problem of the whole budget leaves no source out, nothing is kept.
    """
    best = relaxed_problem(sources, budget).frequency
    if kept == 0 or (best > 0).all():
        return best
    frequency = relaxed_problem(sources, (1 - kept) * budget).frequency
    out = frequency == 0
    return np.where(out, min(1.0, kept * budget / out.sum()), frequency)


def schedule(plan: Experiment, days: Sequence[float], kept: float = 0.0) -> pd.DataFrame:
    """Recommend a schedule from the whole trace: how often to visit each source, and when first.

    Rates are the present ones: with the memory that training chose, and the gamma prior. A share
    `kept` of the visits is for sources that these rates leave out.

    Columns ``source``, ``items_per_day``, ``visits_per_day``, ``hours_between_visits`` (inf for
    never) and ``first_visit_hours``, which spreads first visits evenly; most visits first.
    """
    memory, _ = choose_memory(plan, [24.0 * d for d in days])
    ones = np.ones(len(plan.trace), dtype=np.int64)
    known = known_from(plan.trace, plan.begin, plan.end, memory, ones)
    counts = plan.trace.counts(plan.begin, plan.end)
    shape, strength = gamma_prior(counts, (plan.end - plan.begin) / HOUR)
    rate = (known.items + shape) / (known.hours + strength)
    frequency = with_visits_kept(plan.sources(rate), plan.budget, kept)
    hours = plan.period / HOUR
    with np.errstate(divide="ignore"):
        between = hours / frequency
    spread = (np.arange(len(plan.trace)) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0
    first = np.where(np.isfinite(between), spread * np.where(frequency > 0, between, 0.0), np.inf)
    table = pd.DataFrame(
        {
            "source": plan.trace.names,
            "items_per_day": rate * DAY / HOUR,
            "visits_per_day": frequency * DAY / plan.period,
            "hours_between_visits": between,
            "first_visit_hours": first,
        }
    )
    return table.sort_values("visits_per_day", ascending=False, kind="stable", ignore_index=True)


def who_is_left_out(never: int, size: int) -> str:
    """Return a sentence on how many of the sources are never visited."""
    if never == 0:
        return f"All {size} sources are visited."
    return f"Never visited at this budget: {never} of {size} sources."


def how_many_visits(visits: pd.Series) -> str:
    """Return a sentence on how many visits a day the sources get."""
    least, most = f"{visits.min():.2g}", f"{visits.max():.2g}"
    if least == most:
        return "1 visit a day." if least == "1" else f"{least} visits a day."
    return f"Visits from {least} to {most} a day."


def how_visits_rise(visited: pd.DataFrame) -> str:
    """Return a sentence on visits that rise with items, empty where they do not."""
    ordered = visited.sort_values("items_per_day")
    visits = ordered["visits_per_day"].to_numpy()
    rise = bool((np.diff(visits) >= -1e-9 * visits[1:]).all() and visits[-1] > visits[0])
    each = (ordered["visits_per_day"] / ordered["items_per_day"]).to_numpy()
    slower = bool(len(each) > 1 and each[-1] < each[0])
    said = "They rise with items per day" if rise else ""
    return f"{said}{', more slowly than in proportion' * slower}. " if rise else ""
