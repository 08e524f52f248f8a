r"""Prices of pages: what caps the index of a source whose crawls take all its pages.

Where each page costs p, a crawl at age k is worth r(k) = x_k - p Lambda T k, and the Whittle index
is the one of part I, but at most the largest r (see `analysis.joint.prices`). Per unit of cost,
with limit = u*/C, m = mu T and n = Lambda T / C pages an epoch,

    r(k)/C = limit (1 - e^{-m k}) - p n k,

which is largest at the first k from which on one more epoch brings no more than its pages cost,
limit e^{-m k} (1 - e^{-m}) <= p n.

A crawl that joins q waiting pages, first come first served, keeps delta^q of its worth, where delta
is the share that a page keeps while one is indexed. Where all content fades at one rate, the index
is then delta^q times the one at a price of p / delta^q: a queue is a higher price, and the order of
the sources stays exact. Where rates differ, the order itself depends on the queue.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]


def pages_per_epoch(sources: Sources) -> Floats:
    """Return the pages of an epoch per unit of crawl cost, shape (N,)."""
    return sources.arrival_rate * sources.period / sources.cost


def caps(limit: Floats, decay: Floats, pages: Floats, price: float) -> Floats:
    """Return the largest index of each source at a price of pages.

    Parameters
    ----------
    limit, decay, pages : ndarray, shape (N,)
        u*/C, mu T, and pages per epoch and unit of cost.
    price : float
        Price of a page; not negative.

    Returns
    -------
    ndarray, shape (N,)
        Negative where no crawl is worth its pages.
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
