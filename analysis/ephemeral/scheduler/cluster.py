"""The parts of a crawler as actors on a Dask cluster, restarted from a saved state if lost.

A part starts from a saved state in a folder that all machines share, and saves its state there
before every `save_every`-th epoch. If its worker dies, it restarts from that state on another one,
lets the missed epochs pass without a crawl, and repeats the unanswered call. Its crawls since it
was saved are forgotten: it takes these sources for older than they are, and may crawl some too
soon. `ClusterMachines.losses` measures the loss.

The messages between coordinator and parts are those of `partition`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.arrays import Floats
from analysis.checks import check_integer, check_positive
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.partition import Crawl, Part
from analysis.sweep import RETRIES, WorkerLost

POLL = 0.5
"""Seconds between two checks that the worker of an unanswered call is alive."""


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
