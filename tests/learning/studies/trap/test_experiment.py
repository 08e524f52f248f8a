import numpy as np
import pytest

from analysis.ephemeral import Arrivals, long_run_cycle, relaxed_bound
from analysis.ephemeral.studies.how_good.cycles import random_set
from analysis.learning import CertaintyEquivalence, mean_items, sample_items
from analysis.learning.studies.trap import experiment


def test_the_probability_of_the_trap_is_positive_and_the_runs_are_the_learners():
    """Simulated with an interval; the formulas of the two-age fit against a search."""
    found = experiment.trapped(4000, 200, 1.0, np.random.default_rng(1))
    assert 0.0 < found.low < found.share < found.high < 0.05
    assert found.share > 0.5 * found.early  # few leave late
    x, mean = 6.6, 9.9
    alpha = np.linspace(1e-4, 1 - 1e-4, 20001)
    scale = (x + 7 * mean) / (1 - alpha + 7 * (1 - alpha**2))
    contents = scale * (1 - alpha), scale * (1 - alpha**2)
    likelihood = x * np.log(contents[0]) + 7 * mean * np.log(contents[1]) - contents[0]
    best = alpha[np.argmax(likelihood - 7 * contents[1])]
    assert best == pytest.approx(mean / x - 1, abs=1e-3)


def test_without_noise_in_the_first_crawl_nothing_is_trapped():
    """Worths that hardly vary: the first crawl finds 9, and 9.9/9 - 1 is the true alpha."""
    assert experiment.trapped(300, 20, 1e-3, np.random.default_rng(1)).share == 0.0


def test_the_loss_at_a_price_keeps_to_its_bound_on_forty_streams():
    found = experiment.at_price(30.0, 0.2, 6.0, crawls=1000, streams=40, seed=1)
    assert (found.optimistic <= found.bound).all()
    assert (np.diff(found.optimistic, axis=1) >= -1e-9).all()
    growth = found.optimistic.mean(axis=0)
    late = growth[-1] - growth[-2], growth[3] - growth[2]
    crawls = found.crawls
    assert late[0] / (crawls[-1] - crawls[-2]) < late[1] / (crawls[3] - crawls[2])


def test_beliefs_along_the_curve_predict_what_they_find_exactly_where_they_alternate():
    table = experiment.along_the_curve(49)
    trapped = table[table.gap == 2]
    assert (trapped.error < 1e-12).all()
    assert trapped.loss.to_numpy() == pytest.approx(7 / 60, abs=1e-12)
    assert 59 / 139 < trapped.alpha.min() < 0.45
    assert 0.84 < trapped.alpha.max() < 0.8620
    others = table[(table.gap != 2) & ((table.alpha - 0.1).abs() > 1e-6)]
    assert (others.error > 1e-3).all()  # what another cycle finds contradicts its belief


def test_losses_of_rules_on_the_same_sets():
    runs, known = experiment.losses(2, 1000, 5)
    assert set(runs.rule) == set(experiment.RULES)
    assert sorted(set(runs.horizon)) == [10, 100, 1000]
    table = experiment.summary(runs)
    assert len(table) == 3 * len(experiment.RULES)
    assert (known.best <= known.worst).all()
    again, _ = experiment.losses(2, 1000, 5)
    assert runs.equals(again)


def test_cycles_of_the_index_policy_are_not_above_its_relaxed_bound():
    sources, budget = experiment.random_problem(0, 5)
    ages = np.random.default_rng(0).integers(1, 13, (4, len(sources)))
    earned = experiment.cycles(sources, sources, budget, ages)
    assert (earned <= relaxed_bound(sources, budget)[0] * (1 + 1e-12)).all()
    assert (earned > 0).all()


def test_a_jolt_by_right_estimates_leads_to_the_best_cycle_of_those_tried():
    """A run with items and without noise, on a set of several cycles."""
    sources, rng = random_set(6, 1)
    ages = rng.integers(1, 13, (5, len(sources)))
    earned = experiment.cycles(sources, sources, 1, ages)
    assert earned.max() > 1.001 * earned.min()
    learner = CertaintyEquivalence(len(sources))
    learner.play(sources, mean_items(sources, 800), 1, rng)
    np.testing.assert_allclose(learner.decay, sources.decay, rtol=0.05)
    before, after = experiment.jolted(sources, learner, 1, ages)
    assert after >= before * (1 - 1e-4)
    assert after >= earned.max() * (1 - 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("items", [False, True])
def test_the_default_learner_learns_on_fifty_new_sets(items):
    """In half of 20,000 epochs mean and median are small; then regret grows slowly."""
    late, regret = [], []
    for instance in range(50):
        sources, budget = experiment.random_problem(instance, 7001)
        rng = np.random.default_rng([7001, 12, instance])
        drawn = sample_items(Arrivals(sources), 200_000, rng)
        content = drawn if items else drawn.worth
        run = CertaintyEquivalence(len(sources)).play(sources, content, budget, rng)
        best = long_run_cycle(sources, "whittle", budget).average_reward
        lost = 1 - run.expected / best
        late.append(100 * lost[10_000:20_000].mean())
        regret.append([max(lost[:20_000].sum(), 0), max(lost.sum(), 0)])
    assert np.mean(late) < 0.1
    assert np.median(late) < (0.05 if items else 0.1)
    early, whole = np.mean(regret, axis=0)
    assert np.log10(whole / early) < 0.6
