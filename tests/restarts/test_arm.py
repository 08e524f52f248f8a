"""What a restart arm accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts import RestartArm, whittle_index

GOOD = {
    "passive": [[0.5, 0.5], [0.0, 1.0]],
    "reset": [1.0, 0.0],
    "passive_cost": [0.0, 1.0],
    "active_cost": [0.5, 0.5],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"passive": [[0.5, 0.4], [0.0, 1.0]]},
            r"passive\[0\] must sum to 1 to within 1e-09, got 0.9",
        ),
        (
            {"passive": [[1.5, -0.5], [0.0, 1.0]]},
            r"passive\[0, 0\] must be a finite number in \[0, 1\], got 1.5",
        ),
        ({"reset": [1.0, -1e-3]}, r"reset\[1\] must be a finite number in \[0, 1\], got -0.001"),
        ({"passive": [[0.5, 0.5]]}, r"passive must be a square matrix, got shape \(1, 2\)"),
        ({"passive": [[np.nan, 0.5], [0.0, 1.0]]}, r"passive\[0, 0\] .* got nan"),
        ({"reset": [1.0, 0.0, 0.0]}, "reset must have 2 entries a row, got 3"),
        ({"reset": [0.9, 0.2]}, "reset must sum to 1 to within 1e-09, got 1.1"),
        ({"passive_cost": [0.0, np.nan]}, r"passive_cost\[1\] must be .* got nan"),
        ({"passive": np.full((2, 2, 2), 0.5)}, r"passive must be .* got shape \(2, 2, 2\)"),
        ({"passive": [[0.5, 0.5], [1.0]]}, "passive must be an array of numbers"),
        ({"active_cost": ["dear", 1]}, r"active_cost must be an array of numbers, got \['dear'"),
        ({"active_cost": [0.0]}, r"active_cost must have shape \(2,\), got \(1,\)"),
    ],
)
def test_bad_arms_are_refused_by_name_index_and_value(change, message):
    with pytest.raises(ValueError, match=message):
        RestartArm(**(GOOD | change))


@pytest.mark.parametrize("discount", [0, -0.1, 1.0001, float("nan"), True, None])
def test_bad_discounts_are_refused(discount):
    with pytest.raises(ValueError, match=rf"discount must be a number in \(0, 1\], got {discount}"):
        whittle_index(RestartArm(**GOOD), discount)


def test_an_arm_cannot_be_changed_through_the_arrays_it_was_built_from():
    passive = np.array(GOOD["passive"])
    arm = RestartArm(**(GOOD | {"passive": passive}))
    passive[0] = [1.0, 0.0]
    assert arm.passive[0, 1] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        arm.passive[0, 0] = 1.0


def test_a_kernel_is_monotone_if_worse_states_lead_to_worse_ones():
    assert RestartArm(**GOOD).stochastically_monotone
    mends = RestartArm(**(GOOD | {"passive": [[0.2, 0.8], [0.7, 0.3]]}))
    assert not mends.stochastically_monotone


def test_rows_of_single_precision_are_divided_by_their_sums():
    rng = np.random.default_rng(0)
    passive = rng.dirichlet(np.full(30, 0.3), 30).astype(np.float32)
    reset = rng.dirichlet(np.ones(30)).astype(np.float32)
    arm = RestartArm(passive, reset, np.arange(30.0), np.full(30, 12.0))
    for given, kept in ((passive, arm.passive), (reset, arm.reset)):
        whole = given.astype(float)
        np.testing.assert_allclose(kept, whole / whole.sum(axis=-1, keepdims=True), rtol=1e-15)
    with pytest.raises(ValueError, match=r"reset must sum to 1 to within 1e-06, got 1.00000"):
        RestartArm(passive, reset * np.float32(1 + 5e-6), arm.passive_cost, arm.active_cost)
    with pytest.raises(ValueError, match=r"passive\[\d+\] must sum to 1 to within 1e-09"):
        RestartArm(passive.astype(float), reset, arm.passive_cost, arm.active_cost)
