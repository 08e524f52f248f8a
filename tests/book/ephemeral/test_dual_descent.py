"""Dual descent: verdicts turn on falsified models, and the control variate leaves the mean."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.ephemeral import Sources, dual_descent, four_sources, relaxed_problem
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.optimum.dual import DualRun
from book.ephemeral import dual_descent as page
from scorecard.verdicts import add_words
from tests.support import verdicts

RULE = (20.0, 0.6)
NAME = page.format_step_rule(RULE)


def found(sources, cases=None):
    by_budget = page.descend_by_budget(cases or page.list_budgets(sources), 20_000, [RULE])
    return page.Results(by_budget, NAME)


def test_verdict_on_method_follows_runs(monkeypatch):
    four = four_sources()
    true = page.claims(found(four))
    assert verdicts(true) == {"A-s-dev-dual": "context"}
    assert "ends within" in add_words(true[0]).context

    def other_sources(sources, budget, horizon, **options):
        return dual_descent(replace(sources, decay_rate=sources.decay_rate * 2), budget, horizon)

    def other_budget(sources, budget, horizon, **options):
        return dual_descent(sources, budget + 0.5, horizon, **options)

    def constant_steps(sources, budget, horizon, **options):
        return dual_descent(sources, budget, horizon, step=20.0, power=0.0)

    for falsified in (other_sources, other_budget, constant_steps):
        monkeypatch.setattr(page, "dual_descent", falsified)
        assert "ends more than" in add_words(page.claims(found(four))[0]).context


def test_distance_is_from_interval():
    exact = relaxed_problem(four_sources(), 1)
    low, high = exact.smallest_subsidy, exact.subsidy
    assert high - low > 5
    assert page.distance_to_multipliers((low + high) / 2, exact) == 0
    assert page.distance_to_multipliers(low - 2, exact) == pytest.approx(2)
    assert page.distance_to_multipliers(high + 3, exact) == pytest.approx(3)


def test_control_variate_removes_noise():
    four = four_sources()
    runs = range(8)
    corrected = [
        page.run_on_random_content((four, 2.0, 600, RULE), np.random.default_rng(r)) for r in runs
    ]
    plain = []
    for r in runs:
        content = Arrivals(four, Utility("exponential")).sample(600, np.random.default_rng(r))
        run = dual_descent(four, 2.0, 600, content=content)
        plain.append(run.reward[page.select_second_half(run)].mean())
    rewards = np.array([reward for _, reward, _ in corrected])
    assert rewards.std() < 0.5 * np.std(plain)
    assert rewards.mean() == pytest.approx(np.mean(plain), abs=3 * np.std(plain) / 8**0.5)


def test_collected_share_of_relaxed_solution():
    four = four_sources()
    share = page.collected_share(four, 1.0)
    assert share[2:].tolist() == [0, 0]
    assert share[0] == pytest.approx((1 + four.alpha[0]) / 2)  # crawled every other epoch
    assert (share @ four.u) == pytest.approx(relaxed_problem(four, 1).bound)


def test_multiplier_interval_is_recognised():
    assert page.has_one_multiplier(relaxed_problem(four_sources(), 2))
    assert not page.has_one_multiplier(relaxed_problem(four_sources(), 1))


def test_unsettled_price_breaks_budget():
    assert page.keeps_budget(2.002, 2.0)
    assert not page.keeps_budget(2.1, 2.0)


def test_run_within_bound_of_spending():
    """Where the price has not arrived it spends, and earns, more than the budget allows."""
    halves = Sources([10, 5, 2.5, 1.25], [1, 0.5, 0.25, 0.125], [0.5] * 4)
    for sources in (four_sources(), halves, replace(halves, cost=np.array([2.0, 1.0, 1.0, 3.0]))):
        rows = page.descend_by_budget(page.list_budgets(sources), 1500, [(5.0, 0.6), (0.1, 1.0)])
        assert (rows["reward / bound of the budget"] > 1.001).any()
        assert (rows["reward / bound"] <= 1).all()
    assert page.bound_reward_at_cost(halves, 0.0) == 0.0
    assert page.bound_reward_at_cost(halves, 4.1) == pytest.approx(halves.u.sum())


def test_short_run_earns_gathered_content():
    """Its second half can earn what the first has left there, and more than any long run does."""
    slow = Sources([3, 2, 5], [1, 2, 0.5], [1e-6, 1e-3, 1e-2])
    rows = page.descend_by_budget([("M = 1", slow, 1.0)], 15_000, [(20.0, 0.6)])
    assert (rows["reward / bound of the budget"] > 1.001).all()
    assert (rows["reward / bound"] < 1).all()


def test_no_spending_no_bound():
    idle = DualRun(np.full(10, 1e3), np.zeros(10), np.zeros(10))
    bounds = page.measure_second_half(four_sources(), {"idle": idle})["bound"]
    assert bounds.isna().all()
    assert page.explain_missing_bound(bounds) == "; there is none where nothing is spent"
    assert page.explain_missing_bound(bounds.fillna(1.0)) == ""


@pytest.mark.parametrize("seed", range(20))
def test_second_half_within_bound(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    sources = Sources(*rng.lognormal(0, 1, (2, size)), 10 ** rng.uniform(-3, 1, size))
    run = dual_descent(sources, 0.5 * size, int(rng.integers(2, 60)), step=rng.lognormal(0, 2))
    assert not run.reward[page.select_second_half(run)].mean() > page.bound_second_half(
        sources, run
    ) * (1 + 1e-12)


def test_empty_source_has_no_share():
    share = page.collected_share(Sources([10.0, 0.0], [1.0, 1.0], [0.5, 0.5]), 1.0)
    assert share[1] == 0
    assert 0 < share[0] <= 1


def test_steps_not_compared_with_themselves():
    assert page.describe_largest_spread({"a": 2.0, "b": 3.0}, "a") == ", and by 3.000 with b"
    assert (
        page.describe_largest_spread({"a": 3.0, "b": 2.9999}, "b")
        == ", and by no more with any other"
    )
