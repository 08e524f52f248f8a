"""Elimination without subtractions against dense linear algebra and rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from analysis.robots.controlled.elimination import cycle_values, cycle_visits


def random_chain(seed: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 3
    chain = rng.random((size, size)) * near
    return chain / chain.sum(axis=1, keepdims=True), rng.random(size), 0.1 + rng.random(size)


@pytest.mark.parametrize("seed", range(5))
def test_values_and_visits_solve_equations(seed):
    chain, costs, times = random_chain(seed, 25)
    gain, (cost, time, bias) = cycle_values(chain, costs, times)
    np.testing.assert_allclose(bias, cost - gain * time, atol=1e-11)
    np.testing.assert_allclose(bias, costs - gain * times + chain @ bias, atol=1e-11)
    visits = cycle_visits(chain, times)
    np.testing.assert_allclose(visits @ chain, visits, rtol=1e-12)
    assert gain == pytest.approx(visits @ costs / (visits @ times), rel=1e-13)


def test_rare_states_keep_their_digits():
    # A walk that drifts to 0: state i is visited (1e-6)^i as often as its neighbour.
    size, up = 12, 1e-6
    chain = np.diag(np.full(size - 1, up), 1) + np.diag(np.full(size - 1, 1 - up), -1)
    chain[0, 0], chain[-1, -1] = 1 - up, up
    visits = cycle_visits(chain, np.ones(size))
    ratio = float(Fraction(up) / (1 - Fraction(up)))
    np.testing.assert_allclose(visits[1:] / visits[:-1], ratio, rtol=1e-13)


def test_transient_last_state_is_corrected():
    chain = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    gain, _ = cycle_values(chain, np.array([100.0, 1.0, 3.0]), np.array([1000.0, 1.0, 1.0]))
    assert gain == pytest.approx(2.0)


def test_two_recurrent_classes_are_refused():
    with pytest.raises(ValueError, match="chain"):
        cycle_values(np.eye(3), np.ones(3), np.ones(3))
