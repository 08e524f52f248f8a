"""Data files of the site: figures, tables, data, notebooks, scorecard, errata, one archive of all.

The dark variant of a figure is the same SVG with other colours: white, black and the greys between
them are inverted, and line colours of low contrast on a dark background are made lighter. Colour
maps and the text on them are not changed.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
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
from scorecard.run import write_json
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
    write_dark_variants(site / "figures")
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


#: Background and text colour of the theme's dark mode, and replacements of dark line colours.
PAPER, INK = (0x12, 0x12, 0x12), (0xCE, 0xD6, 0xDD)
LIGHTER = {"#0072b2": "#3d9fdb", "#d55e00": "#f07a28", "#009e73": "#1fb88d"}
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_MAP = re.compile(r'<g id="QuadMesh|<image')
_AXES = re.compile(r'(?=<g id="(?:axes|legend|figure)_\d+">)')
#: The first path of a panel, its background rectangle: left, bottom, right, top.
_FRAME = re.compile(r'<path d="M ([\d.]+) ([\d.]+)\s+L ([\d.]+) [\d.]+\s+L [\d.]+ ([\d.]+)')
#: A text element of a panel up to its coordinates; a box may come before these.
_TEXT = re.compile(
    r'^(   <g id="text_\d+")((?:(?!^   </g>).)*?<g transform="translate\((\S+) (\S+)\))',
    re.MULTILINE | re.DOTALL,
)


def darken_svg(svg: str) -> str:
    """Return an SVG drawing with the colours of the dark variant.

    `svg`: content of an SVG file of Matplotlib with a white background and black text.
    """
    ink = "#{:02x}{:02x}{:02x}".format(*INK)
    svg = svg.replace("<svg ", f'<svg fill="{ink}" ', 1)
    return "".join(map(_darken_axes, _AXES.split(svg)))


def _darken_axes(panel: str) -> str:
    """Change the colours of one panel; text on a colour map stays black."""
    if not _MAP.search(panel):
        return _COLOUR.sub(_darken_colour, panel)
    frame = _FRAME.search(panel)
    assert frame is not None
    x_min, y_min, x_max, y_max = map(float, frame.groups())

    def restore_black(text: re.Match[str]) -> str:
        x, y = float(text[3]), float(text[4])
        on_the_map = x_min <= x <= x_max and y_max <= y <= y_min
        return f'{text[1]} fill="#000000"{text[2]}' if on_the_map else text[0]

    return _TEXT.sub(restore_black, _COLOUR.sub(_darken_colour, panel))


def _darken_colour(match: re.Match[str]) -> str:
    colour = match[0]
    rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    if max(rgb) - min(rgb) > 12:
        return LIGHTER.get(colour, colour)
    share = sum(rgb) / 765
    mixed = (round(ink + share * (paper - ink)) for ink, paper in zip(INK, PAPER, strict=True))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def write_dark_variants(figures: Path) -> None:
    """Write the dark variant of every SVG file in a folder, as ``NAME.dark.svg``."""
    for path in [*figures.glob("*.svg")]:
        dark = path.with_name(path.name.removesuffix("svg") + "dark.svg")
        dark.write_text(darken_svg(path.read_text(encoding="utf-8")), encoding="utf-8")
