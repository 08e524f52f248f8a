"""Figures of the page `publications`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.trace.experiment import Experiment, Outcome
from analysis.trace.poisson import WINDOWS, fano_factors, hourly_shares, relative_gaps, surrogate
from analysis.trace.trace import WEEK, Trace
from book.trace.publications import KINDS
from book.trace.shared import LABELS
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    fold_names,
    ink,
    pluralise,
    save_figure,
    save_value,
)


class Measured(NamedTuple):
    """How far a trace is from Poisson, and what surrogates of constant rates would show."""

    fano: list[float]  # median over sources of variance / mean of counts, a number a window
    fano_of_surrogates: Floats  # least and greatest of the surrogates, shape (2, windows)
    survival: list[float]  # share of gaps longer than each value of the grid
    hours: Floats  # share of items in each hour of the day, shape (24,)
    hours_of_surrogates: Floats  # 95% of the surrogates, shape (2, 24)
    drift: Floats  # share of sources by change of rate in standard errors, a number a bin
    drift_of_surrogates: Floats


def _measure(trace: Trace, rng: np.random.Generator, grid: Floats, bins: Floats) -> Measured:
    drawn = [surrogate(trace, rng) for _ in range(20)]
    fanos = [[np.median(fano_factors(d, w)) for d in drawn] for w in WINDOWS.values()]
    gaps = relative_gaps(trace)[0]
    changes = _drift(trace), np.concatenate([_drift(d) for d in drawn])
    drift, of_surrogates = (
        np.histogram(np.clip(c, bins[0], bins[-1]), bins)[0] / max(c.size, 1) for c in changes
    )
    return Measured(
        [float(np.median(fano_factors(trace, window))) for window in WINDOWS.values()],
        np.array([np.min(fanos, axis=1), np.max(fanos, axis=1)]),
        [float((gaps > x).mean()) for x in grid],
        hourly_shares(trace),
        np.quantile([hourly_shares(d) for d in drawn], [0.025, 0.975], axis=0),
        drift,
        of_surrogates,
    )


def draw_poisson(kinds: Mapping[str, Trace], seed: int) -> None:
    """Draw dispersion, gaps, hours of the day and drift, each beside one surrogate or many."""
    grid, bins = np.geomspace(1e-3, 20, 60), np.linspace(-6, 6, 25)
    measured = {
        kind: _measure(trace, np.random.default_rng([seed, 2, row]), grid, bins)
        for row, (kind, trace) in enumerate(kinds.items())
    }
    data = []
    for kind, statistics in measured.items():
        data += [(kind, "fano", w, m) for w, m in zip(WINDOWS, statistics.fano, strict=True)]
        survival = zip(grid, statistics.survival, strict=True)
        data += [(kind, "gaps longer", f"{x:.4g}", y) for x, y in survival]
        data += [(kind, "share of the hour", str(h), s) for h, s in enumerate(statistics.hours)]
        data += [(kind, "drift", f"{b:g}", s) for b, s in zip(bins, statistics.drift, strict=False)]

    def draw(figure: Figure) -> pd.DataFrame:
        fano, gaps, hours, drift = panels = add_panels(figure, 4, 2)
        first, statistics = next(iter(measured.items()))
        null = statistics.drift_of_surrogates
        drift.stairs(100 * null, bins, color=ink(), label=f"{KINDS[first]}, surrogates")
        looks = zip(COLOURS, ("--", "-"), measured.items(), strict=False)
        for colour, style, (kind, statistics) in looks:
            look = {"color": colour, "label": KINDS[kind]}
            band = {"color": colour, "alpha": 0.3, "linewidth": 0}
            fano.plot(list(WINDOWS), statistics.fano, "o-", **look)
            fano.fill_between(range(len(WINDOWS)), *statistics.fano_of_surrogates, **band)
            gaps.plot(grid, statistics.survival, linestyle=style, **look)
            hours.step(np.arange(24), 100 * statistics.hours, where="mid", **look)
            low, high = 100 * statistics.hours_of_surrogates
            hours.fill_between(np.arange(24), low, high, step="mid", **band)
            drift.stairs(100 * statistics.drift, bins, **look)
        fano.axhline(1, color=ink(), linewidth=0.8)
        fano.set(ylim=(0, None), ylabel="variance / mean of counts", xlabel="window")
        gaps.plot(grid, np.exp(-grid), color=ink(), linewidth=0.8, label="exponential")
        gaps.set(xscale="log", xlabel="gap / mean gap", ylabel="share of longer gaps")
        hours.set(xlabel="hour of the day (UTC)", ylabel="share of items (%)", ylim=(0, None))
        drift.set(xlabel="change, in standard errors", ylabel="sources (%)")
        drift.set_ylim(0, 1.5 * drift.get_ylim()[1])
        for axis in panels:
            axis.legend()
        return pd.DataFrame(data, columns=["kind", "quantity", "at", "value"])

    own = "own" in kinds
    save_figure(
        "publications-poisson",
        draw,
        caption="Four ways in which publications can differ from Poisson: counts that vary more or "
        "less than their mean (median over sources; bands: surrogates of constant rate), gaps, "
        "hours of the day, and the change of each source's rate from the first half of the period "
        "to the second, beside that of surrogates."
        if own
        else "Four ways in which publications are not Poisson. Counts vary more than their mean "
        "(median over sources; bands: surrogates of constant rate). Short gaps and very long ones "
        "are both too frequent. Items follow the hours of the day. Rates change from the first "
        "half of the period to the second, by far more than surrogates do.",
        alt="Four panels on your items, each beside surrogates of constant rate: variance over "
        "mean of counts by window, shares of longer gaps, shares of the hours of the day, and "
        "changes of rates from one half to the other."
        if own
        else "Four panels. Variance over mean of counts is above 1 in windows of a day and rises "
        "with the window for uploads and commits, outside the bands of surrogates. The curves of "
        "relative gaps lie below the exponential at short gaps and above it at long ones. Shares "
        "by hour swing between night and day, outside the band. The change from one half to the "
        "other is spread much wider than that of surrogates.",
        height=5.8,
    )


def _drift(trace: Trace) -> Floats:
    middle = (trace.begin + trace.end) // 2
    first, second = trace.counts(trace.begin, middle), trace.counts(middle, trace.end)
    enough = first + second >= 4
    return ((second - first) / np.sqrt(np.maximum(first + second, 1)))[enough]


def draw_periods(experiment: Experiment) -> None:
    """Draw the weeks of which each part of the comparison knows."""
    begin, split, end = (
        (moment - experiment.begin) / WEEK
        for moment in (experiment.begin, experiment.split, experiment.end)
    )
    early = max(split - experiment.warm_up, begin)
    periods = pd.DataFrame(
        {
            "period": ["training: all choices", "visits without reward", "test: value is counted"],
            "first week": [begin, early, split],
            "last week": [split, split, end],
        }
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        height = np.arange(len(periods))[::-1]
        weeks = periods["last week"] - periods["first week"]
        axis.barh(height, weeks, left=periods["first week"], height=0.6, color=list(COLOURS[:3]))
        axis.set_yticks(height, fold_names(figure, periods["period"]))
        axis.set(xlabel="week since training begins")
        axis.grid(axis="y", visible=False)
        return periods

    save_figure(
        "publications-periods",
        draw,
        caption="No policy knows anything of the test: rates and all other choices come from the "
        f"{split:.0f} weeks of training, and value is counted in the {end - split:.0f} weeks that "
        f"follow. Visits begin {split - early:.0f} weeks before, so that no policy starts afresh.",
        alt=f"Three bars on a line of weeks: training from 0 to {split:.0f}, visits without reward "
        f"from {early:.0f} to {split:.0f}, test from {split:.0f} to {end:.0f}.",
        height=2.0,
    )


def draw_ratios(table: pd.DataFrame) -> None:
    """Draw the ratios with their intervals, one panel a budget."""
    sizes = list(dict.fromkeys(table["size"]))
    keys = [key for key in LABELS if key != "index"][::-1]
    best = table[~table["policy"].isin(["feed", "relaxed", "clairvoyant", "oracle"])]
    values_text = "; ".join(
        f"at {pluralise(rows['budget'].iloc[0], 'visit')} an hour "
        + ", ".join(
            f"{LABELS[key]} {ratio:.2f}"
            for key, ratio in zip(rows["policy"], rows["ratio"], strict=True)
        )
        for _, rows in best.groupby("size", sort=False)
    )

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(sizes), sharey=True)
        for axis, size in zip(axes, sizes, strict=True):
            rows_of_size = table[table["size"] == size].set_index("policy")
            position = np.arange(len(keys))
            ratio, low, high = (
                rows_of_size.loc[keys, c].to_numpy() for c in ("ratio", "low", "high")
            )
            axis.errorbar(
                ratio, position, xerr=[ratio - low, high - ratio], fmt="o", color=COLOURS[0]
            )
            axis.axvline(1, color=ink(), linewidth=0.8)
            bound = rows_of_size.loc["clairvoyant", "ratio"]
            axis.axvline(bound, color=COLOURS[1], linestyle="--", label="clairvoyant bound")
            axis.set(xlim=(0, None), xlabel="reward / index", yticks=position)
            axis.set_yticklabels(fold_names(figure, [LABELS[key] for key in keys]))
            axis.set_title(f"{rows_of_size['budget'].iloc[0]} an hour")
        add_legend(figure)
        return table

    save_figure(
        "publications-policies",
        draw,
        instances="publications-weeks",
        caption="Value collected in the test period in units of the index policy with trained "
        "rates (the line at 1), at three budgets, with 95% intervals. The index that sees contents "
        "collects "
        + ", ".join(f"{r:.2f}" for r in table.loc[table["policy"] == "feed", "ratio"])
        + " times as much.",
        alt=f"Ratios to the index policy with trained rates: {values_text}.",
        height=4.4,
    )


def describe_differences(table: pd.DataFrame, keys: Sequence[str]) -> str:
    """Return a text on the budgets where the best of some policies by value and penalty differ."""
    budgets = []
    for budget, rows in table[table["policy"].isin(keys)].groupby("budget", sort=False):
        if rows["value"].idxmax() != rows["penalty"].idxmin():
            budgets.append(str(budget))
    if not budgets:
        return ""
    where = " and ".join(budgets)
    return f"At budgets of {where} the best by one is not the best by the other, oracle apart."


def draw_objectives(
    outcomes: Mapping[str, Mapping[str, Outcome]], every: Mapping[str, Experiment]
) -> pd.DataFrame:
    """Measure each policy by value and by freshness, and draw one against the other."""
    rows = []
    for size, played in outcomes.items():
        base = played["index"].weeks.sum()
        for key, outcome in played.items():
            fresh, ratio = 1 - outcome.stale, outcome.weeks.sum() / base
            rows.append((size, every[size].budget, key, ratio, fresh, outcome.harmonic))
    columns = ["size", "budget", "policy", "value", "fresh", "penalty"]
    table = pd.DataFrame(rows, columns=columns)
    by_policy = table.set_index(["policy", "size"])
    for key, size in product(("index", "even"), ("middle", "large")):
        save_value(f"publications-fresh-{key}-{size}", by_policy["fresh"][key, size])
    save_value("publications-fresh-forgetting-large", by_policy["fresh"]["forgetting", "large"])
    for key in ("index", "even", "robin"):
        save_value(f"publications-harmonic-{key}-middle", by_policy["penalty"][key, "middle"])
    markers = {
        "index": "o",
        "fixed": "s",
        "even": "^",
        "lambdacrawl": "v",
        "robin": "D",
        "oracle": "*",
    }

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(outcomes))
        for axis, size in zip(axes, outcomes, strict=True):
            rows_of_size = table[table["size"] == size]
            for (key, marker), colour in zip(markers.items(), COLOURS, strict=False):
                row = rows_of_size[rows_of_size["policy"] == key].iloc[0]
                axis.plot(row["penalty"], row["value"], marker, color=colour, label=LABELS[key])
            axis.set(
                xlabel="average of $H(n)$",
                xscale="log",
                ylim=(0, 1.2 * rows_of_size["value"].iloc[0]),
            )
            penalties = table["penalty"][table["policy"].isin(markers)]
            axis.set_xlim(
                min(0.004, 0.8 * penalties[penalties > 0].min()), max(2.0, 1.2 * penalties.max())
            )
            axis.xaxis.set_minor_formatter("")
            axis.set_title(f"{every[size].budget} an hour")
        figure.supylabel("value / index")
        add_legend(figure)
        return table

    save_figure(
        "publications-objectives",
        draw,
        caption="Two objectives. Value collected (up is better) against LambdaCrawl's penalty, the "
        "average harmonic number of items not found yet (left is better). "
        f"{describe_differences(table, [key for key in markers if key != 'oracle'])}",
        alt="Three panels of value against harmonic penalty. "
        + "; ".join(
            f"at {every[s].budget} an hour the index has value 1 at penalty "
            f"{played['index'].harmonic:.2f}, LambdaCrawl's rates "
            f"{played['even'].weeks.sum() / played['index'].weeks.sum():.2f} at "
            f"{played['even'].harmonic:.2f}"
            for s, played in outcomes.items()
        )
        + ".",
        height=3.8,
    )
    return table
