"""What the page `whom-to-trust` computes, draws and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.arrays import Floats, Ints
from analysis.ephemeral import Reliability
from analysis.ephemeral.relaxed import relaxed_bound
from analysis.ephemeral.signals.guarantees import block_loss, calendar_cost, lie_bound
from analysis.ephemeral.signals.simulation import Trust
from analysis.trace.experiment import Experiment, block_weights
from analysis.trace.signals import Hub, play_pings, read_pings, recorded_pings, simulated_pings
from analysis.trace.trace import DAY, HOUR, WEEK
from book.trace.shared import (
    check_files,
    load_trace,
    make_experiment,
    measure_ratio,
    tabulate_repairs,
)
from scorecard import COLOURS, add_legend, add_panels, ink, save_figure, save_value, save_values

HUBS = ((0.9, 0.9), (0.9, 0.05), (0.3, 0.5))
"""Recall and precision of three hubs; a quarter of the sources has none."""
WAYS = {
    "known": "known before",
    "believed": "all believed",
    "learnt": "learnt",
    "filter": "learnt, death filter",
    "no credit": "learnt, no credit",
    "floor": "learnt, floor",
    "account": "learnt, account",
}
CHANGES = {
    "none": "no change",
    "dies": "the first hub dies",
    "fades": "its recall falls to a ninth",
    "lies": "false pings of its sources only",
    "spam": "one silent source is pinged",
}
OWN = {"own": "pings of your own"}
__all__ = ["check_files", "load_trace", "make_experiment"]


def assign_hubs(setting: Experiment) -> Ints:
    """Return the hub of each source: three in turn, and none."""
    return np.arange(len(setting.trace), dtype=np.int64) % 4 - 1


def spread_shares(hub: Ints, number: int) -> Floats:
    """Return recall (0) or precision (1) by source; recall 0 and precision 1 without a hub."""
    return np.array([1.0 * number, *(pair[number] for pair in HUBS)])[hub + 1]


def change_hub(setting: Experiment, before: Hub, change: str, false_pings: float) -> Hub:
    """Return how items are announced after a change of the first hub."""
    recall, false_rate = before.recall.copy(), before.false_rate.copy()
    first = assign_hubs(setting) == 0
    if change == "dies":
        recall[first], false_rate[first] = 0.0, 0.0
    elif change == "fades":
        recall[first] /= 9.0
    elif change == "lies":
        recall[first], false_rate[first] = 0.0, false_pings
    elif change == "spam":
        silent = np.flatnonzero(first)[int(np.argmin((setting.trained + setting.tested)[first]))]
        false_rate[silent] = 10 * false_pings
    return Hub(recall, false_rate)


def make_ways(
    setting: Experiment, memory: float, weight: float, lifetime: float, blocks: int
) -> dict[str, Trust]:
    """Return the ways to use pings; `memory` and `lifetime` of a hub in days, blocks in weeks."""
    hub = assign_hubs(setting)
    day = DAY / setting.period
    recall, precision = spread_shares(hub, 0), spread_shares(hub, 1)
    learnt = partial(Trust, "learnt", memory=memory * day, weight=weight)
    length = blocks * WEEK // setting.period
    sources = setting.sources(setting.trained)
    shares = (0.125, 1.0)
    costs = (
        length * calendar_cost(sources, setting.budget, shares[0]),
        length * calendar_cost(sources, setting.budget, shares[1]),
    )
    return {
        "known": Trust("known", recall, precision),
        "believed": Trust("believed", recall, precision),
        "learnt": learnt(),
        "filter": learnt(death_rate=1 / (lifetime * day)),
        "no credit": learnt(credit=False),
        "floor": learnt(shares=(0.5, 0.5), block=2),
        "account": learnt(shares=shares, costs=costs, block=length),
    }


def compare_ways(
    setting: Experiment,
    ways: dict[str, Trust],
    changes: Sequence[str],
    false_pings: float,
    block: int,
    seed: int,
) -> pd.DataFrame:
    """Return the reward over the blind one in the second half of the test period.

    The first hub changes at its beginning.
    """
    hub = assign_hubs(setting)
    before = Hub.of(spread_shares(hub, 0), spread_shares(hub, 1), setting.trained)
    weeks = (setting.end - setting.split) // WEEK
    half = weeks // 2
    second_half = weeks - half
    weights = block_weights(
        second_half, min(block, second_half), 1000, np.random.default_rng([seed, 1])
    )
    rows = []
    for number, change in enumerate(changes):
        rng = np.random.default_rng([seed, 2, number])
        after = change_hub(setting, before, change, false_pings)
        events = simulated_pings(setting, before, rng, after, half / weeks)
        blind, _ = play_pings(setting, events, Trust("blind"), hub)
        for way, trust in ways.items():
            reward, _ = play_pings(setting, events, trust, hub)
            ratio, low, high = measure_ratio(reward[half:], blind[half:], weights)
            rows.append((change, way, ratio, low, high))
    return pd.DataFrame(rows, columns=["change", "way", "ratio", "low", "high"])


def compare_own_pings(
    setting: Experiment, ways: dict[str, Trust], path: str, block: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the same for the pings of a file, which are those of one hub, and what was repaired.

    What is known before is recall and precision of the first half; without a file there is no row.
    """
    names = ["change", "way", "ratio", "low", "high"]
    if not path:
        return pd.DataFrame(columns=names), tabulate_repairs([])
    pings, repairs = read_pings(path, setting.trace)
    events = recorded_pings(setting, pings)
    weeks = (setting.end - setting.split) // WEEK
    half = weeks // 2
    weights = block_weights(
        weeks - half, min(block, weeks - half), 1000, np.random.default_rng([seed, 4])
    )
    _, warm_up = setting.clock(0)
    early = events.epoch <= warm_up + half * WEEK // setting.period
    silent, announced, false = (int((events.kind[early] == kind).sum()) for kind in range(3))
    recall = announced / max(silent + announced, 1)
    precision = announced / max(announced + false, 1)
    blind, _ = play_pings(setting, events, Trust("blind"))
    rows = []
    for way, trust in ways.items():
        reward, _ = play_pings(setting, events, replace(trust, recall=recall, precision=precision))
        rows.append(("own", way, *measure_ratio(reward[half:], blind[half:], weights)))
    return pd.DataFrame(rows, columns=names), tabulate_repairs(repairs)


def join_rows(hubs: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the table of hubs with those of a reader's own pings."""
    return pd.concat([hubs, own], ignore_index=True) if len(own) else hubs


def widen(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratios, a row a change and a column a way."""
    pivot = table.pivot(index="change", columns="way", values="ratio")
    labels = CHANGES | OWN
    order = [name for name in labels if name in pivot.index]
    return pivot.loc[order, list(WAYS)].rename(index=labels, columns=WAYS)


def save_hubs(table: pd.DataFrame) -> None:
    """Save the cells that the prose names."""
    cell = table.set_index(["change", "way"])["ratio"]
    for change, way in (("none", "no credit"), ("spam", "known"), ("spam", "learnt")):
        save_value(f"whom-to-trust-{change}-{way.replace(' ', '-')}", float(cell[change, way]))
    half = float(((table["high"] - table["low"]) / 2).max())
    save_value("whom-to-trust-half-width", half)
    learnt = table[table["way"] == "learnt"]
    save_value("whom-to-trust-learnt-least", float(learnt["ratio"].min()))
    save_value("whom-to-trust-learnt-never-below", bool((learnt["ratio"] >= 1).all()))


# A hub that turns --------------------------------------------------------------------------------


def follow_hub(memories: Sequence[float], weight: float, seed: int) -> pd.DataFrame:
    """Return the precision that is learnt of a hub whose pings all become false after a year.

    One source is crawled daily; a ping a day is true until day 365, then four a day are false, and
    none come from day 465 on.
    """
    rng = np.random.default_rng([seed, 3])
    pings, rows = rng.poisson(1.0, 365), []
    for memory in memories:
        trust = Reliability(memory, weight=weight)
        for day in range(700):
            number = int(pings[day]) if day < 365 else 4 * (day < 465)
            for _ in range(number):
                trust.observe_ping("hub", "source", float(day))
            true = number if day < 365 else 0
            trust.observe_crawl("source", float(day), true, {"hub": true})
            if day % 5 == 0:
                rows.append((memory, day, trust.precision("hub", "source", float(day))))
    return pd.DataFrame(rows, columns=["memory", "day", "precision"])


def draw_turn(table: pd.DataFrame) -> None:
    """Draw the learnt precision over time, one curve a memory."""

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, memory in zip(COLOURS, table["memory"].unique().tolist(), strict=False):
            rows = table[table["memory"] == memory]
            label = "for ever" if np.isinf(memory) else f"{memory:g} days"
            axis.plot(rows["day"], rows["precision"], color=colour, label=label)
        for day in (365, 465):
            axis.axvline(day, color=ink(), linewidth=0.8, linestyle=":")
        axis.set(xlabel="day", ylabel="learnt precision", ylim=(0, 1.02))
        add_legend(figure, title="memory")
        return table

    save_figure(
        "whom-to-trust-turn",
        draw,
        caption="Learnt precision of a hub that is honest for a year, lies for a hundred days and "
        "is then silent, by memory.",
        alt="Each curve rises towards one, falls when the lies begin, the sooner the shorter the "
        "memory, and returns towards the prior after they end, except for an endless memory.",
        height=3.2,
    )


# The price of a lie ------------------------------------------------------------------------------


def follow_liar(
    decay: float, charge: float, credit: float, weight: float, epochs: int
) -> pd.DataFrame:
    """Return what a liar costs a source of u* = 1 at a fixed charge, and the bound.

    The liar sends just enough false pings at every epoch for a crawl.
    """
    gaps = np.arange(1, 2000)
    content = -np.expm1(-decay * gaps)
    gain = float(((content - charge) / gaps).max())
    threshold = 1.0 - gain / -float(np.expm1(-decay))
    if gain <= 0:
        raise ValueError(f"charge must leave a gain at u* = 1, got {charge:g}")
    rows, sent, net, age = [], 0.0, 0.0, 0
    for epoch in range(1, epochs + 1):
        age += 1
        here = content[age - 1]
        need = max(np.ceil((threshold - here) * (weight + sent) / credit - 1e-12), 0.0)
        if sent + need <= 1e9 and age >= 2:
            sent, net, age = sent + need, net + here - charge, 0
        elif need == 0:
            net, age = net + here - charge, 0
        loss = epoch * gain - net
        rows.append((sent, loss, float(lie_bound(threshold, credit, weight, sent)) + 1.0))
    return pd.DataFrame(rows, columns=["false pings", "loss", "bound"])


def draw_lies(table: pd.DataFrame) -> None:
    """Draw loss and bound over the false pings sent."""

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.plot(table["false pings"], table["bound"], color=COLOURS[1], label="bound")
        axis.plot(table["false pings"], table["loss"], color=COLOURS[0], label="a liar's damage")
        axis.set(xscale="symlog", xlabel="false pings sent", ylabel="reward lost ($u^*$)")
        axis.set(xlim=(0, None), ylim=(0, None))
        add_legend(figure)
        return table

    save_figure(
        "whom-to-trust-lies",
        draw,
        caption="What a liar costs one source at a fixed charge, who sends just enough pings for a "
        "crawl at every second epoch, and the bound of the theorem.",
        alt="The damage rises with the logarithm of the number of false pings and stays below the "
        "bound.",
        height=3.2,
    )


# The account -------------------------------------------------------------------------------------


def compute_promises(setting: Experiment, hours: Sequence[int], weeks: int) -> pd.DataFrame:
    """Return what the account promises at some budgets, in units of the calendar's reward.

    Columns: what the calendar earns on seven eighths of the epochs, what the blocks may lose by the
    bound sum of u* and as computed, and the promise that is left.
    """
    rows = []
    for period in hours:
        trial = replace(setting, budget=1, period=period * HOUR)
        sources, length = trial.sources(trial.trained), weeks * WEEK // trial.period
        bound = relaxed_bound(sources, 1)[0]
        promise = 1.0 - calendar_cost(sources, 1, 0.125) / bound
        most = float(sources.u_star.sum()) / length / bound
        loss = max(block_loss(sources, 1, share, length) for share in (0.0, 0.125))
        share = loss / length / bound
        rows.append(
            (period, promise, most, share, max(promise - most, 0.0), max(promise - share, 0.0))
        )
    names = [
        "hours a visit", "V(7/8)", "blocks lose at most", "blocks lose, computed",
        "promise", "promise, computed",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=names).set_index("hours a visit")


def save_promises(table: pd.DataFrame) -> None:
    """Save the promise at the first budget, without and with what blocks lose."""
    first = table.iloc[0]
    save_values(
        "whom-to-trust",
        {"seven-eighths": first["V(7/8)"], "promise": first["promise, computed"],
         "proved": first["promise"]},
    )  # fmt: skip
