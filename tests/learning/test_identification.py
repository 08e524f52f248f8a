"""Beliefs that their own cycles confirm, and beliefs that these refute."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, whittle_index_at_age
from analysis.learning import closed_loop


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
