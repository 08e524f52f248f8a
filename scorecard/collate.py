"""Collect the results of all notebooks and judge every row.

Checks that span notebooks: a row is recorded once, an id is used once, every row of
`scorecard.prints` has a record, and every erratum refers to a row whose verdict shows an error.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scorecard.files import BOOK
from scorecard.fill import FillError, Text
from scorecard.prints import WEIGHTS, documents, errata, no_erratum, printed_rows
from scorecard.record import Claim, read_record
from scorecard.verdicts import (
    ERRATUM_KINDS,
    TYPO,
    RecordError,
    add_words,
    classify_erratum,
    find_page,
    judge,
)

DATA = "collated.json"
#: Fields of a claim that are used up, or stand elsewhere, once it has its words.
NOT_SHOWN = ("id", "numbers", "conditional")
#: Kinds of products: attributes of a `Collation`, and folders of a run and of a site.
PRODUCTS = ("figures", "tables", "data")
_THEOREM = re.compile(
    r"^`{3,}\{prf:(?:theorem|proposition|lemma|corollary)\}[^\n]*\n:label: (?P<label>\S+)$", re.M
)


class CollationError(RuntimeError):
    """The results of the notebooks are incomplete or contradictory; one line a problem."""


@dataclass
class Collation:
    """The collected results of notebooks."""

    profile: str  # profile of the runs
    document: bool  # whether the runs have the documents' own parameters
    # Id -> {"page", and the other fields of `scorecard.Claim`}, with the row's words.
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Id -> {"page", "value", "interval", "replications"}.
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Id -> description as `save_figure` wrote it.
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Id -> description as `save_table` wrote it.
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Id -> description as `save_data` wrote it.
    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Page -> {"parameters", "given", "files", "seconds"}.
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    # Id -> judgement of each printed row, as a dictionary.
    verdicts: dict[str, dict[str, Any]] = field(default_factory=dict)


def collate(
    folders: list[Path], *, profile: str, document: bool = True, complete: bool = True
) -> Collation:
    """Collect the results of runs and judge every row that they record.

    `document`: whether the runs have the documents' own parameters; `complete`: whether these are
    all the book's notebooks: then every row must have a record, and every erratum must refer to
    rows whose verdicts show an error. Raises CollationError naming every id used twice, row
    without a record, and erratum or record that fails a check.
    """
    collation = Collation(profile, document)
    problems: list[str] = []
    claims: dict[str, Claim] = {}
    for folder in folders:
        problems += _add_run(collation, claims, folder)
    for id, row in printed_rows().items() if document else ():
        claim = claims.get(id)
        if claim is None and not complete:
            continue
        try:
            judgement = judge(row, claim, collation.figures)
        except RecordError as error:
            problems.append(str(error))
            continue
        page = collation.records[id]["page"] if claim else ""
        collation.verdicts[id] = vars(judgement) | {"page": page}
    problems += _find_missing_proofs(collation) + _find_ambiguous_experiments(collation)
    if complete:
        problems += [
            f"{id}: no notebook records this row"
            for id, verdict in collation.verdicts.items()
            if verdict["verdict"] == "missing"
        ]
        problems += (
            _find_unknown_quotations(collation)
            + _find_unfounded_errata(collation)
            + _find_unequal_slips(collation)
        )
        # Simulations of the quick profile are too short: their verdicts are not those of the book.
        problems += [] if profile == "quick" else _find_uncovered_rows(collation)
    if problems:
        raise CollationError("\n".join(problems))
    return collation


def _add_run(collation: Collation, claims: dict[str, Claim], folder: Path) -> list[str]:
    """Add a run's results to what is collated and its claims, with words; return the problems."""
    run = _read(folder / "run.json")
    page, record = run["notebook"], read_record(folder)
    problems = []
    records = {}
    for entry in record["claims"]:
        try:
            claim = Claim(**entry)
            claim = add_words(claim) if collation.document else claim
        except RecordError as error:
            problems.append(str(error))
            continue
        if (filed := find_page(claim.id)) not in ("", Path(page).name):
            problems.append(f"{claim.id}: its words are filed under the page {filed}, not {page}")
        claims[claim.id] = claim
        records[claim.id] = {k: v for k, v in asdict(claim).items() if k not in NOT_SHOWN}
    for collected, new in ((collation.records, records), (collation.values, record["values"])):
        problems += [
            f"{id} is saved by both {collected[id]['page']} and {page}"
            for id in new
            if id in collected
        ]
        collected.update({id: {**entry, "page": page} for id, entry in new.items()})
    used_ids = {
        id: entry["notebook"]
        for product in PRODUCTS
        for id, entry in getattr(collation, product).items()
    }
    for product in PRODUCTS:
        new = {path.stem: _read(path) for path in sorted(folder.glob(f"{product}/*.json"))}
        problems += [
            f"the id {id} is used in both {used_ids[id]} and {page}" for id in new if id in used_ids
        ]
        getattr(collation, product).update(new)
    collation.runs[page] = {
        **{name: run[name] for name in ("parameters", "given", "files")},
        "seconds": float((folder / "seconds.txt").read_text()),
        "folder": str(folder),
    }
    return problems


def _find_missing_proofs(collation: Collation) -> list[str]:
    """Return a problem for each row whose proof is not the label of a theorem of the book."""
    pages = (page.read_text(encoding="utf-8") for page in BOOK.glob("*/*.md"))
    theorems = {match["label"] for page in pages for match in _THEOREM.finditer(page)}
    return [
        f"{id}: it is proved by {verdict['proof']!r}, which no page has as a theorem"
        for id, verdict in collation.verdicts.items()
        if verdict["proof"] and verdict["proof"] not in theorems
    ]


def _find_ambiguous_experiments(collation: Collation) -> list[str]:
    """Return a problem for each experiment whose rows are judged under more than one reading."""
    readings: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for id, entry in collation.records.items():
        if entry["experiment"]:
            readings[entry["experiment"]][entry["reading"]].append(id)
    return [
        f"one experiment, one reading: {experiment!r} is read as "
        + " and as ".join(
            f"{reading!r} ({', '.join(ids)})" for reading, ids in ids_by_reading.items()
        )
        for experiment, ids_by_reading in readings.items()
        if len(ids_by_reading) > 1
    ]


def _find_unknown_quotations(collation: Collation) -> list[str]:
    texts, problems = collect_texts(vars(collation)), []
    for erratum in errata().values():
        try:
            texts.fill(f"{erratum.corrected} {erratum.consequence}")
        except FillError as error:
            problems.append(f"erratum {erratum.id}: it quotes what no notebook saves: {error}")
    return problems


def _find_unfounded_errata(collation: Collation) -> list[str]:
    return [
        f"erratum {erratum.id}: {row} {collation.verdicts[row]['verdict']}, which shows no error: "
        f"only {', '.join(ERRATUM_KINDS)} do"
        for erratum in errata().values()
        for row in erratum.rows
        if row in collation.verdicts
        and not classify_erratum(collation.verdicts[row]["verdict"], erratum.typo)
    ]


def _find_unequal_slips(collation: Collation) -> list[str]:
    """Return a problem for each slip whose rows have more than one verdict."""
    slips: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for id, erratum in errata().items():
        if erratum.record in collation.verdicts:
            slips[erratum.slip or id][id] = collation.verdicts[erratum.record]["verdict"]
    return [
        f"one slip, one verdict: {slip!r} is {verdicts}"
        for slip, verdicts in slips.items()
        if len(set(verdicts.values())) > 1
    ]


def _find_uncovered_rows(collation: Collation) -> list[str]:
    """Return a problem for each false row without erratum or reason, and each needless reason."""
    covered = {row for erratum in errata().values() for row in erratum.rows}
    uncovered = [
        f"{id} does not hold and has no erratum: add one, or its reason to no_erratum.csv"
        for id, verdict in collation.verdicts.items()
        if verdict["verdict"] == "does not hold" and id not in covered | no_erratum().keys()
    ]
    needless = [
        f"no_erratum.csv: {id} has an erratum, or does not fail to hold"
        for id in no_erratum()
        if id in covered or collation.verdicts.get(id, {}).get("verdict") != "does not hold"
    ]
    return uncovered + needless


def summarise(collation: Collation) -> str:
    """Return the scorecard in one line."""
    counts = Counter(verdict["verdict"] for verdict in collation.verdicts.values())
    total = sum(document.rows for document in documents().values())
    parts = [f"{number} {verdict}" for verdict, number in counts.most_common()]
    judged = sum(verdict["basis"] == "judged" for verdict in collation.verdicts.values())
    parts.append(f"{judged} judged by a person")
    to_come = total - len(printed_rows())
    return (
        f"scorecard: {len(printed_rows())} rows: {', '.join(parts)}; {to_come} rows still to come"
    )


def collect_texts(collation: Mapping[str, Any], *, for_sphinx: bool = False) -> Text:
    """Return what texts may ask for; `collation`: the fields of a `Collation`."""
    values: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for page in collation["runs"]:
        values[page] = {}
    for id, entry in collation["values"].items():
        values[entry["page"]][id] = entry
    return Text(
        values,
        {id: entry["value"] for id, entry in collation["records"].items()},
        {id: row.printed for id, row in printed_rows().items()},
        {id: verdict["verdict"] for id, verdict in collation["verdicts"].items()},
        collation["document"],
        for_sphinx,
    )


def list_errata(collation: Collation) -> list[dict[str, str]]:
    """Return the errata whose rows have a verdict, the weightiest first, with numbers filled in.

    A text that quotes the number of a page without a run refers to the book.
    """
    texts = collect_texts(vars(collation))

    def fill(template: str) -> str:
        try:
            return texts.fill(template)
        except FillError:
            return "(see the book)"

    kinds = (*ERRATUM_KINDS.values(), TYPO)
    standing = [
        (erratum, classify_erratum(collation.verdicts[erratum.record]["verdict"], erratum.typo))
        for erratum in errata().values()
        if erratum.record in collation.verdicts
    ]
    standing.sort(key=lambda entry: (WEIGHTS.index(entry[0].weight), kinds.index(entry[1])))
    return [
        {
            "id": erratum.id,
            "document": erratum.document,
            "place": erratum.place,
            "printed": erratum.printed,
            "corrected": fill(erratum.corrected),
            "record": erratum.record,
            "also": " ".join(erratum.also),
            "page": collation.records[erratum.record]["page"],
            "kind": kind,
            "weight": erratum.weight,
            "consequence": fill(erratum.consequence),
        }
        for erratum, kind in standing
    ]


def _read(path: Path) -> Any:
    return json.loads(path.read_bytes())
