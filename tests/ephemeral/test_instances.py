import numpy as np
import pytest

from analysis.ephemeral.instances import (
    COSTS,
    bunched,
    even_decay_sources,
    lognormal_sources,
    random_set,
    random_sources,
    wide_set,
)


def test_drawn_sources_fill_ranges():
    sources = random_sources(4000, np.random.default_rng(1), costs=True)
    for values, low, high in (
        (sources.arrival_rate, 1, 9),
        (sources.mean_utility, 0.2, 2),
        (sources.decay_rate, 0.2, 1.5),
    ):
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
    assert set(sources.cost) == set(COSTS)
    assert set(random_sources(3, np.random.default_rng(1)).cost) == {1.0}


def test_random_set_is_repeatable():
    (one, m), (again, _) = random_set(4, seed=2), random_set(4, seed=2)
    np.testing.assert_array_equal(one.decay_rate, again.decay_rate)
    assert (random_set(5, seed=2)[0].decay_rate != one.decay_rate).all()
    assert m == 2
    assert {random_set(i, seed=2, size=3)[1] for i in range(4)} == {1, 2}


def test_logarithms_have_stated_moments():
    one = lognormal_sources(4000, np.random.default_rng(1))
    other = even_decay_sources(4000, np.random.default_rng(1))
    for values, mean, deviation in (
        (one.arrival_rate, 0, 1),
        (one.mean_utility, 0, 1),
        (one.decay_rate, -3, 1),
        (other.arrival_rate, 0, 1),
        (other.mean_utility, 0, 0.5),
    ):
        assert np.log(values).mean() == pytest.approx(mean, abs=0.07)
        assert np.log(values).std() == pytest.approx(deviation, rel=0.05)
    assert 0.02 <= other.decay_rate.min() < 0.03
    assert 0.49 < other.decay_rate.max() <= 0.5


def test_wide_set_is_repeatable():
    one, again = wide_set(6, seed=1)[0], wide_set(6, seed=1)[0]
    np.testing.assert_array_equal(one.arrival_rate, again.arrival_rate)
    assert {len(wide_set(i, seed=1)[0]) for i in range(40)} == {3, 4, 5, 6, 7, 8}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: random_sources(0, rng), "size"),
        (lambda rng: random_set(-1, 1), "instance"),
        (lambda rng: wide_set(-1, 1), "instance"),
        (lambda rng: lognormal_sources(0, rng), "size"),
        (lambda rng: even_decay_sources(0, rng), "size"),
        (
            lambda rng: bunched(random_sources(2, rng), 0),
            "factor",
        ),
        (lambda rng: random_set(0, 1, size=1), "size"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(1))
