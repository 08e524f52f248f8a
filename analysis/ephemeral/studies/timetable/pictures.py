"""Pictures of timetables: the line of blocks and the epochs that they become, and losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from analysis.ephemeral.timetables.packing import reverse
from analysis.ephemeral.timetables.table import Timetable
from analysis.report import COLOURS, figure, save_figure
from analysis.report.text import as_mathtext, counted

_SHOWN = 16  # epochs


def blocks(table: Timetable) -> pd.DataFrame:
    """Return the block on the line [0, M) of each entry of a timetable of powers of two."""
    digits = int(np.log2(table.gap.max(initial=1)))
    start = table.channel + reverse(table.phase, digits) / 2.0**digits
    names = table.sources.names or ()
    columns = {"start": start, "length": 1.0 / table.gap, "gap": table.gap, "phase": table.phase}
    frame = pd.DataFrame({"source": [names[i] for i in table.source], **columns})
    return frame.sort_values("start", kind="stable", ignore_index=True)


def save_blocks(table: Timetable) -> None:
    """Draw the line of blocks, and the epochs at which each source is crawled."""
    shown = blocks(table).head(40)
    crawled = list(dict.fromkeys(shown["source"]))
    fig, (line, epochs) = figure(2, 1, height=4.6)
    hatches = ("", "//", "..", "xx")
    rows = zip(*(shown[c].tolist() for c in ("source", "start", "length", "gap", "phase")),
               strict=True)  # fmt: skip
    for name, start, length, gap, phase in rows:
        number = crawled.index(name)
        look: dict[str, Any] = {
            "facecolor": COLOURS[number % len(COLOURS)],
            "hatch": hatches[number // len(COLOURS) % len(hatches)],
            "edgecolor": "white",
        }
        line.add_patch(Rectangle((start, 0), length, 1, **look))
        if length > 0.06 * table.budget:
            middle = start + length / 2
            # On paper of their own, names can be read on every colour, on light and dark pages.
            paper = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}
            line.text(middle, 0.5, as_mathtext(name), ha="center", va="center", bbox=paper)
        for epoch in range(phase, _SHOWN, gap):
            epochs.add_patch(Rectangle((epoch - 0.5, number - 0.4), 1, 0.8, **look))
    line.set(xlim=(0, table.budget), ylim=(0, 1), yticks=[], xlabel="budget (crawls per epoch)")
    epochs.set(xlim=(-0.5, _SHOWN - 0.5), ylim=(len(crawled) - 0.5, -0.5), xlabel="epoch",
               ylabel="source")  # fmt: skip
    epochs.set_yticks(range(len(crawled)), list(map(as_mathtext, crawled)))
    used = float((1 / table.gap).sum())
    save_figure(
        "timetable-blocks",
        fig,
        shown,
        caption=f"A timetable of powers of two. The budget of {table.budget} as a line, cut into "
        "blocks of lengths 1/gap (top), "
        "and the epochs that each block becomes (bottom): the two halves of a block are every "
        f"second of its epochs. Crawled: {counted(len(crawled), 'source')}; used: {used:g} of a "
        f"budget of {table.budget}.",
        alt=f"A line from 0 to {table.budget} cut into {counted(len(shown), 'block')}, one "
        f"colour a source, and below it a row of marks for each source over {_SHOWN} epochs: "
        "evenly spaced for all sources with one block.",
    )


def save_by_budget(frame: pd.DataFrame) -> None:
    """Draw proved and measured losses against the budget."""
    fig, axis = figure(height=3.8)
    looks = (
        ("proved", "proved for every set", "-", None),
        ("powers of two", "powers of two, measured", "--", "s"),
        ("timetable", "best grid, measured", "-.", "o"),
    )
    for colour, (column, label, style, marker) in zip(COLOURS, looks, strict=False):
        loss = 100 * frame[column].clip(lower=1e-9)
        axis.loglog(frame.budget, loss, style, marker=marker, color=colour, label=label)
    axis.set(xlabel="budget M (crawls per epoch)", ylabel="loss (% of the bound)")
    axis.legend(loc="lower left")
    last = frame.iloc[-1]
    save_figure(
        "timetable-losses",
        fig,
        frame,
        caption="What a timetable loses at most, proved for every set of sources, and what it "
        f"loses on random sets of ten sources a crawl. At M = {int(last.budget)} the best grid "
        f"loses {last.timetable:.1e} of the bound, where {last.proved:.2%} is proved.",
        alt="Three curves of loss against the budget on logarithmic axes. The proved loss is "
        f"{frame.proved.iloc[0]:.2%} at first and {last.proved:.2%} at last; that of powers of two "
        f"is near {last['powers of two']:.2%}; the best grid falls to {last.timetable:.1e}.",
    )


def save_against_index(frame: pd.DataFrame) -> None:
    """Draw the losses of timetable, index policy and even list by size."""
    groups = frame.groupby(["sources", "budget"], sort=False)
    fig, axis = figure(height=3.8)
    place = np.arange(groups.ngroups)
    for shift, colour, marker, name in zip(
        (-0.2, 0, 0.2), COLOURS, "os^", ("timetable", "index", "even list"), strict=False
    ):
        mean, most, least = (100 * getattr(groups[name], how)() for how in ("mean", "max", "min"))
        bars = np.maximum(0, [mean - least, most - mean])
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": "none",
            "capsize": 2,
        }
        axis.errorbar(place + shift, mean, yerr=bars, label=name, **look)
    sizes = frame[["sources", "budget"]].drop_duplicates().to_numpy().tolist()
    labels = [f"{size}, {budget}" for size, budget in sizes]
    axis.set_xticks(place, labels)
    axis.set(yscale="log", xlabel="sources N, budget M", ylabel="loss (% of the bound)")
    axis.set_ylim(1e-4, 10)
    axis.legend()
    means = groups[["timetable", "index"]].mean()
    better = int((means["index"] < means["timetable"]).sum())
    save_figure(
        "timetable-index",
        fig,
        frame,
        caption="Loss against the relaxed bound on random sets of different sources: mean, and "
        "range over the sets of a size; for the index policy the bound is that "
        f"of the simulated epochs. On average the index policy earns more at {better} of "
        f"{len(means)} sizes.",
        alt=f"Points with bars at {len(means)} sizes on a logarithmic axis. The timetable's mean "
        f"loss goes from {means.timetable.iloc[0]:.2%} to {means.timetable.iloc[-1]:.3%}, the "
        f"index policy's from {means['index'].iloc[0]:.2%} to {means['index'].iloc[-1]:.3%}.",
        instances="timetable-sets",
    )
