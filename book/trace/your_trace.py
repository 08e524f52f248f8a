"""The page `your-trace`: policies on a reader's own trace, and a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.policies import RoundRobinPolicy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.trace.deployed import EntryFrequency, NutchAdaptive
from analysis.trace.experiment import (
    Experiment,
    Outcome,
    block_weights,
    choose_memory,
    gamma_prior,
    ratio_interval,
)
from analysis.trace.poisson import ENOUGH, compare_with_surrogates
from analysis.trace.policies import (
    FrequencyPolicy,
    best_fixed_frequencies,
    known_from,
    lambdacrawl,
)
from analysis.trace.trace import DAY, HOUR, WEEK, Repair, Trace, publications, read_trace
from book.trace.shared import LABELS
from scorecard import (
    COLOURS,
    NONE,
    add_panels,
    fold_names,
    ink,
    save_figure,
    save_value,
    save_values,
)


def read_own_trace(path: str) -> Trace:
    """Read the reader's file, whatever is then done with equal rows."""
    return read_trace(path, duplicates="keep")[0]


def check_trace(_: object, parameters: Mapping[str, Any]) -> None:
    """Refuse a trace without items enough for the training and the test that the parameters set."""
    trace, _ = load_trace(parameters["trace"], parameters["duplicates"])
    names = ("share", "half_life", "budget", "period", "phases")
    plan = split_trace(trace, *(parameters[name] for name in names))
    for period, rates in {"training": plan.trained, "test": plan.tested}.items():
        if not rates.any():
            raise ValueError(
                f"share must leave items for training and test, got {parameters['share']} and none "
                f"in the {period} period"
            )


def load_trace(path: str, duplicates: str) -> tuple[Trace, list[Repair]]:
    """Read the reader's file, or take the book's trace where there is none."""
    return read_trace(path, duplicates=duplicates) if path else (publications("both"), [])


def split_trace(
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


def compare_with_poisson(trace: Trace, number: int, seed: int) -> pd.DataFrame:
    """Compare the trace with surrogates by the statistics that it has, if items are enough."""
    if trace.counts(trace.begin, trace.end).max() < ENOUGH:
        return pd.DataFrame({"statistic": [f"no source has {ENOUGH} items: nothing to test"]})
    table = compare_with_surrogates(trace, number, np.random.default_rng([seed, 1]))
    return table.dropna().round(3)


def ratio_with_interval(
    numerator: Floats, denominator: Floats, weights: Floats | None
) -> tuple[float, float, float]:
    """Ratio of two totals, with its block-bootstrap interval where the weeks bear one.

    The ends are nan without weights, where a sample holds nothing to divide by, and where all
    samples are alike.
    """
    if weights is not None and (weights @ denominator > 0).all():
        ratio, low, high = ratio_interval(numerator, denominator, weights)
        if high - low > 1e-12 * ratio:
            return ratio, low, high
    return float(numerator.sum() / denominator.sum()), np.nan, np.nan


def reserve_visits(sources: Sources, budget: float, share: float) -> Floats:
    """Return frequencies of visits, a share of them for sources that the best leave out.

    Where the relaxed problem of the whole budget leaves no source out, nothing is kept.
    """
    best = relaxed_problem(sources, budget).frequency
    if share == 0 or (best > 0).all():
        return best
    frequency = relaxed_problem(sources, (1 - share) * budget).frequency
    out = frequency == 0
    return np.where(out, min(1.0, share * budget / out.sum()), frequency)


def recommend_schedule(plan: Experiment, days: Sequence[float], share: float = 0.0) -> pd.DataFrame:
    """Recommend a schedule from the whole trace: how often to visit each source, and when first.

    Rates are the present ones: with the memory that training chose, and the gamma prior. A share of
    the visits is for sources that these rates leave out. First visits are spread evenly; hours
    between visits are inf for never.
    """
    memory, _ = choose_memory(plan, [24.0 * d for d in days])
    ones = np.ones(len(plan.trace), dtype=np.int64)
    record = known_from(plan.trace, plan.begin, plan.end, memory, ones)
    counts = plan.trace.counts(plan.begin, plan.end)
    shape, strength = gamma_prior(counts, (plan.end - plan.begin) / HOUR)
    rate = (record.items + shape) / (record.hours + strength)
    frequency = reserve_visits(plan.sources(rate), plan.budget, share)
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


def describe_left_out(never: int, size: int) -> str:
    """Return a sentence on how many of the sources are never visited."""
    if never == 0:
        return f"All {size} sources are visited."
    return f"Never visited at this budget: {never} of {size} sources."


def describe_visits(visits: pd.Series) -> str:
    """Return a sentence on how many visits a day the sources get."""
    least, most = f"{visits.min():.2g}", f"{visits.max():.2g}"
    if least == most:
        return "1 visit a day." if least == "1" else f"{least} visits a day."
    return f"Visits from {least} to {most} a day."


def describe_rise(visited: pd.DataFrame) -> str:
    """Return a sentence on visits that rise with items, empty where they do not."""
    ordered = visited.sort_values("items_per_day", kind="stable")
    visits = ordered["visits_per_day"].to_numpy()
    rise = bool((np.diff(visits) >= -1e-9 * visits[1:]).all() and visits[-1] > visits[0])
    per_item = (ordered["visits_per_day"] / ordered["items_per_day"]).to_numpy()
    slower = bool(len(per_item) > 1 and per_item[-1] < per_item[0])
    sentence = "They rise with items per day" if rise else ""
    return f"{sentence}{', more slowly than in proportion' * slower}. " if rise else ""


# Values and tables


BLOCK = 4
"""Weeks in a row that the bootstrap draws; an interval takes two such blocks."""


def tabulate_repairs(trace: Trace, repairs: Sequence[Repair]) -> pd.DataFrame:
    """Return the rows read and the rows repaired, with the numbers of the rows."""
    rows = [
        ("items", f"{trace.time.size}"),
        ("sources", f"{len(trace)}"),
        ("from", trace.date(trace.begin)),
        ("to", trace.date(trace.end - 1)),
        *[("repaired", str(repair)) for repair in repairs],
    ]
    return pd.DataFrame(rows, columns=["what", "found"]).set_index("what")


def compare_policies(
    plan: Experiment, days: Sequence[float], draws: int, seed: int
) -> pd.DataFrame:
    """Replay the policies; ratios to the index with trained rates, and what was chosen."""
    memory, _ = choose_memory(plan, [24.0 * d for d in days])
    size, seconds = len(plan.trace), plan.period
    trained, shrunk = plan.sources(plan.trained), plan.sources(plan.shrunk)
    lowest = 0.5 * plan.trained[plan.trained > 0].min()
    played: dict[str, Outcome] = {
        "index": plan.by_age(WhittlePolicy(trained)),
        "shrunk": plan.by_age(WhittlePolicy(shrunk)),
        "forgetting": plan.forgetting(memory),
        "fixed": plan.by_age(best_fixed_frequencies(trained, plan.budget)),
        "even": plan.by_age(FrequencyPolicy(lambdacrawl(shrunk, plan.budget).frequency)),
        "nutch": plan.untrained(lambda: NutchAdaptive(size, seconds)),
        "entry": plan.untrained(lambda: EntryFrequency(size, seconds)),
        "robin": plan.by_age(RoundRobinPolicy()),
        "oracle": plan.by_age(WhittlePolicy(plan.sources(plan.tested))),
        "feed": plan.observing(np.maximum(plan.trained, lowest)),
    }
    base = played["index"].weeks
    if not base.sum() > 0:
        raise ValueError(
            "trace must have items in its test period that a visit can find, got none: the index "
            "policy collects nothing there"
        )
    weights = None
    if base.size >= 2 * BLOCK:
        weights = block_weights(base.size, BLOCK, draws, np.random.default_rng([seed, 2]))
    rows = []
    for key, outcome in played.items():
        ratio = ratio_with_interval(outcome.weeks, base, weights)
        if key in ("forgetting", "fixed", "robin", "feed"):
            save_value(f"your-trace-{key}", ratio[0])
        rows.append((key, *ratio, outcome.used, 1 - outcome.stale))
    save_value("your-trace-memory", memory / 24.0)
    save_value("your-trace-weeks", base.size)
    save_value("your-trace-enough-weeks", weights is not None)
    return pd.DataFrame(rows, columns=["policy", "ratio", "low", "high", "used", "fresh"])


def tabulate_comparison(table: pd.DataFrame) -> pd.DataFrame:
    """Lay the comparison out for the page, a dash where there is no interval."""
    names = {
        "ratio": "reward / index", "low": "low", "high": "high",
        "used": "budget spent", "fresh": "time up to date",
    }  # fmt: skip
    columns = table.assign(policy=table["policy"].map(LABELS)).set_index("policy")[list(names)]
    return format_with_dashes(columns.rename(columns=names))


def format_with_dashes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame to be shown: three decimals, and a dash for what is not finite."""
    return frame.map(_format_value)


def _format_value(value: object) -> object:
    if not isinstance(value, float):
        return value
    return f"{value:.3f}" if np.isfinite(value) else NONE


def save_reserved(best: pd.DataFrame, share: float) -> None:
    """Save how many sources the best frequencies leave out, and what share of visits they get."""
    out = int((best["visits_per_day"] == 0).sum())
    save_values("your-trace", {"left-out": out, "kept": share, "keeps": share > 0 and out > 0})


def save_doubled_budget(plan: Experiment, days: Sequence[float]) -> None:
    """Save where the visits of a doubled budget go: to sources visited before, or to new ones.

    A budget of more than half of the sources cannot be doubled: a source has one visit an epoch at
    most.
    """
    can = 2 * plan.budget <= len(plan.trace)
    save_value("your-trace-can-double", can)
    if not can:
        save_values("your-trace-doubled", {"some-new": False, "none-new": False})
        return
    now, doubled = (
        recommend_schedule(replace(plan, budget=budget), days).set_index("source")["visits_per_day"]
        for budget in (plan.budget, 2 * plan.budget)
    )
    gained = doubled - now
    never = now[now == 0].index
    new = int((doubled[never] > 0).sum())
    facts = {
        "some-new": new > 0,
        "none-new": new == 0,
        "new": new,
        "share": float(gained[never].sum() / gained.sum()),
        "fewer": int((gained < -1e-9).sum()),
    }
    save_values("your-trace-doubled", facts)


# Figures


def draw_comparison(table: pd.DataFrame, plan: Experiment) -> None:
    """Draw the comparison."""
    position = np.arange(len(table))[::-1]
    errors = np.array([table["ratio"] - table["low"], table["high"] - table["ratio"]])
    bars = np.maximum(np.nan_to_num(errors), 0)  # none where there is no interval
    values_text = ", ".join(
        f"{LABELS[key]} {ratio:.2f}"
        for key, ratio in zip(table["policy"], table["ratio"], strict=True)
    )
    most = table["policy"].iloc[int(table["ratio"].to_numpy().argmax())]
    ends = "block-bootstrap 95% intervals" if table["low"].notna().any() else "no intervals"

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(table["ratio"], position, xerr=bars, fmt="o", color=COLOURS[0])
        axis.axvline(1, color=ink(), linewidth=0.8)
        axis.set(xlim=(0, None), yticks=position, xlabel="reward / index with trained rates")
        axis.set_yticklabels(fold_names(figure, [LABELS[key] for key in table["policy"]]))
        return table

    save_figure(
        "your-trace-policies",
        draw,
        caption=f"Value collected from {len(plan.trace)} sources in the test period, in units of "
        f"the index policy with trained rates; {ends}. Most is collected by *{LABELS[most]}*.",
        alt=f"Ratios to the index policy with trained rates: {values_text}.",
        height=3.6,
    )


def draw_schedule(table: pd.DataFrame) -> None:
    """Draw visits against items; the data of the figure is the schedule itself."""
    visited = table[table["visits_per_day"] > 0]
    never = len(table) - len(visited)
    save_value("your-trace-never", never)
    save_value("your-trace-some-never", never > 0)
    save_value("your-trace-visited", len(visited))

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(
            visited["items_per_day"], visited["visits_per_day"], "o", color=COLOURS[0], markersize=4
        )
        axis.set(xlabel="items per day", ylabel="visits per day")
        for scale, column in (
            (axis.set_xscale, "items_per_day"),
            (axis.set_yscale, "visits_per_day"),
        ):
            if (
                visited[column].max() > 3 * visited[column].min()
            ):  # else its ticks would run together
                scale("log")
        return table

    save_figure(
        "your-trace-schedule",
        draw,
        caption="The recommended schedule: visits per day against items per day. "
        f"{describe_left_out(never, len(table))} The data of this figure is the schedule, one row "
        "a "
        "source.",
        alt=f"{describe_visits(visited['visits_per_day'])} {describe_rise(visited)}"
        f"{describe_left_out(never, len(table))}",
        height=3.6,
    )
