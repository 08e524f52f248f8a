"""Functions with which a notebook saves numbers, to ``records.json`` of its run.

`record_claims` is for rows that a document prints, `save_value` for the book's own
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from scorecard.prints import printed_rows
from scorecard.run import by_hand, run_facts, run_folder, unchanged_by_hand, write_json
from scorecard.saving.claims import Claim, Number, check_interval, convert_value
from scorecard.saving.words import find_page

_records: dict[str, Claim] = {}
_values: dict[str, dict[str, Any]] = {}


def record_claims(claims: Iterable[Claim]) -> None:
    """Save the claims of a page on printed rows, for `scorecard.verdicts` to judge.

    Parameters
    ----------
    claims : iterable of Claim
        One claim a row. They are saved also by a rerun with other parameters than the documents',
        but its pages and the scorecard do not show them.

    Raises
    ------
    ValueError
        If there is no such row, its words are filed under another page, or it was recorded before.
    """
    page = run_facts()["notebook"].rpartition("/")[2]
    for claim in claims:
        row = printed_rows().get(claim.id)
        if row is None:
            raise ValueError(f"id must name a row of book/published, got {claim.id!r}")
        if page and find_page(row) not in ("", page):
            raise ValueError(
                f"the words of {claim.id} are filed under the page {find_page(row)}, not {page}"
            )
        if claim.id in _records and not by_hand():
            raise ValueError(f"id {claim.id!r} was recorded before in this notebook")
        _records[claim.id] = claim
    _write()


def save_value(
    id: str,
    value: Number,
    *,
    interval: tuple[Number, Number] | None = None,
    replications: int | None = None,
) -> None:
    """Save a number of the book's own, which prose quotes by its id.

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
    number = convert_value(id, value)
    pair, count = check_interval(id, interval, replications)
    _values[id] = {"value": number, "interval": pair, "replications": count}
    _write()


def save_values(prefix: str, values: Mapping[str, Number]) -> None:
    """Save several numbers of the book's own, each under a common prefix and its own name.

    Parameters
    ----------
    prefix : str
        What the ids begin with, by custom the notebook's name: a value `gain` of the page
        `four-sources` has the id ``four-sources-gain``.
    values : mapping of str to number
        The numbers, by name.

    Raises
    ------
    ValueError
        As `save_value` does.
    """
    for name, value in values.items():
        save_value(f"{prefix}-{name}", value)


def read_saved_numbers(prefix: str) -> dict[str, float]:
    """Return the values saved in this notebook whose ids have a prefix, by id without the prefix.

    For sentences that depend on many numbers.
    """
    return {
        id.removeprefix(prefix): entry["value"]
        for id, entry in _values.items()
        if id.startswith(prefix)
    }


def is_document_run() -> bool:
    """Whether this run has the documents' own parameters, not those of a reader's rerun."""
    return unchanged_by_hand() if by_hand() else bool(run_facts()["document"])


def _write() -> None:
    content: dict[Literal["records", "values"], Any] = {
        "records": {id: claim.as_dict() for id, claim in _records.items()},
        "values": _values,
    }
    # In one line, which is faster: it is written again after each of hundreds of values.
    write_json(run_folder() / "records.json", content, indent=None)
