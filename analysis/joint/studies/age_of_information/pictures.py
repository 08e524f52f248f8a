"""Figures of the page `age-of-information`."""

from __future__ import annotations

import pandas as pd

from analysis.joint.studies.age_of_information.experiment import DISCIPLINES
from analysis.report import COLOURS, figure, save_figure

STYLES = ("-", "--", ":", "-.")


def save_curves(frame: pd.DataFrame, decay: float) -> None:
    """Draw mean age and worth against the load, by discipline."""
    fig, axes = figure(1, 2, height=3.5)
    groups = [(name, frame[frame["discipline"] == name]) for name in DISCIPLINES]
    for (name, rows), colour, style in zip(groups, COLOURS, STYLES, strict=False):
        axes[0].plot(rows["load"], rows["age"], style, color=colour, label=name)
        axes[1].plot(rows["load"], rows["worth"], style, color=colour)
    axes[0].set(ylabel="mean age (indexing times)", ylim=(0, 12))
    axes[1].set(ylabel="worth indexed\nper indexing time", ylim=(0, None))
    for axis in axes:
        axis.set(xlabel="load")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=1)
    most = {name: rows["worth"].max() for name, rows in groups}
    values_text = ", ".join(f"{name} {value:.2f}" for name, value in most.items())
    save_figure(
        "age-of-information-curves",
        fig,
        frame,
        caption="First come first served, there is a load of the least age and one of the most "
        "worth; with preemption more pages never hurt. Mean age of the freshest page indexed, and "
        f"worth indexed of pages that fade at {decay:g} times the rate of indexing.",
        alt="Four curves in each of two panels. First come first served has a least age and a "
        "largest worth at loads below one; the worth of the others rises with the load. Largest "
        f"worth shown: {values_text}.",
    )
