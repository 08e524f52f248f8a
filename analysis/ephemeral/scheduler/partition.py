"""Sources on many machines: each crawls its own, with one common multiplier.

The relaxed problem separates into one problem a source under a common subsidy (report, section 3).
So every machine can run the index policy on its own sources, if they agree on the budget of each.
If all crawls cost the same, in every epoch

1. the coordinator sends the subsidy lambda;
2. each part answers with its claim: the cost of its sources whose index is at least lambda;
3. the coordinator sends each part its quota, the budget divided in proportion to the claims;
4. each part crawls, and answers with its marginal index, at which its quota was spent;
5. the next lambda is the average of the marginal indices, weighted with the quotas.

A part sends and receives four numbers an epoch, whatever the number of its sources; its list of
crawls is sent on request. The budget holds in every epoch. The sources crawled in an epoch can
differ from those of a single machine, since the marginal indices of the parts differ a little;
over many epochs every source is crawled about as often, and the reward is the same.

If costs differ, a share of the budget may be too small for the source of largest index, however
often it is offered. The coordinator then searches for the index at which the total budget is spent:
it requests the parts' demand at `SEARCH` subsidies at once, about ten times an epoch, fewer if the
rest of the budget pays for no source. The quota of a part is the cost of its sources above that
index, and the parts crawl the sources that a single machine would; of sources of equal index in
several parts, those of the first part come first.

The parts are in this process, or actors on the workers of a Dask cluster, with the same messages
and the same crawls. On a cluster a part starts from a saved state in a folder that all machines
share, and saves its state there before every `save_every`-th epoch. If its worker dies, it restarts
from that state on another one, lets the missed epochs pass without a crawl, and repeats the
unanswered call. Its crawls since it was saved are forgotten: it takes these sources for older than
they are, and may crawl some too soon. `ClusterMachines.losses` measures the loss.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import check_choice, check_integer, check_kind, check_number, check_positive
from analysis.ephemeral.scheduler.core import PRIORITIES, Scheduler, solved_price
from analysis.ephemeral.scheduler.epoch import ROOM
from analysis.ephemeral.scheduler.register import spread_ages, whole_numbers
from analysis.ephemeral.sources import Sources
from analysis.sweep import RETRIES, WorkerLost

Crawl = tuple[NDArray[np.int64], Floats]
NUMBERS_EXCHANGED = 4
"""Subsidy and quota to a part, claim and marginal index from it, eight bytes each: equal costs."""
SEARCH = 256
"""Number of subsidies in one request for the parts' demand, if costs differ."""
STEPS = (1.01, 1.1, 2.0)
"""Factors of the interval around the last subsidy that is searched first."""
POLL = 0.5
"""Seconds between two checks that the worker of an unanswered call is alive."""


class Part:
    """One part: the scheduler of its own sources, numbered from 0, and its last crawls."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._crawled: Crawl = np.empty(0, np.int64), np.empty(0)

    def demand(self, subsidies: Floats, most_cost: float) -> Floats:
        """Return the cost of its sources whose index is at least each subsidy."""
        return np.asarray(self.scheduler.demand(subsidies, most_cost=most_cost))

    def crawl(self, quota: float, floor: float) -> float:
        """Crawl with a quota, no source of an index below the floor; return the marginal index."""
        self._crawled = self.scheduler.crawl(quota, floor=floor)
        return self.scheduler.marginal_index

    def crawled(self) -> Crawl:
        """Return the numbers crawled last, and their expected rewards."""
        return self._crawled


class InProcess:
    """The parts of a crawler in this process; arrays have one row or entry a part."""

    def __init__(self, parts: Iterator[Scheduler]) -> None:
        self.parts = [Part(scheduler) for scheduler in parts]

    def demand(self, subsidies: Floats, most_cost: float) -> Floats:
        """Return the demand of each part at some subsidies, shape (parts, subsidies)."""
        return np.array([part.demand(subsidies, most_cost) for part in self.parts])

    def crawl(self, quotas: Floats, floor: float) -> Floats:
        """Let each part crawl with its quota down to an index; return their marginal indices."""
        pairs = zip(self.parts, quotas.tolist(), strict=True)
        return np.array([part.crawl(quota, floor) for part, quota in pairs])

    def crawled(self) -> list[Crawl]:
        """Return the last crawls of each part: its own numbers, and the expected rewards."""
        return [part.crawled() for part in self.parts]


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
    place : Cluster, optional
        Where the machines are; all in this process by default.
    price : float, optional
        Price of a page in units of content, on all machines and in all epochs; see `Scheduler`.
    priority, crawl_price
        As in `Scheduler`; the price of a crawl is one for all machines, and what they share as the
        multiplier is then the Lagrangian index plus that price.

    Attributes
    ----------
    machines : InProcess or ClusterMachines
        The parts.
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
        place: Cluster | None = None,
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
        parts = (
            Scheduler(
                sources.subset(own), budget, age[own],
                price=price, priority=priority, crawl_price=crawl_price,
            )
            for own in self.members
        )  # fmt: skip
        self.machines: InProcess | ClusterMachines
        self.machines = InProcess(parts) if place is None else place.start(parts)
        self._claims = np.array([sources.cost[own].sum() for own in self.members])
        self._owed = np.zeros(count)
        self.quotas = np.zeros(count)
        self.subsidy = np.nan

    def advance(self) -> None:
        """Crawl on every machine without collecting the crawls."""
        if not self.unit:
            self.quotas, self.subsidy = self._quotas_of_one()
            self.machines.crawl(self.quotas, self.subsidy)
            return
        if self.exchange and np.isfinite(self.subsidy):
            claims = self.machines.demand(np.array([self.subsidy]), np.inf)[:, 0]
            if claims.sum() > 0:
                self._claims = claims
        self.quotas = self._share(self._claims)
        marginal = self.machines.crawl(self.quotas, 0.0)
        spent = np.isfinite(marginal) & (marginal > 0) & (self.quotas > 0)
        if spent.any():
            self.subsidy = float(np.average(marginal[spent], weights=self.quotas[spent]))

    def crawl(self) -> Crawl:
        """Crawl on every machine and collect what was crawled; see `Scheduler.crawl`."""
        self.advance()
        crawls = self.machines.crawled()
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
        return self.machines.demand(subsidies, self.budget * ROOM)

    def _left(self, demand: Floats) -> Any:
        """Return the rest of the budget; it may be slightly negative by rounding."""
        return self.budget * ROOM - demand.sum(axis=0)


def _bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


def _number(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


# The parts as actors on a Dask cluster, restarted from a saved state if lost.


class Loss(NamedTuple):
    """Crawls of a part that were lost with its worker.

    `part` was lost at `epoch` and restarted from a saved state, without the crawls of the last
    `epochs`, whose total budget was `spent`. Crawls lost with an earlier worker are not counted
    again.
    """

    part: int
    epoch: int
    epochs: int
    spent: float


class SavedPart(Part):
    """A part that starts from the saved state in a file, as an actor on a worker.

    The epochs from that state to `epoch` pass without a crawl.
    """

    def __init__(self, path: Path, epoch: int) -> None:
        super().__init__(Scheduler.load(path))
        self.path = path
        self._missed = epoch - self.scheduler.epoch
        for _ in range(self._missed):
            self.scheduler.crawl(0.0)

    def missed(self) -> int:
        """Return the number of epochs between the saved state and the first one here."""
        return self._missed

    def save_and_crawl(self, quota: float, floor: float) -> float:
        """Save the state, and crawl."""
        self.scheduler.save(self.path)
        return self.crawl(quota, floor)


class Cluster:
    """A Dask cluster as the place of the machines of a `PartitionedScheduler`.

    The folder for the saved states, one every `save_every` epochs, has one path on all machines; a
    part may wait `patience` seconds for a worker. ValueError if a number is out of range.
    """

    def __init__(
        self, client: Any, folder: str | Path, *, save_every: int = 10, patience: float = 60.0
    ) -> None:
        self.client, self.folder = client, Path(folder)
        self.save_every = check_integer("save_every", save_every, 1)
        self.patience = check_positive("patience", patience)

    def start(self, parts: Iterator[Scheduler]) -> ClusterMachines:
        """Save the parts one by one in the folder, and start each on a worker."""
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for number, scheduler in enumerate(parts):
            paths.append(self.folder / f"part-{number}.npz")
            scheduler.save(paths[-1])
        return ClusterMachines(self, paths)


class Actors:
    """One actor a part, spread over the workers of a cluster and restarted when a worker dies.

    A part may wait `patience` seconds for a worker. WorkerLost if the cluster has no worker; from
    calls if a part cannot be restarted.
    """

    def __init__(self, client: Any, count: int, patience: float) -> None:
        self._client, self._patience = client, patience
        workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            raise WorkerLost("the cluster has no worker to start on")
        self._futures = [self._begin(p, [workers[p % len(workers)]]) for p in range(count)]

    def actor(self, part: int) -> tuple[Any, ...]:
        """Return the class of a part's actor and the arguments to start or restart it with."""
        raise NotImplementedError

    def on_restart(self, part: int) -> None:
        """Record that a lost part was restarted; does nothing here."""

    def call_all(self, method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every part at once and wait for all answers, none of which is None."""
        calls = [self._call(part, method, given) for part, given in enumerate(arguments)]
        return [
            self._answer(part, call, method, given)
            for part, (call, given) in enumerate(zip(calls, arguments, strict=True))
        ]

    def call_one(self, part: int, method: str, *arguments: Any) -> Any:
        """Call a method of one part and wait for the answer, which is not None."""
        return self._answer(part, self._call(part, method, arguments), method, arguments)

    def worker(self, part: int) -> str:
        """Return the address of the worker that a part runs on."""
        where = self._client.who_has([self._futures[part]])
        return str(where[self._futures[part].key][0])

    def _begin(self, part: int, workers: list[str] | None = None) -> Any:
        """Start or restart a part, on one of these workers if possible, else on any."""
        submit: Callable[..., Any] = self._client.submit
        where = {"workers": workers, "allow_other_workers": True} if workers else {}
        return submit(*self.actor(part), actor=True, pure=False, **where)

    def _call(self, part: int, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return the future answer of a part; None if the part is lost."""
        try:
            actor = self._futures[part].result(timeout=self._patience)
            return getattr(actor, method)(*arguments)
        except (OSError, RuntimeError):  # raised by an actor whose worker has died
            return None

    def _answer(self, part: int, call: Any, method: str, arguments: tuple[Any, ...]) -> Any:
        """Wait for an answer; if the part is lost, restart it and call it again."""
        for _ in range(RETRIES):
            if (answer := self._wait(part, call)) is not None:
                return answer
            self._futures[part].cancel()
            self._futures[part] = self._begin(part)
            self.on_restart(part)
            call = self._call(part, method, arguments)
        raise WorkerLost(f"part {part} could not be restarted in {RETRIES} trials")

    def _wait(self, part: int, call: Any) -> Any:
        """Return the answer of a part; None if it is lost."""
        while call is not None:
            try:
                return call.result(timeout=POLL)
            except TimeoutError:
                if self._futures[part].status not in ("pending", "finished"):
                    return None
            except OSError:
                return None
        return None


class ClusterMachines(Actors):
    """Parts that are actors on the workers of a cluster; `losses` are in order."""

    def __init__(self, cluster: Cluster, paths: list[Path]) -> None:
        self._cluster, self._paths = cluster, paths
        self._epoch = 0
        self._spent: deque[Floats] = deque(maxlen=cluster.save_every)
        self.losses: list[Loss] = []
        super().__init__(cluster.client, len(paths), cluster.patience)

    def demand(self, subsidies: Floats, most_cost: float) -> Floats:
        """Return the demand of each part at some subsidies."""
        return np.array(self.call_all("demand", [(subsidies, most_cost)] * len(self._paths)))

    def crawl(self, quotas: Floats, floor: float) -> Floats:
        """Let each part crawl with its quota; return their marginal indices."""
        saving = self._epoch % self._cluster.save_every == 0
        method = "save_and_crawl" if saving else "crawl"
        marginal = self.call_all(method, [(quota, floor) for quota in quotas.tolist()])
        self._spent.append(quotas)
        self._epoch += 1
        return np.array(marginal)

    def crawled(self) -> list[Crawl]:
        """Return the last crawls of each part; none from one that was lost since then."""
        return self.call_all("crawled", [()] * len(self._paths))

    def actor(self, part: int) -> tuple[Any, ...]:
        """Return the class and arguments that start a part from its saved state."""
        return SavedPart, self._paths[part], self._epoch

    def on_restart(self, part: int) -> None:
        """Record the epochs that a restarted part has missed."""
        missed = self._wait(part, self._call(part, "missed", ()))
        if missed is not None:
            self._count(part, missed)

    def _count(self, part: int, missed: int) -> None:
        """Record a loss: the budget of a part since it was saved or last restarted."""
        anew = max((loss.epoch for loss in self.losses if loss.part == part), default=0)
        forgotten = min(missed, self._epoch - anew)
        recent = list(self._spent)[len(self._spent) - forgotten :]
        spent = float(np.sum([quotas[part] for quotas in recent]))
        self.losses.append(Loss(part, self._epoch, forgotten, spent))


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
