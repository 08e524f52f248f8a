"""Learners: compiled loops, and estimates, bounds, draws and tables against definitions."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from analysis import fingerprint
from analysis.ephemeral import (
    Arrivals,
    Observation,
    Sources,
    Utility,
    four_sources,
    long_run_cycle,
    whittle_index_at_age,
)
from analysis.fingerprint import modules_behind
from analysis.kernel_cache import Locator
from analysis.learning import (
    AgeBlindUcb,
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
    JointQ,
    JointQOptions,
    UcWhittle,
    WhittleQ,
    WhittleQOptions,
    mean_content,
    play,
    sample_items,
)
from analysis.learning import certainty_equivalence as kernel
from tests.ephemeral.sets import SETS

SOURCES = four_sources()
EXPLORATIONS = ("forced", "ucb", "thompson")


def plain(exploration, **options):
    """Options of a rule without a floor, for the properties that it has by itself."""
    return CertaintyEquivalenceOptions(
        exploration, **{"confidence": 0.5, "spread": 1.0, "floor": 0.0, **options}
    )


def certainty(exploration, **options):
    return partial(CertaintyEquivalence, 4, plain(exploration, **options))


OPTIONS = {
    "forced": plain("forced", forced=4),
    "ucb": plain("ucb"),
    "thompson": plain("thompson"),
    "gain": plain("gain", confidence=0.1),
    "pairs": plain("estimate", floor=0.2),
    "default": CertaintyEquivalenceOptions(),
}
MAKERS = {
    **{
        name: lambda arms, budget, options=options: CertaintyEquivalence(arms, options)
        for name, options in OPTIONS.items()
    },
    "whittle-q": lambda arms, budget: WhittleQ(arms),
    "uc-whittle": lambda arms, budget: UcWhittle(arms),
    "joint-q": JointQ,
    "age-blind": lambda arms, budget: AgeBlindUcb(arms),
}
"""What makes each learner, from the number of arms and the budget."""


def exponential(horizon, seed=0, sources=SOURCES):
    return Arrivals(sources, Utility("exponential")).sample(horizon, np.random.default_rng(seed))


def assert_loops_agree(sources, make, content, budget):
    slow = play(sources, make(), content, budget, np.random.default_rng(4))
    fast = make().play(sources, content, budget, np.random.default_rng(4))
    np.testing.assert_array_equal(fast.crawls, slow.crawls)
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(fast.expected, slow.expected, rtol=1e-9, atol=1e-300)
    assert (fast.engaged == budget).all()


@pytest.mark.parametrize("items", [False, True])
@pytest.mark.parametrize("name", MAKERS)
def test_compiled_loop_equals_plain(name, items):
    drawn = sample_items(Arrivals(SOURCES), 600, np.random.default_rng(2))
    assert_loops_agree(SOURCES, partial(MAKERS[name], 4, 2), drawn if items else drawn.worth, 2)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
@pytest.mark.parametrize("name", MAKERS)
def test_loops_agree_at_every_budget(name, sources):
    content = Arrivals(sources).sample(80, np.random.default_rng(0))
    for budget in range(1, len(sources) + 1):
        assert_loops_agree(sources, partial(MAKERS[name], len(sources), budget), content, budget)


@pytest.mark.parametrize("name", MAKERS)
def test_cache_depends_on_loop_and_steps(name, monkeypatch):
    names = set()
    monkeypatch.setattr(fingerprint, "fingerprint", lambda stamped: names.update(stamped) or "0")
    learner = type(MAKERS[name](4, 2))
    Locator(learner.loop.py_func, __file__)
    steps = {k.py_func.__module__ for k in (learner.choose, learner.learn)}
    assert steps | {"analysis.learning.loop"} <= modules_behind(names)


def crawl_at_random(learners, content, seed):
    """Show learners crawls of a random arm an epoch; return ages and contents of those of arm 0."""
    age, held, rng = np.ones(4, dtype=np.int64), SOURCES.u.copy(), np.random.default_rng(seed)
    first = []
    for brought in content.T:
        arms = rng.choice(4, 1)
        if arms[0] == 0:
            first.append((age[0], held[0]))
        for learner in learners:
            learner._age[:] = age
            learner.update(arms, held[arms])
        held[arms], age[arms] = 0.0, 0
        held, age = SOURCES.alpha * held + brought, age + 1
    return np.array(first).T


def test_estimates_are_the_quasi_likelihood_maximum():
    learner = CertaintyEquivalence(4)
    k, r = crawl_at_random([learner], exponential(400, 3), seed=1)

    def loss(parameters):
        mean = np.exp(parameters[0]) * -np.expm1(-np.exp(parameters[1]) * k)
        return np.sum(mean - r * np.log(mean))

    best = np.exp(minimize(loss, [np.log(300), np.log(0.5)], method="Nelder-Mead").x)
    assert learner.u_star[0] == pytest.approx(best[0], rel=2e-3)
    assert learner.decay[0] == pytest.approx(best[1], rel=5e-3)


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_certainty_equivalence_recovers_noiseless_parameters(exploration):
    learner = certainty(exploration)()
    learner.play(SOURCES, mean_content(SOURCES, 200), 2, np.random.default_rng(0))
    np.testing.assert_allclose(learner.u_star, SOURCES.u_star, rtol=5e-3)
    np.testing.assert_allclose(learner.decay, SOURCES.decay, rtol=1e-2)


@pytest.mark.sampled
@pytest.mark.parametrize(("budget", "bound"), [(1, 1e-3), (2, 2e-3)])
@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_certainty_equivalence_loses_next_to_nothing(exploration, budget, bound):
    best = long_run_cycle(SOURCES, "whittle", budget).average_reward
    earned = [
        certainty(exploration, forced=4)()
        .play(SOURCES, Arrivals(SOURCES, Utility("deterministic")).sample(10_000, rng), budget, rng)
        .expected.mean()
        for rng in np.random.default_rng(8).spawn(6)
    ]
    assert 1 - np.mean(earned) / best < bound


def test_unit_of_reward_is_irrelevant():
    grown = Sources(SOURCES.arrival_rate, SOURCES.mean_utility * 1e-4, SOURCES.decay_rate)
    content = exponential(500)
    for name in EXPLORATIONS:
        one = MAKERS[name](4, 2).play(SOURCES, content, 2, np.random.default_rng(0))
        two = MAKERS[name](4, 2).play(grown, content * 1e-4, 2, np.random.default_rng(0))
        np.testing.assert_array_equal(one.crawls, two.crawls)


def fed(learner, contents, epochs, start=1):
    """Crawls of each arm when arm i always shows contents[i], whatever its age."""
    rng = np.random.default_rng(0)
    age, crawls = np.full(len(contents), start), np.zeros(len(contents), dtype=int)
    for epoch in range(epochs):
        arms = learner.select(Observation(epoch, age, np.full(age.size, np.nan)), 1, rng)
        learner.update(arms, np.asarray(contents)[arms])
        crawls[arms] += 1
        age[arms] = 0
        age += 1
    return crawls


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_empty_arm_is_retried_rarely(exploration):
    made = partial(CertaintyEquivalence, 2, plain(exploration))
    early, late = fed(made(), [1.0, 0.0], 500)[1], fed(made(), [1.0, 0.0], 5000)[1]
    assert 3 < early < 40
    assert early < late < early + 40


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_empty_arms_share_crawls(exploration):
    options = plain(exploration)
    crawls = fed(CertaintyEquivalence(3, options), [0.0, 0.0, 0.0], 300)
    assert crawls.min() >= (4 if exploration == "forced" else 60)


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_sparse_heavy_source_is_found(exploration):
    sources = Sources([100.0, 0.05], [0.01, 200.0], [0.5, 0.05])
    for seed in range(6):
        content = exponential(500, seed, sources)
        learner = CertaintyEquivalence(2, plain(exploration))
        rng = np.random.default_rng(seed)
        run = play(sources, learner, content, 1, rng, initial_state="empty")
        assert run.crawls[1] > 20


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_crawl_at_age_zero(exploration):
    learner = CertaintyEquivalence(2, plain(exploration))
    fed(learner, [0.0, 0.0], 1, start=0)
    assert np.isnan(learner.u_star).all()
    content = exponential(100)
    one, two = (
        play(SOURCES, certainty(exploration)(), content, 2, np.random.default_rng(0), **start)
        for start in ({"initial_state": "empty"}, {})
    )
    assert np.isfinite(one.expected).all()
    assert one.expected[50:].sum() == pytest.approx(two.expected[50:].sum(), rel=0.1)


@pytest.mark.parametrize("exploration", EXPLORATIONS)
def test_worthless_arm_costs_little(exploration):
    dead = Sources([50.0, 50.0, 0.0], np.ones(3), [0.5, 0.2, 0.3])
    options = plain(exploration)
    content = exponential(2000, sources=dead)
    run = CertaintyEquivalence(3, options).play(dead, content, 1, np.random.default_rng(0))
    assert 4 <= run.crawls[2] < 40


@given(total=st.floats(1e-6, 1e6), share=st.floats(1e-9, 1e4))
def test_upper_bound_is_poisson(total, share):
    slack = share * total
    mean = kernel.upper(total, slack)
    assert total <= mean <= (total + np.sqrt(2.0 * slack * total) + slack) * (1.0 + 1e-12)
    lost = mean - total - total * np.log1p((mean - total) / total)
    assert lost == pytest.approx(slack, rel=2e-3)


def test_upper_bound_of_nothing():
    assert kernel.upper(0.0, 3.0) == 3.0
    assert kernel.upper(1e-9, 3.0) == pytest.approx(3.0, rel=1e-6)


def by_search(model, state, arm, age, slack):
    """Largest index over the grid and the estimate, every point looked at."""
    dip = state.profile[arm].max() - state.profile[arm]
    inside = dip < slack
    total, decay = state.total[arm], np.exp(model.log_mu[inside])
    u_star = np.array([kernel.upper(total, slack - d) for d in dip[inside]])
    points = Sources(u_star / state.exposure[arm, inside] * decay, np.ones(decay.size), decay)
    best = whittle_index_at_age(points, np.full(decay.size, age)).max()
    scale = kernel.upper(total, slack) / total
    mu = np.exp(state.log_mu[arm])
    middle = Sources([scale * state.u_star[arm] * mu], [1.0], [mu])
    return max(best, whittle_index_at_age(middle, [age])[0])


@pytest.mark.parametrize("age", [1, 7, 256, 257, 4000])
def test_optimistic_index_is_maximum(age):
    learner = certainty("ucb")()
    learner.play(SOURCES, exponential(60), 1, np.random.default_rng(0))
    for arm in range(4):
        state = learner._state
        first = kernel.at_estimate(state, arm, age, 30.0)
        known = (learner._model, state, arm, age, 30.0, first)
        found = kernel.optimistic(*known, -np.inf)
        assert found == pytest.approx(by_search(learner._model, state, arm, age, 30.0), rel=1e-9)
        assert kernel.optimistic(*known, 0.9 * found) == found
        assert kernel.optimistic(*known, 2.0 * found) <= found


@pytest.mark.parametrize("epochs", [12, 60, 600])
@pytest.mark.parametrize("root", [-3.0, -0.2, 0.1, 1.0, 2.5])
def test_signed_root_is_attained(epochs, root):
    """The profile of a grid twenty times as fine, with the same crawls."""
    grids = [certainty("thompson", points=points)() for points in (121, 2401)]
    rough, fine = grids
    crawl_at_random(grids, exponential(epochs), seed=2)
    for arm in range(4):
        phi = 0.02 * rough._state.total[arm]
        found, fallen = kernel.at_root(rough._model, rough._state, arm, root, phi)
        profile = fine._state.profile[arm]
        fall = profile.max() - np.interp(found, fine._model.log_mu, profile)
        limit = 0.5 * phi * root**2
        assert np.sign(found - rough._state.log_mu[arm]) in (0.0, np.sign(root))
        assert fall == pytest.approx(fallen, rel=0.05, abs=0.02 * limit)
        if found not in rough._model.log_mu[[0, -1]]:
            assert fallen == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("spread", [0.04, 0.25, 1.0])
def test_certain_draws_are_narrow(spread):
    """At an age at which the index is u*, drawn with a share v log^2(1 + t)/2 of the variance v."""
    learner = certainty("thompson", spread=spread)()
    learner.play(SOURCES, exponential(4000), 1, np.random.default_rng(0))
    model, state, phi = learner._model, learner._state, 1.0
    variance = phi / state.total[0]

    def deviation(share):
        rng, doubt = np.random.default_rng(1), np.sqrt(2 * share / variance)
        state.width[0] = np.sqrt(variance / phi)  # mu is known as well as u*
        draws = [kernel.drawn_index(model, state, 0, 400, phi, doubt, rng) for _ in range(4000)]
        return np.std(draws)

    whole = deviation(1.0)
    for share, expected in ((0.9 * spread, spread), (0.5, max(spread, 0.5)), (4.0, 1.0)):
        assert deviation(share) / whole == pytest.approx(np.sqrt(expected), rel=0.05)


def test_few_items_inform_dispersion_little():
    """With as many crawls, phi is nearer to that of all arms the fewer items an arm has shown."""
    learner = CertaintyEquivalence(2)
    state, pooled = learner._state, 1.0
    state.weight[:] = 100.0
    state.total[:], state.chi_square[:] = [100.0, 0.2], [9.8, 9.8]  # 1,000 and 2 items
    many, few = (kernel._dispersion(learner._model, state, i, 1, pooled, pooled) for i in (0, 1))
    assert many == pytest.approx((9.8 + 2 * pooled) / 100)
    assert few == pytest.approx((2 * 0.1 + 2 * pooled) / (2 + 2))


SPARSE = {
    "nearly alike": (Sources([1.0, 1.2, 0.9], [1.0] * 3, [4.0] * 3), 0),
    "above the grid": (Sources([12.9, 15.3, 19.7], [1.78, 1.73, 1.75], [38.9, 39.0, 55.8]), 3),
}
"""Three sources of less than an item's worth a crawl, and the first of four streams."""


@pytest.mark.sampled
@pytest.mark.parametrize("items", [False, True])
@pytest.mark.parametrize("name", SPARSE)
def test_default_leaves_poor_starts(name, items):
    sources, first = SPARSE[name]
    best = long_run_cycle(sources, "whittle", 1).average_reward
    late = []
    for seed in range(first, first + 4):
        rng = np.random.default_rng(seed)
        drawn = sample_items(Arrivals(sources, Utility("exponential")), 50_000, rng)
        learner = CertaintyEquivalence(3)
        run = learner.play(sources, drawn if items else drawn.worth, 1, np.random.default_rng(1))
        late.append(1 - run.expected[-10_000:].mean() / best)
    assert np.mean(late) < 0.015
    assert np.max(late) < 0.03


def test_memory_follows_changes():
    """Estimates of a source whose content triples: the mean of the last `memory` epochs or so."""
    before, after = mean_content(SOURCES, 1000), 3.0 * mean_content(SOURCES, 1000)
    content = np.concatenate([before, after], axis=1)
    estimates = []
    for memory in (100.0, np.inf):
        learner = certainty("ucb", memory=memory)()
        learner.play(SOURCES, content, 2, np.random.default_rng(0))
        estimates.append(learner.u_star[0] / SOURCES.u_star[0])
    assert estimates[0] == pytest.approx(3.0, rel=0.02)
    assert estimates[1] < 2.5


def test_long_memory_changes_nothing():
    content = exponential(300)
    one, two = (
        certainty("ucb", memory=memory)().play(SOURCES, content, 2, np.random.default_rng(0))
        for memory in (np.inf, 1e12)
    )
    np.testing.assert_array_equal(one.crawls, two.crawls)


def test_whittle_q_finds_index():
    """Random crawls: the tables converge to the closed form at ages that are often visited."""
    learner = WhittleQ(4, WhittleQOptions(explore=1e12, subsidy_step=0.1, oldest=16))
    learner.play(SOURCES, mean_content(SOURCES, 60_000), 1, np.random.default_rng(0))
    ages = np.arange(1, 6)
    truth = whittle_index_at_age(SOURCES, ages[:, None] * np.ones(4)).T
    np.testing.assert_allclose(learner.index[:, :5], truth, rtol=0.05, atol=1.0)


def test_whittle_q_does_not_run_away():
    learner = WhittleQ(4)
    run = learner.play(SOURCES, exponential(10_000), 2, np.random.default_rng(0))
    assert np.abs(learner.index).max() < 10 * SOURCES.u_star.max()
    assert run.expected[-2000:].mean() > 0.97 * long_run_cycle(SOURCES, "whittle", 2).average_reward


def test_joint_q_finds_optimum():
    two = Sources(SOURCES.arrival_rate[:2], SOURCES.mean_utility[:2], SOURCES.decay_rate[:2])
    learner = JointQ(2, 1, JointQOptions(oldest=8))
    run = learner.play(two, mean_content(two, 30_000), 1, np.random.default_rng(0))
    best = long_run_cycle(two, "whittle", 1).average_reward
    assert run.expected[-500:].mean() == pytest.approx(best, rel=0.01)


@pytest.mark.parametrize("name", MAKERS)
def test_world_needs_own_size(name):
    two = Sources(SOURCES.arrival_rate[:2], SOURCES.mean_utility[:2], SOURCES.decay_rate[:2])
    with pytest.raises(ValueError, match=r"number of sources must be an integer in \[4, 4\]"):
        MAKERS[name](4, 2).play(two, mean_content(two, 5), 2, np.random.default_rng(0))


def decide(learner, ages, budget, rng):
    return learner.select(Observation(0, np.asarray(ages), np.zeros(len(ages))), budget, rng)


def test_whittle_q_explores_ever_less():
    """Random arms with probability 1 / (1 + n/explore): always at first, then at every second."""
    learner = WhittleQ(2, WhittleQOptions(explore=10.0))
    learner._state.subsidy[0] = 1.0
    rng = np.random.default_rng(1)
    share = {}
    for epoch in (0, 10, 10**9):
        learner._state.epoch[0] = epoch
        chosen = [decide(learner, [1, 1], 1, rng)[0] for _ in range(4000)]
        share[epoch] = np.mean(np.array(chosen) == 1)
    assert share[0] == pytest.approx(0.5, abs=0.04)
    assert share[10] == pytest.approx(0.25, abs=0.04)
    assert share[10**9] == 0


def test_whittle_q_ranks_by_index():
    learner = WhittleQ(2, WhittleQOptions(oldest=3))
    learner._state.epoch[0] = 10**12
    learner._state.subsidy[:] = [[1.0, 5.0, 9.0], [2.0, 4.0, 10.0]]
    rng = np.random.default_rng(1)
    for ages, first in (([1, 1], 1), ([2, 2], 0), ([3, 3], 1), ([3, 2], 0), ([7, 9], 1)):
        assert decide(learner, ages, 1, rng)[0] == first


@pytest.mark.parametrize("visits", [0, 1, 7])
def test_whittle_q_uses_step_size(visits):
    """The first change of an empty table is the reward times step / (1 + v/patience)^(3/4)."""
    options = WhittleQOptions(step=0.4, patience=2.0)
    learner = WhittleQ(2, options)
    learner._state.visits[0, 0, 1] = visits
    decide(learner, [1, 1], 1, np.random.default_rng(1))
    learner.update(np.array([0]), np.array([6.0]))
    alpha = 0.4 / (1 + (visits + 1) / 2.0) ** 0.75
    np.testing.assert_allclose(learner._state.q[0, 0, 1], alpha * 6.0)
    assert (learner._state.q[1] == 0).all()


def aged(young, older, age, *, floor=1.0, memory=np.inf, budget=1, epoch=100.0):
    """Values that the floor leaves to arms of value 1 with so many crawls of either kind."""
    options = CertaintyEquivalenceOptions(floor=floor, memory=memory)
    learner = CertaintyEquivalence(len(age), options)
    learner._state.pairs[:] = 10
    learner._state.young[:], learner._state.older[:] = young, older
    values = np.ones(len(age))
    needed = floor * np.log1p(epoch) ** 2
    kernel._by_floor(learner._model, learner._state, np.asarray(age), needed, budget, values)
    return np.where(values == 1.0, 1, 2 * np.sign(values)).astype(int)


def test_floor_balances_ages():
    enough = 1.0 * np.log1p(100.0) ** 2
    short = enough - 1
    due, held, free = 2, -2, 1
    cases = {  # (crawls at age 1, older crawls, age) -> what the floor makes of an arm
        (short, enough, 1): due,
        (enough, short, 1): held,
        (enough, enough, 1): free,
        (short, enough, 2): due,
        (enough, short, 5): due,
        (enough, enough, 5): free,
    }
    for (young, older, age), said in cases.items():
        found = aged([young, enough], [older, enough], [age, 3])
        assert found.tolist() == [said, free]
    everywhere = aged([enough] * 3, [short] * 3, [1, 1, 1], budget=2)
    assert everywhere.tolist() == [held, free, free]  # two places, so that only one is held back
    faded = aged([enough] * 2, [enough] * 2, [30, 1], memory=100.0)
    assert faded[0] == due  # counts fade until now
    assert aged([0.0], [0.0], [1], floor=0.0).tolist() == [free]


def test_frequent_source_waits_until_known():
    """A floor without holds leaves it unknown: nothing else asks for it at an older age."""
    sources = Sources(np.array([30, 10, 14]) * -np.log([0.6, 0.1, 0.5]) / 4, [4.0] * 3,
                      -np.log([0.6, 0.1, 0.5]))  # fmt: skip
    content = exponential(8000, 0, sources)
    learner = CertaintyEquivalence(3, CertaintyEquivalenceOptions("estimate", floor=2.0))
    learner.play(sources, content, 2, np.random.default_rng(0))
    state, needed = learner._state, 2.0 * np.log1p(8000 * 2 / 3) ** kernel.GROWTH
    assert (np.minimum(state.young, state.older) > needed - 2).all()


@pytest.mark.parametrize("price", [0.0, 0.5, 3.0, 6.9, 8.0])
def test_search_gain_finds_best_pair(price):
    learner = certainty("gain")()
    learner.play(SOURCES, exponential(60) / 50, 1, np.random.default_rng(0))
    model, state, slack = learner._model, learner._state, 2.0
    for arm in range(4):
        kernel.search_gain(model, state, arm, slack, price)
        dip = state.profile[arm].max() - state.profile[arm]
        inside = dip < slack
        u_star = [kernel.upper(state.total[arm], slack - d) for d in dip[inside]]
        u_star /= state.exposure[arm, inside]
        gaps = np.arange(1, 3000)[:, None]
        gains = (u_star * -np.expm1(-np.exp(model.log_mu[inside]) * gaps) - price) / gaps
        best = np.unravel_index(gains.argmax(), gains.shape)
        if gains.max() > 0:
            found = state.hoped_u_star[arm], np.exp(state.hoped_log_mu[arm])
            gain = ((found[0] * -np.expm1(-found[1] * gaps) - price) / gaps).max()
            assert gain == pytest.approx(gains.max(), rel=0.02)
            assert found[1] == pytest.approx(np.exp(model.log_mu[inside][best[1]]), rel=0.1)


def test_best_gap_reaches_price():
    model = CertaintyEquivalence(1)._model
    for point in range(0, 121, 10):
        decay = np.exp(model.log_mu[point])
        for share in (1e-4, 0.1, 0.5, 0.9, 0.999):
            gap = kernel.best_gap(model, point, 5.0, 5.0 * share)
            ages = np.arange(1, min(20 * int(1 / decay + 1) + 10, 1 << 16))
            gains = (5.0 * -np.expm1(-decay * ages) - 5.0 * share) / ages
            if gap < ages[-1]:
                assert gains[gap - 1] == pytest.approx(gains.max(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
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
