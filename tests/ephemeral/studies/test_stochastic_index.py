import numpy as np
import pytest

from analysis.ephemeral import Arrivals, Sources, Utility, four_sources, whittle_index
from analysis.ephemeral.stochastic.index import stochastic_index
from analysis.ephemeral.studies.stochastic_index import (
    closed_form_deviation,
    follow_threshold,
    printed_average_reward,
)

NEARLY_FLUID = Arrivals(Sources([1e5], [1e-5], [0.7]), Utility("deterministic"))


def test_nearly_fluid_content_is_crawled_at_a_fixed_gap():
    source = NEARLY_FLUID.sources
    threshold = float(0.99 * source.state_at_age([2])[0])
    crawls = follow_threshold(NEARLY_FLUID, threshold, 60, np.random.default_rng(1))
    assert (crawls.gap == 2).all()
    u, alpha = float(source.u[0]), float(source.alpha[0])
    np.testing.assert_allclose(crawls.content, u * (1 + alpha), rtol=0.03)
    np.testing.assert_allclose(crawls.printed, u * alpha * (1 + alpha), rtol=0.03)


def test_the_corrected_sum_is_what_is_found():
    arrivals = Arrivals(Sources([5.0], [1.0], [0.7]))
    crawls = follow_threshold(arrivals, 6.0, 300, np.random.default_rng(2))
    brought, alpha = arrivals.sample(300, np.random.default_rng(2))[0], float(np.exp(-0.7))
    epochs = int(np.flatnonzero(_contents(brought, alpha, 6.0))[0]) + crawls.gap.cumsum()
    for row, end in zip(crawls.itertuples(), epochs, strict=True):
        terms = np.arange(end - row.gap + 1, end + 1)
        assert row.content == pytest.approx(float(alpha ** (end - terms) @ brought[terms]))
        assert row.printed == pytest.approx(float(alpha ** (end - terms + 1) @ brought[terms - 1]))
    assert crawls.gap.nunique() > 1


def _contents(brought, alpha, threshold):
    """Whether an uncrawled source reaches the threshold, epoch by epoch."""
    x, reached = 0.0, []
    for more in brought:
        x = alpha * x + more
        reached.append(x >= threshold)
    return np.array(reached)


def test_printed_reward_is_that_of_a_fluid_cycle():
    assert printed_average_reward(0.5, 8.0, 1.0, 3) == pytest.approx((1 + 1 + 7) / 3)


def test_deviation_is_the_ratio_at_every_content():
    arms = four_sources()
    curves = [stochastic_index(arms, i, Utility(), tolerance=0.01) for i in range(4)]
    deviation = closed_form_deviation(arms, curves, [0.5, 1.0, 50.0])
    assert deviation.shape == (4, 3)
    one = whittle_index(arms, 0.5 * arms.u_star)[2]
    true = np.interp(0.5 * arms.u_star[2], curves[2].state, curves[2].index)
    assert deviation[2, 0] == pytest.approx(one / true - 1)
    assert np.isnan(deviation[:, 2]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: follow_threshold(Arrivals(four_sources()), 1, 9, np.random.default_rng(1)),
            "arrivals must be of one source, got 4",
        ),
        (
            lambda: follow_threshold(NEARLY_FLUID, 0, 9, np.random.default_rng(1)),
            r"threshold must be a number in \(0, inf\), got 0",
        ),
        (lambda: printed_average_reward(1.5, 1, 1, 1), r"alpha must be .* \(0, 1\), got 1.5"),
        (lambda: printed_average_reward(0.5, 1, 1, 0), "epochs_between must be .* got 0"),
        (lambda: closed_form_deviation(four_sources(), [], [1.0]), "curves must number 4"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
