"""Tables of sources: what pandas and pyarrow read, checked row by row.

Apart from `sources`, so that the model itself needs no more than NumPy.
"""

from __future__ import annotations

import warnings
from os import PathLike, fspath

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.csv
from numpy.typing import NDArray

COLUMNS = ("name", "arrival_rate", "mean_utility", "decay_rate")


def columns_of(frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return the columns of numbers of a table of sources.

    Raises
    ------
    ValueError
        Naming the row, the column and the reason.
    """
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise ValueError(
            f"column {missing[0]!r} is missing; there must be {', '.join(COLUMNS)} and, "
            f"if crawls differ in cost, cost; found {', '.join(map(str, frame.columns))}"
        )
    if frame.empty:
        raise ValueError("there are no sources: the table has a header and no rows")
    return {
        column: _column(frame[column], column, may_be_zero=column in COLUMNS[:3])
        for column in (*COLUMNS[1:], "cost")
        if column in frame.columns
    }


def read_careful_csv(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a CSV file as text, so that what is wrong can be named.

    Raises
    ------
    ValueError
        If the file is empty, cannot be read, or a row has too many fields.
    """
    try:
        with warnings.catch_warnings():
            # Without index_col=False, rows longer than the header would shift all columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path, dtype=str, keep_default_na=False, skipinitialspace=True, index_col=False
            )
    except pd.errors.ParserWarning:
        raise ValueError("a row has more fields than the header has names") from None
    except pd.errors.EmptyDataError:
        raise ValueError("the file is empty") from None


def read_plain_csv(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a CSV file in which every column is what it should be, on all cores.

    Raises
    ------
    ValueError
        If one is not, or a row has too few or too many fields.
    """
    types = {"name": pyarrow.string(), **dict.fromkeys((*COLUMNS[1:], "cost"), pyarrow.float64())}
    try:
        table = pyarrow.csv.read_csv(
            fspath(path),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types),
        )
    except OSError as error:
        raise ValueError(str(error)) from None
    if len(set(table.column_names)) < table.num_columns or "name" not in table.column_names:
        raise ValueError("the header needs more care")
    place = table.column_names.index("name")
    trimmed = pyarrow.compute.utf8_ltrim(table.column(place), " ")
    return table.set_column(place, "name", trimmed).to_pandas()


def _column(values: pd.Series, name: str, may_be_zero: bool) -> NDArray[np.float64]:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    allowed = np.isfinite(numbers) & ((numbers >= 0) if may_be_zero else (numbers > 0))
    if not allowed.all():
        row = int(np.argmin(allowed))
        what = "a number, 0 or more" if may_be_zero else "a number above 0"
        raise ValueError(
            f"row {row + 1} below the header, column {name!r}: must be {what}, "
            f"got {values.iloc[row]!r}"
        )
    return numbers
