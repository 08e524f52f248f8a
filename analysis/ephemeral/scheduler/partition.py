"""Sources on many machines: each crawls its own, and all share one multiplier.

The relaxed problem splits into one problem a source under a common subsidy (report, section 3), so
a crawler splits the same way. Every machine runs the index policy on its own sources; what must be
agreed is how much of the budget each may spend. In every epoch

1. the coordinator sends the subsidy lambda;
2. each part answers with its claim: the cost of its sources whose index is at least lambda;
3. the coordinator sends each part its quota, the budget shared in proportion to the claims;
4. each part crawls, and answers with its marginal index, at which its quota ran out;
5. the next lambda is the average of the marginal indices, weighted with the quotas.

The budget holds in every epoch. The parts crawl what one machine would, up to sources whose index
lies between the parts' marginal indices. A part sends and receives four numbers an epoch, whatever
the number of its sources; what it crawled stays with it until it is asked for.

The parts live in this process, or each in a process of a Dask cluster (see `cluster`). The protocol
and the crawls are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.checks import check_kind, check_number
from analysis.ephemeral.scheduler.admission import whole_numbers
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.sources import Sources

Floats = NDArray[np.float64]
Crawl = tuple[NDArray[np.int64], Floats]
NUMBERS_EXCHANGED = 4
"""Subsidy and quota to a part, claim and marginal index from it, eight bytes each."""


class Machines(Protocol):
    """The parts of a crawler, wherever they are; a row or an entry a part."""

    def demand(self, subsidy: float) -> Floats:
        """Return the claim of each part at a subsidy."""

    def crawl(self, quotas: Floats) -> Floats:
        """Let each part crawl for its quota; return their marginal indices."""

    def crawled(self) -> list[Crawl]:
        """Return what each part crawled last: its own numbers, and the expected rewards."""


class Place(Protocol):
    """Where machines can be had."""

    def start(self, parts: Iterator[Scheduler]) -> Machines:
        """Take one part after another and let each wait for its first epoch."""


class Part:
    """One part: its scheduler, and what it crawled last.

    Parameters
    ----------
    scheduler : Scheduler
        Of its own sources, numbered from 0.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._crawled: Crawl = np.empty(0, np.int64), np.empty(0)

    def demand(self, subsidy: float) -> float:
        """Return the cost of its sources whose index is at least the subsidy."""
        return self.scheduler.demand(subsidy)

    def crawl(self, quota: float) -> float:
        """Crawl for a quota and return the marginal index."""
        self._crawled = self.scheduler.crawl(quota)
        return self.scheduler.marginal_index

    def crawled(self) -> Crawl:
        """Return the numbers crawled last, and what was expected from each."""
        return self._crawled


class InProcess:
    """Machines simulated in this process, one after another.

    Attributes
    ----------
    parts : list of Part
    """

    def __init__(self, parts: Iterator[Scheduler]) -> None:
        self.parts = [Part(scheduler) for scheduler in parts]

    def demand(self, subsidy: float) -> Floats:
        """Return the claim of each part at a subsidy."""
        return np.array([part.demand(subsidy) for part in self.parts])

    def crawl(self, quotas: Floats) -> Floats:
        """Let each part crawl for its quota; return their marginal indices."""
        pairs = zip(self.parts, quotas.tolist(), strict=True)
        return np.array([part.crawl(quota) for part, quota in pairs])

    def crawled(self) -> list[Crawl]:
        """Return what each part crawled last."""
        return [part.crawled() for part in self.parts]


class PartitionedScheduler:
    """The index policy on several machines.

    Parameters
    ----------
    sources : Sources
        N sources.
    part : array_like of int, shape (N,)
        Machine of each source, from 0; every machine up to the largest has one.
    budget : float
        Cost that an epoch may spend on all machines together.
    ages : int or array_like of int, shape (N,)
        Epochs since the last crawl of each source.
    exchange : bool
        Share one multiplier; otherwise every machine keeps a quota in proportion to the cost of its
        sources.
    place : Place, optional
        Where the machines are, such as a `cluster.Cluster`; all in this process by default.

    Attributes
    ----------
    machines : Machines
        The parts.
    subsidy : float
        The multiplier for the next epoch.
    quotas : ndarray
        Budget of each part in the last epoch, 0 before the first.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """

    def __init__(
        self,
        sources: Sources,
        part: ArrayLike,
        budget: float,
        ages: int | ArrayLike = 1,
        *,
        exchange: bool = True,
        place: Place | None = None,
    ) -> None:
        check_kind("sources", sources, Sources)
        where = np.asarray(part)
        if where.shape != (len(sources),) or not np.issubdtype(where.dtype, np.integer):
            raise ValueError(f"part must be {len(sources)} integers, got {part!r}")
        self.budget = check_number("budget", budget, 0, low_open=True, high_open=True)
        self.exchange = exchange
        self.unit = float(sources.cost[0]) if np.ptp(sources.cost) == 0 else 0.0
        age = np.broadcast_to(whole_numbers("ages", ages, len(sources), 0), len(sources))
        count = int(where.max()) + 1
        if where.min() < 0 or np.bincount(where).min() == 0:
            raise ValueError(f"part must use every number from 0 to {count - 1}")
        self.members = [np.flatnonzero(where == p) for p in range(count)]
        parts = (Scheduler(sources.subset(own), budget, age[own]) for own in self.members)
        self.machines: Machines = InProcess(parts) if place is None else place.start(parts)
        self._claims = np.array([sources.cost[own].sum() for own in self.members])
        self._owed = np.zeros(count)
        self.quotas = np.zeros(count)
        self.subsidy = np.nan

    def advance(self) -> None:
        """Crawl on every machine, and leave what was crawled there: four numbers a part."""
        if self.exchange and np.isfinite(self.subsidy):
            claims = self.machines.demand(self.subsidy)
            if claims.sum() > 0:
                self._claims = claims
        self.quotas = self._share(self._claims)
        marginal = self.machines.crawl(self.quotas)
        told = np.isfinite(marginal) & (marginal > 0) & (self.quotas > 0)
        if told.any():
            self.subsidy = float(np.average(marginal[told], weights=self.quotas[told]))

    def crawl(self) -> Crawl:
        """Crawl on every machine and collect what was crawled; see `Scheduler.crawl`."""
        self.advance()
        crawls = self.machines.crawled()
        numbers = [own[chosen] for own, (chosen, _) in zip(self.members, crawls, strict=True)]
        return np.concatenate(numbers), np.concatenate([rewards for _, rewards in crawls])

    def _share(self, claims: Floats) -> Floats:
        """Share the budget in proportion to the claims; in whole crawls, if all cost the same.

        The crawls that rounding down leaves over go to the parts that it has cost the most so far,
        this epoch and before, so that over many epochs every part gets its share.
        """
        share = claims / claims.sum()
        if not self.unit:
            return self.budget * share
        crawls = np.floor(self.budget / self.unit * (1 + 1e-12))
        whole = np.floor(crawls * share)
        self._owed += crawls * share - whole
        first = np.argsort(-self._owed, kind="stable")[: int(crawls - whole.sum())]
        whole[first] += 1
        self._owed[first] -= 1
        return whole * self.unit
