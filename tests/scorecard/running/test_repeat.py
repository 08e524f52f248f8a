"""Notebooks run a second time: what they leave behind is compared, byte for byte."""

import os

import pytest

from scorecard.publishing.comparison import repeat_jobs
from scorecard.running.runner import run_jobs

pytestmark = [pytest.mark.process, pytest.mark.sampled]

WRITE = "Path('data').mkdir()\nPath('data/it.csv').write_text(str(os.%s))\nNone"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("number**2", []),
        ("import os\nos.getpid()", ["notebook.ipynb"]),
        ("import os\nint(os.environ['NUMBA_NUM_THREADS'])", ["notebook.ipynb"]),
        ("import os\n" + WRITE % "getpid()", ["data/it.csv"]),
        ("import os\n" + WRITE % "cpu_count()", []),
        ("import os\nPath(os.environ['NUMBA_NUM_THREADS']).touch()\nNone", ["1", "2"]),
    ],
)
def test_what_differs_is_named_with_its_page(job, code, names):
    jobs = [job("one", code), job("other")]
    run_jobs(jobs)
    assert repeat_jobs(jobs) == {"part/one": names, "part/other": []}
    assert sorted(os.listdir(jobs[0].target.parent)) == ["one", "other"]


def test_old_result_is_refused(job):
    with pytest.raises(RuntimeError, match="one has no new result: run 'make book' first"):
        repeat_jobs([job("one")])
