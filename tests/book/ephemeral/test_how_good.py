"""How good the index policy is: verdicts turn on falsified models, rewards respect bounds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import (
    Utility,
    four_sources,
    long_run_cycle,
    optimal_cycle,
    whittle_index_at_age,
)
from analysis.ephemeral.instances import bunched
from analysis.ephemeral.theory.formula import printed_index
from analysis.results import NotConverged
from analysis.sweep import sweep
from book.ephemeral import how_good as page
from book.ephemeral import shared
from tests.support import assert_all_turn, verdicts

FOUR, LAW = four_sources(), Utility("exponential")


def formula_by(form):
    """Return the error of a printed form of the index, in the place of the stable one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            page,
            "whittle_index_at_age",
            lambda sources, ages: printed_index(sources, sources.state_at_age(ages), form),
        )
        return page.formula_error(FOUR)


def seen(observed):
    """Rewards of the index policy that sees the contents of some sources, by their name."""
    return page.measure_reward_by_observation(FOUR, LAW, [125.0], observed, 1, 1000, 6, seed=2)[1]


@pytest.fixture(scope="module")
def true():
    truth = replace(FOUR, arrival_rate=FOUR.arrival_rate * np.array([1, 1, 4, 1]))
    rows = sweep(
        shared.compare_with_optimum,
        [(3, 1), (4, 2)],
        seed=3,
        replications=8,
        jobs=1,
        progress=False,
    )
    return page.Results(
        instances=pd.DataFrame([row for point in rows for row in point]),
        states=optimal_cycle(FOUR, 2).states,
        cycle=long_run_cycle(FOUR, "whittle", 2),
        single=long_run_cycle(FOUR, "whittle", 1),
        error=page.formula_error(FOUR),
        observed=seen(page.OBSERVED),
        visits=page.measure_visits_by_content(bunched(FOUR, 25), LAW, 2, 300, 2, seed=3),
        tuned=page.simulate_self_tuning(FOUR, truth, LAW, page.OBSERVED, 400, 3, seed=4)[0],
        bunching=25.0,
        drift=4.0,
    )


def test_verdicts_turn_on_falsified_models(true):
    undrifted = page.simulate_self_tuning(FOUR, FOUR, LAW, page.OBSERVED, 400, 3, seed=4)[0]
    blind = seen(dict.fromkeys(page.OBSERVED, page.OBSERVED["none observed"]))
    exchanged = seen({name: ~shown for name, shown in page.OBSERVED.items()})
    whole = sweep(
        shared.compare_with_optimum, [(3, 3)], seed=3, replications=4, jobs=1, progress=False
    )
    assert_all_turn(
        page.claims,
        true,
        {
            "the short form": replace(true, error=formula_by("remark")),
            "one crawl an epoch": replace(true, cycle=long_run_cycle(FOUR, "whittle", 1)),
            "other sources visited unobserved": replace(
                true, single=long_run_cycle(FOUR, "round-robin", 1)
            ),
            "all sources crawled at each epoch": replace(
                true, instances=pd.DataFrame([row for point in whole for row in point])
            ),
            "observation of nothing": replace(true, observed=blind),
            "all observed in the place of none": replace(true, observed=exchanged),
            "a truth that is as told": replace(true, tuned=undrifted),
        },
    )


def test_verdicts_of_the_document(true):
    found = verdicts(page.claims(true))
    assert found == {
        "A-r-intro-static": "context",
        "A-r-concl-simple": "holds",
        "A-r-concl-nontrivial": "holds under",
        "A-r-intro-dynamic": "holds under",
        "A-r-concl-observed": "holds under",
        "A-r-s7-mixed": "holds under",
    }


def test_visits_elsewhere_need_observation(true):
    rotating = replace(true, single=long_run_cycle(FOUR, "round-robin", 1))
    assert verdicts(page.claims(rotating))["A-r-intro-dynamic"] == "holds"


@pytest.mark.parametrize(("more", "found"), [(1.0, True), (0.1, False)])
def test_tuning_needs_clear_gain(more, found):
    blind = np.array([1.0, 2.0, 3.0])
    noise = np.array([-0.1, 0.1, 0.0])
    assert (
        page.gains_by_observing({"none observed": blind, "half": blind + more + noise}, "half")
        is found
    )


def test_formula_error_detects_wrong_age(monkeypatch):
    assert page.formula_error(FOUR) < 1e-12
    late = lambda s, ages: whittle_index_at_age(s, ages + 1)  # noqa: E731
    monkeypatch.setattr(page, "whittle_index_at_age", late)
    assert page.formula_error(FOUR) > 0.01


def test_rewards_respect_bounds():
    rows = sweep(
        shared.compare_with_optimum,
        [(3, 1), (4, 2)],
        seed=1,
        replications=6,
        jobs=1,
        progress=False,
    )
    for row in (row for point in rows for row in point):
        for policy in ("whittle", "myopic", "round-robin", "spread", "periodic", "draws"):
            assert row[policy] <= 1 + 1e-7, policy
        assert 1 - 1e-9 <= row["bound"] <= row["fluid"] + 1e-9


def test_unsolved_set_sampled_again(monkeypatch):
    solved = shared.optimal_cycle
    calls = []

    def refuse_the_first(*arguments, **options):
        calls.append(1)
        if len(calls) == 1:
            raise NotConverged("too many joint ages")
        return solved(*arguments, **options)

    monkeypatch.setattr(shared, "optimal_cycle", refuse_the_first)
    rng = np.random.default_rng(8)
    rows = [shared.compare_with_optimum((3, 1), rng) for _ in range(6)]
    assert sum(row["redrawn"] for row in rows) == 1
    assert all(row["whittle"] <= 1 + 1e-7 for row in rows)


def test_list_sentences_turn_with_rows():
    rows = {"list, fluid": [1.0, 1.0], "list, relaxed": [1.1, 1.2]}
    table = pd.DataFrame(rows).T
    assert page.collect_policy_predicates(table) == {"fluid-list-below": True}
    assert page.collect_policy_predicates(table[::-1].set_axis(table.index)) == {
        "fluid-list-below": False
    }
    sets = pd.DataFrame(
        {
            "interval": [True, True, False, False],
            "constant": [True, False, True, False],
            "whittle": [1.0, 0.99, 0.98, 1.0],
            "bound": [1.0, 1.0, 1.0, 1.01],
            "periodic": [1.0, 0.9, 0.98, 0.9],
        }
    )
    counted = page.count_trivial(sets)
    assert (counted["with-interval"], counted["trivial-interval"]) == (2, 1)
    assert (counted["with-single"], counted["trivial-single"]) == (2, 1)
    assert (counted["trivial-met"], counted["odd"], counted["odd-misfit"]) == (0, 1, 1)
    assert counted["some-nontrivial"] is True
    assert page.count_trivial(sets[::2])["some-nontrivial"] is False


def test_no_gain_nothing_regained():
    rewards = {"none observed": np.array([1.0, 2.0]), "half": np.array([2.0, 3.0])}
    won, known = page.gain_from_true_rates({**rewards, page.INFORMED: np.array([3.0, 4.0])}, "half")
    assert (won, known.value) == pytest.approx((0.5, 2.0))
    won, known = page.gain_from_true_rates(
        {**rewards, page.INFORMED: rewards["none observed"]}, "half"
    )
    assert (won, known.value) == (0.0, 0.0)


def test_bunching_keeps_expected_contents():
    arms = four_sources()
    np.testing.assert_allclose(bunched(arms, 40).u_star, arms.u_star, rtol=1e-15)
    np.testing.assert_allclose(bunched(arms, 40).arrival_rate, arms.arrival_rate / 40)


def test_bunched_content_worth_observing():
    seen = {"all": True, "none": False}
    table, last = page.measure_reward_by_observation(
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
    visits = page.measure_visits_by_content(bunched(four_sources(), 25), LAW, 2, 400, 2, seed=3)
    assert visits.shape == (4,)
    assert visits[0] > 0.1 > visits[-1]
    # At the rates of Table 1 contents hardly vary, and sources 3 and 4 are left alone.
    assert page.measure_visits_by_content(four_sources(), LAW, 2, 200, 1, seed=3).mean() < 0.05


def test_observed_change_is_followed():
    arms = four_sources()
    truth = replace(arms, arrival_rate=arms.arrival_rate * np.array([1, 1, 4, 1]))
    third = np.arange(4) == 2
    rewards, crawls = page.simulate_self_tuning(
        arms, truth, LAW, {"third": third, "others": ~third}, 1000, 3, seed=4
    )
    assert crawls["third"][:, 2].min() > 0.2
    assert crawls["others"][:, 2].max() == 0
    assert rewards["third"].mean() > rewards["others"].mean() + 10
    assert rewards[page.INFORMED].mean() >= rewards["third"].mean() - 1


def test_joint_ages_grow_with_sources():
    three, four = (page.count_joint_ages(size, 2, seed=1) for size in (3, 4))
    assert len(three) == len(four) == 2
    assert 0 < max(three) < max(four)
    assert page.count_joint_ages(3, 1, seed=1) == three[:1]


def test_full_budget_has_period_one():
    periods = page.find_periods(3, 2, seed=1)
    assert len(periods) == 6
    full = periods[periods.budget == 3]
    assert (full.period == 1).all()
    assert full.trivial.all()
    assert periods.period.max() > 1


def test_cycles_of_unequal_rewards_occur():
    found = page.find_cycles(7, 1)
    assert (found.worst <= found.start).all()
    assert (found.start <= found.best).all()
    assert found.spread[6] > 1e-3
    assert (found.spread < page.APART).any()
