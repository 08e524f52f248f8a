import numpy as np
import pytest

from analysis.bandits import Arm
from analysis.restarts import RestartArm


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"transitions": np.eye(2)}, "transitions"),
        ({"transitions": np.ones((2, 2, 3)) / 3}, "transitions"),
        ({"transitions": np.ones((3, 2, 2)) / 2}, "transitions"),
        ({"transitions": [np.eye(2), [[0.5, 0.4], [0.0, 1.0]]]}, r"transitions\[1\]"),
        ({"transitions": [[[1.5, -0.5], [0, 1]], np.eye(2)]}, "transitions"),
        ({"rewards": np.zeros((2, 3))}, "rewards"),
        ({"rewards": [[0.0, np.inf], [0.0, 0.0]]}, "rewards"),
    ],
)
def test_wrong_arm_is_named(arguments, named):
    right = {"transitions": [np.eye(2)] * 2, "rewards": np.zeros((2, 2))}
    with pytest.raises(ValueError, match=named):
        Arm(**{**right, **arguments})


def test_rows_of_single_precision_are_normalised():
    rng = np.random.default_rng(0)
    kernels = rng.dirichlet(np.ones(30), (2, 30)).astype(np.float32)
    sums = Arm(kernels, np.zeros((2, 30))).transitions.sum(axis=2)
    np.testing.assert_allclose(sums, 1, atol=1e-15)


def test_restart_arm_becomes_arm():
    arm = RestartArm([[0.5, 0.5], [0.0, 1.0]], [1.0, 0.0], [0.0, 2.0], [1.0, 3.0])
    found = Arm.of(arm)
    assert found.transitions[1].tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert found.rewards.tolist() == [[-0.0, -2.0], [-1.0, -3.0]]
