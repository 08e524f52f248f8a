"""Result types of all parts: estimates with intervals, and solutions with residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_integer, check_number


class NotConverged(RuntimeError):
    """A solver stopped at its iteration limit; the message says how far it got."""


@dataclass(frozen=True)
class Estimate:
    """A number estimated from independent replications, with its confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval.
    replications : int
        Number of independent values that it is computed from.

    Examples
    --------
    >>> estimate = Estimate.of([1.0, 2.0, 3.0])
    >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3), estimate.replications
    (2.0, -0.484, 4.484, 3)
    """

    value: float
    low: float
    high: float
    replications: int

    @classmethod
    def of(cls, values: ArrayLike, level: float = 0.95) -> Estimate:
        """Estimate a mean with Student's interval.

        Its coverage is `level` for normal values and tends to it as their number grows. For few
        values of a skewed law it is less: of exponential values 0.95 is 0.88 at 3 and 5 of them,
        0.90 at 10 and 0.93 at 30; of lognormal ones (sigma 1) 0.83, 0.82, 0.84 and 0.88.

        Parameters
        ----------
        values : array_like
            One number a replication, at least two.
        level : float
            Coverage, in (0, 1).

        Raises
        ------
        ValueError
            If there are fewer than two values, one is not finite, or the level is out of range.

        Examples
        --------
        >>> Estimate.of([1.0, 2.0, 3.0])  # doctest: +ELLIPSIS
        Estimate(value=2.0, low=-0.48..., high=4.48..., replications=3)
        """
        sample = check_array("values", values).ravel()
        value, low, high = student_band(sample, level)
        return cls(float(value), float(low), float(high), sample.size)

    @classmethod
    def median_of(cls, values: ArrayLike, level: float = 0.95) -> Estimate:
        """Estimate a median with an interval between order statistics, whatever the distribution.

        Parameters
        ----------
        values : array_like
            One number a replication, at least `least_for_median` of them: six for a level of 0.95;
            ``inf`` stands for "not within the horizon".
        level : float
            Least coverage, in (0, 1).

        Raises
        ------
        ValueError
            If there are too few values for the level, one is no number, or the level is out of
            range.

        Examples
        --------
        >>> Estimate.median_of([1, 2, 3, 4, 5, 6])
        Estimate(value=3.5, low=1.0, high=6.0, replications=6)
        """
        least = least_for_median(level)
        ordered = np.sort(check_array("values", values, finite=False).ravel())
        check_integer("replications of values", ordered.size, least)
        from scipy.stats import binom  # takes longer to load than all else here

        below = max(int(binom.ppf((1 - level) / 2, ordered.size, 0.5)) - 1, 0)
        middle = ordered[[(ordered.size - 1) // 2, ordered.size // 2]].mean()
        return cls(float(middle), float(ordered[below]), float(ordered[-1 - below]), ordered.size)

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper end of the interval."""
        return self.low, self.high

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2


def least_for_median(level: float = 0.95) -> int:
    """Return the least number of values for an interval of the median between order statistics.

    The interval from the least to the largest of n values covers the median with probability
    1 - 2^(1-n).

    Parameters
    ----------
    level : float
        Least coverage, in (0, 1).

    Examples
    --------
    >>> least_for_median(0.95), 1 - 2.0**-5, 1 - 2.0**-4
    (6, 0.96875, 0.9375)
    """
    level = check_number("level", level, 0, 1, low_open=True, high_open=True)
    return max(2, math.ceil(1 - math.log2(1 - level)))


def student_band(values: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Mean over the first axis and Student's interval, entry by entry.

    Parameters
    ----------
    values : array_like, shape (R, ...)
        R replications, at least two.
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    mean, low, high : ndarray, shape (...)

    Raises
    ------
    ValueError
        If there are fewer than two replications, a value is not finite, or the level is out of
        range.

    Examples
    --------
    >>> mean, low, high = student_band([[1.0], [2.0], [3.0]])
    >>> mean.tolist(), low.round(3).tolist(), high.round(3).tolist()
    ([2.0], [-0.484], [4.484])
    """
    sample = check_array("values", values)
    level = check_number("level", level, 0, 1, low_open=True, high_open=True)
    check_integer("replications of values", sample.shape[0] if sample.ndim else 0, 2)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sample.mean(axis=0)
        error = sample.std(axis=0, ddof=1) / np.sqrt(sample.shape[0])
        half = stdtrit(sample.shape[0] - 1, (1 + level) / 2) * error
    if not np.isfinite(mean + half).all():
        raise ValueError("values must have a mean and a variance that a float can hold")
    return mean, mean - half, mean + half


@read_only_arrays
@dataclass(frozen=True, kw_only=True)
class Solution:
    """Solution of a Markov decision problem.

    Attributes
    ----------
    policy : ndarray of int, shape (states,)
        The optimal action in each state.
    iterations : int
        Iterations that were run.
    residual : float
        Largest violation of the optimality equation.
    converged : bool
        Whether the solver met its tolerance. Solvers raise `NotConverged` rather than return
        ``False``, unless the caller asked for a fixed number of iterations.
    method : str
        The algorithm that ran.
    """

    policy: NDArray[np.int64] = field(repr=False)
    iterations: int
    residual: float
    converged: bool
    method: str


@read_only_arrays
@dataclass(frozen=True, kw_only=True)
class AverageSolution(Solution):
    """Solution of an average-reward (or average-cost) problem.

    Attributes
    ----------
    gain : float
        Average reward (or cost) per epoch.
    bias : ndarray, shape (states,)
        Relative values, zero at the reference state.
    """

    gain: float
    bias: Floats = field(repr=False)


@read_only_arrays
@dataclass(frozen=True, kw_only=True)
class DiscountedSolution(Solution):
    """Solution of a discounted problem.

    Attributes
    ----------
    values : ndarray, shape (states,)
        Discounted reward (or cost) from each state.
    """

    values: Floats = field(repr=False)
