"""Every identity and count behind the proofs of the static section."""

import math
from fractions import Fraction

import numpy as np
import pytest

from analysis.robots import mm1k
from analysis.robots import static_theory as theory


@pytest.mark.parametrize("capacity", [2, 3, 4, 7, 12])
def test_identities_hold_exactly(capacity):
    found = theory.static_identities(capacity)
    assert all(found.values()), found


def test_false_identity_is_caught(monkeypatch):
    right = theory.bracket
    monkeypatch.setattr(theory, "bracket", lambda rho, g, k: right(rho, g, k) + rho**3)
    found = theory.static_identities(4)
    assert not found["(12)"]
    assert not found["elimination of g"]
    assert found["(4)"]


@pytest.mark.parametrize("n", [2, 3, 10, 57, 300])
def test_sign_changes_and_triple_zero(n):
    assert theory.sign_changes(n) == 4
    assert theory.exponential_moments(n, 4) == [0, 0, 0, 3 * n * (n + 1)]


def test_zero_falls_like_inverse_square():
    crossings = np.array([theory.zero_of_exponential_sum(n) for n in range(2, 120)])
    assert (np.diff(crossings) < 0).all()
    assert theory.zero_of_exponential_sum(2000) * 2000**2 == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("capacity", [2, 5, 30])
def test_comparison_changes_sign_twice(capacity):
    edge = math.exp(theory.zero_of_exponential_sum(capacity + 1))
    for low, high, sign in ((0, 1, -1), (1, edge, 1), (edge, 3, -1)):
        for part in np.linspace(0.02, 0.98, 40):
            rho = Fraction(low + part * (high - low))
            assert (theory.comparison(rho, capacity) > 0) == (sign > 0)


@pytest.mark.parametrize("capacity", [2, 3, 6, 20])
def test_turning_gamma_equates_two_loads(capacity):
    g = theory.turning_gamma(capacity)
    assert mm1k.optimal_load(g, capacity) == pytest.approx(
        mm1k.optimal_load(g, capacity + 1), rel=1e-12
    )
    assert mm1k.turning_capacity(g * 1.0001) == capacity
    assert mm1k.turning_capacity(g * 0.9999) == capacity + 1


def test_turning_gamma_at_capacity_two():
    assert theory.turning_gamma(2) == pytest.approx(3.44336912, abs=1e-8)


@pytest.mark.parametrize("capacity", [2, 5, 9])
def test_order_of_zero_at_one(capacity):
    assert theory.zero_order_at_one(Fraction(1, 2), capacity) == 2
    assert theory.zero_order_at_one(Fraction(capacity + 2, capacity), capacity) == 3
    near = [abs(theory.numerator(1 + Fraction(1, 10**e), Fraction(1, 2), capacity)) for e in (6, 7)]
    assert math.log10(near[0] / near[1]) == pytest.approx(2, abs=1e-4)


@pytest.mark.parametrize("capacity", [2, 5, 15])
@pytest.mark.parametrize("g", [0.3, 1.4, 6.0])
def test_reduced_numerator_minimum(capacity, g):
    lowest = theory.reduced_minimum(g, capacity)
    at = theory.reduced_numerator(lowest, g, capacity)
    for factor in (0.99, 1.01):
        assert theory.reduced_numerator(factor * lowest, g, capacity) > at


def test_rises_then_falls():
    assert theory.rises_then_falls([1, 2, 3, 2, 1], 2)
    assert theory.rises_then_falls([3, 2, 1], 0)
    assert theory.rises_then_falls([1, 2, 3], 9)
    assert not theory.rises_then_falls([1, 2, 3, 2, 1], 1)
    assert not theory.rises_then_falls([1, 2, 1, 2, 1], 1)
