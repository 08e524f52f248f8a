"""Numbers and tables of the page on deployed rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.report import counted, save_data, save_table, save_value, save_values, within
from analysis.report.saving.records import saved_numbers
from analysis.trace.bootstrap import ratio_interval
from analysis.trace.experiment import Experiment
from analysis.trace.studies.arena.experiment import RULES, SPREAD, WITH_RATES, Service
from analysis.trace.trace import HOUR, WEEK, publications

SIZES = ("small", "middle", "large")
LABELS = (
    {
        f"{rule}-{kind}": f"{label}, {said}"
        for rule, label in RULES.items()
        for kind, said in (("default", "defaults"), ("chosen", "chosen settings"))
    }
    | {"nutch-forced": "Nutch, longest interval of a round"}
    | WITH_RATES
)
TIE = 0.02
"""Relative difference up to which two rewards are said to tie."""


def experiments(
    training: int, test: int, half_life: float, budgets: list[int], phases: int
) -> dict[str, Experiment]:
    """Set up the comparison at the three budgets, by size."""
    trace = publications()
    split = trace.begin + training * WEEK
    base = partial(Experiment, trace, trace.begin, split, split + test * WEEK, half_life)
    return {size: base(budget, phases=phases) for size, budget in zip(SIZES, budgets, strict=True)}


def compare(
    played: Mapping[str, Mapping[str, Service]],
    every: Mapping[str, Experiment],
    weights: Floats,
) -> pd.DataFrame:
    """Save what each policy did at each budget; return one row a budget and policy.

    Values are in units of the index with trained rates, with their block-bootstrap 95% intervals.
    """
    rows = []
    for size, services in played.items():
        base, budget = services["index"].outcome.weeks, every[size].budget
        for name, service in services.items():
            outcome = service.outcome
            ratio, low, high = ratio_interval(outcome.weeks, base, weights)
            if name != "index":
                interval = (low, high)
                id = f"arena-{name}-{size}"
                save_value(id, ratio, interval=interval, replications=len(weights))
            facts = (1 - outcome.stale, outcome.used * budget, service.unchanged)
            late = (service.late_half, service.late_most)
            save_value(f"arena-{name}-fresh-{size}", facts[0])
            save_value(f"arena-{name}-used-{size}", outcome.used)
            promised = 1 / (1 + every[size].timetable.margin) if name == "table" else np.nan
            rows.append((size, budget, name, ratio, low, high, *facts, *late, promised))
        bound = float(every[size].clairvoyant().mean()) / (base.sum() / (base.size * WEEK / HOUR))
        save_value(f"arena-clairvoyant-{size}", bound)
        save_value(f"arena-budget-{size}", budget)
        rows.append((size, budget, "clairvoyant", bound, *[np.nan] * 8))
        save_value(f"arena-guarantee-{size}", 1 / (1 + every[size].timetable.margin))
    columns = ["size", "visits_an_hour", "policy", "value", "low", "high", "fresh", "visits"]
    table = pd.DataFrame(
        rows, columns=[*columns, "unchanged", "late_half", "late_most", "guarantee"]
    )
    save_data(
        "arena-rules",
        table,
        "One row a budget and policy: what it did in the test period, over the starting phases.",
        {
            "size": "small, middle or large budget",
            "visits_an_hour": "visits that the budget allows",
            "policy": "; ".join(f"{key}: {label}" for key, label in LABELS.items())
            + "; clairvoyant: a bound on every policy",
            "value": "value found, in units of the index with trained rates",
            "low": "lower end of its block-bootstrap 95% interval",
            "high": "upper end",
            "fresh": "share of the time in which a source has no item that was not found yet",
            "visits": "visits made an hour",
            "unchanged": "share of visits that find nothing new",
            "late_half": "hours from publication to visit, median over items",
            "late_most": "the same, 90% quantile; inf where fewer items are found",
            "guarantee": "share of what any policy earns in the long run that this one does, if "
            "arrivals are Poisson at the trained rates; empty where nothing is proved",
        },
    )
    return table


def rules_table(table: pd.DataFrame, size: str) -> pd.DataFrame:
    """Format one budget for the page."""
    part = table[(table["size"] == size) & (table["policy"] != "clairvoyant")]
    part = part.sort_values("value", ascending=False)
    columns: dict[str, list[str]] = {
        "value": [within(*row) for row in part[["value", "low", "high"]].to_numpy().tolist()],
        "time up to date": [f"{share:.1%}" for share in part["fresh"]],
        "visits an hour": [f"{visits:.2f}" for visits in part["visits"]],
        "not modified": [f"{share:.0%}" for share in part["unchanged"]],
        "late by, median (h)": [_hours(hours) for hours in part["late_half"]],
        "late by, 90% (h)": [_hours(hours) for hours in part["late_most"]],
        "guarantee": [f"{share:.2%}" if share == share else "none" for share in part["guarantee"]],
    }
    return pd.DataFrame(columns, index=pd.Index([LABELS[n] for n in part["policy"]], name="policy"))


def save_tables(table: pd.DataFrame, every: Mapping[str, Experiment]) -> None:
    """Save one table a budget."""
    for size, one in every.items():
        save_table(
            f"arena-{size}",
            rules_table(table, size),
            f"Policies at {counted(one.budget, 'visit')} an hour, by value in units of the index "
            "with trained rates (block-bootstrap 95% interval). Late: from publication to visit.",
            instances="arena-rules",
        )


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if np.isfinite(hours) else "never"


def save_predicates() -> None:
    """Save the truth values and numbers that the page's sentences depend on."""
    save_value("arena-spread", SPREAD)
    v = saved_numbers("arena-")
    for size in SIZES:
        best = {rule: max(v[f"{rule}-{kind}-{size}"] for kind in ("default", "chosen"))
                for rule in RULES}  # fmt: skip
        save_value(f"arena-best-{size}", max(best.values()))
        save_value(f"arena-best-default-{size}", max(v[f"{r}-default-{size}"] for r in RULES))
    tuned = saved_numbers("arena-best-")
    other = max(v["even-large"], v["shrunk-large"])
    hours = np.array([v[f"hours-{size}"] for size in SIZES])
    forced = [v[f"nutch-forced-{s}"] < 0.5 * v[f"robin-{s}"] for s in SIZES]
    mended = [v[f"mended-chosen-{s}"] > v[f"nutch-chosen-{s}"] + TIE for s in SIZES]
    facts = {
        "index-first": all(tuned[size] < 1.0 for size in SIZES),
        "settings-matter": tuned["small"] > 1.5 * tuned["default-small"],
        "even-wins-large": v["even-large"] > 1.0,
        "forgetting-leads-large": v["forgetting-large"] > other,
        "hours-little": bool(np.abs(hours - 1).max() < TIE),
        "forced-is-no-robin": all(forced),
        "mending-helps": all(mended),
    }
    save_values("arena", facts)
