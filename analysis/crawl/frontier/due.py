"""Dates of the next fetch by the index, for crawlers that keep a date a source.

Apache Nutch and StormCrawler do not rank sources at every epoch; they keep the date of the next
fetch of each and fetch what is due. At a threshold theta on the index a source is due at the age

    k_i(theta) = min {k : gamma_i,k >= theta},

so its date is that of its last fetch plus k_i epochs. With the multiplier of the relaxed problem as
threshold the fetches meet the budget on average; if the dates are updated after every fetch, they
are those of the index policy under an average constraint. A source whose index at k_i equals the
multiplier is fetched by the relaxed solution sometimes at k_i and sometimes at the next longer age,
with frequency f_i in all; its interval is 1 / f_i epochs, between the two. A source that is never
due gets the longest interval.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Sized
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.checks import check_array, check_choice, check_kind, check_number
from analysis.ephemeral.relaxed import due_ages, relaxed_problem
from analysis.ephemeral.sources import Sources

LONGEST = 90 * 86_400.0
"""Default longest interval in seconds: Nutch's db.fetch.interval.max, 90 days."""
FARTHEST = 1e10
"""Limit on the distance of all dates from the present, in seconds: some three centuries."""
KINDS = ("nutch", "stormcrawler")


def due_dates(
    sources: Sources,
    urls: Sequence[str],
    ages: ArrayLike,
    now: pd.Timestamp,
    *,
    seconds: float,
    budget: float | None = None,
    threshold: float | None = None,
    longest: float = LONGEST,
) -> pd.DataFrame:
    """Return the date of the next fetch of each source at a threshold on the index.

    Parameters
    ----------
    sources : Sources
        N sources.
    urls : sequence of str
        Their URLs.
    ages : array_like, shape (N,)
        Epochs since the last fetch; not negative.
    now : pandas.Timestamp
        Date of the current epoch, with a time zone.
    seconds : float
        Length of an epoch; positive. Intervals are whole seconds, at least 1, as these crawlers
        keep them: each is rounded, which counts where epochs last a few seconds or less.
    budget : float, optional
        Fetches in an epoch: the threshold is then the multiplier of the relaxed problem, and the
        fetches meet the budget, apart from that rounding and from sources that are never due.
    threshold : float, optional
        The threshold itself, such as `Scheduler.marginal_index`, instead of the budget.
    longest : float
        Longest interval between two fetches in seconds, at most `FARTHEST`.

    Returns
    -------
    pandas.DataFrame
        url; due_age (epochs, ``inf`` for never); interval (whole seconds); next_fetch (UTC, whole
        seconds); overdue (whether that date has passed).

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> import pandas as pd
    >>> from analysis.ephemeral import four_sources
    >>> urls = [f'http://127.0.0.1/{name}' for name in range(4)]
    >>> when = pd.Timestamp('2026-01-01', tz='UTC')
    >>> dates = due_dates(four_sources(), urls, [1, 1, 1, 1], when, seconds=3600.0, budget=1.0)
    >>> list(dates.columns)
    ['url', 'due_age', 'interval', 'next_fetch', 'overdue']
    """
    check_kind("sources", sources, Sources)
    check_kind("urls", urls, Sized)
    check_kind("now", now, pd.Timestamp)
    age = check_array("ages", ages, 0)
    if age.shape != (len(sources),) or len(urls) != len(sources):
        raise ValueError(f"ages and urls must have {len(sources)} entries, one a source")
    for url in urls:
        check_kind("urls", url, str)
    if now.tzinfo is None:
        raise ValueError(f"now must have a time zone, got {now}")
    if (budget is None) == (threshold is None):
        raise ValueError("either budget or threshold must be given, and not both")
    seconds = check_number("seconds", seconds, 0, FARTHEST, low_open=True)
    longest = check_number("longest", longest, seconds, FARTHEST)
    if budget is not None:
        relaxed = relaxed_problem(sources, budget)
        with np.errstate(divide="ignore"):
            due, epochs = relaxed.age, 1.0 / relaxed.frequency
    else:
        threshold = check_number("threshold", threshold)
        due = epochs = due_ages(sources, threshold)
    interval = np.maximum(np.round(np.minimum(epochs * seconds, longest)), 1.0)
    seconds_left = np.round(np.maximum(interval - age * seconds, -FARTHEST))
    date = now.tz_convert("UTC").floor("s") + pd.to_timedelta(seconds_left, unit="s")
    columns = {"due_age": due, "interval": interval.astype(np.int64), "next_fetch": date}
    return pd.DataFrame({"url": list(urls), **columns, "overdue": seconds_left < 0})


def export(dates: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Rename what `due_dates` found to the fields of a crawler.

    Parameters
    ----------
    dates : pandas.DataFrame
        From `due_dates`.
    kind : {"nutch", "stormcrawler"}
        "nutch": url, fetchTime (ISO 8601), fetchInterval (seconds), as its crawl database has them.
        "stormcrawler": url, status, nextFetchDate (ISO 8601), as its status index has them.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd
    >>> from analysis.crawl import due_dates
    >>> from analysis.ephemeral import four_sources
    >>> urls = [f'http://127.0.0.1/{name}' for name in range(4)]
    >>> when = pd.Timestamp('2026-01-01', tz='UTC')
    >>> dates = due_dates(four_sources(), urls, [1, 1, 1, 1], when, seconds=3600.0, budget=1.0)
    >>> list(export(dates, 'nutch').columns)
    ['url', 'fetchTime', 'fetchInterval']
    """
    check_kind("dates", dates, pd.DataFrame)
    kind = check_choice("kind", kind, KINDS)
    iso = dates["next_fetch"].dt.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    if kind == "nutch":
        columns = {"fetchTime": iso, "fetchInterval": dates["interval"]}
    else:
        columns = {"status": "FETCHED", "nextFetchDate": iso}
    return pd.DataFrame({"url": dates["url"], **columns})


def write_dates(dates: pd.DataFrame, kind: str, path: str | PathLike[str]) -> None:
    """Write the dates for a crawler, as CSV (.csv) or one JSON object a line (.jsonl).

    Raises
    ------
    ValueError
        If the name of the file ends otherwise, or there is no such kind.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from analysis.crawl import due_dates, write_dates
    >>> from analysis.ephemeral import four_sources
    >>> urls = [f"http://127.0.0.1/{name}" for name in range(4)]
    >>> when = pd.Timestamp("2026-01-01", tz="UTC")
    >>> dates = due_dates(four_sources(), urls, [1, 1, 1, 1], when, seconds=3600.0, budget=1.0)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dates.csv"
    ...     write_dates(dates, "nutch", path)
    ...     header = path.read_text().splitlines()[0]
    ...
    >>> header
    'url,fetchTime,fetchInterval'
    """
    check_kind("path", path, str, PathLike)
    target, frame = Path(path), export(dates, kind)
    if target.suffix == ".csv":
        frame.to_csv(target, index=False, lineterminator="\n")
    elif target.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for row in frame.to_dict("records"))
        target.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    else:
        raise ValueError(f"path must end in .csv or .jsonl, got {target.name!r}")
