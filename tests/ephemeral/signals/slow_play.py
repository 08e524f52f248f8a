"""The policies of `signals.simulation` again, by the objects that a crawler uses."""

import numpy as np

from analysis.ephemeral import Sources, whittle_index
from analysis.ephemeral.signals.guarantees import Account
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.signals.reliability import Reliability
from analysis.ephemeral.signals.simulation import ANNOUNCED, FALSE


def slow_play(sources, events, trust, budget, horizon, hub):
    """Return rewards, crawls an epoch, the calendar's reward alone, and the gains of pings."""
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


def belief_by_definition(signals: Signals, last, pings, time):
    """Y of each source, from the times of its pings since its last crawl."""
    sources: Sources = signals.sources
    worth = sources.u_star * (1 - np.asarray(signals.recall))
    worth = worth * -np.expm1(-sources.decay_rate * (time - last))
    for i, times in enumerate(pings):
        left = np.exp(-sources.decay_rate[i] * (time - np.array(times))).sum()
        worth[i] += np.asarray(signals.precision)[i] * sources.mean_utility[i] * left
    return worth
