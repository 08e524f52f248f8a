"""What the page on the scheme as printed says to each row of the paper that it takes up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from analysis.ephemeral.sources import Sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.scheme.thresholds import soft_threshold_value, whittle_threshold
from analysis.learning.studies.learning_as_printed import (
    CHOICES,
    EXPERIMENT,
    OVERFLOW,
    UNIT,
    Found,
)
from analysis.published import printed_number
from analysis.report import Claim
from analysis.results import Estimate


def claims(found: Found) -> list[Claim]:
    """Return what the page says to each row of the document that it takes up."""
    return [*_inputs(found), *_earned(found), *_stable(found), *_known(found)]


def _inputs(found: Found) -> Iterable[Claim]:
    arms = found.sources
    for i in range(len(arms)):
        rate, decay = float(arms.arrival_rate[i]), float(arms.decay[i])
        yield Claim(f"B-t1-lam{i + 1}", rate, evidence="used throughout")
        yield Claim(f"B-t1-c{i + 1}", decay, evidence="used throughout")
        kept = arms.state_at_age(1000)[i] / arms.u_star[i]
        yield Claim(
            f"B-t1-M{i + 1}",
            bool(abs(kept - 1) < 1e-12),
            evidence="content only decays and is never dropped; used throughout",
        )
    yield Claim("B-N-arms", [len(arms)], evidence="the sources of the report")
    yield Claim("B-kappa", [found.kappa], evidence=f"with a choice not printed: {UNIT}")
    yield Claim("B-gamma", [found.value_step], evidence="used throughout")
    yield Claim("B-steps", [found.horizon], evidence="used throughout")


def _earned(found: Found) -> Iterable[Claim]:
    arms, main = found.sources, found.runs["with both cures"]
    reward = Estimate.of(main.expected.mean(axis=1))
    engaged = Estimate.of(main.engaged.mean(axis=1))
    first, *others = found.divisors.values()
    under = partial(Claim, assumes=CHOICES, experiment=EXPERIMENT, reading=UNIT)
    by_engaged = partial(under, replications=len(main.expected))
    other_c = found.by_c[found.by_c["kappa"] == found.kappa].iloc[1:]
    yield by_engaged(
        "B-160",
        reward.value,
        interval=reward.interval,
        alternatives=[*(v.average_reward for v in others), *other_c["reward"]],
        because=f"Thresholds at their upper bounds are worth {first.average_reward:.2f}",
    )
    yield by_engaged(
        "B-one-arm",
        engaged.value,
        interval=engaged.interval,
        alternatives=[*(v.engaged for v in others), *other_c["engaged"]],
        because=f"Thresholds at their upper bounds crawl {first.engaged:.3f}",
    )
    yield Claim(
        "B-283",
        found.best,
        missing="how it was obtained: [2] does not print it, the slides print "
        f"{printed_number('A-s-285'):g}, and by expected content no policy with one source an "
        f"epoch earns more than {found.ceiling:.2f} in the long run on this instance",
    )
    best, second = np.sort(arms.u)[:-3:-1]
    yield under(
        "B-between",
        bool(second < reward.low and reward.high < best),
        evidence=f"{second:.2f} and {best:.2f} from crawling the second best and the best source "
        f"alone, with {reward.value:.2f} between; {_raw_reward(found):.0f} with raw states",
    )
    yield under(
        "B-smaller",
        bool(reward.high < found.best),
        evidence=f"{reward.value:.2f} against the index policy's {found.best:.2f}; with raw states "
        f"{_raw_reward(found):.0f}, since more than one source is crawled at an epoch",
    )
    ones = Sources(arms.arrival_rate, np.ones(len(arms)), arms.decay_rate)
    without = soft_threshold_value(ones, ones.u_star, found.kappa).average_reward
    pair, printed = np.sort(ones.u)[:-3:-1], printed_number("B-160")
    yield Claim(
        "B-t1-no-xi",
        bool(round(first.average_reward, -1) == printed and not pair[1] < printed < pair[0]),
        condition="with the mean utilities of the report, which Table I leaves out",
        assumes=(UNIT,),
        experiment=EXPERIMENT,
        reading=UNIT,
        evidence=f"with all utilities 1 the two best sources alone earn {pair[0]:.1f} and "
        f"{pair[1]:.1f}, which {printed:g} is not between, and thresholds at their bounds "
        f"{without:.1f}",
    )
    for row, column in (("B-kappa-mean", "sources crawled"), ("B-kappa-disp", "their deviation")):
        values = found.steepness[column]
        yield under(
            row,
            bool((np.diff(values) < 0).all()),
            evidence="; ".join(f"{v:.3f} at kappa {k:g}" for k, v in values.items()),
        )


def _stable(found: Found) -> Iterable[Claim]:
    count = {name: len(c.diverged) for name, c in found.runs.items()}
    free = found.runs["with neither"]
    total = len(free.diverged) + len(free.expected)
    raw = found.raw["with neither"]
    of_raw = f"{len(raw.diverged)} of {len(raw.diverged) + len(raw.expected)} with raw states"
    half = np.median([epoch for _, epoch in free.diverged]) if free.diverged else np.inf
    worse = count["with neither"] > 0
    under = partial(Claim, assumes=CHOICES, experiment=EXPERIMENT, reading=UNIT)
    yield under(
        "B-instability",
        bool(count["with neither"] > 0.5 * total and half < found.horizon / 2),
        evidence=f"{count['with neither']} of {total} runs diverge without the cures, half of them "
        f"by epoch {half:.0f}; {of_raw}",
    )
    yield under(
        "B-cause-1",
        found.free.exponent > OVERFLOW,
        evidence=f"without the cures an exponent of the logit reaches {found.free.exponent:.0f} in "
        f"size, and exp overflows from {OVERFLOW:.0f} on; what the projection does is to keep "
        "sources crawled, so that states go on moving and the matrix keeps its rank. With raw "
        f"states it reaches {found.free_raw.exponent:.0f}, and no run diverges",
    )
    rank = max(found.free.ranks, default=found.free.features)
    condition = found.condition.iloc[0]
    yield under(
        "B-cause-2",
        rank < found.free.features,
        condition="once thresholds have drifted so far that nothing is crawled and mean states "
        "stand still",
        evidence=f"at divergence the matrix has rank {rank} of {found.free.features} at most; while"
        f" sources are crawled its condition number of {condition.iloc[1]:.1e} comes from collinear"
        f" features: {condition.iloc[2]:.0f} once they are centred and standardised, in the same "
        "deterministic model",
    )
    for row, name in (("B-cure-1", "projection alone"), ("B-cure-2", "regularisation alone")):
        yield under(
            row,
            count[name] == 0 and worse,
            evidence=f"{count[name]} of {total} runs diverge with it alone, "
            f"{count['with neither']} with neither cure; they earn "
            f"{mean_reward(found.runs[name]):.2f}",
        )
    yield under(
        "B-cures-help",
        count["with both cures"] == 0 and worse,
        evidence=f"{count['with neither']} of {total} runs diverge without them, "
        f"{count['with both cures']} with both; without them {of_raw}",
    )
    arms = found.sources
    ages = np.array([[age, 1 + age % 2, 1, 1][: len(arms)] for age in (1, 2)])
    levels = np.array([whittle_threshold(arms, arms.state_at_age(age)) for age in ages])
    above = " and ".join(str(i + 1) for i in np.flatnonzero((levels > arms.u_star).any(axis=0)))
    yield Claim(
        "B-cure-1-legit",
        bool((levels <= arms.u_star).all()),
        evidence=f"the index policy's thresholds of sources {above or 'none'} lie above u*; the "
        f"best projected thresholds at one crawl an epoch earn {found.projected:.2f}, free ones "
        f"{found.unprojected:.2f}",
    )


def _known(found: Found) -> Iterable[Claim]:
    yield Claim(
        "B-intro-online",
        context="what the paper sets out to do; what its scheme must be told is in the row on how "
        "little information it uses",
    )
    yield Claim(
        "B-little-info",
        not found.told_matters,
        evidence="u_i and alpha_i enter through the states that are not seen and through the "
        "projection; the two numbers are all that the index needs",
    )
    error, earned = found.estimated.error, found.estimated.earned
    yield Claim(
        "B-observed",
        True,
        basis="judged",
        condition="the parameters are known: to a learner, what a crawl finds is all there is"
        if error < 0.2
        else "",
        evidence=f"from what {found.horizon} crawls found, u* and c of the sources crawled most "
        f"are estimated within {error:.1%}",
    )
    yield Claim(
        "B-index-needs",
        True,
        basis="judged",
        evidence="the closed form of [2] takes every parameter of a source. Estimates can stand in "
        f"for them: an index policy that starts without knowledge earns {earned:.2%} of the one "
        f"that knows them, in one run of {found.horizon} epochs",
    )


def mean_reward(curves: LearningCurves) -> float:
    """Return the mean reward of all runs that did not diverge; nan if all did."""
    return float(curves.expected.mean()) if len(curves.expected) else float("nan")


def _raw_reward(found: Found) -> float:
    return mean_reward(found.raw["with both cures"])
