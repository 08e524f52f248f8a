"""Rewards of a scheduler over many epochs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Crawls(Protocol):
    """A scheduler with known ages."""

    def crawl(self) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch."""


def rewards(scheduler: Crawls, epochs: int) -> Floats:
    """Crawl so many epochs and return the expected reward of each.

    Parameters
    ----------
    scheduler : Crawls
        In one process or in parts; it is advanced by these epochs.
    epochs : int
        Number of epochs.

    Returns
    -------
    ndarray, shape (epochs,)
    """
    return np.array([scheduler.crawl()[1].sum() for _ in range(epochs)])
