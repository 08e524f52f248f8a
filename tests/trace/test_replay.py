"""The fast replay against a slow one that shares no code with it, and against other parts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from analysis.ephemeral import (
    RoundRobinPolicy,
    Sources,
    WhittlePolicy,
    simulate_random,
    timetable,
)
from analysis.ephemeral.optimum.static import RandomPolicy
from analysis.ephemeral.policies import GreedyPolicy
from analysis.trace.deployed import (
    AutoTtl,
    CommaFeed,
    DueTimes,
    EntryFrequency,
    Friendica,
    NextcloudNews,
    NutchAdaptive,
    StormCrawler,
)
from analysis.trace.experiment import Experiment
from analysis.trace.policies import ForgettingIndex, best_fixed_frequencies, known_from
from analysis.trace.replay import (
    Clock,
    priorities,
    score,
    visits_at_random,
    visits_by_age,
    visits_of_learner,
    visits_with_content,
)
from analysis.trace.trace import DAY, WEEK, Trace
from tests.trace.slow_replay import slow_replay

EXACT = {"rel": 1e-12, "abs": 1e-12}


def bursty(size, hours, seed):
    """A trace with bursts, ties, items at the very second of an epoch, and an idle source."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(size - 1):
        for hour in rng.uniform(0, hours, rng.integers(1, 20)):
            cluster = 60 * rng.integers(0, 300, rng.integers(1, 4))
            rows += [(f"s{i}", round(hour * 3600) + int(c)) for c in cluster]
    rows += [("s0", 7200), ("s0", 7200), ("s1", 3600 * 5), ("idle", 0)]
    names, seconds = zip(*rows, strict=True)
    stamps = pd.Timestamp("2020-01-02") + pd.to_timedelta(pd.Series(seconds), unit="s")
    return Trace.of(pd.Series(names), stamps)


@pytest.fixture(scope="module")
def world():
    trace = bursty(9, 300, 4)
    rng = np.random.default_rng(5)
    decay, value = rng.uniform(0.01, 0.5, len(trace)), rng.uniform(0.2, 2, len(trace))
    rate = trace.counts(0, trace.end) / 300.0
    return trace, Sources(rate, value, decay)


def impatient(arms, period):
    """Nutch's schedule, begun at intervals of four epochs in place of a month."""
    policy = NutchAdaptive(arms, period)
    policy.interval[:] = 4.0
    return policy


def both_ways(trace, sources, policy, fresh, budget, clock, age, rng=None):
    """Score a policy by the fast replay, and follow a fresh copy of it by the slow one."""
    if isinstance(policy, DueTimes | ForgettingIndex):
        visits = visits_of_learner(trace, policy, budget, clock)
    elif isinstance(policy, RandomPolicy):
        visits = visits_at_random(policy, budget, clock.horizon, np.random.default_rng(rng))
    else:
        visits = visits_by_age(policy, budget, clock.horizon, age)
    fast = score(trace, visits, clock, sources.decay_rate, sources.mean_utility)
    items = [trace.times_of(i).tolist() for i in range(len(trace))]
    slow = slow_replay(
        items, fresh, budget, clock.begin, clock.horizon, clock.period,
        sources.decay_rate, sources.mean_utility, age,
        np.random.default_rng(rng),
    )  # fmt: skip
    return visits, fast, slow


@pytest.mark.parametrize("budget", [1, 3])
@pytest.mark.parametrize("period", [3600, 1800])
@pytest.mark.parametrize(
    "name",
    [
        "index",
        "greedy",
        "round robin",
        "fixed",
        "drawn",
        "timetable",
        "forgetting",
        "nutch",
        "nutch, mended",
        "stormcrawler",
        "entry frequency",
        "factor",
        "auto",
        "commafeed",
        "nextcloud",
        "friendica",
    ],
)
def test_slow_replay_agrees(world, name, budget, period):
    trace, sources = world
    sources = Sources(
        sources.arrival_rate, sources.mean_utility, sources.decay_rate, period=period / 3600
    )
    clock = Clock(DAY + 17 * 60, 220, period)
    age = 1 + np.arange(len(trace)) % 4

    def make():
        if name == "forgetting":
            known = known_from(trace, 0, clock.begin, 40.0, age)
            return ForgettingIndex(sources, known, 40.0, (0.5, 20.0), clock.begin)
        policies = {
            "index": WhittlePolicy(sources),
            "greedy": GreedyPolicy(sources),
            "round robin": RoundRobinPolicy(),
            "fixed": best_fixed_frequencies(sources, budget),
            "timetable": timetable(sources, budget),
            "drawn": RandomPolicy(np.full(len(trace), budget / len(trace))),
            "nutch": impatient(len(trace), period),
            "nutch, mended": NutchAdaptive(
                len(trace), period, first=4 * period, longest=8 * period, mended=True
            ),
            "stormcrawler": StormCrawler(len(trace), period, longest=9 * period),
            "entry frequency": EntryFrequency(len(trace), period),
            "factor": EntryFrequency(len(trace), period, factor=0.3, longest=30 * period),
            "auto": AutoTtl(len(trace), period, longest=40 * period),
            "commafeed": CommaFeed(len(trace), period, longest=40 * period, listed=4),
            "nextcloud": NextcloudNews(len(trace), period, longest=40 * period),
            "friendica": Friendica(len(trace), period),
        }
        return policies[name]

    visits, fast, slow = both_ways(trace, sources, make(), make(), budget, clock, age, rng=3)
    rewards, visited, stale, harmonic = slow
    by_epoch = [
        sorted(visits.arm[visits.epoch == epoch].tolist()) for epoch in range(clock.horizon)
    ]
    assert by_epoch == [sorted(arms) for arms in visited]
    assert fast.reward == pytest.approx(rewards, **EXACT)
    assert fast.stale == pytest.approx(stale, **EXACT)
    assert fast.harmonic == pytest.approx(harmonic, **EXACT)
    assert sum(rewards) > 0


def test_environment_agrees(world):
    """A trace is a stream of contents, so that everything played on those plays on it too."""
    trace, sources = world
    experiment = Experiment(
        trace, 0, 2 * DAY, 2 * DAY + WEEK, np.log(2) / sources.decay_rate, 2,
        value=sources.mean_utility, phases=1,
    )  # fmt: skip
    clock, before = experiment.clock(0)
    ones = np.ones(len(trace), dtype=np.int64)
    policy = WhittlePolicy(sources)
    visits = visits_by_age(policy, 2, clock.horizon, ones)
    fast = score(trace, visits, clock, experiment.decay_rate, sources.mean_utility)
    content = experiment.content(clock)
    other = simulate_random(sources, policy, 2, content, observed=False, initial_state="fresh")
    # The environment begins with content u, the trace with none; both have it found by the split.
    assert before == 48
    assert other.reward[before:] == pytest.approx(fast.reward[before:], **EXACT)
    assert fast.reward[before:].sum() > 0


def test_content_index_matches_environment(world):
    trace, sources = world
    rate = np.maximum(sources.arrival_rate, 0.01)
    experiment = Experiment(
        trace, 0, 2 * DAY, 2 * DAY + WEEK, np.log(2) / sources.decay_rate, 1,
        value=sources.mean_utility, phases=1,
    )  # fmt: skip
    clock, before = experiment.clock(0)
    known, facts = experiment.sources(rate), (experiment.decay_rate, sources.mean_utility)
    fast = score(trace, visits_with_content(trace, known, 1, clock), clock, *facts)
    other = simulate_random(known, "whittle", 1, experiment.content(clock), observed=True)
    assert other.reward[1:].sum() == pytest.approx(fast.reward[1:].sum(), rel=1e-9)
    assert other.reward[before:] == pytest.approx(fast.reward[before:], abs=1e-9)


def test_warm_up_is_not_counted(world):
    trace, sources = world
    clock = Clock(0, 200)
    visits = visits_by_age(RoundRobinPolicy(), 2, 200, np.ones(len(trace), dtype=np.int64))
    facts = (trace, visits, clock, sources.decay_rate, sources.mean_utility)
    whole, part = score(*facts), score(*facts, warm_up=80)
    assert (part.reward[:80] == 0).all()
    assert part.reward[80:] == pytest.approx(whole.reward[80:], **EXACT)
    rest = score(trace, visits_by_age(RoundRobinPolicy(), 2, 80, np.ones(len(trace), int)),
                 Clock(0, 80), sources.decay_rate, sources.mean_utility)  # fmt: skip
    # Over all 200 epochs the averages are those of the first 80 and of the last 120.
    assert whole.stale == pytest.approx(0.4 * rest.stale + 0.6 * part.stale, **EXACT)
    assert whole.harmonic == pytest.approx(0.4 * rest.harmonic + 0.6 * part.harmonic, **EXACT)


def test_policy_must_select():
    with pytest.raises(ValueError, match="policy"):
        visits_by_age("whittle", 1, 10, np.ones(9, dtype=np.int64))
    with pytest.raises(ValueError, match="WhittlePolicy or GreedyPolicy, got RoundRobinPolicy"):
        priorities(RoundRobinPolicy(), 10, 3)


@pytest.mark.parametrize("kind", [WhittlePolicy, GreedyPolicy])
def test_compiled_replay_with_costs(kind):
    sources = Sources([5.0, 3.0, 8.0], [1.0, 2.0, 0.5], [0.3, 0.9, 0.1], cost=[2.0, 0.5, 3.0])
    policy, age = kind(sources), np.ones(3, dtype=np.int64)
    fast = visits_by_age(policy, 1, 200, age)
    slow = visits_by_age(SimpleNamespace(select=policy.select), 1, 200, age)
    np.testing.assert_array_equal(fast.arm, slow.arm)
    np.testing.assert_array_equal(fast.epoch, slow.epoch)


def test_replay_keeps_policy(world):
    trace, sources = world
    known = known_from(trace, 0, DAY, 40.0, np.ones(len(trace), dtype=np.int64))
    policy = ForgettingIndex(sources, known, 40.0, (0.5, 20.0), DAY)
    before = policy.estimate
    visits_of_learner(trace, policy, 1, Clock(DAY, 100))
    assert policy.estimate.tolist() == before.tolist()
