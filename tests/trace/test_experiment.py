"""Experiments on traces: bounds, surrogates, rates, choices and intervals."""

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nbinom

from analysis.ephemeral import RoundRobinPolicy, WhittlePolicy, four_sources, relaxed_bound
from analysis.results import Estimate
from analysis.trace.deployed import AutoTtl, CommaFeed, EntryFrequency, NutchAdaptive, StormCrawler
from analysis.trace.experiment import (
    Experiment,
    block_weights,
    choose_memory,
    gamma_prior,
    ratio_interval,
    shrunk_rates,
    trained_rates,
)
from analysis.trace.poisson import compare_with_surrogates, poisson_trace, statistics
from analysis.trace.policies import ForgettingIndex, known_from
from analysis.trace.replay import Clock, clairvoyant_bound
from analysis.trace.trace import DAY, SHA256, WEEK, Trace, publications


@pytest.fixture(scope="module")
def trace():
    return publications("both")


def some(names, seconds):
    stamps = pd.Timestamp("2020-01-02") + pd.to_timedelta(pd.Series(seconds), unit="s")
    return Trace.of(pd.Series(names), stamps)


# The trace itself.


def test_trace_is_known_file(trace):
    assert SHA256["publications"].startswith("10b1519b4feb")
    kinds = {kind: publications(kind) for kind in ("upload", "commit")}
    assert {k: (len(t), t.time.size) for k, t in kinds.items()} == {
        "upload": (395, 5744),
        "commit": (41, 7380),
    }
    assert (len(trace), trace.time.size) == (436, 13124)
    assert kinds["upload"].date(kinds["upload"].begin) == "2019-07-07"


def test_commits_keep_time_of_week(trace):
    alone = publications("commit")
    for name in ("commit/harfbuzz", "commit/libxcb"):
        moved = trace.times_of(trace.names.index(name)) + trace.origin.astype(int)
        first = alone.times_of(alone.names.index(name)) + alone.origin.astype(int)
        assert set(moved - first) == {(moved - first)[0]}
        assert (moved - first)[0] % WEEK == 0


def test_releases_are_second_trace():
    """Releases since 2020 to the second; a package without one since then is no source."""
    releases = publications("release")
    assert (len(releases), releases.time.size) == (253, 10544)
    assert releases.date(releases.begin) == "2020-01-05"
    assert releases.date(releases.end) == "2026-11-21"
    assert np.count_nonzero(releases.time % 60) > 0.9 * releases.time.size
    scrapy = releases.times_of(releases.names.index("release/scrapy"))
    assert releases.date(scrapy[0]) == "2020-03-03"


@pytest.mark.parametrize(("kind", "file"), [("both", "publications"), ("release", "releases")])
def test_other_file_is_refused(kind, file, monkeypatch):
    monkeypatch.setitem(SHA256, file, "0" * 64)
    with pytest.raises(ValueError, match="must have sha256 000"):
        publications(kind)


# Poisson surrogates with known rates.


def test_index_reaches_bound_on_surrogates(trace):
    """With rates known the bound lies within the interval of the reward over eight traces.

    With many sources the index policy's shortfall is far below the noise of the arrivals.
    """
    busy = trace.counts(trace.begin, trace.end)
    rng = np.random.default_rng(1)
    hours = (trace.end - trace.begin) / 3600
    rewards = []
    for _ in range(8):
        drawn = poisson_trace(trace, rng.poisson(busy), rng)
        split = trace.end - 40 * WEEK
        experiment = Experiment(drawn, trace.begin, split, trace.end - WEEK, 24.0, 4, phases=1)
        sources = experiment.sources(busy / hours)
        outcome = experiment.by_age(WhittlePolicy(sources))
        rewards.append(outcome.weeks.mean() / (WEEK // 3600))
    found = Estimate.of(rewards)
    bound = relaxed_bound(sources, 4)[0]
    assert found.low <= bound <= found.high
    assert found.value > 0.98 * bound


def test_trace_is_not_poisson(trace):
    rng = np.random.default_rng(2)
    uploads = publications("upload")
    table = compare_with_surrogates(uploads, 19, rng)
    assert (table["p"] <= 0.1).all()
    assert (table["trace"] > table["high"]).all()
    counts = uploads.counts(uploads.begin, uploads.end)
    found = statistics(poisson_trace(uploads, counts, rng))
    assert found["fano, a week"] == pytest.approx(1.0, abs=0.05)
    assert found["gaps"] == pytest.approx(1.0, abs=0.1)
    assert found["short gaps"] == pytest.approx(-np.expm1(-0.1), abs=0.02)
    assert found["drift"] == pytest.approx(1.0, abs=0.2)
    assert found["day"] < 0.05


def test_too_few_items_are_refused():
    few = some(["a", "b"] * 5, range(10))
    with pytest.raises(ValueError, match="at least 20 items"):
        compare_with_surrogates(few, 19, np.random.default_rng(0))


# The clairvoyant bound.


def best_by_enumeration(trace, budget, clock, decay, value):
    """Most that any choice of at most `budget` sources at each epoch collects."""
    size, best = len(trace), 0.0
    choices = [c for c in product([0, 1], repeat=size) if sum(c) <= budget]
    for plan in product(choices, repeat=clock.horizon):
        found, last = 0.0, [-np.inf] * size
        for epoch, chosen in enumerate(plan):
            now = clock.begin + epoch * clock.period
            for i in np.flatnonzero(chosen):
                fresh = [t for t in trace.times_of(i) if max(last[i], clock.begin - 1) < t <= now]
                found += sum(value[i] * np.exp(-decay[i] * (now - t) / 3600) for t in fresh)
                last[i] = now
        best = max(best, found)
    return best / clock.horizon


@settings(max_examples=8)
@given(st.integers(0, 10_000))
def test_clairvoyant_bound_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    trace = some([f"s{n % 2}" for n in range(6)], rng.integers(0, 4 * 3600, 6))
    clock = Clock(0, 5)
    decay, value = rng.uniform(0.05, 1, 2), rng.uniform(0.5, 2, 2)
    best = best_by_enumeration(trace, 1, clock, decay, value)
    bound, _ = clairvoyant_bound(trace, 1, clock, decay, value)
    assert best <= bound * (1 + 1e-9)
    # With room for everybody the bound is what the plan of all visits finds.
    everywhere, subsidy = clairvoyant_bound(trace, 2, clock, decay, value)
    assert subsidy == 0
    assert everywhere == pytest.approx(best_by_enumeration(trace, 2, clock, decay, value))


def test_no_policy_beats_clairvoyant(trace):
    split = trace.second("2021-07-01")
    experiment = Experiment(trace, trace.begin, split, split + 4 * WEEK, 24.0, 1, phases=2)
    bounds = experiment.clairvoyant()
    hours = 4 * WEEK // 3600
    seen = experiment.observing(experiment.shrunk).weekly.sum(axis=1) / hours
    oracle = experiment.by_age(WhittlePolicy(experiment.sources(experiment.tested)))
    assert (seen <= bounds).all()
    assert (oracle.weekly.sum(axis=1) / hours <= bounds).all()
    assert (experiment.forgetting(2000.0).weekly.sum(axis=1) / hours <= bounds).all()
    assert (seen > 0.8 * bounds).all()  # and it is not an empty one


# Rates.


def test_rates_are_items_over_hours():
    trace = some(["a", "a", "b"], [0, DAY - 1, DAY])
    assert trained_rates(trace, 0, DAY).tolist() == pytest.approx([2 / 24, 0.0])


def test_prior_is_recovered():
    rng = np.random.default_rng(3)
    rates = rng.gamma(0.6, 1 / 300.0, 4000)
    counts = rng.poisson(rates * 1000.0)
    shape, rate = gamma_prior(counts, 1000.0)
    assert shape == pytest.approx(0.6, rel=0.1)
    assert rate == pytest.approx(300.0, rel=0.15)

    # Its likelihood is that of SciPy's negative binomial, and no neighbour's is larger.
    def likelihood(a, b):
        return nbinom.logpmf(counts, a, b / (b + 1000.0)).sum()

    best = likelihood(shape, rate)
    assert all(likelihood(shape * f, rate * g) < best for f in (0.97, 1.03) for g in (0.97, 1.03))


def test_shrunk_rates_are_closer():
    rng = np.random.default_rng(4)
    rates = rng.gamma(0.6, 1 / 300.0, 2000)
    counts = rng.poisson(rates * 200.0)
    shrunk = shrunk_rates(counts, 200.0, gamma_prior(counts, 200.0))
    assert np.mean((shrunk - rates) ** 2) < 0.9 * np.mean((counts / 200.0 - rates) ** 2)
    assert (shrunk > 0).all()


def test_no_items_no_prior():
    with pytest.raises(ValueError, match="counts"):
        gamma_prior(np.zeros(3, dtype=np.int64), 10.0)


# Experiments.


def test_choices_use_training_only(trace):
    """Items of the test period may change as they like: what is fitted and chosen stays."""
    split = trace.second("2020-07-02")
    end = split + 8 * WEEK
    late = np.where(trace.time >= split, (trace.source + 1) % len(trace), trace.source)
    other = Trace(trace.names, trace.origin, late, trace.time)
    memories = [24.0 * 30, 24.0 * 120]
    chosen = []
    for t in (trace, other):
        experiment = Experiment(t, trace.begin, split, end, 24.0, 1, phases=1)
        chosen.append((choose_memory(experiment, memories), experiment))
    (one, first), (two, second) = chosen
    assert one[0] == two[0]
    assert one[1].tolist() == two[1].tolist()
    assert first.trained.tolist() == second.trained.tolist()
    assert first.prior == second.prior
    assert first.tested.tolist() != second.tested.tolist()


def test_infinite_memory_is_shrunk_rate(trace):
    split = trace.second("2020-07-02")
    experiment = Experiment(trace, trace.begin, split, split + WEEK, 24.0, 1, phases=1, warm_up=0)
    outcome = experiment.by_age(WhittlePolicy(experiment.sources(experiment.shrunk)))
    learnt = experiment.forgetting(np.inf)
    # A week of visits brings little news against a year of training.
    assert learnt.weeks[0] == pytest.approx(outcome.weeks[0], rel=0.3)
    assert learnt.used == outcome.used == 1.0


def test_phases_cover_day(trace):
    split = trace.second("2020-07-02")
    experiment = Experiment(trace, trace.begin, split, split + WEEK, 24.0, 1)
    begins = [experiment.clock(phase)[0].begin % DAY for phase in range(8)]
    assert len(set(begins)) == 8
    assert len({begin % 3600 for begin in begins}) == 8
    weekly = experiment.by_age(RoundRobinPolicy()).weekly
    assert weekly.shape == (8, 1)
    assert len(set(weekly[:, 0])) == 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"half_life": 0.0}, "half_life"),
        ({"value": -1.0}, "value"),
        ({"budget": 437}, "budget"),
        ({"phases": 0}, "phases"),
        ({"period": 3601}, "period"),
        ({"end": 10}, "in order"),
        ({"end": 60 * WEEK + 5}, "whole weeks"),
        ({"end": 230 * WEEK}, "end"),
        ({"begin": -2 * WEEK}, "begin"),
    ],
)
def test_wrong_settings_are_refused(trace, change, said):
    facts = {"begin": 0, "split": 52 * WEEK, "end": 60 * WEEK, "half_life": 24.0, "budget": 1}
    with pytest.raises(ValueError, match=said):
        Experiment(trace, **{**facts, **change})


def test_rules_use_replay_epochs(trace):
    split = trace.second("2020-07-02")
    plan = Experiment(trace, trace.begin, split, split + WEEK, 24.0, 1, period=1800, phases=1)
    size = len(trace)
    for rule in (NutchAdaptive, StormCrawler, EntryFrequency, AutoTtl, CommaFeed):
        assert plan.untrained(lambda rule=rule: rule(size, 1800.0)).used > 0
        with pytest.raises(ValueError, match="policy"):
            plan.untrained(lambda rule=rule: rule(size))


def test_observations_match_sources(trace):
    known = known_from(trace, 0, WEEK, 50.0, np.ones(len(trace), dtype=np.int64))
    with pytest.raises(ValueError, match="known"):
        ForgettingIndex(four_sources(), known, 50.0, (0.5, 24.0), 0)


@pytest.mark.parametrize(("period", "phases"), [(1800, 2), (7200, 3), (86_400, 2)])
def test_weekly_values_by_brute_force(period, phases):
    """Visit by visit, with values, half-lives and epochs of any length."""
    rng = np.random.default_rng(period)
    items = [np.sort(rng.integers(0, 6 * WEEK, number)) for number in (400, 100, 3)]
    source, time = np.repeat([0, 1, 2], [400, 100, 3]), np.concatenate(items)
    order = np.argsort(time, kind="stable")
    trace = Trace(("a", "b", "c"), np.datetime64("2026-01-01", "s"), source[order], time[order])
    value, half_life = rng.uniform(0.5, 3, 3), rng.uniform(5, 80, 3)
    lengths = {"period": period, "phases": phases, "warm_up": 1}
    plan = Experiment(trace, 0, 3 * WEEK, 5 * WEEK, half_life, 1, value=value, **lengths)
    visits, outcome = plan.visits("whittle"), plan.by_age("whittle")
    for phase, bound in enumerate(plan.clairvoyant()):
        clock, before = plan.clock(phase)
        weekly, last = np.zeros(2), np.full(3, clock.begin - 1)
        for arm, epoch in sorted(zip(visits.arm, visits.epoch, strict=True), key=lambda v: v[1]):
            now = clock.begin + epoch * period
            found = items[arm][(items[arm] > last[arm]) & (items[arm] <= now)]
            if epoch >= before:
                worth = value[arm] * np.exp2((found - now) / 3600 / half_life[arm])
                weekly[(epoch - before) * period // WEEK] += worth.sum()
            last[arm] = now
        assert outcome.weekly[phase] == pytest.approx(weekly, rel=1e-9)
        assert weekly.sum() / (clock.horizon - before) <= bound * (1 + 1e-9)
    assert outcome.weeks == pytest.approx(outcome.weekly.mean(axis=0))
    assert outcome.used == visits.used(before)


def test_content_has_every_item():
    """Column t holds what comes after epoch t and up to epoch t + 1, both ends of the clock too."""
    trace = some(["a", "b"] * 250, np.arange(500) * 3600)
    split = trace.begin + WEEK
    experiment = Experiment(trace, trace.begin, split, split + WEEK, 24.0, 1, phases=1, warm_up=0)
    clock, _ = experiment.clock(0)
    content = experiment.content(clock)
    for arm in (0, 1):
        after = trace.times_of(arm) - clock.begin
        for column in range(clock.horizon):
            low, high = column * 3600, (column + 1) * 3600
            ages = (high - after[(after > low) & (after <= high)]) / 3600
            assert content[arm, column] == pytest.approx(np.exp2(-ages / 24.0).sum())
    assert content[:, -1].sum() == 1.0


# Intervals.


def test_blocks_are_consecutive_weeks():
    weights = block_weights(10, 10, 3, np.random.default_rng(0))
    assert weights.tolist() == [[1.0] * 10] * 3
    weights = block_weights(11, 4, 500, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 11).all()
    # With one block for all weeks but a few, inner weeks come most often.
    assert weights.mean(axis=0)[5] > weights.mean(axis=0)[0]


def test_bootstrap_spread():
    rng = np.random.default_rng(5)
    weights = block_weights(60, 4, 2000, rng)
    base = rng.gamma(2.0, 1.0, 60)
    assert ratio_interval(1.5 * base, base, weights) == pytest.approx((1.5, 1.5, 1.5))
    inside = 0
    for _ in range(60):
        base, other = rng.gamma(9.0, 1.0, 60), rng.gamma(9.0, 1.0, 60)
        _, low, high = ratio_interval(other, base, weights)
        inside += low <= 1.0 <= high
    assert inside >= 50


def test_short_trace_has_no_long_window():
    """Three weeks, and a source whose items all come at once: nan, no warning, no p-value."""
    rng = np.random.default_rng(3)
    drawn = np.sort(rng.integers(0, 3 * WEEK, 60))
    time = np.sort(np.concatenate([drawn, np.full(30, 12345)]))
    origin = np.datetime64("2024-01-04", "s")
    trace = Trace(("a", "b"), origin, (time == 12345).astype(np.int64), time)
    same = Trace(("a", "b"), origin, np.repeat([0, 1], 30), np.full(60, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table, alike = (compare_with_surrogates(one, 19, rng) for one in (trace, same))
    assert table.loc["fano, four weeks"].isna().all()
    assert table.drop("fano, four weeks").notna().all(axis=None)
    assert alike.loc[["gaps", "short gaps"]].isna().all(axis=None)
