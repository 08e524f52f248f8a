"""A kill at any moment: between any two writes the folder leads to the same crawl."""

import importlib
import inspect
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from analysis.crawl import Frontier, ListingIndex, Outcome, TurnPolicy
from analysis.crawl.frontier.state import FOUND
from analysis.crawl.local.transport import crawl_in_process
from analysis.crawl.progress import Progress
from analysis.crawl.store import FILE, Log, Store, read_log, read_progress
from analysis.learning import CertaintyEquivalence
from tests.crawl.support import contents, some_settings, some_site


class Killed(BaseException):
    """What the process does not survive."""


def dying(function, after, before):
    """Return the function, which kills at its call number `after`, before or after its work."""
    calls = []

    def wrapped(*arguments, **options):
        calls.append(1)
        if len(calls) == after and before:
            raise Killed
        result = function(*arguments, **options)
        if len(calls) == after:
            raise Killed
        return result

    return wrapped


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize(
    ("call", "after"),
    [("note", 1), ("note", 8), ("save", 3), ("_put", 4), ("_put", 5), ("_put", 11), ("_put", 12)],
)
def test_kill_around_write_is_harmless(tmp_path, monkeypatch, call, after, before):
    """Writes of one state are one transaction: `_put` is killed within it, too."""
    site = some_site(epochs=6)
    settings = some_settings(site, epochs=6, budget=3, policy="learned_index")
    crawl_in_process(site, settings, folder=tmp_path / "one")
    with monkeypatch.context() as patch:
        patch.setattr(Store, call, dying(getattr(Store, call), after, before))
        with pytest.raises(Killed):
            crawl_in_process(site, settings, folder=tmp_path / "two")
    crawl_in_process(site, settings, folder=tmp_path / "two")
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def rng():
    return np.random.default_rng(0)


def a_crawl(policy=None, size=3):
    policy = policy or CertaintyEquivalence(size)
    return Frontier(policy, list(range(size)), 1, rng=np.random.default_rng(0))


def some_folder(path):
    """A folder with three epochs, and a fetch of the fourth."""
    crawl, store = a_crawl(), Store(path)
    store.restore(crawl)
    for _ in range(3):
        (source,) = crawl.choose().tolist()
        outcome = Outcome(source, FOUND, reward=1.0, memory="m", delay=0.0)
        store.note(crawl, outcome)
        crawl.settle(outcome)
        store.save(crawl, 5.0)
    (source,) = crawl.choose().tolist()
    store.note(crawl, Outcome(source, FOUND, memory="of the fourth"))
    store.close()
    return path / FILE


def test_what_was_kept_comes_back(tmp_path):
    some_folder(tmp_path)
    crawl, store = a_crawl(), Store(tmp_path)
    assert store.restore(crawl) == 5.0
    assert crawl.epoch == 3
    assert crawl.crawl_delay.keys() <= {"0", "1", "2"}
    (outcome,) = store.finished(crawl)
    assert outcome.memory == "of the fourth"
    assert store.frame()["epoch"].tolist() == [0, 1, 2, 3]
    memories = {row[6] for row in store.contents()["fetch"]}
    assert memories == {"", "of the fourth"}  # those of epochs that are over are in the state


def test_log_is_read_during_crawl(tmp_path):
    assert len(read_log(tmp_path)) == 0
    crawl, store = a_crawl(), Store(tmp_path)
    (source,) = crawl.choose().tolist()
    store.note(crawl, Outcome(source, FOUND, reward=0.1 + 0.2))
    assert read_log(tmp_path)["reward"].tolist() == [0.1 + 0.2]


@pytest.mark.parametrize("length", [0, 100, 4096, 9000])
def test_truncated_file_is_refused(tmp_path, length):
    path = some_folder(tmp_path)
    whole = contents(tmp_path)
    assert whole["fetch"]
    path.write_bytes(path.read_bytes()[:length])
    if length == 0:
        assert Store(tmp_path).restore(a_crawl()) is None  # an empty file is a new crawl
    else:
        with pytest.raises(ValueError, match=FILE):
            Store(tmp_path).restore(a_crawl())


def test_altered_files_are_refused(tmp_path):
    """Whatever byte is wrong: a sentence that names the file, or a crawl; never another error."""
    rng = np.random.default_rng(0)
    good = some_folder(tmp_path / "good").read_bytes()
    refused = 0
    for number in range(200):
        folder = tmp_path / str(number)
        folder.mkdir()
        altered = bytearray(good)
        for place in rng.integers(0, len(good), 1 + number % 20):
            altered[place] = rng.integers(0, 256)
        (folder / FILE).write_bytes(altered)
        crawl = a_crawl()
        try:
            store = Store(folder)
            store.restore(crawl)
            store.finished(crawl)
            crawl.choose()
            store.close()
        except ValueError as error:
            refused += str(folder / FILE) in str(error)
        shutil.rmtree(folder)
    assert refused > 20


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE source SET last = 99",
        "UPDATE source SET failures = -1",
        "UPDATE source SET rest_until = 'soon'",
        "UPDATE source SET kind = 'lost'",
        "UPDATE source SET learned = x'00'",
        "UPDATE source SET memory = x'00' WHERE 0",
        "UPDATE host SET free = -4",
        "UPDATE host SET delay = 9e999",
        "UPDATE crawl SET value = -1 WHERE name = 'epoch'",
        "UPDATE crawl SET value = 'no json' WHERE name = 'rng'",
        "UPDATE crawl SET value = '{}' WHERE name = 'rng'",
        "UPDATE crawl SET value = x'00' WHERE name = 'learned'",
        "DELETE FROM crawl WHERE name = 'began'",
        "DELETE FROM source WHERE name = '0'",
        "UPDATE source SET name = 'http://other' WHERE name = '0'",
        "UPDATE host SET name = 'other' WHERE name = '0'",
        "UPDATE host SET refusals = 4",
        "DROP TABLE source",
        "PRAGMA user_version = 1",
    ],
)
def test_impossible_state_is_refused(tmp_path, change):
    path = some_folder(tmp_path)
    with sqlite3.connect(path) as base:
        base.execute(change)
    base.close()
    crawl = a_crawl()
    if "WHERE 0" in change:
        Store(tmp_path).restore(crawl)
        return
    name = "earlier version" if "user_version" in change else FILE
    with pytest.raises(ValueError, match=name):  # noqa: PT012
        store = Store(tmp_path)
        store.restore(crawl)
        store.finished(crawl)


def test_older_state_is_refused(tmp_path):
    (tmp_path / "state.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="an earlier version"):
        Store(tmp_path)


@pytest.mark.sampled
@pytest.mark.process
def test_a_folder_belongs_to_one_process(tmp_path):
    code = (
        "import sys; from analysis.crawl.store import Store; store = Store(sys.argv[1]); "
        "print(flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with other:
        other.stdout.readline()
        with pytest.raises(ValueError, match="another crawl is at work in"):
            Store(tmp_path)
        other.kill()
    Store(tmp_path).close()  # a kill leaves nothing locked


def test_no_state_can_run_code(tmp_path):
    """What the state holds is read as numbers, text and JSON; nothing here unpickles."""
    source = (Store.__module__, Frontier.__module__)
    for name in source:
        text = inspect.getsource(importlib.import_module(name))
        assert "pickle" not in text
        assert "eval(" not in text


def test_damaged_memory_counts_as_empty(tmp_path, caplog):
    path = some_folder(tmp_path)
    with sqlite3.connect(path) as base:
        damaged = base.execute("UPDATE source SET memory = 'n' WHERE memory = 'm'").rowcount
    base.close()
    crawl, store = a_crawl(), Store(tmp_path)
    assert store.restore(crawl) == 5.0
    assert set(crawl.memory) == {""}
    assert crawl.age.min() < 4  # its age is not lost
    assert caplog.text.count("counts as empty") == damaged > 0
    store.close()


@pytest.mark.parametrize(
    "change", ["kind = 'lost'", "reward = -1", "memory = 'x'", "source = '7'", "epoch = 9"]
)
def test_damaged_fetches_are_repeated(tmp_path, caplog, change):
    path = some_folder(tmp_path)
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE fetch SET {change} WHERE epoch = 3")
    base.close()
    crawl, store = a_crawl(), Store(tmp_path)
    store.restore(crawl)
    assert store.finished(crawl) == []
    assert caplog.text.count("damaged fetches are repeated") == 1
    assert store.frame()["epoch"].max() == 2
    store.close()


def test_old_fetches_are_folded_into_days(tmp_path):
    """Counts of all fetches stay exact, rows are bounded, and status reads no row."""
    crawl, store = Frontier(CertaintyEquivalence(4), range(4), 2, rng=rng(), seconds=3600.0), None
    store = Store(tmp_path, epochs=10)
    store.restore(crawl)
    expected = Counter()
    for epoch in range(100):
        for source in crawl.choose().tolist():
            kind = (FOUND, "failed", "gone")[epoch % 2 if source < 3 else 0]
            status = 304 if kind == FOUND and epoch % 4 == 0 else 200
            outcome = Outcome(source, kind, status, reward=0.5, items=epoch % 3, delay=0.0)
            expected.update(fetches=1, items=outcome.items, reward=0.5, **{kind: 1})
            expected["not_modified"] += status == 304
            store.note(crawl, outcome)
            crawl.settle(outcome)
        store.save(crawl, 1000.0)
    assert store.frame()["epoch"].min() == 90
    _, sources, counts, epochs = read_progress(tmp_path)
    assert counts == {name: expected[name] for name in counts}
    assert len(sources) == 4
    assert epochs["epoch"].tolist() == list(range(90, 100))
    days = store._base.execute("SELECT day, fetches FROM day ORDER BY day").fetchall()
    assert [day for day, _ in days] == [0, 1, 2, 3]  # 90 hours
    assert sum(count for _, count in days) + len(store.frame()) == expected["fetches"]
    store.close()


def kept_crawl(folder, policy, seconds=3600.0):
    """A crawl of six sources, restored from a folder; the time at which its epoch 0 began."""
    made = {
        "index": lambda: ListingIndex(6, 86_400 / seconds, seconds, memory=1e7 / seconds),
        "turns": lambda: TurnPolicy(6),
        "learner": lambda: CertaintyEquivalence(6),
    }
    crawl = Frontier(made[policy](), range(6), 2, rng=rng(), seconds=seconds)
    store = Store(folder)
    return crawl, store, store.restore(crawl)


def advance(crawl, store, epochs, began):
    """Each fetch finds three items of an hour's age and more."""
    for _ in range(epochs):
        for source in crawl.choose().tolist():
            outcome = Outcome(
                source, FOUND, 200, 1.0, 3, f"m{source}", delay=0.0, known=1,
                ages=(4000.0, 9000.0 * (source + 1), 20_000.0 * (source + 1)),
            )  # fmt: skip
            store.note(crawl, outcome)
            crawl.settle(outcome)
        store.save(crawl, began)


def rates(crawl):
    crawl.policy.index(crawl.age)
    return crawl.policy.rate / crawl.seconds


def test_another_period_continues_the_crawl(tmp_path):
    """Memories, ages in seconds and learned rates stay; the last epoch began when it did."""
    crawl, store, _ = kept_crawl(tmp_path, "index")
    advance(crawl, store, 30, 1000.0)
    store.close()
    other, store, began = kept_crawl(tmp_path, "index", 300.0)
    assert other.memory == crawl.memory
    assert ((other.age - 1) * 300 == (crawl.age - 1) * 3600).all()
    assert rates(other) == pytest.approx(rates(crawl), rel=2e-3)  # they fade from other ages
    assert began + (other.epoch - 1) * 300 == 1000 + (crawl.epoch - 1) * 3600
    counts = read_progress(tmp_path)[2]
    assert counts["fetches"] == 60
    assert store._base.execute("SELECT max(day) FROM day").fetchone() == (1,)  # 30 hours
    advance(other, store, 5, began)
    store.close()
    again, store, _ = kept_crawl(tmp_path, "index", 300.0)
    assert again.state() == other.state()
    store.close()


def test_policies_are_left_and_returned_to(tmp_path):
    """What a policy has learned waits for its return, also in epochs of another length."""
    crawl, store, _ = kept_crawl(tmp_path, "index")
    advance(crawl, store, 30, 1000.0)
    store.close()
    learned = rates(crawl)
    for policy in ("turns", "learner", "turns"):
        other, store, _ = kept_crawl(tmp_path, policy)
        assert other.memory == crawl.memory
        advance(other, store, 6, 1000.0)
        store.close()
    other, store, _ = kept_crawl(tmp_path, "turns", 300.0)
    advance(other, store, 6, 1000.0)
    store.close()
    other, store, _ = kept_crawl(tmp_path, "index", 300.0)
    assert rates(other) == pytest.approx(learned, rel=2e-2)
    store.close()
    with pytest.raises(ValueError, match="CRAWL_PERIOD"):
        kept_crawl(tmp_path, "learner", 300.0)


def test_progress_before_the_first_epoch_counts_fetches(tmp_path):
    crawl, store = a_crawl(), Store(tmp_path)
    store.restore(crawl)
    store.note(crawl, Outcome(int(crawl.choose()[0]), FOUND))
    store.close()
    progress = Progress.read(tmp_path)
    assert progress.facts["fetches"] == "1 so far"
    assert "none has ended yet" in progress.text()
    assert "<table" in progress.page()


def test_log_in_memory_is_bounded():
    log = Log(epochs=3)
    for epoch in range(50):
        log.note(SimpleNamespace(names=["a"], epoch=epoch), Outcome(0, "found"))
    assert log.frame()["epoch"].tolist() == [47, 48, 49]


def test_state_names_what_was_learned(tmp_path):
    """A policy with other arrays of the same size is refused, by their names."""
    some_folder(tmp_path)
    crawl, store = a_crawl(), Store(tmp_path)
    state = crawl.policy.state

    def renamed():
        return {f"x{name}": array for name, array in state().items()}

    crawl.policy.state = renamed
    with pytest.raises(ValueError, match="must have the arrays"):
        store.restore(crawl)
    store.close()


def test_memory_log_is_shown():
    names, log = ["b", "a"], Log()
    for epoch in (1, 0):
        for number, reward in ((0, 1.0), (1, 2.0)):
            log.note(
                SimpleNamespace(names=names, epoch=epoch), Outcome(number, "found", reward=reward)
            )
    frame = log.frame()
    assert frame["epoch"].tolist() == [0, 0, 1, 1]
    assert frame["source"].tolist() == ["a", "b", "a", "b"]
    assert frame["reward"].tolist() == [2.0, 1.0, 2.0, 1.0]
