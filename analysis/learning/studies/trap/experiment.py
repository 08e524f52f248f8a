"""Two sources that trap an index policy, a rule at a given price, and rules on random sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.instances import random_sources
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.simulation import long_run_cycle
from analysis.ephemeral.sources import Sources
from analysis.learning.certainty_equivalence import (
    CertaintyEquivalence,
    CertaintyEquivalenceOptions,
)
from analysis.learning.environment import compiled
from analysis.learning.identification import average_reward, closed_loop
from analysis.learning.items import sample_items
from analysis.learning.whittle_q import WhittleQ
from analysis.results import Estimate

Floats = NDArray[np.float64]

RULES: Mapping[str, CertaintyEquivalenceOptions | None] = {
    "UCB on the index": CertaintyEquivalenceOptions("ucb", confidence=0.5, floor=0.0),
    "the estimate": CertaintyEquivalenceOptions("estimate", floor=0.0),
    "Whittle-index Q-learning": None,
    "Thompson": CertaintyEquivalenceOptions("thompson", spread=1.0, floor=0.0),
    "pairs": CertaintyEquivalenceOptions("estimate"),
    "gain and pairs": CertaintyEquivalenceOptions("gain"),
    "draws and pairs": CertaintyEquivalenceOptions(),
    "items": CertaintyEquivalenceOptions(),
}
"""Options of each rule; None is the one that is no certainty equivalence."""
ITEMS = "items"
"""The rule that is shown items; the others see their sums."""
STARTS = 12
"""Ages from which the cycles of the index policy are looked for."""
APART = 1e-4
"""Difference from which two cycles count as two, in per cent."""
CYCLES = ["set", "sources", "budget", "worst", "best", "entered", "jolted"]
"""Columns of what is known of the cycles of a set."""
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


def random_problem(instance: int, seed: int) -> tuple[Sources, int]:
    """Return a random set of 3 to 8 sources and a budget of at most a third of them."""
    rng = np.random.default_rng([seed, 11, instance])
    size = int(rng.integers(3, 9))
    budget = int(rng.integers(1, size // 3 + 1))
    return random_sources(size, rng), budget


def cycles(sources: Sources, belief: Sources, budget: int, ages: ArrayLike) -> Floats:
    """Average rewards of the cycles that the index policy of a belief enters from several ages.

    Parameters
    ----------
    sources, belief : Sources
        The true N sources, and what the policy takes them for.
    budget : int
        Sources crawled at each epoch, in [1, N].
    ages : array_like of int, shape (starts, N)
        Ages at the start.

    Returns
    -------
    ndarray, shape (starts,)
    """
    policy = WhittlePolicy(belief)
    return np.array(
        [
            average_reward(sources, long_run_cycle(belief, policy, budget, initial_age=age))
            for age in np.asarray(ages)
        ]
    )


def jolted(
    sources: Sources, learner: CertaintyEquivalence, budget: int, ages: ArrayLike
) -> tuple[float, float]:
    """Rewards of the cycle in which a learner sits, and of the best by its estimates.

    One pass of the crawls of a cycle leaves its ages, and the index policy stays there. So the
    learner may look, with its estimates, for the cycle that it expects most of.

    Parameters
    ----------
    sources : Sources
        The true N sources.
    learner : CertaintyEquivalence
        After a run on them.
    budget : int
        Sources crawled at each epoch.
    ages : array_like of int, shape (starts, N)
        Ages from which cycles are looked for, besides the learner's own.

    Returns
    -------
    before, after : float
        True average rewards, if the estimates do not change any more.
    """
    u_star = np.maximum(np.nan_to_num(learner.u_star), np.finfo(float).tiny)
    belief = of(u_star, np.exp(-learner.decay))
    ages = np.vstack([learner.age, np.asarray(ages)])
    best = int(cycles(belief, belief, budget, ages).argmax())
    before, after = cycles(sources, belief, budget, np.stack([ages[0], ages[best]]))
    return float(before), float(after)


def windows(horizon: int) -> tuple[int, ...]:
    """Return the horizons that are reported: a hundredth, a tenth and the whole of it."""
    return (horizon // 100, horizon // 10, horizon)


def losses(sets: int, horizon: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Let all rules meet the same arrivals on random sets of sources.

    Parameters
    ----------
    sets : int
        Number of sets, each with one stream of arrivals.
    horizon : int
        Epochs T, at least 1,000.
    seed : int
        Root of sets, streams and draws.

    Returns
    -------
    runs : pandas.DataFrame
        A row a set, rule and horizon of `windows`: ``set``, ``rule``, ``horizon``, ``loss`` (per
        cent of the index policy's cycle from ages 1, over the second half of the horizon),
        ``regret`` (reward lost until then, in epochs of the cycle's reward).
    known : pandas.DataFrame
        A row a set: ``set``, ``sources``, ``budget``, ``worst`` and ``best``, per cent by which the
        cycles of the index policy with known rates fall short of the one from ages 1; ``entered``
        and ``jolted``, the same of the cycle that the learner of items enters and of the best by
        its estimates, ``nan`` where the policy with known rates has one cycle.
    """
    horizon = check_integer("horizon", horizon, 1000)
    runs, known = [], []
    for instance in range(check_integer("sets", sets, 2)):
        sources, budget = random_problem(instance, seed)
        arrivals, starts, *own = np.random.default_rng([seed, 12, instance]).spawn(2 + len(RULES))
        drawn = sample_items(Arrivals(sources, Utility("exponential")), horizon, arrivals)
        reference = long_run_cycle(sources, "whittle", budget).average_reward
        ages = starts.integers(1, 13, (STARTS, len(sources)))
        found = 100 * (1 - cycles(sources, sources, budget, ages) / reference)
        worst, best, sits = max(found.max(), 0.0), min(found.min(), 0.0), (np.nan, np.nan)
        size = len(sources)
        for (rule, options), stream in zip(RULES.items(), own, strict=True):
            learner = CertaintyEquivalence(size, options) if options else WhittleQ(size)
            content = drawn if rule == ITEMS else drawn.worth
            expected = learner.play(sources, content, budget, stream).expected / reference
            for until in windows(horizon):
                late = 100 * (1 - expected[until // 2 : until].mean())
                runs.append((instance, rule, until, late, until - expected[:until].sum()))
            if rule == ITEMS and worst - best > APART and isinstance(learner, CertaintyEquivalence):
                before, after = jolted(sources, learner, budget, ages)
                sits = 100 * (1 - before / reference), 100 * (1 - after / reference)
        known.append((instance, size, budget, worst, best, *sits))
    return (
        pd.DataFrame(runs, columns=["set", "rule", "horizon", "loss", "regret"]),
        pd.DataFrame(known, columns=CYCLES),
    )


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean loss with its interval, median and largest, by rule and horizon.

    Parameters
    ----------
    runs : pandas.DataFrame
        From `losses`.

    Returns
    -------
    pandas.DataFrame
        ``rule``, ``horizon``, ``mean``, ``low``, ``high``, ``median``, ``largest``, ``regret``.
    """
    rows = []
    for (rule, until), part in runs.groupby(["rule", "horizon"], sort=False):
        mean = Estimate.of(part.loss.to_numpy())
        rows.append(
            (
                rule,
                until,
                mean.value,
                *mean.interval,
                part.loss.median(),
                part.loss.max(),
                part.regret.mean(),
            )
        )
    columns = ["rule", "horizon", "mean", "low", "high", "median", "largest", "regret"]
    return pd.DataFrame(rows, columns=columns)


def slope(table: pd.DataFrame, rule: str) -> float:
    """Return by how many powers of ten the mean regret grows over the last tenfold of epochs."""
    rows = table[table.rule == rule].sort_values("horizon")
    before, after = (float(value) for value in rows.regret.to_numpy()[-2:])
    return float(np.log10(after / before)) if before > 0 and after > 0 else float("nan")
