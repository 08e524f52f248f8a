"""Decision problems made to break their solvers, against exact fractions; forms of their input.

Probabilities are multiples of a power of 2, so that the rows of floats sum to 1 exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from analysis.mdp import policy_iteration, relative_value_iteration, solve_discounted
from analysis.mdp.discounted import METHODS, _allowed
from analysis.results import NotConverged
from tests.mdp.test_chains import closed_sets, exact_law, fractions, ring, solved

#: Problems of each family in ``make check``, and in ``make proofs``.
counted = pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.slow)])


def dyadic(rng, states):
    """Two transition matrices in multiples of 1/64; by the first all states communicate."""
    chains = rng.multinomial(64, rng.dirichlet(np.full(states, 0.5), (2, states))) / 64
    chains[0] = (3 * chains[0] + ring(states)) / 4
    return chains


def unlike(rng):
    states = int(rng.integers(2, 4))
    return dyadic(rng, states), rng.normal(size=(2, states))


def near_ties(rng):
    """Both actions move alike, and earn alike up to the thirteenth digit."""
    chains, rewards = unlike(rng)
    return chains[[0, 0]], rewards[[0, 0]] * [[1.0], [1 + 1e-13]]


def nearly_alike(rng):
    """Rewards of one and a millionth, the same for both actions: only the moves tell."""
    chains, rewards = unlike(rng)
    return chains, 1 + 1e-6 * rewards[[0, 0]]


def nearly_decomposable(rng):
    """Two pairs of states that a chain leaves once in 2^4 to 2^45 epochs.

    With 2^46 an entry would take more than 53 bits, and its row a sum of 1 only to rounding: what
    it lacks would be lost at every epoch, 1 / (1 - b) times.
    """
    seldom = 0.5 ** rng.integers(4, 46, 4)
    chains = np.zeros((2, 4, 4))
    for action, pair in product((0, 1), (0, 2)):
        chains[action, pair : pair + 2, pair : pair + 2] = dyadic(rng, 2)[0]
        chains[action, pair] *= 1 - seldom[action + pair]
        chains[action, pair, 2 - pair] += seldom[action + pair]
    return chains, rng.normal(size=(2, 4))


def periodic(rng):
    chains = np.stack([ring(3), np.eye(3)[rng.permutation(3)]])
    return chains, rng.normal(size=(2, 3))


def one_state(rng):
    return np.ones((2, 1, 1)), rng.normal(size=(2, 1))


def seldom_climbing(rng):
    """Down with 7/8, up with 2^-k: what is earned at the top hardly counts, and all of the bias."""
    up = 0.5 ** rng.integers(4, 20)
    chain = np.diag([up] * 3, 1) + np.diag([7 / 8] * 3, -1)
    chain += np.diag(1 - chain.sum(axis=1))
    return np.stack([chain, chain[[0, 1, 2, 2]]]), rng.normal(size=(2, 4))


def forbidden(rng):
    chains, rewards = unlike(rng)
    rewards[1, rng.integers(rewards.shape[1])] = -np.inf
    return chains, rewards


def classes(rng):
    """By one action each state stays for ever."""
    chains, rewards = unlike(rng)
    return np.stack([chains[0], np.eye(rewards.shape[1])]), rewards


def ten_decades(rng):
    chains, rewards = unlike(rng)
    return chains, rewards * 10.0 ** rng.uniform(-5, 5, rewards.shape)


def without_rewards(rng):
    chains, rewards = unlike(rng)
    return chains, 0 * rewards


def tiny_unit(rng):
    chains, rewards = unlike(rng)
    return chains, 1e-200 * rewards


def huge_unit(rng):
    chains, rewards = unlike(rng)
    return chains, 1e200 * rewards


PROBLEMS: dict[str, Callable] = {
    "unlike": unlike,
    "near ties": near_ties,
    "rewards nearly alike": nearly_alike,
    "nearly decomposable": nearly_decomposable,
    "periodic": periodic,
    "one state": one_state,
    "chains that seldom climb": seldom_climbing,
    "forbidden actions": forbidden,
    "several recurrent classes": classes,
    "rewards of ten decades": ten_decades,
    "no rewards": without_rewards,
    "rewards of 1e-200": tiny_unit,
    "rewards of 1e200": huge_unit,
}
#: Where rounding may hide the answer, which is then refused.
HARD = ("nearly decomposable", "chains that seldom climb", "several recurrent classes")


def drawn(family, *seed):
    """A problem whose rows sum to 1 exactly."""
    transitions, rewards = PROBLEMS[family](np.random.default_rng(seed))
    assert all(sum(row) == 1 for chain in transitions for row in fractions(chain)), (family, seed)
    return transitions, rewards


def policies(rewards):
    allowed = [np.flatnonzero(np.isfinite(column)) for column in rewards.T]
    return product(*allowed)


def gains(transitions, rewards, policy):
    """Gains of the recurrent classes of a policy."""
    chain = fractions(transitions[list(policy), range(len(policy))])
    for members in map(sorted, closed_sets(chain)):
        law = exact_law([[chain[s][t] for t in members] for s in members])
        yield sum(p * Fraction(rewards[policy[s], s]) for p, s in zip(law, members, strict=True))


@counted
@pytest.mark.parametrize("family", PROBLEMS)
def test_average_reward_is_optimal(family, count):
    """The best gain of all policies; the policy found has it too."""
    for number in range(count):
        transitions, rewards = drawn(family, number, 1)
        unit = np.abs(rewards[np.isfinite(rewards)]).max()
        best = max(
            gain for policy in policies(rewards) for gain in gains(transitions, rewards, policy)
        )
        for solve in (policy_iteration, partial(relative_value_iteration, max_iterations=2000)):
            try:
                found = solve(transitions, rewards)
            except NotConverged:
                assert family in HARD, number
                assert solve is not policy_iteration or family != "several recurrent classes"
                continue
            assert 0 <= found.residual <= 1e-9 * unit
            assert abs(found.gain - best) <= found.residual + 1e-15 * unit, (number, found.method)
            own = max(gains(transitions, rewards, found.policy))
            assert abs(own - best) <= 1e-9 * unit
            equation = (rewards + transitions @ found.bias).max(axis=0) - found.gain - found.bias
            assert np.abs(equation).max() <= 2 * found.residual + 1e-15 * unit


@counted
@pytest.mark.parametrize("family", PROBLEMS)
def test_discounted_values_are_optimal(family, count):
    """The best values of all policies, for discounts up to 1 - 1e-14, or refused."""
    for number, power in product(range(count), (0.3, 1, 3, 6, 9, 12, 14)):
        transitions, rewards = drawn(family, number, 2)
        discount = 1 - 10.0**-power
        values = [
            solved(
                [
                    [(s == t) - Fraction(discount) * Fraction(p) for t, p in enumerate(row)]
                    for s, row in enumerate(transitions[list(policy), range(len(policy))])
                ],
                map(Fraction, rewards[list(policy), range(len(policy))]),
            )
            for policy in policies(rewards)
        ]
        best = np.array(np.max(values, axis=0), float)
        for method in METHODS:
            try:
                found = solve_discounted(
                    transitions, rewards, discount, method=method, max_iterations=2000
                )
            except NotConverged:
                sure = {"policy iteration": 14, "value iteration": 1, "linear programme": 3}
                assert family in HARD or power > sure[method], (number, power, method)
                continue
            room = 2e-10 * np.abs(best).max() + 1e-14 * np.abs(rewards[rewards > -np.inf]).max()
            assert np.abs(found.values - best).max() <= room, (number, power, method)


def test_state_dependent_gain_is_refused() -> None:
    stay = np.eye(2)[None]
    rewards = np.array([[0.0, 1.0]])
    with pytest.raises(ValueError, match="weakly communicating"):
        policy_iteration(stay, rewards)
    with pytest.raises(NotConverged):
        relative_value_iteration(stay, rewards, max_iterations=100)


@pytest.mark.parametrize(
    ("transitions", "rewards", "message"),
    [
        (np.eye(2)[None], [[1.0, 2.0, 3.0]], "shape"),
        (np.eye(2)[None], [1.0, 2.0], "rewards"),
        (np.eye(2)[None] / 2, [[1.0, 2.0]], "sum to 1"),
        (np.array([[[2.0, -1.0], [0.0, 1.0]]]), [[1.0, 2.0]], "non-negative, got -1"),
        (np.eye(2)[None], [[1.0, np.nan]], "rewards"),
        (np.eye(2)[None], [[1.0, np.inf]], "finite"),
        (np.eye(2)[None], [[1.0, -np.inf]], "at least one action in state 1"),
    ],
)
def test_wrong_problem_is_refused(transitions, rewards, message) -> None:
    for solve in (policy_iteration, relative_value_iteration):
        with pytest.raises(ValueError, match=message):
            solve(transitions, rewards)


def random_problem(seed: int, actions: int = 3, states: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    transitions = 0.98 * transitions + 0.02 / states
    return transitions, rng.normal(size=(actions, states))


def test_array_likes_are_read():
    transitions = np.array([[[0.75, 0.25], [0.5, 0.5]], [[0.25, 0.75], [0.125, 0.875]]])
    rewards = np.array([[1.0, 0.0], [0.0, 2.0]])
    expected = solve_discounted(transitions, rewards, 0.9)
    forms = (
        transitions.tolist(),
        transitions.astype(object),
        transitions.astype(np.float32),
        pd.Series(list(transitions), index=["stay", "move"]),
    )
    for form in forms:
        found = solve_discounted(form, rewards, 0.9)
        np.testing.assert_array_equal(found.values, expected.values)
        assert policy_iteration(form, rewards).gain == policy_iteration(transitions, rewards).gain


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", [np.asarray, list, lambda p: [sparse.csr_array(m) for m in p]])
def test_float32_rows_are_normalised(form, method):
    rng = np.random.default_rng(8)
    single = rng.dirichlet(np.full(40, 0.3), (2, 40)).astype(np.float32)
    rewards = rng.normal(size=(2, 40))
    whole = single.astype(float) / single.astype(float).sum(axis=-1, keepdims=True)
    assert np.abs(single.astype(float).sum(axis=-1) - 1).max() > 1e-8
    found = solve_discounted(form(single), rewards, 0.999, method=method)
    worth = rewards + 0.999 * whole @ found.values
    np.testing.assert_allclose(worth.max(axis=0), found.values, rtol=1e-12, atol=1e-12)
    exact = policy_iteration(whole, rewards).gain
    assert policy_iteration(form(single), rewards).gain == pytest.approx(exact, rel=1e-13)


def test_wrong_row_sums_are_refused():
    transitions, rewards = np.full((2, 3, 3), 1 / 3), np.arange(6.0).reshape(2, 3)
    for precision, apart in ((np.float32, 3e-6), (np.float64, 3e-9), (np.float16, 3e-3)):
        wrong = transitions.copy()
        wrong[1, 0] *= 1 + apart
        with pytest.raises(ValueError, match=r"sum to 1, got 1.0.* for action 1, state 0"):
            solve_discounted([transitions[0], wrong[1].astype(precision)], rewards, 0.9)
    # Of an action that is not allowed nothing is asked.
    rewards[1, 0] = -np.inf
    found = solve_discounted([transitions[0], wrong[1].astype(np.float32)], rewards, 0.9)
    assert found.policy[0] == 0


@pytest.mark.parametrize("method", ["policy iteration", "value iteration"])
def test_iteration_limit_is_exact(method):
    for seed in (1, 2, 3, 4):
        transitions, rewards = random_problem(seed)
        found = solve_discounted(transitions, rewards, 0.9, method=method)
        enough = solve_discounted(
            transitions, rewards, 0.9, method=method, max_iterations=found.iterations
        )
        assert enough.iterations == found.iterations
        if found.iterations > 1:
            with pytest.raises(NotConverged, match=f"after {found.iterations - 1} "):
                solve_discounted(
                    transitions, rewards, 0.9, method=method, max_iterations=found.iterations - 1
                )


def test_value_iteration_reports_residual():
    """Half of 5 * 0.95^2, for two states that are never left."""
    rewards, stay = np.array([[3.0, 8.0]]), np.eye(2)[None]
    with pytest.raises(NotConverged, match=r"a residual of 2\.26 after 3 iterations"):
        solve_discounted(stay, rewards, 0.95, method="value iteration", max_iterations=3)


def test_tolerance_is_relative():
    """Values times 1 - b: here 2 - 0.1 * 30 and 2 + 0.1 * 5, the largest 2.5 in size."""
    bias = np.array([-30.0, 5.0])
    assert _allowed(2.0, bias, 0.9, 1e-3, 1.0) == pytest.approx(2.5e-3, rel=1e-12)
    last = 16 * np.finfo(float).eps * 0.1 * 4.0
    assert _allowed(0.0, 0 * bias, 0.9, 1e-3, 4.0) == pytest.approx(last, rel=1e-12, abs=0)


def test_near_optimal_policy_may_stay():
    """Leaving state 0 is worth 0.001 of 2."""
    transitions = np.array([np.eye(2), [[0.0, 1.0], [0.0, 1.0]]])
    rewards = np.array([[1.0, 1.002], [0.999, 0.0]])
    assert solve_discounted(transitions, rewards, 0.5).policy.tolist() == [1, 0]
    coarse = solve_discounted(transitions, rewards, 0.5, tolerance=0.5)
    assert coarse.iterations == 1
    assert coarse.values[0] == pytest.approx(2.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("apart", [9e-10, -9e-10, 1e-13])
def test_missing_mass_is_shared(method, apart):
    """Methods would else put it where it suits them, which values near discount 1 show."""
    transitions, rewards = random_problem(10)
    given = transitions * (1 + apart * np.arange(transitions.shape[1])[:, None] / 10)
    discount = 1 - (1e-1 if method == "value iteration" else 1e-6)
    found = solve_discounted(given, rewards, discount, method=method, tolerance=1e-12)
    expected = solve_discounted(transitions, rewards, discount, tolerance=1e-12)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    assert policy_iteration(given, rewards).gain == pytest.approx(
        policy_iteration(transitions, rewards).gain, rel=1e-12
    )
