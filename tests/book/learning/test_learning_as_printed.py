"""The scheme as printed: verdicts turn on falsified models."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources, four_sources
from analysis.learning.comparison import LearningCurves
from analysis.learning.environment import mean_content
from analysis.learning.scheme.lspe import Lspe, LspeOptions
from analysis.learning.scheme.thresholds import best_soft_thresholds, soft_threshold_value
from book.learning import learning_as_printed as page
from tests.support import assert_all_turn, assert_turns, verdicts

FOUR = four_sources()
ONCE = {"horizon": 1500, "seed": 1}
LENGTH = {**ONCE, "replications": 4}
PRINTED = LspeOptions.as_printed(kappa=2.0)
RAW = LspeOptions.as_printed(kappa=2.0, scale=1.0)


@cache
def by_kappa():
    options = {k: LspeOptions.as_printed(kappa=k) for k in (0.5, 2.0, 10.0)}
    return page.run_all(FOUR, options, **LENGTH)


@cache
def results():
    """What the page finds, from fewer and shorter runs."""
    cures, raw = page.list_cures(PRINTED), page.list_cures(RAW)
    both = ("with both cures", "with neither")
    return page.Results(
        sources=FOUR,
        kappa=2.0,
        value_step=0.05,
        horizon=10_000,
        runs=page.run_all(FOUR, cures, **LENGTH),
        raw=page.run_all(FOUR, {name: raw[name] for name in both}, **LENGTH),
        by_c=page.run_by_step(
            FOUR, [2.0], [0.1, 1e-4], value_step=0.05, horizon=600, runs=3, seed=1
        ),
        divisors=page.evaluate_bounds(FOUR, 2.0),
        best=long_run_cycle(FOUR, "whittle", 1).average_reward,
        ceiling=260.4,
        steepness=page.measure_steepness(FOUR, by_kappa(), 1500),
        free=page.run_without_cures(FOUR, cures["with neither"], runs=4, **ONCE),
        free_raw=page.run_without_cures(FOUR, raw["with neither"], runs=2, **ONCE),
        condition=page.condition_numbers(FOUR, 2.0, 300, 1),
        projected=150.0,
        unprojected=200.0,
        raw_projected=250.0,
        raw_unprojected=255.0,
        decay_matters=page.decay_matters(FOUR, PRINTED, horizon=200, seed=1),
        estimated=page.learn_from_crawls(FOUR, **ONCE),
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
    cured, raw = dict.fromkeys(true.runs, true.runs["with both cures"]), page.list_cures(RAW)
    one = {"selection": "one-of-n", "gradient": "own arm"}
    single = {k: LspeOptions.as_printed(kappa=k, **one) for k in (0.5, 2.0, 10.0)}
    cures = page.list_cures(PRINTED)
    with patch.context() as only:
        only.setattr(page, "Lspe", lambda _, options: Lspe(FOUR, options))
        unused = page.decay_matters(FOUR, PRINTED, horizon=200, seed=1)
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
                "steepness": page.measure_steepness(
                    FOUR, page.run_all(FOUR, single, **LENGTH), 1500
                )
            },
            "a steep logit of raw states": {
                "free": page.run_without_cures(
                    FOUR, replace(raw["with neither"], kappa=10.0), runs=2, horizon=50, seed=1
                )
            },
            "projected thresholds": {
                "free": page.run_without_cures(FOUR, cures["projection alone"], runs=4, **ONCE)
            },
            "raw states": {"divisors": dict(reversed(true.divisors.items()))},
            "decay rates that are not used": {"decay_matters": unused},
        }.items()
    }


def test_verdicts_turn_on_falsified_models(monkeypatch):
    # The conditions of the last two stand in words alone: no predicate decides them.
    stands = {"B-cause-2", "B-t1-no-xi"}
    assert_all_turn(page.claims, results(), falsified(monkeypatch), stands=stands)


def test_numbers_turn_with_state_unit():
    true = results()
    raw = scaled(true.runs["with both cures"], 2.0)
    wrong = replace(true, runs={**true.runs, "with both cures": raw})
    assert_turns(page.claims, true, wrong, ["B-160", "B-one-arm"])


def test_verdicts_of_the_document():
    found = verdicts(page.claims(results()))
    assert found["B-160"] in ("matches under", "within the interval", "not determined", "differs")
    assert found["B-283"] == "not determined"
    assert found["B-cause-1"] == "does not hold"
    assert found["B-observed"] == "holds under"
    assert found["B-index-needs"] == "holds"
    assert "refused" not in found.values()


def test_bounds_depend_on_divisor():
    worth = page.evaluate_bounds(FOUR, 2.0)
    first = worth["the largest u*"]
    assert first.average_reward == soft_threshold_value(FOUR, FOUR.u_star, 2.0).average_reward
    assert round(first.average_reward, -1) == 160
    assert worth["nothing (raw states)"].average_reward < 100
    table = page.tabulate_divisors(worth)
    assert table.loc["the largest u*", "sources crawled"] == first.engaged


def test_projected_thresholds_end_on_bounds():
    assert page.share_at_bounds(FOUR, PRINTED, horizon=1500, runs=2, seed=1) == 1.0
    free = page.list_cures(PRINTED)["regularisation alone"]
    assert page.share_at_bounds(FOUR, free, horizon=1500, runs=2, seed=1) < 0.5


def test_free_runs_match_compiled_loop():
    free = page.list_cures(PRINTED)["with neither"]
    found = page.run_without_cures(FOUR, free, horizon=600, runs=2, seed=1)
    for stream, over in zip(np.random.default_rng(1).spawn(2), found.diverged, strict=True):
        learner = Lspe(FOUR, free)
        learner.play(FOUR, mean_content(FOUR, 600), 1, stream)
        assert (learner.diverged_at is not None) == over
    assert found.diverged[0]


def test_raw_states_have_rank_one():
    found = results().free_raw
    assert found.crawled == 4
    assert found.ranks == (1, 1)
    # Thresholds stay near 0: states are u_i throughout, the exponent is that of the largest.
    assert found.exponent == pytest.approx(2 * (FOUR.u.max() - 0.5), rel=0.01)


def test_mixtures_match_best_thresholds():
    scale = float(FOUR.u_star.max())
    for projected in (True, False):
        _, exact = best_soft_thresholds(FOUR, 2.0, 1.0, projected=projected)
        found = page.find_best_mixture(FOUR, 2.0, 1.0, scale=scale, projected=projected)
        assert found == pytest.approx(exact.average_reward, abs=0.01)


def test_cures_of_the_paper():
    cures = page.list_cures(PRINTED)
    said = {name: (o.projected, o.regulariser != "none") for name, o in cures.items()}
    assert said == {
        "with both cures": (True, True),
        "projection alone": (True, False),
        "regularisation alone": (False, True),
        "with neither": (False, False),
    }


def test_steepness_has_exact_values():
    points = results().steepness
    np.testing.assert_allclose(points["sources crawled"], points["exact"], rtol=0.1)


def test_centred_features_better_conditioned():
    condition = page.condition_numbers(FOUR, 2.0, 300, 1)
    assert isinstance(condition, pd.DataFrame)
    assert (condition.iloc[:, 2] < 0.01 * condition.iloc[:, 1]).all()


def test_diverged_curves_have_no_reward():
    none = LearningCurves(
        np.empty((0, 5)), np.empty(0), np.empty((0, 5)), np.empty((0, 4)), ((0, 1),), np.ones(5)
    )
    assert np.isnan(page.mean_reward(none))
    assert page.mean_reward(scaled(results().runs["with both cures"], 1.0)) == pytest.approx(
        results().runs["with both cures"].expected.mean()
    )


def test_small_step_leaves_thresholds_inside():
    length = {"value_step": 0.05, "horizon": 600, "runs": 3, "seed": 1}
    found = page.run_by_step(FOUR, [2.0], [0.1, 1e-6], **length)
    assert found["at_bounds"].tolist() == [1.0, 0.0]
    bounds = soft_threshold_value(FOUR, FOUR.u_star, 2.0)
    stuck, free = found.itertuples()
    assert stuck.reward_low < bounds.average_reward < stuck.reward_high
    assert stuck.engaged_low < bounds.engaged < stuck.engaged_high
    assert free.reward_low > bounds.average_reward


@pytest.fixture(scope="module")
def divisors():
    return page.evaluate_bounds(FOUR, 2.0)


def points(*counts):
    """Number of crawls at rising kappa, with a deviation of half of it."""
    columns = {"sources crawled": counts, "their deviation": [count / 2 for count in counts]}
    return pd.DataFrame(columns, index=range(len(counts)))


def test_predicates_of_stuck_runs(divisors):
    said = page.collect_predicates(divisors, 1.0, 160.0, (175.7, 208.3), points(1.4, 0.9, 0.3))
    assert set(said.values()) == {True}


@pytest.mark.parametrize(
    ("changed", "silent"),
    [
        ({"share": 0.5}, {"stuck", "kappa-alone"}),
        ({"earned": 180.0}, {"simple-does-better"}),
        ({"points": points(0.3, 0.9)}, {"kappa-alone"}),
        ({"points": points(0.3)}, {"kappa-alone"}),
    ],
)
def test_false_predicates_are_false(divisors, changed, silent):
    true = {"share": 1.0, "earned": 160.0, "simple": (175.7, 208.3), "points": points(1.4, 0.9)}
    said = page.collect_predicates(divisors, **(true | changed))
    assert {name for name, holds in said.items() if not holds} == silent


def test_equal_divisors_need_no_unit(divisors):
    one = divisors["the largest u*"]
    same = {"one": one, "other": one}
    assert not page.collect_predicates(same, 1.0, 160.0, (175.7, 208.3), points(1.0))[
        "unit-decides"
    ]
