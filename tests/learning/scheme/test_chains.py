"""Exact chains: two solvers, finite differences, runs of the scheme, and what (7) to (9) miss."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources, long_run_cycle
from analysis.learning import FrozenPolicy, LspeOptions, ThresholdChain, gradient_check, learned
from analysis.results import NotConverged
from tests.ephemeral.sets import SETS

TWO = {
    "equal sources": Sources([2.0] * 2, [1.0] * 2, [0.4] * 2),
    "unlike": Sources([3.0, 2.0], [1.0, 0.7], [0.7, 0.35]),
    "rates over ten decades": Sources([1e-5, 1e5], [1.0, 1.0], [0.3, 0.5]),
}


@pytest.mark.parametrize("sources", TWO.values(), ids=TWO)
def test_frozen_policy(sources):
    """Two solvers and two ways to draw: right alike, or refused."""
    rng = np.random.default_rng(2)
    for kappa in (1e-3, 1.0, 10.0, 100.0, 1e4):
        options = LspeOptions.corrected(kappa=kappa)
        q = rng.uniform(0, 0.3, (2, 3))
        policy = FrozenPolicy(sources, options, budget=np.int64(1), cap=5)
        try:
            gain, law, _ = ThresholdChain(sources, q, options, cap=5).solve("crawled")
            value = policy.evaluate(q)
        except NotConverged:
            assert kappa >= 10
            continue
        scale = float(sources.u_star.max())
        assert value == pytest.approx(gain * scale, rel=1e-8)
        chain = ThresholdChain(sources, q, options, cap=5)
        long_run = np.linalg.matrix_power(chain.transition, 2**20 + 1)
        later = long_run @ chain.transition
        some = 0.5 * (long_run + later)[0]  # of period 1 or 2
        if np.abs(some @ chain.transition - some).max() < 1e-12:
            assert law == pytest.approx(some, abs=1e-7)


def test_frozen_policy_in_parts():
    """At this steepness two cycles hold for ever as rounded: no value, and it says so."""
    sources = Sources([2.0] * 3, [1.0] * 3, [0.4] * 3)
    options = LspeOptions.corrected(kappa=1e5)
    q = np.zeros((3, 3))
    q[:, 0] = 0.1, 0.2, 0.3
    q[:, 1] = 5.0  # an arm is left the longer, the fuller the others are
    try:
        value = FrozenPolicy(sources, options, cap=4).evaluate(q)
        gain = ThresholdChain(sources, q, options, 4).solve("crawled")[0]
    except NotConverged as error:
        refused = str(error)
        assert "q" in refused
        return
    assert value == pytest.approx(gain * sources.u_star.max(), rel=1e-8)


def test_budget_of_all_arms():
    """With budget = N every arm is crawled at every epoch."""
    for sources in (*TWO.values(), SETS["one source"]):
        policy = FrozenPolicy(sources, LspeOptions(), budget=len(sources), cap=3)
        q = np.full((len(sources), 3), 0.1)
        assert policy.evaluate(q) == pytest.approx(sources.u.sum(), rel=1e-12)
        assert policy.gradient(q) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("sources", TWO.values(), ids=TWO)
def test_gradient(sources):
    q = np.random.default_rng(1).uniform(0, 0.2, (2, 3))
    for kappa in (0.1, 3.0, 10.0):
        options = LspeOptions.corrected(kappa=kappa)
        check = gradient_check(sources, q, options, cap=4)
        exact = FrozenPolicy(sources, options, 1, cap=4).gradient(q)
        np.testing.assert_allclose(check.formula, exact, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(check.formula, check.true, atol=1e-7 * max(kappa, 1))


SOURCES = four_sources()
OPTIONS = LspeOptions.corrected()
PRINTED = LspeOptions.as_printed(projected=False, gradient="own arm")
Q = np.random.default_rng(0).normal(0, 0.2, (2, 3))


@pytest.mark.parametrize("threshold", ["constant", "shared", "quadratic"])
@pytest.mark.parametrize("selected", [{}, {"kappa": 1.0, "scale": 150.0}, {"offset": 3.0}])
@pytest.mark.parametrize(("arms", "budget"), [(2, 1), (3, 2), (3, 3)])
def test_gradient_of_value(threshold, selected, arms, budget):
    options = LspeOptions.corrected(threshold=threshold, **selected)
    sources = SOURCES.subset(slice(arms))
    frozen = FrozenPolicy(sources, options, budget, 5)
    q = np.random.default_rng(1).normal(0, 0.2, (arms, 3))
    unit = options.scale or sources.u_star.max()
    gradient = frozen.gradient(q)
    for entry in np.ndindex(q.shape):
        shift = np.zeros(q.shape)
        shift[entry] = 1e-5
        change = frozen.evaluate(q + shift) - frozen.evaluate(q - shift)
        assert gradient[entry] == pytest.approx(change / (2e-5 * unit), rel=1e-5, abs=1e-9)
    free = {"constant": 1, "shared": 2, "quadratic": 3}[threshold]
    assert not gradient[:, free:].any()
    assert (np.abs(gradient[:, :free]) > 1e-9).any() == (budget < arms)


def test_arms_have_own_ages():
    """3^41 joint ages are more than an int64 numbers; few of them are reached."""
    size = 41
    options = LspeOptions.corrected(kappa=1e-9)  # draws at random: ages are geometric to the cap
    frozen = FrozenPolicy(SOURCES.subset(np.zeros(size, dtype=int)), options, 1, 3)
    # The last two arms, or one twice; at first all arms, or all but one, are of one age.
    assert len(np.unique(frozen.ages, axis=0)) == len(frozen.ages)
    assert len(frozen.ages) == size * (size - 1) + 2 * size + 1
    stays = 1 - 1 / size
    content = SOURCES.subset([0]).state_at_age(np.arange(1, 4)[:, None])[:, 0]
    earned = content @ [1 - stays, stays * (1 - stays), stays**2]
    assert frozen.evaluate(np.zeros((size, 3))) == pytest.approx(earned, rel=1e-6)


def test_value_is_long_run_reward():
    """A step of almost nothing keeps the thresholds where they are."""
    held = LspeOptions.corrected(step=1e-9)
    run = learned(SOURCES, held, 2, horizon=4000, replications=6, seed=1)
    value = FrozenPolicy(SOURCES, held, 2, 12).evaluate(np.zeros((4, 3)))
    late = run.late(1.0)
    assert late.low - 0.002 * value <= value <= late.high + 0.002 * value
    assert abs(late.value / value - 1) < 0.01


def test_climbing_reaches_index_policy():
    best = long_run_cycle(SOURCES, "whittle", 1).average_reward
    frozen = FrozenPolicy(SOURCES, OPTIONS, 1, 8)
    start = np.zeros((4, 3))
    q, value = frozen.climb(start)
    assert frozen.evaluate(start) < value <= best + 1e-9
    assert value == pytest.approx(best, rel=1e-3)
    assert frozen.evaluate(q) == pytest.approx(value)


def test_diverged_runs_are_excluded():
    wild = LspeOptions.as_printed(projected=False, regulariser="none")
    runs = learned(SOURCES, wild, 1, horizon=3000, replications=4, seed=1)
    assert len(runs.diverged) >= 2
    assert len(runs.q) == len(runs.expected) == 4 - len(runs.diverged)
    assert all(0 <= epoch < 3000 for _, epoch in runs.diverged)


def first(count):
    return SOURCES.subset(slice(count))


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
        (lambda: FrozenPolicy(SOURCES, OPTIONS, 5), "budget"),
        (lambda: FrozenPolicy(SOURCES, OPTIONS, 1, 1), "cap"),
        (lambda: FrozenPolicy(SOURCES, OPTIONS, 1, 60), "cap"),
        (lambda: FrozenPolicy(SOURCES, LspeOptions.as_printed()), "options.selection"),
        (lambda: FrozenPolicy(SOURCES, LspeOptions.corrected(projected=True)), "options.projected"),
        (lambda: FrozenPolicy(SOURCES, OPTIONS).evaluate(np.zeros((3, 3))), "q"),
        (lambda: FrozenPolicy(SOURCES, OPTIONS).climb(np.zeros((4, 3)), 0), "iterations"),
        (lambda: learned(SOURCES, OPTIONS, 1, horizon=4, replications=3, seed=1), "horizon"),
        (lambda: learned(SOURCES, OPTIONS, 1, horizon=9, replications=1, seed=1), "replications"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
