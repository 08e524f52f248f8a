"""Figures of the page `robots-static`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle

from analysis.arrays import Floats, Ints
from analysis.robots.mm1k import (
    critical_gamma,
    large_capacity_robots,
    optimal_load,
    optimal_robots,
    static_cost,
)
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    format_change,
    is_document_run,
    pluralise,
    save_figure,
)

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _describe_redrawn(what: str) -> str:
    """Return the sentence that ends a caption where a figure stands for one of the draft."""
    return f" Redraws {what} of the draft, whose pictures are lost." if is_document_run() else ""


def draw_model() -> None:
    """Draw two robots, the queue and the engine."""
    arrow = {"arrowstyle": "<-", "linestyle": "--"}
    sizes = ["lambda each", "K places", "mu"]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.set(xlim=(0, 10), ylim=(0, 3), aspect="equal")
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
        axis.annotate("lost when full", (3.9, 1.2), (3.0, 0.15), arrowprops=arrow, ha="center")
        return pd.DataFrame({"element": ["robots", "queue", "engine"], "rate or size": sizes})

    save_figure(
        "robots-static-model",
        draw,
        caption="The model with two robots: each brings pages at rate λ to a queue of K places; "
        "the engine indexes them at rate μ. A page that finds the queue full is lost."
        + _describe_redrawn("Figure 1"),
        alt="Two robots feed one finite queue, which one server empties into the data base; pages "
        "that find the queue full leave unserved.",
        height=2.1,
    )


def draw_cost(capacity: int) -> None:
    """Draw the cost against the load for a weight below, at and above the critical one."""
    loads = np.linspace(0.02, 2.2, 300)
    critical = critical_gamma(capacity)
    cases = {"γ < γ(K)": 0.5 * critical, "γ = γ(K)": critical, "γ > γ(K)": 2.0 * critical}
    costs = {name: np.asarray(static_cost(loads, g, capacity)) for name, g in cases.items()}
    best = {name: optimal_load(gamma, capacity) for name, gamma in cases.items()}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (name, gamma) in zip(COLOURS, STYLES, cases.items(), strict=False):
            label = f"{name} ({gamma:.2f})"
            axis.plot(loads, costs[name], linestyle=style, color=colour, label=label)
            least = static_cost(best[name], gamma, capacity)
            axis.plot(best[name], least, "o", color=colour, markersize=6)
        axis.axvline(1, color="grey", linewidth=0.8)
        axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"load": loads, **costs})

    save_figure(
        "robots-static-cost",
        draw,
        caption="The best load is below one for a weight below $\\gamma(K)$, one at it, and above "
        f"one for a larger weight: cost against load at $K = {capacity}$, $\\mu = 1$; dots mark "
        f"the best loads.{_describe_redrawn('Tables 3 to 5')}",
        alt="Three curves that fall and then rise. Their lowest points lie left of load one, at "
        "load one and right of it, as the weight of starvation is below, at or above its critical "
        "value.",
        height=3.8,
    )


def describe_small_queues(numbers: dict[int, int]) -> str:
    """Describe whether the best number at a large weight falls with the capacity, where it does."""
    inorder = [numbers[k] for k in sorted(numbers)]
    falls = len(inorder) > 1 and bool((np.diff(inorder) < 0).all())
    return " At a large weight a larger queue needs fewer of them." if falls else ""


def draw_numbers_by_weight(capacities: Sequence[int], ratio: float) -> None:
    """Draw the best number of robots against the weight."""
    grid = np.linspace(0.05, 8, 200)
    numbers = {
        k: np.array([optimal_robots(1 / ratio, float(g), k) for g in grid]) for k in capacities
    }
    numbers_at_end = {k: int(number[-1]) for k, number in numbers.items()}
    ends = [f"{format_change(int(n[0]), int(n[-1]), 'd')} at K = {k}" for k, n in numbers.items()]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        looks = zip(cycle(COLOURS), cycle(STYLES), numbers.items(), strict=False)
        for colour, style, (k, number) in looks:
            axis.step(grid, number, where="mid", linestyle=style, color=colour, label=f"K = {k}")
        axis.axhline(ratio, color="grey", linewidth=0.8)
        axis.set(xlabel="weight of starvation γ (μ = 1)", ylabel="best number of robots")
        add_legend(figure)
        return pd.DataFrame({"gamma": grid} | {f"N, K = {k}": n for k, n in numbers.items()})

    save_figure(
        "robots-static-number-gamma",
        draw,
        caption="A larger weight of starvation never needs fewer robots: best number against the "
        f"weight, $\\mu/\\lambda = {ratio:g}$ (grey line)."
        f"{describe_small_queues(numbers_at_end)}{_describe_redrawn('Figure 2')}",
        alt=f"Staircases that never fall, one a capacity. From the smallest weight to γ = "
        f"{grid[-1]:g} the best number {', '.join(ends)}.",
        height=3.8,
    )


def draw_capacity(weights: Sequence[float], ratio: float, largest: int) -> None:
    """Draw the best load and the best number of robots against the capacity, a figure each."""
    ks = np.unique(np.geomspace(2, largest, 60).astype(int))
    loads = {g: np.array([optimal_load(g, int(k)) for k in ks]) for g in weights}
    numbers = {g: np.array([optimal_robots(1 / ratio, g, int(k)) for k in ks]) for g in weights}

    def draw_loads(figure: Figure) -> pd.DataFrame:
        axis = _capacity_axis(figure, largest)
        looks = zip(cycle(COLOURS), cycle(STYLES), loads.items(), strict=False)
        for colour, style, (g, load) in looks:
            axis.plot(ks, load, linestyle=style, color=colour, label=f"γ = {g:g}")
        axis.axhline(1, color="grey", linewidth=0.8)
        axis.set(ylabel="best load ρ(γ, K)")
        add_legend(figure)
        return pd.DataFrame({"K": ks} | {f"load, gamma = {g:g}": y for g, y in loads.items()})

    save_figure(
        "robots-static-load",
        draw_loads,
        caption="Best load against the capacity, $\\mu = 1$. For $\\gamma "
        "\\le \\mu$ it rises to one; for $\\gamma > \\mu$ it has its highest value at $K_0$, which "
        "is the smallest capacity of all if $\\gamma$ is large, and falls to one from there."
        + _describe_redrawn("Figure 3"),
        alt="Curves of the best load against capacity that all tend to one. "
        + " ".join(describe_run(g, ks, load) for g, load in loads.items()),
    )
    ends = [f"{format_change(int(n[0]), int(n[-1]), 'd')} at γ = {g:g}" for g, n in numbers.items()]

    def draw_numbers(figure: Figure) -> pd.DataFrame:
        axis = _capacity_axis(figure, largest)
        looks = zip(cycle(COLOURS), cycle(STYLES), numbers.items(), strict=False)
        for colour, style, (g, number) in looks:
            axis.step(ks, number, where="mid", linestyle=style, color=colour, label=f"γ = {g:g}")
        axis.axhline(ratio, color="grey", linewidth=0.8)
        axis.set(ylabel="best number of robots")
        add_legend(figure)
        return pd.DataFrame({"K": ks} | {f"N, gamma = {g:g}": n for g, n in numbers.items()})

    save_figure(
        "robots-static-capacity",
        draw_numbers,
        caption="Best number of robots against the capacity at "
        f"$\\mu/\\lambda = {ratio:g}$ (grey line): one of the two roundings of the best load times "
        f"$\\mu/\\lambda$.{_describe_redrawn('Figure 4')}",
        alt=f"Staircases against the capacity. From K = 2 to K = {largest} the best number "
        f"{', '.join(ends)}.",
    )


def _capacity_axis(figure: Figure, largest: int) -> Any:
    """Add an axis whose scale is the logarithm of the capacity."""
    (axis,) = add_panels(figure)
    axis.set(xlabel="capacity K", xscale="log")
    axis.xaxis.set_minor_formatter("")
    ticks = [k for k in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= largest]
    axis.set_xticks(ticks, ticks)
    return axis


def describe_run(gamma: float, capacities: Ints, loads: Floats) -> str:
    """Describe how the best load changes with the capacity: it rises, falls, or turns."""
    at = int(np.argmax(loads))
    if at == len(loads) - 1:
        return f"At γ = {gamma:g} it rises throughout."
    if at == 0:
        return f"At γ = {gamma:g} it falls throughout."
    return f"At γ = {gamma:g} it rises up to K = {capacities[at]} and falls from there."


def draw_large_capacity(weights: Sequence[float]) -> None:
    """Draw the number of robots in the limit of a large queue against mu/lambda."""
    ratios = np.linspace(0.3, 12, 600)
    numbers = {
        g: np.array([large_capacity_robots(1 / float(x), g) for x in ratios]) for g in weights
    }

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (g, number) in zip(COLOURS, STYLES, numbers.items(), strict=False):
            look = {"linestyle": style, "color": colour, "label": f"γ = {g:g}"}
            axis.step(ratios, number, where="mid", **look)
        axis.plot(ratios, ratios, color="grey", linewidth=0.8, label="μ/λ")
        axis.set(xlabel="μ/λ, robots that feed the engine exactly")
        axis.set_ylabel("best number of robots, large K")
        add_legend(figure)
        return pd.DataFrame(
            {"mu/lambda": ratios} | {f"gamma = {g:g}": n for g, n in numbers.items()}
        )

    save_figure(
        "robots-static-large-capacity",
        draw,
        caption="Best number of robots in the limit of a large queue, by (16) of the draft: "
        "$\\mu/\\lambda$ rounded up or down, and the weight of starvation decides which way."
        + _describe_redrawn("Figure 5"),
        alt=f"{pluralise(len(weights), 'staircase')} around the diagonal: the weight of starvation "
        "decides where the number is rounded down and where up.",
        height=3.4,
    )
