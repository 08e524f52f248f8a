"""Structured arms by their envelope: the same elimination as the dense one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.restarts import RestartArm, whittle_index
from analysis.restarts.instances import STRUCTURED_KERNELS, slide_arm
from analysis.restarts.whittle import elimination
from analysis.restarts.whittle.elimination import count_begun, eliminate, factorise_in_envelope

STATES = 240


def banded_arm(seed: int, states: int = STATES, below: int = 2, above: int = 3) -> RestartArm:
    rng = np.random.default_rng(seed)
    passive = rng.exponential(size=(states, states))
    passive = np.triu(np.tril(passive, above), -below)
    passive /= passive.sum(axis=1, keepdims=True)
    return RestartArm(passive, rng.dirichlet(np.ones(states)), *rng.normal(size=(2, states)))


@pytest.fixture(autouse=True)
def _envelopes_of_any_size(monkeypatch):
    monkeypatch.setattr(elimination, "STATES_FROM", 0)
    monkeypatch.setattr(elimination, "PENALTY", 50.0)


def dense_only(monkeypatch):
    monkeypatch.setattr(elimination, "factorise_in_envelope", lambda passive, discount: None)


@pytest.mark.parametrize("kernel", sorted(STRUCTURED_KERNELS))
@pytest.mark.parametrize("discount", [0.5, 0.99, 1.0])
def test_structured_matches_dense(kernel, discount, monkeypatch):
    arm = slide_arm(STRUCTURED_KERNELS[kernel](STATES, 0.6))
    assert factorise_in_envelope(arm.passive, discount) is not None
    found = whittle_index(arm, discount)
    dense_only(monkeypatch)
    dense = whittle_index(arm, discount)
    assert found.method == dense.method == "closed form"
    np.testing.assert_allclose(found.index, dense.index, rtol=1e-11)


@pytest.mark.parametrize("discount", [0.5, 0.99, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_band_matches_dense(seed, discount, monkeypatch):
    arm = banded_arm(seed)
    assert factorise_in_envelope(arm.passive, discount) is not None
    fast = eliminate(arm, discount, adaptive=False)
    dense_only(monkeypatch)
    dense = eliminate(arm, discount, adaptive=False)
    for name in ("order", "critical", "crossings", "cost", "length"):
        one, other = getattr(fast, name), getattr(dense, name)
        np.testing.assert_allclose(
            one, other, rtol=1e-9, atol=1e-11 * np.nanmax(np.abs(other[:-1]))
        )


def test_early_class_has_no_factors():
    passive = np.eye(STATES, k=1)
    passive[99] = np.eye(STATES)[0]  # the first hundred states are closed
    passive[-1, -1] = 1.0
    assert factorise_in_envelope(passive, 1.0) is None
    assert factorise_in_envelope(passive, 0.9) is not None


def test_full_matrices_skip_envelope(monkeypatch):
    full = np.full((STATES, STATES), 1.0 / STATES)
    assert factorise_in_envelope(full, 0.9) is None
    band = banded_arm(0).passive
    assert factorise_in_envelope(band, 0.9) is not None
    monkeypatch.setattr(elimination, "STATES_FROM", STATES + 1)
    assert factorise_in_envelope(band, 0.9) is None


def cost(matrix):
    rows, columns = count_begun(matrix)
    return rows @ columns


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.05, 1))
@settings(max_examples=80)
def test_cost_bounds_fill(size, seed, density):
    rng = np.random.default_rng(seed)
    matrix = rng.random((size, size)) * (rng.random((size, size)) < density) + size * np.eye(size)
    touched, left = 0, matrix.copy()
    for k in range(size):
        rows = np.flatnonzero(left[k + 1 :, k]) + k + 1
        columns = np.flatnonzero(left[k, k + 1 :]) + k + 1
        touched += (1 + rows.size) * (1 + columns.size)
        left[np.ix_(rows, columns)] -= np.outer(left[rows, k] / left[k, k], left[k, columns])
    assert touched <= cost(matrix) <= size * (size + 1) * (2 * size + 1) / 6


def test_cost_of_known_shapes():
    n = 30
    assert cost(np.ones((n, n))) == n * (n + 1) * (2 * n + 1) / 6
    assert cost(np.eye(n)) == n
    assert cost(np.triu(np.ones((n, n)))) == n * (n + 1) / 2
