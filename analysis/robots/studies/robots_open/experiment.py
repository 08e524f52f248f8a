"""What the page `robots-open` computes: the identities behind Lemma 2, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.robots.static import limits, theory

#: Weights gamma/mu of the picture of Lemma 3, by pairs of reciprocals.
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)


def printed_moment(n: int, k: int) -> int:
    """Return m_k by the two forms of the proof, for k >= 1."""
    if k % 2:
        return (n + 1) ** k - n**k - 1
    return (2 * n + 3) * n**k - (2 * n - 1) * (n + 1) ** k - 1


def identities(capacities: Sequence[int]) -> pd.DataFrame:
    """Return which polynomial identities hold, by capacity."""
    found = pd.DataFrame({k: theory.static_identities(k) for k in capacities})
    return found.rename_axis("identity").rename_axis("K =", axis=1)


def proof_checks(exact: pd.DataFrame, largest: int) -> dict[str, bool]:
    """Say of each step of the proof of Lemma 2 whether its numbers agree."""
    ks = range(2, largest + 1)
    turning = np.array([theory.turning_gamma(k) for k in ks])
    zeros = [theory.zero_of_exponential_sum(n) for n in range(2, 60)]
    weights = [float(g) for g in np.linspace(1.2, 5, 39) if g >= turning[-1]]
    moments = all(
        theory.exponential_moments(n, 12)[1:] == [printed_moment(n, k) for k in range(1, 12)]
        for n in range(2, 30)
    )
    return {
        "the identities, exactly": bool(exact.all(axis=None)),
        "four changes of sign": all(theory.sign_changes(n) == 4 for n in range(2, 40)),
        "the moments at 0, exactly": moments,
        "x_n falls": bool((np.diff(zeros) < 0).all()),
        "g_n falls": bool((np.diff(turning) < 0).all()),
        "K_0 is where the weight meets g_n": all(
            limits.turning_capacity(g) == 2 + int(np.argmax(g >= turning)) for g in weights
        ),
    }
