"""Parts on a cluster of two processes: the same crawls as in one, also after a worker has died."""

import os
import signal
from collections import deque

import numpy as np
import pytest

from analysis.ephemeral import Sources
from analysis.ephemeral.scheduler.cluster import Cluster, ClusterMachines, Loss
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.scheduler.partition import InProcess, PartitionedScheduler
from analysis.sweep import WorkerLost

distributed = pytest.importorskip("distributed")
COUNT, PARTS, BUDGET, SAVE_EVERY = 4_000, 3, 60, 4


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    sources = Sources(*rng.lognormal([[0], [0], [-3]], 1, (3, COUNT)))
    part = np.argsort(np.argsort(sources.decay_rate)) * PARTS // COUNT
    return sources, part, BUDGET, rng.integers(1, 60, COUNT)


def same_epoch(*schedulers):
    crawls = [scheduler.crawl() for scheduler in schedulers]
    (one, rewards), (other, same_rewards) = crawls
    np.testing.assert_array_equal(np.sort(one), np.sort(other))
    np.testing.assert_array_equal(rewards[np.argsort(one)], same_rewards[np.argsort(other)])
    subsidies = [scheduler.subsidy for scheduler in schedulers]
    assert subsidies[0] == subsidies[1]
    np.testing.assert_array_equal(*(scheduler.quotas for scheduler in schedulers))


@pytest.mark.sampled
@pytest.mark.process
def test_lost_worker_changes_no_crawl(client, model, tmp_path):
    place = Cluster(client, tmp_path, save_every=SAVE_EVERY)
    scheduler, twin = PartitionedScheduler(*model, place=place), PartitionedScheduler(*model)
    for _ in range(2 * SAVE_EVERY):
        scheduler.advance()  # what is not collected stays where it was crawled
        twin.advance()
    spent = []
    for _ in range(3):
        same_epoch(scheduler, twin)
        spent.append(scheduler.quotas)
    machines = scheduler.machines
    assert machines.losses == []

    dying = machines.worker(0)
    here = [p for p in range(PARTS) if machines.worker(p) == dying]
    assert 0 < len(here) < PARTS
    os.kill(client.run(os.getpid)[dying], signal.SIGKILL)
    # What the parts there must be now: their saved state, and three epochs without a crawl.
    parts = [part.scheduler for part in twin.machines.parts]
    for p in here:
        parts[p] = Scheduler.load(tmp_path / f"part-{p}.npz")
        assert parts[p].epoch == 2 * SAVE_EVERY
        for _ in range(3):
            parts[p].crawl(0.0)
    twin.machines = InProcess(iter(parts))
    for _ in range(SAVE_EVERY + 1):
        same_epoch(scheduler, twin)
    total = np.sum(spent, axis=0)
    assert machines.losses == [(p, 2 * SAVE_EVERY + 3, 3, total[p]) for p in here]


def test_restart_counts_once():
    """A part that dies twice between two savings begins both times from the same state."""
    machines = object.__new__(ClusterMachines)
    machines.losses, machines._epoch = [], 4
    machines._spent = deque([np.array([spent]) for spent in (1.0, 2.0, 4.0, 8.0)], maxlen=9)
    machines._count(0, 3)
    machines._spent.append(np.array([16.0]))
    machines._epoch = 5
    machines._count(0, 4)
    assert machines.losses == [Loss(0, 4, 3, 14.0), Loss(0, 5, 1, 16.0)]


@pytest.mark.sampled
@pytest.mark.process
def test_unequal_costs_match_one_scheduler(client, tmp_path):
    rng = np.random.default_rng(1)
    cost = np.r_[np.full(4, 6.0), np.ones(36)]
    sources = Sources(np.r_[60.0, 61.0, 62.0, 63.0, rng.lognormal(0, 1, 36)], np.ones(40),
                      np.full(40, 0.2), cost=cost)  # fmt: skip
    place = Cluster(client, tmp_path)
    scheduler = PartitionedScheduler(sources, np.arange(40) % PARTS, 12, place=place)
    one = Scheduler(sources, 12)
    for _ in range(12):
        np.testing.assert_array_equal(*(np.sort(s.crawl()[0]) for s in (one, scheduler)))


@pytest.mark.sampled
@pytest.mark.process
def test_unsaved_part_is_given_up(client, model, tmp_path):
    def gone():
        raise OSError("the worker is gone")

    scheduler = PartitionedScheduler(*model, place=Cluster(client, tmp_path))
    scheduler.advance()
    scheduler.machines._futures[1] = client.submit(gone)
    (tmp_path / "part-1.npz").unlink()
    with pytest.raises(WorkerLost, match="part 1 could not be restarted in 3 trials"):
        scheduler.advance()
    assert scheduler.machines.losses == []


@pytest.mark.sampled
@pytest.mark.process
def test_a_cluster_without_workers_is_refused(model, tmp_path):
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, processes=False) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(WorkerLost, match="no worker"),
    ):
        PartitionedScheduler(*model, place=Cluster(client, tmp_path))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"save_every": 0}, "save_every"), ({"patience": 0.0}, "patience")],
)
def test_wrong_numbers_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Cluster(None, "folder", **wrong)
