"""Random arrivals: the three rewards of the slides, and the state evolution of Figure 4.

The documents print neither the law of the utilities nor the form of the index nor the horizon
behind the reward 285 and behind "source 1 is crawled from time to time". What a policy earns that
never looks at the content does not depend on the law; all else does, and the study says by how
much.

References: report 8702, sections 7 and 8; slides, stochastic setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.simulation import Comparison
from analysis.ephemeral.studies.four_sources import scan_averages
from analysis.published import printed_number
from analysis.report import Claim, claim, plus_minus
from analysis.results import Estimate, NotConverged

Floats = NDArray[np.float64]
#: How the two ways to play Theorem 1 are called, by their rule in `analysis.ephemeral.kernels`.
FORMS = {"whittle": "Theorem 1, x/C above u*", "remark": "the Remark's short form"}
RULES = ("round-robin", "greedy", "whittle", "theorem", "remark")
#: "Quite well": at least so much of the most that any policy can earn.
QUITE_WELL = 0.95


def items_one_by_one(
    sources: Sources, arm: int, epochs: int, rng: np.random.Generator, shift: float = 0.0
) -> pd.DataFrame:
    """Follow one source item by item, and beside it the recursion (19) with U(k).

    Parameters
    ----------
    sources : Sources
        N sources; utilities are exponential.
    arm : int
        Which one, from 0.
    epochs : int
        How many, at least 2; it is crawled at three in ten, at random.
    rng : numpy.random.Generator
        Source of randomness.
    shift : float
        Added to the age of an item in U(k), to falsify it.

    Returns
    -------
    pandas.DataFrame
        Content before the crawl of epochs 1, 2, ...: ``by items``, each item faded since it
        appeared, and ``by recursion``.
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
    """Return the relaxed bound on every policy that sees the content, under a law of the utilities.

    Parameters
    ----------
    sources : Sources
        N sources.
    utility : Utility
        Law with a finite variance.
    budget : int
        Sources crawled at each epoch.
    tolerance : float
        Largest estimated error of the index curves, in units of u*/C.

    Raises
    ------
    NotConverged
        Naming the source whose curve errs by more.
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


def reward_table(results: dict[str, Comparison], greedy: float) -> pd.DataFrame:
    """Return the rewards and their differences under each law, as text with half-widths.

    Parameters
    ----------
    results : dict of str to Comparison
        Policies on common random numbers, by law.
    greedy : float
        Exact reward of greedy, the control variate of the index.
    """
    rows = {
        law: {
            "round robin": result.reward("round-robin"),
            "greedy": result.reward("greedy"),
            "index": result.controlled("whittle", "greedy", greedy),
            "index, less greedy": result.difference("whittle", "greedy"),
            "to the letter, less index": result.difference("theorem", "whittle"),
            "short form, less index": result.difference("remark", "whittle"),
        }
        for law, result in results.items()
    }
    return pd.DataFrame(rows).T.map(as_text).rename_axis("law of the utilities")


def as_text(estimate: Estimate) -> str:
    """Write an estimate with two decimals and its half-width, if the runs differ at all."""
    return plus_minus(estimate.value, estimate.half_width)


def holds_exact(results: Iterable[Comparison], exact: dict[str, float]) -> tuple[int, int]:
    """Count the intervals of policies with a known reward, and those that hold it.

    Parameters
    ----------
    results : iterable of Comparison
        Runs of these policies, among others.
    exact : dict of str to float
        Reward of each by rule.

    Returns
    -------
    held, intervals : int
    """
    inside = [
        result.reward(rule).low <= reward <= result.reward(rule).high
        for result in results
        for rule, reward in exact.items()
    ]
    return sum(inside), len(inside)


def observing_one(gains: Mapping[str, Estimate]) -> dict[str, int]:
    """Count the sources of which the observation of one alone helps, and those that were tried.

    Parameters
    ----------
    gains : mapping of str to Estimate
        What observation adds, by what is observed; "none" and "all" are among them.
    """
    alone = [gain for name, gain in gains.items() if name not in ("none", "all")]
    return {"one-helps": sum(gain.low > 0 for gain in alone), "one-tried": len(alone)}


def where_it_reaches(variations: Sequence[float], rewards: Sequence[Estimate], at: float) -> float:
    """Interpolate the variability at which a rising curve of rewards reaches a value."""
    values = np.maximum.accumulate([reward.value for reward in rewards])
    return float(np.interp(at, values, variations))


def short_runs(sources: Sources, budget: int, longest: int) -> pd.DataFrame:
    """Return all averages of fluid runs up to a length, with those of the other two policies.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget, longest : int
        Sources crawled at each epoch; largest number of epochs.

    Returns
    -------
    pandas.DataFrame
        As `scan_averages`, with columns index, round-robin and greedy for the averages.
    """
    scans = {r: scan_averages(sources, r, budget, longest) for r in ("whittle", *RULES[:2])}
    others = {rule: scans[rule]["average"] for rule in RULES[:2]}
    return scans["whittle"].assign(**others).rename(columns={"average": "index"})


@dataclass(frozen=True)
class Results:
    """What the page computes.

    Attributes
    ----------
    sources : Sources
    budget, second_budget : int
    items : pandas.DataFrame
        As `items_one_by_one` returns it.
    round_robin : ndarray, shape (N,)
        Expected reward of round robin at each epoch of one round.
    constraint : tuple of float
        The constraint's left side after some epochs, as printed and with a sum over time.
    exact : dict of str to float
        Long-run reward of round robin and greedy, whatever the law.
    results : dict of str to Comparison
        Five policies with the first budget, by law; exponential among them.
    laws : dict of str to Utility
        These laws.
    wild : str
        The gamma law among them.
    curve : tuple of Estimate
        Reward of the index under gamma laws, by rising variability.
    frequency : dict of str to Estimate
        Crawls of source 1 per epoch with the second budget: exponential utilities under each of
        `FORMS`, and "wildest", Theorem 1 with the most variable gamma utilities.
    bounds : dict of str to float
        Most that any policy can earn under some of the laws.
    """

    sources: Sources
    budget: int
    second_budget: int
    items: pd.DataFrame
    round_robin: Floats
    constraint: tuple[float, float]
    exact: dict[str, float]
    results: dict[str, Comparison]
    laws: dict[str, Utility]
    wild: str
    curve: Sequence[Estimate]
    frequency: dict[str, Estimate]
    bounds: dict[str, float]

    def index_reward(self, law: str) -> Estimate:
        """Reward of the index under a law, with greedy as control variate."""
        return self.results[law].controlled("whittle", "greedy", self.exact["greedy"])


def claims(found: Results) -> list[Claim]:
    """Return what the page says to section 7's model, Figure 4 and the slides' three rewards."""
    return [*_model(found), *_evolution(found), *_rewards(found)]


def sides_of_the_constraint(spent: Floats) -> tuple[float, float]:
    """Return the constraint of section 7 after a run, as printed and with a sum over time.

    Parameters
    ----------
    spent : ndarray, shape (epochs,)
        Cost of each epoch's crawls.
    """
    return float(spent[-1] / spent.size), float(spent.mean())


def _model(found: Results) -> list[Claim]:
    items = found.items
    same = bool(np.allclose(items["by items"], items["by recursion"], rtol=1e-9))
    rounds = found.round_robin
    printed, with_sum = found.constraint
    return [
        claim("A-r-Uk", same, numbers={"epochs": len(items)}),
        claim("A-r-eq19", same, numbers={"epochs": len(items)}),
        claim(
            "A-r-s7-objective",
            bool(np.isclose(rounds.max(), rounds.mean())),
            numbers={"largest": rounds.max(), "average": rounds.mean()},
        ),
        claim(
            "A-r-s7-constraint",
            abs(printed - found.second_budget) < 0.1,
            numbers={"printed": printed, "budget": found.second_budget, "with_sum": with_sum},
        ),
    ]


def _evolution(found: Results) -> list[Claim]:
    seen = found.frequency
    return [
        *(
            claim(
                row,
                numbers={
                    "by_theorem": seen["whittle"].value,
                    "by_remark": seen["remark"].value,
                    "wildest": seen["wildest"].value,
                },
            )
            for row in ("A-r-fig4-s1", "A-s-time-to-time")
        ),
        *(
            claim(row, figure="stochastic-arrivals-states")
            for row in ("A-r-fig4", "A-s-fig-m2-stoch")
        ),
    ]


def _rewards(found: Results) -> list[Claim]:
    index = found.index_reward("exponential")
    lowest, highest = found.curve[0].value, found.curve[-1].value
    letter = found.results[found.wild].difference("theorem", "whittle")
    shares = {law: found.index_reward(law).low / bound for law, bound in found.bounds.items()}
    rewards = [
        {"law": law, "reward": found.index_reward(law).value, "bound": bound}
        for law, bound in found.bounds.items()
    ]
    return [
        claim("A-s-stoch-M1", found.budget),
        claim("A-s-208", found.exact["round-robin"]),
        claim("A-s-260", found.exact["greedy"]),
        claim(
            "A-s-285",
            index.value,
            interval=index.interval,
            replications=index.replications,
            numbers={"lowest": lowest, "highest": highest},
        ),
        _order(found),
        claim(
            "A-s-stoch-det-index",
            True,
            basis="judged",
            numbers={"difference": (letter.value, letter.half_width), "law": found.wild},
        ),
        claim(
            "A-s-stoch-well",
            min(shares.values()) > QUITE_WELL,
            numbers={"cut": QUITE_WELL, "laws": list(shares), "rewards": rewards},
        ),
    ]


def _order(found: Results) -> Claim:
    """Index before greedy before round robin, law by law."""
    gains = {law: run.difference("whittle", "greedy") for law, run in found.results.items()}
    holds = [law for law, gain in gains.items() if gain.low > 0]
    against = [law for law in gains if law not in holds]
    exponential = found.laws["exponential"].second_moment
    wanted = [law for law, one in found.laws.items() if one.second_moment >= exponential]
    greedy_first = found.exact["greedy"] > found.exact["round-robin"]
    return claim(
        "A-s-order",
        greedy_first and set(wanted) <= set(holds),
        condition=bool(against),
        numbers={
            "against": against,
            "gains": {law: (gain.value, gain.half_width) for law, gain in gains.items()},
            "greedy": found.exact["greedy"],
            "round_robin": found.exact["round-robin"],
        },
    )


def printed_rewards() -> dict[str, float]:
    """Return the rewards that the documents print for the index, by the document's name."""
    return {
        "slides": printed_number("A-s-285"),
        "2019 paper": printed_number("B-283"),
    }
