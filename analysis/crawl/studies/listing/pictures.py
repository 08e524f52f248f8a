"""Figures of the page on learning from listings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.crawl.studies.listing.experiment import LEARNERS, shares
from analysis.report import COLOURS, figure, save_figure
from analysis.results import student_band

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
BLOCKS = 16


def draw_learning(runs: Mapping[str, Floats]) -> None:
    """Draw the share of the index with known rates that each learner earns, over time."""
    epochs = runs["index"].shape[1]
    edges = np.linspace(0, epochs, min(BLOCKS, epochs) + 1).astype(int)
    middle = 0.5 * (edges[1:] + edges[:-1])
    names = [name for name in LEARNERS if name != "index"]
    fig, axis = figure(height=3.8)
    parts = []
    for name, colour, style in zip(names, COLOURS, STYLES, strict=False):
        pairs = itertools.pairwise(edges)
        mean, low, high = student_band(np.array([shares(runs, name, *p) for p in pairs]).T)
        axis.plot(middle, mean, color=colour, linestyle=style, label=LEARNERS[name])
        axis.fill_between(middle, low, high, color=colour, alpha=0.15, linewidth=0)
        columns = {"learner": name, "day": middle, "share": mean, "low": low, "high": high}
        parts.append(pd.DataFrame(columns))
    axis.axhline(1.0, color="black", linewidth=1)
    axis.set(xlabel="day of the crawl", ylabel="share of the index with known rates")
    axis.set(xlim=(0, epochs), ylim=(0, None))
    fig.legend(loc="outside lower center", ncols=2, fontsize="small")
    frame = pd.concat(parts)
    ends = frame.groupby("learner", sort=False)["share"].agg(["first", "last"])
    values_text = "; ".join(
        f"{LEARNERS[str(name)]} {row['first']:.2f} and {row['last']:.2f}"
        for name, row in ends.iterrows()
    )
    early, late = ends.loc["listing"].to_numpy()
    save_figure(
        "listing-learning",
        fig,
        frame,
        "What learners earn on drawn feeds, in units of the index with known rates: mean over "
        f"{len(runs['index'])} draws, with 95% intervals. With rates "
        f"from listings the index earns {early:.2f} in the first block and "
        f"{late:.2f} in the last.",
        f"Curves over the days of the crawl; in the first and the last block: {values_text}.",
        instances="listing-runs",
    )


def draw_estimates(table: pd.DataFrame) -> None:
    """Draw the mean of the estimate by the length of the listing, with the border and without."""
    fig, axis = figure(height=3.2)
    for column, low, high, label, marker in (
        ("without", "low", "high", "border left out", "o"),
        ("counted", "counted_low", "counted_high", "border counted", "s"),
    ):
        error = np.array([table[column] - table[low], table[high] - table[column]])
        axis.errorbar(table["n"], table[column], yerr=error, fmt=marker, capsize=3, label=label)
    axis.axhline(1.0, color="black", linewidth=1)
    axis.set(xlabel="items of a listing", ylabel="mean estimate / rate", xscale="log")
    axis.set_xticks(table["n"], [str(n) for n in table["n"]])
    axis.minorticks_off()
    fig.legend(loc="outside lower center", ncols=2, fontsize="small")
    last = table.iloc[0]
    save_figure(
        "listing-bias",
        fig,
        table,
        "Mean of the estimated rate over the rate, from one listing with a memory, by the items "
        f"that it prints; 95% intervals. For listings of {last['n']:.0f} items it is "
        f"{last['without']:.2f} without the border item and {last['counted']:.2f} with it.",
        f"Without the border item all means are near 1. With it, a listing of {last['n']:.0f} "
        f"items gives {last['counted']:.2f}, and longer ones come down to 1.",
    )
