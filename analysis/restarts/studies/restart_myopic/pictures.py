"""Figures of the page `restart-myopic`."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.published import printed_number
from analysis.report import COLOURS, counted, figure, save_figure, span
from analysis.restarts.studies.experiment import printed_ticks
from analysis.restarts.studies.restart_myopic.experiment import BIN

MARKS = "os^D"


def draw_histogram(large: pd.DataFrame, paths: int) -> tuple[Floats, Floats]:
    """Draw the histograms of the saving on the slide's ticks; return the ticks of both axes."""
    names = large.kernel.unique()
    ticks, counts = printed_ticks("C-e34-xaxis"), printed_ticks("C-e34-yaxis")
    bins = np.arange(ticks[0] - 2 * BIN, ticks[-1] + 1.5 * BIN, BIN)
    rows = -(-len(names) // 3)
    fig, axes = figure(rows, 3, height=1 + 1.45 * rows, sharex=True, sharey=True, squeeze=False)
    for axis, name in zip(axes.flat, names, strict=False):
        eps = large[large.kernel == name].eps.to_numpy()
        weights = np.full(eps.size, 100 / eps.size)
        look = {"color": COLOURS[0], "edgecolor": "white", "linewidth": 0.5}
        axis.hist(eps, bins=bins, weights=weights, **look)
        beyond = int(((eps < bins[0]) | (eps > bins[-1])).sum())
        said = f"{name}, {eps.size} systems" + (f" ({beyond} beyond)" if beyond else "")
        axis.set_title(said, fontsize="small")
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis in axes.flat[max(0, len(names) - 3) : len(names)]:  # the last of each column
        axis.tick_params(labelbottom=True)
    first = axes[0, 0]
    first.set(xlim=(bins[0], bins[-1]), xticks=ticks, ylim=(0, 104), yticks=counts)
    fig.supxlabel(rf"$\varepsilon_{{\rm myp}}$ (%), bins of {BIN:g}", fontsize="medium")
    fig.supylabel("systems in a hundred", fontsize="medium")
    medians = large.groupby("kernel").eps.median()
    half = float((large.high - large.low).mean() / 2)
    middles = span(medians.min(), medians.max(), ".2f")
    save_figure(
        "restart-myopic-histogram",
        fig,
        large,
        caption="Redraws the histogram of slide 20 on its ticks, for every generator: saving of "
        f"the index policy over the myopic one, $n = {large.arms.iloc[0]}$, "
        f"$m = {large.budget.iloc[0]}$, {paths} paths with a control variate (half-width "
        f"{half:.2f} on average). Medians in %: {middles}.",
        alt=f"{counted(len(names), 'histogram')} of the saving in %, with medians of {middles}.",
        instances="restart-myopic-systems",
    )
    return first.get_xticks(), first.get_yticks()


def draw_bands(cells: pd.DataFrame, paths: int) -> None:
    """Draw where the saving of each generator lies, for every size and budget."""
    names, sizes = list(cells.kernel.unique()), list(cells.arms.unique())
    budgets = list(cells.budget.unique())
    extent = cells.groupby(["kernel", "arms", "budget"], sort=False).eps.agg(
        ["min", "median", "max", "size"]
    )
    shades = {size: COLOURS[j % len(COLOURS)] for j, size in enumerate(sizes)}
    pairs = list(product(sizes, budgets))
    fig, axis = figure(height=4.6)
    for (i, name), (j, (size, budget)) in product(enumerate(names), enumerate(pairs)):
        low, middle, high = extent.loc[(name, size, budget), ["min", "median", "max"]]
        y = len(names) - i + 0.36 - 0.72 * j / max(1, len(pairs) - 1)
        mark = MARKS[budgets.index(budget) % len(MARKS)]
        axis.plot([low, high], [y, y], color=shades[size], linewidth=1)
        axis.plot(middle, y, mark, color=shades[size], markersize=3)
    printed = (printed_number("C-e34-lo"), printed_number("C-e34-hi"))
    axis.axvspan(*printed, color="grey", alpha=0.15)
    for size in sizes:
        axis.plot([], [], color=shades[size], label=f"$n = {size}$")
    for mark, budget in zip(MARKS, budgets, strict=False):
        axis.plot([], [], mark, color="grey", label=f"$m = {budget}$")
    axis.set(yticks=range(len(names), 0, -1), xlabel=r"$\varepsilon_{\rm myp}$ (%)")
    axis.set_yticklabels(names)
    fig.legend(loc="outside upper center", ncols=6, columnspacing=1)
    top = extent.reset_index().sort_values("max").iloc[-1]
    save_figure(
        "restart-myopic-bands",
        fig,
        cells,
        caption=f"Least, median and greatest saving in every cell, {top['size']} systems of "
        f"{paths} paths each; the printed range is shaded. The greatest, {top['max']:.1f}%, is a "
        f"{top.kernel} system with $n = {top.arms}$, $m = {top.budget}$.",
        alt="For each generator a group of horizontal bars, one for each pair of n and m; the "
        f"longest reach is {top['max']:.1f} percent, of {top.kernel} kernels.",
        instances="restart-myopic-cells",
    )
