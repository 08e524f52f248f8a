"""Pages rerun at random points of their ranges, on demand: ``RANDOM_RERUNS=7 pytest -m rerun``.

One round draws a point of each page, runs it, and renders all of them to one site. A notebook that
does not run has to say which parameter is at fault, and a page that is made has to be finished, as
`finished.faults` says. The seed is printed; ``RANDOM_SEED`` repeats it, ``RANDOM_PAGES`` names the
pages that are drawn.
"""

import json
import os
import re
import secrets
import shutil
import time
from threading import Event, Thread

import numpy as np
import psutil
import pytest
from bs4 import BeautifulSoup

from scorecard.collate import collate
from scorecard.files import BUILD
from scorecard.render import render_runs
from scorecard.running import runner
from scorecard.running.notebooks import all_notebooks
from scorecard.running.runner import Kernels, make_rerun_job
from scorecard.values import ParameterError
from tests.book.finished import faults
from tests.book.random_points import draw_point

ROUNDS = int(os.environ.get("RANDOM_RERUNS", "0"))
SEED = int(os.environ.get("RANDOM_SEED", secrets.randbits(32)))
PAGES = os.environ.get("RANDOM_PAGES", "").split() or list(all_notebooks())
#: CPU-seconds that one notebook may take before it is stopped: the load of the machine adds none.
CPU_SECONDS = 300
#: Seconds after which a notebook counts as hanging: far more than it needs on a busy machine.
HANGING = 3600
FOLDER = BUILD / "random"

pytestmark = [
    pytest.mark.rerun,
    pytest.mark.skipif(not ROUNDS, reason="RANDOM_RERUNS says how many points of each page"),
]


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_round_of_random_reruns(number):
    build = FOLDER / f"{SEED}-{number}"
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    jobs, wrong, refused = {}, [], []
    for place, (name, notebook) in enumerate(all_notebooks().items()):
        if name not in PAGES:
            continue
        point = draw_point(notebook, np.random.default_rng([SEED, number, place]), build)
        said = json.dumps(point)
        try:
            job = make_rerun_job(
                name, point["parameters"], point.get("sources", ""), point.get("trace", ""),
                runs=build / "runs",
            )  # fmt: skip
        except (ParameterError, ValueError) as error:
            refused.append(f"{name}: {error}\n   {said}")
            continue
        if not (reason := executed(job)):
            jobs[name] = job, said
        elif names_a_parameter(reason, notebook):
            refused.append(f"{name}: {reason.splitlines()[0]}\n   {said}")
        else:
            wrong.append(f"{name}: {reason[-1500:]}\n   {said}")
    targets = [job.target for job, _ in jobs.values()]
    found = collate(targets, profile="paper", document=False, complete=False)
    pages = render_runs(found, build, BUILD / "quick" / "html")
    for (name, (_, said)), path in zip(jobs.items(), pages, strict=True):
        soup = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
        if lines := faults(soup.select_one("article")):
            wrong.append("\n".join([f"{name}: {path}", *lines, f"   {said}"]))
    report = [f"seed {SEED}, round {number}: {len(pages)} pages, {len(refused)} refused", *refused]
    print("\n".join([*report, *wrong]), flush=True)
    assert wrong == []


def executed(job):
    """Run one notebook, and return why it failed, if it did."""
    kernels, ended = Kernels(), Event()
    watch = Thread(target=stop_when_too_long, args=(kernels, ended))
    watch.start()
    try:
        return runner._run_job(job, kernels)
    finally:
        ended.set()
        watch.join()


def stop_when_too_long(kernels, ended):
    """End a notebook's kernel once it has taken its CPU-seconds, or hangs."""
    begin = time.monotonic()
    while not ended.wait(1):
        taken = sum(cpu_seconds(warm.pid) for warm in kernels.started if warm.pid)
        if taken > CPU_SECONDS or time.monotonic() - begin > HANGING:
            kernels.stop()


def cpu_seconds(pid):
    """CPU-seconds of a process and of all that it has started; 0 if it has ended."""
    try:
        process = psutil.Process(pid)
        times = [p.cpu_times() for p in (process, *process.children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(t.user + t.system + t.children_user + t.children_system for t in times)


def names_a_parameter(reason, notebook):
    """Whether an error is one sentence that names a parameter of the page and its value."""
    kind = re.match(r"cell \d+: (ValueError|NotConverged): (?P<said>.*)", reason)
    return bool(kind) and any(re.search(rf"\b{n}\b", kind["said"]) for n in notebook.parameters)
