"""Values and tables of the page `robots-general`."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats
from analysis.report import save_value
from analysis.robots.studies.robots_general.experiment import Variability, falls_below_critical


def save_predicates(found: Variability, steps: Floats, critical: float) -> None:
    """Save what the page's sentences on variability depend on."""
    low, high = int(np.argmin(found.gammas)), int(np.argmax(found.gammas))
    save_value("robots-general-steps", int((steps > 0).sum()))
    save_value("robots-general-all-steps", steps.size)
    save_value("robots-general-loads", len(steps))
    save_value("robots-general-low-gamma", found.gammas[low])
    save_value("robots-general-high-gamma", found.gammas[high])
    for name, k in (("low", low), ("high", high)):
        save_value(f"robots-general-{name}-first", int(found.numbers[k, 0]))
        save_value(f"robots-general-{name}-last", int(found.numbers[k, -1]))
    save_value("robots-general-several-weights", low != high)
    save_value("robots-general-several-variations", steps.size > 0)
    save_value("robots-general-starves-more", bool(steps.size > 0 and (steps > 0).all()))
    save_value("robots-general-loads-fall", falls_below_critical(found, critical))
