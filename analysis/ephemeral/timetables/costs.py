"""Phases for powers of two with unequal costs: the load of an epoch stays near the mean load.

Density at most M does not suffice: gaps 1 and 2 with costs 1 and 2 have the mean load 2 and some
epoch carries 3; whether phases exist that keep a limit is strongly NP-hard (3-partition: 3n sources
of gap n). Placed in the order of rising gaps, each in the class of least load, entries with costs C
and mean loads C/gap make no epoch heavier than max_i (D_i + C_i), D_i the mean load of the entries
placed before entry i: when it comes, loads are constant on the classes modulo its gap, and the
least of them is at most their mean D_i.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Ints
from analysis.checks import check_array, check_integers


def assign_phases(gaps: ArrayLike, costs: ArrayLike) -> tuple[Ints, float]:
    """Return phases of entries of unequal costs, each placed where the load is least, and the peak.

    `gaps` are powers of two up to 2^40, `costs` not negative, both of shape (K,), else ValueError.
    The peak is the largest cost of any epoch, at most ``max(D_i + C_i)``.

    >>> phase, peak = assign_phases([1, 2, 2], [1.0, 2.0, 1.0])
    >>> phase.tolist(), peak
    ([0, 0, 1], 3.0)
    """
    gap, cost = check_integers("gaps", gaps), check_array("costs", costs, 0)
    if gap.ndim != 1 or (gap.size and not 1 <= gap.min() <= gap.max() <= 2**40):
        raise ValueError(f"gaps must be one-dimensional, from 1 to 2^40, got {gaps!r:.200}")
    if (gap & (gap - 1)).any():
        raise ValueError(f"gaps must be powers of two, got {gaps!r:.200}")
    if cost.shape != gap.shape:
        raise ValueError(f"costs must have {gap.size} entries, one a gap, got {cost.size}")
    phase = np.zeros(gap.size, dtype=np.int64)
    classes: list[tuple[float, int, int]] = [(0.0, 0, 1)]  # load, phase, and gap of each class
    for entry in np.lexsort((-cost, gap)):
        load, first, width = heappop(classes)
        while width < gap[entry]:  # the halves of a class have its load
            heappush(classes, (load, first + width, 2 * width))
            width *= 2
        phase[entry] = first
        heappush(classes, (load + float(cost[entry]), first, width))
    return phase, max(load for load, _, _ in classes)
