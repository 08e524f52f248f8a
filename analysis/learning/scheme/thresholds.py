"""Exact values of threshold policies, soft and hard, by renewal theory.

A soft threshold policy without a budget crawls arm i at age k with probability ::

    f_i(k) = 1 / (1 + exp(-kappa ((x_k - T_i)/s - delta))),    x_k = u*_i (1 - alpha_i^k),

independently of all else while T_i is constant (s a unit of content, delta the 2019 paper's 0.5).
Crawls of an arm are then renewals: with tau the age at a crawl, ::

    crawls an epoch  1 / E[tau],     reward an epoch  E[x_tau] / E[tau],

and in the stationary regime the arms are independent, so that the number of arms engaged at an
epoch has mean sum 1/E[tau_i] and variance sum (1/E[tau_i]) (1 - 1/E[tau_i]). As kappa grows the
policy becomes: crawl when x_k >= T_i.

Reference: the 2019 paper, sections III and V (f_i, and the thresholds' projection on [u, u*]).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_kind, check_number, check_positive
from analysis.display import brief
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.results import NotConverged

LARGEST_AGE = 10_000_000
"""Epochs after which a source must have settled: the ages of an arm are listed."""


@brief
@read_only_arrays
@dataclass(frozen=True)
class ThresholdValue:
    """Long-run value of a threshold policy without a budget.

    Attributes
    ----------
    reward : ndarray, shape (N,)
        Content collected from each arm per epoch.
    rate : ndarray, shape (N,)
        Crawls of each arm per epoch.
    """

    reward: Floats
    rate: Floats

    @property
    def average_reward(self) -> float:
        """Content collected per epoch from all arms."""
        return float(self.reward.sum())

    @property
    def engaged(self) -> float:
        """Mean number of arms crawled at an epoch."""
        return float(self.rate.sum())

    @property
    def engaged_std(self) -> float:
        """Standard deviation of the number of arms crawled at an epoch."""
        return float(np.sqrt(np.sum(self.rate * (1.0 - self.rate))))


def soft_threshold_value(
    sources: Sources,
    threshold: ArrayLike,
    kappa: float,
    *,
    offset: float = 0.5,
    scale: float | None = None,
) -> ThresholdValue:
    """Exact long-run value of the soft threshold policy with constant thresholds.

    Parameters
    ----------
    sources : Sources
        N sources.
    threshold : array_like, shape (N,)
        T_i, in units of content.
    kappa : float
        Steepness of the logit, per unit of scaled content; positive.
    offset : float
        The constant inside the logit, 0.5 in the 2019 paper.
    scale : float, optional
        Content by which states are divided; the largest u* by default.

    Returns
    -------
    ThresholdValue

    Raises
    ------
    ValueError
        If ages matter beyond `LARGEST_AGE`, as where a decay per epoch is below about 4e-6.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> value = soft_threshold_value(four_sources(), [300.0, 20.0, 20.0, 20.0], 0.1)
    >>> bool(value.rate.sum() < 4)
    True
    """
    check_kind("sources", sources, Sources)
    kappa = check_positive("kappa", kappa)
    offset = check_number("offset", offset, low_open=True, high_open=True)
    unit = _unit(sources, scale)
    levels = _one_each("threshold", sources, threshold)
    value = [
        _renewal(sources, arm, kappa * ((_orbit(sources, arm) - levels[arm]) / unit - offset))
        for arm in range(len(sources))
    ]
    return ThresholdValue(*(np.array(column) for column in zip(*value, strict=True)))


def hard_threshold_value(sources: Sources, threshold: ArrayLike) -> ThresholdValue:
    """Exact long-run value of crawling each arm as soon as its content reaches a threshold.

    Parameters
    ----------
    sources : Sources
        N sources.
    threshold : array_like, shape (N,)
        T_i, in units of content; an arm whose u* is not above it is never crawled.

    Returns
    -------
    ThresholdValue

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> value = hard_threshold_value(four_sources(), [300.0, 20.0, 20.0, 20.0])
    >>> value.rate.round(4).tolist()
    [0.3333, 1.0, 1.0, 0.5]
    """
    check_kind("sources", sources, Sources)
    levels = _one_each("threshold", sources, threshold)
    reachable = levels < sources.u_star
    share = np.where(reachable, levels / sources.u_star, 0.0)
    age = np.maximum(1.0, np.ceil(-np.log1p(-np.maximum(share, 0.0)) / sources.decay))
    # The quotient may be rounded across an integer: the states themselves decide.
    earlier = np.maximum(age - 1.0, 1.0)
    age = np.where(sources.state_at_age(earlier) >= levels, earlier, age)
    age = np.where(reachable & (sources.state_at_age(age) < levels), age + 1.0, age)
    rate = np.where(reachable, 1.0 / age, 0.0)
    return ThresholdValue(sources.state_at_age(age) * rate, rate)


def best_soft_thresholds(
    sources: Sources,
    kappa: float,
    engaged: float,
    *,
    offset: float = 0.5,
    scale: float | None = None,
    projected: bool = True,
) -> tuple[Floats, ThresholdValue]:
    """Off-line optimum of constant soft thresholds at a given mean number of engaged arms.

    A crawl is charged a price; each arm then has one threshold to choose, a search in one
    dimension, and the price is set so that `engaged` arms are crawled on average.

    Parameters
    ----------
    sources, kappa, offset, scale
        As in `soft_threshold_value`.
    engaged : float
        Mean number of arms crawled at an epoch, in (0, N).
    projected : bool
        Keep T_i in [u_i, u*_i], the 2019 paper's projection.

    Returns
    -------
    threshold : ndarray, shape (N,)
        In units of content.
    value : ThresholdValue

    Raises
    ------
    ValueError
        If no price leads to `engaged` arms (the projection bounds their number), or ages matter
        beyond `LARGEST_AGE`.
    NotConverged
        If the best thresholds jump at the price between fewer arms and more.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import best_soft_thresholds
    >>> sources = four_sources()
    >>> threshold, value = best_soft_thresholds(sources, 10.0, 1.5, projected=False)
    >>> round(float(value.rate.sum()), 6)
    1.5
    """
    check_kind("sources", sources, Sources)
    check_kind("projected", projected, bool)
    kappa = check_positive("kappa", kappa)
    offset = check_number("offset", offset, low_open=True, high_open=True)
    engaged = check_number("engaged", engaged, 0, len(sources), low_open=True, high_open=True)
    unit = _unit(sources, scale)
    reach = unit * (offset + 40.0 / kappa)  # beyond it a crawl is certain, or as good as excluded
    low = sources.u if projected else -reach * np.ones(len(sources))
    high = sources.u_star if projected else sources.u_star + reach

    def chosen(price: float) -> Floats:
        return np.array(
            [
                _best_level(
                    lambda t, arm=arm: _priced(sources, arm, t, kappa, offset, unit, price),
                    low[arm],
                    high[arm],
                )
                for arm in range(len(sources))
            ]
        )

    def excess(price: float) -> float:
        return value_of(chosen(price)).engaged - engaged

    def value_of(levels: Floats) -> ThresholdValue:
        return soft_threshold_value(sources, levels, kappa, offset=offset, scale=unit)

    most, least = value_of(low).engaged, value_of(high).engaged
    if not least <= engaged <= most:
        raise ValueError(
            f"engaged must be in [{least:.6g}, {most:.6g}] at kappa = {kappa:g}, offset = "
            f"{offset:g} and scale = {unit:g}, got {engaged}"
        )
    limit = 4.0 * float(sources.u_star.max())
    price = brentq(excess, -limit, limit, xtol=1e-10 * limit)
    levels = chosen(price)
    value = value_of(levels)
    if not abs(value.engaged - engaged) <= 1e-6 * len(sources):
        raise NotConverged(
            f"no price leads to engaged = {engaged:.9g} at kappa = {kappa:g}: at a price of "
            f"{price:.9g} the best thresholds jump, and engage {value.engaged:.9g}; they jump "
            "less at a smaller kappa"
        )
    return levels, value


def whittle_threshold(sources: Sources, state: ArrayLike) -> Floats:
    """Threshold of each arm given the others' states under the index policy (section III).

    T_i(x_{-i}) is the least content of arm i whose index reaches the largest index of the others:
    with one arm a epoch, arm i is crawled where x_i >= T_i.

    Parameters
    ----------
    sources : Sources
        At least two sources.
    state : array_like, shape (N,)
        Content of every arm.

    Returns
    -------
    ndarray, shape (N,)

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> whittle_threshold(four_sources(), [100.0, 20.0, 10.0, 5.0]).shape
    (4,)
    """
    check_kind("sources", sources, Sources)
    if len(sources) < 2:
        raise ValueError(f"sources must be at least two, got {len(sources)}")
    x = _one_each("state", sources, state)
    index = whittle_index(sources, x)
    rival = np.array([np.delete(index, arm).max() for arm in range(len(sources))])
    threshold = np.zeros(len(sources))
    for arm in range(len(sources)):
        top = max(sources.u_star[arm], rival[arm] * sources.cost[arm])

        def short(level: float, arm: int = arm) -> float:
            trial = x.copy()
            trial[arm] = level
            return float(whittle_index(sources, trial)[arm] - rival[arm])

        if rival[arm] > 0:
            tiny = max(1e-16 * rival[arm], 1e-300)  # below any answer: relative accuracy decides
            threshold[arm] = brentq(short, 0.0, 2.0 * top, xtol=tiny, rtol=1e-14, maxiter=1000)
    return threshold


def _orbit(sources: Sources, arm: int) -> Floats:
    """Content at ages 1, 2, ... up to where it is u* to the last digit."""
    if not sources.settled_age[arm] <= LARGEST_AGE:
        raise ValueError(
            f"sources must settle within {LARGEST_AGE} epochs, got a decay of "
            f"{sources.decay[arm]:g} an epoch at position {arm}"
        )
    ages = np.arange(1, int(sources.settled_age[arm]) + 1)
    return -np.expm1(-sources.decay[arm] * ages) * sources.u_star[arm]


def _renewal(sources: Sources, arm: int, logit: Floats) -> tuple[float, float]:
    """Reward and crawls an epoch of one arm crawled at age k with log-odds `logit[k - 1]`."""
    crawl = expit(logit)
    if crawl[-1] == 0.0:
        return 0.0, 0.0
    waiting = np.exp(-np.concatenate([[0.0], np.cumsum(np.logaddexp(0.0, logit[:-1]))]))
    length = waiting[:-1].sum() + waiting[-1] / crawl[-1]
    reward = np.sum(waiting[:-1] * (crawl * _orbit(sources, arm))[:-1])
    reward += waiting[-1] * sources.u_star[arm]
    return reward / length, 1.0 / length


def _priced(
    sources: Sources,
    arm: int,
    level: float,
    kappa: float,
    offset: float,
    unit: float,
    price: float,
) -> float:
    logit = kappa * ((_orbit(sources, arm) - level) / unit - offset)
    reward, rate = _renewal(sources, arm, logit)
    return reward - price * rate


def _best_level(value, low: float, high: float) -> float:  # type: ignore[no-untyped-def]
    """Maximise over an interval: a grid finds the hill, Brent's method its top."""
    grid = np.linspace(low, high, 33)
    best = int(np.argmax([value(level) for level in grid]))
    lower, upper = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    top = minimize_scalar(lambda level: -value(level), bounds=(lower, upper), method="bounded")
    ends = [lower, upper, grid[best], top.x]
    return float(ends[int(np.argmax([value(level) for level in ends]))])


def _unit(sources: Sources, scale: float | None) -> float:
    if scale is None:
        return float(sources.u_star.max())
    return check_positive("scale", scale)


def _one_each(name: str, sources: Sources, values: ArrayLike) -> Floats:
    array = check_array(name, values)
    if array.shape != (len(sources),):
        raise ValueError(f"{name} must have shape ({len(sources)},), got {array.shape}")
    return array
