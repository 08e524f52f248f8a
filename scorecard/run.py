"""The output folder of a notebook's run, and the facts that the runner passes to the notebook.

The runner executes a notebook in a folder of its own, to which it sets ``BOOK_RUN_DIR``;
``run.json`` in that folder has the notebook's name, its parameters and whether they are the
documents' own. A notebook that is run "by hand", in Jupyter without the runner, writes to
``_output`` beside it.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
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
#: Suffix of a figure's file with the narrow layout, for telephones.
NARROW = "narrow.svg"


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
