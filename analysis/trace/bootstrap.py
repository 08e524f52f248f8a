"""Confidence intervals for time series: the moving-block bootstrap.

The weeks of one trace are not independent. Blocks of consecutive weeks are drawn with replacement,
the same blocks for every policy and starting phase, so that common fluctuations cancel in a ratio.
Reference: Künsch, The jackknife and the bootstrap for general stationary observations (1989).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_integer

Floats = NDArray[np.float64]


def block_weights(weeks: int, block: int, draws: int, rng: np.random.Generator) -> Floats:
    """Draw bootstrap samples; return how often each week occurs in each.

    Parameters
    ----------
    weeks, block, draws : int
        Weeks observed, weeks in a block, and samples drawn.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (draws, weeks)
        Each row sums to `weeks`.
    """
    weeks = check_integer("weeks", weeks, 1)
    block = check_integer("block", block, 1, weeks)
    draws = check_integer("draws", draws, 1)
    count = -(-weeks // block)
    first = rng.integers(0, weeks - block + 1, (draws, count))
    taken = (first[:, :, None] + np.arange(block)).reshape(draws, -1)[:, :weeks]
    flat = np.bincount((np.arange(draws)[:, None] * weeks + taken).ravel(), minlength=draws * weeks)
    return flat.reshape(draws, weeks).astype(np.float64)


def ratio_interval(
    numerator: Floats, denominator: Floats, weights: Floats, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two totals, with its percentile interval.

    Parameters
    ----------
    numerator, denominator : ndarray, shape (weeks,)
        Weekly values.
    weights : ndarray, shape (draws, weeks)
        From `block_weights`.
    level : float
        Coverage.

    Returns
    -------
    ratio, low, high : float
    """
    samples = (weights @ numerator) / (weights @ denominator)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(numerator.sum() / denominator.sum()), float(low), float(high)
