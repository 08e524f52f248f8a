"""Data files of the site: figures, tables, data, notebooks, scorecard, errata and manifest."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from scorecard.collate import PRODUCTS, Collation, errata_rows
from scorecard.prints import printed_rows
from scorecard.publishing.dark_figures import write_dark_variants
from scorecard.publishing.metadata.address import permalink
from scorecard.publishing.metadata.citation import (
    Edition,
    bibtex,
    this_edition,
    write_citation,
)
from scorecard.publishing.metadata.crate import write_crate
from scorecard.run import write_json
from scorecard.text import escape_cell

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
    edition = this_edition()
    for page, run in collation.runs.items():
        folder = Path(run["folder"])
        shutil.copyfile(folder / "notebook.ipynb", site / "notebooks" / f"{Path(page).name}.ipynb")
        for file in run["files"].values():  # the notebook reads them from its own folder
            shutil.copyfile(folder / file["shipped"], site / "notebooks" / file["shipped"])
        for product_kind in PRODUCTS:
            for path in folder.glob(f"{product_kind}/*"):
                if path.suffix != ".json":
                    shutil.copyfile(path, site / product_kind / path.name)
    write_dark_variants(site / "figures")
    for product_kind in PRODUCTS:
        _write_products(collation, product_kind, site, edition)
    for name, columns, rows in (
        ("scorecard", SCORECARD, _scorecard(collation)),
        ("errata", ERRATA, errata_rows(collation)),
    ):
        with (site / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows({k: escape_cell(v) for k, v in row.items()} for row in rows)
    write_citation(site, edition)
    write_json(site / "manifest.json", _manifest(collation, site))
    if collation.document:  # a reader's own run is not published
        write_crate(collation, site, edition)


def _write_products(collation: Collation, product_kind: str, site: Path, edition: Edition) -> None:
    """Write provenance (and BibTeX, for figures and tables) of each product, and their list."""
    products = getattr(collation, product_kind)
    for id, entry in products.items():
        facts = {"commit": edition.commit, "profile": collation.profile}
        path = Path(collation.runs[entry["notebook"]]["folder"]) / "machine.json"
        facts |= {"machine": json.loads(path.read_bytes())} if path.exists() else {}
        write_json(site / product_kind / f"{id}.json", {**entry, **facts})
        if product_kind != "data":
            cited = bibtex(entry, edition, product_kind=product_kind, document=collation.document)
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


def _scorecard(collation: Collation) -> list[dict[str, Any]]:
    """Return the fields of each judged row, of which `SCORECARD` names the columns."""
    rows = []
    for id, verdict in collation.verdicts.items():
        low, high = verdict["interval"] or ("", "")
        cells = {"interval_low": low, "interval_high": high}
        cells["assumes"] = "; ".join(verdict["assumes"])
        rows.append(vars(printed_rows()[id]) | verdict | cells)
    return rows


def _manifest(collation: Collation, site: Path) -> dict[str, dict[str, str]]:
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
