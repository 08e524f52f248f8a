"""The runner, with notebooks of three lines: reuse, failure, interruption, one at a time."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from jupyter_client.provisioning.local_provisioner import LocalPortCache

from scorecard.files import ROOT, display_path
from scorecard.publishing.comparison import repeat_jobs
from scorecard.running import runner
from scorecard.running.kernels import COMPILATION, WARNINGS, kernel_environment
from scorecard.running.notebooks import OwnFile
from scorecard.running.runner import RunFailed, lock_build, order_jobs, run_jobs
from tests.scorecard.running.conftest import GOOD

pytestmark = pytest.mark.process

CLOCKS = {"seconds.txt", "cpu.txt"}
COMPILED = "import numba\nnumba.njit(lambda x: x + 1)(1)\n" + GOOD
BAD = "1 / (number - number)"
SLEEP = "Path('started').touch()\nimport time\ntime.sleep(120)"
#: Two workers of joblib, each with a process that it has started; compiled code that never lets go.
PARALLEL = """
import joblib

def work(number):
    import pathlib, subprocess, time
    subprocess.Popen(["sleep", "120"])
    pathlib.Path(f"begun{number}").touch()
    while True:
        time.sleep(0.1)
        if len(list(pathlib.Path().glob("begun*"))) == 2:
            pathlib.Path("started").touch()

joblib.Parallel(n_jobs=2)(joblib.delayed(work)(number) for number in range(2))
"""
COMPILED_PAUSE = "import ctypes\nPath('started').touch()\nctypes.PyDLL(None).pause()"


def outputs(folder):
    cells = json.loads((folder / "notebook.ipynb").read_text())["cells"]
    texts = []
    for cell in cells:
        for output in cell.get("outputs", []):
            texts.append("".join(output.get("text", output.get("data", {}).get("text/plain", []))))
    return texts


def files(folder):
    clocks = {*CLOCKS, COMPILATION}
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in clocks}


def test_run_keeps_good_results(job, capsys, monkeypatch):
    """One story: two good and two failing notebooks, then the same again, then a change."""
    first, third = job("first", number=5), replace(job("third", COMPILED), document=False)
    jobs = [first, job("second", BAD), third, job("dying", "import os\nos._exit(3)")]
    with pytest.raises(RunFailed) as failed:
        run_jobs(jobs, workers=2)
    assert "2 of 4 notebooks failed" in str(failed.value)
    assert "second" in str(failed.value)
    assert "dying" in str(failed.value)
    said = capsys.readouterr().out
    assert "4 notebooks, 4 to run" in said
    assert "part/second: FAILED in cell" in said
    assert "ZeroDivisionError" in said
    assert BAD in said
    assert "\x1b" not in said  # reads well in a log
    assert "part/dying: FAILED in" in said
    assert "died" in said.lower()
    assert all(float((first.target / name).read_text()) > 0 for name in CLOCKS)
    assert outputs(first.target) == ["5 True\n", "25"]
    assert outputs(third.target) == ["3 False\n", "9"]
    assert sorted(p.name for p in first.target.parent.iterdir()) == ["first", "third"]
    kept = ["cpu.txt", "notebook.ipynb", "run.json", "seconds.txt"]
    assert sorted(p.name for p in first.target.iterdir()) == kept
    compilation, whole = ((third.target / n).read_text() for n in (COMPILATION, "cpu.txt"))
    assert 0 < float(compilation) <= float(whole)

    def refuse(kernels, folder):
        raise AssertionError("a notebook was run again")

    with monkeypatch.context() as patch:
        patch.setattr(runner.Kernels, "execute", refuse)
        run_jobs([first, third])
    assert "2 notebooks, 0 to run" in capsys.readouterr().out
    assert not job("first", number=6).up_to_date
    assert not job("third", COMPILED).up_to_date  # a reader's own result is not the document's
    given = OwnFile("sources", "my.csv", b"name\n")
    assert not replace(first, files=(given,)).up_to_date

    # Another run of the same inputs gives the same bytes.
    before = files(first.target), files(third.target)
    assert b"papermill" not in before[0]["notebook.ipynb"]
    (first.target / "run.json").unlink()
    with pytest.raises(RunFailed, match="1 of 2 notebooks failed: third"):
        run_jobs([first, replace(job("third", BAD), document=False)])
    # The failed change left the last good result of the third in place.
    assert (files(first.target), files(third.target)) == before


LOUD = """
import logging, os, subprocess, sys, warnings
import numpy as np
with warnings.catch_warnings(record=True):
    np.log(np.zeros(1))
np.log(np.zeros(1))
logging.getLogger("a library").warning("a library complains")
class Late:
    def __del__(self):
        raise ValueError("too late to be raised")
Late()
print("printed to standard error", file=sys.stderr)
os.write(2, b"written by a library in C")
subprocess.run([sys.executable, "-c", "import sys; print('a child', file=sys.stderr)"], check=True)
"""


@pytest.mark.sampled
def test_warnings_are_kept(job, capsys):
    quiet = job("quiet")
    loud = job("loud", LOUD + GOOD)
    run_jobs([quiet, loud])
    assert outputs(loud.target) == outputs(quiet.target) == ["3 True\n", "9"]
    assert not (quiet.target / WARNINGS).exists()
    kept = (loud.target / WARNINGS).read_text()
    for text in (
        "RuntimeWarning: divide by zero encountered in log",
        "a library complains",
        "too late to be raised",
        "printed to standard error",
    ):
        assert kept.count(text) == 1, (text, kept)
    assert not re.search("library in C|a child", kept)  # they stand in the kernel's log
    said = capsys.readouterr().out.splitlines()
    told = [line for line in said if "part/loud:" in line]
    assert [f"with warnings: {display_path(loud.target / WARNINGS)}" in line for line in told] == [
        True
    ]
    assert not any("warnings" in line for line in said if "part/quiet:" in line)


@pytest.mark.sampled
@pytest.mark.process
def test_taken_port_restarts_kernel(job, monkeypatch):
    choose, tried = LocalPortCache.find_available_port, []
    with socket.create_server(("127.0.0.1", 0)) as other:

        def taken_at_first(self, ip):
            tried.append(ip)
            return other.getsockname()[1] if len(tried) == 1 else choose(self, ip)

        monkeypatch.setattr(LocalPortCache, "find_available_port", taken_at_first)
        run_jobs([job("one")])
    assert len(tried) > 5  # the five ports of a kernel, and others


@pytest.mark.parametrize("workers", [0, -1])
def test_there_is_at_least_one_worker(job, workers):
    with pytest.raises(
        ValueError, match=f"workers must be an integer of at least 1, got {workers}"
    ):
        run_jobs([job("first")], workers)


@pytest.mark.sampled
def test_kernel_has_one_thread():
    program = (
        "import json, numba, numpy, scipy.linalg, threadpoolctl\n"
        "numpy.ones((9, 9)) @ numpy.ones((9, 9))\n"
        "pools = [pool['num_threads'] for pool in threadpoolctl.threadpool_info()]\n"
        "print(json.dumps([*pools, numba.get_num_threads()]))\n"
    )
    for threads in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **kernel_environment(threads)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert set(json.loads(done.stdout)) == {min(threads, os.cpu_count())}


def test_expected_time_is_printed(job, capsys, monkeypatch):
    """From the last run here, else from what the book knows, on as many workers as there are."""
    jobs = [job("first"), job("second"), job("third", COMPILED)]
    known = {("paper", "first"): 100.0, ("paper", "second"): 300.0}
    monkeypatch.setattr(runner, "read_seconds", lambda *which: known.get(which))
    (jobs[0].target).mkdir(parents=True)
    (jobs[0].target / "seconds.txt").write_text("500.0\n")

    def play(kernels, folder):
        for name in ("notebook.ipynb", "cpu.txt"):
            (folder / name).write_text("1")
        return ""

    monkeypatch.setattr(runner.Kernels, "execute", play)
    run_jobs(jobs, workers=1)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "3 notebooks, 3 to run, about 13 min"
    assert [line.split(":")[0] for line in lines] == [
        "[1 of 3] part/third",  # of an unknown time, and first
        "[2 of 3] part/first",
        "[3 of 3] part/second",
    ]
    run_jobs([job("first", number=4)], workers=2)
    assert capsys.readouterr().out.splitlines()[0] == "1 notebooks, 1 to run"


# Interruption.

SCRIPT = """
import signal
import sys
from pathlib import Path
# As at a terminal, also where a shell has started the tests in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
from scorecard.running import notebooks
from scorecard.running.notebooks import Notebook
from scorecard.running.runner import Job, lock_build, run_jobs

folder = Path(sys.argv[1])
notebooks.BOOK = folder / "book"
notebook = Notebook(notebooks.BOOK / "part/first.md")
job = Job(notebook, notebook.resolve({}), folder / "results/part/first", "paper")
with lock_build(folder):
    run_jobs([job])
"""


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def processes_in(folder):
    """Processes that work in a folder or name it on their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            where = os.readlink(path / "cwd")
            command = (path / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in where or str(folder) in command:
            found.append(command)
    return found


def living():
    """The processes that there are, each with its session."""
    found = {}
    for process in psutil.process_iter(["status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE:
            with contextlib.suppress(ProcessLookupError):
                found[process.pid] = os.getsid(process.pid)
    return found


def session_of(folder):
    """The processes that share a session with the kernel that works in a folder."""
    kernels = set()
    for pid in living():
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(folder)):
                kernels.add(pid)
    return {pid for pid, session in living().items() if session in kernels}


@pytest.fixture
def sleeping(request, job, tmp_path):
    """A build, in a process of its own, of one notebook that has begun to sleep."""
    good = job("first", getattr(request, "param", SLEEP))
    good.target.mkdir(parents=True)
    (good.target / "run.json").write_text('{"key": "of an older notebook"}')
    started = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: list(tmp_path.glob("results/part/.first~*/started")))
        yield good, started
    finally:
        for pid in session_of(tmp_path):
            os.kill(pid, signal.SIGKILL)
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")
def test_interrupt_keeps_last_result(sleeping, tmp_path):
    good, started = sleeping
    before = files(good.target)
    with pytest.raises(RuntimeError, match="another build is running"), lock_build(tmp_path):
        pass
    os.killpg(started.pid, signal.SIGINT)  # what Ctrl-C at a terminal does
    said, _ = started.communicate(timeout=300)
    assert "KeyboardInterrupt" in said
    assert started.returncode != 0
    assert files(good.target) == before
    assert [p.name for p in good.target.parent.iterdir()] == ["first"]
    wait_for(lambda: not processes_in(tmp_path))
    with lock_build(tmp_path):
        pass  # the lock is free again


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")
def test_kernel_ends_with_build(sleeping, tmp_path):
    good, started = sleeping
    before = files(good.target)
    assert len(processes_in(tmp_path)) == 2  # the build and the kernel
    started.kill()
    wait_for(lambda: not processes_in(tmp_path))
    assert files(good.target) == before


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")
@pytest.mark.parametrize(
    ("sleeping", "least"),
    [(PARALLEL, 6), (COMPILED_PAUSE, 2)],
    indirect=["sleeping"],
    ids=["workers", "compiled code"],
)
def test_killed_build_leaves_no_process(sleeping, tmp_path, least):
    """Neither workers and what they start, nor those that clear up after them, nor what watches."""
    _, started = sleeping
    left = session_of(tmp_path)
    assert len(left) >= least
    started.kill()
    wait_for(lambda: not left & living().keys())
    started.communicate(timeout=300)  # nobody holds the output of the build
    assert not processes_in(tmp_path)


@pytest.mark.sampled
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")
def test_kill_during_imports_leaves_nothing(job, tmp_path):
    """The fork server imports for half a minute on a busy machine, and in this test for an hour."""
    job("first")
    importing = tmp_path / "importing"
    module = f"import pathlib, time\npathlib.Path({str(importing)!r}).touch()\ntime.sleep(3600)\n"
    (tmp_path / "matplotlib_inline.py").write_text(module)
    started = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        start_new_session=True,
    )

    def left():
        return {pid for pid, session in living().items() if session == started.pid}

    try:
        wait_for(importing.exists)
        assert len(left()) >= 3  # the build, the server, and multiprocessing's resource tracker
        started.kill()
        started.wait()
        wait_for(lambda: not left())
    finally:
        for pid in left():
            os.kill(pid, signal.SIGKILL)


def test_unwritable_path_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(RuntimeError, match="cannot be written") as refused,
        lock_build(tmp_path / "file" / "build"),
    ):
        pass
    assert str(tmp_path / "file" / "build") in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_a_folder_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RuntimeError, match="make it writable"), lock_build(tmp_path / "build"):
        pass


def test_inner_error_is_raised(tmp_path):
    with pytest.raises(FileNotFoundError), lock_build(tmp_path):
        raise FileNotFoundError("something else")


def test_long_pages_start_early():
    seconds = {"a/one": 9.0, "a/two": 8.0, "b/one": 3.0, "a/new": None, "c/one": 5.0, "b/two": 1.0}
    jobs = [
        SimpleNamespace(expected_seconds=taken, notebook=SimpleNamespace(page=page))
        for page, taken in seconds.items()
    ]
    order = [job.notebook.page for job in order_jobs(jobs)]
    assert order == ["a/new", "c/one", "b/one", "a/one", "b/two", "a/two"]


# Notebooks run a second time: what they leave behind is compared, byte for byte

WRITE = "import os\nPath('data').mkdir()\nPath('data/it.csv').write_text(str(os.%s))\nNone"
#: Code of a notebook, and its files that differ in a second run, with two threads.
REPEATED = {
    "same": ("number**2", []),
    "process": ("import os\nos.getpid()", ["notebook.ipynb"]),
    "threads": ("import os\nint(os.environ['NUMBA_NUM_THREADS'])", ["notebook.ipynb"]),
    "data": (WRITE % "getpid()", ["data/it.csv"]),
    "same-data": (WRITE % "cpu_count()", []),
    "named": ("import os\nPath(os.environ['NUMBA_NUM_THREADS']).touch()\nNone", ["1", "2"]),
}


@pytest.mark.sampled
def test_what_differs_is_named_with_its_page(job):
    jobs = [job(name, code) for name, (code, _) in REPEATED.items()]
    run_jobs(jobs)
    assert repeat_jobs(jobs) == {f"part/{name}": files for name, (_, files) in REPEATED.items()}
    assert sorted(os.listdir(jobs[0].target.parent)) == sorted(REPEATED)


def test_old_result_is_refused(job):
    with pytest.raises(RuntimeError, match="one has no new result: run 'make book' first"):
        repeat_jobs([job("one")])
