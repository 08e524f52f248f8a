"""The runner, with notebooks of three lines: reuse, failure, interruption, one at a time."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.report import notebooks, runner
from analysis.report.notebooks import Notebook
from analysis.report.paths import ROOT
from analysis.report.runner import Job, RunFailed, locked, run

PAGE = """---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3, language: python}
---

# A page

```{code-cell} ipython3
:tags: [parameters]

number: int = 3  # none; any; a number
```

```{code-cell} ipython3
import json
from pathlib import Path

facts = json.loads(Path("run.json").read_text())
%s
```
"""
GOOD = "print(number, facts['document'])\nnumber**2"
BAD = "1 / (number - number)"
SLEEP = "Path('started').touch()\nimport time\ntime.sleep(120)"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a function that writes a notebook and gives the job to run it."""
    monkeypatch.setattr(notebooks, "BOOK", tmp_path / "book")

    def make(name, code=GOOD, **parameters):
        path = tmp_path / "book" / "part" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE % code)
        notebook = Notebook(path)
        target = tmp_path / "results" / "part" / name
        return Job(notebook, notebook.resolve(parameters), target, "paper")

    return make


def outputs(folder):
    cells = json.loads((folder / "notebook.ipynb").read_text())["cells"]
    texts = []
    for cell in cells:
        for output in cell.get("outputs", []):
            texts.append("".join(output.get("text", output.get("data", {}).get("text/plain", []))))
    return texts


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "seconds.txt"}


def test_good_results_are_kept_failures_are_told_and_nothing_unchanged_runs(
    job, capsys, monkeypatch
):
    """One story: two good and two failing notebooks, then the same again, then a change."""
    first, third = job("first", number=5), replace(job("third"), document=False)
    jobs = [first, job("second", BAD), third, job("dying", "import os\nos._exit(3)")]
    with pytest.raises(RunFailed) as failed:
        run(jobs, workers=2)
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
    assert outputs(first.target) == ["5 True\n", "25"]
    assert outputs(third.target) == ["3 False\n", "9"]
    assert sorted(p.name for p in first.target.parent.iterdir()) == ["first", "third"]
    kept = ["notebook.ipynb", "run.json", "seconds.txt"]
    assert sorted(p.name for p in first.target.iterdir()) == kept

    def refuse(folder):
        raise AssertionError("a notebook was run again")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "_start", refuse)
        run([first, third])
    assert "2 notebooks, 0 to run" in capsys.readouterr().out
    assert not job("first", number=6).up_to_date
    assert not job("third").up_to_date  # a reader's own result is not the document's
    assert not replace(first, sources=b"name\n").up_to_date
    assert not replace(first, trace=b"source,utc\n").up_to_date

    # Another run of the same inputs gives the same bytes.
    before = files(first.target), files(third.target)
    assert b"papermill" not in before[0]["notebook.ipynb"]
    (first.target / "run.json").unlink()
    with pytest.raises(RunFailed, match="1 of 2 notebooks failed: third"):
        run([first, replace(job("third", BAD), document=False)])
    # The failed change left the last good result of the third in place.
    assert (files(first.target), files(third.target)) == before


@pytest.mark.parametrize("workers", [0, -1])
def test_there_is_at_least_one_worker(job, workers):
    with pytest.raises(
        ValueError, match=f"workers must be an integer of at least 1, got {workers}"
    ):
        run([job("first")], workers)


# Interruption.

SCRIPT = """
import sys
from pathlib import Path
from analysis.report import notebooks
from analysis.report.notebooks import Notebook
from analysis.report.runner import Job, locked, run

folder = Path(sys.argv[1])
notebooks.BOOK = folder / "book"
notebook = Notebook(notebooks.BOOK / "part/first.md")
job = Job(notebook, notebook.resolve({}), folder / "results/part/first", "paper")
with locked(folder):
    run([job])
"""


def wait_for(condition, seconds=60):
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


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc to see processes")
def test_an_interrupt_ends_everything_and_leaves_the_last_good_result(job, tmp_path):
    good = job("first", SLEEP)
    good.target.mkdir(parents=True)
    (good.target / "run.json").write_text('{"key": "of an older notebook"}')
    before = files(good.target)
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
        with pytest.raises(RuntimeError, match="another build is at work"), locked(tmp_path):
            pass
        os.killpg(started.pid, signal.SIGINT)  # what Ctrl-C at a terminal does
        said, _ = started.communicate(timeout=60)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
    assert "KeyboardInterrupt" in said
    assert started.returncode != 0
    assert files(good.target) == before
    assert [p.name for p in good.target.parent.iterdir()] == ["first"]
    wait_for(lambda: not processes_in(tmp_path), 30)
    with locked(tmp_path):
        pass  # the lock is free again


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(RuntimeError, match="cannot be written") as refused,
        locked(tmp_path / "file" / "build"),
    ):
        pass
    assert str(tmp_path / "file" / "build") in str(refused.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable for root")
def test_a_folder_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RuntimeError, match="make it writable"), locked(tmp_path / "build"):
        pass


def test_an_error_inside_is_not_taken_for_an_unwritable_folder(tmp_path):
    with pytest.raises(FileNotFoundError), locked(tmp_path):
        raise FileNotFoundError("something else")
