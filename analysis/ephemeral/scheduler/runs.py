"""What a scheduler earns when it crawls epoch after epoch."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Crawls(Protocol):
    """Any scheduler of known ages."""

    def crawl(self) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch."""


def rewards(scheduler: Crawls, epochs: int) -> Floats:
    """Crawl so many epochs and return what each is expected to earn.

    Parameters
    ----------
    scheduler : Crawls
        In one process or in parts; it is left where the last epoch leaves it.
    epochs : int
        How many.

    Returns
    -------
    ndarray, shape (epochs,)
    """
    return np.array([scheduler.crawl()[1].sum() for _ in range(epochs)])
