"""Sources on many machines: each crawls its own, with one common multiplier.

The relaxed problem separates into one problem a source under a common subsidy (report, section 3).
So every machine can run the index policy on its own sources, if they agree on the budget of each.
If all crawls cost the same, in every epoch

1. the coordinator sends the subsidy lambda;
2. each part answers with its claim: the cost of its sources whose index is at least lambda;
3. the coordinator sends each part its quota, the budget divided in proportion to the claims;
4. each part crawls, and answers with its marginal index, at which its quota was spent;
5. the next lambda is the average of the marginal indices, weighted with the quotas.

A part would send and receive four numbers an epoch, whatever the number of its sources; here all
parts are in one process, and `cluster_plan` counts what several machines need. The budget holds in
every epoch. The sources crawled in an epoch can differ from those of a single machine, since the
marginal indices of the parts differ a little; over many epochs every source is crawled about as
often, and the reward is the same.

If costs differ, a share of the budget may be too small for the source of largest index, however
often it is offered. The coordinator then searches for the index at which the total budget is spent:
it requests the parts' demand at `SEARCH` subsidies at once, about ten times an epoch, fewer if the
rest of the budget pays for no source. The quota of a part is the cost of its sources above that
index, and the parts crawl the sources that a single machine would; of sources of equal index in
several parts, those of the first part come first.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_choice, check_integer, check_kind, check_number, check_positive
from analysis.ephemeral.scheduler.core import PRIORITIES, Scheduler, solved_price
from analysis.ephemeral.scheduler.epoch import ROOM
from analysis.ephemeral.scheduler.register import spread_ages, whole_numbers
from analysis.ephemeral.sources import Sources

Crawl = tuple[NDArray[np.int64], Floats]
NUMBERS_EXCHANGED = 4
"""Subsidy and quota to a part, claim and marginal index from it, eight bytes each: equal costs."""
SEARCH = 256
"""Number of subsidies in one request for the parts' demand, if costs differ."""
STEPS = (1.01, 1.1, 2.0)
"""Factors of the interval around the last subsidy that is searched first."""


class PartitionedScheduler:
    """The index policy on several machines.

    ValueError if an argument is out of range, or costs differ and `exchange` is False.

    Parameters
    ----------
    sources : Sources
        N sources.
    part : array_like of int, shape (N,)
        Machine of each source, from 0; every machine up to the largest has one.
    budget : float
        Cost that an epoch may spend on all machines together.
    ages : int or array_like of int, shape (N,), optional
        Epochs since the last crawl of each source; spread by default, as in `Scheduler`.
    exchange : bool
        Share one multiplier; otherwise every machine keeps a quota in proportion to the number of
        its sources, which must all cost the same.
    price : float, optional
        Price of a page in units of content, on all machines and in all epochs; see `Scheduler`.
    priority, crawl_price
        As in `Scheduler`; the price of a crawl is one for all machines, and what they share as the
        multiplier is then the Lagrangian index plus that price.

    Attributes
    ----------
    parts : list of Scheduler
        The parts, each with the scheduler of its own sources, numbered from 0.
    subsidy : float
        The multiplier for the next epoch, ``nan`` before the first crawl.
    quotas : ndarray
        Budget of each part in the last epoch, 0 before the first.
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        sources: Sources,
        part: ArrayLike,
        budget: float,
        ages: int | ArrayLike | None = None,
        *,
        exchange: bool = True,
        price: float | None = None,
        priority: str = "whittle",
        crawl_price: float | None = None,
    ) -> None:
        check_kind("sources", sources, Sources)
        where = np.asarray(part)
        if where.shape != (len(sources),) or not np.issubdtype(where.dtype, np.integer):
            raise ValueError(f"part must be {len(sources)} integers, got {part!r}")
        self.budget = check_positive("budget", budget)
        self.exchange = exchange
        self.unit = float(sources.cost[0]) if np.ptp(sources.cost) == 0 else 0.0
        if not (exchange or self.unit):
            raise ValueError("exchange must be True where costs differ, got False")
        self._cheapest = float(sources.cost.min())
        if ages is None:
            ages = spread_ages(sources, self.budget)
        age = np.broadcast_to(whole_numbers("ages", ages, len(sources), 0), len(sources))
        count = int(where.max()) + 1
        if where.min() < 0 or np.bincount(where.astype(np.intp)).min() == 0:
            raise ValueError(f"part must use every number from 0 to {count - 1}")
        self.members = [np.flatnonzero(where == p) for p in range(count)]
        check_choice("priority", priority, PRIORITIES)
        if priority == "lagrangian":
            crawl_price = solved_price(sources, self.budget, crawl_price)
        self.parts = [
            Scheduler(
                sources.subset(own), budget, age[own],
                price=price, priority=priority, crawl_price=crawl_price,
            )
            for own in self.members
        ]  # fmt: skip
        self._claims = np.array([sources.cost[own].sum() for own in self.members])
        self._owed = np.zeros(count)
        self.quotas = np.zeros(count)
        self.subsidy = np.nan

    def crawl(self) -> Crawl:
        """Crawl on every machine; return what was crawled, see `Scheduler.crawl`."""
        if not self.unit:
            self.quotas, self.subsidy = self._quotas_of_one()
            return self._crawl_parts(self.subsidy)
        if self.exchange and np.isfinite(self.subsidy):
            claims = np.array([part.demand(self.subsidy) for part in self.parts])
            if claims.sum() > 0:
                self._claims = claims
        self.quotas = self._share(self._claims)
        crawled = self._crawl_parts(0.0)
        marginal = np.array([part.marginal_index for part in self.parts])
        spent = np.isfinite(marginal) & (marginal > 0) & (self.quotas > 0)
        if spent.any():
            self.subsidy = float(np.average(marginal[spent], weights=self.quotas[spent]))
        return crawled

    def _crawl_parts(self, floor: float) -> Crawl:
        """Let each part crawl with its quota, down to an index; return the crawls of all."""
        pairs = zip(self.parts, self.quotas.tolist(), strict=True)
        crawls = [part.crawl(quota, floor=floor) for part, quota in pairs]
        numbers = [own[chosen] for own, (chosen, _) in zip(self.members, crawls, strict=True)]
        return np.concatenate(numbers), np.concatenate([rewards for _, rewards in crawls])

    def _share(self, claims: Floats) -> Floats:
        """Return the budget divided in proportion to the claims, in whole crawls of one cost.

        The crawls left over by rounding go to the parts that have lost most by rounding so far, so
        that over many epochs every part gets its share.
        """
        share = claims / claims.sum()
        crawls = np.floor(self.budget / self.unit * ROOM)
        full_crawls = np.floor(crawls * share)
        self._owed += crawls * share - full_crawls
        first = np.argsort(-self._owed, kind="stable")[: int(crawls - full_crawls.sum())]
        full_crawls[first] += 1
        self._owed[first] -= 1
        return full_crawls * self.unit

    def _quotas_of_one(self) -> tuple[Floats, float]:
        """Return the quotas with which the parts crawl what one machine would, and the least index.

        The demand at subsidy `low` exceeds the budget and that at `high` does not. The search ends
        when they are adjacent floating-point numbers, so that the sources between have one index,
        or when the rest of the budget pays for no source.
        """
        low, above, high, within = self._bracket()
        while high - low > 1 and self._left(within) >= self._cheapest:
            inner = np.unique([low + (high - low) * k // (SEARCH + 1) for k in range(SEARCH + 1)])
            inner = inner[inner > low]
            demand = self._demand(inner.view(np.float64))
            over = int(np.count_nonzero(self._left(demand) < 0))  # decreasing: these are the first
            if over:
                low, above = int(inner[over - 1]), demand[:, over - 1]
            if over < inner.size:
                high, within = int(inner[over]), demand[:, over]
        if high - low > 1 or above is None:
            return within, _number(high)
        quotas, remaining = within.copy(), self._left(within)
        for part, tied in enumerate(above - within):
            quotas[part] += min(tied, remaining)
            remaining -= min(tied, remaining)
        return quotas, _number(low)

    def _bracket(self) -> tuple[int, Floats | None, int, Floats]:
        """Return subsidies between which the budget is spent, and the demand at each.

        Subsidies are the bits of a floating-point number; as integers they have the same order.
        """
        nothing = np.zeros(len(self.members))
        if not np.isfinite(self.subsidy):
            everything = self._demand(np.zeros(1))[:, 0]
            if self._left(everything) >= 0:
                return -1, None, 0, everything
            return 0, everything, _bits(np.inf), nothing
        at = self.subsidy
        demand = self._demand(np.array([at]))[:, 0]
        rising = self._left(demand) < 0
        for step in (*STEPS, np.inf):
            last, demand_before = at, demand
            at = self.subsidy * step if rising else self.subsidy / step
            if not np.isfinite(at):
                return _bits(last), demand_before, _bits(np.inf), nothing
            demand = self._demand(np.array([at]))[:, 0]
            if rising and self._left(demand) >= 0:
                return _bits(last), demand_before, _bits(at), demand
            if not rising and self._left(demand) < 0:
                return _bits(at), demand, _bits(last), demand_before
        return -1, None, 0, demand

    def _demand(self, subsidies: Floats) -> Floats:
        """Return the demand of all parts; sources that cost more than the budget do not count."""
        most = self.budget * ROOM
        return np.array([part.demand(subsidies, most_cost=most) for part in self.parts])

    def _left(self, demand: Floats) -> Any:
        """Return the rest of the budget; it may be slightly negative by rounding."""
        return self.budget * ROOM - demand.sum(axis=0)


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


def _number(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


# Memory, time and messages of an epoch on a cluster of machines, by calculation.

FLOAT = 8
"""Bytes of a number."""
PASS = 4 * FLOAT
"""Bytes that a bare pass transfers for each source: three arrays read, one written."""


def cluster_plan(
    sources: float,
    crawled: float,
    machines: int,
    bytes_per_source: float,
    bandwidth: float,
    passes: float,
) -> dict[str, Any]:
    """Return the requirements of an epoch on a cluster of machines with a common multiplier.

    `crawled` is the share of the sources that an epoch crawls, `bandwidth` that of a core's memory
    in bytes per second, and `passes` the time of the calendar's epoch in units of a bare pass. The
    result has ``sources``, ``memory`` in bytes and ``crawls`` of a machine; ``seconds`` of an epoch
    on one core of it; ``messages`` and ``bytes`` that the coordinator sends and receives in an
    epoch; ``indices``, the bytes that it would receive if every machine sent all its indices.
    """
    sources = check_number("sources", sources, 1)
    crawled = check_number("crawled", crawled, 0, 1, low_open=True)
    machines = check_integer("machines", machines, 1)
    own = sources / machines
    return {
        "sources": own,
        "memory": own * bytes_per_source,
        "crawls": own * crawled,
        "seconds": passes * own * PASS / check_number("bandwidth", bandwidth, 0, low_open=True),
        "messages": NUMBERS_EXCHANGED * machines,
        "bytes": NUMBERS_EXCHANGED * machines * FLOAT,
        "indices": sources * FLOAT,
    }
