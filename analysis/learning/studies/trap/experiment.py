"""Two sources that trap an index policy, and a rule at a given price."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import compiled
from analysis.learning.identification import closed_loop

Floats = NDArray[np.float64]

MET = 12
"""Ages of which the grid at a given price has the curves."""
AGE = 2
"""Age at which the trapped policy meets both sources."""


def of(u_star: ArrayLike, alpha: ArrayLike, worth: float = 1.0) -> Sources:
    """Return sources by u*, alpha and the mean worth of an item."""
    mu = -np.log(np.asarray(alpha, dtype=float))
    rate = np.asarray(u_star, dtype=float) * mu / worth
    return Sources(rate, np.full(mu.size, worth), mu)


def example(worth: float = 1.0) -> Sources:
    """Return the two sources of the worked example."""
    return of([10.0, 8.0], [0.1, 0.5], worth)


def belief(alpha: float) -> Sources:
    """Return the belief of decay `alpha` that has source 1 right at age 2, and source 2 right."""
    met = example().state_at_age(np.array([AGE, AGE]))[0]
    return of([met / (1.0 - alpha**AGE), 8.0], [alpha, 0.5])


def along_the_curve(points: int) -> pd.DataFrame:
    """Follow the beliefs that predict what a crawl of source 1 at age 2 finds.

    Parameters
    ----------
    points : int
        Values of alpha, equally spaced inside (0, 1).

    Returns
    -------
    pandas.DataFrame
        ``alpha``, ``first`` and ``second`` (indices believed at ages 1 and 2), ``gap`` (age at
        which source 1 is then met), ``loss`` (share of reward), ``error`` (of the prediction).
    """
    rows = []
    for alpha in np.linspace(0, 1, check_integer("points", points, 3) + 2)[1:-1]:
        believed = belief(alpha)
        found = closed_loop(example(), believed, 1)
        indices = [whittle_index_at_age(believed, np.array([k, k]))[0] for k in (1, AGE)]
        rows.append((alpha, *indices, found.gaps[0][0], found.loss, found.error))
    return pd.DataFrame(rows, columns=["alpha", "first", "second", "gap", "loss", "error"])


@dataclass(frozen=True)
class Trapped:
    """How often certainty equivalence is trapped in the worked example.

    Attributes
    ----------
    share, low, high : float
        Share of runs that alternate until the end, with an exact 95% interval.
    early : float
        The same after a tenth of the crawls.
    runs, crawls : int
        Number of runs, and crawls of source 1 at age 2 in each.
    """

    share: float
    low: float
    high: float
    early: float
    runs: int
    crawls: int


def trapped(runs: int, crawls: int, worth: float, rng: np.random.Generator) -> Trapped:
    """Crawl source 1 once at age 1, then at age 2 for as long as the estimate asks for it.

    Source 2 is known. One crawl at age 1 that found x and any number at age 2 of mean Y,
    x < Y < 2x, are fitted exactly by alpha = Y/x - 1 and u* = x/(1 - alpha); the policy alternates
    as long as the index at age 1 is below 4 and that at age 2 above 2, the indices of source 2.

    Parameters
    ----------
    runs, crawls : int
        Number of runs, and of crawls at age 2 in each.
    worth : float
        Mean worth of an item, exponential.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Trapped
    """
    runs, crawls = check_integer("runs", runs, 1), check_integer("crawls", crawls, 10)
    worth = check_number("worth", worth, 0, low_open=True)
    source = example(worth)
    law = Utility("exponential")
    one = Sources(source.arrival_rate[:1], source.mean_utility[:1], source.decay_rate[:1])
    two = Sources(one.arrival_rate, one.mean_utility, one.decay_rate, period=float(AGE))
    x = Arrivals(one, law).sample(runs, rng)[0]
    going = np.flatnonzero(x > 0)
    total, x, early = np.zeros(going.size), x[going], 0
    for n in range(1, crawls + 1):
        total = total + Arrivals(two, law).sample(max(going.size, 1), rng)[0][: going.size]
        mean = total / n
        alpha = mean / x - 1
        second = 3 * mean - 2 * x * (1 + alpha + alpha**2)
        stays = (alpha > 0) & (alpha < 1) & (2 * x - mean < 4) & (second > 2)
        going, total, x = going[stays], total[stays], x[stays]
        if n == crawls // 10:
            early = going.size
    test = binomtest(going.size, runs).proportion_ci()
    return Trapped(going.size / runs, float(test.low), float(test.high), early / runs, runs, crawls)


@dataclass(frozen=True)
class AtPrice:
    """Loss of a source that is crawled at a given price, on a grid that contains the truth.

    Attributes
    ----------
    crawls : ndarray of int, shape (P,)
        Numbers of crawls.
    optimistic, plain : ndarray, shape (R, P)
        Loss by then, in value units: optimism about the gain, and the most likely pair.
    bound : ndarray, shape (P,)
        What is proved of the first in expectation.
    """

    crawls: NDArray[np.int64]
    optimistic: Floats
    plain: Floats
    bound: Floats


def at_price(
    u_star: float, mu: float, price: float, *, crawls: int, streams: int, seed: int
) -> AtPrice:
    """Play the rule of the theorem, constants and all, with items of worth 1.

    The grid has, for each age up to `MET`, pairs that explain what is found there.

    Parameters
    ----------
    u_star, mu : float
        The source; u* mu items an epoch.
    price : float
        What a crawl costs, in (0, u*).
    crawls, streams, seed : int
        Crawls in each of some streams of arrivals, and the root of these.

    Returns
    -------
    AtPrice
    """
    price = check_number("price", price, 0, u_star, low_open=True, high_open=True)
    crawls, streams = check_integer("crawls", crawls, 10), check_integer("streams", streams, 2)
    met = np.arange(1, MET + 1)[:, None]
    each = mu * np.exp(np.linspace(-1.2, 1.2, 13))
    us = (u_star * np.expm1(-mu * met) / np.expm1(-each * met)).ravel()
    mus = np.tile(each, MET)
    ages = np.arange(1, int(40 / mu) + 2)
    content = us[:, None] * -np.expm1(-mus[:, None] * ages)
    gains = (content - price) / ages
    gap, gain = gains.argmax(axis=1), gains.max(axis=1)
    truth = int(np.argmin(np.abs(us - u_star) + np.abs(mus - mu)))
    cost = gain[truth] * ages + price - content[truth]
    points = np.unique(np.geomspace(10, crawls, 12).astype(int))
    losses = [np.zeros((streams, points.size)), np.zeros((streams, points.size))]
    source = Sources(np.array([u_star * mu]), np.ones(1), np.array([mu]))
    for stream, rng in enumerate(np.random.default_rng([seed, 3]).spawn(streams)):
        drawn = Arrivals(source, Utility("deterministic")).sample(crawls * int(gap.max() + 1), rng)[
            0
        ]
        for lost, slack in zip(losses, (1.0, 0.0), strict=True):
            found = _priced(np.log(content), content, gap, gain, cost, drawn, source.alpha[0],
                            slack, crawls)  # fmt: skip
            lost[stream] = np.cumsum(found)[points - 1]
    losing = cost > 1e-9 * u_star
    c, m, logs = cost[losing], content[truth, losing], np.log(us.size * points.astype(float) ** 2)
    bound = 12 * ((m + c) / c).sum() * logs + 5 * c.sum()
    return AtPrice(points, losses[0], losses[1], bound)


@compiled
def _priced(log_content, content, gap, gain, cost, drawn, alpha, slack, crawls):  # type: ignore[no-untyped-def]
    """Return the cost of each crawl; worths of 1, so that phi = 1.

    The first crawl is at age 1. `slack` is 1 for the confidence set and 0 for the most likely pair.
    """
    size, lost, at = content.shape[0], np.zeros(crawls), 0
    likelihood = np.zeros(size)
    chosen = 0
    for n in range(crawls):
        if n > 0:
            lowest = likelihood.max() - slack * np.log(size * float(n) ** 2)
            best = -np.inf
            for g in range(size):
                if likelihood[g] >= lowest and gain[g] > best:
                    best, chosen = gain[g], g
        age = gap[chosen] + 1 if n > 0 else 1
        held = 0.0
        for _ in range(age):
            held = alpha * held + drawn[at]
            at = (at + 1) % drawn.size
        lost[n] = cost[age - 1]
        for g in range(size):
            likelihood[g] += held * log_content[g, age - 1] - content[g, age - 1]
    return lost
