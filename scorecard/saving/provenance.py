"""Provenance of what a notebook saves: page, parameters, package versions and machine.

Figures, tables and data share one set of ids.
"""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from scorecard.run import DIGITS, by_hand, run_facts, run_folder, write_json
from scorecard.text import escape_cell

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
        "versions": {p: version(p) for p in PACKAGES} | {"python": platform.python_version()},
    }
    write_json(folder / f"{description['id']}.json", {**description, **origin})
    # Kept in a separate file: the other files must be the same bytes on every machine.
    write_json(run_folder() / "machine.json", machine())
    saved[description["id"]] = kind


def machine() -> dict[str, str]:
    """Return the processor, the operating system and the number of threads of Numba."""
    names = re.findall(r"model name\s*: (.*)", _CPU.read_text()) if _CPU.exists() else []
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": os.environ.get("NUMBA_NUM_THREADS", "all"),
    }


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as CSV with `DIGITS` significant digits, reproducibly to the byte.

    `escape_cell` escapes texts that a spreadsheet would read as formulas.
    """
    path.parent.mkdir(exist_ok=True)
    safe = frame.apply(
        lambda column: column if is_numeric_dtype(column) else column.map(escape_cell)
    )
    safe.columns = [escape_cell(name) for name in frame.columns]
    safe.to_csv(path, index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
