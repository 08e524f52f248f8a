"""Shared by pages of this part: the slides' axes, and the columns that name a system."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from scorecard.prints import printed_rows

SYSTEM = {
    "kernel": "generator of the kernels",
    "instance": "number of the system among those of its generator",
    "arms": "arms of the system, n",
    "budget": "arms active at each epoch, m",
}


def printed_ticks(row: str) -> Floats:
    """Return the ticks of an axis as the slides print them."""
    return np.array(printed_rows()[row].printed.split(), dtype=np.float64)
