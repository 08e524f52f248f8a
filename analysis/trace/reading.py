"""Read a trace from a CSV file with the columns source and utc, one row an item.

Rows with a defect are repaired or left out, and counted; other defects raise an error.

=====================  ==========================================================================
unparsable time        the row is left out; times are those of ISO 8601, also by week (2021-W09-1)
                       or day of the year (2021-060), at 24:00:00, with a comma, in small letters
year in the future     the row is left out (later than `now`), and so are years before 1990
no source              the row is left out; so is a source of several lines or over 200 letters
duplicate row          left out, unless `duplicates` says that equal rows are different items
another time zone      a time with an offset is converted to UTC; one without is taken as UTC
one source only        refused: there is nothing to choose
an empty file          refused, as is one without the two columns or with too few items
too many bad rows      refused if more than one in ten has to be left out (duplicates apart)
=====================  ==========================================================================

Rows are numbered as an editor shows them: the header is row 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np
import pandas as pd
from dateutil.parser import isoparse

from analysis.checks import check_choice, check_kind, shown
from analysis.ephemeral.tables import LONGEST_NAME, read_careful_csv, unfit_names
from analysis.trace.trace import Trace

EARLIEST = pd.Timestamp("1990-01-01", tz="UTC")
FEWEST = 20
"""Least number of items of a trace."""
LARGEST_SHARE = 0.1
SHOWN = 5
DUPLICATES = ("drop", "keep")
_OFFSET = r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
_TIMED = r"\d[Tt ]\d"


@dataclass(frozen=True)
class Repair:
    """A kind of repair, and the rows to which it was applied.

    Attributes
    ----------
    what : str
        What was wrong, and what was done.
    rows : tuple of int
        The rows, the header being row 1.
    """

    what: str
    rows: tuple[int, ...]

    def __str__(self) -> str:
        rows = ", ".join(map(str, self.rows[:SHOWN]))
        remainder = f" and {len(self.rows) - SHOWN} more" if len(self.rows) > SHOWN else ""
        return f"{self.what}: {len(self.rows)} (row {rows}{remainder})"


def read_trace(
    path: str | PathLike[str], *, now: str | None = None, duplicates: str = "drop"
) -> tuple[Trace, list[Repair]]:
    """Read a trace; return it with the repairs that were made.

    Parameters
    ----------
    path : path
        CSV file, UTF-8, with the columns ``source`` and ``utc`` (ISO 8601); others are ignored.
    now : str, optional
        Time after which nothing can have been published; the current time by default.
    duplicates : {"drop", "keep"}
        What to do with equal rows.

    Returns
    -------
    trace : Trace
    repairs : list of Repair
        Empty if nothing had to be done.

    Raises
    ------
    ValueError
        Naming the file and the reason.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from analysis.trace import read_trace
    >>> lines = ["source,utc", "blog,2026-01-02T08:00:00Z", "blog,2026-01-02T08:00:00Z"]
    >>> lines += [f"news,2026-01-{day:02}T10:00:00Z" for day in range(1, 31)]
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text(chr(10).join(lines))
    ...     trace, repairs = read_trace(path, now="2026-02-01")
    >>> len(trace.time), len(repairs)
    (31, 1)
    """
    check_kind("path", path, str, PathLike)
    check_choice("duplicates", duplicates, DUPLICATES)
    latest = parse_now(now)
    try:
        table = read_rows(path)
        items, repairs = repair_rows(table, latest, duplicates)
        trace = _make_trace(items, repairs, len(table))
    except (OSError, ValueError) as error:
        raise ValueError(f"path {path}: {str(error).strip()}") from None
    return trace, repairs


def parse_now(now: str | None) -> pd.Timestamp:
    """Parse a text as a time, the current one for None; raise ValueError naming `now`."""
    if now is None:
        return pd.Timestamp.now(tz="UTC")
    check_kind("now", now, str)
    try:
        stamp = pd.Timestamp(now)
    except ValueError as error:
        raise ValueError(f"now must be a time, got {shown(now)}: {error}") from None
    if stamp is pd.NaT:
        raise ValueError(f"now must be a time, got {shown(now)}")
    return stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp.tz_convert("UTC")


def read_rows(path: str | PathLike[str]) -> pd.DataFrame:
    """Read the columns source and utc as text, rows numbered as an editor shows them."""
    table = read_careful_csv(path, skip_blank_lines=False)
    for column in ("source", "utc"):
        if column not in table.columns:
            columns = ", ".join(map(str, table.columns))
            raise ValueError(
                f"column {column!r} is missing; there must be source and utc: {columns}"
            )
    if table.empty:
        raise ValueError("there are no items: the file has a header and no rows")
    table = table[["source", "utc"]].apply(lambda column: column.str.strip())
    table.index += 2  # as an editor numbers the rows
    return table[(table != "").any(axis=1)]


def repair_rows(
    table: pd.DataFrame, latest: pd.Timestamp, duplicates: str
) -> tuple[pd.DataFrame, list[Repair]]:
    """Return source and time of the rows that can be used, and what was done to others."""
    # pandas cannot represent years after 2262 in nanoseconds; they are in the future, too.
    far = table["utc"].str.match(r"[3-9]\d{3}-|2[3-9]\d{2}-")
    times = _parse_times(table["utc"].mask(far, ""))
    nameless, *unfit = unfit_names(table["source"]).values()
    bad = {
        "no source, left out": pd.Series(nameless, table.index),
        f"source of several lines or over {LONGEST_NAME} letters, left out": (
            pd.Series(np.logical_or.reduce(unfit) & ~nameless, table.index)
        ),
        "time that cannot be read, left out": times.isna() & ~far,
        f"time after {latest:%Y-%m-%d}, left out": far | (times > latest),
        f"time before {EARLIEST:%Y-%m-%d}, left out": times < EARLIEST,
    }
    left_out = np.logical_or.reduce(list(bad.values()))
    if left_out.mean() > LARGEST_SHARE:
        reasons = "; ".join(map(str, _list_repairs(bad)))
        raise ValueError(
            f"too many rows cannot be used, {left_out.sum()} of {len(table)}: {reasons}"
        )
    offset = table["utc"].str.contains(_OFFSET) & table["utc"].str.contains(_TIMED)
    moved = offset & ~table["utc"].str.contains(r"(?:[Zz]|[+-]00(?::?00)?)$") & ~left_out
    naive = ~offset & ~left_out
    applied = {**bad, "other time zone, moved to UTC": moved}
    if offset.any():  # some times have an offset; if none has, they are UTC by the column's name
        applied["no time zone, taken as UTC"] = naive
    items = pd.DataFrame({"source": table["source"], "time": times})[~left_out]
    again = items.duplicated()
    if duplicates == "drop":
        applied["duplicate, left out"] = again.reindex(table.index, fill_value=False)
        items = items[~again]
    return items, list(_list_repairs(applied))


def _make_trace(items: pd.DataFrame, repairs: list[Repair], number: int) -> Trace:
    rows = f" (of {number} rows; {'; '.join(map(str, repairs))})" if repairs else ""
    if len(items) < FEWEST:
        raise ValueError(
            f"there must be at least {FEWEST} items to estimate rates, got {len(items)}{rows}"
        )
    if items["source"].nunique() < 2:
        raise ValueError(
            f"there is one source only, {items['source'].iloc[0]!r}: nothing to choose{rows}"
        )
    return Trace.of(items["source"], items["time"])


def _parse_times(texts: pd.Series) -> pd.Series:
    """Parse times as ISO 8601 has them; NaT where a text is none."""
    times = _parse_iso(texts)
    # pandas knows the usual forms, and those fast; dateutil knows them all.
    unusual = texts[times.isna() & (texts != "")]
    return times.fillna(_parse_iso(unusual.map(_to_usual_form)))


def _parse_iso(texts: pd.Series) -> pd.Series:
    return pd.to_datetime(texts, utc=True, errors="coerce", format="ISO8601")


def _to_usual_form(text: str) -> str:
    """Return a time of ISO 8601 in its usual form, or nothing."""
    try:
        return isoparse(text).isoformat()
    except (ValueError, OverflowError):
        return ""


def _list_repairs(masks: dict[str, pd.Series]) -> Iterator[Repair]:
    for what, mask in masks.items():
        if mask.any():
            yield Repair(what, tuple(map(int, mask.index[mask.to_numpy()])))
