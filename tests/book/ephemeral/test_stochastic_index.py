"""The stochastic index: verdicts turn on falsified models, and functions match definitions."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import Arrivals, Sources, Utility, compare, four_sources, whittle_index
from analysis.ephemeral.stochastic import values
from analysis.ephemeral.stochastic.index import StochasticIndex, stochastic_index
from analysis.ephemeral.stochastic.values import (
    average_random_value,
    discounted_random_value,
    index_from_passages,
    random_source,
)
from analysis.ephemeral.theory.formula import printed_eta
from book.ephemeral import stochastic_index as page
from scorecard.verdicts import add_words
from tests.support import assert_all_turn, verdicts

NEARLY_FLUID = Arrivals(Sources([1e5], [1e-5], [0.7]), Utility("deterministic"))
GRID = np.linspace(0.1, 1.2, 56)


@cache
def busy_source():
    """Source 1 of the four, alone: itself, a draw of its content, and it on a lattice."""
    one = four_sources().subset(slice(0, 1))
    content = Arrivals(one).sample(40_000, np.random.default_rng(1))[0]
    return one, content, random_source(one, 0, Utility(), points=150)


@cache
def results():
    one, content, source = busy_source()
    u_star, alpha = float(one.u_star[0]), float(one.alpha[0])
    subsidy = 0.42 * u_star
    average = average_random_value(source, subsidy)
    threshold = float(source.state[average.policy == 1][0])
    discounted = {d: discounted_random_value(source, subsidy, d) for d in (0.5, 0.9)}
    level = source.state[discounted[0.9].policy == 1][0]
    runs = content.reshape(-1, 100)
    played = page.simulate_discounted_reward(runs, alpha, level, 0.5 * u_star, subsidy, 0.9)
    value = float(np.interp(0.5 * u_star, source.state, discounted[0.9].values))
    costly = random_source(replace(one, cost=[2.0]), 0, Utility(), points=150)
    arms = {250.0: one, 0.5: replace(one, arrival_rate=[0.5])}
    curves = {
        rate: [stochastic_index(some, 0, Utility(), tolerance=0.01)] for rate, some in arms.items()
    }
    at = np.array([0.4, 1.0]) * u_star
    drawn = [index_from_passages(content, alpha, state) for state in at]
    simulated = pd.DataFrame(
        {"simulated": [d.value for d in drawn], "half-width": [d.half_width for d in drawn]}, at
    )
    return page.Results(
        law="exponential",
        source=source,
        costly=costly,
        subsidy=subsidy,
        average=average,
        costly_average=average_random_value(costly, subsidy / 2),
        raised=average_random_value(source, 1.1 * subsidy),
        solutions=solutions(source, subsidy, average.gain),
        discounted=discounted,
        played=(value, played),
        crawls=page.follow_threshold(content[:5000], alpha, threshold),
        eta=float(printed_eta(one, [threshold])[0]),
        betas=pd.DataFrame({
            "beta as printed": [page.printed_average_reward(alpha, u_star, subsidy, 3)],
            "beta": average.gain,
        }),
        check=checked(curves[250.0][0], simulated),
        curves=curves,
        grid=GRID,
        deviation={r: page.closed_form_deviation(arms[r], curves[r], GRID) for r in arms},
        scale=one.u_star,
    )  # fmt: skip


def solutions(source, subsidy, gain):
    return pd.DataFrame([page.solve_printed_average(source, subsidy, f * gain) for f in (1.0, 1.1)])


def checked(curve, simulated):
    """The index of a curve beside simulated ones, at the contents of the latter."""
    lattice = np.interp(simulated.index, curve.state, curve.index)
    return simulated.assign(lattice=lattice)


def with_the_term_after_a_crawl(found, monkeypatch):
    """Solutions of (21) with the value after a crawl on its right side."""

    def corrected(source, subsidy, value):
        ahead = source.ahead(value)
        return np.maximum(source.cost * subsidy + ahead, source.state + ahead[0])

    with monkeypatch.context() as patch:
        patch.setattr(page, "evaluate_right_of_21", corrected)
        return replace(found, solutions=solutions(found.source, found.subsidy, found.average.gain))


def with_an_epoch_more_in_a_crawl(found, monkeypatch):
    """V where a crawl collects what the next epoch brings as well, as a sum from t = 0 has it."""
    problem = values._decision_problem

    def earlier(source, subsidy, discount):
        transitions, rewards = problem(source, subsidy, discount)
        return transitions, rewards + np.array([[0.0], [source.mean]])

    with monkeypatch.context() as patch:
        patch.setattr(values, "_decision_problem", earlier)
        return replace(found, average=average_random_value(found.source, found.subsidy))


def with_fluid_content(found):
    """Content almost without chance, so that the closed form is its index."""
    source = NEARLY_FLUID.sources
    content = NEARLY_FLUID.sample(400, np.random.default_rng(2))[0]
    alpha, u_star = float(source.alpha[0]), float(source.u_star[0])
    crawls = page.follow_threshold(content, alpha, float(0.99 * source.state_at_age([2])[0]))
    curve = stochastic_index(source, 0, Utility("deterministic"), tolerance=0.01)
    subsidy = float(np.interp(0.99 * source.state_at_age([2])[0], curve.state, curve.index))
    lattice = random_source(source, 0, Utility("deterministic"), points=150)
    betas = pd.DataFrame({
        "beta as printed": [page.printed_average_reward(alpha, u_star, subsidy, 2)],
        "beta": average_random_value(lattice, subsidy).gain,
    })  # fmt: skip
    off = page.closed_form_deviation(source, [curve], GRID)
    curves = {rate: [curve] for rate in found.curves}
    deviation = dict.fromkeys(found.deviation, off)
    return replace(
        found, crawls=crawls, betas=betas, deviation=deviation, curves=curves, scale=source.u_star
    )


def crawled_at_once(found):
    """V_d of a policy that crawls at every epoch, whose content never fades before a crawl."""
    solutions = {
        d: replace(solution, policy=np.ones_like(solution.policy))
        for d, solution in found.discounted.items()
    }
    return replace(found, discounted=solutions)


def with_half_of_the_content(found):
    """V_d of a crawl that collects half: that of twice the subsidy, halved."""
    values = {}
    for discount in found.discounted:
        twice = discounted_random_value(found.source, 2 * found.subsidy, discount)
        values[discount] = replace(twice, values=twice.values / 2)
    return replace(found, discounted=values)


def test_verdicts_turn_on_falsified_models(monkeypatch):
    true = results()
    one, content, source = busy_source()
    alpha, u_star = float(one.alpha[0]), float(one.u_star[0])
    runs, subsidy = content.reshape(-1, 100), true.subsidy
    other_discount = page.simulate_discounted_reward(
        runs, alpha, 200.0, 0.5 * u_star, subsidy, 0.89
    )
    falling = {
        rate: [replace(curve, index=curve.index[::-1]) for curve in curves]
        for rate, curves in true.curves.items()
    }
    curve = true.curves[250.0][0]
    closed = replace(curve, index=whittle_index(one, curve.state[:, None])[:, 0])
    assert_all_turn(
        page.claims,
        true,
        {
            "another discount": replace(true, played=(true.played[0], other_discount)),
            "a crawl that collects half": with_half_of_the_content(true),
            "a crawl at once from each content": crawled_at_once(true),
            "a subsidy that moves no value": replace(true, raised=true.average),
            "the term after a crawl restored": with_the_term_after_a_crawl(true, monkeypatch),
            "unit cost": replace(true, costly=source, costly_average=true.average),
            "values of another subsidy": replace(
                true,
                average=average_random_value(source, 0.5 * subsidy),
                costly_average=average_random_value(true.costly, 0.2 * subsidy),
            ),
            "a crawl that collects the next epoch as well": with_an_epoch_more_in_a_crawl(
                true, monkeypatch
            ),
            "the sum begins an epoch later": replace(
                true, crawls=page.follow_threshold(content[:5000], alpha, 240.0, first=1)
            ),
            "fluid content": with_fluid_content(true),
            "the closed form on the lattice": replace(true, check=checked(closed, true.check)),
        },
        {
            "an index that falls": replace(true, curves=falling),
            "a value that bends down": replace(
                true, average=replace(true.average, bias=-true.average.bias)
            ),
        },
    )


def test_verdicts_of_the_document():
    found = verdicts(page.claims(results()))
    false = ("A-r-s7-same", "A-r-lem5b", "A-r-lem5b-const", "A-r-s7-indexable-proof")
    assert {found[id] for id in false} == {"does not hold"}
    under = ("A-r-s7-argmax", "A-r-eq21", "A-r-s7-eq12", "A-r-s7-unique")
    assert {found[id] for id in under} == {"holds under"}
    assert found["A-s-dev-indexability"] == found["A-r-s7-shape"] == "holds"
    assert found["A-s-dev-numerics"] == "context"
    assert "refused" not in found.values()


def test_only_optimal_beta_integrates_to_zero():
    _, _, source = busy_source()
    gain = results().average.gain
    for factor in (1.0, 1.05, 1.5):
        solved = page.solve_printed_average(source, results().subsidy, factor * gain)
        assert solved["residual of (21)"] < 1e-9 * gain
        assert (abs(solved["integral of V"]) < 1e-6 * gain) == (factor == 1.0)


def test_best_threshold_starts_crawling():
    found = results()
    crawled = page.mark_crawled(found.source, found.average.bias, found.subsidy)
    np.testing.assert_array_equal(crawled, found.average.policy)
    edge = found.source.state[crawled == 1][0]
    step = found.source.state[1] + found.busiest[0].state[1]
    assert abs(page.find_best_threshold(found.busiest[0], found.subsidy) - edge) <= step


def test_constant_crawls_earn_discounted_content():
    content = np.array([[1.0, 2.0, 4.0], [3.0, 0.0, 8.0]])
    found = page.simulate_discounted_reward(content, 0.5, 0.0, 7.0, 100.0, 0.5)
    assert found.value == pytest.approx(np.mean([7 + 0.5 + 0.5, 7 + 1.5 + 0.0]))
    waits = page.simulate_discounted_reward(content, 0.5, 1e9, 7.0, 100.0, 0.5)
    assert waits.interval == pytest.approx((175.0, 175.0))


def test_control_has_exact_reward():
    arms = four_sources()
    play = compare(
        Arrivals(arms), {"greedy": "greedy", "index": "whittle"}, 1, 200, 3,
        np.random.default_rng(3),
    )  # fmt: skip
    table = page.tabulate_policy_rewards({250.0: play}, {250.0: 300.0}, {250.0: 260.0}).set_index(
        "policy"
    )
    assert table.loc["greedy", ["reward", "half_width"]].tolist() == [260.0, 0.0]
    assert table.loc["greedy", "below"] == pytest.approx(100 * 40 / 300)
    moved = play.difference("index", "greedy").value
    assert table.loc["index", "reward"] == pytest.approx(260 + moved)


def test_losses_against_index_smallest_rate():
    earned = {"true index": (4.0, 2.0), "closed form": (3.2, 1.9)}
    earned |= {"to the letter": (1.0, 1.5), "greedy": (1.0, 1.0)}
    rows = [
        (rate, policy, rewards[place])
        for place, rate in enumerate((250.0, 0.5))
        for policy, rewards in earned.items()
    ]
    said = page.collect_policy_values(pd.DataFrame(rows, columns=["rate", "policy", "reward"]))
    assert said == pytest.approx({"most-gained": 0.25, "letter": 0.25, "blind": 0.5, "rarest": 0.5})


def test_largest_rate_deviation_to_limit():
    busy, rare = np.array([[-0.1, 0.05, 0.2, 9.0]]), np.array([[np.nan, -0.5, 0.6, 0.7]])
    deviation = {250.0: busy, 5.0: 100 * busy, 0.5: rare}
    said = page.collect_deviation_values(deviation, np.array([0.4, 0.9, 1.0, 1.1]), [1e-4, 3e-4])
    assert list(said.values()) == [0.2, 0.1, 0.9, -0.5, 0.7, 3e-4, 2]


def test_closed_form_worst_at_limit():
    """Against first passages of simulated content, which know no lattice and no grid."""
    found = results()
    one, content, _ = busy_source()
    alpha, u_star = float(one.alpha[0]), float(one.u_star[0])
    drawn = index_from_passages(content, alpha, u_star)
    assert u_star / drawn.value - 1 == pytest.approx(found.worst_busy, abs=0.01)
    assert found.worst_busy > 1.3 * found.worst_inside


def test_numerical_verdict_follows_simulation():
    true = results()
    one, _, _ = busy_source()
    curve = true.curves[250.0][0]
    closed = replace(curve, index=whittle_index(one, curve.state[:, None])[:, 0])
    wrong = replace(true, check=checked(closed, true.check))
    words = [
        add_words({row.id: row for row in page.claims(r)}["A-s-dev-numerics"]).context
        for r in (true, wrong)
    ]
    assert "which agrees with simulated" in words[0]
    assert "differs from simulated" in words[1]


def test_value_shape_follows_lemma_5():
    shape = page.measure_value_shape(results())
    assert 0 < shape["smallest slope"] < shape["largest slope"] <= 1 + 1e-9
    assert shape["least second difference"] > -1e-6


def test_fluid_content_has_fixed_gap():
    source = NEARLY_FLUID.sources
    threshold = float(0.99 * source.state_at_age([2])[0])
    u, alpha = float(source.u[0]), float(source.alpha[0])
    content = NEARLY_FLUID.sample(60, np.random.default_rng(1))[0]
    crawls = page.follow_threshold(content, alpha, threshold)
    assert (crawls.gap == 2).all()
    np.testing.assert_allclose(crawls.content, u * (1 + alpha), rtol=0.03)
    np.testing.assert_allclose(crawls.printed, u * alpha * (1 + alpha), rtol=0.03)


def test_corrected_sum_equals_content():
    arrivals = Arrivals(Sources([5.0], [1.0], [0.7]))
    content = arrivals.sample(300, np.random.default_rng(2))[0]
    alpha = float(np.exp(-0.7))
    right = page.follow_threshold(content, alpha, 6.0, first=1)
    np.testing.assert_allclose(right.content, right.printed)
    printed = page.follow_threshold(content, alpha, 6.0)
    np.testing.assert_array_equal(printed.content, right.content)
    assert not np.isclose(printed.content, printed.printed).any()
    assert right.gap.nunique() > 1


def test_printed_reward_of_fluid_cycle():
    assert page.printed_average_reward(0.5, 8.0, 1.0, 3) == pytest.approx((1 + 1 + 7) / 3)


def test_deviation_is_ratio():
    arms = four_sources()
    curves = [
        StochasticIndex(grid, 0.5 * grid + 1, -grid, grid, 0.0)
        for grid in np.linspace(0, 2, 50)[:, None].repeat(4, axis=1).T * arms.u_star[:, None]
    ]
    deviation = page.closed_form_deviation(arms, curves, np.array([0.5, 1.0, 50.0]))
    assert deviation.shape == (4, 3)
    content = 0.5 * arms.u_star
    one = whittle_index(arms, content) / (0.5 * content + 1) - 1
    np.testing.assert_allclose(deviation[:, 0], one)
    assert np.isnan(deviation[:, 2]).all()


def test_rare_content_has_no_index():
    content = np.random.default_rng(1).exponential(1.0, 20_000)
    estimate = index_from_passages(content, 0.5, 1.0)
    assert page.simulate_index(content, 0.5, 1.0) == (estimate.value, estimate.half_width)
    assert np.isnan(page.simulate_index(content, 0.5, 50.0)).all()
