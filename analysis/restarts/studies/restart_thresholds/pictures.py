"""Figures of the page `restart-thresholds`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.report import COLOURS, figure, save_figure
from analysis.restarts.studies.restart_thresholds.experiment import AGREE
from analysis.restarts.whittle.threshold import Thresholds

PENALTY = r"penalty $\lambda$ (cost per active epoch)"


def draw_step(lines: Thresholds, kernel: str) -> None:
    """Draw the best threshold against the penalty."""
    w = lines.crossings
    states = w.size
    low, high = w[0] - 0.15 * np.ptp(w), w[-1] + 0.15 * np.ptp(w)
    grid = np.unique(np.concatenate([np.linspace(low, high, 400), w]))
    fig, axis = figure(height=3.4)
    edges = np.concatenate(([low], w, [high]))
    levels = np.arange(1, states + 2)
    axis.hlines(levels, edges[:-1], edges[1:], color=COLOURS[0], linewidth=2.5)
    dotted = {"color": COLOURS[0], "linewidth": 0.8, "linestyle": ":"}
    axis.vlines(w, levels[:-1], levels[1:], **dotted)
    axis.plot(w, levels[:-1], "o", color=COLOURS[0], markersize=5)
    label = "without the threshold that is never active, as printed"
    axis.hlines(states, w[-1], high, color=COLOURS[1], linestyle="--", label=label)
    axis.set(xlabel=PENALTY, ylabel=r"best threshold $k_\lambda$", yticks=levels)
    axis.set(xlim=(low, high), ylim=(0.4, states + 1.4))
    axis.legend(loc="lower right")
    for k, at in enumerate(w, start=1):
        look = {"xytext": (4, -12), "textcoords": "offset points", "fontsize": "small"}
        axis.annotate(f"$w({k})$", (at, k), **look)
    save_figure(
        "restart-thresholds-step",
        fig,
        pd.DataFrame({"penalty": grid, "threshold": lines.best(grid) + 1}),
        caption="Redraws the sketch of slide 15: the best threshold $k_\\lambda$ against the "
        f"penalty, here for one {kernel} arm with {states} states and slide 18's costs. It climbs "
        f"by one at each index $w(k)$, and ends at {states + 1}, never active, which the slide "
        "leaves out.",
        alt=f"A step curve rises from threshold 1 to {states + 1}, one step at the index of each "
        f"state. A dashed line at {states} shows where it would stay if never active were not "
        "allowed.",
    )


def draw_crossing(lines: Thresholds, k: int) -> None:
    """Draw the lines of two neighbouring thresholds where they cross; `k` counts states from 0."""
    w = lines.crossings
    at = w[k]
    reach = 0.6 * (np.ptp(w[max(0, k - 1) : k + 2]) or 1.0)
    near = np.linspace(at - reach, at + reach, 100)
    left, right = lines.cost_at(near)[:, [k, k + 1]].T
    fig, axis = figure(height=3.2)
    axis.plot(near, left, color=COLOURS[0], label=f"$C_\\lambda({k + 1})$: active in state {k + 1}")
    label = f"$C_\\lambda({k + 2})$: passive in state {k + 1}"
    axis.plot(near, right, color=COLOURS[1], linestyle="--", label=label)
    tie = float(lines.cost_rate[k] + at * lines.activity[k])
    axis.plot(at, tie, "o", color="black")
    axis.axvline(at, color="black", linewidth=0.8, linestyle=":")
    said = f"$w({k + 1}) = {at:.4g}$"
    axis.annotate(said, (at, tie), xytext=(8, -14), textcoords="offset points")
    axis.set(xlabel=PENALTY, ylabel="cost per epoch from $Q$", xlim=(near[0], near[-1]))
    axis.legend(loc="upper left")
    save_figure(
        "restart-thresholds-crossing",
        fig,
        pd.DataFrame({"penalty": near, f"C({k + 1})": left, f"C({k + 2})": right}),
        caption=f"Redraws the sketch of slide 16: the index of state {k + 1} is the penalty at "
        "which it does not matter whether that state is active. The two thresholds on either side "
        f"of it cost the same at $\\lambda = {at:.4g}$.",
        alt=f"Two straight lines cross at penalty {at:.4g}; left of it the steeper one, active in "
        f"state {k + 1}, is lower.",
    )


def draw_lines(lines: Thresholds, first: int, meets: dict[tuple[int, int], float]) -> None:
    """Draw four neighbouring lines and mark where they cross."""
    w = lines.crossings
    reach = 0.5 * (w[first + 2] - w[first])
    grid = np.linspace(min(0.0, w[first] - reach), w[first + 2] + reach, 200)
    four = lines.cost_at(grid)[:, first : first + 4]
    rate, activity = (values[first : first + 4] for values in (lines.cost_rate, lines.activity))
    names = [f"C({name})" for name in ("k", "k+1", "k+2", "k+3")]
    fig, axis = figure(height=4.2)
    for j, (name, style) in enumerate(zip(names, ("-", "--", "-.", ":"), strict=True)):
        label = f"$C_\\lambda{name[1:]}$"
        axis.plot(grid, four[:, j], color=COLOURS[j], linestyle=style, label=label)
        axis.plot(0, rate[j], "_", color=COLOURS[j], markersize=14)
    looks = {
        1: {"marker": "o", "markersize": 6, "color": "black"},
        2: {"marker": "s", "markersize": 5, "color": "black", "markerfacecolor": "white"},
    }
    for (i, j), at in meets.items():
        axis.plot(at, rate[i] + at * activity[i], **looks[j - i])
    axis.plot([], [], linestyle="", **looks[1], label="neighbours cross: an index")
    axis.plot([], [], linestyle="", **looks[2], label="next but one cross")
    axis.set(xlabel=PENALTY, ylabel="cost per epoch from $Q$", xlim=(grid[0], grid[-1]))
    axis.legend(ncols=2)
    distinct = np.unique(np.column_stack([rate, activity]).round(12), axis=0).shape[0]
    among = "" if distinct == 4 else f", {distinct} of them distinct: the others coincide"
    save_figure(
        "restart-thresholds-lines",
        fig,
        pd.DataFrame({"penalty": grid} | dict(zip(names, four.T, strict=True))),
        caption="Redraws the sketch of slide 23: cost of four neighbouring thresholds against the "
        f"penalty, $k = {first + 1}$, same arm{among}. The ticks at $\\lambda = 0$ are $D(k)$ to "
        "$D(k+3)$; dots mark the crossings of neighbours, squares those of next-but-one lines.",
        alt=f"Four straight lines{among}; the higher the threshold, the less they rise. Intercepts "
        "are marked at penalty zero; dots mark the crossings of neighbours, squares those of lines "
        "two apart.",
    )


def draw_unordered(index: Floats, formula: Floats) -> None:
    """Draw the index of an arm without structure, and what the threshold formula gives."""
    places = np.arange(1, index.size + 1)
    fig, axis = figure(height=3.2)
    axis.plot(places, index, "o-", color=COLOURS[0], label="Whittle index")
    axis.plot(places, formula, "s--", color=COLOURS[1], label="threshold formula")
    axis.set(xlabel="state", ylabel="cost per active epoch", xticks=places)
    axis.legend()
    same = int((np.abs(index - formula) < AGREE).sum())
    save_figure(
        "restart-thresholds-unordered",
        fig,
        pd.DataFrame({"state": places, "index": index, "formula": formula}),
        caption=f"An arm without structure, {index.size} states: the threshold formula agrees with "
        f"the index in {same} of its states.",
        alt="Two lines over the states, the index and what the threshold formula gives, "
        f"which agree in {same} of {index.size} states.",
    )
