"""Values and tables of the page `robots-controlled`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.report import save_value
from analysis.robots.studies.robots_controlled.experiment import Results, are_curves


def save_predicates(found: Results, agree: NDArray[np.bool_]) -> None:
    """Save what the page's sentences depend on."""
    falls = bool((np.diff(list(found.updates.values())) < 0).all())
    save_value("robots-controlled-states", int((found.references[0].updates >= 0).sum()))
    save_value("robots-controlled-hits", int(agree.sum()))
    save_value("robots-controlled-fewer-updates", falls)
    save_value("robots-controlled-are-curves", are_curves(found.optima))
