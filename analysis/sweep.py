"""Replications, random instances and parameter grids, on one core, on all of them or on a cluster.

`sweep` calls ``function(point, rng)`` for every point and replication. Replication r of point p
has the random stream ``SeedSequence(seed).spawn(...)[p].spawn(...)[r]`` of NumPy, so that a result
depends on the seed, p and r alone: not on the number of processes, on the order in which they
finish, or on calls that were repeated after a worker died. More points or more replications do not
change the earlier results.

joblib distributes the calls over local processes, of which the environment variable
LOKY_MAX_CPU_COUNT limits the number; in a browser, which has no processes, they run one after the
other. `distributed` does so over a Dask cluster, if the address of its scheduler is given. joblib's
own Dask backend is not used: it waits for ever for a call that Dask has given up.

A call that ends its worker process is repeated `RETRIES` times; then `WorkerLost` is raised and
names its point. It is raised too if a cluster has had no worker for `patience` seconds. There is no
limit on the time of a call.
"""

from __future__ import annotations

import math
import os
import queue
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from analysis.checks import check_integer, check_kind, check_number, shown

RETRIES = 3
"""How often a call that was lost with its worker process is repeated."""

HAS_PROCESSES = sys.platform != "emscripten"
"""Whether calls may run in processes of their own."""

#: Point and replication of a call.
CallKey = tuple[int, int]


class WorkerLost(RuntimeError):
    """A call ended its worker process every time, or the cluster has no workers."""


def sweep(
    function: Callable[[Any, np.random.Generator], Any],
    points: Iterable[Any],
    *,
    seed: int,
    replications: int = 1,
    common_random_numbers: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    patience: float = 120.0,
    progress: bool | str = True,
) -> list[list[Any]]:
    """Evaluate a function at every point, with a number of replications each, in parallel.

    Parameters
    ----------
    function : callable
        ``function(point, rng)``, with `rng` a `numpy.random.Generator`; on a cluster it must be
        importable by the workers, or defined in a notebook.
    points : iterable
        Arguments of the function: numbers, tuples, models, ...
    seed : int
        Seed of all streams, not negative.
    replications : int
        Calls at each point, at least 1.
    common_random_numbers : bool
        Give replication r the same stream at every point, to compare points with less noise.
    jobs : int, optional
        Number of local processes; all cores by default. With 1 no process is started.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``; the environment variable
        DASK_SCHEDULER_ADDRESS by default. If neither is given the sweep stays on this machine.
    patience : float
        Seconds that the cluster may be without any worker, positive.
    progress : bool or str
        Whether to show the progress, or the name to show it under: a bar on a terminal, in a log
        one line for every tenth.

    Returns
    -------
    list of list
        ``result[p][r]`` is the value of replication r at point p.

    Raises
    ------
    ValueError
        If `points` are not iterable, or a number is out of range.
    TypeError
        If `function` cannot be called.
    WorkerLost
        If a call ends its worker every time, naming point and replication; or if the cluster has
        no worker left.
    Exception
        Whatever `function` raises, with a note that names the point and the replication.

    Examples
    --------
    >>> def draw(point, rng):
    ...     return point + round(float(rng.random()), 3)
    >>> len(sweep(draw, [1, 10], seed=0, replications=3, jobs=1, progress=False))
    2
    """
    if not callable(function):
        raise TypeError(f"function must be callable as function(point, rng), got {shown(function)}")
    check_kind("points", points, Iterable)
    check_kind("scheduler", scheduler, str, None)
    check_kind("progress", progress, bool, str)
    check_kind("common_random_numbers", common_random_numbers, bool)
    seed = check_integer("seed", seed, 0, math.inf)
    replications = check_integer("replications", replications, 1)
    jobs = _count_cores() if jobs is None else check_integer("jobs", jobs, 1)
    patience = check_number("patience", patience, 0, low_open=True)
    points = list(points)
    address = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    keys = [(p, r) for p in range(len(points)) for r in range(replications)]
    call = _Call(function, points, seed, common_random_numbers)
    done: dict[CallKey, Any] = {}
    with _Progress(progress, len(keys)) as advance:
        for key, value in (
            _run_on_cluster(call, keys, address, patience)
            if address
            else _run_locally(call, keys, jobs)
        ):
            done[key] = value
            advance()
    return [[done[p, r] for r in range(replications)] for p in range(len(points))]


def _count_cores() -> int:
    """Return the number of cores that local processes may use; 1 where there are no processes."""
    if not HAS_PROCESSES:
        return 1
    from joblib import cpu_count

    cores: int = cpu_count()
    return cores


class _Call:
    """The calls of a sweep, by key; a worker is sent the point of its own call only."""

    def __init__(self, function: Any, points: Sequence[Any], seed: int, common: bool) -> None:
        self.function, self.points, self.seed, self.common = function, points, seed, common

    def arguments(self, key: CallKey) -> tuple[Any, ...]:
        """Return the arguments of `_evaluate` for a key."""
        return self.function, self.points[key[0]], key, self.seed, self.common

    def name(self, key: CallKey) -> str:
        """Return point and replication of a call, for messages."""
        return f"point {key[0]} ({self.points[key[0]]!r:.200}), replication {key[1]}"


def _evaluate(
    function: Callable[[Any, np.random.Generator], Any],
    point: Any,
    key: CallKey,
    seed: int,
    common: bool,
) -> tuple[CallKey, Any]:
    stream = np.random.SeedSequence(seed, spawn_key=key[1:] if common else key)
    try:
        return key, function(point, np.random.default_rng(stream))
    except Exception as error:
        error.add_note(f"at point {key[0]} ({point!r:.200}), replication {key[1]}")
        raise


def _evaluate_with_marker(folder: str, *arguments: Any) -> tuple[CallKey, Any]:
    """Evaluate while a marker file exists; a call that was killed leaves its file behind."""
    key = arguments[2]
    marker = Path(folder, f"{key[0]}-{key[1]}")
    marker.touch()
    try:
        return _evaluate(*arguments)
    finally:
        marker.unlink()


def _run_locally(call: _Call, keys: Sequence[CallKey], jobs: int) -> Iterator[tuple[CallKey, Any]]:
    """Run the calls in local processes; repeat alone those that ran when a worker died."""
    if not HAS_PROCESSES:
        yield from (_evaluate(*call.arguments(key)) for key in keys)
        return
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # One thread a process: sums split over threads would differ in their last digits.
    with (
        tempfile.TemporaryDirectory() as folder,
        parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1),
    ):

        def run(batch: Iterable[CallKey]) -> Iterator[tuple[CallKey, Any]]:
            tasks = (delayed(_evaluate_with_marker)(folder, *call.arguments(key)) for key in batch)
            yield from Parallel(return_as="generator_unordered")(tasks)

        pending = dict.fromkeys(keys)
        lost = 0
        while pending:
            try:
                for key, value in run(list(pending)):
                    del pending[key]
                    yield key, value
            except TerminatedWorkerError:
                lost += 1
                for marker in sorted(Path(folder).iterdir()):
                    marker.unlink()
                    p, r = map(int, marker.name.split("-"))
                    if (p, r) in pending:
                        yield _run_alone(call, (p, r), run)
                        del pending[p, r]
                if lost > RETRIES:
                    raise


def _run_alone(
    call: _Call, key: CallKey, run: Callable[[Iterable[CallKey]], Iterator[tuple[CallKey, Any]]]
) -> tuple[CallKey, Any]:
    """Run one call with no other beside it; raise if it ends its worker every time."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    for _ in range(RETRIES):
        try:
            return next(iter(list(run([key]))))
        except TerminatedWorkerError:
            continue
    raise WorkerLost(f"{call.name(key)} ended its worker process every time")


def _run_on_cluster(
    call: _Call, keys: Sequence[CallKey], address: str, patience: float
) -> Iterator[tuple[CallKey, Any]]:
    """Run the calls on a Dask cluster, which repeats those of a lost worker on other workers.

    Dask gives up all calls that a worker had when it died once too often. They are repeated here
    one by one; one that ends its worker again raises `WorkerLost`.
    """
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        suspects: list[CallKey] = []
        yield from _gather(client, call, keys, suspects, patience)
        for key in suspects:
            lost: list[CallKey] = []
            yield from _gather(client, call, [key], lost, patience)
            if lost:
                raise WorkerLost(f"{call.name(key)} ended its worker process every time")


def _gather(
    client: Any, call: _Call, keys: Sequence[CallKey], lost: list[CallKey], patience: float
) -> Iterator[tuple[CallKey, Any]]:
    """Yield the results of calls as they finish; list the calls that Dask gave up."""
    from distributed.scheduler import KilledWorker

    finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
    calls = {client.submit(_evaluate, *call.arguments(key), pure=False): key for key in keys}
    for future in calls:
        future.add_done_callback(finished.put)
    empty_since = None
    while calls:
        try:
            future = finished.get(timeout=0.2)
        except queue.Empty:
            empty_since = _idle_since(client, empty_since, patience, call, calls.values())
            continue
        key = calls.pop(future)
        try:
            yield future.result()
        except KilledWorker:
            lost.append(key)


def _idle_since(
    client: Any, since: float | None, patience: float, call: _Call, keys: Iterable[CallKey]
) -> float | None:
    """Return the time since when there is no worker, or None; raise after `patience` seconds."""
    if client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]:
        return None
    now = time.monotonic()
    if since is not None and now - since > patience:
        raise WorkerLost(
            f"the scheduler {client.scheduler.address} has had no worker for {patience:g} seconds; "
            f"{call.name(next(iter(keys)))} is the first of the calls that wait"
        )
    return since if since is not None else now


class _Progress:
    """A tqdm bar on a terminal; elsewhere ten lines, which are the same in every run."""

    def __init__(self, show: bool | str, total: int) -> None:
        self.name = show if isinstance(show, str) else "sweep"
        self.total, self.count = total, 0
        self.lines = bool(show) and not sys.stderr.isatty()
        self.bar = tqdm(total=total, desc=self.name, disable=not show or self.lines)

    def __enter__(self) -> Callable[[], None]:
        return self.advance

    def advance(self) -> None:
        self.count += 1
        self.bar.update()
        if self.lines and self.count * 10 // self.total > (self.count - 1) * 10 // self.total:
            print(f"{self.name}: {self.count} of {self.total}", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        self.bar.close()
