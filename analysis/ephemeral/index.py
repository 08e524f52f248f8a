"""The Whittle index of a source of ephemeral content, in closed form.

Theorem 1 of the report gives, for a source in state x with 0 <= x < u*,

    gamma(x) = (1/C) [ eta ((1 - alpha) x - u) + u* (1 - alpha^eta) ],
    eta(x)   = max(1, ceil( log(1 - x/u*) / log(alpha) )).

The printed form loses all its digits when interest fades slowly. With s = x/u*, m = mu T, z = m eta
and h(y) = exp(-y) - 1 + y >= 0 the same number is

    gamma(x) = (u*/C) [ eta (1 - e^{-m}) s - h(z) + eta h(m) ],

in which nothing cancels when z is small (for eta = 1 it is (1 - e^{-m}) s). At age k (epochs since
the last crawl, state x = u*(1 - alpha^k)) it is

    gamma_k = (u*/C) [ P(2, m k) + k e^{-m k} h(m) ],   P the regularised incomplete gamma function,

a sum of two positive terms. For x >= u* the index by definition is x/C; the report's log^+ would
give 0 there.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), section 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc

from analysis.checks import check_array, check_kind
from analysis.ephemeral.sources import Sources

#: 1/n for n up to 16: series multiply instead of dividing.
INVERSE = tuple(1.0 / max(n, 1) for n in range(17))


def whittle_index(sources: Sources, state: ArrayLike) -> NDArray[np.float64]:
    """Whittle index of each source in a given state (Theorem 1 of the report).

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (..., N)
        Expected content of each source; not negative. States above u* are allowed.

    Returns
    -------
    ndarray, shape (..., N)
        The subsidy for passivity, per unit of crawl cost, at which crawling and waiting tie.

    Raises
    ------
    ValueError
        If a state is negative or not finite, or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> whittle_index(four_sources(), [10.0, 10.0, 10.0, 10.0]).round(2).tolist()
    [5.03, 2.95, 5.03, 1.89]
    """
    x = one_entry_a_source("state", state, sources)
    u_star, decay = sources.u_star, sources.decay
    below = x < u_star
    share = np.divide(x, u_star, out=np.zeros_like(x), where=below)
    eta = np.maximum(1.0, np.ceil(-np.log1p(-share) / decay))
    z = decay * eta
    slow = eta * (-np.expm1(-decay) * share + h(decay)) - h(z)
    fast = -np.expm1(-z) + eta * np.expm1(-decay) * (1.0 - share)
    relative = np.where(eta == 1.0, -np.expm1(-decay) * share, np.where(z < 1.0, slow, fast))
    return np.where(below, u_star * relative, x) / sources.cost


def whittle_index_at_age(sources: Sources, age: ArrayLike) -> NDArray[np.float64]:
    """Whittle index of each source by its age, exact on the orbit that follows a crawl.

    Parameters
    ----------
    sources : Sources
        N sources.
    age : array_like, shape (..., N)
        Epochs since the last crawl, 1 at the epoch that follows it; not negative.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If an age is negative or not finite, or the last axis is not of length N.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> whittle_index_at_age(four_sources(), [1, 2, 3, 4]).round(2).tolist()
    [90.51, 105.06, 49.47, 22.97]
    """
    k = one_entry_a_source("age", age, sources)
    z = sources.decay * k
    bracket = gammainc(2.0, z) + k * np.exp(-z) * h(sources.decay)
    return sources.u_star * bracket / sources.cost


def h(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(-y) - 1 + y for y >= 0, to full relative accuracy."""
    return np.where(y < 0.5, series_of_h(np.minimum(y, 0.5)), np.expm1(-y) + y)


def series_of_h(y: Any) -> Any:
    """Return y^2/2 (1 - y/3 (1 - y/4 (1 - ...))), which is h(y), for y up to a half.

    For arrays as for numbers: `analysis.ephemeral.kernels` compiles it for its loops.
    """
    series = 1.0
    for term in range(16, 2, -1):  # in Horner's order
        series = 1.0 - y * INVERSE[term] * series
    return 0.5 * y * y * series


def one_entry_a_source(name: str, values: ArrayLike, sources: Sources) -> NDArray[np.float64]:
    """Return checked numbers of shape (..., N), none negative; ValueError uses the name."""
    check_kind("sources", sources, Sources)
    array = check_array(name, values, 0)
    if array.ndim == 0 or array.shape[-1] != len(sources):
        raise ValueError(
            f"{name} must have one entry for each of the {len(sources)} sources on its last axis, "
            f"got shape {array.shape}"
        )
    return array
