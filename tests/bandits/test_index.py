"""Arms and their index, against its definition, a public package and restart arms."""

import contextlib
import io

import numpy as np
import pytest

from analysis.bandits import Arm, certify_indexability, whittle_index
from analysis.restarts import RestartArm
from analysis.restarts import whittle_index as restart_index
from analysis.results import NotConverged
from tests.bandits.adversarial import FAMILIES, agrees, draw
from tests.restarts.support import FAMILIES as RESTARTS
from tests.restarts.support import draw as draw_restart


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


def dense(states, seed=0):
    rng = np.random.default_rng(seed)
    return Arm(rng.dirichlet(np.ones(states), (2, states)), rng.normal(size=(2, states)))


def unindexable():
    """An arm of three states whose state turns active again; drawn at random."""
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        kernels = rng.dirichlet(np.full(3, 0.2), (2, 3))
        arm = Arm(kernels, rng.normal(size=(2, 3)))
        if not certify_indexability(arm, 0.95).holds:
            return arm
    raise AssertionError("none was drawn")


def check_definition(family, numbers):
    """The result keeps to the definition, or the arm is refused by name."""
    certified = 0
    for number in numbers:
        arm, discount = draw(family, number)
        try:
            found = certify_indexability(arm, discount)
        except NotConverged:
            continue
        except ValueError:  # of several closed classes: the average depends on the state
            assert discount == 1, number
            continue
        assert agrees(arm, discount, found), number
        certified += 1
        if found.holds:
            np.testing.assert_array_equal(whittle_index(arm, discount), found.index)
        else:
            with pytest.raises(ValueError, match="arm"):
                whittle_index(arm, discount)
    assert certified >= len(numbers) / 3


@pytest.mark.parametrize("family", FAMILIES)
def test_index_equals_definition(family):
    check_definition(family, range(12))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_index_equals_definition_on_hundreds(family):
    check_definition(family, range(12, 300))


def test_same_moves_have_difference_of_rewards():
    kernel = np.random.default_rng(0).dirichlet(np.ones(6), 6)
    rewards = np.random.default_rng(1).normal(size=(2, 6))
    for discount in (0.5, 0.999999, 1.0):
        index = whittle_index(Arm([kernel, kernel], rewards), discount)
        np.testing.assert_allclose(index, rewards[1] - rewards[0], atol=1e-12)


def test_index_is_shift_and_scale_covariant():
    arm = dense(9)
    index = whittle_index(arm, 0.9)
    moved = Arm(arm.transitions, 1e6 * arm.rewards + np.array([[3e6], [-5e6]]))
    np.testing.assert_allclose(whittle_index(moved, 0.9), 1e6 * index - 8e6, rtol=1e-9)
    exchanged = Arm(arm.transitions[::-1], arm.rewards[::-1])
    np.testing.assert_allclose(whittle_index(exchanged, 0.9), -index, atol=1e-12)


@pytest.mark.parametrize("family", RESTARTS)
def test_restart_arm_has_restart_index(family):
    for number in range(8):
        arm, discount = draw_restart(family, number)
        expected = restart_index(arm, discount)
        try:
            found = whittle_index(Arm.of(arm), discount)
        except NotConverged:
            continue  # beyond floats; restart arms are repeated in ball arithmetic
        every = np.concatenate([arm.passive_cost, arm.active_cost])
        size = np.abs(expected.index) + np.ptp(every) + 1e-7 * np.abs(every).max()
        assert (np.abs(found - expected.index) <= 1e-8 * size).all()


VERDICTS = {-1: "several classes", 0: "not indexable", 1: "indexable", 2: "indexable"}


def package_index(arm, discount):
    """Verdict of markovianbandit-pkg on an arm of two states or more, and its index.

    Its import changes NumPy's error state for the process.
    """
    before = np.geterr()
    try:
        from markovianbandit.whittle_computation import compute_whittle_indices

        np.seterr(divide="raise", invalid="raise")  # which its own tests for zero rely on
        with contextlib.redirect_stdout(io.StringIO()):
            verdict, index = compute_whittle_indices(
                *map(np.array, arm.transitions), *map(np.array, arm.rewards), beta=discount
            )
    except (np.linalg.LinAlgError, FloatingPointError):
        return "failed", None
    finally:
        np.seterr(**before)
    return VERDICTS[int(verdict)], np.asarray(index)


def compare_with_package(count):
    """Compare arms of all families; return how often both, one and none found an index."""
    tally = {"index": 0, "not indexable": 0, "refused": 0, "package refused": 0}
    for number in range(count):
        family = list(FAMILIES)[number % len(FAMILIES)]
        arm, discount = draw(family, number)
        if arm.states == 1:
            continue
        verdict, index = package_index(arm, discount)
        try:
            found = certify_indexability(arm, discount)
        except (ValueError, NotConverged):
            tally["refused"] += 1
            continue
        size = np.abs(found.index) + np.ptp(arm.rewards, axis=1).max() + 1e-12
        if found.holds and verdict == "indexable":
            same = (np.abs(index - found.index) <= 1e-6 * size).all()
            # Where the package differs, or says otherwise, the definition decides.
            assert same or agrees(arm, discount, found), (family, number)
            tally["index"] += 1
        elif not found.holds and verdict == "not indexable":
            tally["not indexable"] += 1
        else:
            assert agrees(arm, discount, found), (family, number, verdict)
            tally["package refused"] += 1
    return tally


def test_index_is_that_of_markovianbandit():
    tally = compare_with_package(200)
    assert tally["index"] > 130
    assert tally["not indexable"] >= 2


@pytest.mark.slow
def test_index_is_that_of_markovianbandit_on_thousands():
    tally = compare_with_package(5000)
    assert tally["index"] > 3500
    assert tally["not indexable"] > 50


def test_large_arm_has_index_of_markovianbandit():
    arm = dense(500)
    for discount in (0.95, 1.0):
        found = certify_indexability(arm, discount)
        np.testing.assert_allclose(found.index, package_index(arm, discount)[1], atol=1e-9)
        assert found.residual < 1e-12


def test_discounted_index_tends_to_average_index():
    arm = dense(12, 5)
    average = whittle_index(arm)
    for left in (1e-3, 1e-6, 1e-9, 1e-12):
        assert np.abs(whittle_index(arm, 1 - left) - average).max() < 50 * left + 1e-12


def test_unindexable_arm_shows_witness():
    arm = unindexable()
    found = certify_indexability(arm, 0.95)
    assert agrees(arm, 0.95, found)
    assert np.isnan(found.index).all()
    with pytest.raises(ValueError, match="arm"):
        whittle_index(arm, 0.95)


@pytest.mark.parametrize("action", [0, 1])
def test_arm_of_several_classes_is_refused(action):
    arm = dense(4)
    kernels = np.array(arm.transitions)
    kernels[action] = np.eye(4)
    with pytest.raises(ValueError, match="discount"):
        whittle_index(Arm(kernels, arm.rewards))
    assert certify_indexability(Arm(kernels, arm.rewards), 0.9).residual < 1e-12


def test_policy_of_several_classes_is_refused():
    """Both chains have one class, and a policy of each action in one state has two."""
    passive = [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    active = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    arm = Arm([passive, active], [[1.0, 0.0, 0.0], [0.0, 0.0, 3.0]])
    with pytest.raises(ValueError, match="discount"):
        whittle_index(arm)
