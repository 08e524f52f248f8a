"""Learners side by side: shared arrivals, curves and what is measured against."""

from functools import partial

import numpy as np
import pytest

from analysis.ephemeral import Utility, WhittlePolicy, four_sources, simulate
from analysis.ephemeral.instances import random_sources
from analysis.learning import (
    AgeBlindUcb,
    CertaintyEquivalence,
    Fixed,
    LearningCurves,
    Lspe,
    LspeOptions,
    compare_learners,
    mean_content,
)
from analysis.learning.comparison import compare_at_budgets, index_rewards
from tests.ephemeral.sets import SETS

SOURCES = four_sources()
EQUAL_WORTHS = Utility("deterministic")
LEARNERS = {
    "certainty equivalence": partial(CertaintyEquivalence, 4),
    "age-blind": partial(AgeBlindUcb, 4),
    "initial version": partial(
        Lspe, SOURCES, LspeOptions.as_printed(projected=False, regulariser="none")
    ),
}


def compared(learners=LEARNERS, utility=EQUAL_WORTHS):
    settings = {"horizon": 800, "replications": 4, "seed": 5, "utility": utility}
    return compare_learners(SOURCES, learners, 1, **settings)


def test_diverged_runs_are_counted():
    wild = compared()["initial version"]
    assert len(wild.diverged) + wild.expected.shape[0] == 4
    assert len(wild.diverged) >= 2
    assert all(0 <= epoch < 800 for _, epoch in wild.diverged)


def test_learner_ignores_other_players():
    """Its arrivals and its own draws do not depend on the learners listed after it."""
    first = "certainty equivalence"
    alone = compared(learners={first: LEARNERS[first]})
    np.testing.assert_array_equal(alone[first].expected, compared()[first].expected)


def test_regret_loss_and_curves_are_consistent():
    one = compared()["certainty equivalence"]
    blind = compared()["age-blind"]
    assert one.regret.value == pytest.approx(one.reference.sum() * one.loss.value)
    assert one.regret_curve(50)[0][-1] == pytest.approx(one.regret.value)
    assert one.curve(50)[0].mean() == pytest.approx(one.average_reward)
    assert one.loss.low <= one.loss.value <= one.loss.high < blind.loss.value
    assert (one.steps_to(0.95) < blind.steps_to(0.95)).all()


def test_steps_to_first_good_window():
    expected = np.zeros((2, 10))
    expected[0, 4:] = 1.0
    curves = LearningCurves(expected, expected.mean(axis=1), expected, expected, (), np.ones(10))
    np.testing.assert_array_equal(curves.steps_to(1.0, window=3), [4.0, np.inf])
    np.testing.assert_array_equal(curves.steps_to(0.5, window=2), [3.0, np.inf])


def test_no_utility_law_is_printed_content():
    curves = compared(utility=None)["certainty equivalence"]
    np.testing.assert_allclose(curves.reward, curves.expected.mean(axis=1), rtol=1e-12)


@pytest.mark.parametrize("budget", [1, 2, 3])
def test_reference_equals_index_simulation(budget):
    for sources in (SOURCES, random_sources(6, np.random.default_rng(budget))):
        run = simulate(sources, "whittle", budget, 300, initial_state="fresh")
        np.testing.assert_allclose(index_rewards(sources, budget, 300), run.reward, rtol=1e-6)
    assert index_rewards(SOURCES, budget, 3).shape == (3,)


def test_budgets_share_their_arrivals():
    settings = {"horizon": 200, "replications": 2, "seed": 5, "utility": Utility("exponential")}
    both = compare_at_budgets(SOURCES, {1: LEARNERS, 2: LEARNERS}, **settings)
    for budget in (1, 2):
        alone = compare_learners(SOURCES, LEARNERS, budget, **settings)
        for name, curves in alone.items():
            np.testing.assert_array_equal(both[budget][name].expected, curves.expected)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_learning_curves(sources):
    made = {"index": partial(Fixed, WhittlePolicy(sources))}
    with pytest.raises(ValueError, match="replications"):
        compare_learners(sources, made, 1, horizon=5, replications=2**64, seed=0)
    fresh = {"age-blind": partial(AgeBlindUcb, len(sources))}
    for horizon in (2, 30):
        found = compare_learners(sources, fresh, 1, horizon=horizon, replications=2, seed=0)
        content = mean_content(sources, horizon)
        alone = AgeBlindUcb(len(sources)).play(sources, content, 1, np.random.default_rng(0))
        curve = found["age-blind"]
        np.testing.assert_allclose(curve.expected, [alone.expected] * 2, rtol=1e-12)
        if (sources.cost == 1).all():
            index = simulate(sources, "whittle", 1, horizon, initial_state="fresh").reward
            assert curve.reference.sum() == pytest.approx(index.sum(), rel=1e-9)
