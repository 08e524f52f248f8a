"""What the page `learning-scheme` computes: the equations of the 2019 paper, as printed.

Three groups of results: `Content` (section II, up to the index), `Index` (the index and its
thresholds) and `Rule` (sections III and IV: the soft policy, its gradient and the recursions).
`claims` derives the verdicts from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from analysis.arrays import Floats, Ints
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.policies import Observation, Policy
from analysis.ephemeral.simulation import Cycle, long_run, simulate
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.chains import CAP, Poisson, Recursion, Transitions
from analysis.learning.scheme.equations import ThresholdFit, index_as_printed, windowed_content
from analysis.learning.scheme.gradient import GradientCheck, gradient_check
from analysis.learning.scheme.lspe import LspeOptions
from analysis.learning.scheme.thresholds import (
    hard_threshold_value,
    soft_threshold_value,
    whittle_threshold,
)

AS_PRINTED = "as printed, for the content of all"
OWN = "(8) with its own source only, for the content of all"
HARVEST = "(8) with its own source only, for the harvest"
CORRECTED = "corrected, for the harvest"
ONE_DRAW = "corrected, exactly one source an epoch"
#: M_i, and charges for a crawl, of the check of indexability with content that is dropped.
LIFETIMES = (1, 2, 5, 9)
CHARGES = np.linspace(-50.0, 550.0, 601)


@dataclass(frozen=True)
class Content:
    """What the rows on content and objective are judged by."""

    # The instance, N_0, and M_i of the check with content that is dropped.
    sources: Sources
    budget: int
    lifetime: int
    thinning: float  # as `thinning_error` returns it
    left: Floats  # share of interest that an epoch leaves, by `interest_left`; shape (N,)
    draws: Floats  # Z of source 1; shape (T,)
    misses: pd.DataFrame  # as `content_misses` returns it
    orbit: Floats  # content at ages 1, 2, ; shape (A, N)
    cycle: Cycle  # of the index policy
    contents: Floats  # before a crawl under the index policy, in the long run; shape (N, T)
    # Law of the number of sources crawled at an epoch in the learning run, with the thresholds at
    # their upper bounds; shape (N + 1,).
    engaged: Floats
    engaged_raw: Floats  # the same where states are not divided


@dataclass(frozen=True)
class Index:
    """What the rows on the index and its thresholds are judged by."""

    # The instance and N_0.
    sources: Sources
    budget: int
    # (4) with the two readings of (5)'s bracket, and the closed form, at ages 1, 2, ; shape (A,
    # N).
    exceeding: Floats
    ceil: Floats
    closed: Floats
    defined: float  # largest difference of the closed form to the index by its definition
    outside: Floats  # (4) above u*; shape (N,)
    passive_ages: Floats  # as `best_ages` returns it, at rising charges
    beyond: Floats  # as `share_beyond` returns it
    same_crawls: bool  # as `ranks_as_the_index` returns it
    # Long-run reward of the index policy, and the relaxed bound.
    reward: float
    ceiling: float
    agreement: dict[int, float]  # as `threshold_agreement` returns it, by N_0
    least_change: float  # as `least_change` returns it
    fit: ThresholdFit  # forms of section V fitted to the thresholds
    repeats: dict[int, tuple[int, float]]  # as `repetition` returns it, by N_0


@dataclass(frozen=True)
class Rule:
    """Results that decide the verdicts on the learning rule; see `scheme.chains`."""

    # The instance and the steepness.
    sources: Sources
    kappa: float
    logit: pd.DataFrame  # as `nearness_of_the_logit` returns it
    # On the chain of two sources.
    transitions: Transitions
    poisson: Poisson
    recursion: Recursion
    gradients: pd.DataFrame  # as `gradient_table` returns it, at `points` points
    points: int  # number of points
    ranks: tuple[int, int]  # of B without and with its step at n = 0, after the steps to n = 1
    length: int  # number of features
    # As `inverse_errors` returns them.
    by_print: Floats
    by_formula: Floats
    steps: Mapping[str, Floats]  # as `example_steps` returns them
    # What the program computes with, in the order of the print.
    threshold_form: tuple[int, ...]
    feature_form: tuple[int, ...]
    step_numbers: tuple[float, ...]


def interest_left(sources: Sources) -> Floats:
    """Integrate w' = -c w over an epoch from w = 1, by Runge and Kutta's method; shape (N,)."""
    found = solve_ivp(
        lambda _, w: -sources.decay * w, (0.0, 1.0), np.ones(len(sources)), rtol=1e-11, atol=1e-13
    )
    return np.asarray(found.y[:, -1], dtype=np.float64)


def content_misses(
    arrivals: Floats, decay: float, lifetimes: Iterable[int], crawls: Iterable[int]
) -> pd.DataFrame:
    """Return the most by which (1) misses the content by its definition, without and with crawls.

    `arrivals`: Z; `lifetimes`: M, a row each; one of T epochs or more is infinite; `crawls`:
    epochs at whose end all content is taken, in the second column.
    """
    ways = {"never crawled": (), "crawled": tuple(crawls)}
    rows = {
        str(life) if life < arrivals.size else "infinity": {
            way: np.abs(windowed_content(arrivals, decay, life, epochs)[1]).max()
            for way, epochs in ways.items()
        }
        for life in lifetimes
    }
    return pd.DataFrame(rows).T.rename_axis("M")


@dataclass(frozen=True)
class Ranked:
    """Crawl the sources of largest index by (4) and (5), as printed."""

    sources: Sources  # N sources

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Ints:
        """Return the `budget` sources of largest index; ties go to the smaller number."""
        values = index_as_printed(self.sources, self.sources.state_at_age(observation.age))
        return np.sort(np.argsort(-values, kind="stable")[:budget])


def ranks_as_the_index(sources: Sources, horizon: int) -> bool:
    """Say whether (4), as printed, crawls as the index policy does, at every budget below N."""
    return all(
        np.array_equal(
            _crawled(sources, Ranked(sources), budget, horizon),
            _crawled(sources, "whittle", budget, horizon),
        )
        for budget in range(1, len(sources))
    )


def _crawled(
    sources: Sources, policy: Policy | str, budget: int, horizon: int
) -> NDArray[np.bool_]:
    return simulate(sources, policy, budget, horizon, initial_state="fresh").crawled


def best_ages(sources: Sources, charges: Floats = CHARGES) -> Floats:
    """Return the age at which it is best to crawl a source, at each charge for a crawl.

    The state is the age k, content after k epochs is u*(1 - alpha^min(k, M)), and an age of
    infinity is never to crawl. Shape (lifetimes, N, charges).
    """
    age = np.arange(1, 500)
    best = np.empty((len(LIFETIMES), len(sources), charges.size))
    for place, life in enumerate(LIFETIMES):
        content = sources.state_at_age(np.minimum(age, life)[:, None])
        for arm in range(len(sources)):
            gain = (content[:, arm, None] - charges) / age[:, None]
            best[place, arm] = np.where(gain.max(axis=0) > 0, age[gain.argmax(axis=0)], np.inf)
    return best


def share_beyond(sources: Sources, states: Floats) -> Floats:
    """Return the share of states at which another source's index is u*/C or more, shape (N,)."""
    index = whittle_index(sources, states)
    rivals = [np.delete(index, arm, axis=1).max(axis=1) for arm in range(len(sources))]
    return np.mean(sources.u_star / sources.cost <= np.array(rivals).T, axis=0)


def thresholds_at(sources: Sources, states: Floats) -> Floats:
    """Return the thresholds of section III at each of several states, shape (S, N)."""
    return np.array([whittle_threshold(sources, x) for x in states])


def threshold_agreement(
    sources: Sources, states: Floats, levels: Floats, budgets: Iterable[int]
) -> dict[int, float]:
    """Return in which share of states "x_i >= T_i" crawls as the index policy does, by budget."""
    ranks = np.argsort(-whittle_index(sources, states), axis=1, kind="stable")
    above = states >= levels - 1e-9 * sources.u_star.max()
    return {
        budget: float(
            np.mean(
                [
                    set(np.flatnonzero(crawled)) == set(rank[:budget])
                    for crawled, rank in zip(above, ranks, strict=True)
                ]
            )
        )
        for budget in budgets
    }


def least_change(
    sources: Sources, states: Floats, levels: Floats, rng: np.random.Generator
) -> float:
    """Raise one state half the way to u*; return the least change of the other thresholds."""
    rows = np.arange(len(states))
    raised, which = states.copy(), rng.integers(0, len(sources), len(states))
    raised[rows, which] += 0.5 * (sources.u_star[which] - raised[rows, which])
    change = thresholds_at(sources, raised) - levels
    change[rows, which] = np.inf
    return float(change.min())


def repetition(
    sources: Sources, budget: int, policy: Policy | str = "whittle", epochs: int = 400
) -> tuple[int, float]:
    """Return the index policy's period, and by how much contents of a run differ one period on.

    The period is found on integer ages; the run is another computation, of contents, and may be
    that of another policy. Where no ages come twice there is no such difference: it is nan.
    """
    cycle = long_run(sources, "whittle", budget)
    period, epochs = cycle.period, max(epochs, 4 * cycle.period)
    if not cycle.repeats:
        return period, np.nan
    run = simulate(sources, policy, budget, epochs, initial_state="fresh")
    contents = run.state[:, epochs // 2 :]
    return period, float(np.abs(contents[:, period:] - contents[:, :-period]).max())


def nearness_of_the_logit(sources: Sources, kappa: float) -> pd.DataFrame:
    """Compare the soft policy with the step that it stands for, by what states are divided by.

    Each threshold lies halfway between the contents at ages 2 and 3, so that the step has no ties.
    """
    levels = 0.5 * (sources.state_at_age(2) + sources.state_at_age(3))
    step = hard_threshold_value(sources, levels)
    rows = {}
    for name, scale in (("nothing", 1.0), ("the largest u*", float(sources.u_star.max()))):
        soft = soft_threshold_value(sources, levels, kappa, scale=scale)
        rows[name] = {
            "reward of the draw": soft.average_reward,
            "reward of the step": step.average_reward,
            "0.5 in value units": 0.5 * scale,
        }
    return pd.DataFrame(rows).T.rename_axis("states divided by")


def readings(kappa: float) -> dict[str, tuple[LspeOptions, str]]:
    """Return readings of (7) to (9), each with the average reward whose gradient it should be."""
    as_printed = {"projected": False, "kappa": kappa, "threshold": "quadratic"}
    own = as_printed | {"gradient": "own arm"}
    right = own | {"reward": "crawled", "signal": "advantage"}
    return {
        AS_PRINTED: (LspeOptions.as_printed(**as_printed), "all"),
        OWN: (LspeOptions.as_printed(**own), "all"),
        HARVEST: (LspeOptions.as_printed(**own), "crawled"),
        CORRECTED: (LspeOptions.as_printed(**right), "crawled"),
        ONE_DRAW: (LspeOptions.corrected(kappa=kappa), "crawled"),
    }


def check_gradients(
    sources: Sources, points: Iterable[Floats], kappa: float
) -> dict[str, list[GradientCheck]]:
    """Hold each reading against central differences of the exact average reward."""
    at = list(points)
    return {
        name: [gradient_check(sources, q, options, cap=CAP, objective=goal) for q in at]
        for name, (options, goal) in readings(kappa).items()
    }


def gradient_table(checks: Mapping[str, list[GradientCheck]]) -> pd.DataFrame:
    """Return median and largest cosine and the largest relative error of each reading."""
    rows = {
        name: {
            "median cosine": np.median([c.cosine for c in found]),
            "largest cosine": max(c.cosine for c in found),
            "largest relative error": max(c.relative_error for c in found),
        }
        for name, found in checks.items()
    }
    return pd.DataFrame(rows).T.rename_axis("formula, and the average reward that it is for")


def noise_of_a_constant(sources: Sources, points: Iterable[Floats], kappa: float) -> float:
    """Return by what a step's second moment is multiplied if 1 is added to V, without baseline."""
    options, goal = readings(kappa)[OWN]
    at = list(points)
    moment = [
        np.mean(
            [
                gradient_check(
                    sources, q, options, cap=CAP, objective=goal, value_shift=shift
                ).second_moment
                for q in at
            ]
        )
        for shift in (0.0, 1.0)
    ]
    return float(moment[1] / moment[0])
