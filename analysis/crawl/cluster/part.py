"""One process of a crawl by several: Scrapy, told epoch by epoch how many sources to fetch."""

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
from analysis.crawl.frontier.state import SourceState
from analysis.crawl.scheduler import EpochScheduler, FeedSpider, Job

HostState = tuple[float | None, int]


class PartScheduler(EpochScheduler):
    """The scheduler of one part, which begins an epoch when it is told its share of the budget.

    Parameters
    ----------
    crawler : scrapy.crawler.Crawler
        Whose settings and engine are used.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._granted: set[str] = set()  # hosts of this part that no source names
        self._strays: list[tuple[str, str]] = []
        self._told_to_end = False

    def end_epoch(self, epoch: int, began: float, granted: Iterable[str]) -> list[tuple[str, str]]:
        """End all epochs before this one; what is under way is late.

        Parameters
        ----------
        epoch : int
            The epoch that is to come.
        began : float
            When epoch 0 of the whole crawl began, Unix time.
        granted : iterable of str
            Hosts of this part that are none of its sources' own.

        Returns
        -------
        list of (str, str)
            Redirects to hosts that are not of this part: from which host to which.
        """
        self._settle_scraped()
        self._began, self._granted = began, set(granted)
        if self.frontier.epoch < epoch:
            if self.frontier.is_open:
                self.frontier.close()
                self._save()
            elif self._before:  # a kill has left them, and their epoch is over
                self.frontier.budget = 0
                self._begin()
        strays, self._strays = self._strays, []
        return strays

    def offers(self, epoch: int, most: int) -> list[float]:
        """Return the largest indices of what this part may fetch in an epoch, in decreasing order.

        Empty if it has fetched in this epoch already.
        """
        self._look_for_changes()
        self._revive()
        self.frontier.skip(max(epoch - self.frontier.epoch, 0))
        return [] if self.frontier.epoch > epoch else self.frontier.offers(most).tolist()

    def begin(self, epoch: int, places: int) -> bool:
        """Fetch so many sources in an epoch; nothing if that was said before."""
        if self.frontier.epoch == epoch and not self.frontier.is_open:
            self.frontier.budget = places
            self._begin()
            self._wake()
        return True

    def over(self) -> bool:
        """Return whether all fetches of the epoch have ended."""
        self._settle_scraped()
        self._wake()
        return not (self.frontier.is_open or self._queue or self._ended)

    def hand_over(
        self, names: Sequence[str], hosts: Sequence[str]
    ) -> tuple[dict[str, SourceState], dict[str, HostState]]:
        """Return what is known of sources and hosts that go to another part."""
        state = self.frontier.state()
        return (
            {name: state.sources[name] for name in names if name in state.sources},
            {host: state.hosts[host] for host in hosts if host in state.hosts},
        )

    def take_over(self, sources: Mapping[str, SourceState], hosts: Mapping[str, HostState]) -> bool:
        """Take in what another part knew of sources and hosts that come to this one."""
        self.frontier.take_over(sources, hosts)
        self._delays |= self.frontier.crawl_delay
        self._asked |= dict.fromkeys(hosts, self._now())  # it may have been just before
        return True

    def stop(self) -> bool:
        """Let the crawl end when nothing is under way."""
        self._told_to_end = True
        self._wake()
        return True

    @property
    def _done(self) -> bool:
        return self._told_to_end

    def _resume(self) -> None:
        """Wait: the share of an epoch that a kill has left open is not known here."""

    def _advance(self) -> None:
        """Wait for `begin`."""

    def _next_epoch(self) -> float:
        return np.inf

    def _may_ask(self, job: Job) -> bool:
        host = host_of(job.url)
        home = host_of(job.source or job.authority)
        if host in self._granted or host in self._own:
            return True
        self._strays.append((home, host))
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
    """A crawl by Scrapy that runs in this process beside others; lives on a worker as an actor.

    It does nothing before `start`: Dask makes an actor again by itself when its worker has died,
    with the arguments of old, and one that was not started counts as lost.
    """

    _crawler: Crawler | None = None

    def start(
        self,
        settings: Mapping[str, Any],
        number: int,
        began: float,
        granted: Iterable[str],
        patience: float,
        epoch: int,
        places: int,
    ) -> bool:
        """Begin to crawl, or go on; nothing if it crawls already.

        Parameters
        ----------
        settings : mapping
            Settings of the crawl.
        number : int
            Number of the part; its spider has it as an attribute, for names of files in ``FEEDS``.
        began, granted : float, iterable of str
            As `PartScheduler.end_epoch` takes them.
        patience : float
            Seconds that the crawl may take to begin.
        epoch, places : int
            The epoch that is under way, -1 for none, and the share of this part.

        Raises
        ------
        ValueError
            If the crawl cannot begin: a setting, or a state.
        """
        if self._crawler is not None:
            return True
        given = dict(settings) | {"SCHEDULER": PartScheduler}
        process, self._reactor = _running()
        self._over = over = threading.Event()
        opened = threading.Event()
        failures: list[Any] = []

        def crawl() -> Crawler:
            crawler = Crawler(FeedSpider, given)
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
        self.end_epoch(epoch, began, granted)
        return self.begin(epoch, places)

    def end_epoch(self, *given: Any) -> list[tuple[str, str]]:
        """See `PartScheduler.end_epoch`."""
        return self._call("end_epoch", *given)

    def offers(self, *given: Any) -> list[float]:
        """See `PartScheduler.offers`."""
        return self._call("offers", *given)

    def begin(self, *given: Any) -> bool:
        """See `PartScheduler.begin`."""
        return self._call("begin", *given)

    def over(self) -> bool:
        """See `PartScheduler.over`."""
        return self._call("over")

    def hand_over(self, *given: Any) -> Any:
        """See `PartScheduler.hand_over`."""
        return self._call("hand_over", *given)

    def take_over(self, *given: Any) -> bool:
        """See `PartScheduler.take_over`."""
        return self._call("take_over", *given)

    def stop(self, patience: float) -> bool:
        """Let the crawl end; return whether it did in so many seconds."""
        self._call("stop")
        return self._over.wait(patience)

    def _call(self, method: str, *given: Any) -> Any:
        """Call a method of the scheduler in the thread of Scrapy, and wait for its answer."""
        if self._crawler is None:
            raise ConnectionResetError("this part was not started")
        scheduler = self._crawler.engine.scheduler
        call: Callable[..., Any] = getattr(scheduler, method)
        return blockingCallFromThread(self._reactor, call, *given)


_lock = threading.Lock()
_process: list[tuple[CrawlerProcess, Any]] = []


def _running() -> tuple[CrawlerProcess, Any]:
    """Return the Scrapy of this process and its reactor, which run in a thread from now on."""
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
