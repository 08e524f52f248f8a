"""The 2019 scheme: the print line by line, divergence, the corrected scheme, and its steps."""

import numpy as np
import pytest

from analysis.ephemeral import Arrivals, Observation, four_sources, long_run_cycle
from analysis.learning import (
    GreedyThresholdPolicy,
    Lspe,
    LspeOptions,
    learned,
    mean_content,
    play,
    soft_threshold_value,
)
from analysis.learning.scheme import _kernel as kernel
from tests.ephemeral.sets import SETS

SOURCES = four_sources()
CONTENT = mean_content(SOURCES, 10_000)


def runs(options, replications, seed=1, start=None, content=CONTENT):
    learners = [Lspe(SOURCES, options, start) for _ in range(replications)]
    generators = np.random.default_rng(seed).spawn(replications)
    played = [
        learner.play(SOURCES, content, 1, rng)
        for learner, rng in zip(learners, generators, strict=True)
    ]
    return learners, played


@pytest.mark.parametrize(
    "options",
    [
        LspeOptions.as_printed(),
        LspeOptions.corrected(),
        LspeOptions.corrected(regulariser="sherman-morrison", threshold="constant"),
    ],
)
@pytest.mark.parametrize("random", [False, True])
def test_compiled_loop_equals_plain(options, random):
    content = CONTENT[:, :300]
    if random:
        content = Arrivals(SOURCES).sample(300, np.random.default_rng(5))
    slow, fast = Lspe(SOURCES, options), Lspe(SOURCES, options)
    budget = 2 if options.selection == "one-of-n" else 1
    expected = play(SOURCES, slow, content, budget, np.random.default_rng(7))
    found = fast.play(SOURCES, content, budget, np.random.default_rng(7))
    np.testing.assert_allclose(found.reward, expected.reward, rtol=1e-9)
    np.testing.assert_allclose(found.expected, expected.expected, rtol=1e-9)
    np.testing.assert_array_equal(found.engaged, expected.engaged)
    np.testing.assert_array_equal(found.crawls, expected.crawls)
    np.testing.assert_allclose(fast.q, slow.q, rtol=1e-6, atol=1e-9)


def literal(horizon, rng, delta=1e-6, c=0.1, kappa=2.0):
    """Section IV of the 2019 paper, one line of NumPy an equation, states divided by max u*."""
    u, top = SOURCES.u / 500, SOURCES.u_star / 500
    upper = np.triu_indices(4)
    q, r, eta = np.zeros((4, 2)), np.zeros(14), 0.0
    big_a, big_b, b_bar = np.zeros((14, 14)), np.eye(14), np.zeros(14)
    x, harvest = u.copy(), []
    for n in range(1, horizon + 1):
        s = x.sum() - x
        psi = np.stack([np.ones(4), s + s**2], axis=1)
        level = np.clip((q * psi).sum(axis=1), u, top)
        f = np.exp(kappa * (x - level - 0.5)) / (1 + np.exp(kappa * (x - level - 0.5)))
        active = rng.random(4) < f
        y = np.where(active, u, SOURCES.alpha * x + u)
        phi, phi_next = (np.concatenate([z, np.outer(z, z)[upper]]) for z in (x, y))
        p = np.where(active, f, 1 - f)  # (8): one sum over arms, in every component
        sign = np.where(active, -1 / f, 1 / (1 - f))
        gradient = (kappa * sign * p * (1 - p) * psi.T).sum(axis=1)
        q = q + c / np.ceil(n / 500) * gradient * (r @ phi_next)
        b = c / np.ceil(n / 1000) ** (2 / 3)
        surprise = x.sum() - eta
        eta += b * surprise
        big_b += b * (np.outer(phi, phi) - big_b)
        big_a += b * (np.outer(phi, phi_next - phi) - big_a)
        b_bar += b * (phi * surprise - b_bar)
        inverse = np.linalg.inv(big_b.T @ big_b + delta * np.eye(14)) @ big_b.T
        r = r + 0.05 * inverse @ (big_a @ r + b_bar)
        harvest.append(500 * x[active].sum())
        x = y
    return q, r, np.array(harvest)


def test_printed_scheme_is_literal():
    q, r, harvest = literal(300, np.random.default_rng(3))
    learner = Lspe(SOURCES, LspeOptions.as_printed())
    run = learner.play(SOURCES, CONTENT[:, :300], 1, np.random.default_rng(3))
    np.testing.assert_allclose(run.reward, harvest, rtol=1e-9)
    np.testing.assert_allclose(learner.q[:, :2], q, rtol=1e-6)
    np.testing.assert_allclose(learner.r, r, rtol=1e-5)


def test_printed_scheme_ends_at_bounds():
    _, played = runs(LspeOptions.as_printed(), 30)
    means = np.array([run.reward.mean() for run in played])
    value = soft_threshold_value(SOURCES, SOURCES.u_star, 2.0)
    error = means.std(ddof=1) / np.sqrt(means.size)
    assert abs(means.mean() - value.average_reward) < 4 * error + 1.0  # it arrives from above
    assert np.mean([run.engaged.mean() for run in played]) == pytest.approx(1.0, abs=0.15)
    assert all(run.diverged_at is None for run in played)


def test_uncured_scheme_diverges():
    raw = LspeOptions.as_printed(projected=False, regulariser="none")
    learners, played = runs(raw, 10)
    stopped = [run.diverged_at for run in played if run.diverged_at is not None]
    assert len(stopped) >= 8
    for learner, run in zip(learners, played, strict=True):
        assert learner.diverged_at == run.diverged_at
        if run.diverged_at is not None:
            assert run.reward.size == run.diverged_at == run.engaged.size


def test_diverged_learner_stops():
    options = LspeOptions.as_printed(projected=False, regulariser="none", limit=1e-3)
    learner = Lspe(SOURCES, options)
    play(SOURCES, learner, CONTENT[:, :50], 1, np.random.default_rng(0))
    assert learner.diverged_at is not None
    assert learner._state.steps[0] == learner.diverged_at + 1


def test_corrected_scheme_learns_optimum():
    start = np.array([1.0, 1.0, -0.5, -0.5])  # crawls the two worst sources
    learners, played = runs(LspeOptions.corrected(), 12, start=start)
    assert all(run.diverged_at is None for run in played)
    first, last = (
        np.mean([run.expected[part].mean() for run in played])
        for part in (slice(0, 200), slice(-1000, None))
    )
    assert first < 60
    assert last > 240
    best = long_run_cycle(SOURCES, "whittle", 1).average_reward
    values = [long_run_cycle(SOURCES, learner.greedy(), 1).average_reward for learner in learners]
    assert np.mean(np.isclose(values, best)) > 0.8


def test_exactly_the_budget_is_crawled():
    for budget in (1, 3):
        run = Lspe(SOURCES, LspeOptions()).play(
            SOURCES, CONTENT[:, :200], budget, np.random.default_rng(0)
        )
        assert (run.engaged == budget).all()
        assert run.crawls.sum() == 200 * budget


@pytest.mark.parametrize("selection", ["independent", "one-of-n"])
@pytest.mark.parametrize("budget", [1, 2])
def test_score_is_log_derivative(selection, budget):
    """Against finite differences: the probability of the drawn order, written out."""
    options = LspeOptions(selection=selection, kappa=3.0, threshold="constant")
    learner = Lspe(SOURCES, options, np.array([0.3, 0.5, 0.1, 0.2]))
    x = np.array([0.6, 0.4, 0.1, 0.15])
    learner._state.x[:] = x
    kernel.draw(learner._model, learner._state, budget, np.random.default_rng(2))
    active, grad = learner._state.active, learner._state.grad.copy()

    def log_chance(level, order):
        weight = 3.0 * (x - level)
        if selection == "independent":
            return float(np.sum(-np.logaddexp(0, np.where(active, -weight, weight))))
        total, left = 0.0, list(range(4))
        for arm in order:
            total += weight[arm] - np.log(np.exp(weight[left]).sum())
            left.remove(arm)
        return total

    chosen = np.flatnonzero(active).tolist()
    differences = []
    for order in (chosen, chosen[::-1]):
        difference = np.empty(4)
        for arm in range(4):
            step = np.zeros(4)
            step[arm] = 1e-6
            level = learner.q[:, 0]
            up, down = log_chance(level + step, order), log_chance(level - step, order)
            difference[arm] = (up - down) / 2e-6
        differences.append(difference)
    assert min(np.abs(grad - difference).max() for difference in differences) < 1e-7


def test_corrected_update_is_inverse():
    rng = np.random.default_rng(0)
    matrix = np.eye(5)
    inverse = np.eye(5)
    for n in range(1, 50):
        phi, b = rng.normal(size=5), 1 / (n + 1)
        matrix = (1 - b) * matrix + b * np.outer(phi, phi)
        kernel.update_inverse(inverse, phi, b, np.empty(phi.size))
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-9)


def test_the_solver_pivots():
    rng = np.random.default_rng(0)
    for size in (1, 4, 14):
        matrix, right = rng.normal(size=(size, size)), rng.normal(size=size)
        expected = np.linalg.solve(matrix, right)
        assert kernel.solve(matrix.copy(), right)
        np.testing.assert_allclose(right, expected, rtol=1e-8)
    assert not kernel.solve(np.ones((3, 3)), np.ones(3))
    assert not kernel.solve(np.full((2, 2), np.nan), np.ones(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kappa": 0.0}, "kappa"),
        ({"kappa": np.inf}, "kappa"),
        ({"step": 1.0}, "step"),
        ({"value_step": 0.0}, "value_step"),
        ({"regularisation": -1e-6}, "regularisation"),
        ({"initial_matrix": 0.0}, "initial_matrix"),
        ({"limit": np.nan}, "limit"),
        ({"features": "cubic"}, "features"),
        ({"threshold": "none"}, "threshold"),
        ({"regulariser": "lasso"}, "regulariser"),
        ({"selection": "two"}, "selection"),
        ({"scale": 0.0}, "scale"),
        ({"gradient": "every arm"}, "gradient"),
    ],
)
def test_options_out_of_range_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        LspeOptions(**change)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_content(SOURCES, 0), "horizon"),
        (lambda: Lspe(SOURCES, None, [1.0]), "initial_thresholds"),
        (lambda: Lspe(SOURCES).play(SOURCES, CONTENT, 5, np.random.default_rng(0)), "budget"),
        (lambda: Lspe(SOURCES).play(SOURCES, CONTENT.T, 1, np.random.default_rng(0)), "content"),
        (lambda: Lspe(SOURCES).play(SOURCES, -CONTENT, 1, np.random.default_rng(0)), "content"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_compiled_scheme_equals_plain(sources):
    options, content = LspeOptions.corrected(), mean_content(sources, 60)
    slow = play(sources, Lspe(sources, options), content, 1, np.random.default_rng(1))
    fast = Lspe(sources, options).play(sources, content, 1, np.random.default_rng(1))
    short = slow.reward[: fast.reward.size]
    np.testing.assert_allclose(fast.reward, short, rtol=1e-9, atol=1e-300)
    assert fast.diverged_at is not None or fast.reward.size == 60


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
def test_runs_of_scheme(sources):
    options = LspeOptions.corrected()
    found = learned(sources, options, 1, horizon=5, replications=2, seed=7)
    streams = np.random.default_rng(7).spawn(2)
    content = mean_content(sources, 5)
    runs = [play(sources, Lspe(sources, options), content, 1, rng) for rng in streams]
    np.testing.assert_allclose(found.expected, [run.expected for run in runs], rtol=1e-9)


@pytest.mark.parametrize("sources", SETS.values(), ids=SETS)
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
