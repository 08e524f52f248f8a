"""The Whittle index by its independent routes, and thresholds by their definitions."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.restarts import (
    RestartArm,
    elimination,
    optimal_threshold,
    thresholds,
    whittle,
    whittle_index,
    whittle_indices,
)
from analysis.restarts.instances import example_queues
from analysis.restarts.subsidised import (
    cycle_by_definition,
    passive_excess,
    rates_by_equations,
    solve_subsidised,
)
from analysis.restarts.whittle import METHODS, certify_indexability, critical_values, restart_level
from analysis.results import NotConverged
from tests.restarts.support import (
    ARMS,
    MONOTONE_ARMS,
    action_values,
    best_passive,
    draw,
    draw_arm,
    drifting_down,
    over_families,
    precise_index,
    right,
    scale,
    truth,
)

DISCOUNTS = st.sampled_from([0.3, 0.9, 0.99, 1.0])


@settings(max_examples=150)
@given(MONOTONE_ARMS, DISCOUNTS)
def test_monotone_arms_have_closed_form(arm, discount):
    found = whittle_index(arm, discount)
    assert found.method == "closed form"
    assert (np.diff(found.index) >= -1e-9 * (1 + np.abs(found.index).max())).all()
    eliminated = whittle_index(arm, discount, method="elimination").index
    assert np.allclose(found.index, eliminated, rtol=1e-9, atol=1e-9)


def test_ratio_of_unvisited_state():
    arm = RestartArm(np.eye(3)[[2, 2, 2]], [1, 0, 0], [0.0, 1.0, 2.0], [1.5] * 3)
    ratio = whittle_index(arm, 0.9, method="ratio").index
    assert np.isnan(ratio[1])
    defined = whittle_index(arm, 0.9, method="definition").index
    assert np.allclose(whittle_index(arm, 0.9).index, defined, atol=1e-10)


@pytest.mark.parametrize("discount", [0.3, 0.9, 1.0])
def test_ratio_exists_if_all_visited(discount):
    for seed in range(5):
        arm = draw_arm(seed, 5, kind="sorted-simplex")
        ratio = whittle_index(arm, discount, method="ratio")
        np.testing.assert_allclose(ratio.index, whittle_index(arm, discount).index, rtol=1e-11)
        assert 0 < ratio.residual < 1e-11
    for states in (1, 3):
        free = RestartArm(
            np.full((states, states), 1 / states), np.eye(states)[0], *[[3.0] * states] * 2
        )
        assert whittle_index(free, discount, method="ratio").index.tolist() == [0.0] * states


@pytest.mark.parametrize("seed", range(10))
def test_ratio_of_nearly_equal_costs(seed):
    rng, states = np.random.default_rng(seed), 4
    cost = 1 + 1e-9 * np.sort(rng.random((2, states)))
    passive = np.triu(rng.random((states, states)))
    passive /= passive.sum(axis=1, keepdims=True)
    arm = RestartArm(passive, np.eye(states)[0], cost[0], np.full(states, cost[1, 0]))
    for discount in (0.9, 1.0):
        ratio = whittle_index(arm, discount, method="ratio").index
        true = whittle_index(arm, discount, method="elimination").index
        assert np.isfinite(ratio).any()
        np.testing.assert_allclose(ratio, true, rtol=0, atol=1e-9 * np.ptp(cost))


def test_ratio_omits_lost_digits():
    """A cycle lasts 1e9 epochs and more: of N, which falls from 1e-9, no nine digits are left."""
    some = False
    for up in (0.1, 1e-2, 1e-4, 1e-6):
        arm = drifting_down(4, up, 0.6)
        true, ratio = (whittle_index(arm, 1 - 1e-9, method=m) for m in ("auto", "ratio"))
        kept = np.isfinite(ratio.index)
        np.testing.assert_allclose(ratio.index[kept], true.index[kept], rtol=1e-9)
        some |= bool(kept.any() and not kept.all())
    assert some
    none = whittle_index(drifting_down(2, 1e-9, 0.6), 1.0, method="ratio")
    assert np.isnan(none.index).all()
    assert none.residual == 0


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("kind", ["sorted-simplex", "one-step", "any", "sparse"])
def test_lapack_matches_kernel(kind, discount, monkeypatch):
    arm = draw_arm(5, 90, kind=kind)
    routes = [whittle_index(arm, discount, method=r).index for r in ("auto", "elimination")]
    monkeypatch.setattr(elimination, "LAPACK_FROM", 1000)
    kernel = whittle_index(arm, discount, method="elimination").index
    for index in routes:
        assert np.allclose(index, kernel, rtol=1e-9, atol=1e-9)


def test_closed_form_needs_thresholds():
    arm = draw_arm(0, 6)
    for method in ("closed form", "ratio"):
        with pytest.raises(ValueError, match="method"):
            whittle_index(arm, 0.9, method=method)
    found = whittle_index(arm, 0.9)
    assert found.method == "elimination"
    assert "not optimal" in found.note


def test_closed_form_refusal_names_state():
    """Of costs that are too close for the crossings to tell, the critical values do."""
    passive = np.full((3, 3), 1 / 3)
    falling = RestartArm(passive, [1, 0, 0], [0.0, 0.5, 0.25], np.full(3, 2.0))
    with pytest.raises(ValueError, match="the crossing falls after state 1"):
        whittle_index(falling, 0.9, method="closed form")
    close = RestartArm(np.full((2, 2), 0.5), [1, 0], [1e-15, 0.0], np.full(2, 1000.0))
    with pytest.raises(ValueError, match="the critical values fall"):
        whittle_index(close, 0.9, method="closed form")


def test_early_class_has_no_closed_form():
    arm = RestartArm([[1, 0, 0], [0, 0, 1], [1, 0, 0]], [0, 1, 0], [0, 1, 2], [1, 1, 1])
    found = whittle_index(arm, 1.0)
    assert found.method == "elimination"
    np.testing.assert_array_equal(found.index, [-1.0, -1.0, -1.0])
    with pytest.raises(ValueError, match="several closed classes"):
        whittle_index(arm, 1.0, method="closed form")
    with pytest.raises(ValueError, match="order"):
        thresholds(arm, 1.0)


@pytest.mark.parametrize("method", ["auto", "elimination", "ratio", "closed form", "definition"])
def test_all_methods_refuse_several_classes(method):
    arm = RestartArm(np.eye(3), [1, 0, 0], [0.0, 1.0, 2.0], [1.5] * 3)
    with pytest.raises(ValueError, match="discount"):
        whittle_index(arm, 1.0, method=method)
    assert np.isfinite(whittle_index(arm, 0.999).index).all()


@pytest.mark.parametrize(
    ("states", "up", "down", "last"),
    [
        (20, 0.05, 0.6, 322.2396694214876),
        (24, 0.05, 0.6, 477.9421487603306),
        (30, 0.05, 0.6, 766.0413223140496),
        (40, 0.1, 0.4, 2535.8888888888889),
    ],
)
@pytest.mark.parametrize("method", ["auto", "elimination", "closed form", "definition"])
def test_long_cycles_keep_digits(states, up, down, last, method):
    arm = drifting_down(states, up, down)
    found = whittle_index(arm, 1.0, method=method)
    assert found.index[-1] == pytest.approx(last, rel=1e-9)
    assert found.residual < 1e-9
    assert whittle_indices([arm], 1.0)[0, -1] == pytest.approx(last, rel=1e-9)


def test_overlong_cycles_need_balls():
    """Where lengths overflow, 0 times infinity was none, and passed for no error at all."""
    arm = drifting_down(42, 1e-8, 0.9)
    true = precise_index(arm, 1.0, 3000)
    for found in (whittle_index(arm, 1.0).index, whittle_indices([arm], 1.0)[0]):
        np.testing.assert_allclose(found, true, rtol=1e-9)
    with pytest.raises(NotConverged, match=r"rounding may have moved .* by inf of its size"):
        whittle_index(drifting_down(310, 0.05, 0.6), 1.0)


def test_rounding_is_refused_without_balls(monkeypatch):
    """And the advice is to install what is not there, and nothing where it did not help."""
    arm, discount = draw("near ties", 1)
    found = elimination.eliminate(arm, discount, adaptive=True)
    index = whittle_index(arm, discount).index
    np.testing.assert_allclose(index, precise_index(arm, discount), rtol=1e-9)
    refused = partial(pytest.raises, NotConverged)
    told = "rounding may have moved the index of an arm of .* epochs; "
    with monkeypatch.context() as changed:
        changed.setattr(elimination, "BALLS_TO", 1)
        with refused(match=told + "arms of up to 1 states are solved in as many digits"):
            whittle_index(arm, discount)
    with monkeypatch.context() as changed:
        changed.setitem(sys.modules, "flint", None)
        with refused(match=told + "with python-flint installed, arms of up to 300 states"):
            whittle_index(arm, discount)
    vague = replace(found, residual=2e-9)
    monkeypatch.setattr(elimination, "eliminate_in_balls", lambda *_, **__: vague)
    with refused(match=r"by 2e-09 of its .* epochs; an elimination in 65536 bits does not tell"):
        whittle_index(arm, discount)


@pytest.mark.parametrize("method", ["auto", "elimination"])
def test_close_states_stay_apart(method):
    passive = [[1, 0, 0, 0], [0.08517923225819492, 0.914820767741805, 0, 0], [0, 1, 0, 0]]
    arm = RestartArm(
        [*passive, [0, 0, 1, 0]],
        [0, 0, 0, 1.0],
        [-0.4857147534473002, -0.4904799639361048, -0.041720524171049746, -0.9150159304246114],
        [0.5880361144043751, 0.18459988741430242, 0.16896517943704198, 0.7926112911],
    )
    expected = [-0.22537876, -0.22537876, -0.22537876, -2.33127333]
    for discount in (1 - 1e-11, 1 - 1e-12, 1 - 1e-14, 1.0):
        np.testing.assert_allclose(
            whittle_index(arm, discount, method=method).index, expected, atol=1e-8
        )
        np.testing.assert_allclose(whittle_indices([arm], discount)[0], expected, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "discount"),
    [
        *((family, 1.0) for family in ("near ties", "dense", "nearly decomposable", "absorbing")),
        *((family, 1 - 1e-11) for family in ("near ties", "dense", "costs 1 and 1 + 1e-4")),
    ],
)
def test_large_index_equals_definition(family, discount):
    """A state is active just below its index and passive just above, by the best of all policies.

    The least and the greatest index, the two that are nearest to each other, and the middle one.
    """
    arm, _ = draw(family, 0, 300)
    found = whittle_index(arm, discount)
    np.testing.assert_allclose(whittle_indices([arm], discount)[0], found.index, rtol=1e-9)
    assert found.residual <= 1e-9
    ranks = np.argsort(found.index, kind="stable")
    nearest = int(np.diff(found.index[ranks]).argmin())
    spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
    for state in ranks[np.unique([0, nearest, nearest + 1, 150, 299])].tolist():
        tie = found.index[state]
        nudge = 1e-9 * (abs(tie) + spread)
        for subsidy in (tie - nudge, tie + nudge):
            guess = np.flatnonzero(found.index <= subsidy).tolist()
            passive = best_passive(arm, discount, subsidy, guess)
            assert (state in passive) == (subsidy > tie), state


@settings(max_examples=40)
@given(ARMS)
def test_passive_sets_are_nested(arm):
    index, critical = whittle_index(arm, 0.9).index, critical_values(arm, 0.9)
    level = -np.inf
    for subsidy in np.linspace(index.min() - 1, index.max() + 1, 15):
        if np.abs(index - subsidy).min() < 1e-6:
            continue
        passive, active = action_values(
            arm, 0.9, subsidy, solve_subsidised(arm, 0.9, subsidy).values
        )
        assert ((passive < active) == (index < subsidy)).all()
        before, level = level, restart_level(arm, 0.9, subsidy)
        assert level > before
        assert ((passive < active) == (critical < level)).all()


def test_certificate_near_discount_one():
    assert certify_indexability(example_queues()[3], 0.99999).residual < 1e-11


@pytest.mark.parametrize("discount", [0.9, 0.9999, 1 - 1e-7])
def test_wrong_order_is_not_certified(discount, monkeypatch):
    arm = draw_arm(0, 6)
    monkeypatch.setattr(whittle, "thresholds", lambda a, b, order: thresholds(a, b))
    assert not certify_indexability(arm, discount).holds


def test_discount_one_is_refused():
    with pytest.raises(ValueError, match="discount"):
        certify_indexability(draw_arm(0, 3), 1)


# Thresholds


@settings(max_examples=40)
@given(ARMS, st.sampled_from([0.3, 0.9]))
def test_cycles_and_rates_equal_definition(arm, discount):
    found = thresholds(arm, discount)
    for k in range(arm.states + 1):
        cost, length = cycle_by_definition(arm, discount, k)
        assert found.elimination.cost[k] == pytest.approx(cost, rel=1e-9, abs=1e-9)
        assert found.elimination.length[k] == pytest.approx(length, rel=1e-9)
        rates = rates_by_equations(arm, discount, k)
        assert (found.cost_rate[k], found.activity[k]) == pytest.approx(rates, rel=1e-8, abs=1e-9)


def test_never_active_arm_cost():
    """A third of all epochs in the first state and two thirds in the second."""
    arm = RestartArm([[0.5, 0.5], [0.25, 0.75]], [1, 0], [5.0, 2.0], [9.0, 9.0])
    assert passive_excess(arm) == pytest.approx(1.0, rel=1e-14)


# The definition, on families that are made to break it


@over_families(16, 200)
def test_every_method_is_right_or_refuses(family, count):
    """Each method is right or does not converge; elimination always does.

    The closed form and the ratio refuse arms without thresholds, and the definition, at discount 1,
    those of which a policy has several closed classes.
    """
    for number in range(count):
        arm, discount, index = truth(family, number)
        threshold = whittle_index(arm, discount).method == "closed form"
        for method in METHODS:
            try:
                found = whittle_index(arm, discount, method=method)
            except NotConverged:
                assert method == "definition", number
                continue
            except ValueError:
                allowed = discount == 1 if method == "definition" else not threshold
                assert allowed, (number, method)
                assert method not in ("auto", "elimination"), number
                continue
            assert found.residual <= 1e-9
            assert right(arm, found.index, index), (number, method)
            assert method == "ratio" or np.isfinite(found.index).all()


@over_families(16, 200)
def test_batch_has_each_index(family, count):
    """A batch has the index of each arm."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        assert right(arm, whittle_indices([arm, arm], discount)[1], index), number


@over_families(8, 200)
def test_no_wrong_index_is_certified(family, count):
    """No certificate is given to a wrong index, and none refused where digits are not short."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        if discount < 1:
            found = certify_indexability(arm, discount)
            assert right(arm, found.crossings, index[found.order])
            assert found.holds or discount > 0.9999, (number, found.residual)


@over_families(8, 200)
def test_nested_policies_are_optimal(family, count):
    """Nested policies cost what the best policy costs, at every subsidy."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        found = thresholds(arm, discount, order="critical")
        assert right(arm, found.crossings, np.sort(index))
        if discount > 0.9999:
            continue
        for subsidy in (index.min() - 1, float(np.median(index)), index.max() + 1):
            best = float(arm.reset @ solve_subsidised(arm, discount, subsidy).values)
            size = abs(subsidy) + np.abs(arm.passive_cost).max() + np.abs(arm.active_cost).max()
            assert abs(found.cost_at(subsidy).min() - best) <= 1e-9 * size
            at = found.cost_at(subsidy)[found.best(subsidy)]
            assert abs(at - best) <= 1e-9 * size


@over_families(8, 200)
def test_threshold_passes_state_at_index(family, count):
    """The best threshold passes a state that is visited where the subsidy passes its index."""
    for number in range(count):
        arm, discount, index = truth(family, number)
        if (np.diff(index) <= 0).any() or (np.diff(thresholds(arm, discount).activity) >= 0).any():
            continue
        for k, tie in enumerate(index):
            nudge = 1e-7 * scale(arm, index)[k]
            if np.abs(np.delete(index, k) - tie).min(initial=np.inf) > 2 * nudge:
                below, above = optimal_threshold(arm, discount, [tie - nudge, tie + nudge])
                assert (below, above) == (k, k + 1)
