"""Construction of a timetable: gaps from a grid, phases from a packing, and a bound.

The gaps solve the relaxed problem over a grid (`analysis.ephemeral.timetables.choice`), phases come
from a packing in which no epoch has more crawls than the budget
(`analysis.ephemeral.timetables.packing`), and of several grids the best is taken.

On the powers of two the relaxed problem is attained exactly, so that no policy earns more than
1/(1 - 0.0378209) - 1 = 3.94% more, whatever the sources and the budget.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from analysis.checks import check_integer, check_kind, check_whole
from analysis.ephemeral.relaxed import age_limits, relaxed_problem
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.timetables.choice import check_odd_parts, choose, grids
from analysis.ephemeral.timetables.entries import entries_of, reward_of_entries
from analysis.ephemeral.timetables.hosts import (
    bound_with_hosts,
    number_hosts,
    place_on_hosts,
    prices,
)
from analysis.ephemeral.timetables.table import Timetable


def timetable(
    sources: Sources,
    budget: int,
    *,
    min_age: ArrayLike = 1,
    max_age: ArrayLike = np.inf,
    odd_parts: Sequence[int] | None = None,
    hosts: Sequence[Hashable] | None = None,
    host_gap: int = 1,
) -> Timetable:
    """Choose gaps and phases for all sources, and bound the reward of every policy.

    Parameters
    ----------
    sources : Sources
        N sources with costs of 1.
    budget : int or whole float
        Crawls per epoch, from 1 to N.
    min_age, max_age : array_like, shape (N,) or scalar
        Least and greatest number of epochs between two crawls of a source; the greatest may be
        ``inf``, for a source that may be left alone.
    odd_parts : sequence of int, optional
        Gaps are m 2^j with m among these; (1,) for powers of two alone. By default several
        grids are tried and the best is taken.
    hosts : sequence of hashable, shape (N,), optional
        Host of each source; gaps are then powers of two, each source that is crawled has one.
    host_gap : int
        Least number of epochs between two crawls of a host, at least 1; 1 without hosts.

    Returns
    -------
    Timetable

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range. Costs other than 1, maximal ages
        for which no grid has gaps that fit together, and limits of ages or odd parts beside hosts
        are refused.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> table = timetable(four_sources(), 2)
    >>> table.gap.tolist(), table.phase.tolist()
    ([1, 2, 8, 4, 8], [0, 0, 1, 3, 5])
    >>> f"no policy earns more than {table.margin:.2%} above it"
    'no policy earns more than 0.15% above it'
    """
    check_kind("sources", sources, Sources)
    budget = check_whole("budget", budget, 1, len(sources))
    if (sources.cost != 1.0).any():
        raise ValueError("sources must have costs of 1 for a timetable: with other costs whether "
                         "phases exist is an NP-hard question")  # fmt: skip
    limits = age_limits(sources, min_age, max_age)
    host_gap = check_integer("host_gap", host_gap, 1, 2**20 if hosts is not None else 1)
    if hosts is not None:
        if (limits[0] > 1).any() or np.isfinite(limits[1]).any() or odd_parts is not None:
            raise ValueError("hosts must come without min_age, max_age and odd_parts")
        return _on_hosts(sources, budget, hosts, host_gap)
    relaxed = relaxed_problem(sources, budget, min_age=min_age, max_age=max_age)
    if odd_parts is not None:
        odd_parts = check_odd_parts(odd_parts)
    tried = [choose(sources, budget, g, *limits) for g in grids(odd_parts, budget, limits[0])]
    choices = [choice for choice in tried if choice is not None]
    if not choices:
        raise ValueError("max_age must leave room for gaps of the grid within the budget")
    best = max(choices, key=lambda choice: choice.average_reward)
    # Least gaps can leave a part of the budget that is worth nothing.
    price = relaxed.subsidy if (1.0 / limits[0]).sum() > budget else 0.0
    return Timetable(
        sources, budget, *entries_of(best, budget), best.average_reward, relaxed.bound, price,
        *limits, best.grid.name,
    )  # fmt: skip


def _on_hosts(sources: Sources, budget: int, hosts: Sequence[Hashable], host_gap: int) -> Timetable:
    """Return a timetable of powers of two in which crawls of a host lie apart."""
    number = number_hosts(hosts, len(sources))
    price, known = prices(sources, budget, number, host_gap)
    bound = bound_with_hosts(sources, budget, price, known)
    source, gap, phase, channel = place_on_hosts(sources, budget, price, known)
    limits = np.ones(len(sources)), np.full(len(sources), np.inf)
    grid = f"powers of two, crawls of a host {host_gap} epochs apart"
    earned = reward_of_entries(sources, source, gap, phase)
    return Timetable(
        sources, budget, source, gap, phase, channel, earned, bound, price, *limits, grid, known
    )
