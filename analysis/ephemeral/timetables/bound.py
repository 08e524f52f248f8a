"""What any policy earns at most, by a price for each crawl.

For any price lambda no policy earns more in the long run than

    lambda M + sum_i max(0, max_k (X_i(k) - lambda) / k),

since a crawl after a gap k earns X_i(k), which is at most lambda and k times the maximum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.checks import check_kind, check_number
from analysis.ephemeral.relaxed import age_limits, due_ages
from analysis.ephemeral.sources import Sources, check_unit_costs


def bound_at_price(
    sources: Sources,
    budget: float,
    price: float,
    *,
    min_age: ArrayLike = 1,
    max_age: ArrayLike = np.inf,
) -> float:
    """Bound what any policy earns, by a price for each crawl: weak duality.

    The sum of the N maxima of (X_i(k) - price) / k over the whole numbers k in the limits of the
    source, none of them below 0 where the source may be left alone, and price times budget.

    Parameters
    ----------
    sources : Sources
        N sources with costs of 1.
    budget : float
        Crawls per epoch, at most, in the long run.
    price : float
        Any price of a crawl, not negative.
    min_age, max_age : array_like, shape (N,) or scalar
        As for `timetable`.

    Returns
    -------
    float
        Reward per epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(bound_at_price(four_sources(), 1, 105.06), 2)
    260.39
    """
    check_kind("sources", sources, Sources)
    check_unit_costs(sources)
    budget = check_number("budget", budget, 0, high_open=True)
    price = check_number("price", price, 0, high_open=True)
    least, most = age_limits(sources, min_age, max_age)
    age = np.clip(due_ages(sources, price), least, most)
    surplus = (sources.state_at_age(age) - price) / age
    return price * budget + float(np.where(np.isinf(most), np.maximum(surplus, 0.0), surplus).sum())
