"""Figures of the page `robots-open`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure
from analysis.robots.static import limits, mm1k, theory
from analysis.robots.studies.robots_open.experiment import WEIGHTS

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _capacity_axis(axis: Any, largest: int) -> None:
    """Label a logarithmic capacity axis with plain numbers."""
    axis.set(xlabel="capacity K", xscale="log")
    axis.set_xticks([k for k in (2, 5, 10, 20, 50, 100, 200, 500) if k <= largest])
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.xaxis.set_minor_formatter("")


def save_turning(largest: int) -> None:
    """Draw the weight at which the load turns against the capacity."""
    ks = np.arange(2, largest + 1)
    turning = np.array([theory.turning_gamma(int(k)) for k in ks])
    data = {"K": ks, "turning weight": turning, "1 + 4/(K+1)": 1 + 4 / (ks + 1)}
    fig, axis = figure(height=3.6)
    label = "weight at which the load turns at K, less 1"
    axis.plot(ks, turning - 1, color=COLOURS[0], label=label)
    axis.plot(ks, 4 / (ks + 1), color=COLOURS[1], linestyle="--", label="4/(K+1)")
    label = "2/K: the load exceeds one above this line"
    axis.plot(ks, 2 / ks, color=COLOURS[2], linestyle=":", label=label)
    axis.set(ylabel="γ/μ − 1", yscale="log")
    _capacity_axis(axis, largest)
    axis.legend(fontsize="small")
    save_figure(
        "robots-open-turning",
        fig,
        pd.DataFrame(data | {"gamma(K)": 1 + 2 / ks}),
        caption="Lemma 2 in one picture. Above the solid line $\\rho(\\gamma, K+1) < \\rho(\\gamma,"
        " K)$, below it the load still rises with $K$; for a given weight $K_0$ is where its level "
        f"meets the line. The line starts at $g_3 = {turning[0]:.4f}$ and approaches "
        "$1 + 4/(K+1)$.",
        alt="Three falling lines on doubly logarithmic axes. The turning weight lies above the "
        "critical weight at every capacity and approaches the dashed line 4/(K+1).",
    )


def save_rate(largest: int) -> None:
    """Draw K (rho - 1) at the best load against the capacity, with its limits."""
    ks = np.arange(2, largest + 1)
    fig, axis = figure(height=3.6)
    data: dict[str, Any] = {"K": ks}
    for colour, style, g in zip(COLOURS, STYLES, WEIGHTS, strict=False):
        scaled = [k * (mm1k.optimal_load(g, int(k)) - 1) for k in ks]
        axis.plot(ks, scaled, color=colour, linestyle=style, label=f"γ/μ = {g:g}")
        axis.axhline(limits.limiting_drift(g), color=colour, linewidth=0.7, alpha=0.7)
        data[f"gamma/mu = {g:g}"] = scaled
    axis.set(ylabel="K (ρ − 1) at the best load", ylim=(-2.4, 3.4))
    _capacity_axis(axis, largest)
    axis.legend(fontsize="small", ncols=3, loc="upper left")
    save_figure(
        "robots-open-rate",
        fig,
        pd.DataFrame(data),
        caption="Lemma 3 with its rate: $K(\\rho_K - 1)$ at the best load tends to $x(g)$ (thin "
        "lines), which lie symmetric for $g$ and $1/g$.",
        alt="Five curves against capacity on a logarithmic axis flatten out towards five "
        "horizontal lines; lines of reciprocal weights lie at opposite heights.",
    )
