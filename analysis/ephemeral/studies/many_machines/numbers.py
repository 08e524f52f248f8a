"""Values and tables of the page `many-machines`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.scheduler.machines.sizing import PASS
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.many_machines.experiment import reward_of_cycle
from analysis.report import save_table


def without_infinities(price: pd.DataFrame) -> pd.DataFrame:
    """Return prices as a table shows them: no maximal age where there is no limit, no errors."""
    return price.drop(columns="half_width").replace(np.inf, np.nan)


def of_few(sources: Sources, budget: int = 2, delay: int = 2) -> dict[str, float]:
    """Return budget, crawl delay, reward and bound with which the calendar's explorable opens."""
    earned = reward_of_cycle(sources, budget, delay)
    bound = float(relaxed_problem(sources, budget, min_age=delay).bound)
    return {
        "few-sources": len(sources),
        "few-budget": budget,
        "few-delay": delay,
        "few-earned": earned,
        "few-bound": bound,
        "few-share": 100 * earned / bound,
    }


def predicates_of_limits(price: pd.DataFrame) -> dict[str, float]:
    """Return the truth values and numbers that sentences on limits depend on.

    Keys: first and last minimal and maximal age and the policy's price of each; the largest
    ``gap`` between that and the least possible; ``limits-dearer``, whether longer minimal and
    shorter maximal ages cost more.
    """
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


def predicates_of_parts(simulated: pd.DataFrame, by_decay: pd.Series) -> dict[str, bool]:
    """Return whether a shared multiplier loses clearly less than quotas, split by decay rate."""
    shared = simulated[simulated.exchange].loss.abs().max()
    return {"multiplier-wins": bool(shared < 0.5 * by_decay.min())}


def of_parts(simulated: pd.DataFrame, bounds: pd.DataFrame, size: int) -> dict[str, float]:
    """Return the page's numbers on a split over machines.

    Keys: ``noise``, as `loss_with_multiplier` returns it; ``slope``, the loss on a random split
    times the sources on a machine; ``few`` and ``many``, the ends of the numbers of machines, with
    the losses by decay rate; and `predicates_of_parts`.
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
        **predicates_of_parts(simulated, by_decay),
    }


def loss_with_multiplier(simulated: pd.DataFrame) -> float:
    """Return how far from zero the loss with a shared multiplier may lie.

    Returns: the end of a 95% interval that is farthest from zero, over all numbers of machines.
    """
    shared = simulated[simulated.exchange]
    return float((shared.loss.abs() + shared.half_width).max())


def of_cluster(plan: dict[str, float]) -> dict[str, float]:
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
