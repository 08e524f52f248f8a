"""Losses with many copies of each source, and of policies that were published since.

With R copies of each source and a budget of R M, `gaps_against_copies` follows the gap

    1 - reward per copy / relaxed bound per copy

of the index policy as R grows, for expected and for random contents, from copies that start alike
and from random ages; `gaps_of_random_sets` measures it at one large R on many random sets.

Newer policies are played beside the index, timetables and two levels. Policies without chance are
judged by the cycle in which they end, those that draw by runs that begin with all ages equal, of
which the first half is left out.

Reference: Weber and Weiss, J. Appl. Prob. 27 (1990); Verloop (2016).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.optimum.advice import (
    FTVAPolicy,
    IDPolicy,
    LPUpdatePolicy,
    SingleSourcePolicies,
)
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.policies import Policy, WhittlePolicy
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.simulation import long_run_cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import StochasticIndex, stochastic_bound, stochastic_index
from analysis.ephemeral.stochastic.replicas import (
    STARTS,
    simulate_random_replicas,
    simulate_replicas,
)
from analysis.ephemeral.studies.experiment import on_hard_sets
from analysis.ephemeral.timetables.construction import timetable
from analysis.ephemeral.timetables.copies import two_level
from analysis.results import Estimate

Row = tuple[str, str, int, float, float, float]

#: Epochs that LP-update looks ahead.
EPOCHS_AHEAD = 5
#: Policies without chance.
FIXED = ("index", "timetable", "two-level", "lp-update")
#: Policies that draw.
RANDOM: dict[str, Callable[[Sources, int], Policy]] = {"ftva": FTVAPolicy, "id": IDPolicy}
_WARM_UP = 200  # phases mix slowly


def gaps_of_random_sets(instances: int, copies: int, seed: int) -> pd.DataFrame:
    """Measure the gap of the index policy on many copies of random sets, with expected contents.

    `copies`: copies of each source, at least 1. One row a set: ``instance``, ``budget``, the gap
    from copies that start ``together`` and from ``random`` ages, and ``exact``, whether both runs
    were averaged over a period.
    """
    instances = check_integer("instances", instances, 1)
    rows = []
    for instance in range(instances):
        sources, budget = random_set(instance, seed)
        bound = relaxed_problem(sources, budget).bound
        rng = np.random.default_rng([seed, instance])
        runs = {s: simulate_replicas(sources, budget, copies, start=s, rng=rng) for s in STARTS}
        gaps = {start: 1 - run.average_reward / bound for start, run in runs.items()}
        exact = all(run.period for run in runs.values())
        rows.append({"instance": instance, "budget": budget, **gaps, "exact": exact})
    return pd.DataFrame(rows)


def kept_gaps(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return which of `gaps_of_random_sets` surely stay, from each start: those over a period."""
    return gaps[["together", "random"]].gt(1e-9) & gaps[["exact"]].to_numpy()


def alike_gaps(source: Sources, budget: float, sizes: Sequence[int]) -> list[float]:
    """Return the gap to the bound of so many copies of one source, with expected contents.

    `source`: the source; with more than one type the copies are not alike; `sizes`: numbers of
    copies, whose product with the budget is whole.
    """
    bound = relaxed_problem(source, budget).bound
    return [1 - simulate_replicas(source, budget, n).average_reward / bound for n in sizes]


def closes(copies: pd.DataFrame, share: float = 0.05) -> bool:
    """Return whether the gap with random content falls to a small share of that of one copy.

    `share`: largest share, of the upper end of the interval at the largest size.
    """
    random = copies[copies.content == "random"]
    curves = [line.sort_values("copies") for _, line in random.groupby(["sources", "start"])]
    return all(line.high.iloc[-1] < share * line.gap.iloc[0] for line in curves)


def gaps_against_copies(
    sources: Sources,
    budget: int,
    law: Utility,
    *,
    sizes: Sequence[int],
    random_sizes: Sequence[int],
    runs: int,
    horizon: int,
    seed: int,
) -> pd.DataFrame:
    """Follow the gap of the index policy as the number of copies grows.

    `sizes`, `random_sizes`: numbers of copies with expected and with random contents. Columns
    ``content`` ("expected"; "random", played with the index of the random model; "closed form",
    with that of Theorem 1 on the same contents), ``start``, ``copies``, ``gap`` and its ``low``
    and ``high``: 95% intervals if contents are random, else the range.
    """
    runs = check_integer("runs", runs, 2)
    rows = [*_expected_gaps(sources, budget, sizes, runs, seed)]
    curves = [stochastic_index(sources, i, law) for i in range(len(sources))]
    for copies in random_sizes:
        epochs = _WARM_UP + max(400, 4 * horizon // copies)
        rows += _random_gaps(Arrivals(sources, law), curves, budget, copies, epochs, runs, seed)
    return pd.DataFrame(rows, columns=["content", "start", "copies", "gap", "low", "high"])


def _expected_gaps(
    sources: Sources, budget: int, sizes: Sequence[int], runs: int, seed: int
) -> Iterator[Row]:
    bound = relaxed_problem(sources, budget).bound
    for start in STARTS:
        for copies in sizes:
            gaps = []
            for r in range(1 if start == "together" else runs):
                rng = np.random.default_rng([seed, copies, r])
                run = simulate_replicas(sources, budget, copies, start=start, rng=rng)
                gaps.append(1 - run.average_reward / bound)
            yield "expected", start, copies, float(np.mean(gaps)), min(gaps), max(gaps)


def _random_gaps(
    arrivals: Arrivals,
    curves: Sequence[StochasticIndex],
    budget: int,
    copies: int,
    epochs: int,
    runs: int,
    seed: int,
) -> Iterator[Row]:
    """Yield gaps with the index of the random model; from equal starts with the closed form too."""
    bound, subsidy = stochastic_bound(arrivals.sources, curves, budget)

    def play(indices: Sequence[StochasticIndex], start: str, price: float | None = None) -> list:
        return [
            simulate_random_replicas(
                arrivals, indices, budget, copies, epochs,
                np.random.default_rng([seed, copies, r]),
                start=start, warm_up=_WARM_UP, subsidy=price,
            )
            for r in range(runs)
        ]  # fmt: skip

    for start in STARTS:
        right = play(curves, start, subsidy)
        gap = Estimate.of([(run.relaxed_reward - run.average_reward) / bound for run in right])
        yield "random", start, copies, gap.value, *gap.interval
        if start == "together":
            wrong = play(_closed_form(arrivals.sources, curves), start)
            pairs = zip(right, wrong, strict=True)
            gap = Estimate.of([(a.relaxed_reward - b.average_reward) / bound for a, b in pairs])
            yield "closed form", start, copies, gap.value, *gap.interval


def _closed_form(sources: Sources, curves: Sequence[StochasticIndex]) -> list[StochasticIndex]:
    """Return the same lattices of contents, with the index of Theorem 1 on them."""
    same = np.ones(len(sources))
    return [
        replace(curve, index=whittle_index(sources, curve.state[:, None] * same)[:, i])
        for i, curve in enumerate(curves)
    ]


def losses_of_one_copy(sets: int, horizon: int, runs: int, seed: int) -> dict[str, Floats]:
    """Return what each policy loses of the exact optimum on random sets of four sources.

    One column only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in (*FIXED, *RANDOM)}
    for number in range(sets):
        sources, budget = random_set(number, seed)
        optimum = optimal_cycle(sources, budget).average_reward
        ahead = LPUpdatePolicy(sources, EPOCHS_AHEAD)
        rewards: dict[str, Any] = {
            "index": long_run_cycle(sources, "whittle", budget).average_reward,
            "timetable": timetable(sources, budget).average_reward,
            "two-level": two_level(sources, budget, 1).average_reward,
            "lp-update": long_run_cycle(sources, ahead, budget).average_reward,
        }
        seeds = [[seed, 29, number, run] for run in range(runs)]
        for name, earned in (rewards | _drawn(sources, budget, horizon, seeds)).items():
            losses[name].append(1 - np.atleast_1d(earned) / optimum)
    return {name: np.array(rows) for name, rows in losses.items()}


def losses_of_copies(
    copies: int, sets: int, horizon: int, runs: int, seed: int
) -> dict[str, Floats]:
    """Return what policies lose of the relaxed bound with many copies of each source.

    `copies`: copies of each of four sources; the ID policy takes one of each in turn. One column
    only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in ("index", "two-level", *RANDOM)}
    for number in range(sets):
        types, budget = random_set(number, seed)
        bound = relaxed_problem(types, budget).bound
        sources = types.subset(np.tile(np.arange(len(types)), copies))
        places = budget * copies
        losses["two-level"].append(np.array([two_level(types, budget, copies).loss]))
        index = _played(sources, WhittlePolicy(sources), places, horizon, None)
        drawn = _drawn(sources, places, horizon, [[seed, 31, number, run] for run in range(runs)])
        for name, earned in {"index": np.array([index]), **drawn}.items():
            losses[name].append(1 - earned / copies / bound)
    return {name: np.array(rows) for name, rows in losses.items()}


def _drawn(
    sources: Sources, budget: int, horizon: int, seeds: Sequence[Sequence[int]]
) -> dict[str, Floats]:
    """Return the rewards of the policies that draw, one run a seed."""
    return {
        name: np.array(
            [
                _played(
                    sources, policy(sources, budget), budget, horizon, np.random.default_rng(seed)
                )
                for seed in seeds
            ]
        )
        for name, policy in RANDOM.items()
    }


def _played(
    sources: Sources,
    policy: Policy,
    budget: int,
    horizon: int,
    rng: np.random.Generator | None,
) -> float:
    """Reward per epoch of the second half of a run, with what its ages are worth at both ends.

    In the relaxed problem age a is worth X(max(a, k)) - c max(k - a, 0), k the due age and c the
    source's part of the bound: with it, no half of a run is above the bound, however short.
    """
    run = simulate(sources, policy, budget, horizon, initial_state="fresh", rng=rng)
    relaxed = relaxed_problem(sources, budget)
    crawled = np.isfinite(relaxed.age)
    due = np.where(crawled, relaxed.age, 1.0)
    part = np.maximum(0.0, (sources.state_at_age(due) - relaxed.subsidy) / due)
    first, age = horizon // 2, np.ones(len(sources))
    worth = np.zeros(2)
    for epoch, chosen in enumerate([*run.crawled.T, np.zeros(len(sources), dtype=bool)]):
        if epoch in (first, horizon):
            ages = sources.state_at_age(np.maximum(age, due)) - part * np.maximum(due - age, 0.0)
            worth[int(epoch == horizon)] = ages[crawled].sum()
        age = np.where(chosen, 1.0, age + 1.0)
    return float((run.reward[first:].sum() + worth[1] - worth[0]) / (horizon - first))


def aperiodic_share(sets: int, seed: int) -> float:
    """Return the share of random sets of four sources without a periodic single-source chain."""
    drawn = (random_set(number, seed) for number in range(sets))
    return float(np.mean([SingleSourcePolicies.of(*one).aperiodic().all() for one in drawn]))


def hard_rewards() -> pd.DataFrame:
    """Return index policy, timetable, exact optimum and bound on the hard sets."""
    return on_hard_sets(_hard_reward)


def _hard_reward(sources: Sources, budget: int) -> dict[str, float]:
    best = optimal_cycle(sources, budget)
    index = long_run_cycle(sources, "whittle", budget).average_reward
    bound = relaxed_problem(sources, budget).bound
    return {
        "bound": bound,
        "optimum": best.average_reward,
        "timetable": timetable(sources, budget).average_reward,
        "index": index,
        "index below bound": 1 - index / bound,
        "index below optimum": 1 - index / best.average_reward,
        "joint ages": best.states,
    }
