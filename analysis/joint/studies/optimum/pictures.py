"""Figures and tables of the page `optimum`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.joint.studies.optimum.experiment import Solved
from analysis.report import COLOURS, figure, save_figure, save_table

POLICIES = ("blind", "throttled", "priced", "frozen queue")

LINES = ("-", "--", "-.", ":")


def save_four(found: Mapping[str, Solved]) -> None:
    """Tabulate bound, optimum and policies of the four sources, by what crawls take."""
    rows = {
        crawls: {
            "bound": one.bound,
            "optimum": one.optimum.gain,
            **one.gains,
            "frozen queue, dual price": one.full_price,
        }
        for crawls, one in found.items()
    }
    frame = pd.DataFrame(rows).rename_axis("what")
    save_table(
        "optimum-four",
        frame,
        "Reward per epoch of the scaled sources: the least bound, the exact optimum, and policies "
        "at the best of their prices or stops.",
        formats=".4f",
    )


def save_random(frame: pd.DataFrame) -> None:
    """Draw bounds and policies against the optimum on random systems, each sorted."""
    fig, axes = figure(1, 2, height=3.8)
    share = 100 * (np.arange(len(frame)) + 0.5) / len(frame)
    for name, colour, style in zip(POLICIES, COLOURS, LINES, strict=False):
        axes[0].plot(share, np.sort(frame[name]), style, color=colour, label=name)
    for name, colour, style in zip(("delay", "phases"), COLOURS[4:], LINES, strict=False):
        label = {"delay": "bound, one price", "phases": "bound of phases"}[name]
        axes[1].semilogy(share, np.sort(frame[name]), style, color=colour, label=label)
    axes[0].set(xlabel="systems up to here (%)", ylabel="reward / optimum", ylim=(0, 1.02))
    axes[1].set(xlabel="systems up to here (%)", ylabel="bound / optimum")
    axes[1].yaxis.set_major_formatter("{x:g}")
    axes[1].yaxis.set_minor_formatter("{x:g}")
    fig.legend(loc="outside lower center", ncols=3)
    save_figure(
        "optimum-random",
        fig,
        frame,
        caption=f"What policies earn of the optimum, and bounds as multiples of it, on "
        f"{len(frame)} random systems, each curve sorted.",
        alt=f"Policies: the median of the blind index is {frame['blind'].median():.2f} of the "
        f"optimum, that of the index with a frozen queue {frame['frozen queue'].median():.2f}. "
        f"Bounds: medians {frame['delay'].median():.2f} and {frame['phases'].median():.2f}.",
    )
