"""Beliefs that their own cycles confirm, and beliefs that these refute."""

import mpmath
import numpy as np
import pytest

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.learning import closed_loop, index_range
from analysis.results import NotConverged
from tests.ephemeral.sets import QUICK, SETS


@pytest.mark.parametrize("name", QUICK)
def test_closed_loop(name):
    """The truth predicts what it finds and loses nothing; a belief does so where it is met."""
    sources = SETS[name]
    try:
        found = closed_loop(sources, sources, 1)
    except NotConverged:
        return
    assert (found.error, found.loss) == (0.0, 0.0)
    for arm, ages in enumerate(found.gaps):
        assert set(ages) == set(found.cycle.gaps(arm))
    grown = Sources(2 * sources.arrival_rate, sources.mean_utility, sources.decay, sources.cost)
    doubled = closed_loop(sources, grown, 1)  # the same order of indices
    assert doubled.gaps == found.gaps
    assert doubled.error == pytest.approx(0.5, rel=1e-9)


def test_index_range():
    """Both ends against high precision, and what lies between them along the curve."""
    for age in (1, 2, 7, 1000):
        for at in {1, (age + 1) // 2, age}:
            for slowest, fastest in ((1e-9, 1e-6), (1e-3, 20.0), (0.2, 700.0)):
                found = index_range(at, age, 3.0, slowest=slowest, fastest=fastest)
                with mpmath.workdps(60):
                    for mu, value in zip((slowest, fastest), found, strict=True):
                        alpha = mpmath.exp(-mpmath.mpf(mu))
                        index = 1 - alpha**at * (1 + at * (1 - alpha))
                        exact = float(3 * index / (1 - alpha**age))
                        assert value == pytest.approx(exact, rel=1e-12, abs=0)
                    for mu in np.geomspace(slowest, fastest, 20):
                        alpha = mpmath.exp(-mpmath.mpf(float(mu)))
                        index = 1 - alpha**at * (1 + at * (1 - alpha))
                        between = float(3 * index / (1 - alpha**age))
                        assert found[0] * (1 - 1e-12) <= between <= found[1] * (1 + 1e-12)
                assert found[1] <= 3.0 * (1 + 1e-15)
    assert index_range(1, 1, 0.0) == (0.0, 0.0)
    with pytest.raises(ValueError, match="at"):
        index_range(12, 2, 1.0)


def of(u_star, alpha):
    mu = -np.log(np.asarray(alpha, dtype=float))
    return Sources(np.asarray(u_star, dtype=float) * mu, np.ones(mu.size), mu)


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
