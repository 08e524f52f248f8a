"""Claims of the page on thresholds: each turns on a false model."""

import numpy as np
import pytest

from analysis.restarts import thresholds, whittle_index
from analysis.restarts.instances import (
    one_step,
    random_kernel,
    shock,
    slide_arm,
    unstructured_arm,
)
from analysis.restarts.subsidised import (
    cycle_by_definition,
    evaluate_policy,
    least_over_policies,
)
from book.restarts import restart_thresholds as page
from tests.support import assert_all_turn, assert_turns, verdicts

DISCOUNT = 0.9


def indices(arm, *routes):
    return tuple(whittle_index(arm, DISCOUNT, method=route).index for route in routes)


@pytest.fixture(scope="module")
def true():
    rng = np.random.default_rng(3)
    monotone = [slide_arm(random_kernel("lazy-simplex", 5, rng)) for _ in range(4)]
    plain = [unstructured_arm(5, rng) for _ in range(4)]
    pairs = [indices(arm, "ratio", "definition") for arm in monotone[:2]]
    unseen, prices = page.make_skipping_arm(1.0), np.linspace(-30, 30, 61)
    roots = [root for _, root in pairs]
    skipped = indices(unseen, "ratio", "closed form", "definition")
    gaps, same = page.measure_gaps([*monotone[:2], unseen], DISCOUNT, [*roots, skipped[-1]])
    return {
        "discount": DISCOUNT,
        "cycles": page.compare_cycles(monotone[:2] + plain[:2], DISCOUNT),
        "by_condition": [thresholds(arm, DISCOUNT).optimal for arm in monotone],
        "by_chance": [thresholds(arm, DISCOUNT).optimal for arm in plain],
        "best": in_states(monotone + plain, prices),
        "ratios": np.array([ratio for ratio, _ in pairs]),
        "roots": np.array(roots),
        "skipped": skipped,
        "gaps": gaps,
        "same": same,
    }


def in_states(arms, prices):
    return np.array([page.find_best_in_states(thresholds(arm, DISCOUNT), prices) for arm in arms])


def test_slide_14_holds_others_conditionally(true):
    found = verdicts(page.claims(**true))
    assert {id for id, verdict in found.items() if verdict == "holds"} == {
        "C-C-D-N",
        "C-continuous",
        "C-thm-D",
        "C-thm-N",
        "C-w-lines",
    }
    assert {id for id, verdict in found.items() if verdict == "holds under"} == {
        "C-threshold",
        "C-lem-klambda",
        "C-thm-w",
        "C-concl-closed",
    }


def without_its_active_epoch(arm, discount, k):
    """Return the sums over a cycle that ends when its last passive epoch does."""
    cost, length = cycle_by_definition(arm, discount, k)
    return cost, length - 1


def at_no_price(arm, discount, penalty, policy):
    """Return a policy's values where activity is not charged."""
    return evaluate_policy(arm, discount, 0.0, policy)


def test_claims_turn_on_false_models(true, monkeypatch):
    rng = np.random.default_rng(3)
    monotone = [slide_arm(random_kernel("lazy-simplex", 5, rng)) for _ in range(4)]
    plain = [unstructured_arm(5, rng) for _ in range(4)]
    prices = np.linspace(-30, 30, 61)
    with monkeypatch.context() as patch:
        patch.setattr(page, "cycle_by_definition", without_its_active_epoch)
        short = page.compare_cycles(monotone[:2] + plain[:2], DISCOUNT)
    with monkeypatch.context() as patch:
        patch.setattr(page, "evaluate_policy", at_no_price)
        free = page.compare_cycles(monotone[:2] + plain[:2], DISCOUNT)
    myopic = [whittle_index(arm, 0.1, method="ratio").index for arm in monotone[:2]]
    assert_all_turn(
        page.claims,
        true,
        {
            "a cycle without its active epoch": true | {"cycles": short},
            "activity at no price": true | {"cycles": free},
            "arms without structure": true
            | {"by_condition": true["by_chance"], "by_chance": true["by_condition"]},
            "a price that is paid out": true | {"best": in_states(monotone + plain, -prices)},
            "the ratio at another discount": true | {"ratios": np.array(myopic)},
            "lines at the index of another discount": true
            | {"gaps": page.measure_gaps(monotone[:2], DISCOUNT, myopic)[0]},
        },
        # Their conditions stand in words alone: no predicate decides them.
        stands={"C-concl-closed", "C-thm-w", "C-threshold"},
    )


def test_cycle_theorems_turn_on_length(true):
    short = true["cycles"].assign(length_sum=true["cycles"].length_sum - 1)
    assert_turns(page.claims, true, true | {"cycles": short}, {"C-thm-D", "C-thm-N"})


def test_ratio_undefined_in_skipped_state(true):
    _, closed, root = true["skipped"]
    wrong = true | {"skipped": (closed, closed, root)}
    assert_turns(page.claims, true, wrong, {"C-thm-w", "C-concl-closed"})


def test_best_in_states_costs_least():
    rng = np.random.default_rng(5)
    arms = [unstructured_arm(5, rng) for _ in range(20)] + [page.make_skipping_arm(1.0)]
    prices = np.linspace(-20, 20, 81)
    for arm in arms:
        lines = thresholds(arm, DISCOUNT)
        found, costs = page.find_best_in_states(lines, prices), lines.cost_at(prices)[:, :-1]
        assert found.max() < arm.states
        chosen = np.take_along_axis(costs, found[:, None], axis=1)[:, 0]
        np.testing.assert_allclose(chosen, costs.min(axis=1), atol=1e-9)
        assert (np.diff(found) >= 0).all()


def test_lines_coincide_at_skipped_state(true):
    assert true["same"] == 1
    assert np.isnan(true["skipped"][0]).sum() == 1


def test_reset_thresholds_best_despite_crossings():
    arm = page.make_skipping_arm(50.0)
    found = thresholds(arm, DISCOUNT)
    assert np.allclose(found.crossings, [-1.5, 93.5, 2.3, 7.72], atol=1e-3)
    for price in np.linspace(-5, 100, 22):
        least = arm.reset @ least_over_policies(arm, DISCOUNT, price)
        assert found.cost_at(price).min() == pytest.approx(least, abs=1e-12)
    # From the skipped state they are not.
    assert not found.optimal


def test_unvisited_states_do_not_cross():
    lines = thresholds(slide_arm(shock(5, 0.6)), DISCOUNT)
    meets = page.find_crossings(lines, 0)
    assert np.isnan(meets[1, 2])
    assert np.isfinite(meets[0, 1])
    assert page.find_crossing_state(lines, 1) == 0
    assert page.find_crossing_state(lines, 3) == 4
    always = thresholds(slide_arm(random_kernel("lazy-simplex", 5, np.random.default_rng(1))), 0.9)
    assert [page.find_crossing_state(always, k) for k in range(5)] == list(range(5))


def test_undefined_ratio_is_shown():
    shown = page.tabulate_routes({"ratio": [-1.5, np.nan], "definition": [-1.5, 2.00004]})
    assert shown.to_numpy().tolist() == [[-1.5, "0/0"], [-1.5, 2.0]]


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.99])
def test_sure_wear_has_closed_form(discount):
    arm = slide_arm(one_step(6, 0.0))
    assert page.index_of_sure_wear(arm, discount) == pytest.approx(
        whittle_index(arm, discount).index
    )
