"""The pictures of the page on the static model, all with mu = 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.patches import Circle, Rectangle

from analysis.report import COLOURS, figure, is_document_run, save_figure
from analysis.robots.static.mm1k import (
    critical_gamma,
    large_capacity_robots,
    optimal_load,
    optimal_robots,
    static_cost,
)

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _stands_for(what: str) -> str:
    return f" It stands for {what} of the draft, lost." if is_document_run() else ""


def save_model() -> None:
    """Draw two robots, the queue and the engine."""
    fig, axis = figure(height=2.1)
    axis.set(xlim=(0, 10), ylim=(0, 3))
    axis.axis("off")
    axis.grid(False)
    for y in (0.8, 2.2):
        axis.add_patch(Circle((1.2, y), 0.42, fill=False, linewidth=1.5))
        axis.annotate("", (3.9, 1.5), (1.7, y), arrowprops={"arrowstyle": "->"})
        axis.text(1.2, y, "λ", ha="center", va="center")
    axis.text(0.1, 1.5, "robots", va="center", rotation=90)
    for k in range(5):
        axis.add_patch(Rectangle((4 + 0.45 * k, 1.1), 0.45, 0.8, fill=False))
    axis.text(5.1, 2.15, "K places", ha="center")
    axis.add_patch(Circle((6.75, 1.5), 0.45, fill=False, linewidth=1.5))
    axis.text(6.75, 1.5, "μ", ha="center", va="center")
    axis.annotate("", (8.4, 1.5), (7.2, 1.5), arrowprops={"arrowstyle": "->"})
    axis.text(8.5, 1.5, "data base", va="center")
    arrow = {"arrowstyle": "<-", "linestyle": "--"}
    axis.annotate("lost when full", (3.9, 1.2), (3.0, 0.15), arrowprops=arrow, ha="center")
    sizes = ["lambda each", "K places", "mu"]
    save_figure(
        "robots-static-model",
        fig,
        pd.DataFrame({"element": ["robots", "queue", "engine"], "rate or size": sizes}),
        caption="The model with two robots: each brings pages at rate λ to a queue of K places; "
        "the engine indexes them at rate μ. A page that finds the queue full is lost."
        + _stands_for("Figure 1"),
        alt="Two robots feed one finite queue, which one server empties into the data base; pages "
        "that find the queue full leave unserved.",
    )


def save_cost(capacity: int) -> None:
    """Draw the cost against the load for a weight below, at and above the critical one."""
    loads = np.linspace(0.02, 2.2, 300)
    critical = critical_gamma(capacity)
    cases = {"γ < γ(K)": 0.5 * critical, "γ = γ(K)": critical, "γ > γ(K)": 2.0 * critical}
    fig, axis = figure(height=3.8)
    data = {"load": loads}
    for colour, style, (name, gamma) in zip(COLOURS, STYLES, cases.items(), strict=False):
        data[name] = np.asarray(static_cost(loads, gamma, capacity))
        best = optimal_load(gamma, capacity)
        axis.plot(loads, data[name], linestyle=style, color=colour, label=f"{name} ({gamma:.2f})")
        axis.plot(best, static_cost(best, gamma, capacity), "o", color=colour, markersize=6)
    axis.axvline(1, color="grey", linewidth=0.8)
    axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
    axis.legend()
    save_figure(
        "robots-static-cost",
        fig,
        pd.DataFrame(data),
        caption=f"Cost against load at $K = {capacity}$, $\\mu = 1$, for a weight below, at and "
        "above $\\gamma(K)$; dots mark the best load, below, at and above one."
        + _stands_for("Tables 3 to 5"),
        alt="Three curves that fall and then rise. Their lowest points lie left of load one, at "
        "load one and right of it, as the weight of starvation is below, at or above its critical "
        "value.",
    )


def save_numbers_by_weight(capacities: Sequence[int], ratio: float) -> None:
    """Draw the best number of robots against the weight."""
    grid = np.linspace(0.05, 8, 200)
    fig, axis = figure(height=3.8)
    data = {"gamma": grid}
    for colour, style, k in zip(COLOURS, STYLES, capacities, strict=False):
        numbers = np.array([optimal_robots(1 / ratio, float(g), k) for g in grid])
        data[f"N, K = {k}"] = numbers
        axis.step(grid, numbers, where="mid", linestyle=style, color=colour, label=f"K = {k}")
    axis.axhline(ratio, color="grey", linewidth=0.8)
    axis.set(xlabel="weight of starvation γ (μ = 1)", ylabel="best number of robots")
    axis.legend()
    save_figure(
        "robots-static-number-gamma",
        fig,
        pd.DataFrame(data),
        caption="Best number of robots against the weight of starvation, $\\mu/\\lambda = "
        f"{ratio:g}$ (grey line). The more starvation weighs, the more robots run; a large queue "
        f"needs fewer extra ones.{_stands_for('Figure 2')}",
        alt=f"Rising staircases, one a capacity. They cross the line of {ratio:g} robots where the "
        "weight is critical; the smallest capacity rises highest.",
    )


def save_capacity(weights: Sequence[float], ratio: float, largest: int) -> None:
    """Draw the best load and the best number of robots against the capacity."""
    ks = np.unique(np.geomspace(2, largest, 60).astype(int))
    fig, axes = figure(1, 2, width=9, height=3.8)
    data = {"K": ks}
    for colour, style, g in zip(COLOURS, STYLES, weights, strict=False):
        loads = np.array([optimal_load(g, int(k)) for k in ks])
        numbers = np.array([optimal_robots(1 / ratio, g, int(k)) for k in ks])
        data[f"load, gamma = {g:g}"], data[f"N, gamma = {g:g}"] = loads, numbers
        axes[0].plot(ks, loads, linestyle=style, color=colour, label=f"γ = {g:g}")
        axes[1].step(ks, numbers, where="mid", linestyle=style, color=colour)
    axes[0].axhline(1, color="grey", linewidth=0.8)
    axes[1].axhline(ratio, color="grey", linewidth=0.8)
    axes[0].set(xlabel="capacity K", ylabel="best load ρ(γ, K)", xscale="log")
    axes[1].set(xlabel="capacity K", ylabel="best number of robots", xscale="log")
    for axis in axes:
        axis.xaxis.set_minor_formatter("")
        ticks = [k for k in (2, 5, 10, 20, 50, 100, 200, 500) if k <= largest]
        axis.set_xticks(ticks, ticks)
    axes[0].legend()
    save_figure(
        "robots-static-capacity",
        fig,
        pd.DataFrame(data),
        caption="Best load (left) and best number of robots at $\\mu/\\lambda$ = "
        f"{ratio:g} (right) against the capacity. For $\\gamma \\le \\mu$ the load rises to "
        "one; for $\\gamma > \\mu$ it has its highest value at $K_0$, which is the smallest "
        "capacity of all if $\\gamma$ is large, and falls to one from there."
        + _stands_for("Figures 3 and 4"),
        alt="Curves of the best load against capacity all tend to one: from below and rising for "
        "weights up to one; from above for larger weights, after a maximum at a small capacity, "
        "or falling all the way for the largest.",
    )


def save_large_capacity(weights: Sequence[float]) -> None:
    """Draw the number of robots in the limit of a large queue against mu/lambda."""
    ratios = np.linspace(0.3, 12, 600)
    fig, axis = figure(height=3.4)
    data = {"mu/lambda": ratios}
    for colour, style, g in zip(COLOURS, STYLES, weights, strict=False):
        numbers = np.array([large_capacity_robots(1 / float(x), g) for x in ratios])
        data[f"gamma = {g:g}"] = numbers
        axis.step(ratios, numbers, where="mid", linestyle=style, color=colour, label=f"γ = {g:g}")
    axis.plot(ratios, ratios, color="grey", linewidth=0.8, label="μ/λ")
    axis.set(xlabel="μ/λ, robots that feed the engine exactly")
    axis.set_ylabel("best number of robots, large K")
    axis.legend()
    save_figure(
        "robots-static-large-capacity",
        fig,
        pd.DataFrame(data),
        caption="Best number of robots in the limit of a large queue, by (16) of the draft: "
        "$\\mu/\\lambda$ rounded up or down, and the weight of starvation decides which way."
        + _stands_for("Figure 5"),
        alt="Two staircases around the diagonal: the weight of starvation decides where the number "
        "is rounded down and where up.",
    )
