import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Arrivals, Utility, long_run_cycle, relaxed_bound
from analysis.ephemeral.instances import wide_set
from analysis.learning import CertaintyEquivalence, mean_items, random_sets, sample_items


def test_losses_on_same_sets():
    runs, known = random_sets.losses(2, 1000, 5)
    assert set(runs.rule) == set(random_sets.RULES)
    assert sorted(set(runs.horizon)) == [10, 100, 1000]
    table = random_sets.summary(runs)
    assert len(table) == 3 * len(random_sets.RULES)
    assert (known.best <= known.worst).all()
    again, sets = zip(*(random_sets.of_set(number, 1000, 5) for number in range(2)), strict=True)
    assert runs.equals(pd.concat(again, ignore_index=True))
    assert known.equals(pd.concat(sets, ignore_index=True))
    assert not random_sets.is_recorded(2, 1000, random_sets.SEED)


def test_cycles_stay_below_bound():
    sources, budget = random_sets.random_problem(0, 5)
    ages = np.random.default_rng(0).integers(1, 13, (4, len(sources)))
    earned = random_sets.cycles(sources, sources, budget, ages)
    assert (earned <= relaxed_bound(sources, budget)[0] * (1 + 1e-12)).all()
    assert (earned > 0).all()


def test_jolt_leads_to_best_cycle():
    """A run with items and without noise, on a set of several cycles."""
    sources, rng = wide_set(6, 1)
    ages = rng.integers(1, 13, (5, len(sources)))
    earned = random_sets.cycles(sources, sources, 1, ages)
    assert earned.max() > 1.001 * earned.min()
    learner = CertaintyEquivalence(len(sources))
    learner.play(sources, mean_items(sources, 800), 1, rng)
    np.testing.assert_allclose(learner.decay, sources.decay, rtol=0.05)
    before, after = random_sets.jolted(sources, learner, 1, ages)
    assert after >= before * (1 - 1e-4)
    assert after >= earned.max() * (1 - 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "items", "most", "most_median"),
    [
        ("exponential", True, 0.1, 0.05),
        ("deterministic", False, 0.1, 0.05),
        ("exponential", False, 0.3, 0.1),  # sums have twice the variance of those of equal worths
    ],
)
def test_default_learns_on_fifty_sets(law, items, most, most_median):
    """In half of 20,000 epochs mean and median are small; then regret grows slowly."""
    late, regret = [], []
    for instance in range(50):
        sources, budget = random_sets.random_problem(instance, 7001)
        rng = np.random.default_rng([7001, 12, instance])
        drawn = sample_items(Arrivals(sources, Utility(law)), 200_000, rng)
        content = drawn if items else drawn.worth
        run = CertaintyEquivalence(len(sources)).play(sources, content, budget, rng)
        best = long_run_cycle(sources, "whittle", budget).average_reward
        lost = 1 - run.expected / best
        late.append(100 * lost[10_000:20_000].mean())
        regret.append([max(lost[:20_000].sum(), 0), max(lost.sum(), 0)])
    assert np.mean(late) < most
    assert np.median(late) < most_median
    early, whole = np.mean(regret, axis=0)
    assert np.log10(whole / early) < 0.6


@pytest.mark.slow
def test_recorded_files_are_current():
    # Run `python -m analysis.learning.random_sets` after a change of that code.
    for path in random_sets.FILES:
        assert set(pd.read_csv(path)["code"]) == {random_sets.code_hash()}, path.name


def played_again(number, rules):
    """Play some rules on a set once more, beside what is written of them."""
    written, _ = random_sets.losses(random_sets.SETS, random_sets.HORIZON, random_sets.SEED)
    again, _ = random_sets.of_set(number, random_sets.HORIZON, random_sets.SEED, rules)
    rows = written[(written.set == number) & written.rule.isin(rules)].reset_index(drop=True)
    assert set(rows.rule) == set(rules)
    pd.testing.assert_frame_equal(again, rows, rtol=1e-9)


def test_runs_come_out_as_written():
    played_again(2, ("the estimate", "UCWhittle"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [7, 31])
def test_all_rules_come_out_as_written(number):
    played_again(number, tuple(random_sets.RULES))
