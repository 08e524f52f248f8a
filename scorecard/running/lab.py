"""Copies of the notebooks for JupyterLab, in the build folder, so that no source is changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scorecard.files import child_environment
from scorecard.run import write_json

#: File with the hashes of the copies as made, to find those that the reader has changed.
COPY_HASHES = ".copies.json"


def lab_folder(build: Path) -> Path:
    """Return a folder with copies of a built book's notebooks; changed copies are not replaced.

    Raises RuntimeError if there is no book yet.
    """
    notebooks = sorted((build / "html" / "notebooks").glob("*.ipynb"))
    if not notebooks:
        raise RuntimeError("there is no book yet: run 'make book' first (PROFILE=quick is short)")
    folder = build / "lab"
    folder.mkdir(exist_ok=True)
    record = folder / COPY_HASHES
    hashes = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    for notebook in notebooks:
        copy = folder / notebook.name
        if not copy.exists() or _hash(copy) == hashes.get(notebook.name):
            shutil.copyfile(notebook, copy)
            hashes[notebook.name] = _hash(copy)
    write_json(record, hashes)
    return folder


def open_lab(build: Path, options: Sequence[str]) -> None:
    """Run JupyterLab on copies of the notebooks, with this environment's kernel, until stopped.

    Raises RuntimeError if there is no book yet, or JupyterLab could not run.
    """
    folder = lab_folder(build)
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder}", *options]
    if subprocess.run(command, env=child_environment()).returncode:
        raise RuntimeError("JupyterLab failed: see its messages above")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
