"""Many machines: the price of limits on ages and of a split, against the relaxed problem.

The schedulers themselves are run, and their reward is compared with the value of the relaxed
problem under the same limits or quotas, which no policy exceeds in the long run.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 3 and 6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ephemeral.relaxed import relaxed_bound, relaxed_problem
from analysis.ephemeral.scheduler.core import Scheduler, rewards
from analysis.ephemeral.scheduler.partition import PASS, PartitionedScheduler
from analysis.ephemeral.scheduler.register import spread_ages
from analysis.ephemeral.sources import Sources
from analysis.results import Estimate
from scorecard import COLOURS, add_legend, add_panels, save_figure, save_table

#: Parts of a run of which the losses are compared: as published, each lasts a mean gap.
BLOCKS = 6


#: Epochs in which a schedule with a crawl delay is followed until it repeats itself.
LONGEST = 5000


def cycle_reward(sources: Sources, budget: float, delay: int) -> float:
    """Return the reward per epoch over the cycle of the index policy under a crawl delay.

    All ages are the delay at the start. Where no cycle shows within `LONGEST` epochs it is the mean
    of their second half.
    """
    scheduler = Scheduler(sources, budget, delay, min_age=delay)
    oldest = np.maximum(delay, np.ceil(-np.log(np.finfo(float).eps / 4) / sources.decay))
    first_epoch: dict[tuple[float, ...], int] = {}
    earned: list[float] = []
    while len(earned) < LONGEST:
        ages = tuple(np.minimum(scheduler.ages, oldest))
        if ages in first_epoch:
            return float(np.mean(earned[first_epoch[ages] :]))
        first_epoch[ages] = len(earned)
        earned.append(float(scheduler.crawl()[1].sum()))
    return float(np.mean(earned[LONGEST // 2 :]))


def compute_price_of_limits(
    sources: Sources,
    budget: float,
    limits: list[tuple[int, float]],
    warm_up: int,
    epochs: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Share of the reward that limits on ages cost: the policy's, and the best possible.

    `limits`: minimal and maximal age of all sources, which may be ``inf``. Half-widths are from
    `BLOCKS` parts of the run; ``spent`` is a share of the budget.
    """
    free = relaxed_bound(sources, budget)[0]
    rows = []
    for low, high in limits:
        relaxed = relaxed_problem(sources, budget, min_age=max(low, 1), max_age=high)
        due = np.where(np.isinf(relaxed.age), np.ceil(10.0 / sources.decay), relaxed.age)
        age = 1 + np.floor(rng.random(len(sources)) * due).astype(np.int64)
        most = None if np.isinf(high) else int(high)
        scheduler = Scheduler(sources, budget, age, min_age=low, max_age=most)
        rewards(scheduler, warm_up)
        crawls = [scheduler.crawl() for _ in range(epochs)]
        spent = np.mean([sources.cost[numbers].sum() for numbers, _ in crawls]) / budget
        earned = np.array([reward.sum() for _, reward in crawls])
        error = Estimate.of(_average_by_block(earned) / free).half_width
        rows.append((low, high, 1 - earned.mean() / free, error, 1 - relaxed.bound / free, spent))
    columns = ["min_age", "max_age", "policy", "half_width", "relaxed", "spent"]
    return pd.DataFrame(rows, columns=columns)


def compute_price_of_parts(
    sources: Sources,
    budget: float,
    parts: list[int],
    warm_up: int,
    epochs: int,
    seed: int,
) -> pd.DataFrame:
    """Share of one scheduler's reward that a split over several costs.

    Parts exchange a multiplier, or their quotas are fixed. Half-widths are from `BLOCKS` parts of
    the run, one after another.
    """
    ages = spread_ages(sources, budget, np.random.default_rng(seed))
    single = Scheduler(sources, budget, ages)
    rewards(single, warm_up)
    unsplit = rewards(single, epochs)
    rows = []
    for count in parts:
        for name, assignment in split_sources(sources, count, seed).items():
            for exchange in (False, True):
                many = PartitionedScheduler(sources, assignment, budget, ages, exchange=exchange)
                rewards(many, warm_up)
                earned = rewards(many, epochs)
                half_width = Estimate.of(
                    1 - _average_by_block(earned) / _average_by_block(unsplit)
                ).half_width
                rows.append((count, name, exchange, 1 - earned.mean() / unsplit.mean(), half_width))
    return pd.DataFrame(rows, columns=["parts", "split", "exchange", "loss", "half_width"])


def _average_by_block(earned: Floats) -> Floats:
    """Return the mean rewards of the parts of a run, shape (`BLOCKS`,)."""
    return np.array([block.mean() for block in np.array_split(earned, BLOCKS)])


def compute_bound_of_parts(
    sources: Sources, budget: float, parts: list[int], seed: int
) -> pd.DataFrame:
    """Share of the relaxed bound that is lost when parts have quotas by their number of sources."""
    unsplit = relaxed_bound(sources, budget)[0]
    rows = []
    for count in parts:
        for name, assignment in split_sources(sources, count, seed).items():
            members = [np.flatnonzero(assignment == p) for p in range(count)]
            quotas = [budget * own.size / len(sources) for own in members]
            bounds = [
                relaxed_bound(sources.subset(own), quota)[0]
                for own, quota in zip(members, quotas, strict=True)
            ]
            rows.append((count, name, 1 - sum(bounds) / unsplit))
    return pd.DataFrame(rows, columns=["parts", "split", "loss"])


def split_sources(sources: Sources, count: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """Split sources into parts of one size, at random and in order of decay rate."""
    size = len(sources)
    rng = np.random.default_rng([seed, count])
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(sources.decay_rate, kind="stable")] = np.arange(size)
    return {"at random": rng.permutation(size) % count, "by decay rate": rank * count // size}


# Values and tables


def blank_infinities(price: pd.DataFrame) -> pd.DataFrame:
    """Return prices as a table shows them: no maximal age where there is no limit, no errors."""
    return price.drop(columns="half_width").replace(np.inf, np.nan)


def collect_explorable_values(
    sources: Sources, budget: int = 2, delay: int = 2
) -> dict[str, float]:
    """Return budget, crawl delay, reward and bound with which the calendar's explorable opens."""
    earned = cycle_reward(sources, budget, delay)
    bound = float(relaxed_problem(sources, budget, min_age=delay).bound)
    return {
        "few-sources": len(sources),
        "few-budget": budget,
        "few-delay": delay,
        "few-earned": earned,
        "few-bound": bound,
        "few-share": 100 * earned / bound,
    }


def collect_limit_predicates(price: pd.DataFrame) -> dict[str, float]:
    """Return the ends of the limits, the policy's prices there, and what sentences depend on."""
    least, most = price[np.isinf(price.max_age)], price[np.isfinite(price.max_age)]
    dearer = (np.diff(least.policy) > 0).all() and (np.diff(most.policy) < 0).all()
    return {
        "min-first": int(least.min_age.iloc[0]),
        "min-last": int(least.min_age.iloc[-1]),
        "min-low": float(least.policy.iloc[0]),
        "min-high": float(least.policy.iloc[-1]),
        "max-first": int(most.max_age.iloc[0]),
        "max-last": int(most.max_age.iloc[-1]),
        "max-low": float(most.policy.iloc[0]),
        "max-high": float(most.policy.iloc[-1]),
        "gap": float((price.policy - price.relaxed).max()),
        "limits-dearer": bool(dearer),
    }


def collect_part_predicates(simulated: pd.DataFrame, by_decay: pd.Series) -> dict[str, bool]:
    """Return whether a shared multiplier loses clearly less than quotas, split by decay rate."""
    shared = simulated[simulated.exchange].loss.abs().max()
    return {"multiplier-wins": bool(shared < 0.5 * by_decay.min())}


def collect_part_values(
    simulated: pd.DataFrame, bounds: pd.DataFrame, size: int
) -> dict[str, float]:
    """Return the page's numbers on a split over machines.

    ``slope`` is the loss on a random split times the sources on a machine.
    """
    at_random = bounds[bounds.split == "at random"]
    by_decay = bounds[bounds.split == "by decay rate"].set_index("parts").loss
    return {
        "noise": loss_with_multiplier(simulated),
        "slope": float((at_random.loss * size / (at_random.parts - 1)).mean()),
        "few": int(by_decay.index[0]),
        "few-loss": float(by_decay.iloc[0]),
        "many": int(by_decay.index[-1]),
        "many-loss": float(by_decay.iloc[-1]),
        **collect_part_predicates(simulated, by_decay),
    }


def loss_with_multiplier(simulated: pd.DataFrame) -> float:
    """Return how far any 95% interval of the loss with a shared multiplier reaches from zero."""
    shared = simulated[simulated.exchange]
    return float((shared.loss.abs() + shared.half_width).max())


def collect_cluster_values(plan: dict[str, float]) -> dict[str, float]:
    """Return the page's numbers on a cluster, from `cluster_plan`, in GB, s and kB."""
    return {
        "plan-memory": plan["memory"] / 1e9,
        "plan-seconds": plan["seconds"],
        "plan-kb": plan["bytes"] / 1e3,
    }


def save_cluster(plan: dict[str, float], sources: float, machines: int, bandwidth: float) -> None:
    """Save the table of what an epoch takes on a cluster."""
    lines = {
        "sources on a machine": f"{plan['sources']:.2g}",
        "memory of its calendar": f"{plan['memory'] / 1e9:.2g} GB",
        "crawls an epoch on a machine": f"{plan['crawls']:.2g}",
        "one bare pass over its sources": f"{plan['sources'] * PASS / bandwidth:.2g} s",
        "calendar's epoch, one core": f"{plan['seconds']:.2g} s",
        "messages an epoch, all machines": f"{plan['messages']:,}",
        "numbers exchanged an epoch": f"{plan['bytes'] / 1e3:.3g} kB",
        "instead, every index to one place": f"{plan['indices'] / 1e9:.3g} GB",
    }
    save_table(
        "many-machines-cluster",
        pd.Series(lines, name="amount").rename_axis("quantity").to_frame(),
        f"What an epoch takes for {sources:.0e} sources on {machines} machines, by calculation.",
    )


# Figures


def draw_limits(price: pd.DataFrame, size: int) -> None:
    """Draw what minimal and maximal ages cost: the policy's price, and the least possible."""
    least, most = price[np.isinf(price.max_age)], price[np.isfinite(price.max_age)]
    sides = ((least, "min_age", "minimal age (epochs)"), (most, "max_age", "maximal age (epochs)"))
    difference = price.policy - price.relaxed

    def draw(figure: Figure) -> pd.DataFrame:
        axes = add_panels(figure, 2, sharey=True)
        for axis, (prices, column, label) in zip(axes, sides, strict=True):
            line = {
                "color": COLOURS[0],
                "linestyle": "--",
                "label": "relaxed bound under the limit",
            }
            axis.loglog(prices[column], 100 * prices.relaxed, **line)
            dots = {"color": COLOURS[1], "label": "index policy under the limit"}
            axis.loglog(prices[column], 100 * prices.policy, "o", **dots)
            bars = {"fmt": "none", "ecolor": COLOURS[1], "capsize": 2}
            axis.errorbar(prices[column], 100 * prices.policy, 100 * prices.half_width, **bars)
            axis.set(xlabel=label)
        figure.supylabel("price (% of the reward without)")
        add_legend(figure)
        return price

    save_figure(
        "many-machines-limits",
        draw,
        caption="What a minimal age (first) and a maximal age (second), the same for all "
        f"{size:,} sources, cost in % of the relaxed bound without limits. Dots: the "
        f"policy, with 95% intervals from {BLOCKS} parts of the run; line: the least that any "
        f"policy must lose. They differ by at most {difference.abs().max():.2%} of the bound.",
        alt="Two panels on logarithmic axes. The price goes with the minimal age from "
        f"{least.policy.iloc[0]:.2%} to {least.policy.iloc[-1]:.0%}, and with the maximal "
        f"age from {most.policy.iloc[0]:.0%} to {most.policy.iloc[-1]:.2%}. The dots of the policy "
        f"lie between {difference.min():+.2%} and {difference.max():+.2%} of the bound from the "
        "lines.",
        height=3.5,
    )


def draw_parts(simulated: pd.DataFrame, bounds: pd.DataFrame, size: int) -> None:
    """Draw what a split over machines costs, under fixed quotas and with a shared multiplier."""
    noise = loss_with_multiplier(simulated)
    fixed = simulated[~simulated.exchange]
    measured = fixed[fixed.loss > fixed.half_width]  # the bars of others reach down to any floor
    lowest, highest = 100 * min(bounds.loss.min(), noise), 300 * bounds.loss.max()
    by_decay = bounds[bounds.split == "by decay rate"].loss

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, (split, bound) in zip(
            COLOURS, ("-", "--"), bounds.groupby("split"), strict=False
        ):
            line = {"color": colour, "linestyle": style, "label": f"fixed quotas, split {split}"}
            axis.loglog(size / bound.parts, 100 * bound.loss, **line)
            runs = measured[measured.split == split]
            bars = {"fmt": "o", "color": colour, "capsize": 2}
            axis.errorbar(size / runs.parts, 100 * runs.loss, 100 * runs.half_width, **bars)
        line = {"color": COLOURS[2], "linestyle": ":", "label": "shared multiplier: at most"}
        axis.axhline(100 * noise, **line)
        axis.set(xlabel="sources on each machine", ylabel="loss (% of the reward)")
        axis.set_ylim(0.3 * lowest, highest)
        add_legend(figure)
        return pd.concat(
            [simulated.assign(kind="simulated"), bounds.assign(kind="bound", exchange=False)]
        )

    save_figure(
        "many-machines-parts",
        draw,
        caption=f"What is lost by splitting {size:,} sources over machines. With a shared "
        f"multiplier no 95% interval reaches further than {np.ceil(1e5 * noise) / 1e5:.3%} "
        "(dotted). Lines: loss of the relaxed bound under fixed quotas; dots: of simulated runs, "
        f"where it exceeds its 95% interval from {BLOCKS} parts of a run.",
        alt="Loss against sources on each machine, logarithmic axes. Fixed quotas on a random "
        "split lose in inverse proportion to the number of sources on a machine, on a split by "
        f"decay rate {by_decay.min():.2%} to {by_decay.max():.2%}; a shared multiplier loses at "
        f"most {noise:.1e}.",
        height=3.7,
    )
