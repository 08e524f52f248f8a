"""Every number, statement and figure that the documents print, as data.

``DOCUMENT.csv``   rows `id, place, kind, printed, unit, unit_reason, lost, note`, typed from the
                   document and repeated nowhere else: `unit` is the rounding unit of an approximate
                   print, `unit_reason` the document's words for it ("around 160" is 160 in units of
                   10), `lost` what is missing of an image
``errata/``        a CSV a document, `id, place, printed, corrected, record, also, slip, typo,
                   weight, consequence`: the verdict on the row `record` is the evidence; `also` are
                   further rows that it covers; errata of one `slip` have one verdict; `typo` is
                   "yes" if the document means the corrected form; `weight` is one of `WEIGHTS`.
                   The kind follows from the verdict (`scorecard.verdicts.classify_erratum`)
``no_erratum.csv`` the reason for each row that does not hold and has no erratum
``verdicts/``      a file a document with the texts of verdicts (`scorecard.verdicts`)
``documents.csv``  the number of rows of each document, so that missing rows are counted
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scorecard.files import BOOK

#: The data: beside a downloaded notebook, or else in the book.
_FOLDERS = (Path("book/published").resolve(), BOOK / "published")
FOLDER = _FOLDERS[0] if _FOLDERS[0].is_dir() else _FOLDERS[1]
KINDS = (
    "number",
    "table-cell",
    "figure",
    "statement",
    "algorithm",
    "claim",
    "parameter",
    "premise",
    "future",
    "reference",
)
#: What an erratum concerns, the weightiest first: a number, policy or theorem that readers use;
#: a proof, a derivation or a formula that fails as it stands; or the notation alone.
WEIGHTS = ("result", "argument", "notation")


@dataclass(frozen=True)
class Printed:
    """One row of what a document prints.

    Attributes
    ----------
    id : str
        Permanent name of the row.
    document : str
        Key of the document in `documents`.
    place : str
        Where it stands: section, equation, table or figure.
    kind : str
        One of `KINDS`.
    printed : str
        What is printed there.
    unit : float or None
        Rounding unit of an approximate print.
    unit_reason : str
        The words of the document that make the print approximate; given where `unit` is.
    lost : str
        What is lost of an image; empty where the text holds what the image shows.
    note : str
        A remark for readers of the scorecard.
    """

    id: str
    document: str
    place: str
    kind: str
    printed: str
    unit: float | None
    unit_reason: str = ""
    lost: str = ""
    note: str = ""


@dataclass(frozen=True)
class Erratum:
    """One correction, with the row whose verdict is its evidence.

    `also` holds further rows of the document that the same slip decides; `slip` names a mistake
    that several errata have in common; `typo` is true if the document means the corrected form;
    `weight` is one of `WEIGHTS`, and `consequence` a sentence for the reader.
    """

    id: str
    document: str
    place: str
    printed: str
    corrected: str
    record: str
    also: tuple[str, ...] = ()
    slip: str = ""
    typo: bool = False
    weight: str = "notation"
    consequence: str = ""

    @property
    def rows(self) -> tuple[str, ...]:
        """All rows that the erratum covers, the one with its evidence first."""
        return (self.record, *self.also)


@dataclass(frozen=True)
class Document:
    """One of the documents, with its number of rows."""

    key: str
    title: str
    short: str
    citation: str
    rows: int


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@cache
def documents() -> dict[str, Document]:
    """Return the documents by key, in the book's order."""
    rows = _read(FOLDER / "documents.csv")
    return {row["key"]: Document(**{**row, "rows": int(row["rows"])}) for row in rows}  # type: ignore[arg-type]


@cache
def printed_rows() -> dict[str, Printed]:
    """Return every printed row, by id.

    Raises
    ------
    ValueError
        If an id occurs twice, a kind is unknown, a rounding unit has no reason, or something other
        than an image is lost.
    """
    rows: dict[str, Printed] = {}
    for key in documents():
        path = FOLDER / f"{key}.csv"
        for raw in _read(path) if path.exists() else []:
            unit = float(raw["unit"]) if raw["unit"] else None
            row = Printed(**{**raw, "document": key, "unit": unit})  # type: ignore[arg-type]
            if row.id in rows:
                raise ValueError(f"{path.name}: the id {row.id!r} occurs twice")
            _check(path.name, row)
            rows[row.id] = row
    return rows


def _check(file: str, row: Printed) -> None:
    if row.kind not in KINDS:
        raise ValueError(f"{file}: {row.id}: kind must be one of {KINDS}, got {row.kind}")
    if (row.unit is None) != (not row.unit_reason):
        raise ValueError(
            f"{file}: {row.id}: unit and unit_reason go together, got {row.unit} and "
            f"{row.unit_reason!r}"
        )
    if row.lost and row.kind != "figure":
        raise ValueError(f"{file}: {row.id}: only a figure is lost, this is a {row.kind}")


def list_rows() -> list[Path]:
    """Return the files with the rows of the documents, which pages read."""
    unread = ("no_erratum.csv", "quotations.csv")
    return [path for path in FOLDER.glob("*.csv") if path.name not in unread]


@cache
def errata() -> dict[str, Erratum]:
    """Return every erratum, by id.

    Raises
    ------
    ValueError
        If an id occurs twice or names a row that does not exist, `typo` or the weight is unknown,
        or the consequence is missing.
    """
    by_id: dict[str, Erratum] = {}
    for key in documents():
        path = FOLDER / "errata" / f"{key}.csv"
        for raw in _read(path) if path.exists() else []:
            also, typo = tuple(raw["also"].split()), raw["typo"] == "yes"
            erratum = Erratum(**{**raw, "document": key, "also": also, "typo": typo})  # type: ignore[arg-type]
            where = f"errata/{path.name}: {erratum.id}"
            if erratum.id in by_id:
                raise ValueError(f"{where}: the id occurs twice")
            for row in erratum.rows:
                if row not in printed_rows():
                    raise ValueError(f"{where}: there is no row {row!r}")
            if raw["typo"] not in ("yes", ""):
                raise ValueError(f"{where}: typo must be 'yes' or empty, got {raw['typo']!r}")
            if erratum.weight not in WEIGHTS:
                raise ValueError(
                    f"{where}: weight must be one of {WEIGHTS}, got {erratum.weight!r}"
                )
            if not erratum.consequence:
                raise ValueError(f"{where}: consequence is missing")
            by_id[erratum.id] = erratum
    return by_id


@cache
def no_erratum() -> dict[str, str]:
    """Return the reason why a row that does not hold has no erratum, by row."""
    path = FOLDER / "no_erratum.csv"
    return {row["record"]: row["reason"] for row in _read(path)}


def printed_number(row_id: str) -> float:
    """Return the number that a row prints, for tables that set print and computation side by side.

    Raises
    ------
    KeyError
        If there is no such row.
    ValueError
        If the row does not print a number.
    """
    return float(printed_rows()[row_id].printed)
