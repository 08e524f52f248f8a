"""The graph of a policy: recurrent classes against SciPy's, and leading all states into one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from analysis.mdp import recurrent_classes
from analysis.robots.controlled.graph import lead_to, reachable, recurrent_class, successors


def random_policy(robots: int, capacity: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    policy = rng.random((capacity + 1, robots + 1)) < rng.random()
    policy[0, 0], policy[:, -1] = True, False
    return policy


POLICIES = st.builds(
    random_policy, st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1)
)  # fmt: skip


def adjacency(moves) -> sparse.csr_array:
    """Return the graph of the moves of a policy, (0, 0) included."""
    states = moves[0].size
    edges = [(state, int(target)) for to in moves for state, target in enumerate(to) if target >= 0]
    source, target = np.array(edges).T
    return sparse.csr_array((np.ones(source.size), (source, target)), shape=(states, states))


@given(POLICIES)
def test_classes_match_scipy(policy):
    moves = successors(policy, policy)
    label = recurrent_class(*moves)
    expected = recurrent_classes(adjacency(moves)[1:, 1:])
    classes = [np.flatnonzero(label == number) - 1 for number in range(label.max() + 1)]
    assert {tuple(members) for members in classes} == {tuple(members) for members in expected}


@given(POLICIES)
def test_reachable_states_match_scipy(policy):
    moves = successors(policy, policy)
    graph = adjacency(moves)
    for start in range(1, policy.size):
        expected = csgraph.breadth_first_order(graph, start, return_predecessors=False)
        assert set(np.flatnonzero(reachable(start, *moves))) == set(expected)


@given(POLICIES)
def test_any_class_becomes_the_only_one(policy):
    label = recurrent_class(*successors(policy, policy))
    for number in range(label.max() + 1):
        single = recurrent_class(*successors(*[lead_to(policy, label == number)] * 2))
        np.testing.assert_array_equal(single == 0, label == number)
        assert single.max() == 0
