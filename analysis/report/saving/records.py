"""The only ways in which a notebook states a number.

`record_claims` and `record` are for what a document prints, `save_value` for what the book found
itself. Both end in ``records.json`` of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from analysis.published import printed_rows
from analysis.report.run import by_hand, run_facts, run_folder, unchanged_by_hand, write_json
from analysis.report.saving.claims import Claim, Number, Value, checked_interval, plain_value
from analysis.report.saving.words import page_of

_records: dict[str, Claim] = {}
_values: dict[str, dict[str, Any]] = {}


def record_claims(claims: Iterable[Claim]) -> None:
    """State what a page says to the rows that it covers. `analysis.report.scorecard` judges it.

    Parameters
    ----------
    claims : iterable of Claim
        What the page's study claims, one entry a row. A rerun with other parameters than the
        documents' own keeps them too; its pages and the scorecard leave them out.

    Raises
    ------
    ValueError
        If there is no such row, its words stand under another page, or it was recorded before.
    """
    page = run_facts()["notebook"].rpartition("/")[2]
    for claim in claims:
        row = printed_rows().get(claim.id)
        if row is None:
            raise ValueError(f"id must name a row of analysis/published, got {claim.id!r}")
        if page and page_of(row) not in ("", page):
            raise ValueError(f"words of {claim.id} stand under the page {page_of(row)}")
        if claim.id in _records and not by_hand():
            raise ValueError(f"id {claim.id!r} was recorded before in this notebook")
        _records[claim.id] = claim
    _write()


def record(id: str, value: Value | None = None, **fields: Any) -> None:
    """State what the book says to one printed row.

    Parameters
    ----------
    id, value, **fields
        The fields of `Claim`.

    Raises
    ------
    ValueError
        As `Claim` and `record_claims` do.
    """
    record_claims([Claim(id, value, **fields)])


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
    kept = plain_value(id, value)
    pair, count = checked_interval(id, interval, replications)
    _values[id] = {"value": kept, "interval": pair, "replications": count}
    _write()


def saved_numbers(prefix: str) -> dict[str, float]:
    """Return what `save_value` kept in this notebook under ids with a prefix, without the prefix.

    Sentences that depend on many numbers take them from here.
    """
    return {
        id.removeprefix(prefix): kept["value"]
        for id, kept in _values.items()
        if id.startswith(prefix)
    }


def is_document_run() -> bool:
    """Whether this run has the documents' own parameters (a rerun with others has not)."""
    return unchanged_by_hand() if by_hand() else bool(run_facts()["document"])


def _write() -> None:
    content: dict[Literal["records", "values"], Any] = {
        "records": {id: claim.as_dict() for id, claim in _records.items()},
        "values": _values,
    }
    write_json(run_folder() / "records.json", content, indent=None)  # after each of hundreds
