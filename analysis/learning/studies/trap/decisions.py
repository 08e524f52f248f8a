"""Optimism about the index where items are seen: wrong decisions counted, against their bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_integer
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.learning.items import sample_items
from analysis.learning.studies.trap.experiment import example

Floats = NDArray[np.float64]

RATIO, STEPS = 1.5, 2
"""Ratio of neighbours on the grid of u* and of mu, and how many lie on each side of the truth."""
OLDEST = 200
"""Ages up to which indices are compared; their limits u* are compared as well."""


@dataclass(frozen=True)
class Decisions:
    """Wrong decisions of the rule of the theorem on the two sources of the worked example.

    Attributes
    ----------
    epochs : ndarray of int, shape (P,)
        Numbers of epochs.
    wrong : ndarray of int, shape (R, P)
        Epochs so far at which the source crawled was not of the largest true index, by stream.
    bound : ndarray, shape (P,)
        What is proved of their expectation.
    """

    epochs: NDArray[np.int64]
    wrong: NDArray[np.int64]
    bound: Floats


def index(u_star: ArrayLike, mu: ArrayLike, age: ArrayLike) -> Floats:
    """Return u* [1 - alpha^k (1 + k (1 - alpha))], alpha = e^{-mu}, of a shape to be broadcast."""
    u_star, mu, age = np.asarray(u_star), np.asarray(mu), np.asarray(age)
    return np.asarray(u_star * (1 - np.exp(-mu * age) * (1 - age * np.expm1(-mu))))


def distance(u_star: ArrayLike, mu: ArrayLike, other_u_star: float, other_mu: float) -> Floats:
    """Integrate the squared difference of the roots of two densities u* mu e^{-mu s} over (0, 1).

    Parameters
    ----------
    u_star, mu : array_like, shape (G,)
        One of the two, at each point of a grid.
    other_u_star, other_mu : float
        The other.

    Returns
    -------
    ndarray, shape (G,)
        What a crawl at any age adds at least to H.
    """
    u_star, mu = np.asarray(u_star), np.asarray(mu)
    half = (mu + other_mu) / 2
    both = np.sqrt(u_star * mu * other_u_star * other_mu) * -np.expm1(-half) / half
    return np.asarray(
        -u_star * np.expm1(-mu) - other_u_star * np.expm1(-other_mu) - 2 * np.asarray(both)
    )


def bound(epochs: ArrayLike) -> Floats:
    """Return the sum over sources of 3 phi log(G T^2)/kappa_i + 5, phi = 1, at each T.

    Parameters
    ----------
    epochs : array_like, shape (P,)
        T.

    Returns
    -------
    ndarray, shape (P,)
    """
    u_star, mu = _grid()
    truth = example()
    ages = np.append(np.arange(1.0, OLDEST + 1), np.inf)
    with np.errstate(invalid="ignore"):
        true = index(truth.u_star[:, None], truth.decay[:, None], ages)
        each = index(u_star[..., None], mu[..., None], ages)
    true[:, -1], each[..., -1] = truth.u_star, u_star
    gap = np.abs(true[0][:, None] - true[1]).min()
    total = np.zeros(np.shape(epochs))
    for i in range(2):
        off = np.abs(each[i] - true[i]).max(axis=1) >= gap
        kappa = distance(u_star[i], mu[i], truth.u_star[i], truth.decay[i])[off].min()
        total += 3 * np.log(u_star.shape[1] * np.asarray(epochs, dtype=float) ** 2) / kappa + 5
    return total


def play_items(epochs: int, streams: int, seed: int) -> Decisions:
    """Play the rule of the theorem on the worked example, with items of worth 1 when new.

    At each epoch the source of largest optimistic index is crawled: the largest over the points of
    a grid whose likelihood is within log(G t^2) of the best. Both sources are empty at the start.

    Parameters
    ----------
    epochs, streams : int
        Epochs T in each of some streams of arrivals.
    seed : int
        Root of these.

    Returns
    -------
    Decisions
    """
    epochs, streams = check_integer("epochs", epochs, 10), check_integer("streams", streams, 2)
    truth, (u_star, mu) = example(), _grid()
    arrivals = Arrivals(truth, Utility("deterministic"))
    drawn = [
        sample_items(arrivals, epochs, rng)
        for rng in np.random.default_rng([seed, 4]).spawn(streams)
    ]
    worth, aged = np.array([d.worth for d in drawn]), np.array([d.aged for d in drawn])
    held, older = np.zeros((streams, 2)), np.zeros((streams, 2))
    age, likelihood = np.zeros((streams, 2)), np.zeros((streams, *u_star.shape))
    wrong, row = np.zeros((streams, epochs), dtype=np.int64), np.arange(streams)
    for t in range(1, epochs + 1):
        older = truth.alpha * (older + held) + aged[:, :, t - 1]
        held = truth.alpha * held + worth[:, :, t - 1]
        age += 1
        lowest = likelihood.max(axis=2, keepdims=True) - np.log(u_star.shape[1] * t**2)
        hoped = np.where(likelihood >= lowest, index(u_star, mu, age[..., None]), -np.inf)
        arm = hoped.max(axis=2).argmax(axis=1)
        true = index(truth.u_star, truth.decay, age)
        wrong[:, t - 1] = true[row, arm] < true.max(axis=1)
        u, m = u_star[arm], mu[arm]
        found, sums, k = (a[row, arm][:, None] for a in (held, older, age))
        likelihood[row, arm] += found * np.log(u * m) - m * sums + u * np.expm1(-m * k)
        held[row, arm] = older[row, arm] = age[row, arm] = 0.0
    points = np.unique(np.geomspace(10, epochs, 12).astype(int))
    return Decisions(points, wrong.cumsum(axis=1)[:, points - 1], bound(points))


def _grid() -> tuple[Floats, Floats]:
    """Return u* and mu at the points of each source's grid, which contains the truth; (2, G)."""
    factors = RATIO ** np.arange(-STEPS, STEPS + 1.0)
    u, m = (grid.ravel() for grid in np.meshgrid(factors, factors))
    truth = example()
    return truth.u_star[:, None] * u, truth.decay[:, None] * m
