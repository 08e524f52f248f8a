"""Figures of the page `robots-general`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.robots.general.laws import ServiceLaw
from analysis.robots.general.mg1k import general_cost, optimal_general_load
from book.robots.robots_general import FAST, FAST_RATE, SLOW, Variability
from scorecard import (
    COLOURS,
    add_legend,
    add_panels,
    format_change,
    format_range,
    ink,
    is_narrow,
    pluralise,
    save_figure,
)

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = "os^DvP"


def _look(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % 7], "linestyle": STYLES[k % 6]}


def draw_variation(
    variability: Variability, arrival_rate: float, capacity: int, critical: float
) -> None:
    """Draw the best load and number of robots against the variability."""
    extremes = dict.fromkeys(
        (int(np.argmin(variability.gammas)), int(np.argmax(variability.gammas)))
    )
    ends = [
        f"at γ = {variability.gammas[k]:g} the best number of robots "
        + format_change(int(variability.numbers[k, 0]), int(variability.numbers[k, -1]), "d")
        for k in extremes
    ]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        data: dict[str, Any] = {"squared variation": variability.variations}
        for k, g in enumerate(variability.gammas):
            look = _look(k) | {"marker": MARKERS[k % 6], "markersize": 4}
            axes[0].plot(variability.variations, variability.loads[k], label=f"γ = {g:g}", **look)
            axes[1].plot(variability.variations, variability.numbers[k], **look)
            data[f"load, gamma = {g:g}"] = variability.loads[k]
            data[f"robots, gamma = {g:g}"] = variability.numbers[k]
        for axis, name in zip(axes, ("best load", "best number of robots"), strict=True):
            axis.axvline(1, color="grey", linewidth=0.8)
            axis.set(xlabel="squared coefficient of variation", ylabel=name)
        axes[0].set_ylim(top=1.28 * variability.loads.max())
        axes[0].legend(ncols=3)
        return pd.DataFrame(data)

    save_figure(
        "robots-general-variation",
        draw,
        caption="Best load (first) and best number of robots (second) against the variability of "
        f"indexing times with gamma law, $K = {capacity}$, $\\mu = 1$, $\\lambda = "
        f"{arrival_rate:g}$. The grey line marks exponential times, where $\\gamma(K) = "
        f"{critical:.2f}$ separates loads below one from loads above.",
        alt=f"{pluralise(len(variability.gammas), 'line')}, one a weight. From the least to the "
        f"most variable times, {'; '.join(ends)}.",
        height=3.8,
    )


def draw_laws(laws: Sequence[ServiceLaw], gamma: float, capacity: int) -> dict[str, float]:
    """Draw the cost against the load for several laws, and return their best loads."""
    rhos = np.linspace(0.03, 2.0, 80)
    best = {law.name: optimal_general_load(gamma, capacity, law) for law in laws}
    least = {law.name: general_cost(best[law.name], gamma, capacity, law) for law in laws}
    costs = {
        law.name: [general_cost(float(rho), gamma, capacity, law) for rho in rhos] for law in laws
    }
    same = [best[law.name] for law in laws[1:]]
    ends = format_range(min(same), max(same), ".2f")

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for k, (name, cost) in enumerate(costs.items()):
            axis.plot(rhos, cost, label=name, **_look(k))
            axis.plot(best[name], least[name], MARKERS[k % 6], color=COLOURS[k % 7])
        axis.set(xlabel="load ρ", ylabel="cost per unit of time\n(in lost pages)", ylim=(0, None))
        add_legend(figure)
        return pd.DataFrame({"load": rhos, **costs})

    save_figure(
        "robots-general-laws",
        draw,
        caption=f"Cost against load at $K = {capacity}$, $\\gamma = {gamma:g}$, for exponential "
        "times and for three laws with the same mean and the same variance, "
        f"{laws[1].variation:g} times that of the exponential. Marks are the best loads: {ends} "
        "for the three.",
        alt="Four curves that fall and then rise. The lowest points of the three of equal "
        f"variance lie at loads of {ends}; exponential times have theirs at "
        f"{best[laws[0].name]:.2f}.",
        height=3.8,
    )
    return best


def draw_simulation(check: pd.DataFrame, covering: int, replications: int, model: str) -> None:
    """Draw simulated costs over exact ones."""
    ratio, error = check["simulated"] / check["exact"], check["half-width"] / check["exact"]
    names = [
        f"{row[1]}\nN = {row[2]}" + ",\ncontrolled" * bool(row[3]) for row in check.itertuples()
    ]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(range(len(check)), ratio, yerr=error, fmt="o", capsize=4, color=COLOURS[0])
        axis.axhline(1, color=ink(), linewidth=1)
        axis.set(ylabel="simulated / exact cost", xlim=(-0.5, len(check) - 0.5))
        axis.set_xticks(range(len(check)), names, rotation=30 if is_narrow(figure) else 0)
        return check

    save_figure(
        "robots-general-simulation",
        draw,
        caption=f"Simulated cost over exact cost, with 95% intervals from {replications} runs; "
        f"{model}. {covering} of {len(check)} intervals contain 1.",
        alt=f"{len(check)} points with error bars around the line at 1; {covering} of the bars "
        "cross "
        f"it. The widest bar is {error.max():.1%} on either side.",
        height=3.2,
    )


def draw_fleet(scan: pd.DataFrame, gamma: float, capacity: int) -> None:
    """Draw the best fleets and their costs against the running cost of a fast robot."""
    costs = scan["cost of a fast robot"]
    most = scan[["fast, fixed", "slow, fixed"]].to_numpy().max()
    leaves = float(costs[scan["fast, fixed"] == 0].min())
    saved = 1 - scan["cost, controlled"] / scan["cost, fixed"]

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2)
        for k, name in enumerate(("fast", "slow")):
            axes[0].step(
                costs, scan[f"{name}, fixed"], where="mid", label=f"{name}, fixed", **_look(k)
            )
            mean = scan[f"{name}, controlled"]
            look = _look(k) | {"marker": MARKERS[k], "markersize": 3, "linewidth": 0.9}
            axes[0].plot(costs, mean, label=f"{name}, controlled (mean)", **look)
        for k, name in enumerate(("fixed", "controlled")):
            axes[1].plot(costs, scan[f"cost, {name}"], label=name, **_look(k + 2))
        axes[0].set(ylabel="robots", ylim=(-0.5, 1.5 * most))
        axes[1].set(ylabel="cost per unit of time (in lost pages)", ylim=(0, None))
        for axis in axes:
            axis.set_xlabel("running cost of a fast robot (per unit of time)")
            axis.legend(loc="best", ncols=1)
        return scan

    save_figure(
        "robots-general-fleet",
        draw,
        caption=f"Two kinds: fast robots (rate {FAST_RATE:g}, at most {FAST}) whose running cost "
        f"varies, slow ones (rate {SLOW.arrival_rate:g}, at most {SLOW.available}, cost "
        f"{SLOW.running_cost:g}); $K = {capacity}$, $\\gamma = {gamma:g}$, $\\mu = 1$. A fixed "
        f"fleet drops all fast robots from a cost of {leaves:g} on; control saves "
        f"{format_range(saved.min(), saved.max(), '.0%')} of the cost.",
        alt="First panel: the fixed numbers of the two kinds change by jumps as the fast kind "
        "becomes dearer, the mean numbers under control change more gradually. Second panel: the "
        "controlled fleet costs less than the fixed one throughout.",
        height=3.8,
    )
