"""Rivals that keep copies fresh: an index with noisy pings, LambdaCrawl with pings, fixed rates.

A copy is fresh while no item came since its last crawl. With n pings in the time t since then it is
fresh with probability exp(-L), L = Lambda (1 - r) t + n b and b = -log(1 - p): an item without a
ping did not come, and no ping was true. L only rises until the next crawl. At a price of a crawl,
E int_0^tau (exp(-L_s) - g) ds is largest, path by path, at the first passage of L over -log g; so a
page has an index in its own right, the price at which it is crawled at the level L,

    V(L) = E int_0^tau exp(-L_s) ds - exp(-L) E tau,     tau the first passage of L.

Before it, n pings at time s have s < t_n = (L - n b) / (Lambda (1 - r)), and pings are Poisson of
the rate psi = Lambda r / p, false ones of the rate phi = psi (1 - p). With P the regularised
incomplete gamma function,

    V(L) = sum_{n b < L} phi^n / (Lambda + phi)^(n+1) P(n + 1, (Lambda + phi) t_n)
           - exp(-L) / psi P(n + 1, psi t_n).

This is the crawl value of Busa-Fekete et al. (A scalable crawling algorithm utilizing noisy
change-indicating signals, 2025), derived here from their model; their policy crawls where it is
largest. LambdaCrawl (Kolobov et al., 2019) knows pings that are complete: a page is crawled after a
change with some probability, which minimises the average of m H(N), H the harmonic numbers and N
the changes outstanding. Kolobov et al. (Optimal freshness crawl under politeness constraints, 2019)
have rates of crawls at random times that maximise the freshness, here without limits of hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import gammainc

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import (
    Rng,
    check_array,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    check_rng,
    check_whole,
)
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.policies import Observation, Policy, select_arms, top
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.signals.simulation import FALSE, SILENT, Events
from analysis.ephemeral.sources import Sources

LEAST_PRECISION = 0.01
"""Below it the sum over pings has too many terms."""
FRESHLESS = 40.0
"""Level from which on a copy is not fresh, exp(-40), and V is constant."""


def crawl_value(recall: float, precision: float, level: ArrayLike) -> Floats:
    """Return Lambda V(L), the value of a crawl for the freshness of one page.

    Parameters
    ----------
    recall : float
        r, in [0, 1].
    precision : float
        p, in [0.01, 1]; of no consequence where r is 0.
    level : array_like
        L, minus the logarithm of the probability that the copy is fresh; not negative.

    Returns
    -------
    ndarray, shape of `level`
        In [0, 1]; the value of a page of importance m is m / Lambda times that.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> crawl_value(0.0, 1.0, [1.0]).round(4).tolist()  # 1 - (1 + L) exp(-L)
    [0.2642]
    """
    r = check_number("recall", recall, 0, 1)
    p = check_number("precision", precision, LEAST_PRECISION, 1)
    levels = check_array("level", level, 0, finite=False)
    top_level = np.minimum(levels, FRESHLESS).ravel()
    if r == 0:
        value = -np.expm1(-top_level) - top_level * np.exp(-top_level)
        return np.clip(value, 0.0, 1.0).reshape(levels.shape)
    pings, false = r / p, r * (1 - p) / p
    step = -np.log1p(-p) if p < 1 else np.inf
    value = np.zeros(top_level.shape)
    most = top_level.max(initial=0.0)
    for n in range(int(np.ceil(most / step)) if p < 1 else 1):
        before = top_level > n * step if n else top_level > 0
        room = top_level[before] - (n * step if n else 0.0)
        time = room / (1 - r) if r < 1 else np.full(room.shape, np.inf)
        share = (false / (1 + false)) ** n / (1 + false) if n else 1 / (1 + false)
        value[before] += share * gammainc(n + 1, (1 + false) * time)
        value[before] -= np.exp(-top_level[before]) / pings * gammainc(n + 1, pings * time)
    return np.clip(value, 0.0, 1.0).reshape(levels.shape)


def ping_probabilities(ping_rate: ArrayLike, importance: ArrayLike, budget: float) -> Floats:
    """Return LambdaCrawl's probability of a crawl after each change that a page announces.

    They minimise the sum of -m log(p), the average of m H(N), with crawls `ping_rate` p that sum to
    the budget.

    Parameters
    ----------
    ping_rate : array_like, shape (N,)
        Announced changes per unit of time, not negative.
    importance : array_like, shape (N,)
        m, not negative.
    budget : float
        Crawls per unit of time, positive; where there are crawls for all changes, all are followed.

    Returns
    -------
    ndarray, shape (N,)
        min(1, m / (lambda ping_rate)); 0 where the importance is 0, if changes outnumber crawls.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> ping_probabilities([1.0, 4.0], [1.0, 1.0], 2.5).round(3).tolist()
    [1.0, 0.375]
    """
    rate, weight = _pages("ping_rate", ping_rate, importance)
    budget = check_number("budget", budget, 0, low_open=True)
    if rate.sum() <= budget:
        return np.ones_like(rate)
    # A page is followed always from the price m / rate down; each further one frees no more.
    worth = np.divide(weight, rate, out=np.full_like(rate, np.inf), where=rate > 0)
    order = np.argsort(-worth, kind="stable")
    probability, remaining, weights = np.zeros_like(rate), budget, float(weight.sum())
    for rank, page in enumerate(order.tolist()):
        if remaining * weight[page] < weights * rate[page] or weights <= 0:
            pinged = order[rank:]
            if weights > 0:
                probability[pinged] = remaining * weight[pinged] / weights / rate[pinged]
            break
        probability[page] = 1.0
        remaining, weights = remaining - rate[page], weights - weight[page]
    return np.clip(probability, 0.0, 1.0)


def fresh_rates(change_rate: ArrayLike, importance: ArrayLike, budget: float) -> Floats:
    """Return the rates of crawls at random times that keep most copies fresh.

    They maximise the sum of m rho / (rho + D) under a budget.

    Parameters
    ----------
    change_rate, importance : array_like, shape (N,)
        D and m; not negative.
    budget : float
        Crawls per epoch, positive.

    Returns
    -------
    ndarray, shape (N,)
        rho = sqrt(m D / lambda) - D in [0, 1].

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> fresh_rates([0.1, 0.1, 1.0], [1.0, 1.0, 1.0], 0.6).round(2).tolist()
    [0.25, 0.25, 0.1]
    """
    change, weight = _pages("change_rate", change_rate, importance)
    budget = check_positive("budget", budget)
    live = (change > 0) & (weight > 0)
    if not live.any():
        return np.zeros_like(change)

    def asked(log_price: float) -> float:
        return float(_rates(change, weight, np.exp(log_price)).sum()) - budget

    # At the price m/D a page is not crawled, and at m D / (1 + D)^2 at every epoch.
    high = float(np.log(weight[live] / change[live]).max())
    low = float(np.log(weight[live] * change[live] / (1 + change[live]) ** 2).min())
    if asked(low) <= 0:
        return _rates(change, weight, 0.0)
    log_price = high if asked(high) > 0 else brentq(asked, low, high, xtol=1e-14)
    return _rates(change, weight, float(np.exp(log_price)))


def _rates(change: Floats, weight: Floats, price: float) -> Floats:
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rate = np.sqrt(weight * change / price) - change
    return np.where((change > 0) & (weight > 0), np.clip(rate, 0.0, 1.0), 0.0)


def _pages(name: str, rate: ArrayLike, importance: ArrayLike) -> tuple[Floats, Floats]:
    rates, weight = check_array(name, rate, 0), check_array("importance", importance, 0)
    if rates.ndim != 1 or weight.shape != rates.shape:
        raise ValueError(f"importance must have shape (N,) as {name}, got {weight.shape}")
    return rates, weight


# Play --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PingObservation(Observation):
    """What a policy sees that is told of pings; `state` is not observed.

    `pings`, shape (N,), since the last crawl of each source; `discounted`, shape (N,), their sum of
    exp(-mu age); `arriving`, the sources of those of this epoch, in order.
    """

    pings: Ints
    discounted: Floats
    arriving: Ints


def _with_pings(observation: Observation) -> PingObservation:
    """Return an observation of `play_policy`; ValueError for one without pings."""
    if not isinstance(observation, PingObservation):
        raise ValueError(
            f"observation must have pings, as in `play_policy`, got {type(observation).__name__}"
        )
    return observation


class ExpectedContentPolicy:
    """Crawl where the index of expected content (Theorem 1 of the report) is largest at Y."""

    def __init__(self, signals: Signals) -> None:
        check_kind("signals", signals, Signals)
        self.signals = signals

    def select(self, observation: Observation, budget: int, rng: Rng = None) -> Ints:
        """Return the sources of largest index."""
        pinged = _with_pings(observation)
        silent = -np.expm1(-self.signals.sources.decay * pinged.age) * self.signals.unannounced
        worth = silent + self.signals.jump * pinged.discounted
        return top(whittle_index(self.signals.sources, worth), budget)


class FreshnessPolicy:
    """Crawl where the value of a crawl for freshness is largest (GREEDY-NCIS)."""

    def __init__(self, signals: Signals, importance: ArrayLike = 1.0) -> None:
        check_kind("signals", signals, Signals)
        rate = signals.sources.arrival_rate * signals.sources.period
        weight = np.broadcast_to(check_array("importance", importance, 0), rate.shape)
        self.scale = np.divide(weight, rate, out=np.zeros(rate.shape), where=rate > 0)
        recall = np.where(rate > 0, signals.recall, 0.0)
        precision = np.where(recall > 0, signals.precision, 1.0)
        self.drift = rate * (1.0 - recall)
        with np.errstate(divide="ignore"):
            self.step = np.where(recall > 0, -np.log1p(-precision), 0.0)
        self.grid = np.concatenate([[0.0], np.geomspace(1e-6, FRESHLESS, 2000)])
        pairs, self.kind = np.unique(
            np.stack([recall, precision], axis=1), axis=0, return_inverse=True
        )
        self.tables = [crawl_value(r, p, self.grid) for r, p in pairs.tolist()]

    def values(self, age: ArrayLike, pings: ArrayLike) -> Floats:
        """Return the value of a crawl of each source, at an age in epochs and a number of pings."""
        count = np.asarray(pings)
        told = np.multiply(count, self.step, out=np.zeros(count.shape), where=count > 0)
        level = self.drift * np.asarray(age) + told
        value = np.empty(level.shape)
        for kind, table in enumerate(self.tables):
            own = self.kind.ravel() == kind
            value[own] = np.interp(level[own], self.grid, table)
        return self.scale * value

    def select(self, observation: Observation, budget: int, rng: Rng = None) -> Ints:
        """Return the sources of largest value."""
        pinged = _with_pings(observation)
        return top(self.values(pinged.age, pinged.pings), budget)


class LambdaCrawlPolicy:
    """Follow each ping with its page's probability, and give spare crawls to a policy of ages.

    Pings that find no crawl left wait their turn. The spare crawls are an addition: LambdaCrawl
    takes pings to be complete, so that between them nothing is lost.
    """

    def __init__(self, probability: ArrayLike, spare: Policy) -> None:
        self.probability = check_array("probability", probability, 0, 1)
        check_kind("spare", spare, Policy)
        self.spare = spare
        self.queue: dict[int, None] = {}  # in order of their pings

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None
    ) -> Ints:
        """Return the first pages of the queue, and what is due by age if crawls are left."""
        arriving = _with_pings(observation).arriving
        followed = check_rng(rng).random(arriving.size) < self.probability[arriving]
        self.queue |= dict.fromkeys(arriving[followed].tolist())
        chosen = list(self.queue)[:budget]
        if len(chosen) < budget:
            by_age = self.spare.select(observation, budget, rng).tolist()
            chosen += [arm for arm in by_age if arm not in self.queue][: budget - len(chosen)]
        for arm in chosen:
            self.queue.pop(arm, None)
        return np.array(sorted(chosen), dtype=np.int64)


@dataclass(frozen=True)
class FreshRun:
    """One run: `reward` and `stale`, both shape (horizon,), and `crawls`, shape (N,).

    `stale` is the share of the sources that had an item that was not found yet, on average over the
    epoch.
    """

    reward: Floats
    stale: Floats
    crawls: Ints


def play_policy(
    sources: Sources,
    events: Events,
    policy: Policy,
    budget: int,
    horizon: int,
    rng: Rng = None,
) -> FreshRun:
    """Play a policy on items and pings, and measure worth and freshness.

    Parameters
    ----------
    sources : Sources
        N sources, whose items fade at their rate of decay.
    events : Events
        What happens.
    policy : Policy
        It is given a `PingObservation`; policies that look at ages work as they are.
    budget : int
        Crawls an epoch.
    horizon : int
        Epochs 1, ..., horizon; sources are empty at epoch 0.
    rng : numpy.random.Generator or seed
        Randomness of the policy.

    Returns
    -------
    FreshRun

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    check_kind("sources", sources, Sources)
    check_kind("events", events, Events)
    size = len(sources)
    events.check(size)
    budget, horizon = check_whole("budget", budget, 1, size), check_integer("horizon", horizon, 1)
    rng = check_rng(rng)
    alpha = sources.alpha
    decayed = np.exp(-sources.decay[events.source] * events.age)
    arrived = decayed * events.worth
    pinged, item = events.kind != SILENT, events.kind != FALSE
    first = np.searchsorted(events.epoch, np.arange(1, horizon + 2))
    first[0] = 0
    content, discounted = np.zeros(size), np.zeros(size)
    age, pings = np.zeros(size, np.int64), np.zeros(size, np.int64)
    since = np.full(size, np.inf)  # when the first item came that was not found yet
    reward, stale, crawls = np.zeros(horizon), np.zeros(horizon), np.zeros(size, np.int64)
    unseen, even = np.full(size, np.nan), np.full(size, 1.0 / size)
    for epoch in range(1, horizon + 1):
        content *= alpha
        discounted *= alpha
        age += 1
        now = slice(first[epoch - 1], first[epoch])
        arms = events.source[now]
        arriving = arms[pinged[now]]
        if arms.size:
            new: Bools = item[now]
            np.add.at(content, arms[new], arrived[now][new])
            np.minimum.at(since, arms[new], epoch - events.age[now][new])
            np.add.at(discounted, arriving, decayed[now][pinged[now]])
            np.add.at(pings, arriving, 1)
        stale[epoch - 1] = even @ np.clip(epoch - since, 0.0, 1.0)
        seen = PingObservation(
            epoch - 1, age.copy(), unseen.copy(), pings.copy(), discounted.copy(), arriving
        )
        chosen = select_arms(policy, seen, budget, rng)
        reward[epoch - 1] = content[chosen].sum()
        crawls[chosen] += 1
        content[chosen] = discounted[chosen] = 0.0
        age[chosen] = pings[chosen] = 0
        since[chosen] = np.inf
    return FreshRun(reward, stale, crawls)
