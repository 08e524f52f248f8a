"""What the notebooks left behind, as the pages of one build read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from analysis.published import printed_rows
from analysis.report.collate import DATA
from analysis.report.text import plus_minus


def results(app: Sphinx) -> dict[str, Any]:
    """Return what the notebooks left behind, as `analysis.report.collate` wrote it."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def number_text(data: Mapping[str, Any], kind: str, text: str) -> str:
    """Return a number that a page names, as it stands there.

    Parameters
    ----------
    data : mapping
        What the notebooks left behind.
    kind : str
        Role: ``printed``, ``computed``, ``value`` or ``verdict``.
    text : str
        Its id, with an optional format behind a colon. ``±2`` gives two decimals, and half of the
        interval that was saved with the number, if it has a width.

    Raises
    ------
    KeyError, ValueError or TypeError
        If there is no such number, or it cannot be written so.
    """
    id, _, style = text.partition(":")
    if kind == "printed":
        return printed_rows()[id].printed
    if kind == "verdict":
        return str(data["verdicts"][id]["verdict"])
    entry = data["records" if kind == "computed" else "values"][id]
    value = entry["value"]
    if style.startswith("±"):
        low, high = entry["interval"] or (value, value)
        return plus_minus(value, (high - low) / 2, int(style[1:]))
    if isinstance(value, list):
        return "[" + ", ".join(format(entry, style) for entry in value) + "]"
    return format(value, style)
