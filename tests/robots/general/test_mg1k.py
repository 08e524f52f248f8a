"""General indexing times against phase-type chains, closed forms and the exponential case."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.results import NotConverged
from analysis.robots.general import laws, mg1k

loads = st.floats(0.05, 4)


def phase_type_measures(
    arrivals: float, capacity: int, start: np.ndarray, phases: np.ndarray
) -> tuple[float, float]:
    """Starvation and loss rate from the full chain of queue length and service phase."""
    count = start.size
    leave = -phases.sum(axis=1)
    size = 1 + capacity * count
    rates = np.zeros((size, size))

    def block(q: int) -> slice:
        return slice(1 + (q - 1) * count, 1 + q * count)

    rates[0, block(1)] = arrivals * start
    for q in range(1, capacity + 1):
        rates[block(q), block(q)] += phases - np.diag(np.diag(phases))
        if q < capacity:
            rates[block(q), block(q + 1)] += arrivals * np.eye(count)
        target = slice(0, 1) if q == 1 else block(q - 1)
        rates[block(q), target] += np.outer(leave, [1.0] if q == 1 else start)
    generator = rates - np.diag(rates.sum(axis=1))
    system = np.vstack([generator.T, np.ones(size)])
    law = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    return law[0], arrivals * law[block(capacity)].sum()


@given(loads, st.integers(2, 8), st.floats(1.0, 20.0))
def test_hyperexponential_times_match_phases(rho, capacity, variation):
    share = 0.5 * (1 + math.sqrt((variation - 1) / (variation + 1)))
    start = np.array([share, 1 - share])
    expected = phase_type_measures(rho, capacity, start, -np.diag(2 * start))
    found = mg1k.GeneralQueue(rho, capacity, laws.hyperexponential(variation)).measures()
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_points_reproduce_two_moments():
    for service in (
        laws.exponential(2.0),
        laws.erlang(4, 2.0),
        laws.gamma_law(0.3, 2.0),
        laws.hyperexponential(5.0, 2.0),
        laws.lognormal(3.0, 2.0),
        laws.deterministic(2.0),
        laws.from_scipy(stats.weibull_min(1.7)),
    ):
        first = service.weights @ service.points
        second = service.weights @ service.points**2
        assert first == pytest.approx(service.mean, rel=1e-10)
        assert second / first**2 - 1 == pytest.approx(service.variation, rel=1e-7, abs=1e-12)


def test_scipy_law_matches_named_law():
    own = laws.from_scipy(stats.gamma(4, scale=0.25))
    assert mg1k.general_cost(0.9, 1.0, 6, own) == pytest.approx(
        mg1k.general_cost(0.9, 1.0, 6, laws.erlang(4)), rel=1e-12
    )


@pytest.mark.parametrize("load", [1.05e-3, 0.01, 1.0, 95.0, 99.5])
def test_optimal_load_near_range_ends(load):
    """With one place the cost (gamma + load^2) / (1 + load) is least at load^2 + 2 load = gamma."""
    gamma = load**2 + 2 * load
    found = mg1k.optimal_general_load(gamma, 1, laws.exponential())
    assert found == pytest.approx(load, rel=1e-4)


@pytest.mark.parametrize("load", [1e-6, 0.98e-3, 101.0, 120.0, 1e3])
def test_optimal_load_outside_range_is_refused(load):
    with pytest.raises(ValueError, match=r"best load within \[1e-3, 1e2\]"):
        mg1k.optimal_general_load(load**2 + 2 * load, 1, laws.exponential())


def test_disagreeing_rules_are_refused():
    """With one place the loss is in proportion to the mean time, by each rule."""

    def loss(shift, last):
        weights = [0.5, 0.5 - last, last]
        law = laws.ServiceLaw(
            "three times", 1.0, 0.25, [0.5, 1.5, 2.0], weights, [0.5 + shift, 0.5 - shift, 0.0]
        )
        return mg1k.GeneralQueue(1.0, 1, law).measures()[1]

    for shift, last in ((0.99e-4, 0.0), (-0.99e-4, 0.0), (0.0, 0.49e-10)):
        assert loss(shift, last) == pytest.approx(0.5, rel=1e-9)
    for shift, last in ((1.01e-4, 0.0), (-1.01e-4, 0.0), (0.0, 0.51e-10)):
        with pytest.raises(NotConverged, match=r"the loss rate of .* is not known"):
            loss(shift, last)


def test_quadrature_nodes_are_symmetric():
    lower, upper, weights = laws._tanh_sinh()
    np.testing.assert_array_equal(lower, upper[::-1])
    np.testing.assert_allclose(weights, weights[::-1], rtol=1e-14)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert 1e-295 < lower[0] < 1e-294


def test_variation_reduces_robots():
    numbers = [
        mg1k.optimal_general_robots(0.01, 0.4, 5, service)
        for service in (
            laws.deterministic(),
            laws.erlang(4),
            laws.exponential(),
            laws.hyperexponential(4.0),
        )
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: laws.from_scipy(stats.pareto(0.9)), "positive finite mean, got inf"),
        (lambda: laws.from_scipy(stats.norm()), "positive finite mean, got 0"),
        (lambda: laws.from_scipy(stats.norm(1.0)), "no negative values"),
        (lambda: laws.from_scipy(stats.poisson(1.0)), "frozen continuous distribution"),
        (lambda: laws.from_scipy(stats.pareto(1.001)), "quadrature"),
        (lambda: laws.from_scipy(stats.weibull_min(0.007)), "that floats can hold"),
        (
            lambda: laws.hyperexponential(0.5),
            "variation",
        ),
        (lambda: laws.erlang(0), "stages"),
        (
            lambda: mg1k.general_cost(1.0, 1.0, 0, laws.exponential()),
            "capacity",
        ),
        (
            lambda: mg1k.general_cost(0.0, 1.0, 3, laws.exponential()),
            "arrival_rate",
        ),
        (lambda: mg1k.general_cost(1.0, 0.0, 3, laws.exponential()), "gamma"),
        (lambda: mg1k.general_cost(1e4, 1.0, 3, laws.deterministic()), "above 1e-280"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
