"""Run notebooks side by side, reuse what has not changed, and never lose a good result.

Each notebook runs in a folder of its own, written aside and moved in place whole when it has run to
its end: a failed or killed run leaves the last good result as it was. papermill executes; reuse,
order and progress are what is left for this module.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
import nbformat
from tqdm import tqdm

from analysis.report.files import raise_if_full, replace_folder, shown
from analysis.report.run import write_json
from analysis.report.running.dependencies import result_key
from analysis.report.running.execute import Kernels
from analysis.report.running.kernels import WARNINGS
from analysis.report.running.known import known_seconds
from analysis.report.running.notebooks import (
    Notebook,
    all_notebooks,
    check_contents,
    profile_parameters,
)
from analysis.report.running.own_files import OwnFile, file_facts


@dataclass(frozen=True)
class Job:
    """One notebook to run, and where its result belongs."""

    notebook: Notebook
    parameters: Mapping[str, Any]
    target: Path
    profile: str
    document: bool = True
    files: tuple[OwnFile, ...] = ()

    @cached_property
    def key(self) -> str:
        """Hash of all that the result depends on."""
        whose = "" if self.document else "-own"
        return result_key(self.notebook, self.parameters, self.files) + whose

    @property
    def up_to_date(self) -> bool:
        """Whether the result in place is whole and was made from the same inputs."""
        path = self.target / "run.json"
        there = path.exists() and (self.target / "cpu.txt").exists()
        return there and json.loads(path.read_text(encoding="utf-8"))["key"] == self.key

    @property
    def expected_seconds(self) -> float | None:
        """How long it took when it last ran here; else the CPU-seconds that the book knows of."""
        path = self.target / "seconds.txt"
        if path.exists():
            return float(path.read_text())
        return known_seconds(self.profile, self.notebook.name)


class RunFailed(RuntimeError):
    """At least one notebook failed; the others were finished and kept."""


def profile_jobs(profile: str, build: Path) -> list[Job]:
    """Return the jobs of a profile, every parameter checked.

    Raises
    ------
    ValueError
        If a page is not in the contents of the book.
    ParameterError
        If the profile gives a notebook what it does not take.
    """
    check_contents()
    values = profile_parameters(profile)
    results = build / "results"
    return [
        Job(notebook, notebook.resolve(values.get(name, {})), results / notebook.page, profile)
        for name, notebook in all_notebooks().items()
    ]


@contextmanager
def locked(build: Path) -> Iterator[None]:
    """Hold the build folder for one process at a time; one in which nothing was left is removed.

    Raises
    ------
    RuntimeError
        If another process holds it, or the folder cannot be written.
    """
    try:
        build.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(build / ".lock", timeout=0).acquire()
    except filelock.Timeout:
        raise RuntimeError(
            f"another build is at work in {shown(build)}: wait for it, or stop it"
        ) from None
    except OSError as error:
        raise RuntimeError(
            f"{shown(build)} cannot be written: {error.strerror}; make it writable"
        ) from None
    with held:
        try:
            yield
        finally:
            if list(build.iterdir()) == [build / ".lock"]:
                shutil.rmtree(build)


def run(
    jobs: list[Job],
    workers: int | None = None,
    memory: float | None = None,
    *,
    threads: int = 1,
) -> None:
    """Run what is not up to date, at most `workers` at a time, in the order of `in_turn`.

    Parameters
    ----------
    jobs : list of Job
        The notebooks.
    workers : int, optional
        Notebooks at a time; one a core by default.
    memory : float, optional
        GiB of address space that each notebook may take; no limit by default.
    threads : int
        Threads of each notebook's kernel.

    Raises
    ------
    RunFailed
        Naming the notebooks that failed; their cells and tracebacks are printed as they fail.
    ValueError
        If `workers` is not at least 1, or `memory` is not positive.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be an integer of at least 1, got {workers}")
    if memory is not None and not memory > 0:
        raise ValueError(f"memory must be a number of GiB above 0, got {memory}")
    workers = workers or os.cpu_count() or 1
    for job in jobs:
        for stale in job.target.parent.glob(f".{job.target.name}~*"):  # of a build that was killed
            shutil.rmtree(stale)
    waiting = in_turn([job for job in jobs if not job.up_to_date])
    print(f"{len(jobs)} notebooks, {len(waiting)} to run{_estimate(waiting, workers)}", flush=True)
    failed: list[str] = []
    kernels = Kernels(memory, threads)
    with (
        ThreadPoolExecutor(workers) as pool,
        tqdm(total=len(waiting), unit="notebook", disable=not sys.stderr.isatty()) as progress,
    ):
        running = {pool.submit(_run, job, kernels): job for job in waiting}
        try:
            for number, future in enumerate(as_completed(running), start=1):
                job, reason = running[future], future.result()
                if reason:
                    failed.append(job.notebook.name)
                    said = f"FAILED in {reason}"
                else:
                    said = f"{job.expected_seconds:.1f} s"
                    if (warned := job.target / WARNINGS).exists():
                        said += f", with warnings: {shown(warned)}"
                left = [other for future, other in running.items() if not future.done()]
                progress.update()
                line = f"[{number} of {len(waiting)}] {job.notebook.page}: {said}"
                progress.write(line + _estimate(left, workers, " left"), file=sys.stdout)
                sys.stdout.flush()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.stop()
    if failed:
        raise RunFailed(f"{len(failed)} of {len(jobs)} notebooks failed: {', '.join(failed)}")


def in_turn(jobs: list[Job]) -> list[Job]:
    """Return jobs in the order to start them: the longest of each part, then its second, and so on.

    What takes long starts early. Pages of one part share kernels: two that started together, where
    none is compiled yet, would both compile them.
    """
    longest = sorted(jobs, key=lambda job: job.expected_seconds or float("inf"), reverse=True)
    seen: Counter[str] = Counter()
    turns: list[tuple[int, Job]] = []
    for job in longest:
        part = job.notebook.page.split("/")[0]
        turns.append((seen[part], job))
        seen[part] += 1
    return [job for _, job in sorted(turns, key=lambda turn: turn[0])]


def _estimate(jobs: list[Job], workers: int, more: str = "") -> str:
    """Return about how long the jobs will take, if they took any time before."""
    known = [job.expected_seconds or 0.0 for job in jobs]
    seconds = max([sum(known) / workers, *known])
    if not seconds:
        return ""
    text = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f", about {text}{more}"


def _run(job: Job, kernels: Kernels) -> str:
    """Run one notebook and move its result in place; return why it failed, if it did."""
    job.target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{job.target.name}~", dir=job.target.parent, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        _prepare(job, folder)
        started = time.monotonic()
        if reason := kernels.execute(folder):
            raise_if_full(reason, job.target)
            return reason
        (folder / "input.ipynb").unlink()
        (folder / "seconds.txt").write_text(f"{time.monotonic() - started:.1f}\n")
        folder.chmod(0o755)
        replace_folder(folder, job.target)
        return ""


def _prepare(job: Job, folder: Path) -> None:
    """Write the notebook and the facts of its run into a folder."""
    defaults = job.notebook.parameters
    given = {k: v for k, v in job.parameters.items() if v != defaults[k].default}
    for file in job.files:
        (folder / file.shipped).write_bytes(file.content)
        given[file.parameter] = file.shipped
    nbformat.write(job.notebook.content, folder / "input.ipynb")
    facts = {
        "notebook": job.notebook.page,
        "parameters": {**job.parameters, **given},
        "given": given,
        "document": job.document,
        "profile": job.profile,
        "key": job.key,
        "files": file_facts(job.files),
    }
    write_json(folder / "run.json", facts)
