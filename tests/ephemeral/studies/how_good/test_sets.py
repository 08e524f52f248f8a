import pytest

from analysis.ephemeral.studies.how_good.sets import joint_ages, periods_of_random_sets


def test_joint_ages_grow_with_the_sources():
    three, four = (joint_ages(size, 2, seed=1) for size in (3, 4))
    assert len(three) == len(four) == 2
    assert 0 < max(three) < max(four)
    assert joint_ages(3, 1, seed=1) == three[:1]
    with pytest.raises(ValueError, match="sets must be an integer of at least 1, got 0"):
        joint_ages(2, 0, seed=1)


def test_all_sources_crawled_at_each_epoch_have_period_one():
    periods = periods_of_random_sets(3, 2, seed=1)
    assert len(periods) == 6
    full = periods[periods.budget == 3]
    assert (full.period == 1).all()
    assert full.trivial.all()
    assert periods.period.max() > 1
