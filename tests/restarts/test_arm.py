"""What a restart arm accepts and refuses."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.restarts import RestartArm

GOOD = {
    "passive": [[0.5, 0.5], [0.0, 1.0]],
    "reset": [1.0, 0.0],
    "passive_cost": [0.0, 1.0],
    "active_cost": [0.5, 0.5],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passive": [[0.5, 0.4], [0.0, 1.0]]}, "passive"),
        ({"passive": [[1.5, -0.5], [0.0, 1.0]]}, "passive"),
        ({"reset": [1.0, -1e-3]}, "reset"),
        ({"passive": [[0.5, 0.5]]}, "passive"),
        ({"passive": [[np.nan, 0.5], [0.0, 1.0]]}, r"passive\[0, 0\] .* got nan"),
        ({"reset": [1.0, 0.0, 0.0]}, "reset"),
        ({"reset": [0.9, 0.2]}, "reset"),
        ({"passive_cost": [0.0, np.nan]}, "passive_cost"),
        ({"passive": np.full((2, 2, 2), 0.5)}, "passive"),
        ({"passive": [[0.5, 0.5], [1.0]]}, "passive"),
        ({"active_cost": ["dear", 1]}, "active_cost"),
        ({"active_cost": [0.0]}, "active_cost"),
    ],
)
def test_wrong_arm_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        RestartArm(**(GOOD | change))


def test_arm_copies_arrays():
    passive = np.array(GOOD["passive"])
    arm = RestartArm(**(GOOD | {"passive": passive}))
    passive[0] = [1.0, 0.0]
    assert arm.passive[0, 1] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        arm.passive[0, 0] = 1.0


def test_monotone_kernel():
    assert RestartArm(**GOOD).stochastically_monotone
    mends = RestartArm(**(GOOD | {"passive": [[0.2, 0.8], [0.7, 0.3]]}))
    assert not mends.stochastically_monotone


def test_float32_rows_are_normalised():
    rng = np.random.default_rng(0)
    passive = rng.dirichlet(np.full(30, 0.3), 30).astype(np.float32)
    reset = rng.dirichlet(np.ones(30)).astype(np.float32)
    arm = RestartArm(passive, reset, np.arange(30.0), np.full(30, 12.0))
    for given, kept in ((passive, arm.passive), (reset, arm.reset)):
        whole = given.astype(float)
        np.testing.assert_allclose(kept, whole / whole.sum(axis=-1, keepdims=True), rtol=1e-15)
    with pytest.raises(ValueError, match="reset"):
        RestartArm(passive, reset * np.float32(1 + 5e-6), arm.passive_cost, arm.active_cost)
    with pytest.raises(ValueError, match="passive"):
        RestartArm(passive.astype(float), reset, arm.passive_cost, arm.active_cost)
