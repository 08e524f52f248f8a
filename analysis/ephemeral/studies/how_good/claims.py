"""What the page `how-good` says to the rows on the policy's form and on observation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.arrays import Floats
from analysis.ephemeral.optimum.schedules import constant_gaps
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.studies.how_good.experiment import EXACT, regained
from analysis.report import Claim, claim
from analysis.results import Estimate

#: Names of the pairs of sources that are observed, as `experiment.OBSERVED` has them.
_FIRST, _LAST = "1 and 2 observed", "3 and 4 observed"


@dataclass(frozen=True)
class Results:
    """What the page computes."""

    instances: pd.DataFrame  # rows of `optimality_row`
    states: int  # joint ages of the exact optimum of Table 1 at M = 2
    # Long run of the index policy on Table 1 at M = 2 and at M = 1, with expected contents.
    cycle: Cycle
    single: Cycle
    error: float  # `formula_error` of Table 1
    observed: Mapping[str, Floats]  # rewards of `reward_by_observation`, at five times `bunching`
    visits: Floats  # as `visits_by_content` returns it; shape (4,)
    tuned: Mapping[str, Floats]  # rewards of `self_tuning`
    # Factors behind `visits` and `tuned`.
    bunching: float
    drift: float


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows on the policy's form and on observation."""
    return [claim("A-r-intro-static"), *_form(found), *_observation(found)]


def _form(found: Results) -> list[Claim]:
    nontrivial = ~found.instances["constant"]
    return [
        claim(
            "A-r-concl-simple",
            found.error < EXACT,
            basis="judged",
            numbers={"joint_ages": found.states},
        ),
        claim(
            "A-r-concl-nontrivial",
            not constant_gaps(found.cycle) and bool(nontrivial.any()),
            basis="judged",
            numbers={"share": nontrivial.mean(), "sets": len(nontrivial)},
        ),
    ]


def _observation(found: Results) -> list[Claim]:
    seen, tuned = found.observed, found.tuned
    none, two, every = seen["none observed"], seen[_FIRST], seen["all observed"]
    visits = found.visits
    elsewhere = visits[0] > 1.5 * visits[-1]
    unobserved = float(found.single.frequency[2:].sum())
    better = Estimate.of(tuned[_LAST] - tuned["none observed"])
    share = regained(tuned, _LAST)
    return [
        claim(
            "A-r-intro-dynamic",
            bool(elsewhere and Estimate.of(every - none).low > 0),
            condition=not unobserved,
            numbers={
                "when_little": visits[0],
                "when_much": visits[-1],
                "factor": found.bunching,
                "by_expectation": unobserved,
            },
        ),
        claim(
            "A-r-concl-observed",
            better.low > 0,
            numbers={
                "factor": found.drift,
                "gain": better.value,
                "half_width": better.half_width,
                "share": share.value,
            },
        ),
        claim(
            "A-r-s7-mixed",
            Estimate.of(two - none).low > 0 and Estimate.of(every - two).low > 0,
            numbers={
                "factor": 5 * found.bunching,
                "two": two.mean(),
                "none": none.mean(),
                "every": every.mean(),
            },
        ),
    ]
