"""The scheme as printed: verdicts turn on falsified models."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources, four_sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.scheme.thresholds import soft_threshold_value
from analysis.learning.studies import learning_as_printed as study
from analysis.learning.studies.learning_as_printed.by_step import by_step
from analysis.learning.studies.learning_as_printed.claims import claims, mean_reward
from analysis.learning.studies.learning_as_printed.pictures import steepness
from tests.support import assert_all_turn, assert_turns, verdicts

FOUR = four_sources()
ONCE = {"horizon": 1500, "seed": 1}
LENGTH = {**ONCE, "replications": 4}
PRINTED = LspeOptions.as_printed(kappa=2.0)
RAW = LspeOptions.as_printed(kappa=2.0, scale=1.0)


@cache
def by_kappa():
    options = {k: LspeOptions.as_printed(kappa=k) for k in (0.5, 2.0, 10.0)}
    return study.play_all(FOUR, options, **LENGTH)


@cache
def results():
    """What the page finds, from fewer and shorter runs."""
    cures, raw = study.with_cures(PRINTED), study.with_cures(RAW)
    both = ("with both cures", "with neither")
    return study.Found(
        sources=FOUR,
        kappa=2.0,
        value_step=0.05,
        horizon=10_000,
        runs=study.play_all(FOUR, cures, **LENGTH),
        raw=study.play_all(FOUR, {name: raw[name] for name in both}, **LENGTH),
        by_c=by_step(FOUR, [2.0], [0.1, 1e-4], value_step=0.05, horizon=600, runs=3, seed=1),
        divisors=study.bounds_by_divisor(FOUR, 2.0),
        best=long_run_cycle(FOUR, "whittle", 1).average_reward,
        ceiling=260.4,
        steepness=steepness(FOUR, by_kappa(), 1500),
        free=study.free_runs(FOUR, cures["with neither"], runs=4, **ONCE),
        free_raw=study.FreeRuns(1001.0, (), 14),
        condition=study.conditions(FOUR, 2.0, 300, 1),
        projected=150.0,
        unprojected=200.0,
        told_matters=study.told_matters(FOUR, PRINTED, horizon=200, seed=1),
        estimated=study.estimated(FOUR, **ONCE),
    )


def scaled(curves, factor):
    return replace(curves, expected=curves.expected * factor, engaged=curves.engaged * factor)


def falsified(patch):
    """Return what the page finds for falsified models, by what is wrong with them."""
    true = results()
    order = [3, 2, 1, 0]
    reversed_sources = Sources(
        FOUR.arrival_rate[order], FOUR.mean_utility[order], FOUR.decay_rate[order]
    )
    equal = Sources(np.full(4, 250.0), np.full(4, 0.5), np.full(4, 0.7))
    cured, raw = dict.fromkeys(true.runs, true.runs["with both cures"]), study.with_cures(RAW)
    one = {"selection": "one-of-n", "gradient": "own arm"}
    single = {k: LspeOptions.as_printed(kappa=k, **one) for k in (0.5, 2.0, 10.0)}
    cures = study.with_cures(PRINTED)
    with patch.context() as only:
        only.setattr(study, "Lspe", lambda _, options: Lspe(FOUR, options))
        untold = study.told_matters(FOUR, PRINTED, horizon=200, seed=1)
    return {
        name: (replace(true, **changes),)
        for name, changes in {
            "states as they are": {"runs": true.runs | true.raw},
            "a third of a source an epoch": {
                "runs": true.runs | {"with both cures": by_kappa()[10]}
            },
            "cures in every run": {"runs": cured},
            "sources in another order": {"sources": reversed_sources},
            "equal sources": {"sources": equal},
            "exactly one source is drawn": {
                "steepness": steepness(FOUR, study.play_all(FOUR, single, **LENGTH), 1500)
            },
            "raw states without the cures": {
                "free": study.free_runs(FOUR, raw["with neither"], runs=4, **ONCE)
            },
            "projected thresholds": {
                "free": study.free_runs(FOUR, cures["projection alone"], runs=4, **ONCE)
            },
            "raw states": {"divisors": dict(reversed(true.divisors.items()))},
            "decay rates that are not told": {"told_matters": untold},
        }.items()
    }


def test_every_computed_verdict_turns_on_a_falsified_model(monkeypatch):
    # The conditions of the last two stand in words alone: no predicate decides them.
    stands = {"B-cause-2", "B-t1-no-xi"}
    assert_all_turn(claims, (results(),), falsified(monkeypatch), stands=stands)


def test_numbers_turn_with_the_unit_of_the_states():
    true = results()
    raw = scaled(true.runs["with both cures"], 2.0)
    wrong = replace(true, runs={**true.runs, "with both cures": raw})
    assert_turns(claims, (true,), (wrong,), ["B-160", "B-one-arm"])


def test_verdicts_of_the_documents_own_model():
    found = verdicts(claims(results()))
    assert found["B-160"] in ("matches under", "within the interval", "not determined", "differs")
    assert found["B-283"] == "not determined"
    assert found["B-cause-1"] == "does not hold"
    assert found["B-observed"] == "holds under"
    assert found["B-index-needs"] == "holds"
    assert "refused" not in found.values()


def test_what_the_bounds_are_worth_depends_on_the_divisor():
    worth = study.bounds_by_divisor(FOUR, 2.0)
    first = worth["the largest u*"]
    assert first.average_reward == soft_threshold_value(FOUR, FOUR.u_star, 2.0).average_reward
    assert round(first.average_reward, -1) == 160
    assert worth["nothing (raw states)"].average_reward < 100
    table = study.shown_by_divisor(worth)
    assert table.loc["the largest u*", "sources crawled"] == first.engaged


def test_thresholds_of_a_projected_run_end_on_their_bounds():
    assert study.share_at_bounds(FOUR, PRINTED, horizon=1500, runs=2, seed=1) == 1.0
    free = study.with_cures(PRINTED)["regularisation alone"]
    assert study.share_at_bounds(FOUR, free, horizon=1500, runs=2, seed=1) < 0.5


def test_the_cures_are_those_of_the_paper():
    cures = study.with_cures(PRINTED)
    said = {name: (o.projected, o.regulariser != "none") for name, o in cures.items()}
    assert said == {
        "with both cures": (True, True),
        "projection alone": (True, False),
        "regularisation alone": (False, True),
        "with neither": (False, False),
    }


def test_steepness_holds_runs_and_exact_values():
    points = results().steepness
    np.testing.assert_allclose(points["sources crawled"], points["exact"], rtol=0.1)


def test_centred_features_are_better_conditioned():
    condition = study.conditions(FOUR, 2.0, 300, 1)
    assert isinstance(condition, pd.DataFrame)
    assert (condition.iloc[:, 2] < 0.01 * condition.iloc[:, 1]).all()


def test_curves_that_all_diverged_have_no_reward():
    none = LearningCurves(
        np.empty((0, 5)), np.empty(0), np.empty((0, 5)), np.empty((0, 4)), ((0, 1),), np.ones(5)
    )
    assert np.isnan(mean_reward(none))
    assert mean_reward(scaled(results().runs["with both cures"], 1.0)) == pytest.approx(
        results().runs["with both cures"].expected.mean()
    )


def test_a_small_step_leaves_thresholds_off_the_bounds_that_a_large_one_drives_them_to():
    length = {"value_step": 0.05, "horizon": 600, "runs": 3, "seed": 1}
    found = by_step(FOUR, [2.0], [0.1, 1e-6], **length)
    assert found["at_bounds"].tolist() == [1.0, 0.0]
    bounds = soft_threshold_value(FOUR, FOUR.u_star, 2.0)
    stuck, free = found.itertuples()
    assert stuck.reward_low < bounds.average_reward < stuck.reward_high
    assert stuck.engaged_low < bounds.engaged < stuck.engaged_high
    assert free.reward_low > bounds.average_reward
