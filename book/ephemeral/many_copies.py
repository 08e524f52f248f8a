"""Losses of the two-level and the index policy on random sets, by the number of copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.instances import random_set
from analysis.ephemeral.sources import Sources, four_sources
from analysis.ephemeral.stochastic.replicas import simulate_replicas
from analysis.ephemeral.timetables.copies import (
    LONGEST_PERIOD,
    common_period,
    enough_copies,
    two_level,
)
from scorecard import COLOURS, add_legend, add_panels, ink, is_narrow, save_figure

#: Sources in the picture of the two levels, at most.
MOST_SHOWN = 6
#: Loss below which a reward counts as the bound itself.
EXACT = 1e-11


def check_sources(sources: Sources | None, parameters: Mapping[str, Any]) -> None:
    """Refuse sources whose due ages at the page's budget have no common multiple."""
    common_period(four_sources() if sources is None else sources, parameters["budget"])


def compute_losses(copies: Sequence[int], instances: int, seed: int) -> pd.DataFrame:
    """Return the losses of two policies against the relaxed bound on copies of random sets of four.

    ``rule`` is how the counts were found; ``enough`` the number of copies from which on the proof
    holds, nan if all due ages are whole.
    """
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
        "early": float((later["two-level"] < EXACT).mean()) if len(later) else 0.0,
        "one-two": float(frame[frame.copies == frame.copies.min()]["two-level"].mean()),
        "one-index": float(frame[frame.copies == frame.copies.min()]["index"].mean()),
        "fewest": int(frame.copies.min()),
        "longest-period": LONGEST_PERIOD,
    }


# Figures


_FLOOR = 1e-7


def draw_two_levels(sources: Sources, budget: int, copies: int = 3, epochs: int = 15) -> None:
    """Draw which copies are crawled at each epoch, the copies of a source side by side."""
    plan = two_level(sources, budget, copies)
    counts = plan.counts[:, np.arange(epochs) % plan.counts.shape[1]]
    shown = np.flatnonzero(counts.any(axis=1))[:MOST_SHOWN]
    # The copy that has waited longest is the next in turn.
    parts = [np.repeat(np.arange(epochs), counts[i].astype(np.intp)) for i in shown]
    rows = pd.concat(
        pd.DataFrame({"source": i + 1, "copy": np.arange(len(part)) % copies + 1, "epoch": part})
        for i, part in zip(shown, parts, strict=True)
    )
    ranks = rows["source"].map({i + 1: rank for rank, i in enumerate(shown)})
    places = ranks * (copies + 1) + rows["copy"] - 1

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for rank, colour in zip(range(len(shown)), COLOURS, strict=False):
            chosen = ranks == rank
            look = {"color": colour, "markersize": 5 if is_narrow(figure) else 6}
            axis.plot(rows["epoch"][chosen], places[chosen], "s", **look)
        middle = np.arange(len(shown)) * (copies + 1) + (copies - 1) / 2
        axis.set_yticks(middle, [f"source {i + 1},\n{copies} copies" for i in shown])
        axis.set(xlabel="epoch", xticks=range(0, epochs, 2))
        axis.invert_yaxis()
        axis.grid(axis="y", visible=False)
        return rows

    drawn = f" Drawn are the first {len(shown)} sources that are crawled."
    note = drawn if counts.any(axis=1).sum() > len(shown) else ""
    first, last = counts.min(axis=1)[shown], counts.max(axis=1)[shown]
    numbers = ", ".join(
        f"{low} of source {i + 1}" if low == high else f"{low} to {high} of source {i + 1}"
        for i, low, high in zip(shown, first, last, strict=True)
    )
    save_figure(
        "many-copies-levels",
        draw,
        "The first level says how many copies of each source an epoch crawls, and the second takes "
        f"those that have waited longest, so that copies take turns. Here each source has {copies} "
        f"copies, and the budget is {copies * budget} crawls an epoch.{note}",
        f"A grid of epochs and copies with a square where a copy is crawled. Of the {copies} "
        f"copies an epoch crawls: {numbers}. Within a source the squares go round from copy to "
        "copy.",
        height=3.2,
    )


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
