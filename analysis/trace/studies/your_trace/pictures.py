"""Figures of the page `your-trace`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.report import COLOURS, figure, save_figure, save_value
from analysis.trace.experiment import Experiment
from analysis.trace.studies.your_trace.experiment import (
    LABELS,
    how_many_visits,
    how_visits_rise,
    who_is_left_out,
)


def draw(table: pd.DataFrame, plan: Experiment) -> None:
    """Draw the comparison."""
    fig, axis = figure(height=3.6)
    place = np.arange(len(table))[::-1]
    errors = np.array([table["ratio"] - table["low"], table["high"] - table["ratio"]])
    bars = np.maximum(np.nan_to_num(errors), 0)  # none where there is no interval
    axis.errorbar(table["ratio"], place, xerr=bars, fmt="o", color=COLOURS[0])
    axis.axvline(1, color="black", linewidth=0.8)
    axis.set(xlim=(0, None), yticks=place, xlabel="reward / index with trained rates")
    axis.set_yticklabels([LABELS[key] for key in table["policy"]])
    values_text = ", ".join(
        f"{LABELS[key]} {ratio:.2f}"
        for key, ratio in zip(table["policy"], table["ratio"], strict=True)
    )
    most = table["policy"].iloc[int(table["ratio"].to_numpy().argmax())]
    ends = "block-bootstrap 95% intervals" if table["low"].notna().any() else "no intervals"
    save_figure(
        "your-trace-policies",
        fig,
        table,
        caption=f"Value collected from {len(plan.trace)} sources in the test period, in units of "
        f"the index policy with trained rates; {ends}. Most is collected by *{LABELS[most]}*.",
        alt=f"Ratios to the index policy with trained rates: {values_text}.",
    )


def draw_schedule(table: pd.DataFrame) -> None:
    """Draw visits against items; the data of the figure is the schedule itself."""
    some = table[table["visits_per_day"] > 0]
    fig, axis = figure(height=3.6)
    axis.plot(some["items_per_day"], some["visits_per_day"], "o", color=COLOURS[0], markersize=4)
    axis.set(xlabel="items per day", ylabel="visits per day")
    for scale, column in ((axis.set_xscale, "items_per_day"), (axis.set_yscale, "visits_per_day")):
        if some[column].max() > 3 * some[column].min():  # else its ticks would run together
            scale("log")
    never = len(table) - len(some)
    save_value("your-trace-never", never)
    save_value("your-trace-some-never", never > 0)
    save_value("your-trace-visited", len(some))
    save_figure(
        "your-trace-schedule",
        fig,
        table,
        caption="The recommended schedule: visits per day against items per day. "
        f"{who_is_left_out(never, len(table))} The data of this figure is the schedule, one row a "
        "source.",
        alt=f"{how_many_visits(some['visits_per_day'])} {how_visits_rise(some)}"
        f"{who_is_left_out(never, len(table))}",
    )
