"""Studies of many copies: how far the index policy stays below the relaxed bound, and for how long.

With R copies of each source and a budget of R M, `gaps_against_copies` follows the gap

    1 - reward per copy / relaxed bound per copy

as R grows, for expected and for random contents, from copies that start alike and from random ones;
`gaps_of_random_sets` measures it at one large R on many random sets. See `replicas` for the runs.

Reference: Weber and Weiss, J. Appl. Prob. 27 (1990); Verloop (2016).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.optimum.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import (
    StochasticIndex,
    stochastic_bound,
    stochastic_index,
)
from analysis.ephemeral.stochastic.replicas import (
    STARTS,
    simulate_random_replicas,
    simulate_replicas,
)
from analysis.results import Estimate

_WARM_UP = 200  # phases mix slowly

Row = tuple[str, str, int, float, float, float]


def gaps_of_random_sets(instances: int, copies: int, seed: int) -> pd.DataFrame:
    """Measure the gap of the index policy on many copies of random sets, with expected contents.

    Parameters
    ----------
    instances : int
        Number of random sets, at least 1.
    copies : int
        Copies of each source, at least 1.
    seed : int
        Seed of the sets and of the random starts.

    Returns
    -------
    pandas.DataFrame
        One row a set: ``instance``, ``budget``, the gap from copies that start ``together`` and
        from ``random`` ages, and ``exact``, whether both runs were averaged over a period.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
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


def alike_gaps(source: Sources, budget: float, sizes: Sequence[int]) -> list[float]:
    """Return the gap to the bound of so many copies of one source, with expected contents.

    Parameters
    ----------
    source : Sources
        The source; with more than one type the copies are not alike.
    budget : float
        Crawls per epoch and copy.
    sizes : sequence of int
        Numbers of copies, whose product with the budget is whole.
    """
    bound = relaxed_problem(source, budget).bound
    return [1 - simulate_replicas(source, budget, n).average_reward / bound for n in sizes]


def closes(copies: pd.DataFrame, share: float = 0.05) -> bool:
    """Tell whether the gap with random content falls to a small share of that of one copy.

    Parameters
    ----------
    copies : pandas.DataFrame
        As `gaps_against_copies` returns it, with a column ``sources`` that names the set.
    share : float
        Largest share, of the upper end of the interval at the largest size.
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

    Parameters
    ----------
    sources : Sources
        N sources with costs of one.
    budget : int
        Crawls per epoch and copy.
    law : Utility
        Law of the utilities where contents are random.
    sizes, random_sizes : sequence of int
        Numbers of copies with expected and with random contents.
    runs : int
        Replications of whatever is random, at least 2.
    horizon : int
        Epochs of a run with one copy, fewer with more, and at least 400 without the first 200.
    seed : int
        Seed of all runs.

    Returns
    -------
    pandas.DataFrame
        Columns ``content`` ("expected"; "random", played with the index of the random model;
        "closed form", with that of Theorem 1 on the same contents), ``start``, ``copies``, ``gap``
        and its ``low`` and ``high``: 95% intervals if contents are random, else the range.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
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
