r"""What a crawl is worth, and the Whittle index, where each page has a price or joins a queue.

*A price.* With a subsidy lambda for each unit of cost that is not spent and a price p for each
page, a crawl at age k is worth

    fetch all     r(k) = x_k - p Lambda T k,
    fresh only    R(k) = Lambda [xi/mu (1 - e^{-mu m}) - p m],   m = min(k T, ln(xi/p) / mu),

where x_k is the content at age k. A fresh crawl takes pages younger than m. What it leaves is worth
less than p a page, now and ever after, so that the age is still all that matters.

Let R be concave in k, gamma_k = R(k) - k [R(k+1) - R(k)] and c = max_k R(k). A source that is
crawled at age k for ever earns lambda + (R(k) - lambda)/k an epoch, and

    (R(k+1) - lambda)/(k+1) - (R(k) - lambda)/k = (lambda - gamma_k) / (k (k+1)).

gamma_k rises, by (k+1) times a second difference, so the quotient rises while gamma_k < lambda, and
then falls. Let K be its first maximiser and phi the maximum. If phi > 0, which is lambda < c, then
h(k) = R(k) - lambda - phi for k >= K and h(k) = phi (k - 1) for k < K solve the optimality equation
with gain lambda + phi: crawling below K is not better, since R(K) - R(k) >= (K - k) phi by
concavity, nor is waiting from K on, since R(k+1) - R(k) <= phi there. If lambda >= c, no policy
earns more than lambda an epoch, and no state is better crawled. So passive states are those with
min(gamma_k, c) <= lambda: the source is indexable, with the index min(gamma_k, c). For *fetch all*
the price leaves gamma_k as it is, the index of part I, and only caps it. For *fresh only* R does
not fall, c = u* P(2, w) with w = ln(xi/p), and with z = min(mu T k, w) and d = min(mu T, w - z)

    gamma_k = u* [ P(2, z) + k e^{-z} ((mu T - d)(1 - e^{-d}) + h(d)) ],   h(y) = e^{-y} - 1 + y,

a sum of positive terms, P the regularised incomplete gamma function.

*A queue.* An engine indexes pages first come first served, at exponential times of rate s, in K
places, the one in service included. The j-th page of a batch that finds q pages is indexed after
q + j such times, and a page counts what it is worth when it is indexed: its worth times delta^(q+j)
on average, delta = s / (s + mu). Pages that find no room are lost. A batch of the pages younger
than m holds n of them, Poisson with mean Lambda m, and min(n, B) find room, B = K - q. It is worth

    random order     v sum_{j<=B} delta^(q+j) P(j, Lambda m),   v = xi (1 - e^{-mu m}) / (mu m),
    freshest first   xi sum_{j<=B} delta^(q+j) b^j P(j, (Lambda+mu) m),   b = Lambda / (Lambda+mu),

where P(j, Lambda m) is the probability of j pages or more, and the j-th page back in time has the
density of a gamma law of shape j and rate Lambda. Each page that finds room costs p. R(k|q) is what
a crawl at age k is then worth, and, as if the queue stayed as long as it is,

    gamma(k|q) = R(k|q) - k [R(k+1|q) - R(k|q)].

*Freshest first.* With n Poisson of mean Lambda m,

    dR/dm = Lambda P(n < B) { xi delta^(q+1) e^{-mu m} E[delta^n | n < B] - p }.

Given n < B, n grows with m in the likelihood ratio, so the bracket falls: there is one best window,
and up to it dR/dm is a product of two falling positive factors. A fresh crawl, of all pages or
those of the best window, has therefore a concave R(.|q) that does not fall, and its index is as
above with this R. Without a price the window is infinite.

*Random order, or all pages at a price.* R(.|q) falls in the end: an old batch is mostly stale pages
that go before fresh ones. The formula then exceeds the worth of every crawl. From the age at which
R is largest on, the index is that largest worth: waiting costs reward and makes the batch worse.
That R rises first, concave, and then falls is observed in these two cases, not proved.

*Room for all.* Freshest first, with as many places as there may be pages, R(k|q) is what a crawl of
other sources is worth at once, `queued_sources`: those of worth xi delta^(q+1) and decay rate
mu (1 + Lambda / (s + mu)), at the same price. The index is then `priced_index` of these.

*Limit.* As s and K grow without bound, delta^(q+j) tends to 1 and all pages find room, so R(k|q)
tends to the reward of `crawl_reward`, and the index to `priced_index`; at a price of 0 that is the
index of part I. Both must grow: at any s a batch comes at once, and what exceeds K - q is lost.

Reference: Whittle (1988); report 8702, sections 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammaincc

from analysis.arrays import Bools, Floats
from analysis.checks import (
    check_array,
    check_booleans,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    set_fields,
    shown,
)
from analysis.ephemeral.index import h, whittle_index_at_age
from analysis.ephemeral.scheduler.register import caps, pages_per_epoch
from analysis.ephemeral.scheduler.register import queued_sources as queued_sources
from analysis.ephemeral.sources import Sources

INDICES = ("blind", "priced", "frozen")
"""Index policies: of part I; with a price a page; with a price and the length of the queue."""
ORDERS = ("freshest", "random")
"""Orders in which the pages of one crawl join the queue."""
MOST_PLACES = 100_000
"""Places of an engine."""
HALVINGS = 200
"""Steps of the search for a window, more than a float has digits."""


def best_window(sources: Sources, price: float) -> Floats:
    """Return the age from which on a page is worth less than its price, ln(xi/p) / mu.

    Parameters
    ----------
    sources : Sources
        N sources.
    price : float
        Price of a page, p; not negative.

    Returns
    -------
    ndarray, shape (N,)
        In units of time; 0 where no page is worth its price, ``inf`` at a price of 0.

    Raises
    ------
    ValueError
        If the price is negative or not finite.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> best_window(four_sources(), 0.1).round(2).tolist()
    [3.29, 5.56, 0.99, 0.0]
    """
    return fading_at_price(*checked_price(sources, price)) / sources.decay_rate


def crawl_reward(sources: Sources, age: ArrayLike, price: float, fresh: bool = False) -> Floats:
    """Return the net value of a crawl, less the price of its pages: r(k) or R(k).

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl; not negative.
    price : float
        Price of a page, p; not negative.
    fresh : bool
        Whether only pages younger than `best_window` are taken, or all.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> crawl_reward(four_sources(), [4] * 4, 0.1).round(2).tolist()
    [235.42, 276.7, -32.92, -45.88]
    >>> crawl_reward(four_sources(), [4] * 4, 0.1, fresh=True).round(2).tolist()
    [239.19, 276.7, 10.96, 0.0]
    """
    sources, price = checked_price(sources, price)
    k = ages_of(sources, age)
    fading = fading_at_price(sources, price)
    if check_boolean("fresh", fresh):
        return sources.u_star * _relative_reward(np.minimum(sources.decay * k, fading), fading)
    return _whole_reward(sources, k, price, fading)


def priced_index(sources: Sources, age: ArrayLike, price: float, fresh: bool = False) -> Floats:
    """Return the Whittle index of each source when each page has a price.

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl, 1 at the epoch that follows it; at least 1.
    price : float
        Price of a page, p; not negative.
    fresh : bool
        Whether a crawl takes only pages younger than `best_window`, or all.

    Returns
    -------
    ndarray, shape (..., N)
        Subsidy for passivity, per unit of crawl cost, at which crawling and waiting tie. With
        ``fresh=False`` the index of part I, but at most the best reward of a crawl.

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> priced_index(four_sources(), [3] * 4, 0.1).round(2).tolist()
    [238.41, 170.02, 10.96, -6.96]
    >>> priced_index(four_sources(), [3] * 4, 0.1, fresh=True).round(2).tolist()
    [236.05, 170.02, 10.96, 0.0]
    """
    sources, price = checked_price(sources, price)
    k = ages_of(sources, age, 1)
    fading = fading_at_price(sources, price)
    if check_boolean("fresh", fresh):
        z = np.minimum(sources.decay * k, fading)
        d = np.minimum(sources.decay, fading - z, where=fading > z, out=np.zeros_like(z))
        slope = (sources.decay - d) * -np.expm1(-d) + h(d)
        return sources.u_star * (gammainc(2.0, z) + k * np.exp(-z) * slope) / sources.cost
    return np.minimum(whittle_index_at_age(sources, k), largest_index(sources, price))


def check_boolean(name: str, value: bool) -> bool:
    """Return a truth value, or raise naming it."""
    truth = check_booleans(name, value)
    if truth.ndim:
        raise ValueError(f"{name} must be true or false, got {shown(value)}")
    return bool(truth)


def ages_of(sources: Sources, age: ArrayLike, least: int = 0) -> Floats:
    """Return ages with one entry a source on the last axis, or raise naming them."""
    ages = check_array("age", age, least)
    if ages.ndim == 0 or ages.shape[-1] != len(sources):
        raise ValueError(f"age must have a last axis of {len(sources)} sources, got {ages.shape}")
    return ages


def checked_price(sources: Sources, price: float) -> tuple[Sources, float]:
    """Return sources and a price, or raise naming the one that is wrong."""
    check_kind("sources", sources, Sources)
    return sources, check_number("price", price, 0, high_open=True)


def fading_at_price(sources: Sources, price: float) -> Floats:
    """Return how far a page fades until it is worth its price, w = ln(xi/p); 0 if it never is."""
    if price == 0.0:
        return np.where(sources.mean_utility > 0, np.inf, 0.0)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(sources.mean_utility) - np.log(price), 0.0)


def largest_index(sources: Sources, price: float) -> Floats:
    """Return the largest reward of a crawl that takes all pages, per unit of crawl cost."""
    limit = sources.u_star / sources.cost
    return caps(limit, sources.decay, pages_per_epoch(sources), price)


def _relative_reward(y: Floats, fading: Floats) -> Floats:
    """Return 1 - e^{-y} - y e^{-w} for y <= w, as a sum of positive terms."""
    with np.errstate(invalid="ignore"):
        unspent = np.where(np.isinf(fading), np.inf, np.maximum(fading - y, 0.0))
    return gammainc(2.0, y) + y * np.exp(-y) * -np.expm1(-unspent)


def _whole_reward(sources: Sources, k: Floats, price: float, fading: Floats) -> Floats:
    """Return r(k) = x_k - p Lambda T k, without cancellation while such a page is worth p."""
    y = sources.decay * k
    plain = sources.state_at_age(k) - price * sources.arrival_rate * sources.period * k
    return np.where(y < fading, sources.u_star * _relative_reward(y, fading), plain)


# A queue that stays as long as it is


@dataclass(frozen=True)
class Engine:
    """An indexing engine with a queue.

    Parameters
    ----------
    index_rate : float
        Pages indexed per unit of time while there are any, s; positive.
    places : int
        Pages that it holds, K, the one in service included.

    Examples
    --------
    >>> Engine(2.0, 20)
    Engine(index_rate=2.0, places=20)
    """

    index_rate: float
    places: int

    def __post_init__(self) -> None:
        rate = check_positive("index_rate", self.index_rate)
        set_fields(
            self, index_rate=rate, places=check_integer("places", self.places, 1, MOST_PLACES)
        )

    def retention(self, sources: Sources) -> Floats:
        """Return delta, the share of its worth that a page keeps while one is indexed."""
        return self.index_rate / (self.index_rate + sources.decay_rate)


def batch_value(
    sources: Sources, engine: Engine, window: ArrayLike, queue: int, order: str = "freshest"
) -> tuple[Floats, Floats]:
    """Return what the pages of a crawl are worth when indexed, and how many find room, on average.

    Parameters
    ----------
    sources : Sources
        N sources.
    engine : Engine
        The engine.
    window : array_like, shape (..., N)
        Age of the oldest pages taken, in units of time; not negative.
    queue : int
        Pages that the batch finds, q, from 0 to K.
    order : {"freshest", "random"}
        Order in which the pages join the queue.

    Returns
    -------
    value, pages : ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import Sources
    >>> value, pages = batch_value(Sources([1.0], [1.0], [1.0]), Engine(1.0, 1), [1.0], 0)
    >>> value.round(4).tolist(), pages.round(4).tolist()
    ([0.2162], [0.6321])
    """
    check_kind("sources", sources, Sources)
    check_kind("engine", engine, Engine)
    windows = check_array("window", window, 0)
    if windows.ndim == 0 or windows.shape[-1] != len(sources):
        raise ValueError(f"window must have a last axis of {len(sources)}, got {windows.shape}")
    queue = check_integer("queue", queue, 0, engine.places)
    order = check_choice("order", order, ORDERS)
    return _batch_value(sources, engine, windows, queue, order)


def frozen_reward(
    sources: Sources,
    engine: Engine,
    age: ArrayLike,
    queue: int,
    *,
    price: float = 0.0,
    fresh: bool = False,
    order: str = "freshest",
) -> Floats:
    """Return R(k|q), the net value of a crawl that joins q pages, less the price of its pages.

    Parameters
    ----------
    sources : Sources
        N sources.
    engine : Engine
        The engine.
    age : array_like, shape (..., N)
        Epochs since the last crawl; not negative.
    queue : int
        Pages that the crawl finds, q, from 0 to K.
    price : float
        Price of each page that finds room; not negative.
    fresh : bool
        Whether the crawl takes the pages of the best window, or all.
    order : {"freshest", "random"}
        Order in which the pages join the queue; "freshest" where `fresh` is true.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If an argument is out of range or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> frozen_reward(four_sources(), Engine(500.0, 1000), [1] * 4, 0).round(2).tolist()
    [154.59, 136.06, 30.92, 17.15]
    """
    return _Crawls(sources, engine, queue, price, fresh, order).reward(ages_of(sources, age))


def frozen_index(
    sources: Sources,
    engine: Engine,
    age: ArrayLike,
    queue: int,
    *,
    price: float = 0.0,
    fresh: bool = False,
    order: str = "freshest",
) -> Floats:
    """Return gamma(k|q), the index of each source as if the queue stayed at q.

    See `frozen_reward` for the parameters and errors; ages are at least 1.

    Returns
    -------
    ndarray, shape (..., N)
        Per unit of crawl cost.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> engine = Engine(500.0, 1000)
    >>> frozen_index(four_sources(), engine, [1] * 4, 0).round(2).tolist()
    [100.47, 55.56, 20.09, 4.63]
    >>> frozen_index(four_sources(), engine, [1] * 4, 900).round(2).tolist()
    [23.14, 33.6, 4.63, 5.15]
    """
    crawls = _Crawls(sources, engine, queue, price, fresh, order)
    ages = ages_of(sources, age, 1)
    now, later = crawls.reward(ages), crawls.reward(ages + 1)
    index = now - ages * (later - now)
    if (past := later < now).any():
        index = np.where(past, crawls.largest_reward(ages), index)
    return index / sources.cost


def best_queued_window(
    sources: Sources, engine: Engine, queue: int, price: float, most: float
) -> Floats:
    """Return the window of a fresh crawl that joins a queue at a price, of at most `most`."""
    return _Crawls(sources, engine, queue, price, True, ORDERS[0]).window(most)


@dataclass(frozen=True)
class _Crawls:
    """Crawls that find a queue: what they take, and what their pages cost."""

    sources: Sources
    engine: Engine
    queue: int
    price: float
    fresh: bool
    order: str

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_kind("engine", self.engine, Engine)
        fresh = check_boolean("fresh", self.fresh)
        set_fields(
            self,
            queue=check_integer("queue", self.queue, 0, self.engine.places),
            price=check_number("price", self.price, 0, high_open=True),
            fresh=fresh,
            order=check_choice("order", self.order, ORDERS[:1] if fresh else ORDERS),
        )

    def reward(self, ages: Floats) -> Floats:
        """R(k|q)."""
        window = ages * self.sources.period
        if self.fresh and self.price > 0:
            window = np.minimum(window, self.window(float(window.max(initial=0.0))))
        value, pages = _batch_value(self.sources, self.engine, window, self.queue, self.order)
        return value - self.price * pages

    def window(self, most: float) -> Floats:
        """Best window of a fresh crawl, up to `most`: where one more page is worth its price."""
        sources, room = self.sources, self.engine.places - self.queue
        retention = self.engine.retention(sources)
        if room == 0:
            return np.zeros(len(sources))
        first = sources.mean_utility * retention ** (self.queue + 1)

        def worth_it(window: Floats) -> Bools:
            mean = sources.arrival_rate * window
            # E[delta^n; n < B] = e^{-(1 - delta) a} P(Poisson(delta a) < B)
            retained_few = np.exp(-(1.0 - retention) * mean) * gammaincc(room, retention * mean)
            worth = first * np.exp(-sources.decay_rate * window) * retained_few
            return np.asarray(worth > self.price * gammaincc(room, mean))

        low, high = np.zeros(len(sources)), np.full(len(sources), most)
        low[worth_it(high)] = most
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            worthwhile = worth_it(middle)
            low, high = np.where(worthwhile, middle, low), np.where(worthwhile, high, middle)
        return low

    def largest_reward(self, ages: Floats) -> Floats:
        """Largest R(j|q) of whole ages j up to the given ones, where R rises and then falls."""
        low, high = np.ones_like(ages), np.floor(ages)
        while (low < high).any():
            middle = np.floor(0.5 * (low + high))
            rises = (self.reward(middle + 1) > self.reward(middle)) & (low < high)
            low = np.where(rises, middle + 1, low)
            high = np.where(rises, high, np.minimum(middle, high))
        return self.reward(low)


def _batch_value(
    sources: Sources, engine: Engine, window: Floats, queue: int, order: str
) -> tuple[Floats, Floats]:
    retention, room = engine.retention(sources), engine.places - queue
    position = np.arange(1, room + 1)[:, None]
    mean = np.expand_dims(sources.arrival_rate * window, -2)
    arrives = gammainc(position, mean)  # probability of as many pages or more
    share = np.exp((queue + position) * np.log(retention))
    if order == "random":
        decay = sources.decay_rate * window
        with np.errstate(invalid="ignore"):
            retained_waiting = np.where(decay > 0, -np.expm1(-decay) / decay, 1.0)
        return sources.mean_utility * retained_waiting * (share * arrives).sum(
            axis=-2
        ), arrives.sum(axis=-2)
    total = sources.arrival_rate + sources.decay_rate
    retained_before = np.exp(position * np.log1p(-sources.decay_rate / total))
    younger = gammainc(position, np.expand_dims(total * window, -2))
    return sources.mean_utility * (share * retained_before * younger).sum(axis=-2), arrives.sum(
        axis=-2
    )
