"""Section 7 of the report held against random runs, and Theorem 1 against the true index.

Between two crawls at epochs eta_m and eta_{m+1} a source gathers

    X(eta_{m+1}) = sum from t = eta_m + 1 to eta_{m+1} of alpha^(eta_{m+1} - t) U(t),

while the report prints the sum from eta_m to eta_{m+1} - 1; and the epochs between two crawls,
which the report takes from (16) as one fixed number, are a random first passage.

Reference: report 8702, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_array, check_integer, check_number
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.index import whittle_index
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.index import StochasticIndex

Floats = NDArray[np.float64]


def follow_threshold(
    arrivals: Arrivals, threshold: float, epochs: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Crawl one source whenever its content reaches a threshold, and note every crawl.

    Parameters
    ----------
    arrivals : Arrivals
        One source.
    threshold : float
        Content from which on it is crawled, positive.
    epochs : int
        Epochs drawn, at least 1.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row a crawl but the first: the ``content`` found, the ``printed`` sum for it, and the
        ``gap`` in epochs since the crawl before.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    if len(arrivals.sources) != 1:
        raise ValueError(f"arrivals must be of one source, got {len(arrivals.sources)}")
    check_number("threshold", threshold, 0, low_open=True)
    alpha = float(arrivals.sources.alpha[0])
    arrived = arrivals.sample(epochs, rng)[0]
    rows, content, last = [], 0.0, -1
    for epoch, more in enumerate(arrived):
        content = alpha * content + more
        if content < threshold:
            continue
        if last >= 0:
            terms = np.arange(last, epoch)  # printed: from eta_m to eta_{m+1} - 1
            printed = float(alpha ** (epoch - terms) @ arrived[terms])
            rows.append((content, printed, epoch - last))
        content, last = 0.0, epoch
    return pd.DataFrame(rows, columns=["content", "printed", "gap"])


def printed_average_reward(
    alpha: float, u_star: float, subsidy: float, epochs_between: int
) -> float:
    """Average reward of section 7 with one fixed number of epochs between crawls.

    Parameters
    ----------
    alpha, u_star : float
        Share of content left after an epoch, in (0, 1); limit of the expected content.
    subsidy : float
        C lambda, reward of an epoch without a crawl.
    epochs_between : int
        Eta, at least 1.

    Returns
    -------
    float
        (C lambda (eta - 1) + (1 - alpha^eta) u*) / eta.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    check_number("alpha", alpha, 0, 1, low_open=True, high_open=True)
    eta = check_integer("epochs_between", epochs_between, 1)
    return (subsidy * (eta - 1) + (1.0 - alpha**eta) * u_star) / eta


def closed_form_deviation(
    sources: Sources, curves: Sequence[StochasticIndex], share: ArrayLike
) -> Floats:
    """Compare Theorem 1, continued by x/C, with the true index of random content.

    Parameters
    ----------
    sources : Sources
        N sources.
    curves : sequence of StochasticIndex
        True index of each.
    share : array_like, shape (K,)
        Contents in units of u*, positive.

    Returns
    -------
    ndarray, shape (N, K)
        Closed form over index, less 1; ``nan`` beyond the end of a curve.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    """
    if len(curves) != len(sources):
        raise ValueError(f"curves must number {len(sources)}, one a source, got {len(curves)}")
    contents = check_array("share", share, 0, low_open=True)[:, None] * sources.u_star
    closed = whittle_index(sources, contents).T
    true = [
        np.interp(column, curve.state, curve.index, right=np.nan)
        for column, curve in zip(contents.T, curves, strict=True)
    ]
    return closed / np.array(true) - 1
