"""The index of unreliable signals against first passages, lattices, and what it is bounded by."""

from itertools import product

import numpy as np
import pytest

from analysis.ephemeral import Sources, stochastic_bound, whittle_index
from analysis.ephemeral.signals.index import (
    one_ping_index,
    one_ping_reach,
    signal_index,
    signal_law,
)
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.stochastic.index import lattice_chain, lattice_index
from analysis.results import NotConverged


def drawn_signals(rng, count):
    """Sources with u* = 1, over decades of mu T, psi T and grain."""
    decay = 10.0 ** rng.uniform(-4, np.log10(20), count)
    recall = rng.choice([1e-6, 0.5, 1 - 1e-6, 1.0, -1.0], count)
    recall = np.where(recall < 0, rng.random(count), recall)
    precision = rng.choice([1e-6, 0.5, 1 - 1e-6, 1.0, -1.0], count)
    precision = np.where(precision < 0, 10 ** rng.uniform(-3, 0, count), precision)
    pings = 10.0 ** rng.uniform(-3, 2, count)
    arrival = pings * precision / recall
    return Signals(Sources(arrival, decay / arrival, decay), recall, precision)


def index_from_first_passages(signals, arm, y):
    """Index by the two passages of the definition, epoch by epoch, where one ping is enough."""
    source = signals.sources
    alpha, u = np.longdouble(source.alpha[arm]), np.longdouble(source.u[arm])
    silent = np.exp(-np.longdouble(signals.ping_rate[arm] * source.period))
    ping = -np.expm1(-np.longdouble(signals.ping_rate[arm] * source.period))
    steady = u * (1 - np.longdouble(signals.recall[arm]))
    brought = u * np.longdouble(signals.recall[arm]) / ping  # by pings, given that there is one

    def passage(start):
        chance, state, epochs, content = np.longdouble(1), np.longdouble(start), 0.0, 0.0
        for _ in range(20_000):
            state = alpha * state + steady
            epochs += chance
            if state >= y:  # even without a ping
                content += chance * (state + ping * brought)
                return epochs, content
            content += chance * ping * (state + brought)
            chance *= silent
            if chance < 1e-22:
                return epochs, content
        return None

    here, empty = passage(y), passage(0.0)
    if here is None or empty is None:
        return None
    g = (y - here[1]) / here[0]
    return float(empty[1] + g * empty[0])


def test_closed_form_equals_first_passages():
    rng = np.random.default_rng(1)
    signals = drawn_signals(rng, 240)
    reach, most = one_ping_reach(signals), signals.unannounced
    alpha = signals.sources.alpha
    worth = np.stack(
        [
            reach,
            np.minimum(most, reach),
            np.minimum(most * (1 - 1e-9), reach),
            np.minimum(most * (1 - alpha ** rng.integers(1, 9, 240)), reach),
            reach * rng.random(240),
            np.minimum(most, reach) * rng.random(240),
        ],
        axis=1,
    )
    found = one_ping_index(signals, worth)
    compared = beyond = 0
    for arm, row in enumerate(worth):
        for y, index in zip(row, found[arm], strict=True):
            expected = index_from_first_passages(signals, arm, np.longdouble(y))
            if expected is None:
                continue
            compared += 1
            assert index == pytest.approx(expected, rel=2e-7, abs=1e-15)
            # The form above u* (1 - r) is another one below it.
            other = y * -np.expm1(-signals.sources.decay[arm])
            other /= -np.expm1(-signals.sources.decay[arm] - signals.ping_rate[arm])
            beyond += y < most[arm] and abs(other - expected) > 1e-3 * expected
    assert compared > 900
    assert beyond > 180


def test_printed_constants_of_the_closed_form():
    """At a given content the index falls with recall on one branch and rises on the other."""
    sources = Sources([0.004], [0.02 / 0.004], [0.02])  # u* = 1
    low, high = (one_ping_index(Signals(sources, r, 0.3), [0.02])[0] for r in (0.4, 0.99))
    assert low == pytest.approx(0.00056, abs=5e-6)
    assert high == pytest.approx(0.0121, abs=5e-5)


def test_no_pings_give_expected_content():
    sources = Sources([3.0, 0.2], [1.0, 2.0], [0.3, 1.5], cost=[1.0, 2.0])
    worth = np.linspace(0, 1.5, 40) * sources.u_star[:, None]
    found = one_ping_index(Signals(sources, 0.0, 0.0), worth)
    np.testing.assert_allclose(found, whittle_index(sources, worth.T).T, rtol=1e-12)


def test_closed_form_rises_with_precision():
    rng = np.random.default_rng(2)
    falls = 0
    for _ in range(1000):
        decay, rate = 10.0 ** rng.uniform(-3, 1), 10.0 ** rng.uniform(-3, 1)
        sources = Sources([rate], [decay / rate], [decay])
        recall, (p, more) = rng.random(), np.sort(10 ** rng.uniform(-3, 0, 2))
        reach = one_ping_reach(Signals(sources, recall, p))[0]
        y = [reach * rng.random()]
        index = [one_ping_index(Signals(sources, recall, each), y)[0] for each in (p, more)]
        assert index[1] >= index[0] * (1 - 1e-12)
        recalls = np.sort(rng.random(2))
        pair = [one_ping_index(Signals(sources, r, p), y)[0] for r in recalls]
        falls += pair[1] < pair[0]
    assert 20 < falls < 980  # with recall it goes either way


@pytest.mark.parametrize(("recall", "precision"), [(0.5, 0.5), (0.9, 1.0), (1.0, 1.0), (0.2, 0.8)])
def test_lattice_agrees_at_one_ping(recall, precision):
    signals = Signals(Sources([0.05], [1.0], [0.05]), recall, precision)
    curve = signal_index(signals, 0, tolerance=5e-3)
    inside = curve.state <= one_ping_reach(signals)[0]
    closed = one_ping_index(signals, curve.state[inside][None, :])[0]
    miss = np.abs(curve.index[inside] - closed) / signals.sources.u_star[0]
    assert np.quantile(miss, 0.9) < 3e-3
    assert miss.max() < 0.02  # corners, which the lattice blurs
    assert curve.indexable


def test_extreme_index_is_right_or_refused():
    """Within the error that it gives of the closed form."""
    compared = 0
    for recall, pings, decay, precision in product(
        (1e-6, 0.5, 1 - 1e-6, 1.0), (1e-3, 1.0, 30.0), (1e-3, 0.1, 20.0), (1e-6, 0.5, 1.0)
    ):
        rate = pings * precision / recall
        signals = Signals(Sources([rate], [decay / rate], [decay]), recall, precision)
        try:
            curve = signal_index(signals, 0, tolerance=0.02, points=60, max_points=240)
        except NotConverged as error:
            assert "max_points" in str(error)  # noqa: PT017
            continue
        inside = curve.state <= one_ping_reach(signals)[0]
        closed = one_ping_index(signals, curve.state[inside][None, :])[0]
        # Corners of the closed form are blurred by more than the error away from them.
        np.testing.assert_allclose(curve.index[inside], closed, atol=0.06)
        assert (curve.index <= curve.state * (1 + 1e-6) + 0.06).all()
        compared += 1
    assert compared > 40


def test_precision_is_granularity():
    sources = Sources([2.0], [1.0], [0.2])
    for recall, precision in [(0.5, 0.3), (1.0, 0.05), (0.1, 0.9)]:
        signals = Signals(sources, recall, precision)
        finer = Sources(sources.arrival_rate / precision, sources.mean_utility * precision, [0.2])
        same, other = Signals(finer, recall, 1.0), Signals(finer, recall * 0.9, 1.0)
        curves = [signal_index(each, 0, tolerance=0.02) for each in (signals, same, other)]
        np.testing.assert_allclose(curves[0].index, curves[1].index, atol=1e-10)
        grid = curves[0].state
        off = np.interp(grid, curves[2].state, curves[2].index) - curves[0].index
        assert np.abs(off).max() > 1e-3


def transform_by_quadrature(rate, jump, decay, steady, at):
    """E exp(-at U): a constant, and pings at uniform times of an epoch that fade until its end."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    worth = jump * np.exp(-decay * (nodes + 1) / 2)
    return np.exp(-at * steady + rate * (np.expm1(-at * worth) * weights).sum() / 2)


@pytest.mark.sampled
def test_law_of_signals_is_that_of_reliable_ones():
    """The law at (Lambda, xi, r, p), against quadrature at (Lambda/p, p xi, r, 1)."""
    rng = np.random.default_rng(7)
    other = 0
    for _ in range(1000):
        decay, pings = 10 ** rng.uniform(-3, 0.5), 10 ** rng.uniform(-1, 0.7)
        recall, precision = rng.uniform(0.05, 1), 10 ** rng.uniform(-1.3, 0)
        rate = pings * precision / recall
        signals = Signals(Sources([rate], [1.0], [decay]), recall, precision)
        end = rate + 12 * precision * np.sqrt(pings) + 4 * precision
        law = signal_law(signals, 0, end / 800, 800)
        steady = rate * (1 - recall) * -np.expm1(-decay) / decay
        for at in (0.3 / rate, 1.0 / rate):
            found = law @ np.exp(-at * end / 800 * np.arange(800))
            reliable = transform_by_quadrature(
                rate / precision * recall, precision, decay, steady, at
            )
            assert found == pytest.approx(reliable, abs=1e-3)
            coarser = transform_by_quadrature(rate * recall, 1.0, decay, steady, at)
            other += abs(coarser - found) > 1e-2  # precision alone, without the finer worth
    assert other > 500


def passive_set(chain, law, state, charge):
    """States in which it is best to wait at a charge, by policy iteration on the average reward."""
    size = state.size
    crawl = np.arange(size) > 0
    for _ in range(100):
        moves = np.where(crawl[:, None], law, chain)
        reward = np.where(crawl, state - charge, 0.0)
        matrix = np.eye(size) - moves
        matrix[:, 0] = 1.0  # the gain in the place of the first bias, which is 0
        bias = np.linalg.solve(matrix, reward)
        bias[0] = 0.0
        gain = state - charge + law @ bias - chain @ bias
        better = np.where(np.abs(gain) < 1e-9, crawl, gain > 0)
        if (better == crawl).all():
            return ~crawl
        crawl = better
    raise AssertionError("policy iteration must end")


@pytest.mark.sampled
def test_sources_with_pings_are_indexable():
    """Waiting sets are intervals from 0 that grow with the charge, and end where the index says."""
    rng = np.random.default_rng(8)
    size, content = 40, 0
    for _ in range(1000):
        decay, rate = 10 ** rng.uniform(-1.5, 0.3), 10 ** rng.uniform(-1, 0.7)
        recall, precision = rng.uniform(0.1, 1), 10 ** rng.uniform(-1, 0)
        signals = Signals(Sources([rate], [decay / rate], [decay]), recall, precision)
        jump = float(signals.jump[0])
        step = (1 + max(4 * jump * np.sqrt(signals.ping_rate[0] / decay / 2), 2 * jump)) / size
        law, alpha = signal_law(signals, 0, step, size), float(signals.sources.alpha[0])
        chain, state = lattice_chain(alpha, law), step * np.arange(size)
        index = lattice_index(alpha, float(signals.sources.u[0]), law, step)[0]
        assert (np.diff(index) > -1e-9).all()
        chain[:, -1] += 1 - chain.sum(axis=1)
        law[-1] += 1 - law.sum()
        place = int(rng.integers(1, size // 2))
        waits = passive_set(chain, law, state, (index[place] + index[place + 1]) / 2)
        count = int(waits.sum())
        assert waits[:count].all()
        assert abs(count - place - 1) <= 1  # what leaves the lattice moves its index a little
        by_content = whittle_index(signals.sources, state[:, None])[:, 0]
        content += np.abs(by_content - index)[: size // 2].max() > 0.02
    assert content > 300  # the index of expected content is another one


def test_no_signal_dominates_in_part():
    """Blackwell's order, by the posterior over a short time, is that of both shares."""
    rng = np.random.default_rng(9)
    level = np.append(np.geomspace(1e-6, 1, 400), 1 - np.geomspace(1e-6, 1e-2, 50))
    dominated = 0
    for _ in range(1000):
        (r, p), (better_r, better_p) = rng.uniform(0.01, 1, (2, 2))
        a = np.append(level * p, level * better_p)  # E max(posterior - a, 0), per item
        less = r * np.maximum(1 - a / p, 0)
        more = better_r * np.maximum(1 - a / better_p, 0)
        holds = bool((less <= more + 1e-12).all())
        assert holds == (better_r >= r and better_p >= p)
        dominated += holds
    assert 150 < dominated < 350


def test_law_of_signals_has_its_mean():
    rng = np.random.default_rng(3)
    for _ in range(30):
        recall, precision = rng.random(), 0.05 + 0.95 * rng.random()
        signals = Signals(Sources([1.0], [1.0], [rng.uniform(0.01, 2)]), recall, precision)
        u, variance = signals.sources.u[0], np.var(signals.sample(20_000, rng)[0])
        law = signal_law(signals, 0, 0.02, 2000)
        state = 0.02 * np.arange(2000)
        assert law.sum() == pytest.approx(1, abs=1e-9)
        assert law @ state == pytest.approx(u, rel=1e-9)
        exact = law @ state**2 - u**2
        assert variance == pytest.approx(exact, rel=0.08, abs=2e-3)


def drawn_law(rng, size):
    """A law of content on a lattice, of which 2% lie beyond its end."""
    law = np.zeros(size)
    atoms = rng.integers(0, size // 2, rng.integers(1, 6))
    np.add.at(law, atoms, rng.dirichlet(np.ones(atoms.size)))
    return 0.98 * law


def test_bounds_hold_for_any_law():
    rng = np.random.default_rng(4)
    wide = equal = swapped = 0
    for _ in range(1000):
        size = 120
        law, alpha = drawn_law(rng, size), float(rng.choice([0.0, rng.random(), 0.99]))
        state = np.arange(size)
        index, _, _ = lattice_index(alpha, float(law @ state) + 0.02 * 200, law, 1.0)
        upper = np.minimum(0.02 + np.cumsum(law[::-1])[::-1], 1.0)  # P(U >= j)
        y = state[1:]
        # Content between lattice points is split, so that a passage may need one point less.
        passing = upper[np.floor((1 - alpha) * y - 1e-9).astype(int).clip(0)]
        low, high = (y * (1 - alpha) / (1 - (1 - q) * alpha) for q in (passing, upper[1:]))
        assert (low <= index[1:] + 1e-9 * y).all()
        assert (index[1:] <= high + 1e-9 * y).all()
        wide += int((high > 2 * low).sum())
        equal += int(np.isclose(high, low, rtol=1e-12).sum())
        swapped += int((index[1:] > low * (1 + 1e-6)).sum())
    assert wide > 1000
    assert equal > 1000
    assert swapped > 1000  # the two probabilities are not interchangeable


@pytest.mark.sampled
def test_reward_rises_with_reliability():
    rng = np.random.default_rng(5)
    more = 0
    for _ in range(1000):
        decay, rate = 10 ** rng.uniform(-1.5, 0), 10 ** rng.uniform(-1, 1)
        sources = Sources([rate], [decay / rate], [decay])
        (r, better_r), (p, better_p) = np.sort(rng.uniform(0.05, 1, (2, 2)))
        size, end = 64, 1 + 6 * np.sqrt(decay / rate) + 2 * decay / rate
        step, curves = end / size, []
        for recall, precision in ((r, p), (better_r, better_p)):
            law = signal_law(Signals(sources, recall, precision), 0, step, size)
            curves.append(lattice_index(float(sources.alpha[0]), sources.u[0], law, step))
        charges = np.linspace(0.02, 0.9, 20)
        # Reward at a charge, over always being paid it: -g.
        gain = [-np.interp(charges, index, waiting) for index, waiting, _ in curves]
        assert (gain[1] >= gain[0] - 5e-4).all()
        more += (gain[1] > gain[0] + 2e-3).any()
    assert more > 500


def test_signals_raise_bound():
    sources = Sources([1.0, 0.5, 2.0], [1.0, 2.0, 0.4], [0.3, 0.2, 0.6])
    bounds = []
    for recall in (0.2, 0.6, 1.0):
        signals = Signals(sources, recall, 0.5)
        curves = [signal_index(signals, arm, tolerance=2e-3) for arm in range(3)]
        bounds.append(stochastic_bound(sources, curves, 1)[0])
    assert bounds[0] < bounds[1] < bounds[2]


def test_wrong_arguments_are_named():
    signals = Signals(Sources([2.0], [1.0], [0.5]), 0.5, 0.5)
    with pytest.raises(ValueError, match="worth of source 0"):
        one_ping_index(signals, [10.0])
    with pytest.raises(ValueError, match="arm"):
        signal_index(Signals(signals.sources, 0.0, 0.5), 0)
