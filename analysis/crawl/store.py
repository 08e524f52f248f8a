"""The state and the log of a crawl on disk, in one SQLite database.

A fetch is written when it has ended and its items have left the pipeline, the state at the end of
an epoch, each in one transaction. So a kill at any time leaves a complete state and the fetches
since then. A restarted crawl chooses the same sources for its open epoch and fetches those that are
not among the written ones. A fetch that the kill interrupted is repeated: items are delivered at
least once.

SQLite writes ahead and does not wait for the disk: a power failure can lose the last fetches, which
are then repeated, but does not damage the database.

Each row of the state has a hash: a damaged state is refused, a damaged memory of a source counts as
empty, a damaged fetch is repeated. The log has the fetches of the last epochs one by one; those of
older epochs are counts by day. `Summary` describes an epoch after its end.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from analysis.checks import check_integer, check_kind
from analysis.crawl.frontier.frontier import Frontier
from analysis.crawl.frontier.state import (
    DAY,
    FAILED,
    FORBIDDEN,
    FOUND,
    GONE,
    CrawlState,
    Outcome,
    SourceState,
)
from analysis.display import brief

COLUMNS = ("epoch", "source", "kind", "status", "reward", "items")
"""Columns of the log; a source is given by its name."""
FILE = "crawl.sqlite"
LOG_EPOCHS = 1000
"""Default number of last epochs whose fetches the log has one by one."""
LAST_EPOCHS = 10
"""Epochs that `read_progress` returns."""
VERSION = 2
"""Version of the tables."""
WAIT = 1.0
"""Seconds for which a crawl waits for a lock: it does nothing else meanwhile, and tries again."""
_SOURCE = tuple(field.name for field in fields(SourceState) if field.name != "learned")
_OUTCOME = tuple(field.name for field in fields(Outcome) if field.name != "source")
_COUNTS = {
    "fetches": "count(*)",
    "found": "total(kind = 'found')",
    "not_modified": "total(status = 304)",
    "failed": "total(kind = 'failed')",
    "forbidden": "total(kind = 'forbidden')",
    "gone": "total(kind = 'gone')",
    "items": "total(items)",
    "reward": "total(reward)",
}
"""What is counted of many fetches, by its name in the table ``day``."""
_SCHEMA = f"""
BEGIN;
CREATE TABLE crawl (name TEXT PRIMARY KEY, value, digest BLOB) WITHOUT ROWID;
CREATE TABLE source (
  name TEXT PRIMARY KEY, last INTEGER NOT NULL, failures INTEGER NOT NULL,
  rest_until INTEGER NOT NULL, kind TEXT NOT NULL, memory TEXT NOT NULL, learned BLOB NOT NULL,
  digest BLOB
) WITHOUT ROWID;
CREATE TABLE host (
  name TEXT PRIMARY KEY, delay REAL, free INTEGER NOT NULL, refusals INTEGER NOT NULL, digest BLOB
) WITHOUT ROWID;
CREATE TABLE fetch (
  epoch INTEGER NOT NULL, source TEXT NOT NULL, kind TEXT NOT NULL, status INTEGER NOT NULL,
  reward REAL NOT NULL, items INTEGER NOT NULL, memory TEXT NOT NULL, delay REAL,
  rest REAL NOT NULL, host_rest REAL NOT NULL, known INTEGER NOT NULL,
  ages TEXT NOT NULL, aged REAL, digest BLOB, PRIMARY KEY (epoch, source)
) WITHOUT ROWID;
CREATE TABLE day (day INTEGER PRIMARY KEY, {", ".join(f"{name} REAL" for name in _COUNTS)});
CREATE TABLE ask (source TEXT PRIMARY KEY) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""

# What policies had learned that the crawl has left; the row of all sources has an empty name.
_LEARNED = """
CREATE TABLE IF NOT EXISTS learned (
  policy TEXT NOT NULL, source TEXT NOT NULL, seconds REAL NOT NULL, layout TEXT NOT NULL,
  learned BLOB NOT NULL, digest BLOB, PRIMARY KEY (policy, source)
) WITHOUT ROWID
"""

# Pings since the state was written, and subscriptions to hubs.
_SIGNALS = """
CREATE TABLE IF NOT EXISTS signal (number INTEGER PRIMARY KEY, event TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS subscription (
  source TEXT PRIMARY KEY, value TEXT NOT NULL, digest BLOB
) WITHOUT ROWID;
"""

logger = logging.getLogger(__name__)


def began_before(began: float, epoch: int, old: float, new: float) -> float:
    """Return when epoch 0 would have begun had all epochs the length `new`, in place of `old`.

    The last epoch, that before `epoch`, begins when it did.
    """
    return began + (epoch - 1) * (old - new)


@dataclass(frozen=True)
class Summary:
    """Summary of one epoch of a crawl, after its end."""

    epoch: int  # number of the epoch
    # Fetches that ended in it, and the number allowed.
    spent: int
    budget: int
    # Fetches by outcome; those with status 304 are also counted as found.
    found: int
    not_modified: int
    failed: int
    forbidden: int
    gone: int
    items: int  # new items
    reward: float  # value of the new items
    late: int  # unfinished fetches
    age: tuple[float, ...]  # median, 90% quantile and maximum of the ages of all sources
    index: tuple[float, ...]  # the same of the finite indices; empty if the policy has no index

    @classmethod
    def of(cls, frontier: Frontier) -> Summary:
        """Summarise the last epoch of a frontier."""
        ended = frontier.outcomes
        kinds = [outcome.kind for outcome in ended]
        index = getattr(frontier.policy, "index", None)
        return cls(
            epoch=frontier.epoch - 1,
            spent=len(ended),
            budget=frontier.budget,
            found=kinds.count(FOUND),
            not_modified=sum(outcome.status == 304 for outcome in ended),
            failed=kinds.count(FAILED),
            forbidden=kinds.count(FORBIDDEN),
            gone=kinds.count(GONE),
            items=sum(outcome.items for outcome in ended),
            reward=float(sum(outcome.reward for outcome in ended)),
            late=len(frontier.late),
            age=_quantiles(frontier.age),
            index=_quantiles(index(frontier.age)) if index else (),
        )

    def line(self) -> str:
        """Return one line for a log."""
        return (
            f"epoch {self.epoch}: {self.spent} of {self.budget} fetches: {self.found} found a feed "
            f"({self.not_modified} unchanged), {self.failed} failed, {self.forbidden} forbidden by "
            f"robots.txt, {self.gone} gone (HTTP 410), {self.late} not ended yet; {self.items} new "
            f"items of total value {self.reward:.4g}; last fetches of all sources: {self.age[0]:g} "
            f"epochs ago (median), {self.age[2]:g} at most"
        )

    def stats(self) -> dict[str, float]:
        """Return the numbers by name, for Scrapy's statistics."""
        numbers = {name: value for name, value in asdict(self).items() if name not in _QUANTILES}
        for name in _QUANTILES:
            parts = zip(("median", "p90", "max"), getattr(self, name), strict=False)
            numbers |= {f"{name}/{statistic}": value for statistic, value in parts}
        return numbers


_QUANTILES = ("age", "index")


def _quantiles(values: np.ndarray) -> tuple[float, ...]:
    """Return the quantiles of the finite values; empty if there are none."""
    finite = values[np.isfinite(values)]
    return tuple(np.quantile(finite, [0.5, 0.9, 1.0]).tolist()) if finite.size else ()


@brief
class Log:
    """The log of the last `epochs` epochs of a crawl in memory, without a state on disk."""

    def __init__(self, epochs: int = LOG_EPOCHS) -> None:
        self._epochs = check_integer("epochs", epochs, 1)
        self._rows: deque[tuple[Any, ...]] = deque()

    def restore(self, frontier: Frontier) -> float | None:
        """Return None: the crawl is new."""
        return None

    def finished(self, frontier: Frontier) -> list[Outcome]:
        """Return no outcomes: a log in memory is never continued."""
        return []

    def last_epoch(self) -> int:
        """Return the epoch of the last fetch, 0 without one."""
        return int(self._rows[-1][0]) if self._rows else 0

    def note(self, frontier: Frontier, outcome: Outcome) -> None:
        """Record the outcome of a fetch, before the frontier processes it."""
        name = frontier.names[outcome.source]
        self._rows.append((frontier.epoch, name, *(getattr(outcome, c) for c in COLUMNS[2:])))
        while self._rows[0][0] <= frontier.epoch - self._epochs:
            self._rows.popleft()

    def save(self, frontier: Frontier, began: float, signals: str = "") -> None:
        """Do nothing: a log in memory has no state to save."""

    def note_signal(self, event: str) -> None:
        """Do nothing: pings are not kept without a folder."""

    def put_subscriptions(self, texts: Mapping[str, str]) -> None:
        """Do nothing: subscriptions are not kept without a folder."""

    def signals(self) -> tuple[str, list[str], dict[str, str]]:
        """Return nothing: a log in memory is never continued."""
        return "", [], {}

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
    epochs : int
        Last epochs whose fetches the log has one by one.

    Raises
    ------
    ValueError
        If the folder holds something else than the state of a crawl, cannot be written, or another
        crawl uses it, in this process or another.
    """

    def __init__(self, folder: str | PathLike[str], epochs: int = LOG_EPOCHS) -> None:
        super().__init__(epochs)
        check_kind("folder", folder, str, PathLike)
        self.folder = Path(folder)
        self._path = self.folder / FILE
        self._saved: dict[str, SourceState] = {}
        self._since = 0  # epoch of the last state
        self._lock = FileLock(self.folder / ".lock", timeout=0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"another crawl is at work in {self.folder}: stop it, or name another JOBDIR"
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            if (self.folder / "state.npz").exists():
                raise _other_version(self.folder)
            self._base = _connect(self._path, WAIT)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            if not _tables(self._base):
                self._base.executescript(_SCHEMA)
            self._base.execute(_LEARNED)
            self._base.executescript(_SIGNALS)
        except sqlite3.OperationalError as error:
            self._lock.release()
            raise self._unwritable(error) from None
        except sqlite3.Error as error:
            self._lock.release()
            raise self._refused(error) from error
        except ValueError:
            self._lock.release()
            raise

    def restore(self, frontier: Frontier) -> float | None:
        """Restore a frontier from disk; return when the crawl began, or None if it is new.

        Raises
        ------
        ValueError
            If the state is damaged or that of another policy with the same name, if epochs have
            another length and the policy cannot convert its estimates, or if it cannot be saved.
        """
        frontier.state()  # raises if the policy cannot be saved
        try:
            saved = dict(self._checked("crawl"))
            if not saved:
                return None
            sources = {}
            for name, last, failures, rest, kind, memory, learned, digest in self._rows_of(
                "source"
            ):
                sources[name] = SourceState(last, failures, rest, kind, memory, learned)
                if digest != (right := _source_digest(name, sources[name])):
                    if digest[:8] != right[:8]:
                        raise ValueError(f"the row of source {name!r:.200} is damaged")
                    logger.warning(
                        "%s: what its reader remembered is damaged and counts as empty; its items "
                        "are delivered again", name,
                    )  # fmt: skip
                    sources[name] = replace(sources[name], memory="")
            hosts = {name: state for name, *state in self._checked("host")}
            if [len(sources), len(hosts)] != json.loads(saved["rows"]):
                raise ValueError("rows of sources or hosts are missing")
            state = CrawlState(
                epoch=saved["epoch"],
                seconds=saved["seconds"],
                rng=json.loads(saved["rng"]),
                policy=saved["policy"],
                layout=saved["layout"],
                learned=saved["learned"],
                sources=sources,
                hosts={name: (delay, free, n) for name, (delay, free, n) in hosts.items()},
            )
            began = float(saved["began"])
            kind = type(frontier.policy).__name__
            frontier.restore(state if kind == state.policy else self._of_policy(kind, state))
            if kind != state.policy:
                self._keep_learned(state)
            if frontier.seconds != state.seconds:
                self._fold(state.epoch, began, state.seconds)  # on the days of the old epochs
                began = began_before(began, state.epoch, state.seconds, frontier.seconds)
        except (KeyError, TypeError, ValueError, sqlite3.Error) as error:
            raise self._refused(error) from error
        self._saved, self._since = state.sources, state.epoch
        return began

    def _keep_learned(self, state: CrawlState) -> None:
        """Keep what the policy of a state has learned, for a crawl that returns to it."""
        shared = (state.policy, "", state.seconds, state.layout, state.learned)
        rows = (
            (state.policy, name, state.seconds, "", source.learned)
            for name, source in state.sources.items()
        )
        with self._base:
            self._base.execute("BEGIN")
            self._base.execute("DELETE FROM learned WHERE policy = ?", (state.policy,))
            self._put("learned", [shared, *rows])

    def _of_policy(self, kind: str, state: CrawlState) -> CrawlState:
        """Return a state with what another policy had learned when the crawl left it."""
        text = "SELECT * FROM learned WHERE policy = ?"
        rows = self._base.execute(text, (kind,)).fetchall()
        undamaged = {
            name: tuple(values)
            for _, name, *values, d in rows
            if _digest((kind, name, *values)) == d
        }
        logger.info(
            "the policy is a %s now, and was a %s: %s", kind, state.policy,
            "it continues from what it had learned" if undamaged else "it has learned nothing yet",
        )  # fmt: skip
        seconds, layout, learned = undamaged.get("", (state.seconds, "", b""))
        return replace(
            state,
            policy=kind if "" in undamaged else "",
            layout=layout,
            learned=learned,
            learned_seconds=seconds,
            sources={
                name: replace(source, learned=undamaged[name][2] if name in undamaged else b"")
                for name, source in state.sources.items()
            },
        )

    def finished(self, frontier: Frontier) -> list[Outcome]:
        """Return the fetches that ended after the state was saved, of sources in the list.

        Damaged ones are deleted: they are made again.
        """
        try:
            where = "fetch WHERE epoch >= ? ORDER BY epoch, source"
            rows = self._base.execute(f"SELECT * FROM {where}", (frontier.epoch,)).fetchall()
            undamaged = [row for row in rows if row[-1] == _digest(row[:-1])]
            if len(undamaged) < len(rows):
                logger.warning("%d damaged fetches are repeated", len(rows) - len(undamaged))
                spoilt = [row[:2] for row in set(rows) - set(undamaged)]
                self._base.executemany("DELETE FROM fetch WHERE epoch = ? AND source = ?", spoilt)
            return [
                Outcome(frontier.number[name], **_outcome_fields(values))
                for _, name, *values, _ in undamaged
                if name in frontier.number
            ]
        except (TypeError, ValueError, sqlite3.Error) as error:
            raise self._refused(error) from error

    def last_epoch(self) -> int:
        """Return the epoch of the last fetch, 0 without one."""
        return int(self._base.execute("SELECT max(epoch) FROM fetch").fetchone()[0] or 0)

    def note(self, frontier: Frontier, outcome: Outcome) -> None:
        """Write the outcome of a fetch, before the frontier processes it."""
        values = [getattr(outcome, name) for name in _OUTCOME]
        values[_OUTCOME.index("ages")] = json.dumps(outcome.ages)
        row = (frontier.epoch, frontier.names[outcome.source], *values)
        self._put("fetch", [row])

    def note_signal(self, event: str) -> None:
        """Write a call of `Trust`, which is repeated if the state is not written any more."""
        self._base.execute("INSERT INTO signal (event) VALUES (?)", (event,))

    def put_subscriptions(self, texts: Mapping[str, str]) -> None:
        """Write subscriptions to hubs, by source."""
        self._put("subscription", texts.items())

    def signals(self) -> tuple[str, list[str], dict[str, str]]:
        """Return what `save` was given of pings, the calls since then, and all subscriptions."""
        rows = self._base.execute("SELECT value FROM crawl WHERE name = 'signals'").fetchall()
        events = self._base.execute("SELECT event FROM signal ORDER BY number").fetchall()
        try:
            subscriptions = dict(self._checked("subscription"))
        except ValueError as error:
            raise self._refused(error) from error
        return rows[0][0] if rows else "", [event for (event,) in events], subscriptions

    def save(self, frontier: Frontier, began: float, signals: str = "") -> None:
        """Write the state after an epoch has ended; `signals` is what is known of pings."""
        state = frontier.state()
        changed = {n: s for n, s in state.sources.items() if self._saved.get(n) != s}
        entries = {
            "epoch": state.epoch,
            "seconds": state.seconds,
            "rng": json.dumps(state.rng, sort_keys=True),
            "policy": state.policy,
            "layout": state.layout,
            "learned": state.learned,
            "rows": json.dumps([len(state.sources), len(state.hosts)]),
            "began": began,
            "summary": json.dumps(asdict(Summary.of(frontier))),
            **({"signals": signals} if signals else {}),
        }
        with self._base:
            self._base.execute("BEGIN")
            self._replace(
                "source",
                (
                    (n, *(getattr(s, c) for c in _SOURCE), s.learned, _source_digest(n, s))
                    for n, s in changed.items()
                ),
            )
            self._put("host", ((name, *host) for name, host in state.hosts.items()))
            self._put("crawl", entries.items())
            if signals:
                self._base.execute("DELETE FROM signal")
            over = (self._since, state.epoch)
            self._base.execute(
                "UPDATE fetch SET memory = '', ages = '' WHERE epoch >= ? AND epoch < ?", over
            )
            self._fold(state.epoch - self._epochs, began, state.seconds)
        self._saved, self._since = state.sources, state.epoch

    def _fold(self, epoch: int, began: float, seconds: float) -> None:
        """Replace the fetches before an epoch by their counts on each day."""
        sums = ", ".join(f"{name} = {name} + excluded.{name}" for name in _COUNTS)
        self._base.execute(
            f"INSERT INTO day SELECT CAST((? + epoch * ?) / {DAY} AS INTEGER) AS day, "
            f"{', '.join(_COUNTS.values())} FROM fetch WHERE epoch < ? GROUP BY day "
            f"ON CONFLICT (day) DO UPDATE SET {sums}",
            (began, seconds, epoch),
        )
        self._base.execute("DELETE FROM fetch WHERE epoch < ?", (epoch,))

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
        """Return all rows of all tables, without hashes, in order, to compare two crawls."""
        tables = ("crawl", "source", "host", "fetch")
        return {name: [row[:-1] for row in self._rows_of(name)] for name in tables}

    def _rows_of(self, table: str) -> list[tuple[Any, ...]]:
        return self._base.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()

    def _checked(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table; raise ValueError if one is damaged."""
        rows = self._rows_of(table)
        for *values, digest in rows:
            if digest != _digest(values):
                raise ValueError(f"the row {values[0]!r:.200} of its table {table} is damaged")
        return [row[:-1] for row in rows]

    def _put(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows with their hashes."""
        self._replace(table, ((*row, _digest(row)) for row in rows))

    def _replace(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        rows = list(rows)
        if rows:
            values = ", ".join("?" * len(rows[0]))
            self._base.executemany(f"REPLACE INTO {table} VALUES ({values})", rows)

    def _refused(self, error: Exception) -> ValueError:
        return ValueError(f"{self._path} is not the state of this crawl: {error}")

    def _unwritable(self, error: Exception) -> ValueError:
        return ValueError(f"JOBDIR must be a folder that can be written, {self.folder}: {error}")


def read_log(folder: str | PathLike[str]) -> pd.DataFrame:
    """Return the log of the crawl in a folder, which may be running; empty if there is none.

    One row a fetch, by epoch and source: epoch, source (its name), kind, status, reward, items.
    Of epochs before the last ones (``CRAWL_LOG_EPOCHS``) there are no rows.
    """
    path = Path(folder) / FILE
    if not path.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    with closing(_connect(path)) as base:
        return _frame(base) if _tables(base) else pd.DataFrame(columns=list(COLUMNS))


def ask_again(folder: str | PathLike[str], names: Iterable[str]) -> None:
    """Make sources that are gone, forbidden or resting available again from the next epoch on.

    `folder` is that of the crawl, which may be running; `names` are the addresses of the sources.
    Raises ValueError if the crawl does not know a source, or there is no crawl.
    """
    with closing(_opened(folder)) as base:
        listed = {name for (name,) in base.execute("SELECT name FROM source")}
        for name in names:
            if name not in listed:
                raise ValueError(f"{name!r} must be the address of a source of the crawl")
            base.execute("REPLACE INTO ask VALUES (?)", (name,))


def read_progress(
    folder: str | PathLike[str],
) -> tuple[dict[str, Any], pd.DataFrame, dict[str, float], pd.DataFrame]:
    """Return the saved state of a crawl, which may be running, its sources, and counts of its log.

    Parameters
    ----------
    folder : path
        Folder of the crawl.

    Returns
    -------
    crawl : dict
        epoch, seconds, began, policy, summary and more; empty before the end of the first epoch.
    sources : pandas.DataFrame
        name, last, failures, rest_until, kind.
    counts : dict
        Of all fetches: fetches, found, not_modified, failed, forbidden, gone, items, reward.
    epochs : pandas.DataFrame
        The same for each of the last `LAST_EPOCHS` epochs with fetches.

    Raises
    ------
    ValueError
        If there is no crawl, or its folder is empty yet.
    """
    with closing(_opened(folder)) as base:
        crawl = dict(base.execute("SELECT name, value FROM crawl").fetchall())
        columns = ["name", "last", "failures", "rest_until", "kind"]
        rows = base.execute(f"SELECT {', '.join(columns)} FROM source ORDER BY name").fetchall()
        columns_of_days = ", ".join(f"total({name})" for name in _COUNTS)
        old = base.execute(f"SELECT {columns_of_days} FROM day").fetchone()
        counts = ", ".join(_COUNTS.values())
        new = base.execute(f"SELECT {counts} FROM fetch").fetchone()
        text = f"SELECT epoch, {counts} FROM fetch GROUP BY epoch ORDER BY epoch DESC LIMIT ?"
        last = base.execute(text, (LAST_EPOCHS,)).fetchall()
    return (
        crawl,
        pd.DataFrame(rows, columns=columns),
        {name: a + b for name, a, b in zip(_COUNTS, old, new, strict=True)},
        pd.DataFrame(last[::-1], columns=["epoch", *_COUNTS]),
    )


def fetches_since_state(folder: str | PathLike[str]) -> int:
    """Return the number of fetches of a crawl that ended after its state was written."""
    path = Path(folder) / FILE
    if not path.exists():
        return 0
    with closing(_connect(path)) as base:
        if not _tables(base):
            return 0
        row = base.execute("SELECT value FROM crawl WHERE name = 'epoch'").fetchone()
        since = (row[0] if row else 0,)
        return int(base.execute("SELECT count(*) FROM fetch WHERE epoch >= ?", since).fetchone()[0])


def _opened(folder: str | PathLike[str]) -> sqlite3.Connection:
    """Open the database of a crawl that has begun."""
    path = Path(folder) / FILE
    if not path.exists():
        raise ValueError(f"{folder} must be the folder of a crawl (its JOBDIR)")
    base = _connect(path)
    if not _tables(base):
        base.close()
        raise ValueError(f"{folder} is the folder of a crawl that has not ended an epoch yet")
    return base


def _connect(path: Path, wait: float = 60.0) -> sqlite3.Connection:
    """Open a database, which waits so many seconds for locks; refuse one of another version."""
    base = sqlite3.connect(path, isolation_level=None, timeout=wait)
    try:
        if _tables(base) and base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            raise _other_version(path.parent)
    except BaseException:
        base.close()
        raise
    return base


def _tables(base: sqlite3.Connection) -> int:
    """Return the number of tables."""
    text = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
    return int(base.execute(text).fetchone()[0])


def _other_version(folder: Path) -> ValueError:
    return ValueError(
        f"{folder} holds a crawl of an earlier version: name another folder, or delete it"
    )


def _digest(row: Iterable[Any]) -> bytes:
    """Return a hash of the values of a row."""
    # SQLite stores -0.0 as 0.0.
    values = [value + 0.0 if isinstance(value, float) else value for value in row]
    return blake2b(repr(values).encode(errors="surrogatepass"), digest_size=8).digest()


def _source_digest(name: str, state: SourceState) -> bytes:
    """Return two hashes of a source's row: of all but its memory, and of name and memory."""
    without = (name, *(getattr(state, c) for c in _SOURCE if c != "memory"), state.learned)
    return _digest(without) + _digest((name, state.memory))


def _outcome_fields(values: Iterable[Any]) -> dict[str, Any]:
    """Return the fields of an `Outcome` from a row of the table of fetches."""
    fields = dict(zip(_OUTCOME, values, strict=True))
    return fields | {"ages": tuple(json.loads(fields["ages"]))}


def _frame(base: sqlite3.Connection) -> pd.DataFrame:
    text = f"SELECT {', '.join(COLUMNS)} FROM fetch ORDER BY epoch, source"
    return pd.DataFrame(base.execute(text).fetchall(), columns=list(COLUMNS))
