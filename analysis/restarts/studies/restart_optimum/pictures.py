"""Figures of the page `restart-optimum`."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.published import printed_number
from analysis.report import COLOURS, figure, save_figure
from analysis.restarts.studies.experiment import printed_ticks
from analysis.restarts.studies.restart_optimum.experiment import BIN, bands_of

TIES = {"worst ties": "x", "best ties": ">"}


def draw_histogram(systems: pd.DataFrame, instances: int) -> tuple[Floats, Floats]:
    """Draw the histograms of the ratio on the slide's axes; return the ticks of both."""
    names, budgets = systems.kernel.unique(), systems.budget.unique()
    ticks, counts = printed_ticks("C-e12-xaxis"), printed_ticks("C-e12-yaxis")
    bins = np.arange(ticks[0], ticks[-1] + BIN / 2, BIN)
    rows = -(-len(names) // 3)
    fig, axes = figure(rows, 3, height=1.2 + 1.45 * rows, sharex=True, sharey=True, squeeze=False)
    filled = {"color": COLOURS[0], "edgecolor": "white", "linewidth": 0.5}
    outlines = [{"histtype": "step", "color": c, "linewidth": 1.4} for c in COLOURS[1:]]
    for axis, name in zip(axes.flat, names, strict=False):
        below = []
        for budget, look in zip(budgets, [filled, *outlines], strict=False):
            ratios = systems[(systems.kernel == name) & (systems.budget == budget)].alpha
            axis.hist(ratios, bins=bins, label=f"$m = {budget}$", **look)
            below.append(str(int((ratios < ticks[0]).sum())))
        axis.set_title(f"{name} ({' and '.join(below)} below)", fontsize="small")
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for axis in axes.flat[max(0, len(names) - 3) : len(names)]:  # the last of each column
        axis.tick_params(labelbottom=True)
    first = axes[0, 0]
    first.set(xlim=(ticks[0] - 0.1, ticks[-1] + 0.1), xticks=ticks)
    first.set(ylim=(0, 1.04 * instances), yticks=counts * instances / counts[-1])
    fig.legend(*first.get_legend_handles_labels(), loc="outside upper center", ncols=len(budgets))
    fig.supxlabel(rf"$\alpha_{{\rm opt}}$ (%), bins of {BIN:g}", fontsize="medium")
    fig.supylabel("systems", fontsize="medium")
    medians = systems.groupby("budget").alpha.median()
    counted = (np.histogram(each.alpha, bins)[0] for _, each in systems.groupby("kernel"))
    at_end = sum(int(heights[-1] == heights.max()) for heights in counted)
    halves = ", ".join(f"{value:.2f} for $m = {budget}$" for budget, value in medians.items())
    columns = ["kernel", "instance", "budget", "optimal", "alpha", "alpha_best", "alpha_worst"]
    save_figure(
        "restart-optimum-histogram",
        fig,
        systems[columns],
        caption="Redraws the histogram of slide 19 on its axes, for every generator: optimum over "
        f"index policy in %, ties to the lower arm, {instances} systems from each generator "
        f"at each budget. The medians are {halves}; titles count the systems below the axis.",
        alt=f"{len(names)} histograms, one a generator, in {at_end} of which the bar at the right "
        f"end is the highest, with the medians over all {halves}; the lowest of all values is "
        f"{systems.alpha.min():.2f}.",
        instances="restart-optimum-systems",
    )
    return first.get_xticks(), first.get_yticks()


def draw_bands(systems: pd.DataFrame, instances: int) -> None:
    """Draw where the ratios of each generator and budget lie."""
    bands = bands_of(systems)
    names, budgets = list(systems.kernel.unique()), list(systems.budget.unique())
    fig, axis = figure(height=4.4)
    for (j, budget), name in product(enumerate(budgets), names):
        band = bands.loc[(budget, name)]
        y = len(names) - names.index(name) - 0.3 * (j - (len(budgets) - 1) / 2)
        colour = {"color": COLOURS[j]}
        axis.plot([band["least"], band["greatest"]], [y, y], linewidth=1.2, **colour)
        axis.plot([band["5%"], band["greatest"]], [y, y], linewidth=4, alpha=0.5, **colour)
        for ties, marker in TIES.items():
            axis.plot(band[ties], y, marker, markersize=5, markerfacecolor="none", **colour)
        label = f"$m = {budget}$" if name == names[0] else None
        axis.plot(band["median"], y, "os"[j % 2], markersize=4, label=label, **colour)
    low = printed_number("C-e12-lo")
    dashed = {"color": "black", "linewidth": 1, "linestyle": "--"}
    axis.axvline(low, label="printed lower end", **dashed)
    for ties, marker in TIES.items():
        axis.plot([], [], marker, color="grey", markerfacecolor="none", label=f"least, {ties}")
    axis.set(yticks=range(len(names), 0, -1), xlabel=r"$\alpha_{\rm opt}$ (%)", xlim=(None, 100.2))
    axis.set_yticklabels(names)
    fig.legend(loc="outside upper center", ncols=len(budgets) + 3, columnspacing=1)
    worst = bands.reset_index().sort_values("least").iloc[0]
    tied_worst, tied_best = systems.alpha_worst.min(), systems.alpha_best.min()
    save_figure(
        "restart-optimum-bands",
        fig,
        bands.reset_index(),
        caption=f"From the least to the greatest ratio of {instances} systems (thin), the upper "
        "95% (thick) and the median (dot or square), by generator and budget, with ties to the "
        f"lower arm; the lowest is {worst.least:.2f}, {worst.kernel} at $m = {worst.budget}$. With "
        "ties broken in the worst way the least ratio moves to the cross, in the best way to the "
        f"triangle: {tied_worst:.2f} and {tied_best:.2f} over all.",
        alt="Horizontal bars by generator for each budget. The lowest median is "
        f"{bands['median'].min():.2f}; the longest bar, of {worst.kernel} kernels, reaches down to "
        f"{bands['least'].min():.2f}. The lowest triangle, for the best ties, is at "
        f"{tied_best:.2f}; crosses, for the worst ties, lie at the left ends or further left.",
        instances="restart-optimum-systems",
    )
