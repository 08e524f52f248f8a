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
from scorecard.text import as_cell

SCORECARD = [
    "id", "document", "place", "kind", "printed", "computed", "interval_low", "interval_high",
    "verdict", "page", "basis", "assumes", "condition", "reason",
]  # fmt: skip
ERRATA = [
    "id", "document", "place", "printed", "corrected", "record", "page", "kind", "weight",
    "consequence", "also",
]  # fmt: skip


def write_data(found: Collation, site: Path) -> None:
    """Write the site's data files: figures, tables, data, notebooks, scorecard, errata, manifest.

    `site`: a new folder, whose content is copied to the root of the site.
    """
    (site / "notebooks").mkdir(parents=True)
    for part in PRODUCTS:
        (site / part).mkdir()
    edition = this_edition()
    for page, run in found.runs.items():
        folder = Path(run["folder"])
        shutil.copyfile(folder / "notebook.ipynb", site / "notebooks" / f"{Path(page).name}.ipynb")
        for file in run["files"].values():  # the notebook reads them from its own folder
            shutil.copyfile(folder / file["shipped"], site / "notebooks" / file["shipped"])
        for part in PRODUCTS:
            for path in folder.glob(f"{part}/*"):
                if path.suffix != ".json":
                    shutil.copyfile(path, site / part / path.name)
    write_dark_variants(site / "figures")
    for part in PRODUCTS:
        _write_products(found, part, site, edition)
    for name, columns, rows in (
        ("scorecard", SCORECARD, _scorecard(found)),
        ("errata", ERRATA, errata_rows(found)),
    ):
        with (site / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows({k: as_cell(v) for k, v in row.items()} for row in rows)
    write_citation(site, edition)
    write_json(site / "manifest.json", _manifest(found, site))
    if found.document:  # a reader's own run is not published
        write_crate(found, site, edition)


def _write_products(found: Collation, part: str, site: Path, edition: Edition) -> None:
    """Write provenance (and BibTeX, for figures and tables) of each product, and their list."""
    products = getattr(found, part)
    for id, entry in products.items():
        made = {"commit": edition.commit, "profile": found.profile}
        path = Path(found.runs[entry["notebook"]]["folder"]) / "machine.json"
        made |= {"machine": json.loads(path.read_bytes())} if path.exists() else {}
        write_json(site / part / f"{id}.json", {**entry, **made})
        if part != "data":
            cited = bibtex(entry, edition, part=part, document=found.document)
            (site / part / f"{id}.bib").write_text(cited, encoding="utf-8")
    data = f"{edition.address if found.document else ''}data/"
    listed = [
        {key: value for key, value in entry.items() if key != "rows"}
        | {
            "permalink": f"{data}{id}.csv"
            if part == "data"
            else permalink(entry, edition.address, document=found.document)
        }
        for id, entry in products.items()
    ]
    write_json(site / f"{part}.json", listed)


def _scorecard(found: Collation) -> list[dict[str, Any]]:
    """Return the fields of each judged row, of which `SCORECARD` names the columns."""
    rows = []
    for id, verdict in found.verdicts.items():
        low, high = verdict["interval"] or ("", "")
        cells = {"interval_low": low, "interval_high": high}
        cells["assumes"] = "; ".join(verdict["assumes"])
        rows.append(vars(printed_rows()[id]) | verdict | cells)
    return rows


def _manifest(found: Collation, site: Path) -> dict[str, dict[str, str]]:
    """Return the hash of every figure and data file of the site, and of every record."""
    paths = sorted(p for p in site.rglob("*") if p.suffix in {".svg", ".pdf", ".png", ".csv"})
    files = {
        path.relative_to(site).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }
    records = {
        id: hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
        for id, entry in sorted({**found.records, **found.values}.items())
    }
    return {"files": files, "records": records}
