"""How good is the index policy: against the exact optimum, and on random sets of sources.

`optimality_row` compares all policies with the exact optimum on one random set, so that a statement
is checked over many sets rather than the four sources of Table 1. What many copies do is measured
in `copies`, what observation is worth in `observation`; the verdicts are here.

Reference: report 8702, sections 1, 7 and 9; slides, slide on the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.optimum.exact import optimal_cycle
from analysis.ephemeral.optimum.relaxed import relaxed_problem
from analysis.ephemeral.optimum.schedules import (
    best_periods,
    constant_gaps,
    schedule_reward,
    spread_schedule,
)
from analysis.ephemeral.optimum.static import fluid_frequencies, random_frequencies
from analysis.ephemeral.simulation import Cycle, long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.studies.how_good.copies import closes
from analysis.ephemeral.studies.how_good.observation import regained
from analysis.ephemeral.theory.definition import index_by_definition
from analysis.report import Claim, claim
from analysis.results import Estimate, NotConverged

Floats = NDArray[np.float64]

#: Sizes of the random sets, (sources, budget).
SIZES = ((3, 1), (4, 1), (4, 2), (4, 3))
#: Epochs of a list that spreads frequencies.
LIST_EPOCHS = 2520
_EXACT = 1e-9
#: Names of the pairs of sources that are observed, as `observation` has them.
_FIRST, _LAST = "1 and 2 observed", "3 and 4 observed"
#: A cut-off of our own: the mean loss up to which a policy passes for near-optimal.
_NEAR = 0.01


def optimality_row(point: tuple[int, int], rng: np.random.Generator) -> dict[str, Any]:
    """Compare policies with the exact optimum on one random instance.

    Parameters
    ----------
    point : (sources, budget)
        Sizes; at most 5 sources.
    rng : numpy.random.Generator
        Source of randomness. Sources are drawn again if their optimum needs too many joint ages.

    Returns
    -------
    dict
        Rewards per epoch in units of the optimum (``whittle``, ``myopic``, ``round-robin``,
        ``spread``, ``periodic``, ``draws``, ``fluid``, ``bound``), and of the index policy's cycle
        the ``period``, whether its gaps are ``constant`` and whether the multipliers form an
        ``interval``; ``redrawn``, how often sources were drawn again.
    """
    size, budget = point
    redrawn = 0
    while True:
        sources = random_sources(size, rng)
        relaxed = relaxed_problem(sources, budget)
        cycle = long_run_cycle(sources, "whittle", budget)
        try:
            optimum = _optimum(sources, budget, cycle.average_reward, relaxed.bound)
            break
        except NotConverged:
            redrawn += 1
    spread = spread_schedule(relaxed.frequency, budget, LIST_EPOCHS)
    rewards = {
        "whittle": cycle.average_reward,
        "myopic": long_run_cycle(sources, "myopic", budget).average_reward,
        "round-robin": long_run_cycle(sources, "round-robin", budget).average_reward,
        "spread": schedule_reward(sources, spread),
        "periodic": best_periods(sources, budget)[1],
        "draws": random_frequencies(sources, budget).average_reward,
        "fluid": fluid_frequencies(sources, budget).average_reward,
        "bound": relaxed.bound,
    }
    return {
        "sources": size,
        "budget": budget,
        **{name: value / optimum for name, value in rewards.items()},
        "period": cycle.period,
        "constant": constant_gaps(cycle),
        "interval": relaxed.subsidy > relaxed.smallest_subsidy * (1 + 1e-9),
        "redrawn": redrawn,
    }


def _optimum(sources: Sources, budget: int, reached: float, bound: float) -> float:
    """Best average reward: what is reached if that is the bound, else by dynamic programming."""
    if reached >= bound * (1 - 1e-10):
        return reached
    return optimal_cycle(sources, budget, tolerance=1e-8, max_states=400_000).average_reward


def predicates_of_policies(table: pd.DataFrame) -> dict[str, bool]:
    """Tell whether the fluid frequencies, played as a list, earn less than the relaxed ones.

    Parameters
    ----------
    table : pandas.DataFrame
        Rewards per epoch, one row a policy and one column a budget.
    """
    worse = table.loc["list, fluid"] < table.loc["list, relaxed"] * (1 - _EXACT)
    return {"fluid-list-below": bool(worse.all())}


def count_trivial(instances: pd.DataFrame) -> dict[str, float]:
    """Count the sets with an interval of multipliers and without, and their trivial cycles.

    Parameters
    ----------
    instances : pandas.DataFrame
        Rows of `optimality_row`.

    Returns
    -------
    dict
        ``with-interval`` and ``with-single``, sets; ``trivial-interval`` and ``trivial-single``,
        trivial cycles among them; ``trivial-met``, those of the latter that reach the bound;
        ``odd``, cycles that are not trivial in spite of an interval, and ``odd-misfit``, those
        of them where no constant gaps reach the bound; ``some-nontrivial``.
    """
    interval, constant = instances["interval"], instances["constant"]
    met = instances["whittle"] > instances["bound"] * (1 - _EXACT)
    misfit = instances["periodic"] < instances["bound"] * (1 - _EXACT)
    return {
        "with-interval": int(interval.sum()),
        "with-single": int((~interval).sum()),
        "trivial-interval": int((interval & constant).sum()),
        "trivial-single": int((~interval & constant).sum()),
        "trivial-met": int((met & constant & ~interval).sum()),
        "odd": int((interval & ~constant).sum()),
        "odd-misfit": int((interval & ~constant & misfit).sum()),
        "some-nontrivial": not constant.all(),
    }


def is_optimal(instances: pd.DataFrame) -> pd.Series:
    """Tell on which sets the index policy earns the exact optimum, up to rounding.

    Parameters
    ----------
    instances : pandas.DataFrame
        Rows of `optimality_row`.
    """
    return 1 - instances["whittle"] < _EXACT


def formula_error(sources: Sources) -> float:
    """Return the largest relative difference of the index from its definition, at ages 1 to 20.

    Parameters
    ----------
    sources : Sources
        N sources.
    """
    ages = np.arange(1, 21)[:, None] * np.ones(len(sources))
    defined = np.array([index_by_definition(sources, sources.state_at_age(age)) for age in ages])
    return float(np.abs(whittle_index_at_age(sources, ages) / defined - 1).max())


@dataclass(frozen=True)
class Results:
    """What the page computes.

    Attributes
    ----------
    instances : pandas.DataFrame
        Rows of `optimality_row`.
    states : int
        Joint ages of the exact optimum of Table 1 at M = 2.
    cycle, single : Cycle
        Long run of the index policy on Table 1 at M = 2 and at M = 1, with expected contents.
    stuck : float
        Its gap to the relaxed bound.
    error : float
        `formula_error` of Table 1.
    alike : list of float
        `copies.alike_gaps` of one source.
    copies : pandas.DataFrame
        As `copies.gaps_against_copies` returns it, with the set's name as ``sources``.
    kept : float
        Share of random sets that keep a gap from random ages, with expected contents.
    observed : mapping of str to ndarray
        Rewards of `observation.reward_by_observation`, at five times `bunching`.
    visits : ndarray, shape (4,)
        As `observation.visits_by_content` returns it.
    tuned : mapping of str to ndarray
        Rewards of `observation.self_tuning`.
    bunching, drift : float
        Factors behind `visits` and `tuned`.
    """

    instances: pd.DataFrame
    states: int
    cycle: Cycle
    single: Cycle
    stuck: float
    error: float
    alike: list[float]
    copies: pd.DataFrame
    kept: float
    observed: Mapping[str, Floats]
    visits: Floats
    tuned: Mapping[str, Floats]
    bunching: float
    drift: float


def claims(found: Results) -> list[Claim]:
    """Return what the page says to the rows on the policy's quality."""
    return [
        claim("A-r-intro-static"),
        *_asymptotics(found),
        *_form(found),
        *_observation(found),
    ]


def _asymptotics(found: Results) -> list[Claim]:
    optimal, loss = is_optimal(found.instances), 1 - found.instances["whittle"]
    random = found.copies[(found.copies.content == "random") & (found.copies.start == "together")]
    largest = random[random.copies == random.copies.max()]
    gaps = [{"gap": row.gap, "set": row.sources.replace("$", "")} for row in largest.itertuples()]
    fails = found.stuck > _EXACT or found.kept > 0
    copies = {
        "copies": int(random.copies.max()),
        "gaps": gaps,
        "stuck": found.stuck,
        "kept": found.kept,
    }
    quality = {
        "cut": _NEAR,
        "mean": loss.mean(),
        "most": loss.max(),
        "sets": len(optimal),
        "optimal": optimal.mean(),
    }
    return [
        claim(
            "A-r-intro-asym",
            closes(found.copies) and not optimal.all() and bool(loss.mean() < _NEAR),
            outcome="stays" if fails else "closes",
            numbers=quality | copies,
        ),
        claim(
            "A-s-asym-ww",
            bool(np.max(np.abs(found.alike)) < _EXACT),
            proof="good-symmetric",
            numbers={"numbers_of_copies": len(found.alike)},
        ),
        claim(
            "A-s-asym-verloop",
            closes(found.copies),
            outcome="stays" if fails else "closes",
            numbers=copies,
        ),
    ]


def _form(found: Results) -> list[Claim]:
    nontrivial = ~found.instances["constant"]
    return [
        claim(
            "A-r-concl-simple",
            found.error < _EXACT,
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
