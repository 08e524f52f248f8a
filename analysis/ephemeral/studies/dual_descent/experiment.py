"""Dual descent: the price against the multiplier, for several steps, budgets and random content.

What a run of random content earns is corrected by a control variate: content that arrives has a
known mean, and of each unit of it a known share is collected in the relaxed problem, so that the
difference from that mean, times the share, has mean zero and takes away most of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.dual import DualRun, dual_descent
from analysis.ephemeral.relaxed import RelaxedSolution, relaxed_problem
from analysis.ephemeral.sources import Sources

Step = tuple[float, float]


def step_name(rule: Step) -> str:
    """Write a step rule (a, p), of steps a / (t + 1)^p, in words."""
    size, power = rule
    return f"{size:g} / (t+1)^{power:g}" if power else f"{size:g}, constant"


def late(run: DualRun) -> slice:
    """Return the second half of a run."""
    return slice(run.subsidy.size // 2, None)


def bound_of_cost(sources: Sources, cost: float) -> float:
    """Return the most that can be earned in the long run at a cost per epoch, 0 at no cost.

    A run that spends more than the budget may earn more than the bound of that budget, never more
    than that of what it spends.

    `cost`: what is spent per epoch on average.
    """
    most = float(sources.cost.sum())
    return relaxed_problem(sources, min(cost, most)).bound if cost > 0 else 0.0


def bound_of_late(sources: Sources, run: DualRun) -> float:
    """Return the most that any run earns per epoch in a second half of that cost, or nan.

    Repeat the crawls of that half for ever: each round earns at least what the half earned of the
    content that arrived in it, and the rounds together no more than the relaxed bound of what they
    spend. The content at the beginning of the half is added; it is at most all that has arrived.
    Without spending there is no reward and no bound.
    """
    spent = run.spent[late(run)]
    begins = run.spent.size - spent.size
    held = float((sources.u_star * -np.expm1(-sources.decay * (begins + 1))).sum())
    return bound_of_cost(sources, spent.mean()) + held / spent.size if spent.any() else np.nan


def second_half(sources: Sources, runs: Mapping[str, DualRun]) -> pd.DataFrame:
    """Return price, spending and reward of each run in its second half.

    With ``bound``, as `bound_of_late` returns it.
    """
    columns = {
        name: {
            "last price": run.subsidy[-1],
            "spread of the price": run.subsidy[late(run)].std(),
            "cost per epoch": run.spent[late(run)].mean(),
            "reward": run.reward[late(run)].mean(),
            "bound": bound_of_late(sources, run),
        }
        for name, run in runs.items()
    }
    return pd.DataFrame(columns).T.rename_axis("steps")


def cases_of(sources: Sources) -> list[tuple[str, Sources, float]]:
    """Return the budgets on which the method is tried: 1 to 3 crawls, and one of unequal costs."""
    crawls = [(f"M = {m}", sources, float(m)) for m in range(1, min(3, len(sources)) + 1)]
    costly = replace(sources, cost=np.where(np.arange(len(sources)) % 2 == 0, 1.0, 2.0))
    budget = float(0.4 * costly.cost.sum())
    return [*crawls, (f"{budget:g}, costs 1 and 2 in turn", costly, budget)]


def distance(price: float, solution: RelaxedSolution) -> float:
    """Return how far a price lies from the interval of the relaxed problem's multipliers."""
    return max(solution.smallest_subsidy - price, price - solution.subsidy, 0.0)


def has_one_multiplier(solution: RelaxedSolution) -> bool:
    """Return whether one price alone is a multiplier, up to rounding."""
    return bool(np.isclose(solution.smallest_subsidy, solution.subsidy, rtol=1e-6))


def descend_by_budget(
    cases: Sequence[tuple[str, Sources, float]], horizon: int, rules: Sequence[Step]
) -> pd.DataFrame:
    """Run the method at every budget with each step rule.

    `rules`: steps a / (t + 1)^p. One row a budget and rule: the interval of multipliers, the last
    price and its ``distance`` from that interval, and in the second half the cost per epoch, the
    reward over the bound of the budget, and over the bound of that half, where `bound_of_late` has
    one.
    """
    rows = []
    for name, sources, budget in cases:
        exact = relaxed_problem(sources, budget)
        for rule in rules:
            run = dual_descent(sources, budget, horizon, step=rule[0], power=rule[1])
            price = float(run.subsidy[-1])
            cost, reward = run.spent[late(run)].mean(), run.reward[late(run)].mean()
            rows.append(
                {
                    "budget": name,
                    "steps": step_name(rule),
                    "smallest multiplier": exact.smallest_subsidy,
                    "largest multiplier": exact.subsidy,
                    "last price": price,
                    "distance": distance(price, exact),
                    "cost per epoch": cost,
                    "reward / bound of the budget": reward / exact.bound,
                    "reward / bound": reward / bound_of_late(sources, run),
                }
            )
    return pd.DataFrame(rows).set_index(["budget", "steps"])


def random_run(
    point: tuple[Sources, float, int, Step], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Run the method once on random content with exponential utilities.

    `spent`, `reward`, `price`: averages over the second half; the reward is corrected by the
    control variate.
    """
    sources, budget, horizon, (step, power) = point
    content = Arrivals(sources, Utility("exponential")).sample(horizon, rng)
    run = dual_descent(sources, budget, horizon, step=step, power=power, content=content)
    window = late(run)
    surplus = content[:, window].mean(axis=1) - sources.u
    reward = run.reward[window].mean() - collected_share(sources, budget) @ surplus
    return float(run.spent[window].mean()), float(reward), float(run.subsidy[window].mean())


def collected_share(sources: Sources, budget: float) -> np.ndarray:
    """Return the share of arriving content that the relaxed problem collects, one a source.

    Of k u that arrive in the k epochs between crawls, a crawl collects u* (1 - alpha^k).
    """
    frequency = relaxed_problem(sources, budget).frequency
    gap = np.divide(1.0, frequency, out=np.full_like(frequency, np.inf), where=frequency > 0)
    kept = sources.u_star * -np.expm1(-sources.decay * gap)
    share = np.zeros_like(kept)  # of a source at which nothing appears
    return np.divide(kept * frequency, sources.u, out=share, where=sources.u > 0)


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    by_budget: pd.DataFrame  # as `descend_by_budget` returns it
    rule: str  # name of the recommended steps
