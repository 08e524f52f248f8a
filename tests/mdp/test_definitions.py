"""Decision problems and chains made to break their solvers, against exact fractions.

Probabilities are multiples of a power of 2, so that the rows of floats sum to 1 exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from analysis.mdp import (
    maximum_mean_cycle,
    policy_iteration,
    recurrent_classes,
    relative_value_iteration,
    solve_discounted,
    stationary_law,
)
from analysis.mdp.discounted import METHODS
from analysis.results import NotConverged

#: Problems of each family in ``make check``, and in ``make proofs``.
counted = pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.slow)])


def ring(states):
    return np.roll(np.eye(states), 1, axis=1)


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


def fractions(values):
    return [[Fraction(value) for value in row] for row in values]


def solved(matrix, right):
    """The solution of a linear system of fractions, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in range(len(rows)):
            if i != k and rows[i][k]:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] for row in rows]


def closed_sets(chain):
    """Recurrent classes, by who leads to whom."""
    states = range(len(chain))
    leads = [{s} for s in states]
    for _ in states:
        leads = [set().union(*(leads[t] | {t} for t in states if chain[s][t]), {s}) for s in states]
    return {frozenset(leads[s]) for s in states if all(s in leads[t] for t in leads[s])}


def exact_law(rates):
    """Stationary law of rates that all communicate, exactly: balance, and a sum of 1."""
    size = len(rates)
    matrix = [[rates[i][j] for i in range(size)] for j in range(size)]
    for j in range(size):
        matrix[j][j] = -sum(rate for i, rate in enumerate(rates[j]) if i != j)
    matrix[-1] = [Fraction(1)] * size
    return solved(matrix, [Fraction(0)] * (size - 1) + [Fraction(1)])


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


def decomposable(power):
    """Two blocks of four states; one in 2^power leaves a block."""
    rng = np.random.default_rng(power)
    rates = np.kron(np.eye(2), np.ones((4, 4))) * rng.integers(1, 9, (8, 8))
    rates[1, 6], rates[5, 2] = 0.5**power, 3 * 0.5**power
    return rates


def geometric(states, ratio):
    """A queue in which each state is `ratio` times as likely as the one before."""
    rates = np.diag(np.full(states - 1, ratio), 1) + np.diag(np.ones(states - 1), -1)
    law = [Fraction(ratio) ** k for k in range(states)]
    return rates, [p / sum(law) for p in law]


def test_recurrent_classes_of_graphs():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        states = int(rng.integers(1, 7))
        edges = rng.random((states, states)) < rng.uniform(0.05, 0.5)
        chain = np.where(edges, 10.0 ** rng.uniform(-300, 0, edges.shape), 0.0)
        found = recurrent_classes(sparse.csr_array(chain))
        assert {frozenset(members.tolist()) for members in found} == closed_sets(edges)
        assert all((np.diff(members) > 0).all() for members in found)
        assert len(found) == len(closed_sets(edges))


def best_cycle(successors, rewards, start):
    """Largest mean of a cycle that the start leads to, by all paths that meet no state twice."""
    best = []

    def walk(path, earned):
        for target, reward in zip(successors[:, path[-1]], rewards[:, path[-1]], strict=True):
            if reward == -np.inf:
                continue
            if target in path:
                since = path.index(target)
                best.append(sum(earned[since:], Fraction(reward)) / (len(path) - since))
            else:
                walk([*path, target], [*earned, Fraction(reward)])

    walk([start], [])
    return max(best)


def drawn_forbidden(rng, states):
    rewards = rng.normal(size=(2, states))
    rewards[1, rng.integers(states)] = -np.inf
    return rewards


CYCLES = {
    "unlike": lambda rng, states: rng.normal(size=(2, states)),
    "many ties": lambda rng, states: rng.integers(3, size=(2, states)).astype(float),
    "near ties": lambda rng, states: 1 + 1e-10 * rng.integers(3, size=(2, states)),
    "rewards of ten decades": lambda rng, states: 10.0 ** rng.uniform(-5, 5, (2, states)),
    "forbidden actions": drawn_forbidden,
    "rewards of 1e-200": lambda rng, states: 1e-200 * rng.normal(size=(2, states)),
    "rewards of 1e200": lambda rng, states: 1e200 * rng.normal(size=(2, states)),
}


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("draw", CYCLES.values(), ids=CYCLES)
def test_best_mean_cycle(draw, count):
    for number in range(count):
        rng = np.random.default_rng(number)
        states = int(rng.integers(1, 6))
        successors = rng.integers(states, size=(2, states))
        rewards = draw(rng, states)
        unit = np.abs(rewards[np.isfinite(rewards)]).max()
        for start in range(states):
            solution, cycle = maximum_mean_cycle(successors, rewards, initial_state=start)
            truth = best_cycle(successors, rewards, start)
            assert abs(solution.gain - truth) <= 1e-11 * unit
            own = rewards[solution.policy[cycle], cycle].mean()
            assert own == pytest.approx(solution.gain, rel=1e-14, abs=1e-15 * unit)
            assert solution.residual <= 1e-11 * unit


def test_long_cycle_is_found():
    """A ring of 3,000 states that earns a billionth more, or less, than staying somewhere."""
    states = 3000
    around = np.arange(states)
    successors = np.stack([(around + 1) % states, around])
    rewards = np.stack([np.random.default_rng(0).normal(size=states), np.full(states, -9.0)])
    mean = float(sum(map(Fraction, rewards[0])) / states)
    for more in (-1e-9, 1e-9):
        rewards[1, 1234] = mean + more
        solution, cycle = maximum_mean_cycle(successors, rewards)
        assert solution.gain == pytest.approx(mean + max(more, 0.0), abs=1e-12)
        assert len(cycle) == (1 if more > 0 else states)


LAWS = {
    **{f"left once in 2^{k}": decomposable(k) for k in (1, 20, 60, 900)},
    "a periodic chain": ring(7),
    "one state": np.ones((1, 1)),
    "a queue that is mostly empty": geometric(60, 2.0**-16),
    "a queue that is mostly full": geometric(60, 2.0**16),
}


@pytest.mark.parametrize("chain", LAWS.values(), ids=LAWS)
def test_stationary_law(chain):
    """Each probability has 13 digits, in this order of the states and another."""
    rates, law = chain if isinstance(chain, tuple) else (chain, exact_law(fractions(chain)))
    truth = np.array(law, float)
    order = np.random.default_rng(0).permutation(len(rates))
    for places in (np.arange(len(rates)), order):
        mixed = rates[np.ix_(places, places)]
        for given in (mixed, sparse.csc_array(mixed), sparse.coo_matrix(mixed)):
            np.testing.assert_allclose(stationary_law(given), truth[places], rtol=1e-13)


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
