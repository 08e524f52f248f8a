import numpy as np
import pytest

from analysis.ephemeral.instances import COSTS, random_set, random_sources


def test_drawn_sources_lie_within_their_ranges_and_fill_them():
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


def test_a_random_set_is_the_same_whenever_it_is_asked_for():
    (one, m), (again, _) = random_set(4, seed=2), random_set(4, seed=2)
    np.testing.assert_array_equal(one.decay_rate, again.decay_rate)
    assert (random_set(5, seed=2)[0].decay_rate != one.decay_rate).all()
    assert m == 2
    assert {random_set(i, seed=2, size=3)[1] for i in range(4)} == {1, 2}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: random_sources(0, rng), "size must be an integer of at least 1, got 0"),
        (lambda rng: random_set(-1, 1), "instance must be an integer of at least 0, got -1"),
        (lambda rng: random_set(0, 1, size=1), "size must be an integer of at least 2, got 1"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(1))
