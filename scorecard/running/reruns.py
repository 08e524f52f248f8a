"""Reruns: a run of one notebook with a reader's own parameters, sources or trace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sized
from pathlib import Path
from typing import Any

from scorecard.running.notebooks import (
    OwnFile,
    check_together,
    file_facts,
    find_notebook,
    profile_parameters,
    read_table,
)
from scorecard.running.runner import Job
from scorecard.values import ParameterError


def rerun_job(
    name: str,
    changes: Mapping[str, Any],
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
    files: list[OwnFile] = []
    table: Sized | None = None
    for parameter, path in (("sources", sources_path), ("trace", trace_path)):
        if path:
            if parameter not in notebook.parameters:
                raise ParameterError(f"{name} takes no {parameter}: leave {parameter.upper()} out")
            files.append(OwnFile.read(parameter, path))
            if not files[-1].content.strip():
                raise ParameterError(f"{path}: the file is empty")
            table = read_table(notebook.parameters[parameter], path)
    parameters = notebook.resolve(changes, table)
    try:
        check_together(name, table, parameters | {"sources": sources_path, "trace": trace_path})
    except ValueError as error:
        own = sources_path or trace_path
        raise ValueError(f"{own}: {error}" if own else str(error)) from None
    published = notebook.resolve(profile_parameters("paper").get(name, {}))
    document = parameters == published and not files
    inputs = json.dumps([parameters, file_facts(files)], sort_keys=True).encode()
    folder = runs / f"{name}-{hashlib.sha256(inputs).hexdigest()[:10]}"
    return Job(notebook, parameters, folder / "results", "paper", document, tuple(files))
