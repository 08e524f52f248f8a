"""Replications, random instances and parameter grids, on one core, on all of them or on a cluster.

`sweep` calls ``function(point, rng)`` for every point and replication. Replication r of point p
draws from its own stream, ``SeedSequence(seed).spawn(...)[p].spawn(...)[r]`` in NumPy's terms, so
that a result depends on nothing but the seed and its place: neither on how many processes there
are, nor on the order in which they finish, nor on a worker that died and whose work was done again.
More points or more replications leave the earlier results as they were.

joblib spreads the calls: over local processes, or over a Dask cluster when the address of its
scheduler is given. The functions must then be importable on the workers (or defined in a notebook).
The environment variable LOKY_MAX_CPU_COUNT bounds the local processes from outside.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from numpy.typing import ArrayLike
from scipy.stats import t as student
from tqdm import tqdm

from analysis.checks import check_array, check_integer, check_kind, check_number

RETRIES = 3
"""How often work that was lost with a worker process is done again before giving up."""


def sweep(
    function: Callable[[Any, np.random.Generator], Any],
    points: Iterable[Any],
    *,
    seed: int,
    replications: int = 1,
    common_random_numbers: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: bool | str = True,
) -> list[list[Any]]:
    """Evaluate a function at every point, so many times each, side by side.

    Parameters
    ----------
    function : callable
        ``function(point, rng)``, with `rng` a generator of its own.
    points : iterable
        What to hand to the function: numbers, tuples, models, ...
    seed : int
        Root of all streams, not negative.
    replications : int
        Calls at each point, at least 1.
    common_random_numbers : bool
        Give replication r the same stream at every point, to compare points with less noise.
    jobs : int, optional
        Local processes; all cores by default, and 1 stays in this process.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``; the environment variable
        DASK_SCHEDULER_ADDRESS by default. If neither is given the sweep stays on this machine.
    progress : bool or str
        Show how far the sweep is, under this name: a bar on a terminal, in a log one line for every
        tenth.

    Returns
    -------
    list of list
        ``result[p][r]`` is the value of replication r at point p.

    Raises
    ------
    ValueError
        If a number is out of range.
    joblib.externals.loky.process_executor.TerminatedWorkerError
        If workers keep dying.
    Exception
        Whatever `function` raises, with a note that names the point and the replication.
    """
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r:.200}")
    check_kind("points", points, Iterable)
    check_kind("scheduler", scheduler, str, None)
    check_kind("progress", progress, bool, str)
    check_kind("common_random_numbers", common_random_numbers, bool)
    check_integer("seed", seed, 0)
    check_integer("replications", replications, 1)
    jobs = cpu_count() if jobs is None else check_integer("jobs", jobs, 1)
    points = list(points)
    address = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    places = [(p, r) for p in range(len(points)) for r in range(replications)]
    done: dict[tuple[int, int], Any] = {}
    with _workers(jobs, address), _Progress(progress, len(places)) as advance:
        for attempt in range(RETRIES + 1):
            try:
                tasks = (
                    delayed(_evaluate)(function, points[p], (p, r), seed, common_random_numbers)
                    for p, r in places
                    if (p, r) not in done
                )
                for place, value in Parallel(return_as="generator_unordered")(tasks):
                    done[place] = value
                    advance()
                break
            except TerminatedWorkerError:
                if attempt == RETRIES:
                    raise
    return [[done[p, r] for r in range(replications)] for p in range(len(points))]


def mean_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float, float]:
    """Mean of independent replications with Student's confidence interval.

    Parameters
    ----------
    values : array_like
        One number a replication, at least two.
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    mean, low, high : float

    Raises
    ------
    ValueError
        If there are fewer than two values, one is not finite, or the level is out of range.
    """
    sample = check_array("values", values).ravel()
    check_number("level", level, 0, 1, low_open=True, high_open=True)
    if sample.size < 2:
        raise ValueError(f"values must hold at least two replications, got {sample.size}")
    mean = float(sample.mean())
    half = float(student.ppf((1 + level) / 2, sample.size - 1) * sample.std(ddof=1))
    half /= np.sqrt(sample.size)
    return mean, mean - half, mean + half


def _evaluate(
    function: Callable[[Any, np.random.Generator], Any],
    point: Any,
    place: tuple[int, int],
    seed: int,
    common: bool,
) -> tuple[tuple[int, int], Any]:
    stream = np.random.SeedSequence(seed, spawn_key=place[1:] if common else place)
    try:
        return place, function(point, np.random.default_rng(stream))
    except Exception as error:
        error.add_note(f"at point {place[0]} ({point!r:.200}), replication {place[1]}")
        raise


@contextmanager
def _workers(jobs: int, address: str | None) -> Iterator[None]:
    if address:
        from distributed import Client

        with (
            Client(address, set_as_default=False) as client,
            parallel_config(backend="dask", client=client),
        ):
            yield
    else:
        # One thread a process: sums split over threads would differ in their last digits.
        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            yield


class _Progress:
    """A tqdm bar on a terminal; elsewhere ten lines that are the same at every run."""

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
