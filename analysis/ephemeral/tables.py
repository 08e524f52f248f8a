"""Tables of sources, read by pandas and checked row by row; plain ones are read by pyarrow.

Apart from `sources`, so that the model itself needs no more than NumPy.
"""

from __future__ import annotations

import gzip
import io
import re
import unicodedata
import warnings
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.checks import MOST_BYTES, check_file

COLUMNS = ("name", "arrival_rate", "mean_utility", "decay_rate")
#: Letters that a name may have.
LONGEST_NAME = 200
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: Unicode's categories of characters that show nothing: separators, controls, formats.
_UNSEEN = {"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"}
#: What else divides columns, as spreadsheets of some countries write them.
_DIVIDERS = {";": "semicolons", "\t": "tabs"}


def columns_of(frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return the columns of numbers of a table of sources, after checking its names too.

    ValueError names the row, the column and the reason.
    """
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise ValueError(
            f"column {missing[0]!r} is missing; there must be {', '.join(COLUMNS)} and, "
            f"if crawls differ in cost, cost; found {', '.join(map(str, frame.columns)):.200}"
        )
    _check_header(frame.columns)
    if frame.empty:
        raise ValueError("there are no sources: the table has a header and no rows")
    _check_names(frame["name"])
    return {
        column: _column(frame[column], column, may_be_zero=column in COLUMNS[:3])
        for column in (*COLUMNS[1:], "cost")
        if column in frame.columns
    }


def unfit_names(names: pd.Series) -> dict[str, NDArray[np.bool_]]:
    """Return which names break each rule that a name must keep: one short line with some text."""
    texts = names.astype(str).fillna("").tolist()
    empty, controls = np.zeros((2, len(texts)), dtype=np.bool_)
    # Nearly all names are printable, which one fast call says of each.
    odd = [row for row, text in enumerate(texts) if not text.isprintable() or not text.strip()]
    for row in odd:
        empty[row] = all(unicodedata.category(letter) in _UNSEEN for letter in texts[row])
        controls[row] = _CONTROLS.search(texts[row]) is not None
    return {
        "must not be empty": empty,
        "must be one line without control characters": controls,
        f"must have at most {LONGEST_NAME} letters": (
            np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) > LONGEST_NAME
        ),
    }


def _check_names(names: pd.Series) -> None:
    """Refuse names that break a rule of `unfit_names` or occur twice, by row, name and reason."""
    trimmed = names.astype(str).str.strip()
    bad = unfit_names(names) | {"must differ from all others": trimmed.duplicated().to_numpy()}
    for reason, mask in bad.items():
        if mask.any():
            row = int(np.argmax(mask))
            raise ValueError(_about(row, "name", f"{reason}, got {names.iloc[row]!r:.80}"))


def _about(row: int, column: str, message: str) -> str:
    return f"row {row + 1} below the header, column {column!r}: {message}"


def _check_header(names: pd.Index) -> None:
    """Refuse a header that names a column twice."""
    trimmed = names.map(lambda name: str(name).strip())
    if not trimmed.is_unique:
        raise ValueError(f"column {trimmed[trimmed.duplicated()][0]!r:.80} occurs twice")


def read_careful_csv(path: str | PathLike[str], *, skip_blank_lines: bool = True) -> pd.DataFrame:
    """Read a CSV file, UTF-8 with commas, as text, so that an error can say what is wrong.

    Blank lines are left out, or else are rows without any text. ValueError if the file is empty,
    cannot be read, a column occurs twice, or a row has too many fields.
    """
    text = _decoded(_unpacked(path))
    as_text: dict[str, Any] = {"dtype": str, "keep_default_na": False, "skipinitialspace": True}
    try:
        header = pd.Index(pd.read_csv(io.StringIO(text), header=None, nrows=1, **as_text).iloc[0])
        if divider := next((d for d in _DIVIDERS if len(header) == 1 and d in header[0]), None):
            raise ValueError(
                f"the columns are divided by {_DIVIDERS[divider]}: save the file with commas "
                "between columns and points in numbers"
            )
        _check_header(header)
        with warnings.catch_warnings():
            # Without index_col=False, rows longer than the header would shift all columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text), index_col=False, skip_blank_lines=skip_blank_lines, **as_text
            )
    except pd.errors.ParserWarning:
        raise ValueError("a row has more fields than the header has names") from None
    except pd.errors.EmptyDataError:
        raise ValueError("the file is empty") from None


def _unpacked(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if it is packed by gzip.

    ValueError if the file is no regular one, is packed badly, or its content has more than
    `MOST_BYTES`.
    """
    content = Path(check_file("path", path)).read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"the file is packed by gzip and cannot be unpacked: {error}") from None
    if len(content) > MOST_BYTES:
        raise ValueError(
            f"path must be a file of at most {MOST_BYTES:,} bytes when it is unpacked, got more"
        )
    return content


def _decoded(content: bytes) -> str:
    """Return the text of a file; if it is not UTF-8, ValueError names the line and what to do."""
    advice = "save it as UTF-8 ('CSV UTF-8' in a spreadsheet)"
    if b"\0" in content:
        raise ValueError(f"the file has bytes of zero, as UTF-16 has: {advice}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise ValueError(f"line {line} has the byte 0x{byte:02x}, not UTF-8: {advice}") from None


def read_plain_csv(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a CSV file in which every column is what it should be, on all cores.

    ValueError if one is not, or a row has too few or too many fields; ModuleNotFoundError
    without pyarrow.
    """
    import pyarrow
    import pyarrow.compute
    import pyarrow.csv

    types = {"name": pyarrow.string(), **dict.fromkeys((*COLUMNS[1:], "cost"), pyarrow.float64())}
    try:
        table = pyarrow.csv.read_csv(
            pyarrow.BufferReader(_unpacked(path)),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types=types),
        )
    except OSError as error:
        raise ValueError(str(error)) from None
    trimmed = {name.strip() for name in table.column_names}
    if len(trimmed) < table.num_columns or "name" not in table.column_names:
        raise ValueError("the header has no column name, or a column twice")
    column = table.column_names.index("name")
    names = pyarrow.compute.utf8_ltrim(table.column(column), " ")
    return table.set_column(column, "name", names).to_pandas()


def _column(values: pd.Series, name: str, may_be_zero: bool) -> NDArray[np.float64]:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    allowed = np.isfinite(numbers) & ((numbers >= 0) if may_be_zero else (numbers > 0))
    if not allowed.all():
        row = int(np.argmin(allowed))
        what = "a number, 0 or more" if may_be_zero else "a number above 0"
        raise ValueError(_about(row, name, f"must be {what}, got {values.iloc[row]!r:.80}"))
    return numbers
