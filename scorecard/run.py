"""The run of a notebook: its output folder, the facts from the runner, provenance of what it saves.

The runner executes a notebook in a folder of its own, to which it sets ``BOOK_RUN_DIR``;
``run.json`` in that folder has the notebook's name, its parameters and whether they are the
documents' own. A notebook that is run "by hand", in Jupyter without the runner, writes to
``_output`` beside it.

Each figure, table and data set is saved with its provenance: page, parameters, package versions and
machine. They share one set of ids.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

VARIABLE = "BOOK_RUN_DIR"
#: Name of the variable with the documents' parameters in a portable notebook.
PARAMETERS = "DOCUMENTS_PARAMETERS"
#: Significant digits of saved numbers: more than the documents print, few enough to be the same
#: whatever the order in which a threaded library sums.
DIGITS = 9
#: Formats in which each figure is saved.
FORMATS = ("svg", "pdf", "png")
#: Parts of the names of a figure's files for narrow screens and for dark pages.
NARROW = "narrow."
DARK = "dark."


def run_folder() -> Path:
    """Return the folder of the run; it is created if it is missing."""
    folder = Path(os.environ.get(VARIABLE, "_output"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def by_hand() -> bool:
    """Whether the notebook runs without the runner, so that a cell may run twice."""
    return VARIABLE not in os.environ


def unchanged_by_hand() -> bool:
    """Whether a notebook that runs without the runner has the documents' parameters."""
    names = vars(sys.modules["__main__"])
    return all(names.get(name) == value for name, value in names.get(PARAMETERS, {}).items())


def show_by_hand(product: object) -> None:
    """Display a figure or a table in the notebook, unless the runner runs it."""
    if by_hand():
        from IPython.display import display

        display(product)


@cache
def run_facts() -> dict[str, Any]:
    """Return the content of ``run.json``; defaults without the runner."""
    path = run_folder() / "run.json"
    if by_hand() or not path.exists():
        return {"notebook": "", "parameters": {}, "document": True}
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def write_json(path: Path, content: Any, indent: int | None = 1) -> None:
    """Write JSON reproducibly to the byte; ``indent=None`` is ten times as fast."""
    options: dict[str, Any] = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False}
    text = json.dumps(content, indent=indent, **options)
    path.write_text(text + "\n", encoding="utf-8")


#: Packages whose versions may change a number or a picture.
PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "pandas")
#: Kind of each product saved in this run, by id: "figure", "table" or "data".
saved: dict[str, str] = {}
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CPU = Path("/proc/cpuinfo")


def check_id(id: str) -> None:
    """Raise ValueError if an id is malformed, or used by another product of this notebook."""
    if not _ID.fullmatch(id):
        raise ValueError(f"id must be lower-case words joined by hyphens, got {id!r}")
    if id in saved and not by_hand():
        raise ValueError(f"id {id!r} is taken: another {saved[id]} of this notebook has it")


def check_instances(id: str | None) -> None:
    """Raise ValueError if `save_data` has not saved data under an id before; None passes."""
    if id is not None and saved.get(id) != "data":
        raise ValueError(f"instances must be the id of data saved before by save_data, got {id!r}")


def write_provenance(kind: str, folder: Path, description: dict[str, Any]) -> None:
    """Write the description and provenance of a product as JSON, and register its id.

    `kind`: "figure", "table" or "data"; `folder`: folder of the product's files; `description`:
    fields particular to the product, among them its ``id``.
    """
    facts = run_facts()
    origin = {
        "notebook": facts["notebook"],
        "parameters": facts["parameters"],
        **({"files": facts["files"]} if facts.get("files") else {}),
        "versions": find_versions(),
    }
    write_json(folder / f"{description['id']}.json", {**description, **origin})
    # Kept in a separate file: the other files must be the same bytes on every machine.
    write_json(run_folder() / "machine.json", describe_machine())
    saved[description["id"]] = kind


def find_versions() -> dict[str, str]:
    """Return the versions of Python and of `PACKAGES`, of those that are installed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):  # a browser has no Numba
            versions[package] = version(package)
    return versions


def describe_machine() -> dict[str, str]:
    """Return the processor, the operating system and the number of threads of Numba."""
    names = re.findall(r"model name\s*: (.*)", _CPU.read_text()) if _CPU.exists() else []
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": os.environ.get("NUMBA_NUM_THREADS", "all"),
    }
