"""Picture of dual descent: the price against time."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.ephemeral.optimum.dual import DualRun
from analysis.ephemeral.relaxed import RelaxedSolution
from analysis.ephemeral.studies.dual_descent.experiment import has_one_multiplier, late
from analysis.report import COLOURS, apart, figure, save_figure


def save_steps(runs: Mapping[str, DualRun], budget: float, relaxed: RelaxedSolution) -> None:
    """Draw the price against time for several step rules, and the multiplier."""
    horizon = next(iter(runs.values())).subsidy.size
    shown = np.unique(np.round(np.geomspace(1, horizon, 400)).astype(int)) - 1
    fig, axis = figure(height=3.8)
    for colour, style, (name, run) in zip(
        COLOURS, ("-", "--", ":", "-."), runs.items(), strict=False
    ):
        label = f"$a_t$ = {in_tex(name)}"
        axis.plot(shown + 1, run.subsidy[shown], linestyle=style, color=colour, label=label)
    axis.axhspan(relaxed.smallest_subsidy - 1e-9, relaxed.subsidy + 1e-9, color="grey", alpha=0.35)
    axis.axhline(relaxed.subsidy, color="black", linewidth=0.9)
    axis.set(xscale="log", xlabel="epoch", ylabel="price (units of the index)")
    axis.legend()
    chosen = next(iter(runs))
    spread = {name: float(run.subsidy[late(run)].std()) for name, run in runs.items()}
    last = runs[chosen].subsidy[-1]
    low, high = relaxed.smallest_subsidy, relaxed.subsidy
    one = has_one_multiplier(relaxed)
    marked = (
        f"the multiplier of the relaxed problem ({high:.2f}) as a line"
        if one
        else f"the multipliers of the relaxed problem ({low:.2f} to {high:.2f}) in grey"
    )
    truth = f"multiplier is {high:.2f}" if one else f"multipliers go from {low:.2f} to {high:.2f}"
    save_figure(
        "dual-descent-steps",
        fig,
        pd.DataFrame({"epoch": shown + 1, **{n: run.subsidy[shown] for n, run in runs.items()}}),
        caption=f"Price against time for {len(runs)} step rules at a budget of {budget:g}, with "
        f"{marked}. In the second half of the run the price varies by {spread[chosen]:.3f} "
        f"(standard deviation) with steps of {in_tex(chosen)}{in_tex(and_most(spread, chosen))}.",
        alt=f"{len(runs)} price paths on a logarithmic time axis. With steps of {chosen} the "
        f"price ends at {last:.2f}, where the {truth}, and varies by {spread[chosen]:.3f} in the "
        f"second half of the run{and_most(spread, chosen)}.",
    )


def in_tex(words: str) -> str:
    """Write the step rules a / (t+1)^p within some words as formulas."""
    formula = r"$\1/(t+1)^{\2}$"
    return re.sub(r"(\S+) / \(t\+1\)\^([\d.]*\d)", formula, words).replace("^{1}$", "$")


def and_most(spread: Mapping[str, float], chosen: str) -> str:
    """Return a text on the steps with which the price varies most, if not the chosen ones."""
    widest = max(spread, key=lambda name: spread[name])
    if not apart(spread[chosen], spread[widest], ".3f"):
        return ", and by no more with any other"
    return f", and by {spread[widest]:.3f} with {widest}"
