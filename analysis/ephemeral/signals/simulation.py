"""Crawls of hidden items by pings: known, believed and learnt reliability, with floor and account.

Items and pings come as `Events`, drawn from the model or made from a record. At each epoch a policy
sees the pings so far and what its crawls found, and crawls the sources of largest index of expected
content, at the expected worth Y of `signals.model`:

    blind      no pings, Y at a recall of 0
    known      recall and precision are given and stay
    believed   recall is given, every ping is taken for true
    learnt     both are estimated, per hub and per source, by counts that fade

Estimates begin at a uniform prior and use labels alone: a crawl shows which pings since the last
crawl announced an item. A source's precision is shrunk to its hub's with the weight of `weight`
pings, and at a crawl a source counts as at most so many for its hub, so that one about which
a liar pings does not ruin the others. All counts fade at every epoch, crawled or not.

With a floor, only a share of the epochs is given to the pings, the rest to a calendar: the index
of ages since the calendar's own last visit. An account sets that share anew at each block of
epochs: `shares[1]` if what pings gained so far, less what their epochs cost the calendar, is not
negative, and `shares[0]` if it is. What pings gained is what their crawls took, less what the
calendar would have got for the same items at its next visit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_number,
    check_positive,
    check_rng,
    check_whole,
    set_fields,
)
from analysis.ephemeral.kernels import h, mark_top, relative_index
from analysis.ephemeral.signals.guarantees import check_pair
from analysis.ephemeral.signals.model import Signals, check_shares
from analysis.ephemeral.sources import Sources
from analysis.kernel_cache import njit

TRUSTS = ("blind", "known", "believed", "learnt")
SILENT, ANNOUNCED, FALSE = 0, 1, 2
"""Kinds of events: an item without a ping, one with a ping, and a ping without an item."""


@read_only_arrays
@dataclass(frozen=True, eq=False)
class Events:
    """Items and pings in order of the epoch from which a crawl can meet them.

    `epoch`, `source` and `kind`, shape (n,), say when, where and which of `SILENT`, `ANNOUNCED` and
    `FALSE`; `age`, in [0, 1), is the time from the event to that epoch, in epochs, and `worth` that
    of the item at its publication, 0 for a false ping.
    """

    epoch: Ints
    source: Ints
    kind: Ints
    age: Floats
    worth: Floats

    @classmethod
    def at(cls, time: Floats, source: Ints, kind: Ints, worth: Floats) -> Events:
        """Return events at times in epochs, in order; an event on an epoch belongs to it."""
        order = np.argsort(time, kind="stable")
        epoch = np.ceil(time[order]).astype(np.int64)
        return cls(epoch, source[order], kind[order], epoch - time[order], worth[order])

    def check(self, sources: int) -> None:
        """Raise ValueError naming what is wrong: compiled loops read these arrays unchecked."""
        shape = np.shape(self.epoch)
        for name in ("epoch", "source", "kind", "age", "worth"):
            array = getattr(self, name)
            if np.shape(array) != shape or len(shape) != 1:
                raise ValueError(f"{name} of events must have shape {shape}, got {np.shape(array)}")
            whole = name in ("epoch", "source", "kind")
            if whole and not np.issubdtype(array.dtype, np.signedinteger):
                raise ValueError(f"{name} of events must be integers, got {array.dtype}")
        if not shape[0]:
            return
        if (np.diff(self.epoch) < 0).any():
            raise ValueError("epoch of events must not fall")
        check_integer("source of events", int(self.source.min()), 0, sources - 1)
        check_integer("source of events", int(self.source.max()), 0, sources - 1)
        check_integer("kind of events", int(self.kind.min()), SILENT, FALSE)
        check_integer("kind of events", int(self.kind.max()), SILENT, FALSE)
        check_array("age of events", self.age, 0, 1)
        check_array("worth of events", self.worth, 0)


def draw_events(signals: Signals, horizon: int, rng: Rng) -> Events:
    """Draw items and pings of `horizon` epochs from the model; an item's worth is exponential."""
    check_kind("signals", signals, Signals)
    rng, horizon = check_rng(rng), check_integer("horizon", horizon, 1)
    source = signals.sources
    recall, all_arms = np.asarray(signals.recall), np.arange(len(signals))
    items = rng.poisson(source.arrival_rate * source.period * horizon)
    arm = np.repeat(all_arms, items.astype(np.intp))
    false_rate = np.maximum(signals.ping_rate - source.arrival_rate * recall, 0.0)
    false = rng.poisson(false_rate * source.period * horizon)
    liar = np.repeat(all_arms, false.astype(np.intp))
    kind = np.where(rng.random(arm.size) < recall[arm], ANNOUNCED, SILENT)
    worth = source.mean_utility[arm] * rng.standard_exponential(arm.size)
    return Events.at(
        horizon * rng.random(arm.size + liar.size),
        np.concatenate([arm, liar]),
        np.concatenate([kind, np.full(liar.size, FALSE)]),
        np.concatenate([worth, np.zeros(liar.size)]),
    )


@read_only_arrays
@dataclass(frozen=True, eq=False)
class Trust:
    """How a crawler uses pings; see the module.

    Parameters
    ----------
    kind : {"blind", "known", "believed", "learnt"}
        Where recall and precision come from.
    recall, precision : float or array_like, shape (N,)
        What a crawler that is told believes of each source.
    memory : float
        Epochs after which a count weighs exp(-1); infinite for counts that stay.
    weight : float
        Pings that a hub's precision is worth, in the estimate of a source's.
    credit : bool
        Whether a source that is silent is taken to hold less (recall counts in the age part).
    death_rate : float
        Deaths of a hub per epoch; above 0, a hub whose silence makes its death more likely than
        not has no recall until its next ping. Of ``learnt`` alone.
    shares : (float, float), optional
        Shares of the epochs that pings get in a block: the account's least and most; equal for a
        floor. Without it pings choose at every epoch.
    costs : (float, float)
        What these shares cost the calendar in a block, `calendar_cost`.
    block : int
        Epochs of a block.
    """

    kind: str = "learnt"
    recall: Floats | float = 0.0
    precision: Floats | float = 1.0
    memory: float = np.inf
    weight: float = 10.0
    credit: bool = True
    death_rate: float = 0.0
    shares: tuple[float, float] | None = None
    costs: tuple[float, float] = (0.0, 0.0)
    block: int = 1

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, TRUSTS)
        check_kind("credit", self.credit, bool)
        memory = check_number("memory", self.memory, 0, low_open=True)
        weight = check_positive("weight", self.weight)
        death = check_number("death_rate", self.death_rate, 0, high_open=True)
        block = check_integer("block", self.block, 1)
        set_fields(self, memory=memory, weight=weight, death_rate=death, block=block)
        check_pair("costs", self.costs, np.inf)
        if self.shares is not None:
            check_pair("shares", self.shares, 1)


@read_only_arrays
@dataclass(frozen=True, eq=False)
class SignalRun:
    """One run: worth collected at each epoch, and the crawls, pings and trust that went with it.

    `reward`, shape (horizon,); `crawls`, shape (N,); `pings` seen; `gains`, what crawls of pings
    took less what the calendar would have got for the same items, counted at its visits;
    `precision`, shape (N,), and `recall`, shape (hubs,), at the end.
    """

    reward: Floats
    crawls: Ints
    pings: int
    gains: float
    precision: Floats
    recall: Floats


def play_signals(
    sources: Sources,
    events: Events,
    trust: Trust,
    budget: int,
    horizon: int,
    hub: Ints | None = None,
) -> SignalRun:
    """Play the index at expected worth on items and pings.

    Parameters
    ----------
    sources : Sources
        N sources, as the crawler believes them to be.
    events : Events
        What happens.
    trust : Trust
        How pings are used.
    budget : int
        Crawls an epoch.
    horizon : int
        Epochs 1, ..., horizon; sources are empty at epoch 0.
    hub : ndarray of int, shape (N,)
        Number of each source's hub, from 0; -1 for a source whose pings are ignored, and whose
        silence means nothing. One hub for all by default.

    Returns
    -------
    SignalRun

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    check_kind("sources", sources, Sources)
    check_kind("events", events, Events)
    check_kind("trust", trust, Trust)
    size = len(sources)
    budget, horizon = check_whole("budget", budget, 1, size), check_integer("horizon", horizon, 1)
    events.check(size)
    hub = np.zeros(size, np.int64) if hub is None else check_integers("hub", hub)
    if hub.shape != (size,):
        raise ValueError(f"hub must have shape ({size},), got {hub.shape}")
    for number in hub[(hub < -1) | (hub >= size)][:1].tolist():
        check_integer("hub", number, -1, size - 1)
    recall, precision = (
        check_shares("recall", trust.recall, size),
        check_shares("precision", trust.precision, size),
    )
    hubs = max(int(hub.max()) + 1, 1)
    estimated_recall, level = np.zeros(hubs), precision.copy()
    reward, crawls = np.zeros(horizon), np.zeros(size, np.int64)
    totals = np.zeros(2)
    low, high = trust.shares or (1.0, 1.0)
    settings = _Settings(
        TRUSTS.index(trust.kind), trust.shares is not None, trust.credit,
        np.exp(-1.0 / trust.memory), trust.weight, trust.death_rate,
        np.array([low, high]), np.array(trust.costs, np.float64), trust.block,
    )  # fmt: skip
    arms = _Arms(sources.u_star, sources.decay, sources.mean_utility, sources.cost, recall, hub)
    event_arrays = _Events(events.epoch, events.source, events.kind, events.age, events.worth)
    results = _Results(reward, crawls, level, estimated_recall, totals)
    _play(settings, arms, event_arrays, budget, results)
    return SignalRun(reward, crawls, int(totals[0]), float(totals[1]), level, estimated_recall)


#: Numbers of `TRUSTS` in compiled code.
_BLIND, _, _BELIEVED, _LEARNT = range(len(TRUSTS))


class _Settings(NamedTuple):
    """What `Trust` says, for compiled code."""

    kind: int  # number in TRUSTS
    calendar: bool  # whether a share of the epochs is the calendar's
    credit: bool
    fade: float  # factor of all counts at each epoch
    weight: float
    death_rate: float
    shares: Floats  # (2,)
    costs: Floats  # (2,)
    block: int


class _Arms(NamedTuple):
    """The sources, and what the crawler is told of their recall; shapes (N,)."""

    u_star: Floats
    decay: Floats
    mean_utility: Floats
    cost: Floats
    recall: Floats
    hub: Ints


class _Events(NamedTuple):
    """The arrays of `Events`; shapes (n,)."""

    epoch: Ints
    source: Ints
    kind: Ints
    age: Floats
    worth: Floats


class _Results(NamedTuple):
    """What a run writes."""

    reward: Floats  # (horizon,)
    crawls: Ints  # (N,)
    precision: Floats  # (N,): as it is told at first, as it is learnt at the end
    recall: Floats  # (hubs,)
    totals: Floats  # (2,): pings seen, and their gains


@njit
def _play(trust: _Settings, arms: _Arms, events: _Events, budget: int, results: _Results) -> None:
    """Play epoch by epoch: events, estimates, the account, priorities, crawls."""
    size, hubs, horizon = arms.u_star.size, results.recall.size, results.reward.size
    u_star, decay, cost, hub = arms.u_star, arms.decay, arms.cost, arms.hub
    reward, crawls, precision = results.reward, results.crawls, results.precision
    learnt, shares = trust.kind == _LEARNT, trust.shares
    alpha, bend = np.exp(-decay), np.empty(size)
    for i in range(size):
        bend[i] = h(decay[i])
    # What is there, since the last crawl: items, discounted pings, pings, and true ones.
    content, waiting = np.zeros(size), np.zeros(size)
    pings, true, items = np.zeros(size), np.zeros(size), np.zeros(size)
    silence = np.ones(size)  # alpha^age
    # What the calendar would find besides: items that pings' crawls took since its last visit.
    owed, visited = np.zeros(size), np.ones(size)
    # Fading counts: of each source its pings and true ones, of each hub also items and announced.
    of_source, of_hub = np.zeros((size, 2)), np.zeros((hubs, 4))
    hub_pings, watched, last_ping = np.zeros(hubs), 0.0, np.zeros(hubs)
    hub_recall, hub_precision = np.full(hubs, 0.5), np.full(hubs, 0.5)
    priority, work = np.empty(size), np.empty(size)
    chosen = np.empty(size, dtype=np.bool_)
    share, balance, spent, gains = shares[1], 0.0, 0.0, 0.0
    event = 0
    for epoch in range(1, horizon + 1):
        for i in range(size):
            content[i] *= alpha[i]
            waiting[i] *= alpha[i]
            silence[i] *= alpha[i]
            owed[i] *= alpha[i]
            visited[i] *= alpha[i]
        if learnt:
            watched = watched * trust.fade + 1.0
            for i in range(size):
                of_source[i, 0] *= trust.fade
                of_source[i, 1] *= trust.fade
            for k in range(hubs):
                hub_pings[k] *= trust.fade
                for j in range(4):
                    of_hub[k, j] *= trust.fade
        # The events that a crawl of this epoch can meet; a source without a hub has no pings.
        while event < events.epoch.size and events.epoch[event] <= epoch:
            i, kind = events.source[event], events.kind[event]
            decayed = np.exp(-decay[i] * events.age[event])
            if kind != FALSE:
                content[i] += decayed * events.worth[event]
                items[i] += 1.0
            if kind != SILENT and hub[i] >= 0:
                waiting[i] += decayed
                pings[i] += 1.0
                true[i] += kind == ANNOUNCED
                hub_pings[hub[i]] += 1.0
                last_ping[hub[i]] = epoch
                results.totals[0] += 1.0
            event += 1
        if learnt:
            for k in range(hubs):
                hub_precision[k] = (1.0 + of_hub[k, 1]) / (2.0 + of_hub[k, 0])
                hub_recall[k] = (1.0 + of_hub[k, 3]) / (2.0 + of_hub[k, 2])
                if trust.death_rate > 0.0:
                    # From `until` on, so long a silence is likelier of a dead hub than of a living.
                    rate = hub_pings[k] / watched
                    until = np.log(2.0 + rate / trust.death_rate) / (trust.death_rate + rate)
                    if epoch - last_ping[k] > until:
                        hub_recall[k] = 0.0
        step = (epoch - 1) % trust.block
        if trust.calendar and step == 0 and shares[1] > shares[0]:
            # What the calendar still gets for items taken is at most what they are worth now.
            balance = gains - owed.sum() - spent
            share = shares[1] if balance >= 0.0 else shares[0]
            spent += trust.costs[1] if balance >= 0.0 else trust.costs[0]
        # Epochs of the pings are spread over the block; floor(share n) of the first n are theirs.
        own = not trust.calendar
        own |= np.floor(share * (step + 1) + 1e-9) > np.floor(share * step + 1e-9)
        for i in range(size):
            if own:
                expected = u_star[i] * (1.0 - silence[i])
                if trust.kind != _BLIND and hub[i] >= 0:
                    r, p = arms.recall[i], precision[i]
                    if trust.kind == _BELIEVED:
                        p = 1.0
                    elif learnt:
                        r = hub_recall[hub[i]]
                        p = trust.weight * hub_precision[hub[i]] + of_source[i, 1]
                        p = precision[i] = p / (trust.weight + of_source[i, 0])
                    if trust.credit:
                        expected *= 1.0 - r
                    expected += p * arms.mean_utility[i] * waiting[i]
            else:
                expected = u_star[i] * (1.0 - visited[i])
            priority[i] = expected / cost[i]
            if 0.0 < expected < u_star[i]:
                ratio = expected / u_star[i]
                priority[i] = u_star[i] / cost[i] * relative_index(decay[i], bend[i], ratio)
        mark_top(priority, budget, work, chosen)
        for i in range(size):
            if not chosen[i]:
                continue
            reward[epoch - 1] += content[i]
            crawls[i] += 1
            if own:
                owed[i] += content[i]
                gains += content[i]
            else:
                gains -= owed[i]
                owed[i] = 0.0
                visited[i] = 1.0
            if hub[i] >= 0:
                of_source[i, 0] += pings[i]
                of_source[i, 1] += true[i]
                # No source tells more of its hub than `weight` pings at a crawl.
                counted = min(1.0, max(trust.weight, 1.0) / max(pings[i], 1.0))
                of_hub[hub[i], 0] += counted * pings[i]
                of_hub[hub[i], 1] += counted * true[i]
                of_hub[hub[i], 2] += items[i]
                of_hub[hub[i], 3] += true[i]
            content[i] = waiting[i] = pings[i] = true[i] = items[i] = 0.0
            silence[i] = 1.0
    results.totals[1] = gains
    for k in range(hubs):
        results.recall[k] = hub_recall[k]
