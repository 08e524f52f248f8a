"""Reruns: one notebook with a reader's own parameters, sources or trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analysis.report.running.notebooks import find_notebook, profile_parameters, read_table
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
    """Return the job of a rerun, with all that a reader gave checked.

    Parameters
    ----------
    name : str
        The notebook.
    given : mapping
        Its parameters, as far as they are not the notebook's own.
    sources_path, trace_path : str, optional
        Files of the reader's own.
    runs : Path
        Where reruns are kept: each in a folder that its parameters name.

    Raises
    ------
    ParameterError
        If the notebook does not take what was given.
    ValueError
        If a file cannot be read, naming the row and the reason.
    """
    notebook = find_notebook(name)
    table, content, trace = None, b"", b""
    if sources_path:
        if not notebook.takes_sources:
            raise ParameterError(f"{name} takes no sources: leave SOURCES out")
        table = read_table(sources_path, notebook.parameters["sources"].allowed)
        content = Path(sources_path).read_bytes()
    if trace_path:
        if not notebook.takes_trace:
            raise ParameterError(f"{name} takes no trace: leave TRACE out")
        trace = Path(trace_path).read_bytes()
        if not trace.strip():  # it would pass for no file at all
            raise ParameterError(f"{trace_path}: the file is empty")
    parameters = notebook.resolve(given, table)
    published = notebook.resolve(profile_parameters("paper").get(name, {}))
    document = parameters == published and not content and not trace
    said = json.dumps(parameters, sort_keys=True).encode() + content + trace
    folder = runs / f"{name}-{hashlib.sha256(said).hexdigest()[:10]}"
    return Job(notebook, parameters, folder / "results", "paper", document, content, trace)
