"""The runner: executes notebooks in parallel and reuses results whose inputs have not changed.

Each notebook runs in a temporary folder, which replaces the last result when it has succeeded: a
failed or killed run does not change the last good result. papermill executes; this module does
caching, order and progress, and makes the jobs: those of a profile, and reruns with a reader's own
parameters, sources or trace.

The cache key of a result is a hash of the notebook's text, parameters, imported code and the lock
file. A change in one part of the library reruns only the notebooks that use it. Data files of an
imported package count as part of it, and so does what the documents print; of the files with the
words of verdicts only the page's own section counts.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any

import filelock
import nbformat
import papermill
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError
from tqdm import tqdm

from analysis import fingerprint
from scorecard import prints
from scorecard.files import BOOK, ROOT, display_path, raise_if_disk_full, replace_folder
from scorecard.record import write_json
from scorecard.running.kernels import WARNINGS, WarmProvisioner, kernel_environment
from scorecard.running.notebooks import (
    Notebook,
    OwnFile,
    all_notebooks,
    check_contents,
    check_together,
    describe_files,
    find_notebook,
    profile_parameters,
    read_seconds,
    read_table,
)
from scorecard.values import FILES, ParameterError

# papermill warns of parameter lines that it cannot parse; `notebooks` has checked them.
logging.getLogger("papermill").setLevel(logging.ERROR)

#: Number of times that a kernel is started while other processes take its ports.
STARTS = 3
NO_KERNEL, PORT_TAKEN = "its kernel:", "Address already in use"


@dataclass
class Kernels:
    """The kernels of a build; each thread of the runner executes one notebook at a time."""

    memory: float | None = None  # limit of the address space of each kernel, in GiB
    threads: int = 1  # number of threads of each kernel
    started: list[WarmProvisioner] = field(default_factory=list)
    stopped: Event = field(default_factory=Event)

    def execute(self, folder: Path) -> str:
        """Execute the notebook prepared in a folder: ``input.ipynb``, with ``run.json`` beside it.

        It writes ``notebook.ipynb``, without timestamps so that runs of the same inputs give the
        same bytes, and ``cpu.txt``, the CPU-seconds of the kernel.

        Returns the error, with the cell and the traceback; empty on success. A kernel whose port
        another process has taken since it was chosen is started again.
        """
        for _ in range(STARTS):
            error = self._execute_once(folder)
            if not (error.startswith(NO_KERNEL) and PORT_TAKEN in error):
                break
        return error

    def _execute_once(self, folder: Path) -> str:
        parameters = json.loads((folder / "run.json").read_text(encoding="utf-8"))["given"]
        manager = AsyncKernelManager(kernel_name="python3")
        warm = WarmProvisioner(parent=manager, kernel_spec=manager.kernel_spec)
        manager.provisioner = warm
        # Kernel output goes to the folder for temporary files: the disk of the build may be full.
        with tempfile.NamedTemporaryFile() as log:
            start: Any = manager.start_kernel(
                cwd=str(folder),
                env=kernel_environment(self.threads),
                memory=self.memory,
                log=log.name,
            )
            asyncio.run(start)
            self.started.append(warm)
            try:
                if self.stopped.is_set():
                    return "interrupted"
                notebook = papermill.execute_notebook(
                    folder / "input.ipynb",
                    None,
                    parameters=parameters,
                    km=manager,
                    kernel_name="python3",
                    progress_bar=False,
                    log_output=False,
                    request_save_on_cell_execute=False,
                )
                (folder / "cpu.txt").write_text(f"{warm.seconds():.1f}\n")
            except PapermillExecutionError as error:
                trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
                return f"cell {error.cell_index}: {error.ename}: {error.evalue}\n{trace}"
            except (DeadKernelError, RuntimeError) as error:
                output = Path(log.name).read_text().strip()
                return "\n".join(filter(None, [f"{NO_KERNEL} {error}", output]))
            finally:
                # Send no shutdown request to a kernel that has ended: its sockets may be closed.
                ended = warm.process is None or warm.process.poll() is not None
                ending: Any = manager.shutdown_kernel(now=ended)
                asyncio.run(ending)
        _strip_timestamps(notebook)
        nbformat.write(notebook, folder / "notebook.ipynb")
        if not (folder / WARNINGS).stat().st_size:
            (folder / WARNINGS).unlink()
        return ""

    def stop(self) -> None:
        """Kill the running kernels; the waiting threads then fail and remove their folders."""
        self.stopped.set()
        for warm in self.started:
            if warm.process is not None:
                warm.process.kill()


def _strip_timestamps(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.pop("papermill", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"


def compute_result_key(
    notebook: Notebook, parameters: Mapping[str, Any], files: Sequence[OwnFile] = ()
) -> str:
    """Return the cache key: a hash that changes whenever the result may change."""
    code = "\n".join(c.source for c in notebook.content.cells if c.cell_type == "code")
    digest = hashlib.sha256()
    for content in (
        notebook.path.read_bytes(),
        json.dumps(parameters, sort_keys=True).encode(),
        json.dumps(describe_files(files), sort_keys=True).encode(),
        (ROOT / "requirements.lock").read_bytes(),
    ):
        digest.update(hashlib.sha256(content).digest())
    names = find_imported_names(code)
    digest.update(fingerprint.fingerprint(names).encode())
    for path in sorted({*_find_data_files(fingerprint.modules_behind(names)), *prints.list_rows()}):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def find_imported_names(code: str) -> set[str]:
    """Return the dotted names below the packages that a notebook's code imports."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in fingerprint.PACKAGES}


def _find_data_files(modules: Iterable[str]) -> Iterator[Path]:
    """Yield the data files of the packages among some modules; texts of other pages are none."""
    for module in modules:
        if module.split(".")[0] == BOOK.name:
            continue
        file = fingerprint.source_file(module)
        if file.name == "__init__.py":
            yield from _list_data_files(file.parent)


def _list_data_files(folder: Path) -> Iterator[Path]:
    """Yield the data files of a package, without those of its subpackages."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in {".py", ".pyc", ".pyi", ".md"}:
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _list_data_files(path)


@dataclass(frozen=True)
class Job:
    """One notebook to run, with its parameters and the folder of its result."""

    notebook: Notebook
    parameters: Mapping[str, Any]
    target: Path
    profile: str
    document: bool = True
    files: tuple[OwnFile, ...] = ()

    @cached_property
    def key(self) -> str:
        """Cache key of the result."""
        suffix = "" if self.document else "-own"
        return compute_result_key(self.notebook, self.parameters, self.files) + suffix

    @property
    def up_to_date(self) -> bool:
        """Whether there is a complete result with the same cache key."""
        path = self.target / "run.json"
        is_complete = path.exists() and (self.target / "cpu.txt").exists()
        return is_complete and json.loads(path.read_text(encoding="utf-8"))["key"] == self.key

    @property
    def expected_seconds(self) -> float | None:
        """Seconds of the last run here; else the recorded CPU-seconds; else None."""
        path = self.target / "seconds.txt"
        if path.exists():
            return float(path.read_text())
        return read_seconds(self.profile, self.notebook.name)


class RunFailed(RuntimeError):
    """At least one notebook failed; the results of the others are kept."""


def make_jobs(profile: str, build: Path) -> list[Job]:
    """Return the jobs of a profile, after checking every parameter.

    Raises ValueError if a page is missing from the table of contents; ParameterError if the
    profile has an unknown parameter, or one out of range.
    """
    check_contents()
    values = profile_parameters(profile)
    results = build / "results"
    return [
        Job(notebook, notebook.resolve(values.get(name, {})), results / notebook.page, profile)
        for name, notebook in all_notebooks().items()
    ]


@contextmanager
def lock_build(build: Path) -> Iterator[None]:
    """Lock the build folder for this process; remove it at the end if it is empty.

    Raises RuntimeError if another process holds it, or the folder cannot be written.
    """
    try:
        build.mkdir(parents=True, exist_ok=True)
        held = filelock.FileLock(build / ".lock", timeout=0).acquire()
    except filelock.Timeout:
        raise RuntimeError(
            f"another build is running in {display_path(build)}: wait for it, or stop it"
        ) from None
    except OSError as error:
        raise RuntimeError(
            f"{display_path(build)} cannot be written: {error.strerror}; make it writable"
        ) from None
    with held:
        try:
            yield
        finally:
            if list(build.iterdir()) == [build / ".lock"]:
                shutil.rmtree(build)


def run_jobs(
    jobs: list[Job],
    workers: int | None = None,
    memory: float | None = None,
    *,
    threads: int = 1,
) -> None:
    """Run the jobs that are not up to date, in the order of `order_jobs`.

    `workers`: number of notebooks at a time; by default the number of cores; `memory`: limit of
    the address space of each notebook, in GiB; no limit by default; `threads`: threads of each
    notebook's kernel. Raises RunFailed naming the notebooks that failed; their errors are printed
    when they fail; ValueError if `workers` is not at least 1, or `memory` is not positive.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be an integer of at least 1, got {workers}")
    if memory is not None and not memory > 0:
        raise ValueError(f"memory must be a number of GiB above 0, got {memory}")
    workers = workers or os.cpu_count() or 1
    for job in jobs:
        for stale in job.target.parent.glob(f".{job.target.name}~*"):  # of a build that was killed
            shutil.rmtree(stale)
    waiting = order_jobs([job for job in jobs if not job.up_to_date])
    print(
        f"{len(jobs)} notebooks, {len(waiting)} to run{_estimate_time(waiting, workers)}",
        flush=True,
    )
    failed: list[str] = []
    kernels = Kernels(memory, threads)
    with (
        ThreadPoolExecutor(workers) as pool,
        tqdm(total=len(waiting), unit="notebook", disable=not sys.stderr.isatty()) as progress,
    ):
        running = {pool.submit(_run_job, job, kernels): job for job in waiting}
        try:
            for number, future in enumerate(as_completed(running), start=1):
                job, reason = running[future], future.result()
                if reason:
                    failed.append(job.notebook.name)
                    outcome = f"FAILED in {reason}"
                else:
                    outcome = f"{job.expected_seconds:.1f} s"
                    if (warned := job.target / WARNINGS).exists():
                        outcome += f", with warnings: {display_path(warned)}"
                unfinished = [other for future, other in running.items() if not future.done()]
                progress.update()
                line = f"[{number} of {len(waiting)}] {job.notebook.page}: {outcome}"
                progress.write(line + _estimate_time(unfinished, workers, " left"), file=sys.stdout)
                sys.stdout.flush()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.stop()
    if failed:
        raise RunFailed(f"{len(failed)} of {len(jobs)} notebooks failed: {', '.join(failed)}")


def order_jobs(jobs: list[Job]) -> list[Job]:
    """Return jobs in starting order: the longest of each part, then the second longest, and so on.

    Long jobs start early. Pages of one part share Numba kernels: if two started at the same time
    with an empty cache, both would compile them.
    """
    longest = sorted(jobs, key=lambda job: job.expected_seconds or float("inf"), reverse=True)
    started: Counter[str] = Counter()

    def place_in_part(job: Job) -> int:
        part_name = job.notebook.page.split("/")[0]
        started[part_name] += 1
        return started[part_name]

    return sorted(longest, key=place_in_part)


def _estimate_time(jobs: list[Job], workers: int, suffix: str = "") -> str:
    """Return a phrase with the estimated time of the jobs; empty if no time is known."""
    seconds_each = [job.expected_seconds or 0.0 for job in jobs]
    seconds = max([sum(seconds_each) / workers, *seconds_each])
    if not seconds:
        return ""
    text = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f", about {text}{suffix}"


def _run_job(job: Job, kernels: Kernels) -> str:
    """Run one notebook and put its result in place; return the error, or an empty string."""
    job.target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{job.target.name}~", dir=job.target.parent, ignore_cleanup_errors=True
    ) as name:
        folder = Path(name)
        _prepare(job, folder)
        started = time.monotonic()
        if reason := kernels.execute(folder):
            raise_if_disk_full(reason, job.target)
            return reason
        (folder / "input.ipynb").unlink()
        (folder / "seconds.txt").write_text(f"{time.monotonic() - started:.1f}\n")
        folder.chmod(0o755)
        replace_folder(folder, job.target)
        return ""


def _prepare(job: Job, folder: Path) -> None:
    """Write the notebook, the reader's files and ``run.json`` to a folder."""
    defaults = job.notebook.parameters
    changed = {k: v for k, v in job.parameters.items() if v != defaults[k].default}
    for file in job.files:
        (folder / file.shipped).write_bytes(file.content)
        changed[file.parameter] = file.shipped
    nbformat.write(job.notebook.content, folder / "input.ipynb")
    facts = {
        "notebook": job.notebook.page,
        "parameters": {**job.parameters, **changed},
        "given": changed,
        "document": job.document,
        "profile": job.profile,
        "key": job.key,
        "files": describe_files(job.files),
    }
    write_json(folder / "run.json", facts)


def make_rerun_job(
    name: str,
    changes: Mapping[str, Any],
    sources_path: str = "",
    trace_path: str = "",
    signals_path: str = "",
    *,
    runs: Path,
) -> Job:
    """Return the job of a rerun, after checking the reader's input.

    `changes`: parameters that differ from the notebook's defaults; `sources_path`, `trace_path`,
    `signals_path`: the reader's own files; `runs`: parent of the reruns' folders, which are named
    by a hash of the input. Raises ParameterError if the notebook does not take what was given;
    ValueError if a file cannot be read, naming the row and the reason.
    """
    notebook = find_notebook(name)
    files: list[OwnFile] = []
    table: Sized | None = None
    own = dict(zip(FILES, (sources_path, trace_path, signals_path), strict=True))
    for parameter, path in own.items():
        if path:
            if parameter not in notebook.parameters:
                raise ParameterError(f"{name} takes no {parameter}: leave {parameter.upper()} out")
            files.append(OwnFile.read(parameter, path))
            if not files[-1].content.strip():
                raise ParameterError(f"{path}: the file is empty")
            if parameter != "signals":  # which mean nothing without their sources
                table = read_table(notebook.parameters[parameter], path)
    if len({file.shipped for file in files}) < len(files):  # both lie beside the notebook
        names = " and ".join(file.parameter for file in files)
        raise ParameterError(f"{names} must be files of different names, got {files[0].name} twice")
    parameters = notebook.resolve(changes, table)
    try:
        check_together(name, table, parameters | own)
    except ValueError as error:
        path = sources_path or trace_path
        raise ValueError(f"{path}: {error}" if path else str(error)) from None
    published = notebook.resolve(profile_parameters("paper").get(name, {}))
    document = parameters == published and not files
    inputs = json.dumps([parameters, describe_files(files)], sort_keys=True).encode()
    folder = runs / f"{name}-{hashlib.sha256(inputs).hexdigest()[:10]}"
    return Job(notebook, parameters, folder / "results", "paper", document, tuple(files))
