"""Prices of pages and queues: caps of the index of a source whose crawls take all its pages.

If each page costs p, the value of a crawl at age k is r(k) = x_k - p Lambda T k, and the Whittle
index is that of part I, but at most the largest r (see `analysis.joint.prices`). Per unit of cost,
with limit = u*/C, m = mu T and n = Lambda T / C pages an epoch,

    r(k)/C = limit (1 - e^{-m k}) - p n k,

which is largest at the first k at which the content of one more epoch is worth at most its pages,
limit e^{-m k} (1 - e^{-m}) <= p n.

*A queue.* An engine indexes pages at exponential times of rate s, first come first served, the
freshest of a crawl first, without limit on the queue, and a page has its value when it is indexed.
Let delta = s / (s + mu), the share of its value that a page keeps during one indexing. A crawl at
age k whose pages join a queue of q pages has the value

    xi sum_{j>=1} delta^(q+j) P(the j-th most recent page is younger than k T)
        = xi delta^(q+1) Lambda / mu' (1 - e^{-mu' k T}),    mu' = mu (1 + Lambda / (s + mu)):

the age of the j-th most recent page has the gamma law of shape j and rate Lambda, and the sum over
j of delta^(j-1) times its density is Lambda e^{-Lambda (1-delta) t}. So with a queue a source is
equivalent to a source of utility xi delta^(q+1) and decay rate mu', with its index and cap. If all
contents decay at one rate, delta^q is common to all, and q pages order the sources as a price of
p / delta^q does. If rates differ, the order itself depends on q.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_positive
from analysis.ephemeral.sources import Sources


def pages_per_epoch(sources: Sources) -> Floats:
    """Return the pages of an epoch per unit of crawl cost, shape (N,)."""
    return sources.arrival_rate * sources.period / sources.cost


def queued_sources(sources: Sources, index_rate: float, queue: int = 0) -> Sources:
    """Return the sources that are equivalent to these with the queue of an engine without limit.

    The engine indexes s = `index_rate` pages per unit of time, first come first served and the
    freshest of a crawl first; `queue` is q, the pages waiting. The content of the result at an age
    is the value of the pages of a crawl when they are indexed. ValueError if an argument is out of
    range.

    >>> seen = queued_sources(Sources([1.0], [1.0], [1.0]), 1.0, 2)
    >>> seen.mean_utility.round(3).tolist(), seen.decay_rate.tolist()
    ([0.125], [1.5])
    """
    check_kind("sources", sources, Sources)
    rate = check_positive("index_rate", index_rate)
    waits = 1.0 + check_integer("queue", queue, 0)
    return Sources(
        sources.arrival_rate,
        sources.mean_utility * np.exp(waits * fading_per_page(sources, rate)),
        sources.decay_rate * (1.0 + sources.arrival_rate / (rate + sources.decay_rate)),
        sources.cost,
        sources.period,
    )


def fading_per_page(sources: Sources, index_rate: float) -> Floats:
    """Return log delta, the log of the value that a page keeps during one indexing, shape (N,)."""
    return -np.log1p(sources.decay_rate / index_rate)


def caps(limit: Floats, decay: Floats, pages: Floats, price: float) -> Floats:
    """Return the largest index of each source at a price of pages, shape (N,).

    `limit` is u*/C, `decay` mu T, and `pages` the pages per epoch and unit of cost. The result is
    negative where no crawl is worth its pages.
    """
    limit, decay = limit.astype(float), decay.astype(float)
    owed = price * pages
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # fades: how far a page fades until it is worth its price
        fades = np.log(limit * decay) - np.log(owed)
        last = (fades + np.log(-np.expm1(-decay) / decay)) / decay
        age = np.maximum(np.ceil(last), 1.0)
        y = decay * age
        # 1 - e^{-y} - y e^{-fades} as a sum of positive terms, where it is not in the fall
        early = gammainc(2.0, y) + y * np.exp(-y) * -np.expm1(-np.maximum(fades - y, 0.0))
        best = np.where(y < fades, limit * early, -limit * np.expm1(-y) - owed * age)
    return np.where(owed == 0.0, limit, np.where(limit == 0.0, -owed, best))
