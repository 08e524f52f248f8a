"""Losses at three long horizons: ``python -m analysis.learning.regret.recorded``.

Writes ``losses.csv`` and ``cycles.csv`` beside this file, from which the page `learning-trap` takes
its numbers, with a hash of the code that computed them. It takes about six minutes on one
processor. A test compares the hash with that of the present code, and repeats some of the runs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd

from analysis.fingerprint import fingerprint
from analysis.learning.regret import random_sets
from analysis.sweep import sweep

FOLDER = Path(__file__).parent
LOSSES, CYCLES = FOLDER / "losses.csv", FOLDER / "cycles.csv"
SETS, HORIZON, SEED = 50, 200_000, 30
"""What is recorded."""


@cache
def code() -> str:
    """Return the hash of all code that computes what is written."""
    return fingerprint(["analysis.learning.regret.recorded"], ignore_docstrings=True)[:12]


def is_recorded(sets: int, horizon: int, seed: int) -> bool:
    """Whether runs of so many sets, of a horizon and a seed are in the files."""
    return sets <= SETS and (horizon, seed) == (HORIZON, SEED)


def losses(sets: int, horizon: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what `random_sets.losses` does: from the files where they have it, else played."""
    if not is_recorded(sets, horizon, seed):
        return random_sets.losses(sets, horizon, seed)
    runs, cycles = (pd.read_csv(path).drop(columns="code") for path in (LOSSES, CYCLES))
    return runs[runs.set < sets], cycles[cycles.set < sets]


def certificate() -> pd.DataFrame:
    """Return the hash of the code that wrote the two files, beside that of the code as it is."""
    written = {
        path.name: ", ".join(pd.read_csv(path)["code"].unique()) for path in (LOSSES, CYCLES)
    }
    table = pd.DataFrame({"computed by code": written, "the code is now": code()})
    return table.rename_axis("file")


def _of_set(number: int, _: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    return random_sets.of_set(number, HORIZON, SEED)


def main() -> None:
    """Play all runs and write the two files."""
    now = code()  # of what runs: files may change while it does
    results = [replication[0] for replication in sweep(_of_set, range(SETS), seed=SEED)]
    for column, path in enumerate((LOSSES, CYCLES)):
        rows = pd.concat([pair[column] for pair in results], ignore_index=True)
        rows.assign(code=now).to_csv(path, index=False)


if __name__ == "__main__":
    main()
