"""The index exactly as the documents print it, to measure its errors.

    theorem   (1/C) [ eta ((1 - alpha) x - u) + (1 - alpha^eta) / (1 - alpha) u ]      Theorem 1
    remark    (1/C) [ eta ((1 - alpha) x - u) + x ]               Remark, and the slides' theorem

    eta = ceil( log^+_alpha( (u - (1 - alpha) x) / u ) ),   log^+ y = log y if y > 0, else 0.

The two agree on the states that follow a crawl, in exact arithmetic. Elsewhere the remark is wrong,
and in floating point the ceiling of a logarithm that should be whole can be one too large.

Reference: report 8702, (16), Theorem 1 and Remark; slides, main theorem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_array, check_choice
from analysis.ephemeral.policies import Observation, top
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]

FORMS = ("theorem", "remark")


def printed_eta(sources: Sources, state: ArrayLike) -> Floats:
    """Return the passage time to a state as printed in (16), with the printed logarithm.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (..., N)
        Content of each source; not negative.

    Returns
    -------
    ndarray, shape (..., N)
        0 from u* on.
    """
    x = check_array("state", state, 0)
    inside = (sources.u - (1.0 - sources.alpha) * x) / sources.u
    positive = inside > 0
    logarithm = np.log(np.where(positive, inside, 1.0)) / np.log(sources.alpha)
    return np.where(positive, np.ceil(logarithm), 0.0) + 0.0  # no minus zero


def printed_index(sources: Sources, state: ArrayLike, form: str = "theorem") -> Floats:
    """Whittle index of each source as printed.

    Parameters
    ----------
    sources : Sources
        N sources.
    state : array_like, shape (..., N)
        Content of each source; not negative.
    form : {"theorem", "remark"}
        Which of the two printed formulas.

    Returns
    -------
    ndarray, shape (..., N)

    Raises
    ------
    ValueError
        If a state is negative or the form is unknown.
    """
    check_choice("form", form, FORMS)
    x = check_array("state", state, 0)
    eta = printed_eta(sources, x)
    alpha, u = sources.alpha, sources.u
    last = x if form == "remark" else (1.0 - alpha**eta) / (1.0 - alpha) * u
    return (eta * ((1.0 - alpha) * x - u) + last) / sources.cost


def orbit(sources: Sources, ages: int) -> Floats:
    """States that follow a crawl, by the recursion (2), one epoch after the other.

    Parameters
    ----------
    sources : Sources
        N sources.
    ages : int
        Number of epochs.

    Returns
    -------
    ndarray, shape (ages, N)
        Contents at ages 1, 2, ..., with the rounding of the recursion.
    """
    states = np.empty((ages, len(sources)))
    state = np.zeros(len(sources))
    for row in states:
        state = sources.alpha * state + sources.u
        row[:] = state
    return states


@dataclass(frozen=True)
class PrintedIndexPolicy:
    """Crawl the sources whose printed index is largest.

    Parameters
    ----------
    sources : Sources
        N sources, all of them observed.
    form : {"theorem", "remark"}
        Which of the two printed formulas.
    """

    sources: Sources
    form: str = "theorem"

    def __post_init__(self) -> None:
        check_choice("form", self.form, FORMS)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Return the `budget` sources of largest printed index."""
        return top(printed_index(self.sources, observation.state, self.form), budget)
