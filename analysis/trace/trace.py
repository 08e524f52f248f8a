"""A trace of publications: the source and the time of each item.

Times are whole seconds since the trace's origin, so that comparisons of times are exact.
`publications` loads the traces that the package ships, in its folder ``data``.

`read_trace` reads a CSV file with the columns source and utc, one row an item. Rows with a defect
are repaired or left out, and counted; other defects raise an error.

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

import gzip
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
from dateutil.parser import isoparse

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_choice, check_integers, check_kind, set_fields, shown
from analysis.display import brief
from analysis.ephemeral.tables import LONGEST_NAME, read_careful_csv, unfit_names

HOUR = 3600
DAY = 24 * HOUR
WEEK = 7 * DAY

DATA = Path(__file__).with_name("data")
SHA256 = {
    "publications": "10b1519b4feb54abc346f0d1f77b1d8bde14282b17e70dc4bae5e3903b870da2",
    "releases": "8f8710b162e4d36c4763fe7d5b179f7c797d7daae63378b993b27fa21f163485",
}
"""Of the decompressed CSV files."""
KINDS = ("upload", "commit", "both", "release")
RELEASES_SINCE = "2020-01-05"
"""A Sunday; most of the packages existed by then."""


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class Trace:
    """Publications of N sources, in order of time.

    Parameters
    ----------
    names : tuple of str, length N
        One name a source.
    origin : numpy.datetime64
        Time zero, UTC.
    source : ndarray of int, shape (n,)
        Number of the source of each item, in [0, N).
    time : ndarray of int, shape (n,)
        Seconds from the origin to each publication, in increasing order.

    Raises
    ------
    ValueError
        If the times are not in order, or a source has no name.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.trace import Trace
    >>> origin = np.datetime64("2026-01-01", "s")
    >>> trace = Trace(("news", "blog"), origin, np.array([0, 0, 1]), np.array([60, 7200, 90000]))
    >>> trace.counts(0, 86400).tolist()
    [2, 0]
    """

    names: tuple[str, ...]
    origin: np.datetime64
    source: Ints
    time: Ints

    def __post_init__(self) -> None:
        check_kind("names", self.names, list, tuple)
        check_kind("origin", self.origin, np.datetime64)
        for name in self.names:
            check_kind("names", name, str)
        set_fields(
            self,
            names=tuple(self.names),
            source=check_integers("source", self.source),
            time=check_integers("time", self.time),
        )
        if self.source.shape != self.time.shape or self.time.ndim != 1 or self.time.size == 0:
            raise ValueError(
                "source and time must have one entry an item, and at least one item; got shapes "
                f"{self.source.shape} and {self.time.shape}"
            )
        if (np.diff(self.time) < 0).any():
            raise ValueError("time must be in increasing order")
        if self.source.min() < 0 or self.source.max() >= len(self.names):
            raise ValueError(
                f"source must be in [0, N - 1], where names has N entries, {len(self.names)}"
            )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def begin(self) -> int:
        """Midnight before the first item, in seconds."""
        return int(self.time[0] // DAY * DAY)

    @property
    def end(self) -> int:
        """Midnight after the last item, in seconds."""
        return int(-(-(self.time[-1] + 1) // DAY) * DAY)

    @cached_property
    def by_source(self) -> tuple[Ints, Ints]:
        """Times sorted by source, and the index of each source's first; shapes (n,), (N + 1,)."""
        order = np.argsort(self.source, kind="stable")
        return self.time[order], np.append(0, np.cumsum(self._counted(self.source)))

    @property
    def sources_in_turn(self) -> Ints:
        """Source of each time of `by_source`, shape (n,)."""
        return np.sort(self.source)

    def _counted(self, source: Ints) -> Ints:
        """Count the occurrences of each source; NumPy takes places of its own type alone."""
        return np.bincount(source.astype(np.intp), minlength=len(self)).astype(np.int64)

    def counts(self, begin: int, end: int) -> Ints:
        """Count the items of each source published in [begin, end); shape (N,)."""
        low, high = np.searchsorted(self.time, [begin, end])
        return self._counted(self.source[low:high])

    def times_of(self, arm: int) -> Ints:
        """Return the publication times of one source."""
        time, start = self.by_source
        return time[start[arm] : start[arm + 1]]

    def second(self, date: str) -> int:
        """Return a date such as 2021-07-01, midnight UTC, in seconds from the origin."""
        return int((np.datetime64(date, "s") - self.origin) / np.timedelta64(1, "s"))

    def date(self, second: int) -> str:
        """Return the date of a second from the origin."""
        return str(self.origin + np.timedelta64(int(second), "s"))[:10]

    @classmethod
    def of(cls, names: pd.Series, times: pd.Series) -> Trace:
        """Make a trace from the source's name and the UTC time (of a datetime type) of each item.

        Sources are numbered in alphabetical order of their names.
        """
        stamps = times.dt.tz_localize(None) if times.dt.tz is not None else times
        seconds = stamps.to_numpy().astype("datetime64[s]").astype(np.int64)
        labels, source = np.unique(names.to_numpy(dtype=str), return_inverse=True)
        first = int(seconds.min() // WEEK * WEEK)
        order = np.argsort(seconds, kind="stable")
        return cls(
            tuple(map(str, labels)),
            np.datetime64(first, "s"),
            source[order].astype(np.int64),
            seconds[order] - first,
        )


def weighted_counts(cell: Ints, weight: Floats, size: int) -> Floats:
    """Sum weights by index, as `numpy.bincount` does, but as floats also for empty input."""
    return np.bincount(cell.astype(np.intp), weight, minlength=size).astype(np.float64)


def publications(kind: str = "both") -> Trace:
    """Load a trace that the book ships.

    Parameters
    ----------
    kind : {"upload", "commit", "both", "release"}
        Uploads of Debian source packages (2019 to 2023), commits of upstream projects (2009 to
        2012), or one set of both. For the latter, commits are moved by a whole number of weeks, so
        that they keep their time of the day and of the week, to begin in the week of the uploads.
        Or releases of Python packages (2020 to 2026), the second trace.

    Returns
    -------
    Trace
        Sources are named kind/source.

    Raises
    ------
    ValueError
        If the kind is unknown, or the file is not the one that the book was made with.

    Examples
    --------
    >>> len(publications().names), len(publications("release").names)
    (436, 253)
    """
    check_choice("kind", kind, KINDS)
    table = _load_table("releases" if kind == "release" else "publications")
    times = pd.to_datetime(table["utc"], utc=True)
    names = table["kind"] + "/" + table["source"]
    if kind == "both":
        first = times.groupby(table["kind"]).min().dt.floor("7D")
        moved = (times + (first["upload"] - first["commit"])).where(
            table["kind"] == "commit", times
        )
        return Trace.of(names, moved)
    chosen = table["kind"] == kind
    if kind == "release":
        chosen &= times >= pd.Timestamp(RELEASES_SINCE, tz="UTC")
    return Trace.of(names[chosen], times[chosen])


def _load_table(name: str) -> pd.DataFrame:
    content = gzip.decompress((DATA / f"{name}.csv.gz").read_bytes())
    if (digest := hashlib.sha256(content).hexdigest()) != SHA256[name]:
        raise ValueError(f"{name}.csv.gz must have sha256 {SHA256[name]}, got {digest}")
    return pd.read_csv(io.BytesIO(content))


# Traces of users' own, from CSV files

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
