"""Timetables on random and on chosen sets: their loss, and that of the index policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.ephemeral.instances import even_decay_sources, random_set
from analysis.ephemeral.optimum.static import schedule_reward, spread_schedule
from analysis.ephemeral.relaxed import due_ages, relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.register import spread_ages
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.guarantees import (
    chord_loss,
    chosen_base_loss,
    guaranteed_loss,
    odd_below,
    waste,
    worst_share,
)
from analysis.ephemeral.timetables.packing import reverse
from analysis.ephemeral.timetables.table import Timetable, timetable
from book.ephemeral.shared import tabulate_hard_sets
from scorecard import COLOURS, add_legend, add_panels, label_names, paper, save_figure
from scorecard.text import pluralise

#: Sources and budgets of the comparison with the index policy; a tenth is crawled in the last ones.
SIZES = ((4, 1), (10, 1), (10, 2), (30, 1), (30, 3), (100, 10), (300, 30), (1000, 100))
#: Budgets at which ten times as many sources are planned.
BUDGETS = (1, 3, 10, 30, 100, 300, 1000, 3000)
_WARM_UP, _EPOCHS = 500, 2500


def index_loss(sources: Sources, budget: int, price: float, rng: np.random.Generator) -> float:
    """Share of the relaxed bound that the index policy loses, after a warm-up; not negative.

    The bound is that of the epochs that are simulated: by weak duality at a price lambda a source
    whose gaps add up to T + a(0) - a(T), with its ages a at both ends, earns at most lambda for
    each crawl and c_i for each epoch of its gaps.
    """
    scheduler = Scheduler(sources, budget, spread_ages(sources, budget, rng))
    for _ in range(_WARM_UP):
        scheduler.crawl()
    first = scheduler.ages
    earned = sum(scheduler.crawl()[1].sum() for _ in range(_EPOCHS))
    gap = due_ages(sources, price)
    surplus = np.maximum(0.0, (sources.state_at_age(gap) - price) / gap)
    gaps = _EPOCHS + first - scheduler.ages
    return float(1 - earned / (price * budget * _EPOCHS + np.sum(surplus * gaps)))


def compare_losses(replications: int, seed: int) -> pd.DataFrame:
    """Compare timetable, index policy and even list with the relaxed bound on random sets."""
    rows = []
    for size, budget in SIZES:
        for replication in range(replications if size < 1000 else min(replications, 3)):
            rng = np.random.default_rng([seed, size, budget, replication])
            sources = even_decay_sources(size, rng)
            table = timetable(sources, budget)
            rewards = {
                "timetable": table.average_reward,
                "powers of two": timetable(sources, budget, odd_parts=(1,)).average_reward,
                "even list": _even_list(sources, budget),
            }
            lost = {name: 1 - reward / table.bound for name, reward in rewards.items()}
            lost["index"] = index_loss(sources, budget, table.price, rng)
            rows.append({"sources": size, "budget": budget, "replication": replication, **lost})
    return pd.DataFrame(rows)


def _even_list(sources: Sources, budget: int) -> float:
    """Reward of the list that spreads the relaxed frequencies, earliest deadline first."""
    frequency = np.clip(relaxed_problem(sources, budget).frequency, 0.0, 1.0)
    return schedule_reward(sources, spread_schedule(frequency, budget, 2520))


def compare_losses_by_budget(budgets: Sequence[int], seed: int) -> pd.DataFrame:
    """Compare losses of timetables, for ten sources a crawl, with the loss that no set exceeds."""
    rows = []
    for budget in budgets:
        rng = np.random.default_rng([seed, budget])
        sources = even_decay_sources(10 * budget, rng)
        best = timetable(sources, budget)
        plain = timetable(sources, budget, odd_parts=(1,))
        rows.append(
            {
                "budget": budget,
                "proved": guaranteed_loss(budget),
                "timetable": 1 - best.average_reward / best.bound,
                "powers of two": 1 - plain.average_reward / plain.bound,
                "grid": best.grid,
            }
        )
    return pd.DataFrame(rows)


def compute_hard_rewards() -> pd.DataFrame:
    """Return the rewards of the index policy and timetables on the hard sets, and their bounds."""
    return tabulate_hard_sets(_hard_reward)


def _hard_reward(sources: Sources, budget: int) -> dict[str, float]:
    bound = relaxed_bound(sources, budget)[0]
    index = long_run_cycle(sources, "whittle", budget).average_reward
    table = timetable(sources, budget, odd_parts=(1,)).average_reward
    return {
        "bound": bound,
        "timetable": table,
        "index": index,
        "timetable's loss": 1 - table / bound,
        "index's loss": 1 - index / bound,
        "index below timetable": 1 - index / table,
    }


def compute_random_set_losses(instances: int, seed: int) -> pd.DataFrame:
    """Return the losses of timetable and index policy on the book's random sets of four."""
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        table = timetable(sources, budget)
        index = long_run_cycle(sources, "whittle", budget).average_reward
        rows.append((1 - table.average_reward / table.bound, 1 - index / table.bound))
    return pd.DataFrame(rows, columns=["timetable", "index"])


def compute_equal_source_losses(copies: Sequence[int]) -> pd.DataFrame:
    """Return the loss of powers of two on equal sources, one crawl an epoch, at the worst decay."""
    rows = []
    for number in copies:
        worst = 0.0
        for decay in np.linspace(1.45, 1.7, 26) / number:
            alike = Sources(np.full(number, decay), np.ones(number), np.full(number, decay))
            table = timetable(alike, 1, odd_parts=(1,))
            worst = max(worst, 1 - table.average_reward / table.bound)
        rows.append((number, worst, chord_loss(2.0)))
    return pd.DataFrame(rows, columns=["sources", "loss", "proved"])


# Values and tables


#: Ratio of neighbouring gaps, by the name of a value.
RATIOS = {"two": 2.0, "three-halves": 1.5, "four-thirds": 4 / 3, "five-quarters": 1.25}


def collect_theorem_values() -> dict[str, float]:
    """Return the constants that the page's theorems name."""
    eta = {f"eta-{name}": chord_loss(ratio) for name, ratio in RATIOS.items()}
    two = chord_loss(2.0)
    return {
        **eta,
        "promise": 1 - two,
        "excess": _round_up(1 / (1 - two) - 1, 4),
        "concave-promise": 2 * np.sqrt(2) - 2,
        "worst-share": worst_share(),
        "base-two": chosen_base_loss(1),
        "base-four": chosen_base_loss(2),
        "base-limit": chosen_base_loss(),
        "waste-three": waste(odd_below(2)),
        "waste-seven": waste(odd_below(3)),
    }


def collect_pair_values() -> dict[str, float]:
    """Return the loss of two sources if both have constant gaps."""
    pair = Sources(np.array([40.0, 0.5]), np.ones(2), np.array([40.0, 0.001]))
    # Gaps with a common divisor leave half of the epochs to each: the first alone earns more.
    alone = float(pair.state_at_age([1, 1])[0])
    return {"strict-loss": 1 - alone / timetable(pair, 1).average_reward}


def _round_up(number: float, digits: int) -> float:
    """Round up, as a bound has to be."""
    return float(np.ceil(number * 10.0**digits) / 10.0**digits)


def collect_table_values(table: Timetable) -> dict[str, float]:
    """Return the page's numbers on its timetable."""
    crawled = np.unique(table.source).size
    return {
        "earned": table.average_reward,
        "bound": table.bound,
        "margin": _round_up(max(table.margin, 0.0), 5),
        "price": table.price,
        "sources": len(table.sources),
        "crawled": crawled,
        "never": len(table.sources) - crawled,
        "shares": bool(crawled < len(table)),
    }


def collect_explorable_values(table: Timetable) -> dict[str, float]:
    """Return the page's numbers on the timetable that its explorable opens with."""
    return {
        "few-budget": table.budget,
        "few-sources": len(table.sources),
        "few-earned": table.average_reward,
        "few-bound": table.bound,
    }


def collect_solution_values() -> dict[str, float]:
    """Return the numbers of the solutions."""
    three = Sources(np.full(3, 0.5), np.ones(3), np.full(3, 0.5))
    plain, mixed = timetable(three, 1, odd_parts=(1,)), timetable(three, 1)
    return {
        "solution-plain": 1 - plain.average_reward / plain.bound,
        "solution-mixed": 1 - mixed.average_reward / mixed.bound,
    }


# Figures


_SHOWN = 16  # epochs


def list_blocks(table: Timetable) -> pd.DataFrame:
    """Return the block on the line [0, M) of each entry of a timetable of powers of two."""
    digits = int(np.log2(table.gap.max(initial=1)))
    start = table.channel + reverse(table.phase, digits) / 2.0**digits
    names = table.sources.names or ()
    columns = {"start": start, "length": 1.0 / table.gap, "gap": table.gap, "phase": table.phase}
    frame = pd.DataFrame({"source": [names[i] for i in table.source], **columns})
    return frame.sort_values("start", kind="stable", ignore_index=True)


def draw_blocks(table: Timetable) -> None:
    """Draw the line of blocks, and the epochs at which each source is crawled."""
    drawn = list_blocks(table).head(40)
    crawled = list(dict.fromkeys(drawn["source"]))
    names = table.sources.names or ()
    written, numbers = label_names(names)
    labels = dict(zip(names, written, strict=True))
    hatches = ("", "//", "..", "xx")
    used = float((1 / table.gap).sum())

    def draw(figure: Figure) -> pd.DataFrame:
        line, epochs = add_panels(figure, 2, 1)
        rows = zip(*(drawn[c].tolist() for c in ("source", "start", "length", "gap", "phase")),
                   strict=True)  # fmt: skip
        for name, start, length, gap, phase in rows:
            number = crawled.index(name)
            look: dict[str, Any] = {
                "facecolor": COLOURS[number % len(COLOURS)],
                "hatch": hatches[number // len(COLOURS) % len(hatches)],
                "edgecolor": paper(),
            }
            line.add_patch(Rectangle((start, 0), length, 1, **look))
            if length > 0.06 * table.budget:
                middle = start + length / 2
                # On paper of their own, names can be read on every colour, on light and dark pages.
                ground = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}
                words = {"ha": "center", "va": "center", "bbox": ground, "color": "black"}
                line.text(middle, 0.5, labels[name], **words)
            for epoch in range(phase, _SHOWN, gap):
                epochs.add_patch(Rectangle((epoch - 0.5, number - 0.4), 1, 0.8, **look))
        line.set(xlim=(0, table.budget), ylim=(0, 1), yticks=[], xlabel="budget (crawls per epoch)")
        epochs.set(xlim=(-0.5, _SHOWN - 0.5), ylim=(len(crawled) - 0.5, -0.5), xlabel="epoch",
                   ylabel="source")  # fmt: skip
        epochs.set_yticks(range(len(crawled)), [labels[name] for name in crawled])
        return drawn

    save_figure(
        "timetable-blocks",
        draw,
        caption=f"A timetable of powers of two. The budget of {table.budget} as a line, cut into "
        "blocks of lengths 1/gap (top), "
        "and the epochs that each block becomes (bottom): the two halves of a block are every "
        f"second of its epochs. Crawled: {pluralise(len(crawled), 'source')}; used: {used:g} of a "
        f"budget of {table.budget}.{numbers}",
        alt=f"A line from 0 to {table.budget} cut into {pluralise(len(drawn), 'block')}, one "
        f"colour a source, and below it a row of marks for each source over {_SHOWN} epochs: "
        "evenly spaced for all sources with one block.",
        height=4.6,
    )


def draw_by_budget(frame: pd.DataFrame) -> None:
    """Draw proved and measured losses against the budget."""
    looks = (
        ("proved", "proved for every set", "-", None),
        ("powers of two", "powers of two, measured", "--", "s"),
        ("timetable", "best grid, measured", "-.", "o"),
    )
    last = frame.iloc[-1]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, (column, label, style, marker) in zip(COLOURS, looks, strict=False):
            loss = 100 * frame[column].clip(lower=1e-9)
            axis.loglog(frame.budget, loss, style, marker=marker, color=colour, label=label)
        axis.set(xlabel="budget M (crawls per epoch)", ylabel="loss (% of the bound)")
        add_legend(figure)
        return frame

    save_figure(
        "timetable-losses",
        draw,
        caption="What a timetable loses at most, proved for every set of sources, and what it "
        f"loses on random sets of ten sources a crawl. At M = {int(last.budget)} the best grid "
        f"loses {last.timetable:.1e} of the bound, where {last.proved:.2%} is proved.",
        alt="Three curves of loss against the budget on logarithmic axes. The proved loss is "
        f"{frame.proved.iloc[0]:.2%} at first and {last.proved:.2%} at last; that of powers of two "
        f"is near {last['powers of two']:.2%}; the best grid falls to {last.timetable:.1e}.",
        height=3.8,
    )


def draw_against_index(frame: pd.DataFrame) -> None:
    """Draw the losses of timetable, index policy and even list by size."""
    groups = frame.groupby(["sources", "budget"], sort=False)
    position = np.arange(groups.ngroups)
    sizes = frame[["sources", "budget"]].drop_duplicates().to_numpy().tolist()
    labels = [f"{size},\n{budget}" for size, budget in sizes]
    means = groups[["timetable", "index"]].mean()
    better = int((means["index"] < means["timetable"]).sum())

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for shift, colour, marker, name in zip(
            (-0.2, 0, 0.2), COLOURS, "os^", ("timetable", "index", "even list"), strict=False
        ):
            mean, most, least = (
                100 * getattr(groups[name], how)() for how in ("mean", "max", "min")
            )
            bars = np.maximum(0, [mean - least, most - mean])
            look: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "linestyle": "none",
                "capsize": 2,
            }
            axis.errorbar(position + shift, mean, yerr=bars, label=name, **look)
        axis.set_xticks(position, labels)
        axis.set(yscale="log", xlabel="sources N, budget M", ylabel="loss (% of the bound)")
        axis.set_ylim(1e-4, 10)
        add_legend(figure)
        return frame

    save_figure(
        "timetable-index",
        draw,
        caption="Loss against the relaxed bound on random sets of different sources: mean, and "
        "range over the sets of a size; for the index policy the bound is that "
        f"of the simulated epochs. On average the index policy earns more at {better} of "
        f"{len(means)} sizes.",
        alt=f"Points with bars at {len(means)} sizes on a logarithmic axis. The timetable's mean "
        f"loss goes from {means.timetable.iloc[0]:.2%} to {means.timetable.iloc[-1]:.3%}, the "
        f"index policy's from {means['index'].iloc[0]:.2%} to {means['index'].iloc[-1]:.3%}.",
        instances="timetable-sets",
        height=3.8,
    )
