"""A saved state: whole whatever happens while it is saved, and read only as it was saved."""

import multiprocessing
import os
import signal
import time
import zipfile
from itertools import product

import numpy as np
import pytest

from analysis.ephemeral import Scheduler, Sources
from analysis.ephemeral.scheduler import state as state_of
from tests.ephemeral.scheduler.test_core import many_sources


def some_scheduler(seed=0, size=60, *, costs=True, **limits):
    rng = np.random.default_rng(seed)
    cost = rng.choice([1.0, 2.0], size) if costs else 1.0
    sources = Sources(*rng.lognormal(-1, 1, (3, size)), cost=cost)
    scheduler = Scheduler(sources, 6, rng.integers(1, 30, size), **limits)
    for _ in range(20):
        scheduler.crawl()
    scheduler.remove([3, 41])
    return scheduler


def crawls(scheduler, epochs=15):
    return [np.sort(scheduler.crawl()[0]).tolist() for _ in range(epochs)]


def loaded(path):
    """Load a state; None if it is refused as it should be."""
    try:
        return Scheduler.load(path)
    except ValueError as error:
        message = str(error)
    assert f"{path} must be a file that `save` wrote: " in message
    return None


def saved_arrays(path):
    """The digest in a file, and its other arrays."""
    with np.load(path) as saved:
        arrays = {name: saved[name] for name in saved.files}
    return arrays.pop("digest"), arrays


def altered(rng, arrays):
    """Alter one entry, one field, the length, the kind or the presence of one array."""
    arrays = {name: array.copy() for name, array in arrays.items()}
    name = rng.choice(sorted(arrays))
    array = arrays[name]
    way = rng.integers(6)
    extreme = [0, -1, 1, 2**31 - 1, -(2**31), 10**9, np.nan, np.inf, 1e300, -5.5]
    if way == 0:
        del arrays[name]
    elif way == 1:
        arrays[name] = np.concatenate([array, array])
    elif way == 2:
        arrays[name] = array[: array.size // 2]
    elif way == 3:
        kinds = [np.float32, np.int64, np.uint8, np.complex128, "S4"]
        arrays[name] = np.zeros(array.shape, kinds[rng.integers(len(kinds))])
    elif array.size:
        field = array
        if array.dtype.names:
            field = array[rng.choice(array.dtype.names)]
        with np.errstate(invalid="ignore", over="ignore"):
            field[rng.integers(field.size)] = np.array(rng.choice(extreme)).astype(field.dtype)
    return arrays


@pytest.mark.sampled
@pytest.mark.parametrize("sealed", [False, True], ids=["as it stands", "with a digest that fits"])
def test_altered_states_are_refused(tmp_path, sealed):
    """With a digest that fits only the checks of the arrays stand before compiled code."""
    path, rng = tmp_path / "state.npz", np.random.default_rng(1)
    saved = []
    for seed, costs, limited in product(range(2), (False, True), (False, True)):
        limits = {"min_age": 2, "max_age": rng.integers(40, 90, 60)} if limited else {}
        scheduler = some_scheduler(seed, costs=costs, **limits)
        scheduler.save(path)
        saved.append((saved_arrays(path), crawls(scheduler)))
    refused = same = 0
    for trial in range(200):
        (digest, arrays), expected = saved[trial % len(saved)]
        arrays = altered(rng, arrays)
        np.savez(path, digest=state_of._digest(arrays) if sealed else digest, **arrays)
        again = loaded(path)
        if again is None:
            refused += 1
            continue
        found = crawls(again)  # compiled code has seen it, and the process lives
        if not sealed:
            assert found == expected
            same += 1
    assert refused >= (120 if sealed else 180)
    assert same + refused == 200 or sealed


class Runs:
    """What creates a file where it is read by `pickle`."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_state_runs_no_code(tmp_path):
    path, mark = tmp_path / "state.npz", tmp_path / "mark"
    some_scheduler().save(path)
    digest, arrays = saved_arrays(path)
    arrays["cost"] = np.array([Runs(str(mark))], dtype=object)
    np.savez(path, digest=digest, **arrays)
    assert loaded(path) is None
    assert not mark.exists()
    np.load(path, allow_pickle=True)["cost"]
    assert mark.exists()


def test_files_of_another_kind_are_refused(tmp_path):
    scheduler = some_scheduler()
    scheduler.save(tmp_path / "state.npz")
    whole = (tmp_path / "state.npz").read_bytes()
    rng = np.random.default_rng(2)
    for trial in range(60):
        content = bytearray(whole)
        if trial % 2:
            del content[rng.integers(len(content)) :]
        else:
            content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        (tmp_path / "other.npz").write_bytes(content)
        again = loaded(tmp_path / "other.npz")
        assert again is None or crawls(again) == crawls(some_scheduler())
    np.save(tmp_path / "array.npy", np.ones(3))
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("entries.npy", b"nothing")
    for name in ("array.npy", "zip.npz"):
        with pytest.raises(ValueError, match="must be a file that `save` wrote"):
            Scheduler.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        Scheduler.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("entries", {"number": 10**9}, "number is not valid"),
        ("entries", {"number": -1}, "number is not valid"),
        ("entries", {"number": 5}, "number is not valid"),  # twice
        ("entries", {"last": 21}, "last is not valid"),
        ("entries", {"last": -(2**31)}, "last is not valid"),
        ("entries", {"limit": np.inf}, "limit is not valid"),
        ("entries", {"limit": -1.0}, "limit is not valid"),
        ("entries", {"decay": 0.0}, "decay is not valid"),
        ("cost", 0.0, "cost is not valid"),
        ("cost", np.nan, "cost is not valid"),
        ("least", -1, "least is not valid"),
        ("most", 0, "most is not valid"),
        ("most", 1, "most is not valid"),  # below the minimal age
        ("counts", [20, 30], "counts is not valid"),
        ("counts", [-1, 60], "counts is not valid"),
        ("counts", [2**40, 60], "counts is not valid"),
        ("levels", [np.nan, 1.0], "levels is not valid"),
        ("levels", [-1.0, 1.0], "levels is not valid"),
        ("levels", [6.0, np.nan], "levels is not valid"),
        ("levels", [6.0, -1.0], "levels is not valid"),
    ],
)
def test_every_array_is_checked_by_itself(tmp_path, name, change, message):
    path = tmp_path / "state.npz"
    some_scheduler(min_age=2, max_age=90).save(path)
    _, arrays = saved_arrays(path)
    if isinstance(change, dict):
        for field, value in change.items():
            place = int(np.flatnonzero(arrays[name]["number"] != value)[0])
            arrays[name][field][place] = value
    elif isinstance(change, list):
        arrays[name][:] = change
    else:
        arrays[name][0] = change
    np.savez(path, digest=state_of._digest(arrays), **arrays)
    with pytest.raises(ValueError, match=message):
        Scheduler.load(path)


KINDS = {
    "plain": {},
    "limits on ages": {"min_age": np.arange(400) % 5, "max_age": 90},
    "price of pages": {"price": 0.4, "max_age": 90},
    "queue": {"price": 0.1, "index_rate": 90.0, "queue": 40},
    "lagrangian": {"priority": "lagrangian"},
    "tuned": {"priority": "lagrangian", "crawl_price": 1.0, "tune_price": True},
}


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("kind", KINDS)
def test_loaded_scheduler_crawls_the_same(kind, precision, tmp_path):
    sources = many_sources(400, cost=1.0 if "page" in kind else np.arange(400) % 3 + 1.0)
    scheduler = Scheduler(sources, 12, precision=precision, **KINDS[kind])
    for _ in range(70):
        scheduler.crawl()
    scheduler.remove([7])
    scheduler.budget = 11.5
    scheduler.save(tmp_path / "state.npz")
    scheduler.save(tmp_path / "state.npz")
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.npz"]
    again = Scheduler.load(tmp_path / "state.npz")
    assert (again.budget, again.epoch, len(again)) == (11.5, 70, 399)
    assert again._register.calendar.pool.dtype == scheduler._register.calendar.pool.dtype
    np.testing.assert_array_equal(again.ages, scheduler.ages)
    for epoch in range(120):
        if epoch == 40 and "price" in KINDS[kind]:
            scheduler.price = again.price = 0.05
        if epoch in (50, 60) and "queue" in KINDS[kind]:
            scheduler.queue = again.queue = 10 * epoch
        crawls = [scheduler.crawl(), again.crawl()]
        (numbers, rewards), (same, same_rewards) = crawls
        np.testing.assert_array_equal(np.sort(numbers), np.sort(same))
        np.testing.assert_array_equal(rewards[np.argsort(numbers)], same_rewards[np.argsort(same)])
        for name in ("price", "queue", "crawl_price"):
            assert getattr(again, name) == getattr(scheduler, name)
    assert kind != "tuned" or scheduler.crawl_price != 1.0
    assert again.add(Sources([1.0], [1.0], [1.0])).tolist() == [400]


def test_wrong_budget_keeps_state(tmp_path):
    scheduler = some_scheduler()
    scheduler.save(tmp_path / "state.npz")
    scheduler.budget = -1.0
    with pytest.raises(ValueError, match="budget"):
        scheduler.save(tmp_path / "state.npz")
    assert Scheduler.load(tmp_path / "state.npz").budget == 6


@pytest.mark.sampled
@pytest.mark.process
def test_kill_while_saving(tmp_path):
    path = tmp_path / "state.npz"
    scheduler = some_scheduler(size=20_000, costs=False)
    scheduler.save(path)

    def save_for_ever():
        while True:
            scheduler.crawl()
            scheduler.save(path)

    rng, epochs = np.random.default_rng(3), []
    for _ in range(50):
        child = multiprocessing.get_context("fork").Process(target=save_for_ever)
        child.start()
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        again = Scheduler.load(path)
        assert len(again) == 19_998
        epochs.append(again.epoch)
    assert max(epochs) > min(epochs)  # some had saved before they were killed
