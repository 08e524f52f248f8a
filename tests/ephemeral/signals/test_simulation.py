"""Hidden items and lying pings: the belief is calibrated, and the compiled loop is its policy."""

import numpy as np
import pytest

from analysis.ephemeral import RoundRobinPolicy, Sources, whittle_index
from analysis.ephemeral.signals.freshness import play_policy
from analysis.ephemeral.signals.guarantees import Account
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.signals.reliability import Reliability
from analysis.ephemeral.signals.simulation import (
    ANNOUNCED,
    FALSE,
    Events,
    Trust,
    draw_events,
    play_signals,
)


def drawn_signals(rng, size):
    decay = 10 ** rng.uniform(-2, 0.5, size)
    rate = 10 ** rng.uniform(-2, 0.7, size)
    recall, precision = rng.random(size), 10 ** rng.uniform(-1.5, 0, size)
    return Signals(Sources(rate, rng.uniform(0.5, 2, size), decay), recall, precision)


def path_of_errors(signals, rng, epochs, precision=None, recall=None):
    """Crawl one source after random gaps and where a ping was seen; return finds less beliefs."""
    source = signals.sources
    events = draw_events(signals, epochs, rng)
    time = events.epoch - events.age
    told = Signals(source, signals.recall if recall is None else recall, precision or 1.0)
    p = float(np.asarray(signals.precision)[0] if precision is None else precision)
    errors, parts, last = [], [], 0.0
    while last < epochs - 40:
        later = time[(time > last) & (events.kind > 0)]
        # A stopping time: a ping or two after the last crawl, or a gap that comes first.
        stop = last + rng.integers(1, 30)
        if later.size and rng.random() < 0.7:
            stop = min(stop, np.ceil(later[min(rng.integers(0, 3), later.size - 1)]))
        here = (time > last) & (time <= stop)
        left = np.exp(-source.decay_rate[0] * (stop - time[here]))
        found = (left * events.worth[here])[events.kind[here] < 2].sum()
        silent = told.unannounced[0] * -np.expm1(-source.decay_rate[0] * (stop - last))
        pings = p * source.mean_utility[0] * left[events.kind[here] > 0].sum()
        errors.append(found - silent - pings)
        parts.append(pings - silent)
        last = stop
    return np.array(errors), np.array(parts)


def pooled_score(errors):
    """Sum over instances, each in units of what is known beforehand, over its standard error."""
    return sum(e.sum() for e in errors) / np.sqrt(sum(e.size * e.var() for e in errors))


@pytest.mark.sampled
def test_belief_is_calibrated_at_every_crawl():
    rng = np.random.default_rng(1)
    errors, products, falsified = [], [], []
    for instance in range(1000):
        signals = drawn_signals(rng, 1)
        source = signals.sources
        scale = source.mean_utility[0] * np.sqrt(source.arrival_rate[0] / source.decay_rate[0])
        error, part = path_of_errors(signals, rng, 500)
        errors.append(error / scale)
        products.append(error * (part - part.mean()) / scale**2)
        if instance < 100:
            wrong, _ = path_of_errors(signals, rng, 500, precision=1.0)
            falsified.append(wrong / scale)
    assert abs(pooled_score(errors)) < 3
    assert abs(pooled_score(products)) < 3
    assert pooled_score(falsified) < -10  # every ping believed


SETTINGS = {
    "blind": Trust("blind"),
    "known": Trust("known", 0.6, 0.3),
    "believed": Trust("believed", 0.6),
    "learnt": Trust("learnt", memory=40.0, weight=3.0),
    "without credit": Trust("learnt", memory=40.0, credit=False),
    "hubs that die": Trust("learnt", memory=25.0, death_rate=0.02),
    "floor": Trust("known", 0.6, 0.3, shares=(0.5, 0.5), block=4),
    "account": Trust("believed", 0.6, shares=(0.25, 1.0), costs=(1.0, 5.0), block=12),
}


def slow_play(sources, events, trust, budget, horizon, hub):
    """The policies again, by the objects that a crawler uses.

    Returns rewards, crawls an epoch, the calendar's reward alone, and the gains of pings.
    """
    size, decay = len(sources), sources.decay
    reward, crawled, alone = np.zeros(horizon), [], 0.0
    content, owed, visited = np.zeros(size), np.zeros(size), np.zeros(size)
    waiting: list[list[tuple[float, str]]] = [[] for _ in range(size)]  # times of pings
    found = np.zeros((size, 2), int)  # items and announced ones
    last = np.zeros(size)
    reliability = Reliability(trust.memory, weight=trust.weight, death_rate=trust.death_rate)
    account = Account(trust.shares or (1.0, 1.0), trust.costs)
    share, gains, charged, place = account.shares[1], 0.0, 0.0, 0
    for epoch in range(1, horizon + 1):
        content, owed = content * np.exp(-decay), owed * np.exp(-decay)
        while place < events.epoch.size and events.epoch[place] <= epoch:
            i, kind = events.source[place], events.kind[place]
            if kind != FALSE:
                content[i] += np.exp(-decay[i] * events.age[place]) * events.worth[place]
                found[i, 0] += 1
            if kind and hub[i] >= 0:
                waiting[i].append(epoch - events.age[place])
                found[i, 1] += kind == ANNOUNCED
                reliability.observe_ping(str(hub[i]), str(i), float(epoch))
            place += 1
        step = (epoch - 1) % trust.block
        if trust.shares and step == 0 and trust.shares[1] > trust.shares[0]:
            balance = gains - owed.sum()
            account.add(balance - charged)
            charged = balance
            share = account.open_block()
        own = trust.shares is None or int(share * (step + 1) + 1e-9) > int(share * step + 1e-9)
        recall, precision = np.zeros(size), np.ones(size)
        for i in range(size):
            if trust.kind == "blind" or hub[i] < 0 or not own:
                continue
            recall[i] = np.broadcast_to(trust.recall, size)[i]
            if trust.kind == "known":
                precision[i] = np.broadcast_to(trust.precision, size)[i]
            if trust.kind == "learnt":
                recall[i] = reliability.recall(str(hub[i]), float(epoch))
                precision[i] = reliability.precision(str(hub[i]), str(i), float(epoch))
        worth = sources.u_star * -np.expm1(-decay * (epoch - (last if own else visited)))
        if own:
            worth *= 1 - recall if trust.credit else 1
            if trust.kind != "blind":
                for i in range(size):
                    if hub[i] >= 0:
                        pings = np.exp(-decay[i] * (epoch - np.array(waiting[i]))).sum()
                        worth[i] += precision[i] * sources.mean_utility[i] * pings
        index = whittle_index(sources, worth)
        chosen = np.sort(np.argsort(-index, kind="stable")[:budget])
        crawled.append(chosen.tolist())
        for i in chosen:
            reward[epoch - 1] += content[i]
            if own:
                gains, owed[i] = gains + content[i], owed[i] + content[i]
            else:
                alone += content[i] + owed[i]
                gains, owed[i], visited[i] = gains - owed[i], 0.0, epoch
            if hub[i] >= 0:
                names = {str(hub[i]): int(found[i, 1])}
                reliability.observe_crawl(str(i), float(epoch), int(found[i, 0]), names)
            content[i], waiting[i], found[i], last[i] = 0.0, [], 0, epoch
    return reward, crawled, alone, gains


@pytest.mark.parametrize("name", SETTINGS)
def test_compiled_play_equals_slow_play(name):
    trust = SETTINGS[name]
    rng = np.random.default_rng(2)
    equal = 0
    for _ in range(8):
        signals = drawn_signals(rng, 6)
        hub = rng.integers(-1, 2, 6)
        events, horizon = draw_events(signals, 150, rng), 150
        reward, crawled, alone, gains = slow_play(signals.sources, events, trust, 2, horizon, hub)
        run = play_signals(signals.sources, events, trust, 2, horizon, hub)
        expected = np.bincount(np.concatenate(crawled), minlength=6)
        equal += np.array_equal(run.crawls, expected)
        np.testing.assert_allclose(run.reward, reward, rtol=1e-9, atol=1e-12)
        assert run.gains == pytest.approx(gains, rel=1e-9, abs=1e-9)
        if trust.shares:  # what the calendar would get alone, and what pings gained
            assert run.reward.sum() == pytest.approx(alone + gains, rel=1e-9)
    assert equal == 8


def test_learning_finds_recall_and_precision():
    rng = np.random.default_rng(3)
    signals = Signals(Sources(np.full(40, 0.03), np.ones(40), np.full(40, 0.05)), 0.7, 0.2)
    events = draw_events(signals, 20_000, rng)
    run = play_signals(signals.sources, events, Trust("learnt"), 4, 20_000)
    assert run.recall[0] == pytest.approx(0.7, abs=0.02)
    assert run.precision.mean() == pytest.approx(0.2, abs=0.01)
    known = play_signals(signals.sources, events, Trust("known", 0.7, 0.2), 4, 20_000)
    assert run.reward.sum() > 0.99 * known.reward.sum()
    blind = play_signals(signals.sources, events, Trust("blind"), 4, 20_000)
    assert known.reward.sum() > 1.02 * blind.reward.sum()


def spammed(signals, horizon, rng, pings):
    """Items and pings of the model, and one source without items about which a liar pings."""
    sources = signals.sources
    silent = Sources(
        np.append(sources.arrival_rate, 1e-9),
        np.append(sources.mean_utility, 1.0),
        np.append(sources.decay_rate, 0.1),
    )
    events = draw_events(signals, horizon, rng)
    time = np.append(events.epoch - events.age, horizon * rng.random(pings * horizon))
    more = np.full(pings * horizon, len(sources))
    return silent, Events.at(
        time,
        np.append(events.source, more),
        np.append(events.kind, np.full(more.size, 2)),
        np.append(events.worth, np.zeros(more.size)),
    )


def test_liar_harms_believers_most():
    rng = np.random.default_rng(4)
    signals = Signals(Sources(np.full(20, 0.05), np.ones(20), np.full(20, 0.05)), 0.9, 0.5)
    sources, events = spammed(signals, 4000, rng, 10)
    kinds = {kind: Trust(kind, 0.9, 0.5) for kind in ("blind", "known", "learnt")}
    reward = {
        kind: play_signals(sources, events, trust, 1, 4000).reward.sum()
        for kind, trust in kinds.items()
    }
    assert reward["known"] < 0.2 * reward["blind"]
    honest = play_signals(signals.sources, draw_events(signals, 4000, rng), kinds["known"], 1, 4000)
    assert reward["learnt"] > 0.93 * honest.reward.sum()


def test_million_pings_cost_few_crawls():
    signals = Signals(Sources([0.2, 0.1], [1.0, 1.0], [0.1, 0.1]), 0.5, 0.5)
    rng = np.random.default_rng(5)
    events = draw_events(signals, 300, rng)
    burst = np.full(1_000_000, 100.5)
    both = Events.at(
        np.append(events.epoch - events.age, burst),
        np.append(events.source, np.zeros(burst.size, int)),
        np.append(events.kind, np.full(burst.size, 2)),
        np.append(events.worth, np.zeros(burst.size)),
    )
    run = play_signals(signals.sources, both, Trust("learnt"), 1, 300)
    assert run.precision[0] < 1e-4
    assert run.crawls.sum() == 300
    assert run.crawls[1] > 50


def test_wrong_settings_are_named():
    for name, value in {
        "kind": "trusting", "memory": 0.0, "weight": np.nan, "death_rate": -1.0,
        "shares": (0.5, 0.2), "block": 0, "credit": 1,
    }.items():  # fmt: skip
        with pytest.raises(ValueError, match=name):
            Trust(**{"kind": "learnt", name: value})
    for name, value in {
        "costs": (1.0, np.nan),
        "shares": (0.1, 0.2, 0.3),
        "costs ": (2.0, 1.0),
    }.items():
        with pytest.raises(ValueError, match=name.strip()):
            Trust(**{name.strip(): value})
    signals = drawn_signals(np.random.default_rng(6), 3)
    events = draw_events(signals, 20, 1)
    for hub in ([0, 0], [0, -2, 0], [0, 3, 0], [0.5, 0, 0], [np.nan, 0, 0]):
        with pytest.raises(ValueError, match="hub"):
            play_signals(signals.sources, events, Trust(), 1, 5, hub)
    for name, place, value in (
        ("source", 0, 3), ("source", 1, -1), ("kind", 0, 3), ("age", 0, np.nan), ("age", 2, 1.5),
        ("worth", 0, np.inf), ("worth", 1, -1.0), ("epoch", 0, 10**6),
    ):  # fmt: skip
        wrong = {key: getattr(events, key).copy() for key in vars(events)}
        wrong[name][place] = value
        for play in (play_signals, play_policy):
            policy = Trust() if play is play_signals else RoundRobinPolicy()
            with pytest.raises(ValueError, match=f"{name} of events"):
                play(signals.sources, Events(**wrong), policy, 1, 5)
    shorter = Events(events.epoch, events.source[1:], events.kind, events.age, events.worth)
    with pytest.raises(ValueError, match="source of events"):
        play_signals(signals.sources, shorter, Trust(), 1, 5)
    with pytest.raises(ValueError, match="horizon"):
        draw_events(signals, 0, 1)
    with pytest.raises(ValueError, match="budget"):
        play_signals(signals.sources, draw_events(signals, 5, 1), Trust(), 4, 5)
