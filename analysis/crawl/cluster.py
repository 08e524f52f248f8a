"""A crawl by several processes under one budget: each host belongs to one process.

A *host* belongs to one process, with all its sources, so that one process keeps its crawl delay
and robots.txt; hosts that a redirect links belong to the same process. Each process runs Scrapy
with a scheduler, a ``JOBDIR`` and a list of sources of its own. At the start of an epoch each
process *offers* the largest indices of the sources that it may fetch; the coordinator accepts the
largest of all offers, as many as the budget allows, and each process fetches as many sources as
offers of its were accepted. Since hosts do not share sources, these are the sources that a single
process would fetch, except among sources of equal index.

Two things can differ from a single process: a policy that learns fits its prior to the sources of
one process alone; and the first redirect to a host of another process fails, after which the two
hosts belong to one process.

The processes are actors on the workers of a Dask cluster. If a worker dies, its process restarts on
another one, from its ``JOBDIR`` and with its share of the epoch: items are delivered at least once,
as by a single process.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partialmethod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scrapy import signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor
from twisted.internet.threads import blockingCallFromThread

from analysis.checks import check_integer, check_positive, check_whole
from analysis.crawl.clock import SteadyClock
from analysis.crawl.fetching.hosts import host_of, plain_address
from analysis.crawl.fetching.requests import Job
from analysis.crawl.frontier.state import HostState, SourceState
from analysis.crawl.scheduler import EpochScheduler, FeedSpider
from analysis.crawl.settings import crawl_settings, file_version, read_sources
from analysis.crawl.store import began_before
from analysis.sweep import RETRIES, WorkerLost

FILE = "cluster.json"
POLL = 0.05
"""Seconds between two checks, in virtual time, whether an epoch has ended."""
ANSWER_POLL = 0.5
"""Seconds between two checks that the worker of an unanswered call is alive."""

logger = logging.getLogger(__name__)

# Assignment of hosts to processes, and division of the budget among the processes.


def count_accepted_offers(offers: Sequence[ArrayLike], budget: int) -> list[int]:
    """Return how many of the overall largest offers belong to each part.

    Parameters
    ----------
    offers : sequence of array_like
        Indices that each part offers, in decreasing order.
    budget : int or whole float
        Number of offers that are accepted, at least 0.

    Returns
    -------
    list of int
        Accepted offers of each part. Among equal offers, those with the better place in their own
        list are accepted first.

    Raises
    ------
    ValueError
        If the budget is negative.

    Examples
    --------
    >>> count_accepted_offers([[5.0, 1.0], [4.0, 3.0, 2.0]], 3)
    [1, 2]
    """
    budget = check_whole("budget", budget, 0)
    arrays = [np.asarray(offer, dtype=float) for offer in offers]
    sizes = [array.size for array in arrays]
    owner = np.repeat(np.arange(len(arrays)), sizes)
    rank = np.concatenate([np.arange(size) for size in sizes])
    first = np.lexsort((owner, rank, -np.concatenate(arrays)))[:budget]
    return [int(count) for count in np.bincount(owner[first], minlength=len(arrays))]


class Hosts:
    """Assignment of hosts to parts; a group of linked hosts stays together.

    Parameters
    ----------
    parts : int
        Number of parts.
    kept : mapping, optional
        State that `Hosts.kept` returned.

    Examples
    --------
    >>> hosts = Hosts(2)
    >>> hosts.assign(["a", "a", "a", "b", "c"])
    >>> hosts.part("a"), hosts.part("b"), hosts.part("c")
    (0, 1, 1)
    >>> sorted(hosts.join("c", "a"))
    ['c']
    >>> hosts.part("c")
    0
    """

    def __init__(self, parts: int, saved: dict[str, Any] | None = None) -> None:
        self.parts = check_integer("parts", parts, 1)
        self._of = {host: (int(part), str(group)) for host, (part, group) in (saved or {}).items()}

    def kept(self) -> dict[str, Any]:
        """Return the state of this object, for JSON."""
        return {host: list(entry) for host, entry in self._of.items()}

    def part(self, host: str) -> int | None:
        """Return the part of a host; None if it is not assigned."""
        return self._of[host][0] if host in self._of else None

    def of_part(self, part: int) -> list[str]:
        """Return the hosts of a part."""
        return [host for host, (own, _) in self._of.items() if own == part]

    def assign(self, hosts: Iterable[str]) -> None:
        """Assign each new host to the part with the fewest sources, large hosts first.

        `hosts` has the host of each source.
        """
        count: dict[str, int] = {}
        for host in hosts:
            count[host] = count.get(host, 0) + 1
        load = [0] * self.parts
        for host in count.keys() & self._of.keys():
            load[self._of[host][0]] += count[host]
        for host in sorted(count.keys() - self._of.keys(), key=lambda h: (-count[h], h)):
            part = load.index(min(load))
            self._of[host] = part, host
            load[part] += count[host]

    def join(self, home: str, target: str) -> set[str]:
        """Put two hosts into one group; return the hosts that change their part.

        A target that is not assigned joins the home's group; otherwise the home's group moves.
        """
        if target not in self._of:
            self._of[target] = self._of[home]
            return set()
        (old, group), entry = self._of[home], self._of[target]
        members = {host for host, (_, own) in self._of.items() if own == group}
        self._of |= dict.fromkeys(members, entry)
        return members if old != entry[0] else set()


# One process: Scrapy with a scheduler that the coordinator drives.


class PartScheduler(EpochScheduler):
    """The scheduler of one part, which begins an epoch when it gets its share of the budget."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._redirect_hosts: set[str] = set()  # hosts of this part without a source
        self._foreign: list[tuple[str, str]] = []
        self._stopping = False

    def end_epoch(
        self, epoch: int, began: float, redirect_hosts: Iterable[str]
    ) -> list[tuple[str, str]]:
        """End all epochs before `epoch`; unfinished fetches are late.

        `began` is the Unix time at which epoch 0 of the whole crawl began, and `redirect_hosts` are
        those of this part to which its sources redirect, and which have no source. Returns the
        redirects to hosts that are not of this part, as (from, to).
        """
        self._settle_scraped()
        self._began, self._redirect_hosts = began, set(redirect_hosts)
        if self.frontier.epoch < epoch:
            if self.frontier.is_open:
                self.frontier.close()
                self._unsaved = True
                self._write()
            elif self._before:  # outcomes before a kill, of an epoch that has ended
                self.frontier.budget = 0
                self._begin()
        foreign, self._foreign = self._foreign, []
        return foreign

    def offers(self, epoch: int, most: int) -> list[float]:
        """Return the largest indices of what this part may fetch in an epoch, in decreasing order.

        Empty if it has fetched in this epoch already.
        """
        self._look_for_changes()
        self._revive()
        self.frontier.skip(max(epoch - self.frontier.epoch, 0))
        return [] if self.frontier.epoch > epoch else self.frontier.offers(most).tolist()

    def begin(self, epoch: int, places: int) -> bool:
        """Begin an epoch with a number of fetches; do nothing if it has begun."""
        if self.frontier.epoch == epoch and not self.frontier.is_open:
            self.frontier.budget = places
            self._begin()
            self._wake()
        return True

    def has_epoch_ended(self) -> bool:
        """Return whether the epoch has ended."""
        self._settle_scraped()
        self._wake()
        return not (self.frontier.is_open or len(self._requests) or self._requests.ended)

    def export_state(
        self, names: Sequence[str], hosts: Sequence[str]
    ) -> tuple[dict[str, SourceState], dict[str, HostState]]:
        """Return the states of sources and hosts that another part takes over."""
        state = self.frontier.state()
        return (
            {name: state.sources[name] for name in names if name in state.sources},
            {host: state.hosts[host] for host in hosts if host in state.hosts},
        )

    def import_state(
        self, sources: Mapping[str, SourceState], hosts: Mapping[str, HostState]
    ) -> bool:
        """Add the states of sources and hosts that this part takes over from another."""
        self.frontier.import_state(sources, hosts)
        self._requests.delays |= self.frontier.crawl_delay
        self._requests.requested |= dict.fromkeys(hosts, self.now())  # as if requested just now
        return True

    def stop(self) -> bool:
        """End the crawl as soon as no fetch is unfinished."""
        self._stopping = True
        self._wake()
        return True

    @property
    def _done(self) -> bool:
        return self._stopping

    def _resume(self) -> None:
        """Do nothing: this part's share of an epoch that a kill interrupted is not known here."""

    def _advance(self) -> None:
        """Do nothing: `begin` starts the next epoch."""

    def _next_epoch(self) -> float:
        return np.inf

    def may_request(self, job: Job) -> bool:
        """Return whether the host of a job belongs to this part; note a redirect that leaves it."""
        host = host_of(job.url)
        home = host_of(job.source or job.authority)
        if host in self._redirect_hosts or host in self._own:
            return True
        self._foreign.append((home, host))
        return False

    @property
    def _own(self) -> set[str]:
        """The hosts of the sources of this part."""
        if self._own_of is not self.frontier:
            self._own_of = self.frontier
            self._own_hosts = {host_of(name) for name in self.frontier.names}
        return self._own_hosts

    _own_of: Any = None
    _own_hosts: set[str]


class FetchingPart:
    """A Scrapy crawl of one part in a worker's process, as a Dask actor.

    It does nothing before `start`. When its worker has died, Dask creates the actor again with the
    old arguments; an actor that was not started counts as lost.
    """

    _crawler: Crawler | None = None

    def start(
        self,
        settings: Mapping[str, Any],
        number: int,
        began: float,
        redirect_hosts: Iterable[str],
        patience: float,
        epoch: int,
        places: int,
    ) -> bool:
        """Start the crawl or continue it; do nothing if it is running.

        Parameters
        ----------
        settings : mapping
            Settings of the crawl.
        number : int
            Number of the part; its spider has it as an attribute, for names of files in ``FEEDS``.
        began, redirect_hosts : float, iterable of str
            As `PartScheduler.end_epoch` takes them.
        patience : float
            Seconds that the crawl may take to start.
        epoch, places : int
            The current epoch, -1 for none, and the share of this part.

        Raises
        ------
        ValueError
            If a setting or a saved state does not allow the crawl to start.
        """
        if self._crawler is not None:
            return True
        own_settings = dict(settings) | {
            "SCHEDULER": PartScheduler,
            "WARN_ON_GENERATOR_RETURN_VALUE": False,  # parses callbacks, in one thread of several
        }
        process, self._reactor = _running()
        self._over = over = threading.Event()
        opened = threading.Event()
        failures: list[Any] = []

        def crawl() -> Crawler:
            crawler = Crawler(FeedSpider, own_settings)
            crawler.signals.connect(opened.set, signals.spider_opened, weak=False)
            process.crawl(crawler, part=number).addErrback(failures.append).addBoth(ended)
            return crawler

        def ended(result: Any) -> None:
            opened.set()
            over.set()

        crawler = blockingCallFromThread(self._reactor, crawl)
        if not opened.wait(patience):
            raise ValueError(
                f"patience must be more than {patience:g} s: part {number} takes longer"
            )
        if failures:
            raise ValueError(f"part {number} cannot begin: {failures[0].value}")
        self._crawler = crawler
        self.end_epoch(epoch, began, redirect_hosts)
        return bool(self.begin(epoch, places))

    def stop(self, patience: float) -> bool:
        """End the crawl; return whether it ended within so many seconds."""
        self._call("stop")
        return self._over.wait(patience)

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the scheduler in Scrapy's thread, and return its result."""
        if self._crawler is None:
            raise ConnectionResetError("the part was not started")
        scheduler = self._crawler.engine.scheduler
        call: Callable[..., Any] = getattr(scheduler, method)
        return blockingCallFromThread(self._reactor, call, *arguments)

    # Methods of `PartScheduler`.
    end_epoch = partialmethod(_call, "end_epoch")
    offers = partialmethod(_call, "offers")
    begin = partialmethod(_call, "begin")
    has_epoch_ended = partialmethod(_call, "has_epoch_ended")
    export_state = partialmethod(_call, "export_state")
    import_state = partialmethod(_call, "import_state")


_lock = threading.Lock()
_process: list[tuple[CrawlerProcess, Any]] = []


def _running() -> tuple[CrawlerProcess, Any]:
    """Return Scrapy's process object and reactor; start the reactor's thread at the first call."""
    with _lock:
        if not _process:
            began = threading.Event()
            threading.Thread(target=_run, args=(began,), daemon=True).start()
            began.wait()
    return _process[0]


def _run(began: threading.Event) -> None:
    process = CrawlerProcess({"LOG_INSTALL_ROOT_HANDLER": False})
    install_reactor(process.settings["TWISTED_REACTOR"])
    from twisted.internet import reactor

    _process.append((process, reactor))
    reactor.callWhenRunning(began.set)  # type: ignore[attr-defined]
    process.start(stop_after_crawl=False, install_signal_handlers=False)


# The coordinator.


class Parts(Protocol):
    """The parts of a crawl, in one process or several."""

    def call_all(self, method: str, arguments: list[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every part."""

    def call_one(self, part: int, method: str, *arguments: Any) -> Any:
        """Call a method of one part."""


class CrawlCluster:
    """The coordinator of a crawl by several processes.

    Parameters
    ----------
    settings : mapping
        Settings of Scrapy and of `analysis.crawl.settings`. The policy must have an index. File
        names in ``FEEDS`` must differ by part: ``items-%(part)s.jsonl``.
    folder : path
        Folder for the states of the parts and of the coordinator, under one path on all machines.
    parts : int
        Number of processes, at most the number of hosts.

    Attributes
    ----------
    epoch : int
        Number of the next epoch.
    places : list of int
        Share of each part in the last epoch.

    Raises
    ------
    ValueError
        Naming the setting, its value and what is allowed.
    """

    def __init__(self, settings: Mapping[str, Any], folder: str | Path, parts: int = 4) -> None:
        self.settings, self.folder = dict(settings), Path(folder)
        self.parts = check_integer("parts", parts, 1)
        self.given = crawl_settings(Settings(self.settings))
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / FILE
        saved = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if saved and saved["parts"] != parts:
            raise ValueError(f"parts must be {saved['parts']}, as in {path}, got {parts}")
        self._clock = SteadyClock()
        self.epoch = int(saved.get("epoch", 0))
        self.began = float(
            saved.get("began", self.given.start if self.given.virtual else self._clock.now())
        )
        if saved and (before := saved.get("seconds", self.given.period)) != self.given.period:
            self.began = began_before(self.began, self.epoch, before, self.given.period)
        self.places: list[int] = saved.get("places", [0] * parts)
        self.hosts = Hosts(parts, saved.get("hosts"))
        self._version: Any = None
        self._take_list()
        if not all(self._count):
            raise ValueError(f"parts must be at most the number of hosts, got {parts}")
        self._budget = check_whole("CRAWL_BUDGET", self.given.budget, 1, sum(self._count))

    @property
    def done(self) -> bool:
        """Whether the last epoch has begun."""
        return self.given.epochs is not None and self.epoch >= self.given.epochs

    def settings_of(self, part: int) -> dict[str, Any]:
        """Return the settings of a part."""
        own = {
            "JOBDIR": str(self.folder / f"part-{part}"),
            "CRAWL_SOURCES": str(self._list_of(part)),
            "CRAWL_BUDGET": min(self._budget, max(self._count[part], 1)),
        }
        return self.settings | own

    def redirect_hosts(self, part: int) -> list[str]:
        """Return the hosts of a part that have no source: targets of redirects."""
        return [host for host in self.hosts.of_part(part) if host not in self._named]

    def step(self, parts: Parts) -> None:
        """Begin the next epoch; in virtual time, after the one before it has ended."""
        numbers, epoch = range(self.parts), self.epoch
        self._await_end(parts)
        arguments = [(epoch, self.began, self.redirect_hosts(part)) for part in numbers]
        foreign = parts.call_all("end_epoch", arguments)
        self._take_list()
        for home, target in sorted({pair for pairs in foreign for pair in map(tuple, pairs)}):
            self._join(parts, home, target)
        most = [(epoch, min(self._budget, count)) for count in self._count]
        self.places = count_accepted_offers(parts.call_all("offers", most), self._budget)
        self.epoch += 1
        self._save()
        parts.call_all("begin", [(epoch, places) for places in self.places])

    def run(self, parts: Parts) -> None:
        """Run all remaining epochs, each at its time."""
        while not self.done:
            self._sleep()
            if not self.given.virtual:
                self.epoch = max(
                    self.epoch, int((self._clock.now() - self.began) / self.given.period)
                )
            if not self.done:
                self.step(parts)
        self._sleep()
        self._await_end(parts)

    def _sleep(self) -> None:
        """Sleep until the next epoch begins."""
        if not self.given.virtual:
            due = self.began + self.epoch * self.given.period
            time.sleep(max(due - self._clock.now(), 0.0))

    def _await_end(self, parts: Parts) -> None:
        """Wait until an epoch of virtual time has ended in all parts."""
        while self.given.virtual and not all(parts.call_all("has_epoch_ended", [()] * self.parts)):
            time.sleep(POLL)

    def _join(self, parts: Parts, home: str, target: str) -> None:
        """Assign two hosts to one part, and transfer the states of the sources that move."""
        old = self.hosts.part(home)
        moving = self.hosts.join(home, target)
        logger.info("%s redirects to %s: one process fetches both", home, target)
        if not moving or old is None:
            return
        names = [name for name in self._names if host_of(name) in moving]
        state = parts.call_one(old, "export_state", names, sorted(moving))
        self._save()
        parts.call_one(int(self.hosts.part(home) or 0), "import_state", *state)
        self._write_lists()

    def _take_list(self) -> None:
        """If the list of sources has changed, divide it among the parts; ignore an invalid list."""
        version = file_version(self.given.sources)
        if version == self._version:
            return
        try:
            self._names = read_sources(self.given.sources, self.given.needs_rates).urls
        except (OSError, ValueError) as error:
            if self._version is None:
                raise
            logger.error("The list of sources is unchanged: %s", error)
            self._version = version
            return
        self._version = version
        self._rows = pd.read_csv(
            self.given.sources, dtype=str, keep_default_na=False, skipinitialspace=True
        )
        self.hosts.assign(host_of(name) for name in self._names)
        self._save()
        self._write_lists()

    def _write_lists(self) -> None:
        """Write the list of each part; one without sources keeps its old list and fetches none."""
        where = pd.Series([self.hosts.part(host_of(plain_address(u))) for u in self._rows["url"]])
        self._count = [int((where == part).sum()) for part in range(self.parts)]
        self._named = {host_of(name) for name in self._names}
        for part in range(self.parts):
            if not self._count[part]:
                continue
            own = self._rows[where.to_numpy() == part].to_csv(index=False, lineterminator="\n")
            path = self._list_of(part)
            if not path.exists() or path.read_text(encoding="utf-8") != own:
                _replace(path, own)

    def _save(self) -> None:
        state = {
            "parts": self.parts,
            "epoch": self.epoch,
            "seconds": self.given.period,
            "began": self.began + (0.0 if self.given.virtual else self._clock.compute_offset()),
            "places": self.places,
            "hosts": self.hosts.kept(),
        }
        _replace(self.folder / FILE, json.dumps(state))

    def _list_of(self, part: int) -> Path:
        return self.folder / f"part-{part}.csv"


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
                return call.result(timeout=ANSWER_POLL)
            except TimeoutError:
                if self._futures[part].status not in ("pending", "finished"):
                    return None
            except OSError:
                return None
        return None


class FetchingParts(Actors):
    """The parts of a crawl as actors on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster; a worker can run several parts.
    crawl : CrawlCluster
        The coordinator.
    patience : float
        Seconds that a part may take to start or to end, positive.

    Raises
    ------
    WorkerLost
        If the cluster has no worker, or a part cannot be restarted.
    """

    def __init__(self, client: Any, crawl: CrawlCluster, patience: float = 60.0) -> None:
        self._crawl = crawl
        bound = check_positive("patience", patience)
        super().__init__(client, crawl.parts, bound)
        self.call_all("start", [self._start_arguments(part) for part in range(crawl.parts)])

    def actor(self, part: int) -> tuple[Any, ...]:
        """Return the class of the actor, which does nothing until `start`."""
        return (FetchingPart,)

    def on_restart(self, part: int) -> None:
        """Restart a part from its ``JOBDIR``, with its share of the current epoch."""
        self._wait(part, self._call(part, "start", self._start_arguments(part)))

    def _start_arguments(self, part: int) -> tuple[Any, ...]:
        """Return the arguments of `FetchingPart.start`."""
        crawl = self._crawl
        own = crawl.settings_of(part), part, crawl.began, crawl.redirect_hosts(part), self._patience
        return (*own, crawl.epoch - 1, crawl.places[part])

    def stop(self) -> bool:
        """End all parts; return whether they did in time."""
        return all(self.call_all("stop", [(self._patience,)] * self._crawl.parts))


def crawl_on_cluster(
    client: Any,
    settings: Mapping[str, Any],
    folder: str | Path,
    parts: int = 4,
    *,
    patience: float = 60.0,
) -> None:
    """Start or continue a crawl by several processes; return after its last epoch.

    Parameters
    ----------
    client, patience : distributed.Client, float
        As in `FetchingParts`.
    settings, folder, parts : mapping, path, int
        As in `CrawlCluster`.

    Raises
    ------
    ValueError
        If a setting is out of range.
    WorkerLost
        If the cluster has no worker, or a part cannot be restarted.
    """
    crawl = CrawlCluster(settings, folder, parts)
    actors = FetchingParts(client, crawl, patience)
    crawl.run(actors)
    actors.stop()


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    aside = path.with_suffix(path.suffix + ".new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
