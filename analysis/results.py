"""The one result type of every solver in the package."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


class NotConverged(RuntimeError):
    """A solver stopped at its iteration limit; the message says how far it got."""


@dataclass(frozen=True)
class Solution:
    """What a Markov decision problem's solver found.

    Attributes
    ----------
    gain : float
        Average reward (or cost) per epoch; for a discounted problem, ``nan``.
    bias : ndarray, shape (states,)
        Relative values, zero at the reference state; for a discounted problem, the values.
    policy : ndarray of int, shape (states,)
        The optimal action in each state.
    iterations : int
        Iterations that were run.
    residual : float
        Largest violation of the optimality equation by `gain` and `bias`.
    converged : bool
        Whether the solver met its tolerance. Solvers raise `NotConverged` rather than return
        ``False``, unless the caller asked for a fixed number of iterations.
    """

    gain: float
    bias: NDArray[np.float64] = field(repr=False)
    policy: NDArray[np.int64] = field(repr=False)
    iterations: int
    residual: float
    converged: bool
