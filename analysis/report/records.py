"""The only ways in which a notebook states a number.

`record` is for what a document prints, `save_value` for what the book found itself. Both end in
``records.json`` of the run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from analysis.published import printed_rows
from analysis.report.run import DIGITS, by_hand, run_facts, run_folder, write_json

Number = float | int
Value = Number | bool | tuple[Number, Number]


@dataclass(frozen=True)
class Record:
    """What the book says to one printed row; see `record` for the fields."""

    value: Any = None
    interval: Any = None
    replications: int | None = None
    explained: float | None = None
    because: str = ""
    missing: str = ""
    condition: str = ""
    evidence: str = ""
    figure: str = ""
    leaves_open: str = ""
    context: str = ""


_records: dict[str, Record] = {}
_values: dict[str, dict[str, Any]] = {}


def record(
    id: str,
    value: Value | None = None,
    *,
    interval: Sequence[Any] | None = None,
    replications: int | None = None,
    explained: float | None = None,
    because: str = "",
    missing: str = "",
    condition: str = "",
    evidence: str = "",
    figure: str = "",
    leaves_open: str = "",
    context: str = "",
) -> None:
    """State what the book computes for one printed row. `analysis.report.scorecard` judges it.

    Parameters
    ----------
    id : str
        Id of the row in `analysis.published`.
    value : number, pair of numbers or bool, optional
        The computed number; for a printed range, its computed ends; for a statement, a claim or an
        algorithm, whether it holds; for announced work, whether the book does it.
    interval : pair, optional
        Confidence interval of a Monte Carlo value (one pair for each end of a range).
    replications : int, optional
        Independent replications behind `interval`; required with it.
    explained, because : float and str, optional
        The printed number as derived from a named cause, live, and that cause.
    missing : str, optional
        What the document leaves out, where it does not determine the row.
    condition : str, optional
        Where a statement holds only under a condition.
    evidence : str, optional
        How a statement was checked, or where it is proved; required for statements.
    figure : str, optional
        Id of the figure that redraws the printed one.
    leaves_open : str, optional
        What the document leaves open about its figure.
    context : str, optional
        For prose that nothing can be computed from: what the page says of it.

    Raises
    ------
    ValueError
        If there is no such row, it was recorded before, a value is not finite, or an interval is
        not low to high with the number of replications behind it.
    """
    if id not in printed_rows():
        raise ValueError(f"id must name a row of analysis/published, got {id!r}")
    if id in _records and not by_hand():
        raise ValueError(f"id {id!r} was recorded before in this notebook")
    _records[id] = Record(
        _plain(id, value), *_interval(id, interval, replications), _plain(id, explained),
        because, missing, condition, evidence, figure, leaves_open, context,
    )  # fmt: skip
    _write()


def save_value(
    id: str,
    value: Number,
    *,
    interval: tuple[Number, Number] | None = None,
    replications: int | None = None,
) -> None:
    """Keep a number of the book's own, for prose to quote by id.

    Parameters
    ----------
    id : str
        Name of the number, unique in the book; by custom it starts with the notebook's name.
    value : number
        The number.
    interval, replications : pair and int, optional
        Confidence interval of a Monte Carlo value, and the replications behind it.

    Raises
    ------
    ValueError
        If the id was used before, the number is not finite, or an interval is not low to high
        with the number of replications behind it.
    """
    if id in _values and not by_hand():
        raise ValueError(f"id {id!r} was saved before in this notebook")
    kept = _plain(id, value)
    pair, count = _interval(id, interval, replications)
    _values[id] = {"value": kept, "interval": pair, "replications": count}
    _write()


def is_document_run() -> bool:
    """Whether this run has the documents' own parameters (a rerun with others has not)."""
    return bool(run_facts()["document"])


def _write() -> None:
    content: dict[Literal["records", "values"], Any] = {
        "records": {key: asdict(entry) for key, entry in _records.items()},
        "values": _values,
    }
    write_json(run_folder() / "records.json", content)


def _interval(id: str, interval: Any, replications: Any) -> tuple[Any, int | None]:
    """Check an interval, or one for each end of a range, and the replications behind it."""
    if (interval is None) != (replications is None):
        raise ValueError(f"{id}: interval and replications go together: give both or neither")
    if interval is None:
        return None, None
    plain, count = _plain(id, interval), _plain(id, replications)
    for pair in plain if isinstance(plain[0], list) else [plain]:
        if not isinstance(pair, list) or len(pair) != 2 or not pair[0] <= pair[1]:
            raise ValueError(f"{id}: an interval must be a low and a high end, got {pair}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"{id}: replications must be an integer of at least 1, got {count!r}")
    return plain, count


def _plain(id: str, value: Any) -> Any:
    """Turn NumPy values and sequences into what JSON holds; refuse what is not finite."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_plain(id, entry) for entry in value]
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise ValueError(f"{id}: a value must be a finite number or a truth value, got {value!r}")
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
