"""A trace of publications: the source and the time of each item.

Times are whole seconds since the trace's origin, so that comparisons of times are exact.
`publications` loads the traces that the package ships, in its folder ``data``;
`analysis.trace.reading` reads a trace from a CSV file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import check_choice, check_integers, check_kind, set_fields
from analysis.display import brief

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
