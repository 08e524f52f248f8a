"""Losses of the two-level and the index policy on random sets, by the number of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.checks import check_integer
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.replicas import simulate_replicas
from analysis.ephemeral.timetables.copies import (
    LONGEST_PERIOD,
    common_period,
    enough_copies,
    two_level,
)
from scorecard import COLOURS, add_legend, add_panels, ink, save_figure

#: Loss below which a reward counts as the bound itself.
EXACT = 1e-11


def check_sources(sources: Sources | None, parameters: Mapping[str, Any]) -> None:
    """Refuse sources whose due ages at the page's budget have no common multiple."""
    common_period(four_sources() if sources is None else sources, parameters["budget"])


def compute_losses(copies: Sequence[int], instances: int, seed: int) -> pd.DataFrame:
    """Return the losses of two policies against the relaxed bound on copies of random sets of four.

    `copies`: numbers of copies. One row a set and number of copies: instance, copies; two-level
    and index, losses; rule, how the counts were found; enough, the number from which on the proof
    holds, nan if all due ages are whole.
    """
    instances = check_integer("instances", instances, 1)
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        enough = enough_copies(sources, budget)
        for number in copies:
            plan = two_level(sources, budget, number)
            rng = np.random.default_rng([seed, instance, number])
            run = simulate_replicas(sources, budget, number, start="random", horizon=2000, rng=rng)
            rows.append(
                {
                    "instance": instance,
                    "copies": number,
                    "two-level": max(plan.loss, 0.0),
                    "index": max(1 - run.average_reward / plan.bound, 0.0),
                    "rule": plan.rule,
                    "enough": enough,
                }
            )
    return pd.DataFrame(rows)


# Values and tables


def collect_loss_values(frame: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the losses, from `compute_losses`."""
    first = frame.groupby("instance").first()
    last = frame[frame.copies == frame.copies.max()]
    later = frame[frame.copies > 1]
    return {
        "sets": len(first),
        "fractional": int(first.enough.notna().sum()),
        "median": float(np.nan_to_num(np.ceil(first.enough).median())),
        "most": float(np.nan_to_num(np.ceil(first.enough).max())),
        "largest": int(last.copies.iloc[0]),
        "exact": int((last["two-level"] < EXACT).sum()),
        "index-exact": int((last["index"] < 1e-9).sum()),
        "index-mean": float(last["index"].mean()),
        "index-worst": float(last["index"].max()),
        "two-worst": float(last["two-level"].max()),
        "early": float((later["two-level"] < EXACT).mean()) if len(later) else 0.0,
        "one-two": float(frame[frame.copies == frame.copies.min()]["two-level"].mean()),
        "one-index": float(frame[frame.copies == frame.copies.min()]["index"].mean()),
        "fewest": int(frame.copies.min()),
        "longest-period": LONGEST_PERIOD,
    }


# Figures


_FLOOR = 1e-7


def draw_losses(frame: pd.DataFrame) -> None:
    """Draw mean and largest loss of both policies against the number of copies."""
    groups = frame.groupby("copies")
    last = frame[frame.copies == frame.copies.max()]
    exact = int((last["two-level"] < EXACT).sum())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, name in zip(COLOURS, ("two-level", "index"), strict=False):
            for how, style, marker in (("mean", "-", "o"), ("max", "--", "^")):
                loss = 100 * getattr(groups[name], how)().clip(lower=_FLOOR)
                label = f"{name}, {'mean' if how == 'mean' else 'largest'}"
                axis.loglog(loss.index, loss, style, marker=marker, color=colour, label=label)
        axis.axhline(100 * _FLOOR, color=ink(), linewidth=0.8, linestyle=":")
        axis.set(xlabel="copies of each source, R", ylabel="loss (% of the bound)")
        add_legend(figure)
        return frame

    save_figure(
        "many-copies-losses",
        draw,
        caption=f"Loss against the relaxed bound on {frame.instance.nunique()} random sets of four "
        f"sources with R copies each. With {int(last.copies.iloc[0])} copies two levels earn the "
        f"bound itself on {exact} sets, and the index policy loses up to {last['index'].max():.2%}."
        " Losses below the dotted line are drawn on it.",
        alt="Four curves of loss against the number of copies on logarithmic axes. Those of the "
        f"two-level policy fall to {last['two-level'].max():.0e}; the index policy's mean stays "
        f"at {last['index'].mean():.3%} and its largest at {last['index'].max():.2%}.",
        height=3.8,
    )
