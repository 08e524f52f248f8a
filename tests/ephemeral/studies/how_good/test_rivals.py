import numpy as np
import pytest

from analysis.ephemeral.studies.how_good import rivals


def test_no_policy_beats_the_optimum_and_two_levels_lose_nothing_with_copies():
    one = rivals.losses_of_one_copy(2, 120, 2, seed=1)
    assert set(one) == set(rivals.LABELS)
    for name in ("index", "timetable", "two-level", "lp-update"):
        assert one[name].shape == (2, 1)
        assert one[name].min() > -1e-12
    assert one["ftva"].shape == one["id"].shape == (2, 2)
    many = rivals.losses_of_copies(8, 3, 121, 2, seed=1)
    assert all(losses.min() > -1e-12 for losses in many.values())
    assert many["index"][[0, 2]] == pytest.approx(0.0, abs=1e-12)  # it earns the bound there
    assert np.abs(many["two-level"]).max() < 0.02
    assert many["ftva"].mean() < 0.1


@pytest.mark.slow
def test_hard_sets_against_the_numbers_found_by_search():
    three, five = (rivals.hard_rewards().loc[f"{size} sources"] for size in ("three", "five"))
    assert three["index below bound"] == pytest.approx(0.0390, abs=5e-5)
    assert three["optimum"] == pytest.approx(0.7592677, abs=5e-8)
    assert five["index below bound"] == pytest.approx(0.04745, abs=5e-6)
    for row in (three, five):
        assert row["index"] < row["timetable"] <= row["optimum"] * (1 + 1e-12) <= row["bound"]


def test_chains_without_a_period_are_few():
    assert 0.0 < rivals.aperiodic_share(60, seed=1) < 0.5
