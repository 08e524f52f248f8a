import pytest

from analysis.ephemeral import four_sources, long_run_cycle, relaxed_problem
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.instances import random_set
from analysis.ephemeral.studies.how_good.copies import gaps_against_copies, gaps_of_random_sets


def test_copies_that_start_alike_keep_the_gap_of_one_copy():
    study = gaps_of_random_sets(5, 40, seed=3)
    assert study.instance.tolist() == list(range(5))
    for row in study[study.exact].itertuples():
        sources, budget = random_set(row.instance, seed=3)
        alone = long_run_cycle(sources, "whittle", budget).average_reward
        gap = 1 - alone / relaxed_problem(sources, budget).bound
        assert row.together == pytest.approx(gap, abs=1e-10)
        assert row.random >= -1e-12


def test_gap_of_table_1_stays_with_expected_and_falls_with_random_content():
    gaps = gaps_against_copies(
        four_sources(), 2, Utility("exponential"),
        sizes=[1, 50], random_sizes=[1, 30], runs=3, horizon=1500, seed=5,
    )  # fmt: skip
    key = gaps.set_index(["content", "start", "copies"]).gap
    alone = long_run_cycle(four_sources(), "whittle", 2).average_reward
    kept = 1 - alone / relaxed_problem(four_sources(), 2).bound
    assert kept > 5e-4
    for copies in (1, 50):
        assert key["expected", "together", copies] == pytest.approx(kept, rel=1e-9)
    assert key["random", "together", 30] < 0.3 * key["random", "together", 1]
    assert ("closed form", "random", 1) not in key.index
    assert (gaps.low <= gaps.gap).all()
    assert (gaps.gap <= gaps.high).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaps_of_random_sets(0, 3, 1), "instances must be an integer of at least 1, got 0"),
        (lambda: gaps_of_random_sets(1, 0, 1), "copies must be an integer of at least 1, got 0"),
        (
            lambda: gaps_against_copies(
                four_sources(), 1, Utility(),
                sizes=[1], random_sizes=[1], runs=1, horizon=10, seed=1,
            ),
            "runs must be an integer of at least 2, got 1",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
