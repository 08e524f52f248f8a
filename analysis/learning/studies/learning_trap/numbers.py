"""Values and tables of the page `learning-trap`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.learning.identification import closed_loop
from analysis.learning.regret.random_sets import APART, STARTS, slope, summary
from analysis.learning.studies.learning_trap.experiment import (
    AtPrice,
    Decisions,
    Trapped,
    belief,
    example,
    summary_of_kinds,
)
from analysis.report import plus_minus, save_data, save_table, save_value
from analysis.results import Estimate

#: What the worked example takes for the decay factor of source 1.
BELIEVED = 0.5

SHORT = {
    "UCB on the index": "ucb",
    "the estimate": "estimate",
    "Whittle-index Q-learning": "q",
    "UCWhittle": "ucwhittle",
    "Thompson": "thompson",
    "pairs": "pairs",
    "gain and pairs": "gain",
    "draws and pairs": "draws",
    "items": "items",
}


def report_example(table: pd.DataFrame, found: Trapped) -> None:
    """Save what the worked example gives."""
    truth, believed = (closed_loop(example(), b, 1) for b in (example(), belief(BELIEVED)))
    save_value("learning-trap-believed", BELIEVED)
    save_value("learning-trap-believed-limit", float(belief(BELIEVED).u_star[0]))
    save_value("learning-trap-best", truth.cycle.average_reward)
    save_value("learning-trap-earned", believed.cycle.average_reward)
    save_value("learning-trap-loss", 100 * believed.loss)
    trapped = table[table.gap == 2]
    save_value("learning-trap-some", len(trapped) > 0)
    if len(trapped):
        save_value("learning-trap-low", float(trapped.alpha.min()))
        save_value("learning-trap-high", float(trapped.alpha.max()))
    ends = (100 * found.low, 100 * found.high)
    save_value("learning-trap-share", 100 * found.share, interval=ends, replications=found.runs)
    for name, value in (("low", ends[0]), ("high", ends[1]), ("early", 100 * found.early)):
        save_value(f"learning-trap-share-{name}", value)
    save_value("learning-trap-never", found.share == 0.0)


def report_price(found: AtPrice) -> None:
    """Save losses at a given price, and the share of streams within the bound."""
    for name, lost in (("optimistic", found.optimistic), ("plain", found.plain)):
        end = Estimate.of(lost[:, -1])
        save_value(
            f"learning-trap-price-{name}", end.value, interval=end.interval, replications=len(lost)
        )
    save_value("learning-trap-price-bound", float(found.bound[-1]))
    save_value("learning-trap-price-crawls", int(found.crawls[-1]))


def report_decisions(found: Decisions) -> None:
    """Save the number of wrong decisions where items are seen, and its bound."""
    wrong = Estimate.of(found.wrong[:, -1].astype(float))
    save_value("learning-trap-wrong", wrong.value, interval=wrong.interval,
               replications=len(found.wrong))  # fmt: skip
    tenth = int(np.searchsorted(found.epochs, found.epochs[-1] // 10, side="right")) - 1
    save_value("learning-trap-wrong-early", float(found.wrong[:, tenth].mean()))
    save_value("learning-trap-wrong-early-epochs", int(found.epochs[tenth]))
    save_value("learning-trap-wrong-bound", float(found.bound[-1]))
    save_value("learning-trap-wrong-epochs", int(found.epochs[-1]))


def report_jolts(cycles: pd.DataFrame) -> None:
    """Save what a move to the best cycle by the estimates earns, where there are several."""
    gains = (cycles.entered - cycles.jolted).dropna().to_numpy()
    some = bool((gains > APART).any())
    save_value("learning-trap-some-jolts", some)
    if some:
        save_value("learning-trap-jolt", float(gains.mean()))
        save_value("learning-trap-jolt-most", float(gains.max()))
        save_value("learning-trap-jolts", int((gains > APART).sum()))


def _report_rules(table: pd.DataFrame, sets: int) -> None:
    """Save losses at the longest horizon that all rules have, and slopes up to each rule's own."""
    horizons = table.groupby("rule").horizon.max()
    common = int(horizons.min())
    save_value("learning-trap-common", common)
    for horizon, name in ((common, "loss"), (int(horizons.max()), "late")):
        for row in table[table.horizon == horizon].to_dict("records"):
            key = f"learning-trap-{SHORT[row['rule']]}-{name}"
            ends = row["low"], row["high"]
            save_value(key, row["mean"], interval=ends, replications=sets)
            save_value(f"{key}-median", row["median"])
            save_value(f"{key}-half", (row["high"] - row["low"]) / 2)
    slopes = {short: slope(table, rule) for rule, short in SHORT.items()}
    grows = {short: bool(np.isfinite(value)) for short, value in slopes.items()}
    save_value("learning-trap-slopes", grows["ucb"] and grows["draws"])
    save_value("learning-trap-items-grows", grows["items"])
    longest = table[(table.rule == "items") & (table.horizon == int(horizons.max()))]
    save_value("learning-trap-items-ahead", bool(longest["mean"].item() < 0))
    for short, value in slopes.items():
        save_value(f"learning-trap-{short}-slope", value if np.isfinite(value) else 0.0)
    means = table[table.horizon == common].set_index("rule")["mean"]
    sums = means.drop("items")
    save_value("learning-trap-items-least", bool(means["items"] < sums.min()))
    save_value("learning-trap-draws-least", bool(sums.idxmin() == "draws and pairs"))


def _report_paired(runs: pd.DataFrame) -> None:
    """Save the table of losses above that of optimism about the index, paired by sets."""
    by = runs.pivot(index="set", columns=["rule", "horizon"], values="loss")
    rows = []
    for column in by.columns.tolist():
        rule, horizon = tuple(column)
        if rule == "UCB on the index":
            continue
        more = Estimate.of((by[rule, horizon] - by["UCB on the index", horizon]).to_numpy())
        rows.append((rule, horizon, more.value, more.half_width))
        if rule == "draws and pairs" and horizon == runs.horizon.max():
            save_value("learning-trap-draws-over-ucb", more.value, interval=more.interval,
                       replications=len(by))  # fmt: skip
            save_value("learning-trap-draws-over-ucb-half", more.half_width)
            save_value("learning-trap-draws-are-less", bool(more.high < 0))
        if rule == "gain and pairs":
            place = sorted(runs.horizon.unique()).index(horizon)
            name = f"learning-trap-gain-over-ucb-{('first', 'second', 'third')[place]}"
            save_value(name, more.value, interval=more.interval, replications=len(by))
            save_value(f"{name}-half", more.half_width)
    save_table(
        "learning-trap-paired",
        pd.DataFrame(rows, columns=["rule", "horizon", "more lost (%)", "± (95%)"]).set_index(
            ["rule", "horizon"]
        ),
        "Loss of each rule less that of UCB on the index, on the same sets and arrivals; negative "
        "where less is lost.",
        formats={"more lost (%)": ".3f", "± (95%)": ".2g"},
        instances="learning-trap-runs",
    )


def report_losses(runs: pd.DataFrame, cycles: pd.DataFrame) -> pd.DataFrame:
    """Save the table of losses, the runs and the cycles; return the table."""
    table = summary(runs)
    save_data(
        "learning-trap-runs",
        runs,
        "One row a set of sources, rule and horizon.",
        {
            "set": "number of the set",
            "rule": "name of the rule",
            "horizon": "epochs",
            "loss": "loss in the second half of the horizon, %",
            "regret": "reward lost until then, in epochs of the index policy's reward",
        },
    )
    shown = table.assign(half=(table.high - table.low) / 2)
    save_table(
        "learning-trap-losses-table",
        shown[["rule", "horizon", "mean", "half", "median", "largest"]]
        .rename(columns={"mean": "mean loss (%)", "half": "± (95%)", "median": "median (%)",
                         "largest": "largest (%)"})
        .set_index(["rule", "horizon"]),
        "Loss against the index policy with known rates, in the second half of each horizon, over "
        f"{len(cycles)} random sets of sources with one stream of arrivals each; in the longest, "
        "where it exceeds 20,000 epochs, not all rules are played.",
        formats={"mean loss (%)": ".3f", "± (95%)": ".2g", "median (%)": ".3f",
                 "largest (%)": ".2f"},
        instances="learning-trap-runs",
    )  # fmt: skip
    _report_rules(table, len(cycles))
    _report_paired(runs)
    several = cycles[cycles.worst - cycles.best > APART]
    save_value("learning-trap-sets", len(cycles))
    save_value("learning-trap-starts", STARTS)
    save_value("learning-trap-several", len(several))
    save_value("learning-trap-some-several", len(several) > 0)
    save_value("learning-trap-spread", float((cycles.worst - cycles.best).max()))
    save_value("learning-trap-worst", float(cycles.worst.max()))
    save_value("learning-trap-better", float(-cycles.best.min()))
    save_data(
        "learning-trap-cycles",
        cycles,
        "One row a set: by what percentage cycles of the index policy with known rates fall "
        "short of the one from ages 1.",
        {
            "set": "number of the set",
            "sources": "number of sources",
            "budget": "sources crawled at each epoch",
            "worst": "of the worst cycle found, %",
            "best": "of the best cycle found, %; negative if it earns more",
            "entered": "of the cycle that the learner of items enters, where there are several",
            "jolted": "of the best cycle by its estimates, where there are several",
        },
    )
    report_jolts(cycles)
    return table


def report_kinds(runs: pd.DataFrame) -> None:
    """Save the losses on kinds of sources, and where draws and pairs lose most."""
    save_data(
        "learning-trap-kinds-runs",
        runs,
        "One row a kind of sources, set and rule.",
        {
            "kind": "what the sources are like",
            "set": "number of the set",
            "rule": "name of the rule",
            "loss": "loss in the second half of the run, %",
        },
    )
    table = summary_of_kinds(runs)
    text = [
        f"{plus_minus(mean, half, 2)}; {largest:.2f}"
        for mean, half, largest in zip(table["mean"], table.half, table.largest, strict=True)
    ]
    wide = table.assign(text=text).pivot(index="kind", columns="rule", values="text")
    save_table(
        "learning-trap-kinds",
        wide.loc[runs.kind.unique(), runs.rule.unique()].rename_axis(None, axis=1),
        "Loss against the index policy with known rates, in % over the second half of the run: "
        f"mean over {runs.set.nunique()} sets with one stream of arrivals each, half a 95% "
        "interval, and the largest.",
        instances="learning-trap-kinds-runs",
    )
    save_value("learning-trap-kinds-number", int(runs.kind.nunique()))
    for rule in runs.rule.unique():
        rows = table[table.rule == rule]
        most, name = rows.loc[rows["mean"].idxmax()], f"learning-trap-kinds-{SHORT[rule]}"
        save_value(f"{name}-mean", float(most["mean"]),
                   interval=(most["mean"] - most.half, most["mean"] + most.half),
                   replications=runs.set.nunique())  # fmt: skip
        save_value(f"{name}-half", float(most.half))
        save_value(f"{name}-largest", float(rows.largest.max()))
