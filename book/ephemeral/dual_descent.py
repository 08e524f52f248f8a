"""Dual descent: the price against the multiplier, for several steps, budgets and random content.

What a run of random content earns is corrected by a control variate: content that arrives has a
known mean, and of each unit of it a known share is collected in the relaxed problem, so that the
difference from that mean, times the share, has mean zero and takes away most of the noise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.dual import DualRun, dual_descent
from analysis.ephemeral.relaxed import RelaxedSolution, relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.results import student_band
from scorecard import (
    COLOURS,
    Claim,
    add_legend,
    add_panels,
    claim,
    differ_as_formatted,
    ink,
    save_data,
    save_figure,
    save_table,
    save_value,
)

Step = tuple[float, float]


def format_step_rule(rule: Step) -> str:
    """Write a step rule (a, p), of steps a / (t + 1)^p, in words."""
    size, power = rule
    return f"{size:g} / (t+1)^{power:g}" if power else f"{size:g}, constant"


def select_second_half(run: DualRun) -> slice:
    """Return the second half of a run."""
    return slice(run.subsidy.size // 2, None)


def bound_reward_at_cost(sources: Sources, cost: float) -> float:
    """Return the relaxed bound at a cost per epoch, 0 at no cost.

    A run that spends more than the budget may earn more than the bound of that budget, never more
    than that of what it spends.
    """
    most = float(sources.cost.sum())
    return relaxed_problem(sources, min(cost, most)).bound if cost > 0 else 0.0


def bound_second_half(sources: Sources, run: DualRun) -> float:
    """Return a bound on the reward per epoch of a second half of that cost, or nan.

    Repeat the crawls of that half for ever: each round earns at least what the half earned of the
    content that arrived in it, and the rounds together no more than the relaxed bound of what they
    spend. The content at the beginning of the half is added; it is at most all that has arrived.
    Without spending there is no reward and no bound.
    """
    spent = run.spent[select_second_half(run)]
    begins = run.spent.size - spent.size
    held = float((sources.u_star * -np.expm1(-sources.decay * (begins + 1))).sum())
    return (
        bound_reward_at_cost(sources, spent.mean()) + held / spent.size if spent.any() else np.nan
    )


def measure_second_half(sources: Sources, runs: Mapping[str, DualRun]) -> pd.DataFrame:
    """Return price, spending, reward and bound of each run in its second half."""
    columns = {
        name: {
            "last price": run.subsidy[-1],
            "spread of the price": run.subsidy[select_second_half(run)].std(),
            "cost per epoch": run.spent[select_second_half(run)].mean(),
            "reward": run.reward[select_second_half(run)].mean(),
            "bound": bound_second_half(sources, run),
        }
        for name, run in runs.items()
    }
    return pd.DataFrame(columns).T.rename_axis("steps")


def list_budgets(sources: Sources) -> list[tuple[str, Sources, float]]:
    """Return the budgets on which the method is tried: 1 to 3 crawls, and one of unequal costs."""
    crawls = [(f"M = {m}", sources, float(m)) for m in range(1, min(3, len(sources)) + 1)]
    costly = replace(sources, cost=np.where(np.arange(len(sources)) % 2 == 0, 1.0, 2.0))
    budget = float(0.4 * costly.cost.sum())
    return [*crawls, (f"{budget:g}, costs 1 and 2 in turn", costly, budget)]


def distance_to_multipliers(price: float, solution: RelaxedSolution) -> float:
    """Return the distance of a price from the interval of the relaxed problem's multipliers."""
    return max(solution.smallest_subsidy - price, price - solution.subsidy, 0.0)


def has_one_multiplier(solution: RelaxedSolution) -> bool:
    """Return whether one price alone is a multiplier, up to rounding."""
    return bool(np.isclose(solution.smallest_subsidy, solution.subsidy, rtol=1e-6))


def descend_by_budget(
    cases: Sequence[tuple[str, Sources, float]], horizon: int, rules: Sequence[Step]
) -> pd.DataFrame:
    """Run the method at every budget with each step rule a / (t + 1)^p.

    Costs and rewards are those of the second half; ``distance`` is that of the last price from the
    interval of multipliers.
    """
    rows = []
    for name, sources, budget in cases:
        exact = relaxed_problem(sources, budget)
        for rule in rules:
            run = dual_descent(sources, budget, horizon, step=rule[0], power=rule[1])
            price = float(run.subsidy[-1])
            cost, reward = (
                run.spent[select_second_half(run)].mean(),
                run.reward[select_second_half(run)].mean(),
            )
            rows.append(
                {
                    "budget": name,
                    "steps": format_step_rule(rule),
                    "smallest multiplier": exact.smallest_subsidy,
                    "largest multiplier": exact.subsidy,
                    "last price": price,
                    "distance": distance_to_multipliers(price, exact),
                    "cost per epoch": cost,
                    "reward / bound of the budget": reward / exact.bound,
                    "reward / bound": reward / bound_second_half(sources, run),
                }
            )
    return pd.DataFrame(rows).set_index(["budget", "steps"])


def run_on_random_content(
    point: tuple[Sources, float, int, Step], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Run the method once on random content with exponential utilities.

    Returns spending, reward and price over the second half; the reward is corrected by the control
    variate.
    """
    sources, budget, horizon, (step, power) = point
    content = Arrivals(sources, Utility("exponential")).sample(horizon, rng)
    run = dual_descent(sources, budget, horizon, step=step, power=power, content=content)
    window = select_second_half(run)
    surplus = content[:, window].mean(axis=1) - sources.u
    reward = run.reward[window].mean() - collected_share(sources, budget) @ surplus
    return float(run.spent[window].mean()), float(reward), float(run.subsidy[window].mean())


def collected_share(sources: Sources, budget: float) -> np.ndarray:
    """Return the share of arriving content that the relaxed problem collects, one a source.

    Of k u that arrive in the k epochs between crawls, a crawl collects u* (1 - alpha^k).
    """
    frequency = relaxed_problem(sources, budget).frequency
    gap = np.divide(1.0, frequency, out=np.full_like(frequency, np.inf), where=frequency > 0)
    collected = sources.u_star * -np.expm1(-sources.decay * gap)
    share = np.zeros_like(collected)  # of a source at which nothing appears
    return np.divide(collected * frequency, sources.u, out=share, where=sources.u > 0)


@dataclass(frozen=True)
class Results:
    """Results of the page."""

    by_budget: pd.DataFrame  # as `descend_by_budget` returns it
    rule: str  # name of the recommended steps


# Values and tables


#: By what share of the budget runs may overspend and still count as keeping it.
_OVERSPENT = 5e-3


def explain_missing_bound(bounds: pd.Series) -> str:
    """Return a clause on why some runs have no bound, empty if all have one."""
    return "; there is none where nothing is spent" if bounds.isna().any() else ""


def keeps_budget(spent: float, budget: float) -> bool:
    """Return whether the low end of an interval of spending is within the budget, or near it."""
    return bool(spent <= budget * (1 + _OVERSPENT))


def save_step_rules(steps: pd.DataFrame, budget: float) -> None:
    """Save the table of the step rules."""
    save_table(
        "dual-descent-half",
        steps,
        f"Price, spending and reward of {len(steps)} step rules at a budget of {budget:g}, in the "
        "second half of the run. The bound is the relaxed one for what is spent, and what the "
        f"sources may hold when that half begins{explain_missing_bound(steps['bound'])}.",
        formats=".3f",
    )


def save_budgets(by_budget: pd.DataFrame) -> None:
    """Save the table of every budget."""
    farthest = by_budget["distance"].max()
    columns = by_budget.drop(columns="reward / bound of the budget")
    save_table(
        "dual-descent-budgets",
        columns,
        "Where the price ends for several budgets and two step rules, and what is spent and earned "
        "in the second half of the run, the bound being that of what is spent, and what the "
        "sources may hold when that half "
        f"begins{explain_missing_bound(columns['reward / bound'])}. The "
        f"largest distance from a multiplier is {farthest:.3f}.",
        formats=dict.fromkeys(map(str, columns), ".4f") | {"reward / bound": ".3f"},
    )


def save_random_runs(outcome: Sequence[tuple[float, float, float]], budget: float) -> None:
    """Save every run of random content, and the table of their averages."""
    columns = {
        "cost": "cost per epoch, average over the second half of the run",
        "reward": "reward per epoch, corrected by the control variate",
        "price": "average price in the second half, in units of the index",
    }
    runs = pd.DataFrame(np.asarray(outcome), columns=pd.Index(columns))
    runs.insert(0, "replication", range(len(runs)))
    save_data(
        "dual-descent-runs",
        runs,
        f"One row a run of dual descent on random content, at a budget of {budget:g}.",
        {"replication": "number of the run", **columns},
    )
    mean, low, high = student_band(outcome)
    differ = [
        differ_as_formatted(*ends, ".4f") for ends in zip(low, high, strict=True)
    ]  # between the runs
    rows = {"mean": mean, "95% from": np.where(differ, low, np.nan)}
    rows["95% to"] = np.where(differ, high, np.nan)
    index = pd.Index(["cost per epoch", "reward per epoch", "price"], name="quantity")
    save_table(
        "dual-descent-random",
        pd.DataFrame(rows, index=index),
        f"Dual descent on random content at a budget of {budget:g}: averages over {len(runs)} runs "
        "and their 95% confidence intervals.",
        formats=".4f",
        instances="dual-descent-runs",
    )


def collect_relaxed_values(relaxed: RelaxedSolution) -> dict[str, float]:
    """Return the multipliers and the bound of the relaxed problem."""
    return {
        "multiplier": relaxed.subsidy,
        "smallest": relaxed.smallest_subsidy,
        "one-multiplier": has_one_multiplier(relaxed),
        "bound": relaxed.bound,
    }


def collect_budget_values(ours: pd.DataFrame, faster: pd.DataFrame) -> dict[str, float]:
    """Return the page's numbers on the descent at every budget."""
    return {
        "cases": len(ours),
        "farthest": ours["distance"].max(),
        "farthest-faster": faster["distance"].max(),
        "faster-nearer": int((faster["distance"] < ours["distance"]).sum()),
        "interval-low": ours["smallest multiplier"].iloc[0],
        "interval-high": ours["largest multiplier"].iloc[0],
        "slow-spent": faster["cost per epoch"].iloc[0],
    }


def save_random_means(outcome: Sequence[tuple[float, float, float]], budget: float) -> None:
    """Save means of runs on random content with intervals, and whether the budget holds."""
    mean, low, high = student_band(outcome)
    save_value("dual-random-kept", keeps_budget(low[0], budget))
    for column, name in enumerate(("spent", "reward", "price")):
        save_value(
            f"dual-random-{name}",
            mean[column],
            interval=(low[column], high[column]),
            replications=len(outcome),
        )


# Claims


#: How near the last price and the reward have to come to the relaxed problem's.
PRICE_TOLERANCE = 0.1
REWARD_TOLERANCE = 1e-3


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on the row that names the method."""
    rows = results.by_budget.xs(results.rule, level="steps")
    price = float(rows["distance"].max())
    reward = float(rows["reward / bound of the budget"].sub(1).abs().max())
    solves = price <= PRICE_TOLERANCE and reward <= REWARD_TOLERANCE
    return [
        claim(
            "A-s-dev-dual",
            outcome="solves" if solves else "misses",
            numbers={"price": PRICE_TOLERANCE, "reward": REWARD_TOLERANCE},
        )
    ]


# Figures


def draw_steps(runs: Mapping[str, DualRun], budget: float, relaxed: RelaxedSolution) -> None:
    """Draw the price against time for several step rules, and the multiplier."""
    horizon = next(iter(runs.values())).subsidy.size
    # Epochs in groups that are equally wide on a logarithmic axis: paths may jump at each epoch.
    edges = np.unique(np.round(np.geomspace(1, horizon + 1, 120)).astype(int)) - 1
    groups = pd.DataFrame({"epoch": np.sqrt((edges[:-1] + 1) * edges[1:])})
    for name, run in runs.items():
        groups[f"{name}, mean"] = np.add.reduceat(run.subsidy, edges[:-1]) / np.diff(edges)
        groups[f"{name}, least"] = np.minimum.reduceat(run.subsidy, edges[:-1])
        groups[f"{name}, most"] = np.maximum.reduceat(run.subsidy, edges[:-1])
    chosen = next(iter(runs))
    spread = {name: float(run.subsidy[select_second_half(run)].std()) for name, run in runs.items()}
    last = runs[chosen].subsidy[-1]
    low, high = relaxed.smallest_subsidy, relaxed.subsidy
    single = has_one_multiplier(relaxed)
    marked = (
        f"the multiplier of the relaxed problem ({high:.2f}) as a line"
        if single
        else f"the multipliers of the relaxed problem ({low:.2f} to {high:.2f}) in grey"
    )
    truth = (
        f"multiplier is {high:.2f}" if single else f"multipliers go from {low:.2f} to {high:.2f}"
    )

    def draw(figure: Figure) -> pd.DataFrame:
        (axis,) = add_panels(figure)
        for colour, style, name in zip(COLOURS, ("-", "--", ":", "-."), runs, strict=False):
            label = f"$a_t$ = {format_in_tex(name)}"
            epoch, mean, least, most = (
                groups[column]
                for column in ("epoch", f"{name}, mean", f"{name}, least", f"{name}, most")
            )
            axis.plot(epoch, mean, style, color=colour, label=label)
            axis.fill_between(epoch, least, most, color=colour, alpha=0.2, linewidth=0)
        axis.axhspan(
            relaxed.smallest_subsidy - 1e-9, relaxed.subsidy + 1e-9, color="grey", alpha=0.35
        )
        axis.axhline(relaxed.subsidy, color=ink(), linewidth=0.9)
        axis.set(xscale="log", xlabel="epoch", ylabel="price (units of the index)")
        add_legend(figure)
        return groups

    save_figure(
        "dual-descent-steps",
        draw,
        caption=f"Price against time for {len(runs)} step rules at a budget of {budget:g}, with "
        f"{marked}. In the second half of the run the price varies by {spread[chosen]:.3f} "
        "(standard deviation) with steps of "
        f"{format_in_tex(chosen)}{format_in_tex(describe_largest_spread(spread, chosen))}. Lines "
        "are means of neighbouring epochs, bands go from the least to the highest price in them.",
        alt=f"{len(runs)} price paths on a logarithmic time axis. With steps of {chosen} the "
        f"price ends at {last:.2f}, where the {truth}, and varies by {spread[chosen]:.3f} in the "
        f"second half of the run{describe_largest_spread(spread, chosen)}.",
        height=3.8,
    )


def format_in_tex(text: str) -> str:
    """Write the step rules a / (t+1)^p within some words as formulas."""
    formula = r"$\1/(t+1)^{\2}$"
    return re.sub(r"(\S+) / \(t\+1\)\^([\d.]*\d)", formula, text).replace("^{1}$", "$")


def describe_largest_spread(spread: Mapping[str, float], chosen: str) -> str:
    """Return a text on the steps with which the price varies most, if not the chosen ones."""
    widest = max(spread, key=lambda name: spread[name])
    if not differ_as_formatted(spread[chosen], spread[widest], ".3f"):
        return ", and by no more with any other"
    return f", and by {spread[widest]:.3f} with {widest}"
