"""Confidence intervals for time series: the moving-block bootstrap.

The weeks of one trace are not independent. Blocks of consecutive weeks are drawn with replacement,
the same blocks for every policy and starting phase, so that common fluctuations cancel in a ratio.
Reference: Künsch, The jackknife and the bootstrap for general stationary observations (1989).
"""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.checks import Rng, check_integer, check_rng


def block_weights(weeks: int, block: int, draws: int, rng: Rng) -> Floats:
    """Draw bootstrap samples of blocks of weeks; return how often each week occurs in each.

    The result has shape (draws, weeks), and each of its rows sums to `weeks`.
    """
    rng = check_rng(rng)
    weeks = check_integer("weeks", weeks, 1)
    block = check_integer("block", block, 1, weeks)
    draws = check_integer("draws", draws, 1)
    count = -(-weeks // block)
    first = rng.integers(0, weeks - block + 1, (draws, count))
    chosen = (first[:, :, None] + np.arange(block)).reshape(draws, -1)[:, :weeks]
    counts = np.zeros((draws, weeks))
    np.add.at(counts, (np.arange(draws)[:, None], chosen), 1.0)
    return counts


def ratio_interval(
    numerator: Floats, denominator: Floats, weights: Floats, level: float = 0.95
) -> tuple[float, float, float]:
    """Return the ratio of two totals, with the limits of its percentile interval.

    Numerator and denominator have a value a week, `weights` are those of `block_weights`, and
    `level` is the coverage.
    """
    samples = (weights @ numerator) / (weights @ denominator)
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return float(numerator.sum() / denominator.sum()), float(low), float(high)
