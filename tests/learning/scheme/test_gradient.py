import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from analysis.learning import LspeOptions, gradient_check


def first(count):
    four = four_sources()
    return Sources(four.arrival_rate[:count], four.mean_utility[:count], four.decay_rate[:count])


PRINTED = LspeOptions.as_printed(projected=False, gradient="own arm")
Q = np.random.default_rng(0).normal(0, 0.2, (2, 3))


@pytest.mark.parametrize("selection", ["one-of-n", "independent"])
@pytest.mark.parametrize("threshold", ["constant", "shared", "quadratic"])
@pytest.mark.parametrize("reward", ["crawled", "all"])
def test_every_form_has_the_corrected_gradient(selection, threshold, reward):
    chosen = {"selection": selection, "threshold": threshold, "reward": reward}
    options = LspeOptions.corrected(**chosen, kappa=3.0, offset=0.2, scale=200.0)
    check = gradient_check(first(2), Q, options, cap=6, objective=reward)
    np.testing.assert_allclose(check.formula, check.true, rtol=1e-5, atol=1e-8)


def test_three_arms_too():
    q = np.random.default_rng(1).normal(0, 0.3, (3, 3))
    assert gradient_check(first(3), q, LspeOptions.corrected(), cap=5).relative_error < 1e-6


def test_printed_gradient_is_of_content():
    assert gradient_check(first(2), Q, PRINTED, objective="all").relative_error < 1e-6


def test_printed_gradient_points_away():
    assert gradient_check(first(2), Q, PRINTED).cosine < -0.8


def test_summed_components_are_no_gradient():
    check = gradient_check(first(2), Q, LspeOptions.as_printed(projected=False), objective="all")
    assert check.relative_error > 0.5


def test_constant_spoils_variance():
    near = gradient_check(first(2), Q, PRINTED, objective="all")
    far = gradient_check(first(2), Q, PRINTED, objective="all", value_shift=1.0)
    np.testing.assert_allclose(far.formula, near.formula, atol=1e-12)
    assert far.second_moment > 10 * near.second_moment
    baseline = LspeOptions.corrected()
    assert gradient_check(first(2), Q, baseline, value_shift=9.0).second_moment == pytest.approx(
        gradient_check(first(2), Q, baseline).second_moment
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gradient_check(four_sources(), np.zeros((4, 3)), PRINTED), "number of sources"),
        (lambda: gradient_check(first(2), np.zeros(3), PRINTED), "q"),
        (lambda: gradient_check(first(2), Q, LspeOptions.as_printed()), "projected"),
        (lambda: gradient_check(first(2), Q, PRINTED, cap=1), "cap"),
        (lambda: gradient_check(first(2), Q, PRINTED, objective="x"), "objective"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
