"""The page `robots-open`: the identities behind Lemma 2, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.robots import mm1k
from analysis.robots import static_theory as theory
from scorecard import COLOURS, Claim, add_legend, add_panels, claim, save_figure

#: Weights gamma/mu of the figure of Lemma 3, by pairs of reciprocals.
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)


def printed_moment(n: int, k: int) -> int:
    """Return m_k by the two forms of the proof, for k >= 1."""
    if k % 2:
        return (n + 1) ** k - n**k - 1
    return (2 * n + 3) * n**k - (2 * n - 1) * (n + 1) ** k - 1


def check_identities(capacities: Sequence[int]) -> pd.DataFrame:
    """Return which polynomial identities hold, by capacity."""
    table = pd.DataFrame({k: theory.static_identities(k) for k in capacities})
    return table.rename_axis("identity").rename_axis("K =", axis=1)


def check_proof_steps(exact: pd.DataFrame, largest: int) -> dict[str, bool]:
    """Check the numbers of each step of the proof of Lemma 2."""
    ks = range(2, largest + 1)
    turning = np.array([theory.turning_gamma(k) for k in ks])
    zeros = [theory.zero_of_exponential_sum(n) for n in range(2, 60)]
    weights = [float(g) for g in np.linspace(1.2, 5, 39) if g >= turning[-1]]
    moments = all(
        theory.exponential_moments(n, 12)[1:] == [printed_moment(n, k) for k in range(1, 12)]
        for n in range(2, 30)
    )
    return {
        "the identities, exactly": bool(exact.all(axis=None)),
        "four changes of sign": all(theory.sign_changes(n) == 4 for n in range(2, 40)),
        "the moments at 0, exactly": moments,
        "x_n falls": bool((np.diff(zeros) < 0).all()),
        "g_n falls": bool((np.diff(turning) < 0).all()),
        "K_0 is where the weight meets g_n": all(
            mm1k.turning_capacity(g) == 2 + int(np.argmax(g >= turning)) for g in weights
        ),
    }


# Claims


def claims(checks: dict[str, bool], capacities: Sequence[int]) -> list[Claim]:
    """Return the page's claims on the question that the draft leaves to its readers."""
    numbers = {"capacities": list(capacities), "steps": len(checks) - 1}
    holds = all(checks.values())
    return [claim("D-lem2-open", holds, proof="open-lemma2", numbers=numbers)]


# Figures


STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def _capacity_axis(axis: Any, largest: int) -> None:
    """Label a logarithmic capacity axis with plain numbers."""
    axis.set(xlabel="capacity K", xscale="log")
    axis.set_xticks([k for k in (2, 5, 10, 20, 50, 100, 200, 500) if k <= largest])
    axis.xaxis.set_major_formatter("{x:.0f}")
    axis.xaxis.set_minor_formatter("")


def draw_turning(largest: int) -> None:
    """Draw the weight at which the load turns against the capacity."""
    ks = np.arange(2, largest + 1)
    turning = np.array([theory.turning_gamma(int(k)) for k in ks])
    data = {"K": ks, "turning weight": turning, "1 + 4/(K+1)": 1 + 4 / (ks + 1)}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        label = "weight at which the load turns at K, less 1"
        axis.plot(ks, turning - 1, color=COLOURS[0], label=label)
        axis.plot(ks, 4 / (ks + 1), color=COLOURS[1], linestyle="--", label="4/(K+1)")
        label = "2/K: the load exceeds one above this line"
        axis.plot(ks, 2 / ks, color=COLOURS[2], linestyle=":", label=label)
        axis.set(ylabel="γ/μ − 1", yscale="log")
        _capacity_axis(axis, largest)
        add_legend(figure)
        return pd.DataFrame(data | {"gamma(K)": 1 + 2 / ks})

    save_figure(
        "robots-open-turning",
        draw,
        caption="Lemma 2 in one picture. Above the solid line $\\rho(\\gamma, K+1) < \\rho(\\gamma,"
        " K)$, below it the load still rises with $K$; for a given weight $K_0$ is where its level "
        f"meets the line. The line starts at $g_3 = {turning[0]:.4f}$ and approaches "
        "$1 + 4/(K+1)$.",
        alt="Three falling lines on doubly logarithmic axes. The turning weight lies above the "
        "critical weight at every capacity and approaches the dashed line 4/(K+1).",
        height=3.6,
    )


def draw_rate(largest: int) -> None:
    """Draw K (rho - 1) at the best load against the capacity, with its limits."""
    ks = np.arange(2, largest + 1)
    drifts = {g: [k * (mm1k.optimal_load(g, int(k)) - 1) for k in ks] for g in WEIGHTS}

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (g, drift) in zip(COLOURS, STYLES, drifts.items(), strict=False):
            axis.plot(ks, drift, color=colour, linestyle=style, label=f"γ/μ = {g:g}")
            axis.axhline(mm1k.limiting_drift(g), color=colour, linewidth=0.7, alpha=0.7)
        axis.set(ylabel="K (ρ − 1) at the best load", ylim=(-2.4, 3.4))
        _capacity_axis(axis, largest)
        add_legend(figure)
        return pd.DataFrame({"K": ks} | {f"gamma/mu = {g:g}": d for g, d in drifts.items()})

    save_figure(
        "robots-open-rate",
        draw,
        caption="Lemma 3 with its rate: $K(\\rho_K - 1)$ at the best load tends to $x(g)$ (thin "
        "lines), which lie symmetric for $g$ and $1/g$.",
        alt="Five curves against capacity on a logarithmic axis flatten out towards five "
        "horizontal lines; lines of reciprocal weights lie at opposite heights.",
        height=3.6,
    )
