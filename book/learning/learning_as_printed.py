"""The page `learning-as-printed`: reward and divergence of the scheme of 2019.

The paper does not print by what a state is divided before kappa multiplies it. With the largest u*
the printed 160 comes out; `evaluate_bounds` gives what other choices would.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from analysis.arrays import Floats
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.static import random_reward
from analysis.ephemeral.policies import Observation, RoundRobinPolicy
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import CertaintyEquivalence
from analysis.learning.comparison import LearningCurves, compare_learners
from analysis.learning.environment import mean_content
from analysis.learning.scheme.equations import feature_condition
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.scheme.thresholds import (
    ThresholdValue,
    soft_threshold_value,
    whittle_threshold,
)
from analysis.results import Estimate
from scorecard import Claim, claim, save_table, save_value, save_values
from scorecard.prints import printed_number

OVERFLOW = float(np.log(np.finfo(np.float64).max))
"""Size of an exponent beyond which exp leaves the range of double precision."""


@dataclass(frozen=True)
class FreeRuns:
    """Runs without the cures, up to where they diverge."""

    exponent: float  # largest size of an exponent of the logit, over all states met
    crawled: float  # mean number of sources crawled at an epoch
    ranks: tuple[int, ...]  # numerical rank of the matrix at the end of each run
    diverged: tuple[bool, ...]  # whether each run diverged
    features: int  # rows of that matrix


@dataclass(frozen=True)
class Estimated:
    """One run of certainty equivalence on random arrivals."""

    error: float  # largest relative error of u* or mu of the sources crawled more than 1000 times
    earned: float  # expected reward as a share of the index policy's with known parameters


@dataclass(frozen=True)
class Results:
    """All that the page's rows are judged by."""

    # The instance and the printed settings.
    sources: Sources
    kappa: float
    value_step: float
    horizon: int
    # By the cures: "with both cures", "projection alone", "regularisation alone", "with neither".
    runs: Mapping[str, LearningCurves]
    # "with both cures" and "with neither" where states are not divided.
    raw: Mapping[str, LearningCurves]
    by_c: pd.DataFrame  # rows of `run_by_step`: reward and engaged sources by c, at kappa
    # Thresholds at their upper bounds, by what states are divided by, the page's first.
    divisors: Mapping[str, ThresholdValue]
    # Long-run reward of the index policy, and the relaxed bound.
    best: float
    ceiling: float
    steepness: pd.DataFrame  # by kappa: ``sources crawled`` and ``their deviation``
    # With neither cure, states divided or raw.
    free: FreeRuns
    free_raw: FreeRuns
    condition: pd.DataFrame  # as `condition_numbers` returns it
    # Reward of the best constant thresholds, inside the projection's bounds and free; states
    # divided, and raw.
    projected: float
    unprojected: float
    raw_projected: float
    raw_unprojected: float
    decay_matters: bool  # whether wrong decay rates change what is crawled
    estimated: Estimated  # estimates of a learner that knows no parameter


def list_cures(options: LspeOptions) -> dict[str, LspeOptions]:
    """Return the scheme with both cures, one, or neither, from its options with both."""
    changed = partial(_change_options, options)
    return {
        "with both cures": options,
        "projection alone": changed(regulariser="none"),
        "regularisation alone": changed(projected=False),
        "with neither": changed(projected=False, regulariser="none"),
    }


def run_all(
    sources: Sources,
    options: Mapping[str, LspeOptions],
    *,
    horizon: int,
    replications: int,
    seed: int,
) -> dict[str, LearningCurves]:
    """Run the scheme with each of several options, one crawl an epoch on average contents."""
    learners = {name: partial(Lspe, sources, option) for name, option in options.items()}
    return compare_learners(
        sources, learners, 1, horizon=horizon, replications=replications, seed=seed
    )


def evaluate_bounds(sources: Sources, kappa: float) -> dict[str, ThresholdValue]:
    """Return the value of thresholds at their upper bounds, by the divisor of states."""
    divisors = {
        "the largest u*": sources.u_star.max(),
        "the largest u": sources.u.max(),
        "the mean u*": sources.u_star.mean(),
        "the largest arrival rate": sources.arrival_rate.max(),
        "the sum of u*": sources.u_star.sum(),
        "nothing (raw states)": 1.0,
    }
    return {
        name: soft_threshold_value(sources, sources.u_star, kappa, scale=float(scale))
        for name, scale in divisors.items()
    }


def run_by_step(
    sources: Sources,
    kappas: Sequence[float],
    steps: Sequence[float],
    *,
    value_step: float,
    horizon: int,
    runs: int,
    seed: int,
) -> pd.DataFrame:
    """Run the scheme with both cures for every kappa and c, `value_step` being the step of r.

    Rewards and engaged sources are those of the second half of a run, with 95% intervals;
    ``at_bounds`` is the share of thresholds that end on their upper bounds.
    """
    content = mean_content(sources, horizon)
    rows = []
    for step, kappa in product(steps, kappas):
        options = LspeOptions.as_printed(kappa=kappa, step=step, value_step=value_step)
        rewards, engaged, ends = [], [], []
        for stream in np.random.default_rng(seed).spawn(runs):
            learner = Lspe(sources, options)
            run = learner.play(sources, content, 1, stream)
            if run.diverged_at is not None:
                continue
            rewards.append(run.expected[horizon // 2 :].mean())
            engaged.append(run.engaged[horizon // 2 :].mean())
            ends.append(np.isclose(learner.thresholds(sources.u), sources.u_star).mean())
        row = {"kappa": kappa, "step": step}
        for name, sample in (("reward", rewards), ("engaged", engaged)):
            estimate = Estimate.of(np.array(sample))
            row |= {
                name: estimate.value,
                f"{name}_low": estimate.low,
                f"{name}_high": estimate.high,
            }
        rows.append(row | {"at_bounds": float(np.mean(ends)), "runs": len(rewards)})
    return pd.DataFrame(rows)


def measure_steepness(
    sources: Sources, runs: Mapping[float, LearningCurves], horizon: int
) -> pd.DataFrame:
    """Return reward and number of crawls by kappa: second halves of the runs, and exact values."""
    half = slice(horizon // 2, None)
    exact = {k: soft_threshold_value(sources, sources.u_star, k) for k in runs}
    return pd.DataFrame(
        {
            "reward": {k: r.expected[:, half].mean() for k, r in runs.items()},
            "reward, exact": {k: v.average_reward for k, v in exact.items()},
            "sources crawled": {k: r.engaged[:, half].mean() for k, r in runs.items()},
            "exact": {k: v.engaged for k, v in exact.items()},
            "their deviation": {k: r.engaged[:, half].std(axis=1).mean() for k, r in runs.items()},
            "deviation, exact": {k: v.engaged_std for k, v in exact.items()},
        }
    ).rename_axis("kappa")


def share_at_bounds(
    sources: Sources, options: LspeOptions, *, horizon: int, runs: int, seed: int
) -> float:
    """Return the share of thresholds that end on their upper bounds."""
    content, ends = mean_content(sources, horizon), []
    for stream in np.random.default_rng(seed).spawn(runs):
        learner = Lspe(sources, options)
        learner.play(sources, content, 1, stream)
        ends.append(np.isclose(learner.thresholds(sources.u), sources.u_star))
    return float(np.mean(ends))


def find_best_mixture(
    sources: Sources, kappa: float, crawls: float, *, scale: float, projected: bool
) -> float:
    """Return the most that constant thresholds earn at a mean number of crawls, drawn if need be.

    Where the logit is steep the best thresholds jump at the price of a crawl, so that no choice of
    them has exactly `crawls`: a linear program over a grid of thresholds allows a draw among them.
    """
    reach = scale * (0.5 + 40 / kappa)  # beyond it a crawl is certain, or as good as excluded
    low = sources.u if projected else np.full(len(sources), -reach)
    high = sources.u_star if projected else sources.u_star + reach
    grid = np.linspace(low, high, 2001)
    values = [soft_threshold_value(sources, levels, kappa, scale=scale) for levels in grid]
    reward, rate = (np.array([getattr(v, name) for v in values]) for name in ("reward", "rate"))
    shares = np.kron(np.ones(len(grid)), np.eye(len(sources)))  # shares of one source sum to 1
    equal = np.append(np.ones(len(sources)), crawls)
    optimum = linprog(-reward.ravel(), A_eq=np.vstack([shares, rate.ravel()]), b_eq=equal)
    return float(-optimum.fun)


def run_without_cures(
    sources: Sources, options: LspeOptions, *, horizon: int, runs: int, seed: int
) -> FreeRuns:
    """Run the scheme without cures; look at exponents all the way, and at the matrix at the end."""
    scale = sources.u_star.max() if options.scale is None else options.scale
    largest, crawled, ranks, diverged, size = 0.0, [], [], [], 0
    for stream in np.random.default_rng(seed).spawn(runs):
        learner, age = Lspe(sources, options), np.ones(len(sources), dtype=np.int64)
        for epoch in range(horizon):
            state = sources.state_at_age(age)
            away = (state - learner.thresholds(state)) / scale - options.offset
            largest = max(largest, float(np.abs(options.kappa * away).max()))
            arms = learner.select(Observation(epoch, age, state), 1, stream)
            learner.update(arms, state[arms])
            crawled.append(len(arms))
            if learner.diverged_at is not None:
                break
            age += 1
            age[arms] = 1
        size = len(learner.r)
        # The solver stops at a pivot of exactly 0 only; the rank has the tolerance of rounding.
        ranks.append(int(np.linalg.matrix_rank(learner.matrix)))
        diverged.append(learner.diverged_at is not None)
    return FreeRuns(largest, float(np.mean(crawled)), tuple(ranks), tuple(diverged), size)


def condition_numbers(sources: Sources, kappa: float, epochs: int, seed: int) -> pd.DataFrame:
    """Condition number of the mean of phi phi^T, by the model and by the scaling of the states."""
    mean = np.repeat(sources.u[None, :], epochs, axis=0)
    random = np.random.default_rng(seed).exponential(mean)
    rows = {}
    for name, content in (("mean content", mean), ("random content", random)):
        x = _visit_states_at_bounds(sources, kappa, content, np.random.default_rng(seed))
        rows[name] = {
            "states in content": feature_condition(sources, x, scale=1.0),
            "divided by the largest u*": feature_condition(sources, x),
            "centred and standardised": feature_condition(sources, x, centred=True),
        }
    return pd.DataFrame(rows).T.rename_axis("condition number of the mean of phi phi^T")


def decay_matters(sources: Sources, options: LspeOptions, *, horizon: int, seed: int) -> bool:
    """Return whether the scheme crawls differently if it is given 1.5 times the decay rates."""
    wrong = Sources(sources.arrival_rate, sources.mean_utility, 1.5 * sources.decay_rate)
    content = mean_content(sources, horizon)
    with_true, with_wrong = (
        Lspe(believed, options).play(sources, content, 1, np.random.default_rng(seed))
        for believed in (sources, wrong)
    )
    return bool((with_true.crawls != with_wrong.crawls).any())


def learn_from_crawls(sources: Sources, *, horizon: int, seed: int) -> Estimated:
    """Run certainty equivalence on the contents that one crawl an epoch collects."""
    arrivals = Arrivals(sources, Utility("exponential"))
    content = arrivals.sample(horizon, np.random.default_rng(seed))
    learner = CertaintyEquivalence(len(sources))
    run = learner.play(sources, content, 1, np.random.default_rng(seed))
    often = run.crawls > horizon / 10
    ratios = np.column_stack([learner.u_star / sources.u_star, learner.decay / sources.decay])
    best = long_run(sources, "whittle", 1).average_reward
    return Estimated(float(np.abs(ratios[often] - 1).max()), float(run.expected.mean() / best))


def _change_options(options: LspeOptions, **changes: object) -> LspeOptions:
    return LspeOptions(**{**options.__dict__, **changes})


def _visit_states_at_bounds(
    sources: Sources, kappa: float, content: Floats, rng: np.random.Generator
) -> Floats:
    """Return the states met with thresholds at their upper bounds, epoch by epoch."""
    x, visited = sources.u.copy(), np.empty_like(content)
    for epoch, arrived in enumerate(content):
        visited[epoch] = x
        away = (x - sources.u_star) / sources.u_star.max()
        crawl = rng.random(x.size) < 1 / (1 + np.exp(-kappa * (away - 0.5)))
        x = np.where(crawl, 0.0, sources.alpha * x) + arrived
    return visited


# Values and tables


APART = 0.05
"""Relative difference of two rewards from which on a choice counts as decisive."""


def tabulate_divisors(divisors: Mapping[str, ThresholdValue]) -> pd.DataFrame:
    """Return reward and number of crawls as a table."""
    return pd.DataFrame(
        {
            "reward per epoch": {name: v.average_reward for name, v in divisors.items()},
            "sources crawled": {name: v.engaged for name, v in divisors.items()},
        }
    ).rename_axis("states divided by")


def save_by_divisor(divisors: Mapping[str, ThresholdValue]) -> None:
    """Save the table of `tabulate_divisors`."""
    save_table(
        "learning-as-printed-divisors",
        tabulate_divisors(divisors),
        "Thresholds at their upper bounds, by what states are divided by before $\\kappa$ "
        "multiplies them: reward per epoch and sources crawled at an epoch, by renewal theory.",
        formats=".3f",
    )


def save_raw(raw: Mapping[str, LearningCurves]) -> None:
    """Save reward and crawls of runs with raw states, bounds rounded outward to a whole unit."""
    cured, free = raw["with both cures"], raw["with neither"]
    save_value("printed-raw-runs", len(cured.expected) + len(cured.diverged))
    save_value("printed-raw-diverged", len(cured.diverged))
    save_value("printed-raw-neither", len(free.diverged))
    save_value("printed-raw-some", len(cured.expected) > 0)
    if len(cured.expected):
        rewards = cured.expected.mean(axis=1)
        save_value("printed-raw", rewards.mean())
        save_value("printed-raw-low", np.floor(rewards.min()))
        save_value("printed-raw-high", np.ceil(rewards.max()))
        save_value("printed-raw-engaged", cured.engaged.mean())


def save_raw_without_cures(free: FreeRuns, projected: float, unprojected: float) -> None:
    """Save what raw states do without the cures, and the reward of the best thresholds on them."""
    save_value("printed-raw-free-crawled", free.crawled)
    save_value("printed-raw-free-rank", max(free.ranks))
    save_value("printed-raw-free-exponent", free.exponent)
    save_value("printed-raw-projected", projected)
    save_value("printed-raw-unprojected", unprojected)


def save_conditions(condition: pd.DataFrame) -> None:
    """Save the condition numbers of `condition_numbers` as a table."""
    save_table(
        "learning-as-printed-conditions",
        condition.rename_axis("model"),
        "Condition number of the mean of $\\phi\\phi^T$ with thresholds at their upper bounds, by "
        "the model of content and by the scaling of the states.",
        formats=".2g",
    )


def save_divergence_table(runs: Mapping[str, LearningCurves]) -> None:
    """Save the table of `tabulate_divergence`."""
    total = max(len(c.diverged) + len(c.expected) for c in runs.values())
    save_table(
        "learning-as-printed-cures",
        tabulate_divergence(runs).rename_axis("cures"),
        f"Of {total} runs each: how many diverged, when, and the mean reward per epoch of the "
        "others.",
    )


def tabulate_divergence(runs: Mapping[str, LearningCurves]) -> pd.DataFrame:
    """Return the number of diverged runs, when they diverged, and the reward of the others."""
    rows = {}
    for name, curves in runs.items():
        epochs = [epoch for _, epoch in curves.diverged]
        rows[name] = {
            "diverged": str(len(epochs)),
            "median epoch of divergence": f"{np.median(epochs):.0f}" if epochs else "none",
            "reward of the others": f"{curves.expected.mean():.2f}"
            if len(curves.expected)
            else "none",
        }
    return pd.DataFrame(rows).T


def collect_predicates(
    divisors: Mapping[str, ThresholdValue],
    share: float,
    earned: float,
    simple: tuple[float, float],
    points: pd.DataFrame,
) -> dict[str, bool]:
    """Return the predicates of the page's sentences for these runs."""
    rewards = [value.average_reward for value in divisors.values()]
    stuck = share > 0.99
    falls = all(
        (np.diff(points[column]) < 0).all() for column in ("sources crawled", "their deviation")
    )
    return {
        "unit-decides": max(rewards) > (1 + APART) * min(rewards),
        "stuck": stuck,
        "simple-does-better": min(simple) > earned,
        "kappa-alone": bool(stuck and falls and len(points) > 1),
    }


def save_predicates(
    sources: Sources,
    divisors: Mapping[str, ThresholdValue],
    share: float,
    earned: float,
    points: pd.DataFrame,
) -> None:
    """Save the predicates, and what simple policies and the index policy earn."""
    size = len(sources)
    drawn = random_reward(sources, np.full(size, 1 / size))
    turns = long_run(sources, RoundRobinPolicy(), 1).average_reward
    index = long_run(sources, "whittle", 1)
    never = int(np.count_nonzero(index.frequency == 0))
    save_value("printed-random", drawn)
    save_value("printed-round-robin", turns)
    save_value("printed-best", index.average_reward)
    save_value("printed-largest", float(sources.u_star.max()))
    save_value("printed-never", never)
    save_value("printed-starves", never > 0)
    predicates = collect_predicates(divisors, share, earned, (drawn, turns), points)
    save_values("printed", predicates)


# Claims


#: Columns of `Results.steepness` that kappa controls according to the paper, by row.
CONTROLLED = {"B-kappa-mean": "sources crawled", "B-kappa-disp": "their deviation"}
#: Runs with one of the cures, by the row on it.
WITH_ONE_CURE = {"B-cure-1": "projection alone", "B-cure-2": "regularisation alone"}


def claims(results: Results) -> list[Claim]:
    """Return the verdicts of the page on rows of the document."""
    return [*_inputs(results), *_earned(results), *_stable(results), *_known(results)]


def _inputs(results: Results) -> Iterable[Claim]:
    arms = results.sources
    for i in range(len(arms)):
        rate, decay = float(arms.arrival_rate[i]), float(arms.decay[i])
        yield claim(f"B-t1-lam{i + 1}", rate)
        yield claim(f"B-t1-c{i + 1}", decay)
        share = arms.state_at_age(1000)[i] / arms.u_star[i]
        yield claim(f"B-t1-M{i + 1}", bool(abs(share - 1) < 1e-12))
    yield claim("B-N-arms", [len(arms)])
    yield claim("B-kappa", [results.kappa])
    yield claim("B-gamma", [results.value_step])
    yield claim("B-steps", [results.horizon])


def _earned(results: Results) -> Iterable[Claim]:
    arms, main = results.sources, results.runs["with both cures"]
    reward = Estimate.of(main.expected.mean(axis=1))
    engaged = Estimate.of(main.engaged.mean(axis=1))
    first, *others = results.divisors.values()
    other_c = results.by_c[results.by_c["kappa"] == results.kappa].iloc[1:]
    yield claim(
        "B-160",
        reward.value,
        interval=reward.interval,
        replications=len(main.expected),
        alternatives=[*(v.average_reward for v in others), *other_c["reward"]],
        numbers={"at_bounds": first.average_reward},
    )
    yield claim(
        "B-one-arm",
        engaged.value,
        interval=engaged.interval,
        replications=len(main.expected),
        alternatives=[*(v.engaged for v in others), *other_c["engaged"]],
        numbers={"at_bounds": first.engaged},
    )
    slides = printed_number("A-s-285")
    yield claim("B-283", results.best, numbers={"slides": slides, "ceiling": results.ceiling})
    best, second = np.sort(arms.u)[:-3:-1]
    raw = mean_reward(results.raw["with both cures"])
    yield claim(
        "B-between",
        bool(second < reward.low and reward.high < best),
        numbers={"second": second, "best": best, "reward": reward.value, "raw": raw},
    )
    yield claim(
        "B-smaller",
        bool(reward.high < results.best),
        numbers={"reward": reward.value, "index_policy": results.best, "raw": raw},
    )
    ones = Sources(arms.arrival_rate, np.ones(len(arms)), arms.decay_rate)
    without = soft_threshold_value(ones, ones.u_star, results.kappa).average_reward
    best, second = np.sort(ones.u)[:-3:-1]
    printed = printed_number("B-160")
    yield claim(
        "B-t1-no-xi",
        bool(round(first.average_reward, -1) == printed and not second < printed < best),
        numbers={"best": best, "second": second, "printed": printed, "at_bounds": without},
    )
    for row, column in CONTROLLED.items():
        values = results.steepness[column]
        by_kappa = values.to_dict()
        yield claim(row, bool((np.diff(values) < 0).all()), numbers={"by_kappa": by_kappa})


def _stable(results: Results) -> Iterable[Claim]:
    yield from _instability(results)
    yield from _causes(results)
    count = {name: len(c.diverged) for name, c in results.runs.items()}
    worse = count["with neither"] > 0
    for row, name in WITH_ONE_CURE.items():
        numbers = {"diverged": count[name], "reward": mean_reward(results.runs[name])}
        holds = count[name] == 0 and worse
        yield claim(row, holds, numbers=numbers | _without_cures(results))
    cured = count["with both cures"]
    yield claim(
        "B-cures-help",
        cured == 0 and worse,
        numbers={"diverged": cured} | _without_cures(results) | _raw_without_cures(results),
    )
    arms = results.sources
    ages = np.array([[age, 1 + age % 2, 1, 1][: len(arms)] for age in (1, 2)])
    levels = np.array([whittle_threshold(arms, arms.state_at_age(age)) for age in ages])
    above = np.flatnonzero((levels > arms.u_star).any(axis=0)) + 1
    yield claim(
        "B-cure-1-legit",
        bool((levels <= arms.u_star).all()),
        numbers={
            "above": above,
            "projected": results.projected,
            "free": results.unprojected,
            "raw_projected": results.raw_projected,
            "raw_free": results.raw_unprojected,
        },
    )


def _instability(results: Results) -> Iterable[Claim]:
    free = results.runs["with neither"]
    total = len(free.diverged) + len(free.expected)
    half = np.median([epoch for _, epoch in free.diverged]) if free.diverged else np.inf
    yield claim(
        "B-instability",
        bool(len(free.diverged) > 0.5 * total and half < results.horizon / 2),
        numbers={"half": half} | _without_cures(results) | _raw_without_cures(results),
    )


def _causes(results: Results) -> Iterable[Claim]:
    free, raw = results.free, results.free_raw
    yield claim(
        "B-cause-1",
        free.exponent > OVERFLOW,
        numbers={
            "exponent": free.exponent,
            "overflow": OVERFLOW,
            "raw_exponent": raw.exponent,
            "raw_crawled": raw.crawled,
        },
    )
    ranks = [r for r, over in zip(free.ranks, free.diverged, strict=True) if over]
    rank = max(ranks, default=free.features)
    _, divided, centred = results.condition.iloc[0]
    yield claim(
        "B-cause-2",
        rank < free.features,
        numbers={
            "rank": rank,
            "features": free.features,
            "condition": divided,
            "centred": centred,
        },
    )


def _without_cures(results: Results) -> dict[str, int]:
    """Return the number of runs with neither cure that diverge, and of all."""
    free = results.runs["with neither"]
    diverged = len(free.diverged)
    return {"without_cures": diverged, "runs": diverged + len(free.expected)}


def _raw_without_cures(results: Results) -> dict[str, float]:
    """Return the same with states that are not divided, and what such runs do."""
    raw, ends = results.raw["with neither"], results.free_raw
    diverged = len(raw.diverged)
    counts = {"raw_diverged": diverged, "raw_runs": diverged + len(raw.expected)}
    return counts | {"raw_crawled": ends.crawled, "raw_rank": max(ends.ranks)}


def _known(results: Results) -> Iterable[Claim]:
    yield claim("B-intro-online")
    yield claim("B-little-info", not results.decay_matters, basis="judged")
    error, earned = results.estimated.error, results.estimated.earned
    yield claim(
        "B-observed",
        True,
        basis="judged",
        condition=error < 0.2,
        numbers={"crawls": results.horizon, "error": error},
    )
    numbers = {"earned": earned, "epochs": results.horizon}
    yield claim("B-index-needs", True, basis="judged", numbers=numbers)


def mean_reward(curves: LearningCurves) -> float:
    """Return the mean reward of all runs that did not diverge; nan if all did."""
    return float(curves.expected.mean()) if len(curves.expected) else float("nan")
