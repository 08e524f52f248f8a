"""What crawls identify, in exact fractions and in high precision."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.learning import closed_loop, index_range

RNG = np.random.default_rng(30)
PAIRS = [(int(j), int(k)) for j, k in np.sort(RNG.integers(1, 41, (60, 2)), axis=1)]


def of(u_star, alpha):
    mu = -np.log(np.asarray(alpha, dtype=float))
    return Sources(np.asarray(u_star, dtype=float) * mu, np.ones(mu.size), mu)


def m(u_star, alpha, k):
    return u_star * (1 - alpha**k)


def gamma(u_star, alpha, k):
    return (k + 1) * m(u_star, alpha, k) - k * m(u_star, alpha, k + 1)


def test_index_from_two_ages():
    """F1, exactly: it is the subsidy at which cycles of k and of k + 1 epochs tie."""
    for _ in range(100):
        alpha, u_star = Fraction(int(RNG.integers(1, 1000)), 1000), int(RNG.integers(1, 99))
        k = int(RNG.integers(1, 30))
        subsidy = gamma(u_star, alpha, k)
        gains = [(m(u_star, alpha, n) - subsidy) / n for n in (k, k + 1)]
        assert gains[0] == gains[1]
        assert subsidy == u_star * (1 - alpha**k * (1 + k * (1 - alpha)))
        stable = whittle_index_at_age(of([u_star], [float(alpha)]), [k])[0]
        assert stable == pytest.approx(float(subsidy), rel=1e-12)


@pytest.mark.sampled
def test_two_ages_identify():
    """F2: m(b)/m(a) falls strictly from b/a to 1 as mu grows, for a < b."""
    with mpmath.workdps(600):
        for a, b in ((j, k) for j, k in PAIRS if j < k):
            mu = [mpmath.mpf(10) ** (mpmath.mpf(e) / 8) for e in range(-40, 12)]
            ratio = [mpmath.expm1(-x * b) / mpmath.expm1(-x * a) for x in mu]
            assert all(x > y for x, y in pairwise(ratio))
            assert abs(ratio[0] - mpmath.mpf(b) / a) < 1e-3 * b
            assert 1 <= ratio[-1] < 1 + 1e-10
    for alpha in (Fraction(1, 9), Fraction(1, 2), Fraction(8, 9)):  # one age: any alpha explains it
        u_star = Fraction(99, 10) / (1 - alpha**2)
        assert m(u_star, alpha, 2) == Fraction(99, 10)


def test_index_is_free_on_curve():
    """F3: gamma(j)/c falls strictly from 1 to 0 along alpha for every j <= k."""
    with mpmath.workdps(120):
        for j, k in PAIRS:
            share = [
                gamma(1, mpmath.mpf(p) / 200, j) / m(1, mpmath.mpf(p) / 200, k)
                for p in range(1, 200)
            ]
            assert all(x > y for x, y in pairwise(share))
            assert share[0] > 0.98
            assert share[-1] < 0.005 * (j + 1)
    for j, k in PAIRS:
        least, largest = index_range(j, k, 3.0, slowest=1e-9, fastest=80.0)
        assert 0 < least < 3e-9 * (j + 1)
        assert largest == pytest.approx(3.0, rel=1e-12)
        with mpmath.workdps(60):
            alpha = mpmath.exp(-mpmath.mpf(0.3))
            exact = 3 * gamma(1, alpha, j) / m(1, alpha, k)
        assert index_range(j, k, 3.0, slowest=0.3)[0] == pytest.approx(float(exact), rel=1e-12)


def test_index_is_free_beyond_age():
    """F3 needs j <= k: at older ages the share need not fall along alpha."""
    share = [gamma(1, a, 12) / m(1, a, 2) for a in np.linspace(0.05, 0.95, 50)]
    assert (np.diff(share) > 0).any()
    with pytest.raises(ValueError, match="at"):
        index_range(12, 2, 1.0)


def test_experiment_cost_at_price():
    """F4, exactly: a step to a neighbour of the best gap costs (gamma - price)/k."""
    for _ in range(100):
        alpha, u_star = Fraction(int(RNG.integers(1, 100)), 100), int(RNG.integers(1, 99))
        price = u_star * Fraction(int(RNG.integers(1, 100)), 100)
        k = next(n for n in range(1, 2000) if gamma(u_star, alpha, n) >= price)
        gain = (m(u_star, alpha, k) - price) / k
        cost = {n: gain * n + price - m(u_star, alpha, n) for n in range(max(k - 1, 1), k + 3)}
        assert min(cost.values()) == 0
        assert cost[k + 1] == (gamma(u_star, alpha, k) - price) / k
        assert cost[k + 2] >= cost[k + 1]
        if k > 1:
            assert cost[k - 1] == (price - gamma(u_star, alpha, k - 1)) / k


TRUTH = ((10, Fraction(1, 10)), (8, Fraction(1, 2)))


def test_the_worked_example_in_fractions():
    one, two = TRUTH
    assert gamma(*one, 1) == Fraction(81, 10)
    assert [gamma(*two, k) for k in (1, 2, 3)] == [2, 4, Fraction(11, 2)]
    believed = (Fraction(132, 10), Fraction(1, 2))
    assert m(*believed, 2) == m(*one, 2) == Fraction(99, 10)
    assert [gamma(*believed, k) for k in (1, 2)] == [Fraction(33, 10), Fraction(33, 5)]
    assert gamma(*believed, 1) < gamma(*two, 2)
    assert gamma(*two, 1) < gamma(*believed, 2)
    earned = (m(*one, 2) + m(*two, 2)) / 2
    assert earned == Fraction(159, 20)
    assert 1 - earned / m(*one, 1) == Fraction(7, 60)


def example():
    return of([10, 8], [0.1, 0.5])


def test_the_believed_pair_confirms_itself():
    found = closed_loop(example(), of([13.2, 8], [0.5, 0.5]), 1)
    assert found.gaps == ((2,), (2,))
    assert found.error < 1e-12
    assert found.loss == pytest.approx(7 / 60, abs=1e-12)
    assert not found.identified.any()
    true = closed_loop(example(), example(), 1)
    assert true.gaps == ((1,), ())
    assert (true.error, true.loss) == (0.0, 0.0)


def test_self_confirming_beliefs():
    """Those with alpha in (59/139, .8619): gamma(1) < 4 and gamma(2) > 2 at m(2) = 9.9."""
    low, high = 59 / 139, 0.86191
    for alpha in np.linspace(0.02, 0.98, 97):
        found = closed_loop(example(), of([9.9 / (1 - alpha**2), 8], [alpha, 0.5]), 1)
        trapped = found.gaps == ((2,), (2,))
        assert trapped == (low < alpha < high)
        if trapped:
            assert found.error < 1e-12
            assert found.loss == pytest.approx(7 / 60, abs=1e-12)


def test_cycle_refutes_belief():
    """Off the curve the same crawls are made, and find something else."""
    found = closed_loop(example(), of([14.0, 8], [0.5, 0.5]), 1)
    assert found.gaps == ((2,), (2,))
    assert found.error == pytest.approx(1 - 9.9 / 10.5, rel=1e-9)


def test_belief_needs_own_size():
    with pytest.raises(ValueError, match="the number of sources believed in must be"):
        closed_loop(example(), of([1.0], [0.5]), 1)


def test_slow_belief_is_followed():
    """The truth is settled after three epochs, the belief is not: its policy waits on."""
    truth = Sources([200.0, 150.0], [1.0, 1.0], [20.0, 15.0])
    belief = Sources([3.0, 1.0], [1.0, 1.0], [0.5, 0.05])
    found = closed_loop(truth, belief, 1)
    age, crawls = np.zeros(2, dtype=int), []
    for _ in range(600):
        arm = int(np.argmax(whittle_index_at_age(belief, age)))
        crawls.append((arm, int(age[arm])))
        age += 1
        age[arm] = 1
    for i in range(2):
        assert found.gaps[i] == tuple(sorted({gap for arm, gap in crawls[300:] if arm == i}))
    assert max(map(max, found.gaps)) > 3
    met = [truth.state_at_age(np.array([gap, gap]))[arm] for arm, gap in crawls[300:]]
    assert found.cycle.average_reward == pytest.approx(np.mean(met), rel=0.02)
