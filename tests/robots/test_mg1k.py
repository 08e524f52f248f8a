"""General indexing times against phase-type chains, the embedded chain in 700 digits and limits."""

import math
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import robots
from analysis.results import NotConverged
from analysis.robots import mg1k
from tests.robots.test_mm1k import BESIDE_ONE, close, exact, refused, static_law

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
    found = mg1k.GeneralQueue(rho, capacity, mg1k.hyperexponential(variation)).measures()
    assert found == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_points_reproduce_two_moments():
    for service in (
        mg1k.exponential(2.0),
        mg1k.erlang(4, 2.0),
        mg1k.gamma_law(0.3, 2.0),
        mg1k.hyperexponential(5.0, 2.0),
        mg1k.lognormal(3.0, 2.0),
        mg1k.deterministic(2.0),
        mg1k.from_scipy(stats.weibull_min(1.7)),
    ):
        first = service.weights @ service.points
        second = service.weights @ service.points**2
        assert first == pytest.approx(service.mean, rel=1e-10)
        assert second / first**2 - 1 == pytest.approx(service.variation, rel=1e-7, abs=1e-12)


def test_scipy_law_matches_named_law():
    own = mg1k.from_scipy(stats.gamma(4, scale=0.25))
    assert mg1k.general_cost(0.9, 1.0, 6, own) == pytest.approx(
        mg1k.general_cost(0.9, 1.0, 6, mg1k.erlang(4)), rel=1e-12
    )


@pytest.mark.parametrize("load", [1.05e-3, 0.01, 1.0, 95.0, 99.5])
def test_optimal_load_near_range_ends(load):
    """With one place the cost (gamma + load^2) / (1 + load) is least at load^2 + 2 load = gamma."""
    gamma = load**2 + 2 * load
    found = mg1k.optimal_general_load(gamma, 1, mg1k.exponential())
    assert found == pytest.approx(load, rel=1e-4)


@pytest.mark.parametrize("load", [1e-6, 0.98e-3, 101.0, 120.0, 1e3])
def test_optimal_load_outside_range_is_refused(load):
    with pytest.raises(ValueError, match=r"best load within \[1e-3, 1e2\]"):
        mg1k.optimal_general_load(load**2 + 2 * load, 1, mg1k.exponential())


def test_disagreeing_rules_are_refused():
    """With one place the loss is in proportion to the mean time, by each rule."""

    def loss(shift, last):
        weights = [0.5, 0.5 - last, last]
        law = mg1k.ServiceLaw(
            "three times", 1.0, 0.25, [0.5, 1.5, 2.0], weights, [0.5 + shift, 0.5 - shift, 0.0]
        )
        return mg1k.GeneralQueue(1.0, 1, law).measures()[1]

    for shift, last in ((0.99e-4, 0.0), (-0.99e-4, 0.0), (0.0, 0.49e-10)):
        assert loss(shift, last) == pytest.approx(0.5, rel=1e-9)
    for shift, last in ((1.01e-4, 0.0), (-1.01e-4, 0.0), (0.0, 0.51e-10)):
        with pytest.raises(NotConverged, match=r"the loss rate of .* is not known"):
            loss(shift, last)


def test_quadrature_nodes_are_symmetric():
    lower, upper, weights = mg1k._tanh_sinh()
    np.testing.assert_array_equal(lower, upper[::-1])
    np.testing.assert_allclose(weights, weights[::-1], rtol=1e-14)
    assert weights.sum() == pytest.approx(1, rel=1e-12)
    assert 1e-295 < lower[0] < 1e-294


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mg1k.from_scipy(stats.pareto(0.9)), "positive finite mean, got inf"),
        (lambda: mg1k.from_scipy(stats.norm()), "positive finite mean, got 0"),
        (lambda: mg1k.from_scipy(stats.norm(1.0)), "no negative values"),
        (lambda: mg1k.from_scipy(stats.poisson(1.0)), "frozen continuous distribution"),
        (lambda: mg1k.from_scipy(stats.pareto(1.001)), "quadrature"),
        (lambda: mg1k.from_scipy(stats.weibull_min(0.007)), "that floats can hold"),
        (lambda: mg1k.hyperexponential(0.5), "variation"),
        (lambda: mg1k.erlang(0), "stages"),
    ],
)
def test_wrong_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@cache
def gamma_measures(variation, load, capacity):
    """Starvation and loss with gamma indexing times of mean 1 (constant ones: variation 0).

    Arrivals in one time are negative binomial (Poisson); 700 digits are lost by no subtraction.
    """
    mp = mpmath.mp.clone()
    mp.dps = 700
    rate = mp.mpf(load)
    if variation == 0:
        chance = [mp.exp(-rate)]
        for k in range(1, capacity):
            chance.append(chance[-1] * rate / k)
    else:
        shape, spread = 1 / mp.mpf(variation), mp.mpf(variation) * rate
        chance = [(1 + spread) ** -shape]
        for k in range(1, capacity):
            chance.append(chance[-1] * (shape + k - 1) / k * spread / (1 + spread))
    first, lost = departures(chance, mp.mpf(1), rate)
    empty = first / (first + rate)
    return empty, (1 - empty) * lost


def departures(chance, tail, beyond):
    """Chance of an empty queue after a departure, and losses in the time before one.

    From the law of arrivals in that time (as many chances as the capacity), its sum and its mean.
    """
    above, overflow = [], []
    for share in chance:
        overflow.append(beyond)
        tail -= share
        above.append(tail)
        beyond -= tail
    law = [chance[0] / chance[0]]
    for j in range(len(chance) - 1):
        inflow = law[0] * above[j] + sum(law[i] * above[j - i + 1] for i in range(1, j + 1))
        law.append(inflow / chance[0])
    total = sum(law)
    lost = law[0] * overflow[-1] + sum(x * y for x, y in zip(law[1:], overflow[:0:-1], strict=True))
    return law[0] / total, lost / total


def general_queues(cases):
    for variation, load, capacity in cases:
        law = mg1k.gamma_law(variation) if variation else mg1k.deterministic()
        starvation, loss = mg1k.GeneralQueue(load, capacity, law).measures()
        for found, true in zip(
            (starvation, loss), gamma_measures(variation, load, capacity), strict=True
        ):
            assert found == pytest.approx(float(true), rel=1e-8, abs=1e-290)


LIGHT = [
    (v, 10.0**k, c) for v in (0.0, 0.04, 1.0, 20.0) for k, c in ((-8, 30), (-6, 5), (-4, 40))
] + [(0.04, 0.0108, 30)]
HEAVY = [(v, load, c) for v in (0.0, 0.04, 1.0, 20.0) for load, c in ((1.0, 1), (3.0, 20), (80, 7))]


@pytest.mark.parametrize("cases", [LIGHT, HEAVY], ids=["losses down to 1e-240", "heavy load"])
def test_general_queue(cases):
    general_queues(cases)


@pytest.mark.slow
def test_random_general_queues():
    rng = np.random.default_rng(5)
    general_queues(
        (
            10 ** rng.uniform(-4, 2) if rng.random() < 0.8 else 0.0,
            10 ** rng.uniform(-8, 2.4),
            int(rng.integers(1, 45)),
        )
        for _ in range(400)
    )


def test_lognormal_losses():
    """Losses decided by tails beyond 1e-56, by the trapezoidal rule in 150 digits."""
    mp = mpmath.mp.clone()
    mp.dps = 150
    for variation, load, capacity in ((0.5, 1e-4, 30), (1.7, 1e-3, 20)):
        deviation, step = mp.sqrt(mp.log1p(mp.mpf(variation))), mp.mpf(1) / 8
        nodes = [step * i for i in range(-60, 500)]
        weights = [mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi) * step for z in nodes]
        means = [mp.mpf(load) * mp.exp(deviation * z - deviation**2 / 2) for z in nodes]
        terms = [w * mp.exp(-x) for w, x in zip(weights, means, strict=True)]
        chance = []
        for k in range(capacity):
            chance.append(sum(terms))
            terms = [term * x / (k + 1) for term, x in zip(terms, means, strict=True)]
        mean = sum(w * x for w, x in zip(weights, means, strict=True))
        first, lost = departures(chance, sum(weights), mean)
        busy = mp.mpf(load) / (first + mp.mpf(load))
        loss = mg1k.GeneralQueue(load, capacity, mg1k.lognormal(variation)).measures()[1]
        assert loss == pytest.approx(float(busy * lost), rel=1e-8, abs=0)


def test_exponential_times():
    for rho, capacity in product([1e-3, 0.5, *BESIDE_ONE, 30.0], [1, 2, 30, 120]):
        empty, full = static_law(rho, capacity)
        starvation, loss = mg1k.GeneralQueue(3 * rho, capacity, mg1k.exponential(1 / 3)).measures()
        close(starvation, empty, 1e-9)
        assert loss == pytest.approx(float(3 * exact(rho) * full), rel=1e-9, abs=1e-290)
        cost = float(1.3 * empty + 3 * exact(rho) * full)
        close(robots.general_cost(3 * rho, 1.3, capacity, mg1k.exponential(1 / 3)), cost, 1e-9)


def test_rough_law_is_refused():
    """A law whose points say little of what is asked is refused, not believed."""
    law = mg1k.gamma_law(0.5)
    keep = slice(None, None, 61)
    rough = [part[keep] / part[keep].sum() for part in (law.weights, law.coarse)]
    coarse = mg1k.ServiceLaw("rough", 1.0, 0.5, law.points[keep], *rough)
    with pytest.raises(NotConverged, match=r"loss rate|starvation probability"):
        mg1k.GeneralQueue(0.01, 10, coarse).measures()
    refused(lambda: mg1k.ServiceLaw("half", 1.0, 0.0, [1.0], [0.5]), "weights")
    refused(lambda: mg1k.ServiceLaw("back", 1.0, 0.0, [-1.0], [1.0]), "points")


def test_general_optimum_of_exponential_times():
    """With exponential times the best numbers and loads are those of the static queue."""
    for gamma, capacity in product([0.4, 1.7, 30.0], [1, 2, 12]):
        law = mg1k.exponential(2.0)
        best = robots.optimal_general_robots(0.11, gamma, capacity, law)
        assert best == robots.optimal_robots(0.11, gamma, capacity, 0.5)
        load = robots.optimal_general_load(gamma, capacity, law)
        assert load == pytest.approx(robots.optimal_load(gamma, capacity, 0.5), rel=1e-6)
