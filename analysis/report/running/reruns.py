"""Reruns: a run of one notebook with a reader's own parameters, sources or trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Any

from analysis.report.running.notebooks import (
    check_table,
    find_notebook,
    profile_parameters,
    read_table,
)
from analysis.report.running.own_files import OwnFile, file_facts
from analysis.report.running.runner import Job
from analysis.report.running.values import ParameterError


def rerun_job(
    name: str,
    given: Mapping[str, Any],
    sources_path: str = "",
    trace_path: str = "",
    *,
    runs: Path,
) -> Job:
    """Return the job of a rerun, after checking the reader's input.

    `given`: parameters that differ from the notebook's defaults; `sources_path`, `trace_path`: the
    reader's own files; `runs`: parent of the reruns' folders, which are named by a hash of the
    input. Raises ParameterError if the notebook does not take what was given; ValueError if a file
    cannot be read, naming the row and the reason.
    """
    notebook = find_notebook(name)
    table: Sized | None = None
    files: list[OwnFile] = []
    if sources_path:
        if not notebook.takes_sources:
            raise ParameterError(f"{name} takes no sources: leave SOURCES out")
        table = read_table(sources_path, notebook.parameters["sources"].allowed)
        files.append(OwnFile.read("sources", sources_path))
    if trace_path:
        if not notebook.takes_trace:
            raise ParameterError(f"{name} takes no trace: leave TRACE out")
        files.append(OwnFile.read("trace", trace_path))
        if not files[-1].content.strip():
            raise ParameterError(f"{trace_path}: the file is empty")
    parameters = notebook.resolve(given, table)
    if table is not None:
        try:
            check_table(name, table, parameters)
        except ValueError as error:
            raise ValueError(f"{sources_path}: {error}") from None
    published = notebook.resolve(profile_parameters("paper").get(name, {}))
    document = parameters == published and not files
    said = json.dumps([parameters, file_facts(files)], sort_keys=True).encode()
    folder = runs / f"{name}-{hashlib.sha256(said).hexdigest()[:10]}"
    return Job(notebook, parameters, folder / "results", "paper", document, tuple(files))
