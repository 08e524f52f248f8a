"""Policies that the literature proposed since: played beside index, timetable and two levels.

Companion of `how_good`. Policies without chance are judged by the cycle that they come into, those
that draw by runs that begin with all ages equal, of which the first half is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.instances import hard_sets, random_set
from analysis.ephemeral.optimum.advice import (
    FTVAPolicy,
    IDPolicy,
    LPUpdatePolicy,
    SingleSourcePolicies,
)
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.relaxed import relaxed_problem
from analysis.ephemeral.policies import Policy, WhittlePolicy
from analysis.ephemeral.simulation import long_run_cycle, simulate
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.copies import two_level
from analysis.ephemeral.timetables.table import timetable
from analysis.report import plus_minus, save_table
from analysis.results import Estimate

Floats = NDArray[np.float64]

EPOCHS_AHEAD = 5
LABELS = {
    "index": "index",
    "timetable": "timetable",
    "two-level": "two levels",
    "lp-update": f"LP-update, {EPOCHS_AHEAD} epochs",
    "ftva": "FTVA",
    "id": "ID",
}
#: Policies that draw.
RANDOM: dict[str, Callable[[Sources, int], Policy]] = {"ftva": FTVAPolicy, "id": IDPolicy}


def losses_of_one_copy(sets: int, horizon: int, runs: int, seed: int) -> dict[str, Floats]:
    """Return what each policy loses of the exact optimum on random sets of four sources.

    Parameters
    ----------
    sets : int
        Number of sets, numbered from 0.
    horizon, runs : int
        Epochs of a run, and runs of the policies that draw.
    seed : int
        Seed of the sets and of the runs.

    Returns
    -------
    dict of str to ndarray, shape (sets, runs)
        One column only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in LABELS}
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
        for name, policy in RANDOM.items():
            rngs = [np.random.default_rng([seed, 29, number, run]) for run in range(runs)]
            rewards[name] = [
                _played(sources, policy(sources, budget), budget, horizon, rng) for rng in rngs
            ]
        for name, earned in rewards.items():
            losses[name].append(1 - np.atleast_1d(earned) / optimum)
    return {name: np.array(rows) for name, rows in losses.items()}


def losses_of_copies(
    copies: int, sets: int, horizon: int, runs: int, seed: int
) -> dict[str, Floats]:
    """Return what policies lose of the relaxed bound with many copies of each source.

    Parameters
    ----------
    copies : int
        Copies of each of four sources; the ID policy takes one of each in turn.
    sets, horizon, runs, seed : int
        As in `losses_of_one_copy`; the index policy has one run, from ages that are equal.

    Returns
    -------
    dict of str to ndarray, shape (sets, runs)
        One column only for policies without chance.
    """
    losses: dict[str, list[Floats]] = {name: [] for name in ("index", "two-level", *RANDOM)}
    for number in range(sets):
        types, budget = random_set(number, seed)
        bound = relaxed_problem(types, budget).bound
        sources = types.subset(np.tile(np.arange(len(types)), copies))
        places = budget * copies
        fixed = _played(sources, WhittlePolicy(sources), places, horizon, None) / copies
        losses["index"].append(np.array([1 - fixed / bound]))
        losses["two-level"].append(np.array([two_level(types, budget, copies).loss]))
        for name, policy in RANDOM.items():
            rngs = [np.random.default_rng([seed, 31, number, run]) for run in range(runs)]
            earned = [
                _played(sources, policy(sources, places), places, horizon, rng) for rng in rngs
            ]
            losses[name].append(1 - np.array(earned) / copies / bound)
    return {name: np.array(rows) for name, rows in losses.items()}


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


def save_rivals(one: dict[str, Floats], many: dict[str, Floats], copies: int) -> None:
    """Save the table of all policies' losses.

    Parameters
    ----------
    one, many : dict of str to ndarray
        As `losses_of_one_copy` and `losses_of_copies` return them.
    copies : int
        Copies behind `many`.
    """
    rows = {
        label: {
            "one copy, mean": _mean(one[name]),
            "one copy, worst": f"{one[name].mean(axis=1).max():.2%}",
            f"{copies} copies, mean": _mean(many[name]) if name in many else "not played",
        }
        for name, label in LABELS.items()
    }
    sets, runs = one["ftva"].shape
    save_table(
        "how-good-rivals",
        pd.DataFrame(rows).T.rename_axis("policy"),
        f"Loss on {sets} random sets of four sources: of one copy against the exact optimum, of "
        f"{copies} copies of each ({many['ftva'].shape[0]} sets) against the relaxed bound, from "
        f"equal ages; 95% intervals over {runs} runs where a policy draws.",
    )


def _mean(losses: Floats) -> str:
    """Mean over sets, with its interval over runs if there are any."""
    means = losses.mean(axis=0)
    if means.size == 1:
        return f"{round(means[0], 9) + 0.0:.3%}"  # no minus before a zero
    estimate = Estimate.of(means)
    return f"{plus_minus(100 * estimate.value, 100 * estimate.half_width)}%"


def aperiodic_share(sets: int, seed: int) -> float:
    """Return the share of random sets of four sources of which no single-source chain has a period.

    Parameters
    ----------
    sets, seed : int
        Number and seed of the sets.
    """
    drawn = (random_set(number, seed) for number in range(sets))
    return float(np.mean([SingleSourcePolicies.of(*one).aperiodic().all() for one in drawn]))


def hard_rewards() -> pd.DataFrame:
    """Return index policy, timetable, exact optimum and bound on the sets of `hard_sets`."""
    rows = {}
    for name, (sources, budget) in hard_sets().items():
        best = optimal_cycle(sources, budget)
        index = long_run_cycle(sources, "whittle", budget).average_reward
        bound = relaxed_problem(sources, budget).bound
        rows[name] = {
            "bound": bound,
            "optimum": best.average_reward,
            "timetable": timetable(sources, budget).average_reward,
            "index": index,
            "index below bound": 1 - index / bound,
            "index below optimum": 1 - index / best.average_reward,
            "joint ages": best.states,
        }
    return pd.DataFrame(rows).T.rename_axis("set")


def save_hard(rewards: pd.DataFrame) -> None:
    """Save the table of the sets on which the index policy loses most."""
    formats = {name: ".3%" if "below" in name else ".6f" for name in map(str, rewards)}
    save_table(
        "how-good-hard",
        rewards,
        "Sets of three and of five sources on which the index policy loses most, one crawl an "
        "epoch: rewards per epoch, all exact, and the joint ages of the optimum.",
        formats={**formats, "joint ages": ".0f"},
    )
