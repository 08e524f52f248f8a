"""Random arrivals: the three rewards of the slides, and the state evolution of Figure 4.

The documents print neither the law of the utilities nor the form of the index nor the horizon
behind the reward 285 and behind "source 1 is crawled from time to time". What a policy earns that
does not observe the content does not depend on the law; all else does, and the study measures by
how much.

References: report 8702, sections 7 and 8; slides, stochastic setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.comparison import Comparison
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from analysis.ephemeral.studies.four_sources.experiment import scan_averages
from analysis.results import Estimate, NotConverged

#: How the two ways to play Theorem 1 are called, by their rule in `analysis.ephemeral.kernels`.
FORMS = {"whittle": "Theorem 1, x/C above u*", "remark": "the Remark's short form"}
RULES = ("round-robin", "greedy", "whittle", "theorem", "remark")


def items_one_by_one(
    sources: Sources, arm: int, epochs: int, rng: np.random.Generator, shift: float = 0.0
) -> pd.DataFrame:
    """Simulate one source item by item, and by the recursion (19) with U(k).

    `shift`: added to the age of an item in U(k), to falsify it. Returns the content before the
    crawl of epochs 1, 2, ...: ``by items``, each item faded since it appeared, and ``by
    recursion``.
    """
    epochs = check_integer("epochs", epochs, 2)
    mu, period = float(sources.decay_rate[arm]), sources.period
    items = rng.poisson(float(sources.arrival_rate[arm]) * period * epochs)
    time = np.sort(rng.uniform(0, period * epochs, items))
    utility = sources.mean_utility[arm] * rng.standard_exponential(items)
    crawled = rng.random(epochs) < 0.3
    rows, last, state = [], 0.0, 0.0
    for k in range(1, epochs):
        age = k * period - time
        there = age > 0
        fresh = there & (age <= period)
        arrived = (utility * np.exp(-mu * (age + shift)))[fresh].sum()  # U(k)
        state = np.exp(-mu * period) * state + arrived
        rows.append(((utility * np.exp(-mu * age))[there & (time >= last)].sum(), state))
        if crawled[k]:
            state, last = 0.0, k * period
    return pd.DataFrame(rows, columns=["by items", "by recursion"])


def bound_of_law(sources: Sources, utility: Utility, budget: int, tolerance: float) -> float:
    """Return the relaxed bound on policies that observe the content, under a law of the utilities.

    `tolerance`: largest estimated error of the index curves, in units of u*/C.
    """
    found = sources.subset(np.flatnonzero(sources.u > 0))  # others add nothing and are left alone
    curves = []
    for i, name in enumerate(found.names or ()):
        try:
            curve = stochastic_index(found, i, utility, tolerance=tolerance, points=100)
        except NotConverged:
            raise NotConverged(
                f"sources must forget faster: source {name!r} keeps exp(-{found.decay[i]:.3g}) of "
                f"its content in an epoch, and with {utility.law} values the error of its index "
                f"exceeds {tolerance:g}"
            ) from None
        curves.append(curve)
    return stochastic_bound(found, curves, min(budget, len(found)))[0]


def where_it_reaches(variations: Sequence[float], rewards: Sequence[Estimate], at: float) -> float:
    """Interpolate the variability at which a rising curve of rewards reaches a value."""
    values = np.maximum.accumulate([reward.value for reward in rewards])
    return float(np.interp(at, values, variations))


def needed_variability(
    variations: Sequence[float], rewards: Sequence[Estimate], at: float
) -> tuple[float, float, float]:
    """Return the variability at which a curve of rewards reaches a value, and its range.

    `variations`, `rewards`: squared coefficients of variation, increasing, and the reward at each;
    `at`: the value. `least`, `needed`, `most`: where the curve reaches the value less the largest
    half-width, the value, and the value with the largest half-width added.
    """
    half = max(reward.half_width for reward in rewards)
    least, needed, most = (
        where_it_reaches(variations, rewards, at + change) for change in (-half, 0.0, half)
    )
    return least, needed, most


def short_runs(sources: Sources, budget: int, longest: int) -> pd.DataFrame:
    """Return all averages of fluid runs up to a length, with those of the other two policies."""
    scans = {r: scan_averages(sources, r, budget, longest) for r in ("whittle", *RULES[:2])}
    others = {rule: scans[rule]["average"] for rule in RULES[:2]}
    return scans["whittle"].assign(**others).rename(columns={"average": "index"})


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    sources: Sources
    budget: int
    second_budget: int
    items: pd.DataFrame  # as `items_one_by_one` returns it
    round_robin: Floats  # expected reward of round robin at each epoch of one round; shape (N,)
    # The constraint's left side after some epochs, as printed and with a sum over time.
    constraint: tuple[float, float]
    exact: dict[str, float]  # long-run reward of round robin and greedy, whatever the law
    # Five policies with the first budget, by law; exponential among them.
    results: dict[str, Comparison]
    laws: dict[str, Utility]  # these laws
    wild: str  # the gamma law among them
    curve: Sequence[Estimate]  # reward of the index under gamma laws, by rising variability
    pairs: dict[str, Comparison]  # each of `FORMS` with the second budget, by law
    bounds: dict[str, float]  # most that any policy can earn under some of the laws

    def reward(self, law: str, rule: str = "whittle") -> Estimate:
        """Return the reward of a form of the index under a law, with greedy as control variate."""
        return self.results[law].controlled(rule, "greedy", self.exact["greedy"])


def sides_of_the_constraint(spent: Floats) -> tuple[float, float]:
    """Return the constraint of section 7 after a run, as printed and with a sum over time.

    `spent`: cost of each epoch's crawls.
    """
    return float(spent[-1] / spent.size), float(spent.mean())
