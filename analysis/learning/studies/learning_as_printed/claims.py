"""Verdicts of the page `learning-as-printed` on rows of the 2019 paper."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from analysis.ephemeral.sources import Sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.scheme.thresholds import soft_threshold_value, whittle_threshold
from analysis.learning.studies.learning_as_printed.experiment import OVERFLOW, Found
from analysis.published import printed_number
from analysis.report import Claim, claim
from analysis.results import Estimate

#: Columns of `Found.steepness` that kappa is said to control, by row.
CONTROLLED = {"B-kappa-mean": "sources crawled", "B-kappa-disp": "their deviation"}
#: Runs with one of the cures, by the row on it.
WITH_ONE_CURE = {"B-cure-1": "projection alone", "B-cure-2": "regularisation alone"}


def claims(found: Found) -> list[Claim]:
    """Return the verdicts of the page on rows of the document."""
    return [*_inputs(found), *_earned(found), *_stable(found), *_known(found)]


def _inputs(found: Found) -> Iterable[Claim]:
    arms = found.sources
    for i in range(len(arms)):
        rate, decay = float(arms.arrival_rate[i]), float(arms.decay[i])
        yield claim(f"B-t1-lam{i + 1}", rate)
        yield claim(f"B-t1-c{i + 1}", decay)
        kept = arms.state_at_age(1000)[i] / arms.u_star[i]
        yield claim(f"B-t1-M{i + 1}", bool(abs(kept - 1) < 1e-12))
    yield claim("B-N-arms", [len(arms)])
    yield claim("B-kappa", [found.kappa])
    yield claim("B-gamma", [found.value_step])
    yield claim("B-steps", [found.horizon])


def _earned(found: Found) -> Iterable[Claim]:
    arms, main = found.sources, found.runs["with both cures"]
    reward = Estimate.of(main.expected.mean(axis=1))
    engaged = Estimate.of(main.engaged.mean(axis=1))
    first, *others = found.divisors.values()
    other_c = found.by_c[found.by_c["kappa"] == found.kappa].iloc[1:]
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
    yield claim("B-283", found.best, numbers={"slides": slides, "ceiling": found.ceiling})
    best, second = np.sort(arms.u)[:-3:-1]
    raw = mean_reward(found.raw["with both cures"])
    yield claim(
        "B-between",
        bool(second < reward.low and reward.high < best),
        numbers={"second": second, "best": best, "reward": reward.value, "raw": raw},
    )
    yield claim(
        "B-smaller",
        bool(reward.high < found.best),
        numbers={"reward": reward.value, "index_policy": found.best, "raw": raw},
    )
    ones = Sources(arms.arrival_rate, np.ones(len(arms)), arms.decay_rate)
    without = soft_threshold_value(ones, ones.u_star, found.kappa).average_reward
    best, second = np.sort(ones.u)[:-3:-1]
    printed = printed_number("B-160")
    yield claim(
        "B-t1-no-xi",
        bool(round(first.average_reward, -1) == printed and not second < printed < best),
        numbers={"best": best, "second": second, "printed": printed, "at_bounds": without},
    )
    for row, column in CONTROLLED.items():
        values = found.steepness[column]
        by_kappa = values.to_dict()
        yield claim(row, bool((np.diff(values) < 0).all()), numbers={"by_kappa": by_kappa})


def _stable(found: Found) -> Iterable[Claim]:
    yield from _instability(found)
    yield from _causes(found)
    count = {name: len(c.diverged) for name, c in found.runs.items()}
    worse = count["with neither"] > 0
    for row, name in WITH_ONE_CURE.items():
        numbers = {"diverged": count[name], "reward": mean_reward(found.runs[name])}
        holds = count[name] == 0 and worse
        yield claim(row, holds, numbers=numbers | _without_cures(found))
    cured = count["with both cures"]
    yield claim(
        "B-cures-help",
        cured == 0 and worse,
        numbers={"diverged": cured} | _without_cures(found) | _raw_without_cures(found),
    )
    arms = found.sources
    ages = np.array([[age, 1 + age % 2, 1, 1][: len(arms)] for age in (1, 2)])
    levels = np.array([whittle_threshold(arms, arms.state_at_age(age)) for age in ages])
    above = np.flatnonzero((levels > arms.u_star).any(axis=0)) + 1
    yield claim(
        "B-cure-1-legit",
        bool((levels <= arms.u_star).all()),
        numbers={
            "above": above,
            "projected": found.projected,
            "free": found.unprojected,
            "raw_projected": found.raw_projected,
            "raw_free": found.raw_unprojected,
        },
    )


def _instability(found: Found) -> Iterable[Claim]:
    free = found.runs["with neither"]
    total = len(free.diverged) + len(free.expected)
    half = np.median([epoch for _, epoch in free.diverged]) if free.diverged else np.inf
    yield claim(
        "B-instability",
        bool(len(free.diverged) > 0.5 * total and half < found.horizon / 2),
        numbers={"half": half} | _without_cures(found) | _raw_without_cures(found),
    )


def _causes(found: Found) -> Iterable[Claim]:
    free, raw = found.free, found.free_raw
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
    _, divided, centred = found.condition.iloc[0]
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


def _without_cures(found: Found) -> dict[str, int]:
    """Return how many runs with neither cure diverge, and how many there are."""
    free = found.runs["with neither"]
    diverged = len(free.diverged)
    return {"without_cures": diverged, "runs": diverged + len(free.expected)}


def _raw_without_cures(found: Found) -> dict[str, float]:
    """Return the same with states that are not divided, and what such runs do."""
    raw, ends = found.raw["with neither"], found.free_raw
    diverged = len(raw.diverged)
    counts = {"raw_diverged": diverged, "raw_runs": diverged + len(raw.expected)}
    return counts | {"raw_crawled": ends.crawled, "raw_rank": max(ends.ranks)}


def _known(found: Found) -> Iterable[Claim]:
    yield claim("B-intro-online")
    yield claim("B-little-info", not found.decay_matters, basis="judged")
    error, earned = found.estimated.error, found.estimated.earned
    yield claim(
        "B-observed",
        True,
        basis="judged",
        condition=error < 0.2,
        numbers={"crawls": found.horizon, "error": error},
    )
    numbers = {"earned": earned, "epochs": found.horizon}
    yield claim("B-index-needs", True, basis="judged", numbers=numbers)


def mean_reward(curves: LearningCurves) -> float:
    """Return the mean reward of all runs that did not diverge; nan if all did."""
    return float(curves.expected.mean()) if len(curves.expected) else float("nan")
