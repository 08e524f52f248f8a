"""One process of a crawl by several: Scrapy with a scheduler driven by the coordinator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scrapy import signals
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.utils.reactor import install_reactor
from twisted.internet.threads import blockingCallFromThread

from analysis.crawl.fetching.hosts import host_of
from analysis.crawl.fetching.requests import Job
from analysis.crawl.frontier.hosts import HostState
from analysis.crawl.frontier.state import SourceState
from analysis.crawl.scheduler import EpochScheduler, FeedSpider


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

    def over(self) -> bool:
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
        return self.begin(epoch, places)

    def end_epoch(self, *arguments: Any) -> list[tuple[str, str]]:
        """See `PartScheduler.end_epoch`."""
        return self._call("end_epoch", *arguments)

    def offers(self, *arguments: Any) -> list[float]:
        """See `PartScheduler.offers`."""
        return self._call("offers", *arguments)

    def begin(self, *arguments: Any) -> bool:
        """See `PartScheduler.begin`."""
        return self._call("begin", *arguments)

    def over(self) -> bool:
        """See `PartScheduler.over`."""
        return self._call("over")

    def export_state(self, *arguments: Any) -> Any:
        """See `PartScheduler.export_state`."""
        return self._call("export_state", *arguments)

    def import_state(self, *arguments: Any) -> bool:
        """See `PartScheduler.import_state`."""
        return self._call("import_state", *arguments)

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
