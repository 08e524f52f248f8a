"""What the pages of this part share: the slides' axes."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.published import printed_rows


def printed_ticks(row: str) -> Floats:
    """Return the ticks of an axis as the slides print them."""
    return np.array(printed_rows()[row].printed.split(), dtype=np.float64)
