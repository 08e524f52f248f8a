"""The index of unreliable signals against first passages, lattices, and what it is bounded by."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, stochastic_bound, whittle_index
from analysis.ephemeral.signals.index import (
    index_bounds,
    one_ping_index,
    one_ping_reach,
    signal_index,
    signal_law,
)
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.stochastic.index import lattice_index


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
    signals = drawn_signals(rng, 400)
    reach, most = one_ping_reach(signals), signals.unannounced
    alpha = signals.sources.alpha
    worth = np.stack(
        [
            reach,
            np.minimum(most, reach),
            np.minimum(most * (1 - 1e-9), reach),
            np.minimum(most * (1 - alpha ** rng.integers(1, 9, 400)), reach),
            reach * rng.random(400),
            np.minimum(most, reach) * rng.random(400),
        ],
        axis=1,
    )
    found = one_ping_index(signals, worth)
    compared = 0
    for arm, row in enumerate(worth):
        for y, index in zip(row, found[arm], strict=True):
            expected = index_from_first_passages(signals, arm, np.longdouble(y))
            if expected is None:
                continue
            compared += 1
            assert index == pytest.approx(expected, rel=2e-7, abs=1e-15)
    assert compared > 1500


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
        low, high = index_bounds(y, alpha, passing, upper[1:])
        assert (low <= index[1:] + 1e-9 * y).all()
        assert (index[1:] <= high + 1e-9 * y).all()
        wide += int((high > 2 * low).sum())
        equal += int(np.isclose(high, low, rtol=1e-12).sum())
        swapped += int((index[1:] > low * (1 + 1e-6)).sum())
    assert wide > 1000
    assert equal > 1000
    assert swapped > 1000  # the two probabilities are not interchangeable


def test_reward_rises_with_reliability():
    rng = np.random.default_rng(5)
    more = 0
    for _ in range(500):
        decay, rate = 10 ** rng.uniform(-1.5, 0), 10 ** rng.uniform(-1, 1)
        sources = Sources([rate], [decay / rate], [decay])
        (r, better_r), (p, better_p) = np.sort(rng.uniform(0.05, 1, (2, 2)))
        size, end = 150, 1 + 6 * np.sqrt(decay / rate) + 2 * decay / rate
        step, curves = end / size, []
        for recall, precision in ((r, p), (better_r, better_p)):
            law = signal_law(Signals(sources, recall, precision), 0, step, size)
            curves.append(lattice_index(float(sources.alpha[0]), sources.u[0], law, step))
        charges = np.linspace(0.02, 0.9, 20)
        # Reward at a charge, over always being paid it: -g.
        gain = [-np.interp(charges, index, waiting) for index, waiting, _ in curves]
        assert (gain[1] >= gain[0] - 2e-4).all()
        more += (gain[1] > gain[0] + 2e-3).any()
    assert more > 250


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
    with pytest.raises(ValueError, match="passing"):
        index_bounds([1.0], 0.5, [np.nan], [0.1])
