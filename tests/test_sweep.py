"""Sweeps: the same bytes however the work is split, and when a worker dies."""

import os
import signal
import sys

import numpy as np
import pytest

from analysis import sweep as sweeping
from analysis.sweep import WorkerLost, sweep


# Made inside a function, as in a notebook, so that workers receive it by value.
def noisy_function():
    def noisy(point, rng):
        return point * rng.standard_normal(3)

    return noisy


def test_sweep_without_processes(monkeypatch):
    monkeypatch.setattr(sweeping, "HAS_PROCESSES", False)
    monkeypatch.setitem(sys.modules, "joblib", None)
    found = sweep(noisy_function(), [1.0, 2.0], seed=3, replications=2, progress=False)
    assert as_bytes(found) == reference([1.0, 2.0], 3, 2)


def as_bytes(results):
    return [[value.tobytes() for value in row] for row in results]


def reference(points, seed, replications):
    streams = [
        child.spawn(replications) for child in np.random.SeedSequence(seed).spawn(len(points))
    ]
    return [
        [(x * np.random.default_rng(s).standard_normal(3)).tobytes() for s in row]
        for x, row in zip(points, streams, strict=True)
    ]


#: Dask removes a worker for good that is not back so soon after its process died: by default 15 s,
#: in which a busy machine starts none. It waits for no answer longer than 30 s either.
PATIENT = {
    "distributed.deploy.lost-worker-timeout": "1h",
    "distributed.comm.timeouts.connect": "1h",
    "distributed.comm.timeouts.tcp": "1h",
    "distributed.scheduler.worker-ttl": None,
}


@pytest.fixture(scope="module")
def cluster():
    distributed, dask = map(pytest.importorskip, ("distributed", "dask"))
    with (
        dask.config.set(PATIENT),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
        ) as local,
    ):
        yield local


@pytest.fixture(autouse=True)
def _no_cluster_from_outside(monkeypatch):
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)


POINTS = [1.0, 2.5, -3.0, 1e-9]


def test_local_streams_equal_seed_sequence():
    results = sweep(noisy_function(), POINTS, seed=7, replications=5, jobs=2, progress=False)
    assert as_bytes(results) == reference(POINTS, 7, 5)


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("how", ["argument", "environment"])
def test_dask_gives_same_bytes(cluster, monkeypatch, how):
    address = cluster.scheduler_address
    if how == "environment":
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        address = None
    results = sweep(
        noisy_function(), POINTS, seed=7, replications=5, scheduler=address, progress=False
    )
    assert as_bytes(results) == reference(POINTS, 7, 5)


@pytest.mark.sampled
@pytest.mark.process
def test_the_cluster_really_does_the_work(cluster):
    pids = sweep(
        lambda point, rng: os.getpid(),
        range(8),
        seed=0,
        scheduler=cluster.scheduler_address,
        progress=False,
    )
    assert os.getpid() not in {row[0] for row in pids}


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("where", ["local", "cluster"])
def test_killed_worker_is_retried(request, tmp_path, where):
    scheduler = None
    if where == "cluster":
        scheduler = request.getfixturevalue("cluster").scheduler_address
    flag = str(tmp_path / "killed-once")

    def fragile(point, rng):
        import time

        time.sleep(0.05)  # so that both workers have calls at hand
        if point == 2.5 and not os.path.exists(flag):
            with open(flag, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        return point * rng.standard_normal(3)

    options = {"seed": 7, "replications": 5, "jobs": 2, "patience": 3600, "progress": False}
    results = sweep(fragile, POINTS, scheduler=scheduler, **options)
    assert os.path.exists(flag)
    assert as_bytes(results) == reference(POINTS, 7, 5)


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("where", ["local", "cluster"])
def test_deadly_call_is_named(request, monkeypatch, where):
    scheduler = None
    if where == "cluster":
        running = request.getfixturevalue("cluster")
        monkeypatch.setattr(running.scheduler, "allowed_failures", 0)  # fewer workers to restart
        scheduler = running.scheduler_address

    def deadly(point, rng):
        if point == 2.5:
            os._exit(1)
        return point

    with pytest.raises(WorkerLost, match=r"point 1 \(2\.5\), replication 0 ended its worker"):
        sweep(deadly, POINTS, seed=0, jobs=2, scheduler=scheduler, patience=3600, progress=False)


@pytest.mark.sampled
@pytest.mark.process
def test_empty_cluster_is_refused():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as empty,
        pytest.raises(WorkerLost, match=r"has had no worker for 0\.5 seconds; point 0 \(1\.0\)"),
    ):
        sweep(
            noisy_function(),
            POINTS,
            seed=0,
            scheduler=empty.scheduler_address,
            patience=0.5,
            progress=False,
        )


@pytest.mark.sampled
@pytest.mark.process
@pytest.mark.parametrize("where", ["local", "cluster"])
def test_worker_error_is_raised(request, where):
    scheduler = None
    if where == "cluster":
        scheduler = request.getfixturevalue("cluster").scheduler_address

    def fails(point, rng):
        raise KeyError(point)

    with pytest.raises(KeyError):
        sweep(fails, POINTS, seed=0, jobs=2, scheduler=scheduler, progress=False)


def draw(point, rng):
    return point, rng.random()


def test_sweep_equals_loop():
    """Each call has the stream of its place, whatever else is asked for."""
    for points, replications, seed in (([], 3, 0), ([1], 1, 2**100), ([1, 1, 1], 4, 7)):
        for common in (False, True):
            found = sweep(
                draw, points, seed=seed, replications=replications, jobs=1, progress=False,
                common_random_numbers=common,
            )  # fmt: skip
            assert found == [
                [
                    draw(point, np.random.default_rng(np.random.SeedSequence(
                        seed, spawn_key=(r,) if common else (p, r)
                    )))
                    for r in range(replications)
                ]
                for p, point in enumerate(points)
            ]  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_point(jobs):
    def fails(point, rng):
        if point == 2.5:
            raise ZeroDivisionError("by design")
        return point

    with pytest.raises(ZeroDivisionError) as error:
        sweep(fails, POINTS, seed=0, jobs=jobs, progress=False)
    assert "at point 1 (2.5), replication 0" in error.value.__notes__


def test_progress_is_readable_in_a_log(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    sweep(noisy_function(), POINTS, seed=0, replications=5, jobs=1, progress="grid")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"grid: {2 * k} of 20" for k in range(1, 11)]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"seed": -1}, "seed"),
        ({"replications": 0}, "replications"),
        ({"jobs": 0}, "jobs"),
        ({"patience": 0}, "patience"),
    ],
)
def test_wrong_arguments_are_named(argument, message):
    with pytest.raises(ValueError, match=message):
        sweep(noisy_function(), POINTS, **{"seed": 0, **argument})


@pytest.mark.parametrize(
    ("function", "points", "name"), [(None, POINTS, "function"), (noisy_function(), 3, "points")]
)
def test_wrong_function_is_named(function, points, name):
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        sweep(function, points, seed=0)
