"""The folder that a notebook's run writes to, and what the runner said of that run.

The runner executes a notebook in a folder of its own and sets ``BOOK_RUN_DIR``; ``run.json`` there
holds the notebook's name, its parameters and whether they are the documents' own. A notebook opened
by hand in Jupyter writes to ``_output`` beside it.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "BOOK_RUN_DIR"
#: In a notebook that readers took with them, the name of the parameters that the documents have.
PARAMETERS = "DOCUMENTS_PARAMETERS"
#: Significant digits that records and the data behind figures keep: more than a document prints,
#: fewer than a threaded library, which sums in an order of its own, repeats.
DIGITS = 9
#: Formats in which each figure is saved.
FORMATS = ("svg", "pdf", "png")
#: How the name of a figure's file for telephones ends.
NARROW = "narrow.svg"


def run_folder() -> Path:
    """Return the folder of the run, which is created where it is missing."""
    folder = Path(os.environ.get(VARIABLE, "_output"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def by_hand() -> bool:
    """Whether the notebook was opened by hand, where a cell may run twice."""
    return VARIABLE not in os.environ


def unchanged_by_hand() -> bool:
    """Whether a notebook that was opened by hand has the documents' parameters."""
    names = vars(sys.modules["__main__"])
    return all(names.get(name) == value for name, value in names.get(PARAMETERS, {}).items())


def show_by_hand(shown: object) -> None:
    """Show a figure or a table in a notebook that was opened by hand; a run's pages read files."""
    if by_hand():
        from IPython.display import display

        display(shown)


@cache
def run_facts() -> dict[str, Any]:
    """Return what the runner wrote of this run; nothing where the notebook was opened by hand."""
    path = run_folder() / "run.json"
    if by_hand() or not path.exists():
        return {"notebook": "", "parameters": {}, "document": True}
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def write_json(path: Path, content: Any, indent: int | None = 1) -> None:
    """Write JSON that is the same bytes for the same content; in one line it takes a tenth."""
    options: dict[str, Any] = {"sort_keys": True, "ensure_ascii": False, "allow_nan": False}
    text = json.dumps(content, indent=indent, **options)
    path.write_text(text + "\n", encoding="utf-8")
