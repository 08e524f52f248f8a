"""Check of reproducibility: run every notebook again with two threads, and compare all files."""

from __future__ import annotations

import filecmp
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scorecard.running.kernels import COMPILATION, WARNINGS
from scorecard.running.runner import Job, run

THREADS = 2  # the first run has one
#: Files that may differ between runs: times, the machine, and warnings.
VARYING = {"seconds.txt", "cpu.txt", COMPILATION, WARNINGS, "machine.json"}


def differences(jobs: Sequence[Job]) -> dict[str, list[str]]:
    """Run jobs again in a temporary folder, and return the files of each that differ.

    `jobs`: jobs whose results are up to date. Returns names of the differing files by page. Raises
    RuntimeError if a result is not there or not up to date; RunFailed if a notebook fails.
    """
    for job in jobs:
        if not job.up_to_date:
            raise RuntimeError(f"{job.notebook.name} has no new result: run 'make book' first")
    with tempfile.TemporaryDirectory(dir=jobs[0].target.parent) as folder:
        again = [replace(job, target=Path(folder) / job.notebook.page) for job in jobs]
        run(again, threads=THREADS)
        return {
            job.notebook.page: _differing(job.target, other.target)
            for job, other in zip(jobs, again, strict=True)
        }


def _differing(first: Path, again: Path) -> list[str]:
    names = {
        path.relative_to(top).as_posix()
        for top in (first, again)
        for path in top.rglob("*")
        if path.is_file() and path.name not in VARYING
    }
    _, different, missing = filecmp.cmpfiles(first, again, names, shallow=False)
    return sorted([*different, *missing])
