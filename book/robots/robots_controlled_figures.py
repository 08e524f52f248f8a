"""Figures of the page `robots-controlled`."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from book.robots.robots_controlled import (
    Results,
    are_curves,
    count_printed_updates,
    describe_curves,
)
from scorecard import (
    COLOURS,
    add_panels,
    is_document_run,
    join_words,
    paper,
    pluralise,
    save_figure,
)


def draw_policies(results: Results) -> None:
    """Draw the optimal policies as grids of states, one panel a weight."""
    model = results.models[0]
    pairs = list(zip(results.models, results.optima, strict=True))
    document = is_document_run()
    data = pd.DataFrame(
        {"gamma": own.gamma, "q": int(q), "r": int(r), "start": bool(optimum.policy[q, r])}
        for own, optimum in pairs
        for q, r in np.ndindex(model.capacity + 1, model.robots)
    )
    lost = " Redraws Figures 6 to 8 of the draft, whose pictures are lost."
    shape = ", lie below a falling staircase" if are_curves(results.optima) else ", are marked"
    rise = describe_curves(results.optima)

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(pairs), 1, sharex=True, sharey=True)
        for k, (axis, (own, optimum)) in enumerate(zip(axes, pairs, strict=True)):
            table = optimum.policy[:, :-1]
            axis.imshow(
                table,
                origin="lower",
                aspect="auto",
                cmap=ListedColormap([paper(), COLOURS[0]]),
                vmin=0,
                vmax=1,
                interpolation="nearest",
            )
            axis.set_xticks(np.arange(model.robots + 1) - 0.5, minor=True)
            axis.set_yticks(np.arange(model.capacity + 2) - 0.5, minor=True)
            axis.grid(False)
            axis.grid(which="minor", color=mpl.rcParams["grid.color"], linewidth=0.6)
            axis.tick_params(which="minor", length=0)
            name = f"Figure {6 + k}: " if document else ""
            axis.set_title(f"{name}γ = {own.gamma:g}, cost {optimum.gain:.5f}")
        axes[-1].set_xlabel("robots already active, r")
        figure.supylabel("pages left in the queue, q")
        return data

    save_figure(
        "robots-controlled-curves",
        draw,
        caption=f"Optimal policies for $N = {model.robots}$, $K = "
        f"{model.capacity}$, $\\lambda = {model.arrival_rate:g}$, $\\mu = {model.service_rate:g}$: "
        f"one more robot is started in the filled states. {rise}{lost if document else ''}",
        alt=f"{len(pairs)} grids of queue length against active robots. The filled states, where a "
        f"robot is started{shape}. {rise}",
        height=1 + 1.35 * len(pairs),
    )


def draw_references(results: Results, printed: Sequence[int]) -> None:
    """Draw how many updates each reference state takes, with the printed numbers."""
    counts = count_printed_updates(results, printed)
    document = is_document_run()
    the = "the printed" if document else "the count from (1,1,1),"
    dashed = "the printed count" if document else "the count from the state (1,1,1)"

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, len(results.models), 1, sharex=True)
        data = []
        for k, table in enumerate(results.references):
            updates = table.updates[table.updates >= 0]
            values, states = np.unique(updates, return_counts=True)
            axis = axes[k]
            axis.bar(values, states, color=COLOURS[0], width=0.9)
            axis.axvline(printed[k], color=COLOURS[1], linewidth=1.5, linestyle="--")
            title = f"γ = {results.models[k].gamma:g}: {counts[k]} of {updates.size} states give"
            axis.set_title(f"{title} {the} {printed[k]}")
            data += [(results.models[k].gamma, *pair) for pair in zip(values, states, strict=True)]
        axes[-1].set_xlabel("updates until the iteration stops")
        figure.supylabel("reference states")
        return pd.DataFrame(data, columns=["gamma", "updates", "reference states"])

    save_figure(
        "robots-controlled-references",
        draw,
        caption="Where Proposition 4 stops, for every state that can be its reference. Dashed: "
        f"{dashed}, {describe_counts(counts, [model.gamma for model in results.models])}.",
        alt=f"Histograms of the number of updates over all reference states. Dashed is {dashed}, "
        f"{describe_counts(counts, [model.gamma for model in results.models])}.",
        height=0.8 + 1.3 * len(results.models),
    )


def describe_counts(counts: Sequence[int], gammas: Sequence[float]) -> str:
    """Return a text on how many reference states give a number of updates."""
    counts_text = [
        f"{pluralise(count, 'state') if count else 'no state'} at γ = {gamma:g}"
        for count, gamma in zip(counts, gammas, strict=True)
    ]
    return f"which is that of {join_words(counts_text)}"
