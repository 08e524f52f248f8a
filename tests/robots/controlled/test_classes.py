"""Recurrent classes of policies against SciPy's, and leading all states into one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.mdp import recurrent_classes
from analysis.robots import RobotControl
from analysis.robots.controlled.classes import lead_to, recurrent_class
from analysis.robots.controlled.ordering import successors
from analysis.robots.controlled.uniformised import rates_between


def random_policy(robots: int, capacity: int, seed: int) -> tuple[RobotControl, np.ndarray]:
    rng = np.random.default_rng(seed)
    model = RobotControl(robots, 0.4, 1.0, capacity, 1.3)
    policy = rng.random(model.shape) < rng.random()
    policy[0, 0], policy[:, -1] = True, False
    return model, policy


POLICIES = st.builds(
    random_policy, st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1)
)  # fmt: skip


@given(POLICIES)
def test_the_classes_are_those_of_the_graph(drawn):
    model, policy = drawn
    moves = successors(policy, policy)
    label = recurrent_class(*moves)
    theirs = recurrent_classes(rates_between(model, *moves)[1:, 1:])
    ours = [np.flatnonzero(label == name) - 1 for name in range(label.max() + 1)]
    assert {tuple(members) for members in ours} == {tuple(members) for members in theirs}


@given(POLICIES)
def test_each_class_can_be_made_the_only_one(drawn):
    _, policy = drawn
    label = recurrent_class(*successors(policy, policy))
    for name in range(label.max() + 1):
        single = recurrent_class(*successors(*[lead_to(policy, label == name)] * 2))
        np.testing.assert_array_equal(single == 0, label == name)
        assert single.max() == 0
