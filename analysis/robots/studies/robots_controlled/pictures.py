"""The pictures of the page on the controlled queue."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

from analysis.report import COLOURS, figure, is_document_run, save_figure
from analysis.robots.studies.robots_controlled import Results, curves_rise, hits


def save_policies(found: Results) -> None:
    """Draw the optimal policies as grids of states, one panel a weight."""
    model = found.models[0]
    shown = list(zip(found.models, found.optima, strict=True))[:4]
    fig, axes = figure(
        len(shown), 1, height=1 + 1.35 * len(shown), sharex=True, sharey=True, squeeze=False
    )
    for axis, (own, optimum) in zip(axes[:, 0], shown, strict=True):
        table = optimum.policy[:, :-1]
        axis.imshow(
            table,
            origin="lower",
            aspect="auto",
            cmap=ListedColormap(["white", COLOURS[0]]),
            vmin=0,
            vmax=1,
            interpolation="nearest",
        )
        axis.set_xticks(np.arange(model.robots + 1) - 0.5, minor=True)
        axis.set_yticks(np.arange(model.capacity + 2) - 0.5, minor=True)
        axis.grid(False)
        axis.grid(which="minor", color="lightgrey", linewidth=0.6)
        axis.tick_params(which="minor", length=0)
        axis.set_title(f"γ = {own.gamma:g}: cost {optimum.gain:.5f}", fontsize="small")
    axes[-1, 0].set_xlabel("robots already active, r")
    fig.supylabel("pages left in the queue, q", fontsize="medium")
    data = pd.DataFrame(
        {"gamma": own.gamma, "q": int(q), "r": int(r), "start": bool(optimum.policy[q, r])}
        for own, optimum in shown
        for q, r in np.ndindex(model.capacity + 1, model.robots)
    )
    lost = " It stands for Figures 6 to 8 of the draft, whose pictures are lost."
    rise = curves_rise(found.optima)
    save_figure(
        "robots-controlled-curves",
        fig,
        data,
        caption=f"Optimal policies for $N = {model.robots}$, $K = {model.capacity}$, $\\lambda = "
        f"{model.arrival_rate:g}$, $\\mu = {model.service_rate:g}$: one more robot is started in "
        f"the filled states. {rise}{lost if is_document_run() else ''}",
        alt=f"{len(shown)} grids of queue length against active robots. The filled states, where a "
        f"robot is started, lie below a falling staircase. {rise}",
    )


def save_references(found: Results, printed: Sequence[int]) -> None:
    """Draw how many updates each reference state takes, with the printed numbers."""
    fig, axes = figure(
        len(found.models), 1, height=0.8 + 1.3 * len(found.models), sharex=True, squeeze=False
    )
    counts = hits(found, printed)
    data = []
    for k, table in enumerate(found.references):
        updates = table.updates[table.updates >= 0]
        values, states = np.unique(updates, return_counts=True)
        axis = axes[k, 0]
        axis.bar(values, states, color=COLOURS[0], width=0.9)
        axis.axvline(printed[k], color=COLOURS[1], linewidth=1.5, linestyle="--")
        said = f"γ = {found.models[k].gamma:g}: {counts[k]} of {updates.size} states give"
        axis.set_title(f"{said} the printed {printed[k]}", fontsize="small")
        data += [(found.models[k].gamma, *pair) for pair in zip(values, states, strict=True)]
    axes[-1, 0].set_xlabel("updates until the iteration stops")
    fig.supylabel("reference states", fontsize="medium")
    save_figure(
        "robots-controlled-references",
        fig,
        pd.DataFrame(data, columns=["gamma", "updates", "reference states"]),
        caption="Where Proposition 4 stops, for every state that can be its reference. Dashed: the "
        "printed count, which few states give.",
        alt=f"Histograms of the number of updates over all reference states. The printed counts "
        f"are reached by {', '.join(map(str, counts))} states.",
    )
