"""Figures of the page `crawler`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.sources import Sources
from analysis.results import student_band
from book.crawl.crawler import POLICIES, format_with_half, save_trouble
from scorecard import COLOURS, add_legend, add_panels, fold_names, ink, save_figure

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))


def draw_policies(table: pd.DataFrame, sites: int) -> None:
    """Draw the comparison: a dot with its interval a policy, the model's mark, and the bound."""
    position = np.arange(len(table))[::-1]
    error = np.array([table["value"] - table["low"], table["high"] - table["value"]])
    values_text = _values_text(table["policy"], table["value"])
    best = int(table["value"].to_numpy().argmax())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(table["value"], position, xerr=error, fmt="o", capsize=3, label="crawled")
        axis.plot(table["expected"], position, "|", markersize=15, mew=2, label="model")
        axis.axvline(table["bound"][0], color=ink(), linewidth=1, label="relaxed bound")
        axis.set_yticks(position, fold_names(figure, table["policy"]))
        axis.set(xlabel="value found per allowed fetch (utility)", ylim=(-0.6, len(table) - 0.4))
        axis.set_xlim(left=0)
        add_legend(figure)
        return table

    save_figure(
        "crawler-policies",
        draw,
        f"Value found per fetch that the budget allows: mean over {sites} random sites with 95% "
        "intervals, what the model expects, and the relaxed bound. Most is found by the policy "
        f"*{table['policy'].iloc[best]}*.",
        "One dot a policy with its interval, and a mark where the model puts it. Crawled: "
        f"{values_text}. The bound is {table['bound'][0]:.3f}.",
        instances="crawler-sites",
        height=3.4,
    )


def draw_learning(runs: Mapping[str, Floats], sources: Sources, budget: int) -> None:
    """Draw value per allowed fetch in blocks of time."""
    epochs = runs["index"].shape[2]
    blocks = np.linspace(0, epochs, min(11, epochs + 1)).astype(int)
    middle = 0.5 * (blocks[1:] + blocks[:-1])
    bound = relaxed_bound(sources, budget)[0] / budget
    data = []
    for name, policy in POLICIES.items():
        total = np.pad(np.cumsum(runs[policy][:, 0], axis=1), ((0, 0), (1, 0)))
        rate = np.diff(total[:, blocks], axis=1) / np.diff(blocks) / budget
        mean, low, high = student_band(rate)
        columns = {"policy": name, "epoch": middle, "mean": mean, "low": low, "high": high}
        data.append(pd.DataFrame(columns))
    frame = pd.concat(data)
    ends = frame.groupby("policy", sort=False)["mean"].agg(["first", "last"])
    values_text = ", ".join(
        f"{name} {first:.3f} to {last:.3f}" for name, first, last in ends.itertuples()
    )
    learned = next(name for name, policy in POLICIES.items() if policy == "learned_index")
    early, late = ends.loc[learned]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for (name, policy), colour, style in zip(POLICIES.items(), COLOURS, STYLES, strict=False):
            rows = frame[frame["policy"] == name]
            axis.plot(rows["epoch"], rows["mean"], color=colour, linestyle=style, label=name)
            if policy in {"index", "learned_index"}:
                band = {"color": colour, "alpha": 0.2, "linewidth": 0}
                axis.fill_between(rows["epoch"], rows["low"], rows["high"], **band)
        axis.axhline(bound, color=ink(), linewidth=1)
        axis.set(xlabel="epoch (days)", ylabel="value per allowed fetch (utility)")
        axis.set(ylim=(0, None), xlim=(0, epochs))
        add_legend(figure)
        return frame

    save_figure(
        "crawler-learning",
        draw,
        f"The same crawls in {len(middle)} blocks of time: means over {len(runs['index'])} sites, "
        "95% bands for the two index policies, and the relaxed bound as a line. The policy "
        f"*{learned}* finds {early:.3f} for each allowed fetch in the first block and {late:.3f} "
        "in the last.",
        "Curves of value per allowed fetch over time, first block to last: "
        f"{values_text}. The bound is {bound:.3f}.",
        height=3.8,
    )


def draw_trouble(table: pd.DataFrame, sites: int, outage: int) -> pd.DataFrame:
    """Draw and record what failing fetches cost; return the table of the page."""
    single = table[table["faults"] == "single"]
    share = 100 * single["share"]
    error = np.array([single["value"] - single["low"], single["high"] - single["value"]])
    shares = [f"{value:g}% of failures" for value in share]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.errorbar(share, single["value"], error, marker="o", capsize=3, label="crawled")
        axis.plot(share, single["bound"], ":", color=ink(), label="bound on every policy")
        axis.set(xlabel="expected share of failing fetches (%)", ylim=(0, None), xticks=share)
        axis.set(ylabel="value per allowed fetch (utility)")
        add_legend(figure)
        return single

    save_figure(
        "crawler-faults",
        draw,
        "What the index policy finds when a share of the fetches fails, by errors, silence and "
        f"broken feeds in equal parts: mean over {sites} sites with 95% intervals, and the bound "
        f"on every policy. With {shares[-1]} it finds "
        f"{single['value'].iloc[-1] / single['bound'].iloc[-1]:.0%} of the bound.",
        f"A line and a dotted bound. Found: {_values_text(shares, single['value'])}.",
        height=3.2,
    )
    save_trouble(table, outage)
    kinds = {"single": "single", "outage": f"outages of {outage} epochs"}
    return pd.DataFrame(
        {
            "faults": table["faults"].map(kinds),
            "share (%)": (100 * table["share"]).map("{:g}".format),
            "longest rest": table["patience"],
            "failed (%)": (100 * table["failed"]).map("{:.1f}".format),
            "value per allowed fetch": format_with_half(table),
        }
    ).set_index("faults")


def _values_text(names: object, values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in zip(names, values, strict=True))  # type: ignore[call-overload]
