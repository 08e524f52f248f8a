"""Run notebooks side by side, reuse what has not changed, and never lose a good result.

Each notebook runs in a folder of its own, written aside and moved in place whole when it has run to
its end: a failed or killed run leaves the last good result as it was. papermill executes;
processes, reuse and progress are what is left for this module.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
import nbformat
from tqdm import tqdm

from analysis.report.dependencies import result_key
from analysis.report.notebooks import Notebook, all_notebooks, profile_parameters
from analysis.report.paths import ROOT
from analysis.report.run import write_json


@dataclass(frozen=True)
class Job:
    """One notebook to run, and where its result belongs."""

    notebook: Notebook
    parameters: Mapping[str, Any]
    target: Path
    profile: str
    document: bool = True
    sources: bytes = b""
    trace: bytes = b""

    @cached_property
    def key(self) -> str:
        """Hash of all that the result depends on."""
        whose = "" if self.document else "-own"
        return result_key(self.notebook, self.parameters, self.sources + self.trace) + whose

    @property
    def up_to_date(self) -> bool:
        """Whether the result in place was made from the same inputs."""
        path = self.target / "run.json"
        return path.exists() and json.loads(path.read_text(encoding="utf-8"))["key"] == self.key


class RunFailed(RuntimeError):
    """At least one notebook failed; the others were finished and kept."""


def profile_jobs(profile: str, build: Path) -> list[Job]:
    """Return the jobs of a profile, every parameter checked."""
    values = profile_parameters(profile)
    return [
        Job(
            notebook,
            notebook.resolve(values.get(name, {})),
            build / "results" / notebook.page,
            profile,
        )
        for name, notebook in all_notebooks().items()
    ]


@contextmanager
def locked(build: Path) -> Iterator[None]:
    """Hold the build folder for one process at a time.

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
            f"another build is at work in {_shown(build)}: wait for it, or stop it"
        ) from None
    except OSError as error:
        raise RuntimeError(
            f"{_shown(build)} cannot be written: {error.strerror}; make it writable"
        ) from None
    with held:
        yield


def run(jobs: list[Job], workers: int | None = None) -> None:
    """Run what is not up to date, at most `workers` at a time, longest known time first.

    Raises
    ------
    RunFailed
        Naming the notebooks that failed; their cells and tracebacks are printed as they fail.
    ValueError
        If `workers` is not at least 1.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be an integer of at least 1, got {workers}")
    waiting = sorted((job for job in jobs if not job.up_to_date), key=_last_seconds)
    print(f"{len(jobs)} notebooks, {len(waiting)} to run", flush=True)
    failed: list[str] = []
    running: dict[subprocess.Popen[bytes], tuple[Job, Path, float]] = {}
    progress = tqdm(total=len(waiting), unit="notebook", disable=not sys.stderr.isatty())
    try:
        while waiting or running:
            while waiting and len(running) < (workers or os.cpu_count() or 1):
                job = waiting.pop()
                folder = _prepare(job)
                running[_start(folder)] = (job, folder, time.monotonic())
                progress.set_postfix_str(", ".join(j.notebook.name for j, *_ in running.values()))
            time.sleep(0.05)
            for process in [p for p in running if p.poll() is not None]:
                job, folder, started = running.pop(process)
                seconds = time.monotonic() - started
                if process.returncode == 0:
                    _move_in_place(job, folder, seconds)
                    said = f"{job.notebook.page}: {seconds:.1f} s"
                else:
                    failed.append(job.notebook.name)
                    said = f"{job.notebook.page}: FAILED in {_reason(folder)}"
                    shutil.rmtree(folder)
                progress.update()
                progress.write(said, file=sys.stdout)
                sys.stdout.flush()
    finally:
        progress.close()
        _stop(running)
    if failed:
        raise RunFailed(f"{len(failed)} of {len(jobs)} notebooks failed: {', '.join(failed)}")


def _prepare(job: Job) -> Path:
    """Write the notebook and the facts of its run into a new folder beside the target."""
    job.target.parent.mkdir(parents=True, exist_ok=True)
    for stale in job.target.parent.glob(f".{job.target.name}~*"):
        shutil.rmtree(stale)
    folder = Path(tempfile.mkdtemp(prefix=f".{job.target.name}~", dir=job.target.parent))
    defaults = job.notebook.parameters
    given = {k: v for k, v in job.parameters.items() if v != defaults[k].default}
    if job.sources:
        (folder / "sources.csv").write_bytes(job.sources)
        given["sources"] = "sources.csv"
    if job.trace:
        (folder / "trace.csv").write_bytes(job.trace)
        given["trace"] = "trace.csv"
    nbformat.write(job.notebook.content, folder / "input.ipynb")
    facts = {
        "notebook": job.notebook.page,
        "parameters": {**job.parameters, **given},
        "given": given,
        "document": job.document,
        "profile": job.profile,
        "key": job.key,
    }
    write_json(folder / "run.json", facts)
    return folder


def _start(folder: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "analysis.report.execute", str(folder)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": path},
        )


def _move_in_place(job: Job, folder: Path, seconds: float) -> None:
    (folder / "input.ipynb").unlink()
    (folder / "log.txt").unlink()
    (folder / "seconds.txt").write_text(f"{seconds:.1f}\n")
    if job.target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{job.target.name}~", dir=job.target.parent))
        job.target.rename(old / "old")
        folder.rename(job.target)
        shutil.rmtree(old)
    else:
        folder.rename(job.target)
    job.target.chmod(0o755)


def _stop(running: dict[subprocess.Popen[bytes], tuple[Job, Path, float]]) -> None:
    """End what still runs (after an interrupt) and leave nothing half-made behind."""
    for process in running:
        process.terminate()
    for process, (_, folder, _) in running.items():
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _reason(folder: Path) -> str:
    for name in ("error.txt", "log.txt"):
        path = folder / name
        if path.exists() and path.stat().st_size:
            return path.read_text(encoding="utf-8", errors="replace")
    return "its process, which said nothing"


def _last_seconds(job: Job) -> float:
    path = job.target / "seconds.txt"
    return float(path.read_text()) if path.exists() else float("inf")


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
