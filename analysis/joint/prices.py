r"""What a crawl is worth, and the Whittle index, where each page has a price.

With a subsidy lambda for each unit of cost that is not spent and a price p for each page, a crawl
at age k is worth

    fetch all     r(k) = x_k - p Lambda T k,
    fresh only    R(k) = Lambda [xi/mu (1 - e^{-mu m}) - p m],   m = min(k T, ln(xi/p) / mu),

where x_k is the content at age k. A fresh crawl takes pages younger than m. What it leaves is worth
less than p a page, now and ever after, so that the age is still all that matters.

*Index.* Let R be concave in k, gamma_k = R(k) - k [R(k+1) - R(k)] and c = max_k R(k). A source that
is crawled at age k for ever earns lambda + (R(k) - lambda)/k an epoch, and

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

Reference: Whittle (1988); report 8702, sections 3 and 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc

from analysis.arrays import Floats
from analysis.checks import check_array, check_booleans, check_kind, check_number, shown
from analysis.ephemeral.index import h, whittle_index_at_age
from analysis.ephemeral.sources import Sources


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
    """Return what a crawl is worth less the price of its pages, r(k) or R(k).

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
    return np.minimum(
        whittle_index_at_age(sources, k), largest_reward(sources, price, fading) / sources.cost
    )


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


def _best_age(sources: Sources, fading: Floats) -> Floats:
    """Return the first age at which r is largest, ``inf`` at a price of 0."""
    # r(k+1) > r(k) while u alpha^k > p Lambda T, that is 1 - e^{-m} > m e^{m k - w}.
    with np.errstate(invalid="ignore"):
        last = (fading + np.log(-np.expm1(-sources.decay) / sources.decay)) / sources.decay
    return np.maximum(np.ceil(last), 1.0)


def largest_reward(sources: Sources, price: float, fading: Floats) -> Floats:
    """Return the largest reward of a crawl that takes all pages."""
    age = _best_age(sources, fading)
    finite = np.isfinite(age)
    best = _whole_reward(sources, np.where(finite, age, 1.0), price, fading)
    return np.where(finite, best, sources.u_star)
