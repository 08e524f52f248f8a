from dataclasses import replace

import numpy as np
import pytest

from analysis.ephemeral import four_sources, long_run_cycle
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.instances import bunched
from book.ephemeral import how_good as page
from book.ephemeral.how_good import (
    INFORMED,
    count_joint_ages,
    find_cycles,
    find_periods,
    measure_reward_by_observation,
    measure_visits_by_content,
    simulate_self_tuning,
)

LAW = Utility("exponential")


def test_bunching_keeps_expected_contents():
    arms = four_sources()
    np.testing.assert_allclose(bunched(arms, 40).u_star, arms.u_star, rtol=1e-15)
    np.testing.assert_allclose(bunched(arms, 40).arrival_rate, arms.arrival_rate / 40)


def test_bunched_content_worth_observing():
    seen = {"all": True, "none": False}
    table, last = measure_reward_by_observation(
        four_sources(), LAW, [1.0, 125.0], seen, 1, 2000, 4, seed=2
    )
    reward = table.set_index(["factor", "observed"]).reward
    expected = long_run_cycle(four_sources(), "whittle", 1).average_reward
    assert reward[125.0, "all"] > 1.08 * reward[125.0, "none"]
    for factor in (1.0, 125.0):
        assert reward[factor, "none"] == pytest.approx(expected, rel=0.03)
    assert (table.low < table.reward).all()
    assert last["all"].mean() == pytest.approx(reward[125.0, "all"])


def test_others_crawled_when_popular_empty():
    visits = measure_visits_by_content(bunched(four_sources(), 25), LAW, 2, 400, 2, seed=3)
    assert visits.shape == (4,)
    assert visits[0] > 0.1 > visits[-1]
    # At the rates of Table 1 contents hardly vary, and sources 3 and 4 are left alone.
    assert measure_visits_by_content(four_sources(), LAW, 2, 200, 1, seed=3).mean() < 0.05


def test_observed_change_is_followed():
    arms = four_sources()
    truth = replace(arms, arrival_rate=arms.arrival_rate * np.array([1, 1, 4, 1]))
    third = np.arange(4) == 2
    rewards, crawls = simulate_self_tuning(
        arms, truth, LAW, {"third": third, "others": ~third}, 1000, 3, seed=4
    )
    assert crawls["third"][:, 2].min() > 0.2
    assert crawls["others"][:, 2].max() == 0
    assert rewards["third"].mean() > rewards["others"].mean() + 10
    assert rewards[INFORMED].mean() >= rewards["third"].mean() - 1


def test_joint_ages_grow_with_sources():
    three, four = (count_joint_ages(size, 2, seed=1) for size in (3, 4))
    assert len(three) == len(four) == 2
    assert 0 < max(three) < max(four)
    assert count_joint_ages(3, 1, seed=1) == three[:1]
    with pytest.raises(ValueError, match=r"^sets "):
        count_joint_ages(2, 0, seed=1)


def test_full_budget_has_period_one():
    periods = find_periods(3, 2, seed=1)
    assert len(periods) == 6
    full = periods[periods.budget == 3]
    assert (full.period == 1).all()
    assert full.trivial.all()
    assert periods.period.max() > 1


def test_cycles_of_unequal_rewards_occur():
    found = find_cycles(7, 1)
    assert (found.worst <= found.start).all()
    assert (found.start <= found.best).all()
    assert found.spread[6] > 1e-3
    assert (found.spread < page.APART).any()


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda s: measure_visits_by_content(s, LAW, 4, 40, 1, 1), "popular"),
        (lambda s: measure_visits_by_content(s, LAW, 2, 3, 1, 1), "horizon"),
        (lambda s: measure_visits_by_content(s, LAW, 2, 40, 0, 1), "runs"),
        (lambda s: simulate_self_tuning(s, s, LAW, {}, 60, 0, 1), "runs"),
    ],
)
def test_wrong_argument_is_named(call, argument):
    with pytest.raises(ValueError, match=f"^{argument} "):
        call(four_sources())
