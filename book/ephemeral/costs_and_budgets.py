"""Costs: reward and spending of "the top sources for the constraint to be reached".

Each random instance is solved exactly, so that every way to fill a budget is compared with the
optimum within that budget; `compare_fills` does one instance. A limit on how often a site may be
visited is compared with a cost that brings about the same: `find_least_cost` finds that cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.optimum.costs import FILLS, CostRun, simulate_costs
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.results import NotConverged
from scorecard import COLOURS, Claim, add_panels, claim, format_range, ink, save_data, save_figure

#: Sizes of the random instances, (sources, budget).
POINTS = ((3, 4.0), (4, 4.0), (4, 5.0))
_COST_STEP = 0.5


def compare_fills(point: tuple[int, float], rng: np.random.Generator) -> dict[str, Any]:
    """Compare the ways to fill a cost budget on one random instance with costs.

    Rewards are in units of the optimum within the budget at every epoch, costs in budgets;
    ``bound`` is the optimum when the budget holds on average.
    """
    size, budget = point
    while True:
        sources = random_sources(size, rng, costs=True)
        if sources.cost.sum() <= budget:
            continue
        try:
            optimum = optimal_cycle(sources, budget, tolerance=1e-7, max_states=400_000)
            break
        except NotConverged:
            continue
    row: dict[str, Any] = {"sources": size, "budget": budget}
    for fill in FILLS:
        run = simulate_costs(sources, fill, budget)
        row[fill] = run.average_reward / optimum.average_reward
        row[f"{fill}_cost"] = run.average_cost / budget
    row["bound"] = relaxed_problem(sources, budget).bound / optimum.average_reward
    return row


def summarise_fills(instances: pd.DataFrame) -> pd.DataFrame:
    """Return loss (negative where more is spent) and spending of each rule to fill the budget."""
    rows = {
        fill: {
            "mean loss": 1 - instances[fill].mean(),
            "worst loss": 1 - instances[fill].min(),
            "mean cost": instances[f"{fill}_cost"].mean(),
            "largest cost": instances[f"{fill}_cost"].max(),
        }
        for fill in FILLS
    }
    return pd.DataFrame(rows).T.rename_axis("way to fill")


def find_differing_budgets(sources: Sources, budgets: tuple[float, ...]) -> list[float]:
    """Return the budgets at which the ways to fill do not all crawl alike."""
    return [
        budget
        for budget in budgets
        if len({tuple(simulate_costs(sources, fill, budget).frequency) for fill in FILLS}) > 1
    ]


def find_least_cost(sources: Sources, arm: int, delay: int, budget: float) -> tuple[float, CostRun]:
    """Find the least cost at which a source is crawled at most once in `delay` epochs.

    The budget holds on average (the way to fill is *debt*), so that a cost above it can be paid.
    """
    for cost in np.arange(float(sources.cost[arm]), budget * delay + 1, _COST_STEP):
        costs = sources.cost.copy()
        costs[arm] = cost
        run = simulate_costs(replace(sources, cost=costs), "debt", budget)
        if run.frequency[arm] <= 1 / delay + 1e-12:
            break
    return float(cost), run


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    instances: pd.DataFrame  # rows of `compare_fills`
    # Budgets at which, with costs of one, the ways to fill do not all crawl alike.
    differ: list[float]


# Values and tables


def save_instances(instances: pd.DataFrame) -> None:
    """Save the random instances, one row each."""
    columns = {"sources": "sources in the instance", "budget": "cost per epoch that is allowed"}
    for fill in FILLS:
        columns[fill] = f"reward of {fill}, in units of the optimum within the budget"
        columns[f"{fill}_cost"] = f"cost per epoch of {fill}, in budgets"
    columns["bound"] = "relaxed bound, in units of the optimum within the budget"
    save_data(
        "costs-and-budgets-instances",
        instances[list(columns)],
        "One row a random instance with costs, all ways to fill the budget in it.",
        columns,
    )


def collect_instance_values(instances: pd.DataFrame, ways: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the random instances."""
    losses = {
        f"{fill}-{word}": float(ways[f"{word} loss"][fill])
        for fill in ("stop", "skip", "index")
        for word in ("mean", "worst")
    }
    first = instances.iloc[0]
    followed = {
        f"followed-{fill}": 100 * float(1 - first[fill]) for fill in ("value", "index", "reach")
    }
    return (
        losses
        | followed
        | {
            "followed": 1,
            "instances": len(instances),
            "reach-spending": float(ways["mean cost"]["reach"]),
            "reach-worst": float(ways["largest cost"]["reach"]),
            "debt-spending": float(ways["mean cost"]["debt"]),
            "debt-bound": float((1 - instances["debt"] / instances["bound"]).mean()),
            "value-exact": float((1 - instances["value"] < 1e-6).mean()),
            "value-worst": float(ways["worst loss"]["value"]),
        }
    )


def collect_limit_values(free: CostRun, limited: CostRun, costly: CostRun) -> dict[str, float]:
    """Return the share of the reward that a least age and a cost of source 1 take."""
    return {
        "delay-price": 1 - limited.average_reward / free.average_reward,
        "cost-price": 1 - costly.average_reward / free.average_reward,
    }


# Claims


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the rows on costs."""
    spent, carried = results.instances["reach_cost"], results.instances["debt_cost"]
    overshoots = bool((spent > 1 + 1e-9).any())
    return [
        claim(
            "A-r-thm1-policy",
            not results.differ,
            condition=overshoots,
            numbers={
                "spent": spent.mean(),
                "instances": len(spent),
                "carried": (carried.min(), carried.max()),
            },
        ),
        claim("A-r-costs"),
    ]


# Figures


#: The ways that keep the budget at every epoch, and all of them in the order of what they spend.
WITHIN = ("stop", "skip", "index", "value")
BY_SPENDING = ("reach", "debt", "value", "index", "skip", "stop")


def draw_losses(instances: pd.DataFrame) -> None:
    """Draw the loss of each rule that keeps the budget, one dot an instance."""
    loss = 100 * (1 - instances[list(WITHIN)])
    mean, worst = loss.mean(), loss.max()
    bound = np.ceil(10 * worst["value"] + 1e-9) / 10

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for row, fill in enumerate(WITHIN):
            spread = row + 0.5 * (np.arange(len(loss)) / len(loss) - 0.5)
            clipped = loss[fill].clip(lower=1e-6)
            axis.plot(clipped, spread, "o", color=COLOURS[row], markersize=3, alpha=0.7)
            axis.plot([loss[fill].mean()], [row], "|", color=ink(), markersize=26)
        axis.set_yticks(range(len(WITHIN)), WITHIN)
        axis.set_xlabel("loss against the exact optimum (%)\none dot an instance, bar at the mean")
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_xlim(left=-0.005)
        axis.invert_yaxis()
        return instances

    save_figure(
        "costs-and-budgets-losses",
        draw,
        caption="Loss of the ways that keep the budget at every epoch, over "
        f"{len(loss)} random instances of three and four sources. The set with the largest "
        f"$\\sum C_i\\gamma_i$ (*value*) loses less than {bound:.1f}%, the "
        f"others up to {worst.drop('value').max():.0f}%.",
        alt="Four rows of dots, one a way to fill. Mean losses: stopping at the first source that "
        f"does not fit {mean['stop']:.1f}%, skipping it {mean['skip']:.1f}%, the knapsack on the "
        f"index {mean['index']:.1f}%, the knapsack on cost times index {mean['value']:.2f}%.",
        height=3.2,
    )


def draw_spending(instances: pd.DataFrame) -> None:
    """Draw the spending of each rule, in budgets."""
    columns = [f"{fill}_cost" for fill in BY_SPENDING]
    spending = instances[columns].set_axis(BY_SPENDING, axis=1)
    reach, debt = spending["reach"], spending["debt"]

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        axis.boxplot(
            [spending[fill] for fill in BY_SPENDING],
            orientation="horizontal",
            widths=0.55,
            medianprops={"color": COLOURS[1], "linewidth": 2},
            flierprops={"markersize": 3},
        )
        axis.axvline(1, color=ink(), linewidth=1)
        axis.set_yticks(range(1, len(BY_SPENDING) + 1), BY_SPENDING)
        axis.set_xlabel("cost per epoch, in budgets")
        return spending

    save_figure(
        "costs-and-budgets-spending",
        draw,
        caption="What each way spends. Taking sources until the constraint is reached (*reach*) "
        f"overshoots on {(reach > 1 + 1e-9).mean():.0%} of the instances, and spends "
        f"{reach.mean():.2f} budgets on average; owing the overshoot (*debt*) spends "
        f"{format_range(debt.min(), debt.max(), '.3f')}.",
        alt=f"Box plots of the cost per epoch in units of the budget over {len(spending)} "
        f"instances: reach has mean {reach.mean():.2f} and reaches {reach.max():.2f}, debt spends "
        f"{format_range(debt.min(), debt.max(), '.3f')}, the four others at most one.",
        height=3.0,
    )
