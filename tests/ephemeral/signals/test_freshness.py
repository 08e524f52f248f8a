"""Rivals with freshness as their objective, against quadrature, brute force and simulation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import poisson

from analysis.ephemeral import RoundRobinPolicy, Sources, simulate
from analysis.ephemeral.signals.freshness import (
    ExpectedContentPolicy,
    FreshnessPolicy,
    LambdaCrawlPolicy,
    crawl_value,
    fresh_rates,
    ping_probabilities,
    play_policy,
)
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.signals.simulation import Events, Trust, draw_events, play_signals

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def value_by_quadrature(recall, precision, level):
    """V(L) by integrating, over time, the chance that the level is not passed yet."""
    step, silent, pings = -np.log1p(-precision), 1 - recall, recall / precision
    jumps = np.arange(np.ceil(level / step))
    ends = np.unique(np.append(0.0, (level - jumps * step) / silent))
    half = np.diff(ends)[:, None] / 2
    time = (ends[:-1, None] + half) + half * NODES
    most = np.ceil((level - silent * time) / step) - 1  # pings before the passage
    fresh = np.exp(-(silent + precision * pings) * time)
    fresh = fresh * poisson.cdf(most, (1 - precision) * pings * time)
    waiting = poisson.cdf(most, pings * time)
    return float((half * WEIGHTS * (fresh - np.exp(-level) * waiting)).sum())


def test_crawl_value_equals_quadrature():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(1000):
        recall, precision = rng.uniform(0.01, 0.99), 10 ** rng.uniform(-1.3, -0.005)
        level = 10 ** rng.uniform(-1.5, 1)
        value = value_by_quadrature(recall, precision, level)
        assert crawl_value(recall, precision, [level])[0] == pytest.approx(value, abs=2e-6)
        believed = crawl_value(recall, 1.0, [level])[0]  # every ping taken for true
        wrong += abs(believed - value) > 1e-3
    assert wrong > 500


def best_stopping(recall, precision, level, step):
    """The most that any stopping rule earns of exp(-L) - exp(-level), by backward induction."""
    bonus, silent, pings = -np.log1p(-precision), 1 - recall, recall / precision
    counts = int(np.ceil(level / bonus)) + 1
    ping = -np.expm1(-pings * step)
    ahead = np.zeros(counts + 1)  # by number of pings; the last is past the level
    for epoch in range(int(np.ceil(level / silent / step)), -1, -1):
        now = np.exp(-silent * step * (epoch + 0.5) - bonus * np.arange(counts + 1))
        # A ping within the step comes on average in its middle.
        later = (1 - ping) * ahead[:-1] + ping * ahead[1:]
        gain = now[:-1] * (1 - ping * precision / 2) - np.exp(-level)
        ahead[:-1] = np.maximum(0.0, step * gain + later)
    return ahead[0]


def test_no_stopping_rule_beats_the_level():
    rng = np.random.default_rng(2)
    for _ in range(25):
        recall, precision = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.95)
        level = rng.uniform(0.1, 3)
        best = best_stopping(recall, precision, level, 2e-3)
        assert crawl_value(recall, precision, [level])[0] == pytest.approx(best, abs=3e-3)


def test_limits_of_crawl_value():
    level = np.geomspace(1e-3, 30, 60)
    blind = 1 - (1 + level) * np.exp(-level)
    np.testing.assert_allclose(crawl_value(0.0, 0.5, level), blind, atol=1e-12)
    np.testing.assert_allclose(crawl_value(1e-9, 0.5, level), blind, atol=1e-6)
    for recall, precision in ((0.2, 0.05), (0.9, 0.5), (1.0, 1.0), (1.0, 0.3), (0.5, 1.0)):
        value = crawl_value(recall, precision, level)
        assert (np.diff(value) >= -1e-12).all()
        assert value[-1] == pytest.approx(1, abs=1e-6)
    # With r = 1 only pings count, and after n of them the sums are geometric.
    p, n = 0.3, 4
    sums = sum((1 - p) ** j * p for j in range(n)) - n * (1 - p) ** n * p
    assert crawl_value(1.0, p, [-n * np.log1p(-p)])[0] == pytest.approx(sums)
    assert crawl_value(1.0, 1.0, [0.0, np.inf]).tolist() == [0.0, 1.0]


def drawn_pages(rng, size):
    rate = 10 ** rng.uniform(-2.2, -1, size)
    kind = rng.integers(0, 3, size)
    recall, precision = np.array([0.3, 0.9, 0.6])[kind], np.array([0.9, 0.4, 0.6])[kind]
    return Signals(Sources(rate, np.ones(size), np.full(size, 0.05)), recall, precision)


def relaxed_freshness(signals, budget):
    """The most of freshness that crawls in continuous time can earn, by its Lagrangian dual."""
    level = np.geomspace(1e-4, 40, 800)
    tables = {}

    def dual(price):
        total = price * budget
        for i, rate in enumerate(signals.sources.arrival_rate.tolist()):
            pair = float(signals.recall[i]), float(signals.precision[i])
            if pair not in tables:
                tables[pair] = crawl_value(*pair, level)
            if price * rate < 1:  # else it is never crawled, and never fresh
                total += np.exp(-np.interp(price * rate, tables[pair], level))
        return total / len(signals)

    return min(dual(price) for price in np.geomspace(1, 1 / signals.sources.arrival_rate.min(), 60))


@pytest.mark.sampled
def test_freshness_policy_nears_relaxed_freshness():
    rng = np.random.default_rng(3)
    for _ in range(3):
        signals = drawn_pages(rng, 30)
        events = draw_events(signals, 4000, rng)
        fresh = {
            name: 1 - play_policy(signals.sources, events, policy, 1, 4000).stale.mean()
            for name, policy in {
                "fresh": FreshnessPolicy(signals),
                "blind": FreshnessPolicy(Signals(signals.sources, 0.0, 0.0)),
                "content": ExpectedContentPolicy(signals),
                "in turn": RoundRobinPolicy(),
            }.items()
        }
        bound = relaxed_freshness(signals, 1.0)
        assert 0.96 * bound < fresh["fresh"] < 1.01 * bound
        assert fresh["fresh"] > max(fresh["blind"], fresh["content"], fresh["in turn"])


def harmonic_cost(probability, importance):
    return -(importance * np.log(probability)).sum()


def test_ping_probabilities_cost_least():
    rng = np.random.default_rng(4)
    for trial in range(1000):
        size = int(rng.integers(2, 6))
        rate, weight = 10 ** rng.uniform(-2, 1, size), 10 ** rng.uniform(-1, 1, size)
        budget = rng.uniform(0.05, 0.95) * rate.sum()
        found = ping_probabilities(rate, weight, budget)
        assert found @ rate == pytest.approx(budget)
        least = harmonic_cost(found, weight)
        for _ in range(20):  # any other way to spend the budget
            other = rng.dirichlet(np.ones(size)) * budget / rate
            mixed = found + rng.random() * (np.minimum(other, 1) - found)
            assert harmonic_cost(mixed, weight) >= least - 1e-9
        if trial < 20:
            limits = {"type": "eq", "fun": lambda x, a=rate, b=budget: x @ a - b}
            solved = minimize(
                harmonic_cost, np.full(size, budget / rate.sum()), (weight,), "SLSQP",
                bounds=[(1e-9, 1)] * size, constraints=limits, options={"ftol": 1e-12},
            )  # fmt: skip
            assert solved.fun == pytest.approx(least, abs=1e-4)
    assert ping_probabilities([1.0, 2.0], [1.0, 1.0], 3.5).tolist() == [1.0, 1.0]
    assert ping_probabilities([1.0, 2.0], [0.0, 1.0], 1.0).tolist() == [0.0, 0.5]


def test_fresh_rates_keep_most_fresh():
    rng = np.random.default_rng(6)

    def freshness(rate, change, weight):
        return (weight * rate / (rate + change)).sum()

    for trial in range(1000):
        size = int(rng.integers(2, 7))
        change, weight = 10 ** rng.uniform(-2, 1, size), 10 ** rng.uniform(-1, 1, size)
        budget = rng.uniform(0.1, 1.5)
        rates = fresh_rates(change, weight, budget)
        assert rates.sum() == pytest.approx(budget)
        best = freshness(rates, change, weight)
        for _ in range(20):
            other = np.minimum(rng.dirichlet(np.ones(size)) * budget, 1)
            assert freshness(other, change, weight) <= best + 1e-9
        if trial < 20:
            solved = minimize(
                lambda x, a=change, b=weight: -freshness(x, a, b), rates * 0.5 + 1e-3,
                method="SLSQP", bounds=[(0, 1)] * size,
                constraints={"type": "ineq", "fun": lambda x, b=budget: b - x.sum()},
                options={"ftol": 1e-12, "maxiter": 500},
            )  # fmt: skip
            assert -solved.fun == pytest.approx(best, rel=1e-3)
    alone = fresh_rates([0.1, 1.0, 0.0], [1.0, 1.0, 1.0], 0.5)
    assert alone.sum() == pytest.approx(0.5)
    assert alone[2] == 0
    assert fresh_rates([0.1, 1.0, 0.0], [1.0, 1.0, 1.0], 9.0).tolist() == [1.0, 1.0, 0.0]


def test_play_equals_compiled_play():
    rng = np.random.default_rng(7)
    for _ in range(4):
        signals = drawn_pages(rng, 8)
        events = draw_events(signals, 400, rng)
        told = Trust("known", np.asarray(signals.recall), np.asarray(signals.precision))
        compiled = play_signals(signals.sources, events, told, 2, 400)
        run = play_policy(signals.sources, events, ExpectedContentPolicy(signals), 2, 400)
        np.testing.assert_array_equal(run.crawls, compiled.crawls)
        np.testing.assert_allclose(run.reward, compiled.reward, rtol=1e-9, atol=1e-12)


def test_stale_time_of_known_events():
    sources = Sources([0.1, 0.1], [1.0, 1.0], [0.1, 0.1])
    time, arm = np.array([0.25, 1.5, 4.2]), np.array([0, 0, 1])
    events = Events.at(time, arm, np.array([0, 1, 2]), np.array([1.0, 1.0, 0.0]))
    run = play_policy(sources, events, RoundRobinPolicy(), 1, 5)
    # Source 0 is crawled at epochs 1, 3, 5; the ping of source 1 is false.
    assert run.stale.tolist() == pytest.approx([0.375, 0.25, 0.5, 0.0, 0.0])
    assert run.reward.tolist() == pytest.approx([np.exp(-0.075), 0, np.exp(-0.15), 0, 0])


def test_lambdacrawl_follows_pings_in_turn():
    signals = Signals(Sources(np.full(4, 0.3), np.ones(4), np.full(4, 0.1)), 1.0, 1.0)
    events = draw_events(signals, 4000, np.random.default_rng(8))
    policy = LambdaCrawlPolicy(np.full(4, 0.5), RoundRobinPolicy())
    run = play_policy(signals.sources, events, policy, 1, 4000, rng=1)
    assert run.crawls.sum() == 4000
    idle = LambdaCrawlPolicy(np.zeros(4), RoundRobinPolicy())
    spare = play_policy(signals.sources, events, idle, 1, 4000, rng=1)
    turn = play_policy(signals.sources, events, RoundRobinPolicy(), 1, 4000)
    np.testing.assert_array_equal(spare.reward, turn.reward)
    assert run.reward.sum() > 1.03 * turn.reward.sum()


def test_wrong_arguments_are_named():
    signals = drawn_pages(np.random.default_rng(9), 3)
    events = draw_events(signals, 5, 1)
    turn = RoundRobinPolicy()
    for name, call in {
        "recall": lambda: crawl_value(1.5, 0.5, [1.0]),
        "precision": lambda: crawl_value(0.5, 1e-6, [1.0]),
        "level": lambda: crawl_value(0.5, 0.5, [np.nan]),
        "ping_rate": lambda: ping_probabilities([-1.0], [1.0], 1.0),
        "importance": lambda: ping_probabilities([1.0], [1.0, 2.0], 1.0),
        "budget": lambda: ping_probabilities([1.0], [1.0], 0.0),
        "change_rate": lambda: fresh_rates([np.nan], [1.0], 1.0),
        "probability": lambda: LambdaCrawlPolicy([2.0], turn),
        "spare": lambda: LambdaCrawlPolicy([0.5], "in turn"),
        "horizon": lambda: play_policy(signals.sources, events, turn, 1, 0),
        "observation": lambda: simulate(signals.sources, FreshnessPolicy(signals), 1, 5),
    }.items():
        with pytest.raises(ValueError, match=name):
            call()
