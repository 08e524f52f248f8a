"""Slide 11 read to the letter, and claims of the page on indexability."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts import RestartArm, certify_indexability, thresholds, whittle, whittle_index
from analysis.restarts.instances import unstructured_arm
from analysis.restarts.subsidised import solve_subsidised
from analysis.restarts.whittle import critical_values, restart_level
from book.restarts import restart_indexability as page
from tests.restarts.support import draw_arm
from tests.support import assert_all_turn, assert_turns, verdicts

DISCOUNT = 0.9


@pytest.fixture(scope="module")
def true():
    arms = [unstructured_arm(4, np.random.default_rng(seed)) for seed in range(6)]
    indices = [whittle_index(arm, DISCOUNT).index for arm in arms[:2]]
    subsidies = np.linspace(-3, 3, 7)
    grid = np.linspace(indices[0].min() - 1, indices[0].max() + 1, 60)
    return {
        "discount": DISCOUNT,
        "certificates": [certify_indexability(arm, DISCOUNT) for arm in arms],
        "indices": indices,
        "roots": [whittle_index(arm, DISCOUNT, method="definition").index for arm in arms[:2]],
        "subsidies": subsidies,
        "levels": np.array(
            [[restart_level(arm, DISCOUNT, s) for s in subsidies] for arm in arms[:2]]
        ),
        "grid": grid,
        "solved": [solve_subsidised(arms[0], DISCOUNT, s) for s in grid],
        "readings": page.count_wrong_passive_sets(arms, DISCOUNT),
    }


def test_passive_set_does_not_hold(true):
    found = verdicts(page.claims(**true))
    assert {id for id, verdict in found.items() if verdict == "does not hold"} == {
        "C-lem-Pi",
        "C-w-formula",
    }
    assert {id for id, verdict in found.items() if verdict == "context"} == {
        "C-def-index",
        "C-def-indexable",
        "C-noframework",
        "C-inefficient",
    }
    assert found["C-thm-indexable"] == found["C-lem-W"] == "holds"


def nested_by_number(arm, discount, order):
    """Return the thresholds of an arm without structure as if its states were in order of wear."""
    return thresholds(arm, discount)


def test_claims_turn_on_false_models(true, monkeypatch):
    arms = [unstructured_arm(4, np.random.default_rng(seed)) for seed in range(6)]
    with monkeypatch.context() as patch:
        patch.setattr(whittle, "thresholds", nested_by_number)
        unordered = [certify_indexability(arm, DISCOUNT) for arm in arms]
    paid = [[restart_level(arm, DISCOUNT, -s) for s in true["subsidies"]] for arm in arms[:2]]
    assert_all_turn(
        page.claims,
        true,
        {
            "the index at another discount": true
            | {"indices": [whittle_index(arm, 0.5).index for arm in arms[:2]]},
            "states that turn passive by their number": true | {"certificates": unordered},
            "activity is paid for, not charged": true
            | {
                "levels": np.array(paid),
                "solved": [solve_subsidised(arms[0], DISCOUNT, -s) for s in true["grid"]],
            },
            "an epoch that does not look ahead": true
            | {"readings": page.count_wrong_passive_sets(arms, 1e-6)},
        },
    )


def test_index_and_indexability_turn_separately(true):
    arms = [unstructured_arm(4, np.random.default_rng(seed)) for seed in range(2)]
    other = true | {"indices": [whittle_index(arm, 0.5).index for arm in arms]}
    assert_turns(page.claims, true, other, {"C-exists"})
    paid = [solve_subsidised(arms[0], DISCOUNT, -s) for s in true["grid"]]
    assert_turns(page.claims, true, true | {"solved": paid}, {"C-thm-indexable"})


def test_passive_sets_need_both_corrections():
    arms = [unstructured_arm(5, np.random.default_rng(seed)) for seed in range(20)]
    found = page.count_wrong_passive_sets(arms, 0.9).set_index(["ratio", "level"])
    assert (found.checked == 20 * 6).all()
    assert found.wrong["stopping times", "corrected"] == 0
    assert found.wrong["stopping times", "printed"] > 0
    assert found.wrong["fixed times", "corrected"] > 0


def test_stopping_times_beat_fixed_times():
    for seed in range(30):
        arm = draw_arm(seed, 6)
        assert (page.fixed_time_values(arm, 0.9) >= critical_values(arm, 0.9) - 1e-9).all()


def test_fixed_times_suffice_for_sure_wear():
    # A deterministic walk to the worst state: a stopping time is a fixed time.
    kernel = np.eye(4, k=1)
    kernel[-1, -1] = 1
    arm = RestartArm(kernel, np.eye(4)[0], np.array([3.0, 0.0, 2.0, 5.0]), np.ones(4))
    assert np.allclose(page.fixed_time_values(arm, 0.9), critical_values(arm, 0.9))
