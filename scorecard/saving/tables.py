"""`save_table` for the book's numbered tables, `save_data` for the raw results of experiments.

A table has few rows, formatted for reading, with all digits in its CSV. Data are one tidy CSV, one
row an instance, with a description of each column.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from scorecard.run import (
    DIGITS,
    check_id,
    check_instances,
    run_folder,
    show_by_hand,
    write_provenance,
)
from scorecard.text import encode_csv, escape_cell

#: Default format of floating-point numbers.
_PLAIN = ".6g"
#: Text of a cell without a value.
NONE = "–"


def save_table(
    id: str,
    frame: pd.DataFrame,
    caption: str,
    *,
    formats: Mapping[str, str] | str | None = None,
    labels: Mapping[str, str] | None = None,
    instances: str | None = None,
) -> None:
    """Save a table with its data, caption and provenance; outside the runner, display it too.

    A page shows it with the directive of the same id::

        save_table("page-what", frame, "One message.", formats=".3f")

        ```{repro-table} page-what
        ```

    Parameters
    ----------
    id : str
        Permanent id, unique among figures, tables and data of the book: lower-case words joined by
        hyphens, by custom the page's name first.
    frame : pandas.DataFrame
        The rows. The levels of a named index become row headers; an index without a name must be a
        RangeIndex, and is left out.
    caption : str
        One message, in Markdown without directives; true of the parameters of this run.
    formats : str or mapping of column to str, optional
        Format specifications such as ``".3f"``: one for all floating-point columns, or one a
        column. Default: six significant digits. The CSV has all digits.
    labels : mapping of column (or index level) to str, optional
        Column headings in Markdown, with units; default: the column's name.
    instances : str, optional
        Id of the instance-level results behind it, which `save_data` saved before.

    Raises
    ------
    ValueError
        If the id is malformed or taken, the caption or the frame is empty, column names are not
        unique texts, or formats, labels or instances name a column or data that do not exist.
    """
    check_id(id)
    check_instances(instances)
    flat, names, heads = _with_index_as_columns(id, frame)
    if not caption.strip():
        raise ValueError(f"caption of the table {id!r} must not be empty")
    column_formats: Mapping[str, str] = formats if isinstance(formats, Mapping) else {}
    for name, mapping in {"formats": column_formats, "labels": labels or {}}.items():
        if unknown := sorted(set(mapping) - set(names)):
            raise ValueError(f"{name} must name columns of the table {id!r}, got {unknown}")
    every = formats if isinstance(formats, str) else _PLAIN
    folder = run_folder() / "tables"
    write_csv(flat, folder / f"{id}.csv")
    columns = [
        [_cell_text(v, column_formats.get(name, ""), every) for v in flat[name]] for name in names
    ]
    description = {
        "id": id,
        "caption": " ".join(caption.split()),
        "header": [(labels or {}).get(name, name) for name in names],
        "heads": heads,
        "numeric": [pd.api.types.is_numeric_dtype(flat[name]) for name in names],
        "rows": [list(row) for row in zip(*columns, strict=True)],
        "instances": instances,
    }
    write_provenance("table", folder, description)
    show_by_hand(frame)


def save_data(id: str, frame: pd.DataFrame, description: str, columns: Mapping[str, str]) -> None:
    """Save the instance-level results of an experiment as one tidy CSV.

    A figure or table links to them by ``instances="page-instances"``::

        save_data(
            "page-instances",
            frame,
            "One row a random instance and policy.",
            {"instance": "number of the instance", "loss": "loss against the optimum, in %"},
        )

    Parameters
    ----------
    id : str
        Permanent id, unique among figures, tables and data of the book.
    frame : pandas.DataFrame
        One row an instance (or replication, or epoch), one column a variable; no index is kept.
    description : str
        What one row is, and of which experiment, in one plain sentence.
    columns : mapping of column to str
        What each column holds, with its unit.

    Raises
    ------
    ValueError
        If the id is malformed or taken, the frame or the description is empty, or a column is not
        described.
    """
    check_id(id)
    flat, names, _ = _with_index_as_columns(id, frame)
    if not description.strip():
        raise ValueError(f"description of the data {id!r} must not be empty")
    if names != list(columns) or not all(text.strip() for text in columns.values()):
        raise ValueError(
            f"columns of the data {id!r} must describe {names} in this order, got {dict(columns)}"
        )
    folder = run_folder() / "data"
    write_csv(flat, folder / f"{id}.csv")
    explained = [{"name": name, "description": text} for name, text in columns.items()]
    text = " ".join(description.split())
    write_provenance(
        "data",
        folder,
        {"id": id, "description": text, "columns": explained, "count": len(flat)},
    )


def _with_index_as_columns(id: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str], int]:
    """Return the frame with its index as columns, the column names and the number of index levels.

    An index without a name is dropped, and counts as no level.
    """
    if frame.empty:
        raise ValueError(f"frame of {id!r} must have rows and columns, got shape {frame.shape}")
    named = [name is not None for name in frame.index.names]
    if not all(named) and not isinstance(frame.index, pd.RangeIndex):
        raise ValueError(f"index of {id!r} must have a name, which heads its column")
    flat = frame.reset_index() if all(named) else frame
    if not all(isinstance(name, str) and name for name in flat) or not flat.columns.is_unique:
        raise ValueError(f"columns of {id!r} must have one name each, got {list(flat)}")
    return flat, [str(name) for name in flat], frame.index.nlevels if all(named) else 0


def _cell_text(value: Any, style: str, every: str) -> str:
    """Format a cell: with `style` if it is given, else floats with the format `every`."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return NONE
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return format(int(value), style or "d")
    if isinstance(value, (float, np.floating)):
        text = format(float(value), style or every)
        # Zero has no sign; the letters keep that of -nan and -inf.
        return text.lstrip("-") if not any(c in "123456789ni" for c in text) else text
    return str(value)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as CSV with `DIGITS` significant digits, reproducibly to the byte.

    `escape_cell` escapes texts that a spreadsheet would read as formulas.
    """
    path.parent.mkdir(exist_ok=True)
    safe = frame.apply(
        lambda column: column if is_numeric_dtype(column) else column.map(escape_cell)
    )
    safe.columns = [escape_cell(name) for name in frame.columns]
    text = safe.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
    path.write_bytes(encode_csv(text))
