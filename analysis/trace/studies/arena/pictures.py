"""The figure of the page on deployed rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure
from analysis.trace.studies.arena.numbers import LABELS, SIZES


def draw_rules(table: pd.DataFrame) -> None:
    """Draw the value of every policy at the three budgets, with intervals."""
    names = list(LABELS)
    fig, axis = figure(height=7.0)
    place = np.arange(len(names))[::-1]
    for size, colour, marker, shift in zip(SIZES, COLOURS, "os^", (0.2, 0.0, -0.2), strict=False):
        part = table[table["size"] == size].set_index("policy").loc[names]
        budget = int(part["visits_an_hour"].iloc[0])
        # An interval from few weeks need not hold the value itself.
        middle, half = (part["low"] + part["high"]) / 2, (part["high"] - part["low"]) / 2
        axis.errorbar(middle, place + shift, xerr=half, fmt="none", ecolor=colour, capsize=2)
        axis.plot(
            part["value"], place + shift, marker, color=colour, markersize=4,
            label=f"{budget} an hour",
        )  # fmt: skip
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_yticks(place, [LABELS[name] for name in names], fontsize="small")
    axis.set(xlabel="value / value of the index with trained rates", xlim=(0, None))
    fig.legend(loc="outside lower center", ncols=3, fontsize="small")
    found = table.set_index(["size", "policy"])["value"]
    values_text = "; ".join(
        f"{LABELS[name]} " + ", ".join(f"{found[size, name]:.2f}" for size in SIZES)
        for name in names
    )
    others = [name for name in names if name != "index"]
    better = [str(sum(found[size, name] > 1 for name in others)) for size in SIZES]
    save_figure(
        "arena-values",
        fig,
        table[table["policy"] != "clairvoyant"],
        "Value found on the trace in units of the index with trained rates, at three budgets, with "
        f"block-bootstrap 95% intervals. Of {len(others)} other policies "
        f"{', '.join(better[:-1])} and {better[-1]} earn more at the three budgets.",
        f"Three marks a policy, one a budget. {values_text}.",
        instances="arena-rules",
    )
