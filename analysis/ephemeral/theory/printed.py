"""The index exactly as the documents print it, to measure its errors.

    theorem   (1/C) [ eta ((1 - alpha) x - u) + (1 - alpha^eta) / (1 - alpha) u ]      Theorem 1
    remark    (1/C) [ eta ((1 - alpha) x - u) + x ]               Remark, and the slides' theorem

    eta = ceil( log^+_alpha( (u - (1 - alpha) x) / u ) ),   log^+ y = log y if y > 0, else 0.

The two agree on the states that follow a crawl, in exact arithmetic. Elsewhere the remark is wrong,
and in floating point the ceiling of a logarithm that should be whole can be one too large.

Reference: report 8702, (16), Theorem 1 and Remark; slides, main theorem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_array, check_choice
from analysis.ephemeral.sources import Sources

FORMS = ("theorem", "remark")


def printed_eta(sources: Sources, state: ArrayLike) -> Floats:
    """Return the passage time to states, shape (..., N), as printed in (16); 0 from u* on."""
    x = check_array("state", state, 0)
    argument = (sources.u - (1.0 - sources.alpha) * x) / sources.u
    positive = argument > 0
    logarithm = np.log(np.where(positive, argument, 1.0)) / np.log(sources.alpha)
    return np.where(positive, np.ceil(logarithm), 0.0) + 0.0  # no minus zero


def printed_index(sources: Sources, state: ArrayLike, form: str = "theorem") -> Floats:
    """Return the Whittle index in states, shape (..., N), in one of the two printed `FORMS`.

    ValueError if a state is negative or the form is unknown.
    """
    check_choice("form", form, FORMS)
    x = check_array("state", state, 0)
    eta = printed_eta(sources, x)
    alpha, u = sources.alpha, sources.u
    last = x if form == "remark" else (1.0 - alpha**eta) / (1.0 - alpha) * u
    return (eta * ((1.0 - alpha) * x - u) + last) / sources.cost


def orbit(sources: Sources, ages: int) -> Floats:
    """Return the contents at ages 1, 2, ..., with the rounding of the recursion (2); (ages, N)."""
    states = np.empty((ages, len(sources)))
    state = np.zeros(len(sources))
    for row in states:
        state = sources.alpha * state + sources.u
        row[:] = state
    return states
