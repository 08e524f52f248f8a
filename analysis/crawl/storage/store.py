"""The state and the log of a crawl on disk, in one SQLite database.

A fetch is written when it has ended and its items have left the pipeline, the state at the end of
an epoch, each in one transaction. So a kill at any time leaves a complete state and the fetches
since then. A restarted crawl chooses the same sources for its open epoch and fetches those that are
not among the written ones. A fetch that the kill interrupted is repeated: items are delivered at
least once.

SQLite writes ahead and does not wait for the disk: a power failure can lose the last fetches, which
are then repeated, but does not damage the database.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, fields
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from analysis.checks import check_kind
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import CrawlState, Outcome, SourceState
from analysis.crawl.storage.summary import Summary
from analysis.display import brief

COLUMNS = ("epoch", "source", "kind", "status", "reward", "items")
"""Columns of the log; a source is given by its name."""
FILE = "crawl.sqlite"
_SOURCE = tuple(field.name for field in fields(SourceState) if field.name != "learned")
_OUTCOME = tuple(field.name for field in fields(Outcome) if field.name != "source")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS crawl (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS source (
  name TEXT PRIMARY KEY, last INTEGER NOT NULL, failures INTEGER NOT NULL,
  rest_until INTEGER NOT NULL, kind TEXT NOT NULL, memory TEXT NOT NULL, learned BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS host (
  name TEXT PRIMARY KEY, delay REAL, free INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fetch (
  epoch INTEGER NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, status INTEGER NOT NULL,
  reward REAL NOT NULL, items INTEGER NOT NULL, memory TEXT NOT NULL, delay REAL,
  rest REAL NOT NULL, host_rest REAL NOT NULL, known INTEGER NOT NULL,
  ages TEXT NOT NULL, aged REAL, PRIMARY KEY (epoch, source)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ask (source TEXT PRIMARY KEY) WITHOUT ROWID;
"""


@brief
class Log:
    """The log of a crawl in memory, without a state on disk."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []

    def restore(self, frontier: Frontier) -> float | None:
        """Return None: the crawl is new."""
        return None

    def finished(self, frontier: Frontier) -> list[Outcome]:
        """Return no outcomes: a log in memory is never continued."""
        return []

    def note(self, frontier: Frontier, outcome: Outcome) -> None:
        """Record the outcome of a fetch, before the frontier processes it."""
        name = frontier.names[outcome.source]
        self._rows.append((frontier.epoch, name, *(getattr(outcome, c) for c in COLUMNS[2:])))

    def save(self, frontier: Frontier, began: float) -> None:
        """Do nothing: a log in memory has no state to save."""

    def asked_again(self) -> list[str]:
        """Return no sources: `ask_again` needs a folder."""
        return []

    def close(self) -> None:
        """Do nothing: no file is open."""

    def frame(self) -> pd.DataFrame:
        """Return the log: one row a fetch, by epoch and source."""
        log = pd.DataFrame(self._rows, columns=list(COLUMNS))
        return log.sort_values(["epoch", "source"], ignore_index=True)


class Store(Log):
    """The folder of a crawl.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Raises
    ------
    ValueError
        If the folder holds something else than the state of a crawl, or another process uses it.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        check_kind("folder", folder, str, PathLike)
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / FILE
        self._saved: dict[str, SourceState] = {}
        self._since = 0  # epoch of the last state
        # One lock a folder in this process, so that it can read its own folder.
        self._lock = FileLock(self.folder / ".lock", timeout=0, is_singleton=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"another crawl is at work in {self.folder}: stop it, or name another JOBDIR"
            ) from None
        if (self.folder / "state.npz").exists():
            raise ValueError(
                f"{self.folder} holds a crawl of an earlier version, which knew its sources by "
                f"row: name another folder, or delete it"
            )
        try:
            self._base = sqlite3.connect(self._path, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            _prepare(self._base)
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def restore(self, frontier: Frontier) -> float | None:
        """Restore a frontier from disk; return when the crawl began, or None if it is new.

        Raises
        ------
        ValueError
            If the state is damaged or that of another policy, or the policy cannot be saved.
        """
        frontier.state()  # raises if the policy cannot be saved
        try:
            kept = dict(self._rows_of("crawl"))
            if not kept:
                return None
            state = CrawlState(
                epoch=kept["epoch"],
                seconds=kept["seconds"],
                rng=json.loads(kept["rng"]),
                policy=kept["policy"],
                learned=_checked_content(kept["learned"]),
                sources={
                    name: SourceState(last, failures, rest, kind, memory, _checked_content(learned))
                    for name, last, failures, rest, kind, memory, learned in self._rows_of("source")
                },
                hosts={name: (delay, free) for name, delay, free in self._rows_of("host")},
            )
            frontier.restore(state)
            began = float(kept["began"])
        except (KeyError, TypeError, ValueError, sqlite3.Error) as error:
            raise self._refused(error) from error
        self._saved, self._since = state.sources, state.epoch
        return began

    def finished(self, frontier: Frontier) -> list[Outcome]:
        """Return the fetches that ended after the state was saved, of sources in the list."""
        text = f"SELECT source, {', '.join(_OUTCOME)} FROM fetch WHERE epoch >= ? ORDER BY source"
        try:
            rows = self._base.execute(text, (frontier.epoch,)).fetchall()
            return [
                Outcome(frontier.number[name], **_outcome_fields(values))
                for name, *values in rows
                if name in frontier.number
            ]
        except (TypeError, ValueError, sqlite3.Error) as error:
            raise self._refused(error) from error

    def note(self, frontier: Frontier, outcome: Outcome) -> None:
        """Write the outcome of a fetch, before the frontier processes it."""
        values = [getattr(outcome, name) for name in _OUTCOME]
        values[_OUTCOME.index("ages")] = json.dumps(outcome.ages)
        row = (frontier.epoch, frontier.names[outcome.source], *values)
        self._put("fetch", [row])

    def save(self, frontier: Frontier, began: float) -> None:
        """Write the state after an epoch has ended."""
        state = frontier.state()
        changed = {n: s for n, s in state.sources.items() if self._saved.get(n) != s}
        whole = {
            "epoch": state.epoch,
            "seconds": state.seconds,
            "rng": json.dumps(state.rng, sort_keys=True),
            "policy": state.policy,
            "learned": _with_checksum(state.learned),
            "began": began,
            "summary": json.dumps(asdict(Summary.of(frontier))),
        }
        with self._base:
            self._base.execute("BEGIN")
            self._put(
                "source",
                (
                    (n, *(getattr(s, c) for c in _SOURCE), _with_checksum(s.learned))
                    for n, s in changed.items()
                ),
            )
            self._put("host", ((name, *host) for name, host in state.hosts.items()))
            self._put("crawl", whole.items())
            over = (self._since, state.epoch)
            self._base.execute(
                "UPDATE fetch SET memory = '', ages = '' WHERE epoch >= ? AND epoch < ?", over
            )
        self._saved, self._since = state.sources, state.epoch

    def asked_again(self) -> list[str]:
        """Return the names of the sources that `ask_again` was called for, each once."""
        rows = self._base.execute("SELECT source FROM ask").fetchall()
        if rows:
            self._base.execute("DELETE FROM ask")
        return [name for (name,) in rows]

    def close(self) -> None:
        """Close the database, and release the folder."""
        self._base.close()
        self._lock.release()

    def frame(self) -> pd.DataFrame:
        """Return the log on disk: one row a fetch, by epoch and source."""
        return _frame(self._base)

    def contents(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all rows of all tables, in order, to compare two crawls exactly."""
        return {name: self._rows_of(name) for name in ("crawl", "source", "host", "fetch")}

    def _rows_of(self, table: str) -> list[tuple[Any, ...]]:
        return self._base.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()

    def _put(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        rows = list(rows)
        if rows:
            values = ", ".join("?" * len(rows[0]))
            self._base.executemany(f"REPLACE INTO {table} VALUES ({values})", rows)

    def _refused(self, error: Exception) -> ValueError:
        return ValueError(f"{self._path} is not the state of this crawl: {error}")


def read_log(folder: str | PathLike[str]) -> pd.DataFrame:
    """Return the log of the crawl in a folder, which may be running; empty if there is none.

    One row a fetch, by epoch and source: epoch, source (its name), kind, status, reward, items.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    with closing(sqlite3.connect(path)) as base:
        _prepare(base)
        return _frame(base)


def ask_again(folder: str | PathLike[str], names: Iterable[str]) -> None:
    """Make sources that are gone, forbidden or resting available again from the next epoch on.

    `folder` is that of the crawl, which may be running; `names` are the addresses of the sources.
    Raises ValueError if the crawl does not know a source, or there is no crawl.
    """
    with closing(_opened(folder)) as base:
        known = {name for (name,) in base.execute("SELECT name FROM source")}
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} must be the address of a source of the crawl")
            base.execute("REPLACE INTO ask VALUES (?)", (name,))


def read_tables(folder: str | PathLike[str]) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """Return the saved state of a crawl, which may be running, its sources, and its log.

    Parameters
    ----------
    folder : path
        Folder of the crawl.

    Returns
    -------
    crawl : dict
        epoch, seconds, began, policy, summary and more.
    sources : pandas.DataFrame
        name, last, failures, rest_until, kind.
    log : pandas.DataFrame
        As `read_log` returns it.

    Raises
    ------
    ValueError
        If there is no crawl, or it has not ended an epoch yet.
    """
    with closing(_opened(folder)) as base:
        crawl = dict(base.execute("SELECT * FROM crawl").fetchall())
        if not crawl:
            raise ValueError(f"{folder} is the folder of a crawl that has not ended an epoch yet")
        columns = ["name", "last", "failures", "rest_until", "kind"]
        rows = base.execute(f"SELECT {', '.join(columns)} FROM source ORDER BY name").fetchall()
        return crawl, pd.DataFrame(rows, columns=columns), _frame(base)


def _opened(folder: str | PathLike[str]) -> sqlite3.Connection:
    """Open the database of a crawl that has begun."""
    path = Path(folder) / FILE
    if not path.exists():
        raise ValueError(f"{folder} must be the folder of a crawl (its JOBDIR)")
    base = sqlite3.connect(path, isolation_level=None)
    _prepare(base)
    return base


def fetches_since_state(folder: str | PathLike[str]) -> int:
    """Return the number of fetches of a crawl that ended after its state was written."""
    log = read_log(folder)
    if log.empty:
        return 0
    with closing(sqlite3.connect(Path(folder) / FILE)) as base:
        row = base.execute("SELECT value FROM crawl WHERE name = 'epoch'").fetchone()
    return int((log["epoch"] >= (row[0] if row else 0)).sum())


def _prepare(base: sqlite3.Connection) -> None:
    """Create missing tables, and a column that older folders lack."""
    base.executescript(_SCHEMA)
    if "aged" not in {row[1] for row in base.execute("PRAGMA table_info(fetch)")}:
        base.execute("ALTER TABLE fetch ADD COLUMN aged REAL")


def _with_checksum(content: bytes) -> bytes:
    """Prepend a hash to the bytes of arrays: compiled code must not read damaged ones."""
    return blake2b(content, digest_size=8).digest() + content


def _checked_content(content: bytes) -> bytes:
    """Remove the hash that `_with_checksum` prepended; raise ValueError if it does not match."""
    if _with_checksum(content[8:]) != content:
        raise ValueError("what the policy has learned is damaged")
    return content[8:]


def _outcome_fields(values: Iterable[Any]) -> dict[str, Any]:
    """Return the fields of an `Outcome` from a row of the table of fetches."""
    found = dict(zip(_OUTCOME, values, strict=True))
    return found | {"ages": tuple(json.loads(found["ages"]))}


def _frame(base: sqlite3.Connection) -> pd.DataFrame:
    text = f"SELECT {', '.join(COLUMNS)} FROM fetch ORDER BY epoch, source"
    return pd.DataFrame(base.execute(text).fetchall(), columns=list(COLUMNS))
