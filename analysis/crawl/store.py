"""What a crawl keeps on disk, so that a kill at any time loses nothing and repeats nothing.

Three files in one folder:

* ``state.npz``, what the next epoch depends on, written aside and moved after every epoch;
* ``fetches.jsonl``, one line a fetch, by epoch and source: the log of the crawl. The state holds
  its length, so that lines of an epoch whose state was not written are cut off again;
* ``journal.jsonl``, the fetches of the open epoch in the order in which they ended. A crawl that is
  started again chooses the same sources for that epoch and fetches those that are not in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from analysis.crawl.frontier import Frontier, Outcome, from_line, to_line
from analysis.files import write_aside

COLUMNS = ("epoch", "source", "kind", "status", "reward", "items")
"""What the log says of a fetch."""


class Log:
    """The log of a crawl in memory alone, which ends with the process."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, Outcome]] = []

    def restore(self, frontier: Frontier) -> float | None:
        """Say that the crawl is new."""
        return None

    def finished(self, epoch: int) -> list[Outcome]:
        """Return nothing: no epoch is ever taken up again."""
        return []

    def note(self, outcome: Outcome, epoch: int) -> None:
        """Wait for the end of the epoch."""

    def save(
        self, frontier: Frontier, outcomes: Sequence[Outcome], epoch: int, began: float
    ) -> None:
        """Keep the fetches of an epoch that is over."""
        self._rows += [(epoch, outcome) for outcome in outcomes]

    def frame(self) -> pd.DataFrame:
        """Return the log: one row a fetch, by epoch and source."""
        rows = [[epoch, *(getattr(o, name) for name in COLUMNS[1:])] for epoch, o in self._rows]
        return pd.DataFrame(rows, columns=list(COLUMNS))


class Store(Log):
    """The folder of a crawl.

    Parameters
    ----------
    folder : path
        Created where it is missing.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._state = self.folder / "state.npz"
        self._log = self.folder / "fetches.jsonl"
        self._journal = self.folder / "journal.jsonl"

    def restore(self, frontier: Frontier) -> float | None:
        """Bring a frontier to the state on disk; return when the crawl began, or None if it is new.

        Raises
        ------
        ValueError
            If the files are not those of such a crawl, or the policy cannot be saved.
        """
        frontier.state()  # a policy that cannot be saved is refused now
        if not self._state.exists():
            self._log.unlink(missing_ok=True)
            return None
        try:
            with np.load(self._state, allow_pickle=False) as saved:
                frontier.restore(saved)
                length, began = int(saved["log_bytes"]), float(saved["began"])
        except (KeyError, EOFError, BadZipFile, ValueError) as error:
            raise ValueError(f"{self._state} is not the state of this crawl: {error}") from error
        if length:
            os.truncate(self._log, length)
        else:
            self._log.unlink(missing_ok=True)
        return began

    def finished(self, epoch: int) -> list[Outcome]:
        """Return the fetches of an epoch that ended before the crawl was stopped."""
        if not self._journal.exists():
            return []
        content = self._journal.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]  # the last line may be half written
        os.truncate(self._journal, len(whole))
        lines = [from_line(line) for line in whole.decode().splitlines()]
        return [outcome for number, outcome in lines if number == epoch]

    def note(self, outcome: Outcome, epoch: int) -> None:
        """Note how a fetch of the open epoch ended, before anything else happens."""
        with self._journal.open("ab") as file:
            file.write(to_line(outcome, epoch).encode())

    def save(
        self, frontier: Frontier, outcomes: Sequence[Outcome], epoch: int, began: float
    ) -> None:
        """Write the log of an epoch that is over, and the state after it."""
        with self._log.open("ab") as file:
            for outcome in outcomes:
                file.write(to_line(replace(outcome, memory=""), epoch).encode())
            file.flush()
            os.fsync(file.fileno())
            length = file.tell()
        buffer = BytesIO()
        extra = {"log_bytes": np.array(length), "began": np.array(began)}
        np.savez(buffer, allow_pickle=False, **(frontier.state() | extra))
        write_aside(self._state, buffer.getvalue())
        self._journal.unlink(missing_ok=True)

    def frame(self) -> pd.DataFrame:
        """Return the log on disk: one row a fetch, by epoch and source."""
        if not self._log.exists() or self._log.stat().st_size == 0:
            return super().frame()
        return pd.read_json(self._log, lines=True, precise_float=True)[list(COLUMNS)]
