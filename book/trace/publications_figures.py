"""Figures of the page `publications`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.trace.experiment import Experiment, Outcome
from analysis.trace.poisson import WINDOWS, fano_factors, hourly_shares, relative_gaps, surrogate
from analysis.trace.trace import Trace, publications
from book.trace.publications import KINDS, LABELS
from scorecard import COLOURS, figure, pluralise, save_figure, save_value


def draw_poisson(seed: int) -> None:
    """Draw dispersion, gaps, hours of the day and drift, each beside one surrogate or many."""
    fig, axes = figure(2, 2, height=5.8)
    data = []
    for row, (kind, label) in enumerate(KINDS.items()):
        rng = np.random.default_rng([seed, 2, row])
        trace, colour = publications(kind), COLOURS[row]
        drawn = [surrogate(trace, rng) for _ in range(20)]
        fanos = {name: fano_factors(trace, window) for name, window in WINDOWS.items()}
        middle = [float(np.median(f)) for f in fanos.values()]
        band = [[np.median(fano_factors(d, w)) for d in drawn] for w in WINDOWS.values()]
        grid = np.geomspace(1e-3, 20, 60)
        gaps = relative_gaps(trace)[0]
        survival = [float((gaps > x).mean()) for x in grid]
        shares = hourly_shares(trace)
        low, high = np.quantile([hourly_shares(d) for d in drawn], [0.025, 0.975], axis=0)
        axes[0, 0].plot(list(WINDOWS), middle, "o-", color=colour, label=label)
        axes[0, 0].fill_between(
            range(3), np.min(band, axis=1), np.max(band, axis=1), color=colour, alpha=0.3
        )
        axes[0, 1].plot(grid, survival, color=colour, label=label, linestyle="-" if row else "--")
        axes[1, 0].step(np.arange(24), 100 * shares, where="mid", color=colour, label=label)
        axes[1, 0].fill_between(
            np.arange(24), 100 * low, 100 * high, step="mid", color=colour, alpha=0.3
        )
        drift, flat = _drift(trace), np.concatenate([_drift(d) for d in drawn])
        bins = np.linspace(-6, 6, 25)
        histogram = np.histogram(np.clip(drift, -6, 6), bins)[0] / drift.size
        if row == 0:
            null = np.histogram(np.clip(flat, -6, 6), bins)[0] / flat.size
            axes[1, 1].stairs(100 * null, bins, color="black", label="uploads, surrogates")
        axes[1, 1].stairs(100 * histogram, bins, color=colour, label=label)
        data += [(kind, "fano", w, m) for w, m in zip(WINDOWS, middle, strict=True)]
        data += [(kind, "gaps longer", f"{x:.4g}", y) for x, y in zip(grid, survival, strict=True)]
        data += [(kind, "share of the hour", str(h), s) for h, s in enumerate(shares)]
        data += [(kind, "drift", f"{b:g}", s) for b, s in zip(bins, histogram, strict=False)]
    axes[0, 0].axhline(1, color="black", linewidth=0.8)
    axes[0, 0].set(ylim=(0, None), ylabel="variance / mean of counts", xlabel="window")
    axes[0, 1].plot(grid, np.exp(-grid), color="black", linewidth=0.8, label="exponential")
    axes[0, 1].set(xscale="log", xlabel="gap / mean gap", ylabel="share of longer gaps")
    axes[1, 0].set(xlabel="hour of the day (UTC)", ylabel="share of items (%)", ylim=(0, None))
    axes[1, 1].set(xlabel="change, in standard errors", ylabel="sources (%)")
    axes[1, 1].set_ylim(0, 1.5 * axes[1, 1].get_ylim()[1])
    for axis in axes.ravel():
        axis.legend(fontsize="small")
    save_figure(
        "publications-poisson",
        fig,
        pd.DataFrame(data, columns=["kind", "quantity", "at", "value"]),
        caption="Four ways in which publications are not Poisson. Counts vary more than their mean "
        "(median over sources; bands: surrogates of constant rate). Short gaps and very long ones "
        "are both too frequent. Items follow the hours of the day. Rates change from the first "
        "half of the period to the second, by far more than surrogates do.",
        alt="Four panels. Variance over mean of counts is above 1 in windows of a day and rises "
        "with the window for uploads and commits, outside the bands of surrogates. The curves of "
        "relative gaps lie below the exponential at short gaps and above it at long ones. Shares "
        "by hour swing between night and day, outside the band. The change from one half to the "
        "other is spread much wider than that of surrogates.",
    )


def _drift(trace: Trace) -> Floats:
    middle = (trace.begin + trace.end) // 2
    first, second = trace.counts(trace.begin, middle), trace.counts(middle, trace.end)
    enough = first + second >= 4
    return ((second - first) / np.sqrt(np.maximum(first + second, 1)))[enough]


def draw_ratios(table: pd.DataFrame) -> None:
    """Draw the ratios with their intervals, one panel a budget."""
    sizes = list(dict.fromkeys(table["size"]))
    fig, axes = figure(1, len(sizes), height=4.4, sharey=True, squeeze=False)
    keys = [key for key in LABELS if key != "index"][::-1]
    for axis, size in zip(axes[0], sizes, strict=True):
        rows_of_size = table[table["size"] == size].set_index("policy")
        position = np.arange(len(keys))
        ratio, low, high = (rows_of_size.loc[keys, c].to_numpy() for c in ("ratio", "low", "high"))
        axis.errorbar(ratio, position, xerr=[ratio - low, high - ratio], fmt="o", color=COLOURS[0])
        axis.axvline(1, color="black", linewidth=0.8)
        bound = rows_of_size.loc["clairvoyant", "ratio"]
        axis.axvline(bound, color=COLOURS[1], linestyle="--", label="clairvoyant bound")
        axis.set(xlim=(0, None), xlabel="reward / index", yticks=position)
        axis.set_yticklabels([LABELS[key] for key in keys])
        axis.set_title(f"{rows_of_size['budget'].iloc[0]} an hour", fontsize="medium")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower right", fontsize="small")
    best = table[~table["policy"].isin(["feed", "relaxed", "clairvoyant", "oracle"])]
    values_text = "; ".join(
        f"at {pluralise(rows['budget'].iloc[0], 'visit')} an hour "
        + ", ".join(
            f"{LABELS[key]} {ratio:.2f}"
            for key, ratio in zip(rows["policy"], rows["ratio"], strict=True)
        )
        for _, rows in best.groupby("size", sort=False)
    )
    save_figure(
        "publications-policies",
        fig,
        table,
        instances="publications-weeks",
        caption="Value collected in the test period in units of the index policy with trained "
        "rates (the line at 1), at three budgets, with block-bootstrap 95% intervals; averaged "
        "over starting phases. Best fixed frequencies earn "
        + ", ".join(f"{r:.3f}" for r in table.loc[table["policy"] == "fixed", "ratio"])
        + ", the index that sees contents "
        + ", ".join(f"{r:.2f}" for r in table.loc[table["policy"] == "feed", "ratio"])
        + " times as much.",
        alt=f"Ratios to the index policy with trained rates: {values_text}.",
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
            save_value(f"publications-fresh-{key}-{size}", fresh)
            save_value(f"publications-harmonic-{key}-{size}", outcome.harmonic)
    columns = ["size", "budget", "policy", "value", "fresh", "penalty"]
    table = pd.DataFrame(rows, columns=columns)
    fig, axes = figure(1, len(outcomes), height=3.8, squeeze=False)
    markers = {
        "index": "o",
        "fixed": "s",
        "even": "^",
        "lambdacrawl": "v",
        "robin": "D",
        "oracle": "*",
    }
    for axis, size in zip(axes[0], outcomes, strict=True):
        rows_of_size = table[table["size"] == size]
        for (key, marker), colour in zip(markers.items(), COLOURS, strict=False):
            row = rows_of_size[rows_of_size["policy"] == key].iloc[0]
            axis.plot(row["penalty"], row["value"], marker, color=colour, label=LABELS[key])
        axis.set(
            xlabel="average of $H(n)$", xscale="log", ylim=(0, 1.2 * rows_of_size["value"].iloc[0])
        )
        axis.set_xlim(0.004, 2.0)
        axis.xaxis.set_minor_formatter("")
        axis.set_title(f"{every[size].budget} an hour", fontsize="medium")
    axes[0, 0].set_ylabel("value / index")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small")
    save_figure(
        "publications-objectives",
        fig,
        table,
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
    )
    return table
