"""Rewards of a scheduler over many epochs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats


class Crawls(Protocol):
    """A scheduler with known ages."""

    def crawl(self) -> tuple[NDArray[np.int64], Floats]:
        """Crawl the sources of this epoch."""


def rewards(scheduler: Crawls, epochs: int) -> Floats:
    """Crawl for some epochs and return the expected reward of each; the scheduler advances."""
    return np.array([scheduler.crawl()[1].sum() for _ in range(epochs)])
