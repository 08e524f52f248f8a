"""Laws of indexing times, as weighted sets of points, for queues with any law of service.

Constants are one point; other laws have the tanh-sinh nodes of their quantile function, down to
tails of 1e-294.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import stats

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import (
    check_array,
    check_integer,
    check_number,
    check_positive,
    set_fields,
    shown,
)

NODES = 60
"""Nodes of tanh-sinh quadrature for each unit of its variable."""
REACH = 364
"""Nodes on each side of 0: the last ones are at probabilities below 1e-294."""


@read_only_arrays
@dataclass(frozen=True)
class ServiceLaw:
    """A law of indexing times as a weighted set of points.

    Attributes
    ----------
    name : str
        What to call it in a legend.
    mean : float
        Mean time, 1/mu.
    variation : float
        Squared coefficient of variation (infinite where the variance is).
    points, weights : ndarray, shape (nodes,)
        Times and their probabilities.
    coarse : ndarray, shape (nodes,), optional
        Weights of a rule of half as many nodes, by which the error of the other is known; None if
        the points are the law itself.

    Examples
    --------
    >>> law = gamma_law(2.0, mean=0.5)
    >>> law.mean, law.variation
    (0.5, 2.0)
    """

    name: str
    mean: float
    variation: float
    points: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    coarse: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        points = check_array("points", self.points, 0)
        rules = {"weights": self.weights} | ({} if self.coarse is None else {"coarse": self.coarse})
        for name, rule in rules.items():
            weights = check_array(name, rule, 0)
            if weights.shape != points.shape or not math.isclose(weights.sum(), 1, rel_tol=1e-9):
                raise ValueError(
                    f"{name} must be probabilities, one for each of {points.size} points, "
                    f"got {weights.size} of sum {weights.sum():g}"
                )
            set_fields(self, **{name: weights})
        set_fields(
            self,
            mean=check_positive("mean", self.mean),
            variation=check_number("variation", self.variation, 0),
            points=points,
        )


def _tanh_sinh() -> tuple[Floats, Floats, Floats]:
    """Return lower-tail and upper-tail probabilities and weights of tanh-sinh quadrature."""
    t = np.arange(-REACH, REACH + 1) / NODES
    argument = 0.5 * math.pi * np.sinh(t)
    lower = 1.0 / (1.0 + np.exp(-2.0 * argument))
    upper = 1.0 / (1.0 + np.exp(2.0 * argument))
    weights = math.pi * np.cosh(t) * lower * upper / NODES
    return lower, upper, weights


def _by_quantiles(
    name: str,
    quantile: Callable[[Floats], Floats],
    upper_quantile: Callable[[Floats], Floats],
    mean: float,
    variation: float,
) -> ServiceLaw:
    lower, upper, weights = _tanh_sinh()
    points = np.concatenate([quantile(lower[lower < 0.5]), upper_quantile(upper[lower >= 0.5])])
    coarse = np.where(np.arange(weights.size) % 2 == 0, weights, 0.0)
    return ServiceLaw(name, mean, variation, points, weights / weights.sum(), coarse / coarse.sum())


def exponential(mean: float = 1.0) -> ServiceLaw:
    """Return exponential indexing times, the M/M/1/K queue."""
    mean = check_positive("mean", mean)
    return _by_quantiles(
        "exponential", lambda p: -mean * np.log1p(-p), lambda p: -mean * np.log(p), mean, 1.0
    )


def deterministic(mean: float = 1.0) -> ServiceLaw:
    """Return constant indexing times."""
    mean = check_positive("mean", mean)
    return ServiceLaw("constant", mean, 0.0, np.array([mean]), np.array([1.0]))


def erlang(stages: int, mean: float = 1.0) -> ServiceLaw:
    """Return the sum of `stages` exponential times, of total mean `mean`."""
    stages, mean = check_integer("stages", stages, 1), check_positive("mean", mean)
    law = gamma_law(1.0 / stages, mean)
    return replace(law, name=f"Erlang-{stages}")


def gamma_law(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return gamma indexing times with a squared coefficient of variation."""
    variation, mean = check_positive("variation", variation), check_positive("mean", mean)
    law = stats.gamma(1.0 / variation, scale=mean * variation)
    return _by_quantiles(f"gamma, variation {variation:g}", law.ppf, law.isf, mean, variation)


def lognormal(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return lognormal indexing times with a squared coefficient of variation."""
    variation, mean = check_positive("variation", variation), check_positive("mean", mean)
    sigma = math.sqrt(math.log1p(variation))
    law = stats.lognorm(sigma, scale=mean * math.exp(-0.5 * sigma**2))
    return _by_quantiles(f"lognormal, variation {variation:g}", law.ppf, law.isf, mean, variation)


def hyperexponential(variation: float, mean: float = 1.0) -> ServiceLaw:
    """Return a mixture of two exponentials with balanced means (each half of the mean).

    The squared coefficient of variation is at least 1.
    """
    variation = check_number("variation", variation, 1.0, high_open=True)
    mean = check_positive("mean", mean)
    share = 0.5 * (1.0 + math.sqrt((variation - 1.0) / (variation + 1.0)))
    unit = exponential()
    parts = np.array([share, 1.0 - share])
    return ServiceLaw(
        f"hyper-exponential, variation {variation:g}",
        mean,
        variation,
        np.outer(0.5 * mean / parts, unit.points).ravel(),
        np.outer(parts, unit.weights).ravel(),
        None if unit.coarse is None else np.outer(parts, unit.coarse).ravel(),
    )


def from_scipy(law: stats.rv_frozen, name: str = "user's own") -> ServiceLaw:
    """Return the law of a frozen continuous distribution of scipy.stats, on non-negative numbers.

    Raises ValueError if the law has an infinite mean or negative values, is not continuous, or is
    too irregular for the quadrature (its mean is not reproduced to eight digits).
    """
    if not isinstance(getattr(law, "dist", None), stats.rv_continuous):
        raise ValueError(
            f"law must be a frozen continuous distribution of scipy.stats, got {shown(law)}"
        )
    mean = float(law.mean())
    if not (math.isfinite(mean) and mean > 0):
        raise ValueError(f"law must have a positive finite mean, got {mean}")
    if law.support()[0] < 0:
        raise ValueError(f"law must have no negative values, got support {law.support()}")
    with np.errstate(all="ignore"):  # what overflows is refused
        variation = float(law.var() / np.float64(mean) ** 2)
        furthest = float(law.isf(_tanh_sinh()[1].min()))
    if math.isnan(variation) or math.isinf(furthest):
        raise ValueError("law must have quantiles and a variance that floats can hold")
    result = _by_quantiles(name, law.ppf, law.isf, mean, variation)
    reproduced = float(result.points @ result.weights)
    if not abs(reproduced / mean - 1.0) < 1e-8:
        raise ValueError(
            f"law must be smooth and light enough in its tail for its mean {mean:g} to be found by "
            f"quadrature, got {reproduced:g}"
        )
    return result
