"""What learners see: contents and items, their means and laws, and what a run does with them."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from analysis.ephemeral import Arrivals, Observation, Sources, Utility, WhittlePolicy, simulate
from analysis.learning import (
    CertaintyEquivalence,
    Fixed,
    ItemSums,
    mean_content,
    mean_items,
    play,
    sample_items,
)
from tests.ephemeral.sets import SETS

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "utility",
    [
        Utility("deterministic"),
        Utility("exponential"),
        Utility("uniform"),
        Utility("gamma", variation=0.3),
        Utility("gamma", variation=3.0),
        Utility("lognormal", variation=2.0),
        Utility("pareto", tail_index=6.0),
    ],
    ids=str,
)
def test_drawn_sums_have_variances(utility):
    """E[xi^2] Lambda int_0^1 w(s)^2 exp(-2 mu s) ds; w = 1 for worth, s for worth times age."""
    sources = Sources([4.0, 0.3, 9.0], [1.0, 20.0, 0.1], [0.01, 0.8, 6.0])
    drawn = sample_items(Arrivals(sources, utility), 100_000, np.random.default_rng(1))
    second = utility.second_moment * sources.arrival_rate * sources.mean_utility**2
    for found, power in ((drawn.worth, 0), (drawn.aged, 2)):
        squares = (found - found.mean(axis=1, keepdims=True)) ** 2
        spread = squares.std(axis=1) / np.sqrt(found.shape[1])
        for i, mu in enumerate(sources.decay):
            area = quad(lambda s, mu=mu, p=power: s**p * np.exp(-2 * mu * s), 0, 1, epsabs=0)[0]
            assert abs(squares[i].mean() - second[i] * area) < 4.5 * spread[i]


@pytest.mark.parametrize(("mu", "age"), [(0.05, 3), (0.5, 1), (1.0, 1), (1.0, 6), (3.0, 2)])
def test_items_identify_both_parameters(mu, age):
    """The estimate is the one root of A/R = 1/mu - k/(e^{mu k} - 1); sums leave mu open."""
    u_star = 7.0
    worth = u_star * -np.expm1(-mu * age)
    aged = u_star * (1 - (1 + mu * age) * np.exp(-mu * age)) / mu
    assert aged / worth == pytest.approx(1 / mu - age / np.expm1(mu * age), rel=1e-9)
    learner = CertaintyEquivalence(1)
    for _ in range(3):
        learner.select(Observation(0, np.array([age]), np.array([np.nan])), 1, RNG)
        learner.update(np.array([0]), ItemSums([worth], [aged]))
    assert learner.decay[0] == pytest.approx(mu, rel=0.01)
    assert learner.u_star[0] == pytest.approx(u_star, rel=0.01)
    profile = CertaintyEquivalence(1)
    for _ in range(3):
        profile.select(Observation(0, np.array([age]), np.array([np.nan])), 1, RNG)
        profile.update(np.array([0]), np.array([worth]))
    assert np.ptp(profile._state.profile[0]) < 1e-9 * worth


def test_estimate_maximises_likelihood():
    rng = np.random.default_rng(5)
    mu, u_star, learner = 0.6, 20.0, CertaintyEquivalence(1)
    worths, ages, gaps = [], [], rng.integers(1, 6, 400)
    for gap in gaps:
        s = rng.random(rng.poisson(u_star * mu * gap)) * gap
        v = rng.standard_exponential(s.size) * np.exp(-mu * s)
        worths.append(v)
        ages.append(s)
        learner.select(Observation(0, np.array([gap]), np.array([np.nan])), 1, rng)
        learner.update(np.array([0]), ItemSums.of([v], [s]))
    v, s = np.concatenate(worths), np.concatenate(ages)

    def likelihood(decay):
        u = v.sum() / -np.expm1(-decay * gaps).sum()
        return (v * (np.log(u * decay) - decay * s)).sum()

    grid = np.linspace(0.5 * mu, 2 * mu, 3001)
    best = grid[np.argmax([likelihood(x) for x in grid])]
    assert learner.decay[0] == pytest.approx(best, rel=3e-3)
    assert learner.decay[0] == pytest.approx(mu, rel=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ItemSums([1.0], [-1.0]), r"aged\[0\] must"),
        (lambda: ItemSums([1.0], [1.0, 2.0]), "aged"),
        (lambda: ItemSums([0.0], [1.0]), "aged"),
        (lambda: ItemSums.of([[1.0]], [[1.0, 2.0]]), "age"),
        (lambda: ItemSums.of([[1.0]], []), "age"),
    ],
)
def test_impossible_sums_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_fixed_policy_earns_simulation(sources):
    """Mean content and a policy that does not learn: the simulation without chance."""
    for budget in range(1, len(sources) + 1):
        if (sources.cost != 1).any() and budget < len(sources):
            continue
        learner = Fixed(WhittlePolicy(sources))
        run = play(sources, learner, mean_content(sources, 40), budget, np.random.default_rng(0))
        content = sources.state_at_age(np.arange(1, 41)[:, None])
        np.testing.assert_allclose(run.reward, run.expected, rtol=1e-9, atol=1e-300)
        if (sources.cost == 1).all():
            exact = simulate(sources, "whittle", budget, 40, initial_state="fresh").reward
            assert run.reward.sum() == pytest.approx(exact.sum(), rel=1e-9)
        assert run.reward.sum() <= 40 * content[-1].sum()


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_mean_content(sources):
    for horizon in (1, 5):
        once = sources.state_at_age(np.ones(len(sources)))
        expected = np.tile(once[:, None], horizon)
        np.testing.assert_allclose(mean_content(sources, horizon), expected, rtol=1e-14)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_mean_items(sources):
    """Worth and worth times age of an epoch against their integrals, in high precision."""
    drawn = mean_items(sources, 2)
    with mpmath.workdps(60):
        for i, (rate, worth, mu) in enumerate(
            zip(sources.arrival_rate, sources.mean_utility, sources.decay, strict=True)
        ):
            z, each = mpmath.mpf(float(mu)), mpmath.mpf(float(rate * worth * sources.period))
            sums = each * -mpmath.expm1(-z) / z, each * (1 - (1 + z) * mpmath.exp(-z)) / z**2
            for found, exact in zip((drawn.worth, drawn.aged), sums, strict=True):
                np.testing.assert_allclose(found[i], float(exact), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in SETS if name != "rates over ten decades"])
def test_sampled_items(name):
    """Means over epochs lie within five standard errors of the integrals."""
    sources = SETS[name]
    drawn, exact = (
        sample_items(Arrivals(sources), 400, np.random.default_rng(1)),
        mean_items(sources, 1),
    )
    for found, mean in ((drawn.worth, exact.worth), (drawn.aged, exact.aged)):
        error = found.std(axis=1) / 20.0
        assert (np.abs(found.mean(axis=1) - mean[:, 0]) <= 5 * error + 1e-4 * mean.max()).all()


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_item_sums(sources):
    """Sums over items that are given one by one, by loops."""
    rng = np.random.default_rng(0)
    ages = [rng.random(n) * 9 for n in range(len(sources))]
    worths = [rng.standard_exponential(age.size) for age in ages]
    sums = ItemSums.of(worths, ages)
    for i, (v, s) in enumerate(zip(worths, ages, strict=True)):
        assert sums.worth[i] == pytest.approx(sum(v), rel=1e-12)
        assert sums.aged[i] == pytest.approx(sum(x * y for x, y in zip(v, s, strict=True)))
