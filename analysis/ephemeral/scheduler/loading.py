"""Sources read from a Parquet file into a scheduler, a part of the file at a time.

Each part is converted to entries of the calendar and then freed: a table of all sources is never in
memory, only the scheduler, 20 bytes a source in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

from analysis.checks import check_choice, check_integer, check_positive
from analysis.ephemeral.scheduler.admission import spread_ages
from analysis.ephemeral.scheduler.calendar import PRECISIONS
from analysis.ephemeral.scheduler.core import Scheduler
from analysis.ephemeral.sources import Sources
from analysis.extras import missing_extra

RATES = ("arrival_rate", "mean_utility", "decay_rate")
AGES = {"age": "ages", "min_age": "min_age", "max_age": "max_age"}
"""Columns that may be there, and the arguments of `Scheduler.add` that they become."""
ROWS = 2**19


def scheduler_from_parquet(
    path: str | PathLike[str],
    budget: float,
    *,
    period: float = 1.0,
    precision: str = "single",
    rows: int = ROWS,
) -> Scheduler:
    """Read sources from a Parquet file and make a scheduler of them; they are numbered by row.

    The file has the columns arrival_rate, mean_utility and decay_rate, and any of cost, age,
    min_age and max_age; others, such as name, are not read. The budget is the cost that an epoch
    may spend, the period T the time between two epochs; `rows` are read at a time. ValueError names
    the file, the rows and the reason.
    """
    rows = check_integer("rows", rows, 1)
    budget = check_positive("budget", budget)
    period = check_positive("period", period)
    check_choice("precision", precision, tuple(PRECISIONS))
    scheduler = None
    for first, total, columns in _parts(path, rows):
        age_columns = {
            name: columns.pop(column) for column, name in AGES.items() if column in columns
        }
        try:
            sources = Sources(**columns, period=period)
            share = budget * len(sources) / total  # of the budget, for the ages of this part
            age_columns.setdefault(
                "ages", spread_ages(sources, share, max_age=age_columns.get("max_age"))
            )
            if scheduler is None:
                scheduler = Scheduler(sources, budget, **age_columns, precision=precision)
                scheduler.reserve(total)
            else:
                scheduler.add(sources, **age_columns)
        except ValueError as error:
            last = first + len(columns["arrival_rate"]) - 1
            raise ValueError(f"{path}, rows {first} to {last}: {error}") from None
    if scheduler is None:
        raise ValueError(f"{path} must hold at least one source, got none")
    return scheduler


def _parts(path: str | PathLike[str], rows: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the first row of each part, the number of all rows, and the part's columns."""
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError as error:
        raise missing_extra(error, "tables") from None

    try:
        file = ParquetFile(path, memory_map=True)
    except (OSError, ArrowInvalid) as error:
        raise ValueError(f"{path}: {str(error).strip()}") from None
    with file:
        present = file.schema_arrow.names
        if missing := [name for name in RATES if name not in present]:
            raise ValueError(f"{path} must have a column {missing[0]}, got {', '.join(present)}")
        chosen = [name for name in (*RATES, "cost", *AGES) if name in present]
        first = 0
        for batch in file.iter_batches(batch_size=rows, columns=chosen):
            columns = {name: batch[name].to_numpy(zero_copy_only=False) for name in chosen}
            yield first, file.metadata.num_rows, columns
            first += batch.num_rows
