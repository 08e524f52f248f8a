"""The rate of a feed estimated from the dates in its listing.

A feed lists its newest items with their dates. A fetch at time t shows n of them, of ages
T_1 < ... < T_n. In reversed time from t on the arrivals of a Poisson process of rate lambda are one
too, so the listing is a Poisson process observed until its n-th item, with likelihood ::

    lambda^n exp(-lambda T_n).

**Length bias.** The window ends at an item. The maximum n / T_n is therefore too large by the
factor n / (n - 1) on average; leaving out the last item corrects this.

**Theorem 1** (no bias, whatever is forgotten). For any weight w > 0 of age and n >= 2, ::

    E[ sum_{j<n} w(T_j) / W(T_n) ] = lambda,        W(x) = integral of w over (0, x).

*Proof.* Given T_n = x the other n - 1 ages are independent and uniform on (0, x), so that the sum
has mean (n - 1) W(x) / x. There remains E[(n - 1) / T_n] = lambda, as T_n has the gamma law. []

**Theorem 2** (a listing that overlaps the last fetch). If the window is cut at an age s fixed
beforehand, and N(s) items are counted in it when T_n > s, the same estimate, with N(s) for n - 1
and s for T_n in that case, has mean lambda again: the two cases contribute
lambda P(N(s) <= n - 2) and lambda P(N(s) >= n - 1). []

**A listing limited by time**, to an age s and not to a number, has N(s) items: if it is treated as
one limited by number the estimate has mean lambda (1 - exp(-lambda s)), too small by the
probability of an empty listing. (The proof is that of Theorem 1, given N(s); a single item counts
as none.)

**Later fetches.** A listing that still has an item of the last fetch gives the number of new items
since then, whatever their dates. One with new items only covers the time back to its n-th item, and
nothing before. Both add items and time of their windows, as their likelihoods multiply. With a
first window of n items and a later time s, the estimate (n - 1 + N(s)) / (T_n + s) is too small by
E[s / (T_n + s)^2], at most 1 / s and at most lambda / (4 (n - 1)). (By parts:
E[(n - 1) f(T_n) / T_n + f'(T_n)] = lambda E[f(T_n)] at f(x) = x / (x + s).) K windows of n items,
without the last item of the first, have E[(K n - 1) / sum of T_n] = lambda.

**A prior.** With a gamma prior of shape a and time b the estimate is (a + items) / (b + time). With
Theorem 1, memory H and n >= 3 its bias is at most ::

    |a - b lambda| (lambda / (n - 1) + 1 / H) + b lambda (lambda / (n - 2) + 1 / H),

as 1 / (b + W) <= 1 / W <= 1 / T_n + 1 / H, and b / (b + W) and (n - 1) / T_n both fall in T_n.

**Drift.** Items and time fade as exp(-age / H): the estimate of a feed that was not fetched for a
long time tends to the prior, and its index rises until it is fetched.

**Wrong dates.** `listed_ages` drops what cannot be the age of an item of the feed's present rate:
dates in the future, and all that lies before a gap that a Poisson process has once in 10,000
listings, such as pinned items, dates of 1970, or what a feed published before it fell silent for
years. If few items have a date, or most have the same, items are counted from fetch to fetch.

**Changes.** What was seen before is dropped if later counts contradict it: by four standard
deviations if it is the first listing alone, by six otherwise, as publications come in bursts. With
later counts of at least a week the next comparison begins.

**Changing ids.** Where all items are new although the dates reach back to the last fetch, the rate
of the listing's dates is taken for the time since then. Without such dates a feed with changing
ids cannot be told from a busy one but by a fetch within the hour.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit

from analysis.arrays import Floats
from analysis.checks import check_array, check_kind, check_number

SKEW = 3600.0
"""Seconds by which a date may be in the future, as clocks differ."""
SHARED = 0.5
"""Largest plausible share of items with the same date."""
DATED = 0.5
"""Least share of the items that must have a date."""
IMPROBABLE = 1e-4
"""Probability that a listing without odd dates has a gap that is taken for one."""


def listed_ages(published: Sequence[float | None], now: float) -> tuple[float, ...]:
    """Return the ages of those listed items whose dates are plausible, in increasing order.

    Parameters
    ----------
    published : sequence of float or None
        Unix time of each item, None if it has no date.
    now : float
        Unix time of the fetch.

    Returns
    -------
    tuple of float
        Seconds, without dates more than an hour in the future and without what lies before an
        improbably long gap, as pinned items do. Empty if fewer than half of the items have a date,
        or more than half of the dates are the same.

    Examples
    --------
    >>> from analysis.crawl import listed_ages
    >>> listed_ages([900.0, 400.0, 600.0], now=1000.0)
    (100.0, 400.0, 600.0)
    >>> listed_ages([900.0, None, None], now=1000.0)
    ()
    """
    check_kind("published", published, Sized)
    now, dates = check_number("now", now), [date for date in published if date is not None]
    if not dates:
        return ()
    if any(isinstance(date, float) and math.isnan(date) for date in dates):
        return ()
    stamps = check_array("published", dates, finite=False)
    if stamps.ndim != 1:
        raise ValueError(f"published must have one axis, got shape {stamps.shape}")
    return believed_ages([*stamps.tolist(), *[None] * (len(published) - len(dates))], now)


def believed_ages(published: Sequence[float | None], now: float) -> tuple[float, ...]:
    """Return the result of `listed_ages`, without checking the arguments."""
    dates = [date for date in published if date is not None and math.isfinite(now - date)]
    if not dates or len(dates) < DATED * len(published):
        return ()
    age = np.sort([max(now - date, 0.0) for date in dates if date - now <= SKEW])
    if age.size == 0:
        return ()
    age = age[: _before_gap(age)]
    if max(Counter(age.tolist()).values()) > max(SHARED * age.size, 1):
        return ()
    return tuple(age.tolist())


def _before_gap(age: Floats) -> int:
    """Return the number of items younger than the first gap that is improbably long.

    Given an item's age x, those of k younger ones are uniform on (0, x): all are below y with
    probability (y / x)^k. Given the oldest of n, a given gap has more than a share g of its age
    with probability (1 - g)^(n - 1). The first test sees a gap behind which the dates are far
    apart, the second one with a single item before it.
    """
    n = age.size
    younger, older, count = age[:-1], age[1:], np.arange(1, n)
    # Ages below the skew of clocks are not told apart: items come in pairs, and from the future.
    chance = np.minimum(
        ((younger + SKEW) / (older + SKEW)) ** count,
        (1.0 - (older - younger) / (age[-1] + SKEW)) ** (n - 1),
    )
    gaps = np.flatnonzero(chance < IMPROBABLE / (2 * n))
    return int(gaps[0]) + 1 if gaps.size else n


def listing_window(ages: ArrayLike, memory: float = np.inf) -> tuple[float, float]:
    """Return number of items and length of the window of a listing, faded, without its last item.

    Their ratio estimates the feed's rate without bias (Theorem 1 of the module).

    Parameters
    ----------
    ages : array_like
        Ages of the n items of the listing, in any unit of time.
    memory : float
        H, the age at which an item has weight 1/e; ``inf`` to forget nothing.

    Returns
    -------
    items, time : float
        Both 0 if there are fewer than two items.

    Raises
    ------
    ValueError
        If an age is negative or not finite, or the memory is not positive.

    Examples
    --------
    >>> from analysis.crawl import listing_window
    >>> listing_window([0.5, 2.0, 4.0])
    (2.0, 4.0)
    """
    age = np.sort(check_array("ages", ages, 0).ravel())
    memory = check_number("memory", memory, 0, low_open=True)
    if age.size < 2 or age[-1] == 0:
        return 0.0, 0.0
    return float(weight_at(age[:-1], memory).sum()), time_to(float(age[-1]), memory)


def weight_at(age: Floats, memory: float) -> Floats:
    """Return the weight of an item of each age."""
    return np.exp(-age / memory)


def time_to(age: float, memory: float) -> float:
    """Return the integral of the weight over (0, age)."""
    return age if memory == np.inf else float(-memory * np.expm1(-age / memory))


def counts_differ(
    items: float, time: float, later: float, time_later: float, deviations: float
) -> bool:
    """Return whether two counts differ too much to come from one rate, by their square roots."""
    difference = np.sqrt((later + 0.375) / time_later) - np.sqrt((items + 0.375) / time)
    deviation = 0.5 * np.sqrt(1.0 / time_later + 1.0 / time)
    return bool(abs(difference) > deviations * deviation)


def mean_rate(items: Floats, time: Floats, shape: float) -> float:
    """Return the maximum-likelihood mean of a gamma prior of given shape, from all counts.

    In log m the likelihood prod m^items / (a + m time)^(a + items) is concave, and its slope
    sum (items - m time) / (a + m time) has its root between the mean of `items` over the longest
    time and that over the shortest. It is 1 if there are no counts.
    """
    watched = time > 0
    items, time = items[watched], time[watched]
    if not items.sum() > 0:
        return 1.0

    def slope(log_mean: float) -> float:
        odds = log_mean + np.log(time) - np.log(shape)  # of m time against a
        return float(items @ expit(-odds) - shape * expit(odds).sum())

    ends = np.log(items.mean()) - np.log([time.max(), time.min()])
    return float(np.exp(brentq(slope, ends[0] - 1e-9, ends[1] + 1e-9, xtol=1e-12)))
