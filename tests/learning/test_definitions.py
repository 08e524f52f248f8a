"""Learning: each public function against a second method, on families made to break it."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest

from analysis.ephemeral import (
    Arrivals,
    Observation,
    Sources,
    WhittlePolicy,
    simulate,
    whittle_index,
)
from analysis.learning import (
    AgeBlindUcb,
    Fixed,
    FrozenPolicy,
    GreedyThresholdPolicy,
    ItemSums,
    Lspe,
    LspeOptions,
    ThresholdChain,
    best_soft_thresholds,
    closed_loop,
    compare_learners,
    gradient_check,
    hard_threshold_value,
    index_range,
    learned,
    mean_content,
    mean_items,
    play,
    sample_items,
    soft_threshold_value,
    whittle_threshold,
)
from analysis.results import NotConverged
from tests.ephemeral.sets import SETS

EXTREME = ("decay 1e-14", "joint decay 1e-10")
each_set = pytest.mark.parametrize("sources", SETS.values(), ids=SETS)


def each_set_but(*names):
    """Try all sets of sources but some."""
    chosen = {name: sources for name, sources in SETS.items() if name not in names}
    return pytest.mark.parametrize("sources", chosen.values(), ids=chosen)


TWO = {
    "equal sources": Sources([2.0] * 2, [1.0] * 2, [0.4] * 2),
    "unlike": Sources([3.0, 2.0], [1.0, 0.7], [0.7, 0.35]),
    "rates over ten decades": Sources([1e-5, 1e5], [1.0, 1.0], [0.3, 0.5]),
}


@each_set
def test_compiled_scheme_equals_plain(sources):
    options, content = LspeOptions.corrected(), mean_content(sources, 60)
    slow = play(sources, Lspe(sources, options), content, 1, np.random.default_rng(1))
    fast = Lspe(sources, options).play(sources, content, 1, np.random.default_rng(1))
    short = slow.reward[: fast.reward.size]
    np.testing.assert_allclose(fast.reward, short, rtol=1e-9, atol=1e-300)
    assert fast.diverged_at is not None or fast.reward.size == 60


@each_set
def test_age_blind_ucb(sources):
    """UCB1 from its formula, in plain Python."""
    content = Arrivals(sources).sample(60, np.random.default_rng(3))
    run = AgeBlindUcb(len(sources)).play(sources, content, 1, np.random.default_rng(0))
    held, found = sources.u.copy(), [[] for _ in range(len(sources))]
    for epoch in range(60):
        top = max((max(f) for f in found if f), default=0.0) or 1.0
        bound = [
            np.mean(f) + top * np.sqrt(2 * np.log(epoch) / len(f)) if f else np.inf for f in found
        ]
        arm = int(np.argmax(bound))
        found[arm].append(held[arm])
        assert held[arm] == pytest.approx(run.reward[epoch], rel=1e-12)
        held[arm] = 0.0
        held = sources.alpha * held + content[:, epoch]


@each_set
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


@each_set
def test_learning_curves(sources):
    made = {"index": partial(Fixed, WhittlePolicy(sources))}
    with pytest.raises(ValueError, match="replications"):
        compare_learners(sources, made, 1, horizon=5, replications=2**64, seed=0)
    fresh = {"age-blind": partial(AgeBlindUcb, len(sources))}
    for horizon in (2, 30):
        found = compare_learners(sources, fresh, 1, horizon=horizon, replications=2, seed=0)
        content = mean_content(sources, horizon)
        alone = AgeBlindUcb(len(sources)).play(sources, content, 1, np.random.default_rng(0))
        curve = found["age-blind"]
        np.testing.assert_allclose(curve.expected, [alone.expected] * 2, rtol=1e-12)
        if (sources.cost == 1).all():
            index = simulate(sources, "whittle", 1, horizon, initial_state="fresh").reward
            assert curve.reference.sum() == pytest.approx(index.sum(), rel=1e-9)


@each_set
def test_runs_of_scheme(sources):
    options = LspeOptions.corrected()
    found = learned(sources, options, 1, horizon=5, replications=2, seed=7)
    streams = np.random.default_rng(7).spawn(2)
    content = mean_content(sources, 5)
    runs = [play(sources, Lspe(sources, options), content, 1, rng) for rng in streams]
    np.testing.assert_allclose(found.expected, [run.expected for run in runs], rtol=1e-9)


# Chains ------------------------------------------------------------------------------------------


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


@each_set
def test_greedy_thresholds(sources):
    rng = np.random.default_rng(0)
    q = rng.uniform(0, 0.4, (len(sources), 3))
    policy = GreedyThresholdPolicy(sources, q, LspeOptions())
    for _ in range(10):
        age = rng.integers(1, 30, len(sources))
        x = sources.state_at_age(age) / sources.u_star.max()
        others = x.sum() - x
        excess = x - q[:, 0] - q[:, 1] * others - q[:, 2] * others**2
        for budget in range(1, len(sources) + 1):
            seen = Observation(0, age, np.full(len(sources), np.nan))
            arms = policy.select(seen, budget)
            assert arms.size == budget
            left = np.delete(excess, arms)
            assert excess[arms].min() >= left.max(initial=-np.inf) - 1e-12


# Thresholds --------------------------------------------------------------------------------------


@each_set_but(*EXTREME)
def test_soft_threshold_value(sources):
    """Renewals against the stationary law of one arm's ages, by products over ages."""
    scale = float(sources.u_star.max())
    for kappa in (1e-3, 1.0, 30.0, 1e4):
        for share in (0.0, 0.5, 1.0):
            level = sources.u_star * share
            value = soft_threshold_value(sources, level, kappa)
            for arm in range(len(sources)):
                ages = np.arange(1, 3001)
                x = sources.state_at_age(ages[:, None])[:, arm]
                log_stay = -np.logaddexp(0, kappa * ((x - level[arm]) / scale - 0.5))
                alive = np.exp(np.concatenate([[0.0], np.cumsum(log_stay)[:-1]]))
                if alive[-1] > 1e-12:
                    continue  # a longer list than this one
                rate = 1 / alive.sum()
                reward = rate * np.sum(-alive * np.expm1(log_stay) * x)
                assert value.rate[arm] == pytest.approx(rate, rel=1e-8)
                assert value.reward[arm] == pytest.approx(reward, rel=1e-8, abs=1e-300)


def test_slow_decays_are_refused():
    for decay in (1e-14, 1e-10):
        sources = Sources([250.0] * 2, [1.0] * 2, [0.5, decay])
        with pytest.raises(ValueError, match="sources"):
            soft_threshold_value(sources, [1.0, 1.0], 10.0)
        with pytest.raises(ValueError, match="sources"):
            best_soft_thresholds(sources, 10.0, 0.5)


def test_hard_threshold_value():
    """Thresholds at the states themselves: crawled at that age, not the one after."""
    for decay in (1e-14, 1e-3, 0.3, 0.7, 5.0):
        sources = Sources([3.0], [2.0], [decay])
        for age in (1, 2, 3, 5, 7, 10, 30, 100):
            level = sources.state_at_age([age])
            if level[0] >= sources.u_star[0] * (1 - 1e-13):
                continue
            for threshold, due in ((level, age), (np.nextafter(level, np.inf), age + 1)):
                value = hard_threshold_value(sources, threshold)
                first = next(k for k in range(1, 200) if sources.state_at_age([k]) >= threshold)
                assert first == due
                assert value.rate[0] == 1 / due
                truth = sources.state_at_age([due])[0] / due
                assert value.reward[0] == pytest.approx(truth, rel=1e-15)
        assert hard_threshold_value(sources, [-1.0]).rate[0] == 1
        assert hard_threshold_value(sources, sources.u_star).rate[0] == 0


@pytest.mark.parametrize("name", ["one source", "equal sources", "unlike", "decay 1e3"])
def test_best_soft_thresholds(name):
    """As many arms as asked for and no worse than thresholds drawn at random, or refused.

    Steep curves make the best thresholds jump at a price, as does content of one value at all ages.
    """
    sources = SETS[name]
    rng = np.random.default_rng(5)
    for kappa in (1.0, 10.0, 1e4):
        engaged = 0.6 * len(sources)
        try:
            _, best = best_soft_thresholds(sources, kappa, engaged, projected=False)
        except (NotConverged, ValueError) as error:
            refused = str(error)
            assert "engaged" in refused
            assert kappa > 10 or sources.decay.max() > 100
            continue
        assert best.engaged == pytest.approx(engaged, abs=1e-5)
        for _ in range(20):
            level = sources.u_star.max() * rng.uniform(-1, 1, len(sources))
            other = soft_threshold_value(sources, level, kappa)
            if other.engaged <= engaged:
                assert other.average_reward <= best.average_reward * (1 + 1e-5)


@each_set
def test_whittle_threshold(sources):
    if len(sources) == 1:
        with pytest.raises(ValueError, match="sources"):
            whittle_threshold(sources, [1.0])
        return
    rng = np.random.default_rng(6)
    for _ in range(3):
        state = sources.state_at_age(rng.integers(1, 20, len(sources)))
        threshold = whittle_threshold(sources, state)
        index = whittle_index(sources, state)
        for arm in range(len(sources)):
            trial = state.copy()
            trial[arm] = threshold[arm]
            rival = np.delete(index, arm).max()
            if sources.u[arm] > 0:
                assert whittle_index(sources, trial)[arm] == pytest.approx(rival, rel=1e-9)


@each_set
def test_mean_content(sources):
    for horizon in (1, 5):
        once = sources.state_at_age(np.ones(len(sources)))
        expected = np.tile(once[:, None], horizon)
        np.testing.assert_allclose(mean_content(sources, horizon), expected, rtol=1e-14)


@each_set
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


@each_set_but("rates over ten decades")
def test_sampled_items(sources):
    """Means over epochs lie within five standard errors of the integrals."""
    drawn, exact = (
        sample_items(Arrivals(sources), 400, np.random.default_rng(1)),
        mean_items(sources, 1),
    )
    for found, mean in ((drawn.worth, exact.worth), (drawn.aged, exact.aged)):
        error = found.std(axis=1) / 20.0
        assert (np.abs(found.mean(axis=1) - mean[:, 0]) <= 5 * error + 1e-4 * mean.max()).all()


@each_set
def test_item_sums(sources):
    """Sums over items that are given one by one, by loops."""
    rng = np.random.default_rng(0)
    ages = [rng.random(n) * 9 for n in range(len(sources))]
    worths = [rng.standard_exponential(age.size) for age in ages]
    sums = ItemSums.of(worths, ages)
    for i, (v, s) in enumerate(zip(worths, ages, strict=True)):
        assert sums.worth[i] == pytest.approx(sum(v), rel=1e-12)
        assert sums.aged[i] == pytest.approx(sum(x * y for x, y in zip(v, s, strict=True)))


@each_set_but(*EXTREME)
def test_closed_loop(sources):
    """The truth predicts what it finds and loses nothing; a belief does so where it is met."""
    try:
        found = closed_loop(sources, sources, 1)
    except NotConverged:
        return
    assert (found.error, found.loss) == (0.0, 0.0)
    for arm, ages in enumerate(found.gaps):
        assert set(ages) == set(found.cycle.gaps(arm))
    grown = Sources(2 * sources.arrival_rate, sources.mean_utility, sources.decay, sources.cost)
    doubled = closed_loop(sources, grown, 1)  # the same order of indices
    assert doubled.gaps == found.gaps
    assert doubled.error == pytest.approx(0.5, rel=1e-9)


def test_index_range():
    """Both ends against high precision, and what lies between them along the curve."""
    for age in (1, 2, 7, 1000):
        for at in {1, (age + 1) // 2, age}:
            for slowest, fastest in ((1e-9, 1e-6), (1e-3, 20.0), (0.2, 700.0)):
                found = index_range(at, age, 3.0, slowest=slowest, fastest=fastest)
                with mpmath.workdps(60):
                    for mu, value in zip((slowest, fastest), found, strict=True):
                        alpha = mpmath.exp(-mpmath.mpf(mu))
                        index = 1 - alpha**at * (1 + at * (1 - alpha))
                        exact = float(3 * index / (1 - alpha**age))
                        assert value == pytest.approx(exact, rel=1e-12, abs=0)
                    for mu in np.geomspace(slowest, fastest, 20):
                        alpha = mpmath.exp(-mpmath.mpf(float(mu)))
                        index = 1 - alpha**at * (1 + at * (1 - alpha))
                        between = float(3 * index / (1 - alpha**age))
                        assert found[0] * (1 - 1e-12) <= between <= found[1] * (1 + 1e-12)
                assert found[1] <= 3.0 * (1 + 1e-15)
    assert index_range(1, 1, 0.0) == (0.0, 0.0)
    with pytest.raises(ValueError, match="at"):
        index_range(12, 2, 1.0)
