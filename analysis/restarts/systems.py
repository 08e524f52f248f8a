"""Random instances of the slides' experiments, and what policies cost on each.

    alpha_opt = 100 J(optimal) / J(index)                K = 5, n = 5, m in {1, 2}
    eps_myp = 100 (J(myopic) - J(index)) / J(myopic)     K = 25, n in {25, 50, 75}, m in {1, 2, 5}

The first is exact here (3125 joint states); the second is simulated on common random numbers, with
an interval. What the slides leave open (kernels, initial state, whether arms differ, the myopic
score, how ties are broken) is a parameter or a column. Ties matter: new arms all have one index.

Source: the restart slides (2019), slides 18 to 20.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.checks import check_array, check_choice, check_number
from analysis.restarts.bandit import (
    RestartBandit,
    Scores,
    index_scores,
    lookahead_scores,
    lowest_first,
    myopic_scores,
    relaxed_bound,
)
from analysis.restarts.instances import SLIDE_DISCOUNT, slide_arms
from analysis.restarts.joint import JointModel, evaluate_scores, solve_joint
from analysis.restarts.simulation import simulate
from analysis.sweep import sweep

#: Relative half-width of the bounds on exact values; a ratio in % is good to 1e-6.
TOLERANCE = 1e-8
#: Policies that are valued exactly: how each is scored, and how its ties are broken.
EXACT: Mapping[str, tuple[Callable[[RestartBandit], Scores], str]] = {
    "index": (index_scores, "lower arm"),
    "index_best": (index_scores, "best"),
    "index_worst": (index_scores, "worst"),
    "myopic": (myopic_scores, "lower arm"),
    "lowest": (lambda bandit: lowest_first(index_scores(bandit)), "best"),
}
#: Policies that are simulated; ties go to the lower arm.
SIMULATED: Mapping[str, Callable[[RestartBandit], Scores]] = {
    "index": index_scores,
    "myopic": myopic_scores,
    "lookahead": lookahead_scores,
}


def exact_costs(
    kernels: Sequence[str],
    policies: Sequence[str] = tuple(EXACT),
    *,
    seed: int,
    instances: int = 100,
    arms: int = 5,
    states: int = 5,
    budgets: Sequence[int] = (1, 2),
    identical: bool = False,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Value the optimum and priority policies exactly on random instances, from first states.

    Parameters
    ----------
    kernels, policies : sequence of str
        Names of `instances.kernel_names()` and of `EXACT`.
    seed : int
        Root of the instances' streams; more instances leave the earlier ones as they were.
    instances, arms, states : int
        Instances of each kernel; arms of an instance; states of an arm.
    budgets : sequence of int
        Arms activated per epoch; every budget sees the same arms.
    identical : bool
        Whether an instance's arms share one kernel.
    jobs : int, optional
        Local processes, all cores by default; the numbers do not depend on it.

    Returns
    -------
    pandas.DataFrame
        One row per kernel, instance and budget: the ``optimal`` cost, the Lagrangian ``bound``, the
        cost of each policy and, in a column with ``_least`` added to its name, the least ratio of
        optimum to policy over all initial joint states; ``residual``, the error bound on costs.
    """
    for policy in policies:
        check_choice("policies", policy, tuple(EXACT))

    def evaluate(kernel: str, rng: np.random.Generator) -> list[dict[str, float]]:
        drawn = tuple(slide_arms(kernel, arms, states, rng, identical=identical))
        rows = []
        for budget in budgets:
            bandit = RestartBandit(drawn, budget, SLIDE_DISCOUNT)
            scores = {score: score(bandit) for score in {EXACT[name][0] for name in policies}}
            model = JointModel(bandit)
            best = solve_joint(bandit, tolerance=TOLERANCE, model=model)
            row = {"optimal": float(best.values.flat[0]), "bound": relaxed_bound(bandit)[0]}
            residual = best.residual
            for name in policies:
                score, ties = EXACT[name]
                valued = evaluate_scores(
                    bandit,
                    scores[score],
                    ties=ties,
                    tolerance=TOLERANCE,
                    initial_values=best.values,
                    model=model,
                )
                row[name] = float(valued.values.flat[0])
                row[f"{name}_least"] = float((best.values / valued.values).min())
                residual = max(residual, valued.residual)
            rows.append({"budget": budget, **row, "residual": residual})
        return rows

    return _frame(evaluate, kernels, seed, instances, jobs)


def _frame(
    evaluate: Any, kernels: Sequence[str], seed: int, instances: int, jobs: int | None
) -> pd.DataFrame:
    results = sweep(evaluate, kernels, seed=seed, replications=instances, jobs=jobs, progress=False)
    return pd.DataFrame(
        [
            {"kernel": kernel, "instance": number, **row}
            for kernel, by_instance in zip(kernels, results, strict=True)
            for number, rows in enumerate(by_instance)
            for row in rows
        ]
    )


def myopic_gaps(
    kernels: Sequence[str],
    policies: Sequence[str] = tuple(SIMULATED),
    *,
    seed: int,
    instances: int = 100,
    arms: Sequence[int] = (75,),
    states: int = 25,
    budgets: Sequence[int] = (2,),
    paths: int = 200,
    epochs: int = 100,
    control: bool = True,
    identical: bool = False,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Simulate the index policy beside the myopic one on random instances.

    Parameters
    ----------
    kernels, seed, instances, states, identical, jobs
        As `exact_costs`.
    policies : sequence of str
        Names of `SIMULATED`, with "index" and "myopic" among them.
    arms, budgets : sequence of int
        Sizes of a system, and arms activated per epoch: a system of n arms has the first n of the
        instance.
    paths, epochs : int
        Replications on each system, and epochs of each.
    control : bool
        Whether losses at the price of the relaxed bound are added up, an exact control variate, or
        costs, as the slides print it.

    Returns
    -------
    pandas.DataFrame
        One row per kernel, instance, size and budget: mean cost of each policy; ``eps`` of the
        index against the myopic policy with ``low`` and ``high``, its 95% interval; the Lagrangian
        ``bound``, and ``gap``, by how many percent the index policy's mean is above it.
    """
    for policy in policies:
        check_choice("policies", policy, tuple(SIMULATED))

    def evaluate(kernel: str, rng: np.random.Generator) -> list[dict[str, float]]:
        drawn = tuple(slide_arms(kernel, max(arms), states, rng, identical=identical))
        rows = []
        for count, budget in product(arms, budgets):
            bandit = RestartBandit(drawn[:count], budget, SLIDE_DISCOUNT)
            scores = {name: SIMULATED[name](bandit) for name in policies}
            bound, price = relaxed_bound(bandit)
            counted_at = price if control else None
            simulated = simulate(
                bandit, scores, paths=paths, epochs=epochs, rng=rng, price=counted_at
            )
            eps = simulated.saving("index", "myopic")
            costs = {name: simulated.mean(name).value for name in policies}
            rows.append(
                {"arms": count, "budget": budget, **costs, "eps": eps.value}
                | {"low": eps.low, "high": eps.high}
                | {"bound": bound, "gap": 100 * (costs["index"] / bound - 1)}
            )
        return rows

    return _frame(evaluate, kernels, seed, instances, jobs)


def fullest_bin(values: ArrayLike, width: float) -> int:
    """Return the most values in a half-open interval of a width: a histogram's fullest bin."""
    width = check_number("width", width, 0, low_open=True)
    ordered = np.sort(check_array("values", values).ravel())
    until = np.searchsorted(ordered, ordered + width, side="left")
    return int((until - np.arange(len(ordered))).max(initial=0))
