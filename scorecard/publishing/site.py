"""Data files of the site: figures, tables, data, notebooks, verdicts, errata, an archive of all."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from scorecard.collate import PRODUCTS, Collation, list_errata
from scorecard.prints import documents, printed_rows
from scorecard.publishing.citation import (
    Edition,
    format_bibtex,
    format_row_bibtex,
    permalink,
    read_edition,
    write_citation,
)
from scorecard.publishing.metadata import write_crate
from scorecard.record import write_json
from scorecard.text import encode_csv, escape_cell

SCORECARD = [
    "id", "document", "place", "kind", "printed", "computed", "interval_low", "interval_high",
    "verdict", "page", "basis", "assumes", "condition", "reason",
]  # fmt: skip
ERRATA = [
    "id", "document", "place", "printed", "corrected", "record", "page", "kind", "weight",
    "consequence", "also",
]  # fmt: skip


def write_data(collation: Collation, site: Path) -> None:
    """Write the site's data files: figures, tables, data, notebooks, scorecard, errata, manifest.

    `site`: a new folder, whose content is copied to the root of the site.
    """
    (site / "notebooks").mkdir(parents=True)
    for product_kind in PRODUCTS:
        (site / product_kind).mkdir()
    edition = read_edition()
    for page, run in collation.runs.items():
        folder = Path(run["folder"])
        shutil.copyfile(folder / "notebook.ipynb", site / "notebooks" / f"{Path(page).name}.ipynb")
        for file in run["files"].values():  # the notebook reads them from its own folder
            shutil.copyfile(folder / file["shipped"], site / "notebooks" / file["shipped"])
        for product_kind in PRODUCTS:
            for path in folder.glob(f"{product_kind}/*"):
                if path.suffix != ".json":
                    shutil.copyfile(path, site / product_kind / path.name)
    for product_kind in PRODUCTS:
        _write_products(collation, product_kind, site, edition)
    for name, columns, rows in (
        ("scorecard", SCORECARD, _list_verdicts(collation)),
        ("errata", ERRATA, list_errata(collation)),
    ):
        text = io.StringIO()
        table = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows({k: escape_cell(v) for k, v in row.items()} for row in rows)
        (site / f"{name}.csv").write_bytes(encode_csv(text.getvalue()))
    write_citation(site, edition)
    write_json(site / "manifest.json", _hash_files(collation, site))
    if collation.document:  # a reader's own run is not published
        _write_row_citations(collation, site / "rows", edition)
        write_crate(collation, site, edition)
        pack_data(site)


def _write_products(collation: Collation, product_kind: str, site: Path, edition: Edition) -> None:
    """Write provenance (and BibTeX, for figures and tables) of each product, and their list."""
    products = getattr(collation, product_kind)
    for id, entry in products.items():
        facts = {"commit": edition.commit, "profile": collation.profile}
        path = Path(collation.runs[entry["notebook"]]["folder"]) / "machine.json"
        facts |= {"machine": json.loads(path.read_bytes())} if path.exists() else {}
        write_json(site / product_kind / f"{id}.json", {**entry, **facts})
        if product_kind != "data":
            cited = format_bibtex(
                entry, edition, product_kind=product_kind, document=collation.document
            )
            (site / product_kind / f"{id}.bib").write_text(cited, encoding="utf-8")
    data = f"{edition.address if collation.document else ''}data/"
    listed = [
        {key: value for key, value in entry.items() if key != "rows"}
        | {
            "permalink": f"{data}{id}.csv"
            if product_kind == "data"
            else permalink(entry, edition.address, document=collation.document)
        }
        for id, entry in products.items()
    ]
    write_json(site / f"{product_kind}.json", listed)


def _write_row_citations(collation: Collation, folder: Path, edition: Edition) -> None:
    folder.mkdir()
    for id, verdict in collation.verdicts.items():
        row = printed_rows()[id]
        title = documents()[row.document].title
        entry = format_row_bibtex(row, title, verdict, edition)
        (folder / f"{id}.bib").write_text(entry, encoding="utf-8")


#: Archive of the site with all data, and the suffixes of its members.
ALL_DATA = "all-data.zip"
_DATA_SUFFIXES = {".csv", ".json", ".bib", ".cff"}


def pack_data(site: Path) -> None:
    """Write all data of a site to one archive: tables, numbers behind figures, provenance."""
    paths = sorted(path for path in site.rglob("*") if path.suffix in _DATA_SUFFIXES)
    with zipfile.ZipFile(site / ALL_DATA, "w") as archive:
        for path in paths:
            # The bytes depend on names and contents only: an entry without a date has that of 1980.
            member = zipfile.ZipInfo(f"which-source-next/{path.relative_to(site).as_posix()}")
            archive.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _list_verdicts(collation: Collation) -> list[dict[str, Any]]:
    """Return the fields of each judged row, of which `SCORECARD` names the columns."""
    rows = []
    for id, verdict in collation.verdicts.items():
        low, high = verdict["interval"] or ("", "")
        cells = {"interval_low": low, "interval_high": high}
        cells["assumes"] = "; ".join(verdict["assumes"])
        rows.append(vars(printed_rows()[id]) | verdict | cells)
    return rows


def _hash_files(collation: Collation, site: Path) -> dict[str, dict[str, str]]:
    """Return the hash of every figure and data file of the site, and of every record."""
    paths = sorted(p for p in site.rglob("*") if p.suffix in {".svg", ".pdf", ".png", ".csv"})
    files = {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }
    records = {
        id: hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
        for id, entry in sorted({**collation.records, **collation.values}.items())
    }
    return {"files": files, "records": records}
