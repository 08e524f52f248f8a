"""What a browser needs to recompute the pages of a site, written beside them.

``recompute/code.zip`` holds the library, the pages, what the documents print, the part of
this kit that saves and judges, and the libraries in plain Python that these import, from the
environment that built the book. ``recompute/NAME.json`` holds a page's cells, the declarations of
its parameters, and its published numbers by profile; ``recompute/site.json`` what all have in
common. Worker and panel are copied as they are.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from analysis.fingerprint import PACKAGES
from scorecard.browser import imports, runtime
from scorecard.browser.run import (
    CALIBRATION,
    FILES,
    LARGEST_FILE,
    find_sentences,
    hash_results,
    read_files,
)
from scorecard.collate import Collation, collect_texts
from scorecard.fill import FillError
from scorecard.paths import BOOK, ROOT
from scorecard.record import write_json
from scorecard.running.notebooks import Notebook, all_notebooks, profile_parameters

#: Folder of the site for all of it.
FOLDER = "recompute"
#: JavaScript that is copied there as it is.
SCRIPTS = Path(__file__).with_name("files")
#: Distributions in plain Python that the code imports, and that the runtime does not have.
PLAIN = (
    "PyYAML", "lazy-loader", "tqdm", "threadpoolctl", "Jinja2", "MarkupSafe", "typing-extensions",
    "Ciw",
)  # fmt: skip
#: What a file of the code may end with.
_SUFFIXES = (".py", ".pyi", ".md", ".csv", ".csv.gz", ".yml", ".txt", ".mplstyle")
#: Modules of the kit that run in a browser: below these paths.
_KIT = (
    "__init__.py", "__init__.pyi", "collate.py", "fill.py", "paths.py", "prints.py", "record.py",
    "saving.py", "book.mplstyle", "text.py", "values.py", "verdicts.py", "browser/__init__.py",
    "browser/exact.py", "browser/form.py", "browser/imports.py", "browser/run.py",
)  # fmt: skip
#: Seconds and same bytes of pages in a browser, or why it cannot run one.
TRIALS = BOOK / "profiles" / "browser.csv"


def list_code() -> Iterator[tuple[str, Path]]:
    """Yield the files of the code: path in the archive, and file."""
    for path in _walk(ROOT / "analysis"):
        if "crawl" not in path.parts:  # a crawler needs sockets
            yield path.relative_to(ROOT).as_posix(), path
    for name in _KIT:
        for path in _walk(ROOT / "scorecard" / name):
            yield path.relative_to(ROOT).as_posix(), path
    for path in _walk(BOOK):
        if "_build" not in path.parts and path.parent.name != "profiles":
            yield path.relative_to(ROOT).as_posix(), path
    for name in PLAIN:
        for file in distribution(name).files or ():
            code = file.suffix == ".py" and not {"..", "tests"} & {*file.parts}
            if code or "licenses" in file.parts:
                yield file.as_posix(), Path(str(file.locate()))


def _walk(root: Path) -> Iterator[Path]:
    paths = [root] if root.is_file() else sorted(root.rglob("*"))
    for path in paths:
        if path.is_file() and path.name.endswith(_SUFFIXES) and "__pycache__" not in path.parts:
            yield path


def write_code(archive: Path) -> str:
    """Write the archive of the code, the same bytes for the same files, and return its SHA-256."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in sorted(list_code()):
            packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
        graph = imports.write_imports(PACKAGES)
        packed.writestr(zipfile.ZipInfo(imports.FILE), graph, zipfile.ZIP_DEFLATED)
        # Ciw imports networkx for its detector of deadlocks, which no page uses.
        packed.writestr(zipfile.ZipInfo("networkx.py"), "")
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def write_bundle(collation: Collation, site: Path) -> None:
    """Write all that recomputing needs into a site, but the runtime."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    for path in sorted(SCRIPTS.iterdir()):
        shutil.copyfile(path, folder / path.name)
    (site / runtime.POLICY).write_text(f"{runtime.make_policy()}\n", encoding="utf-8")
    digest = write_code(folder / "code.zip")
    code = {"sha256": digest, "bytes": (folder / "code.zip").stat().st_size}
    facts = {"code": code, "runtime": runtime.read_list(), "calibration": CALIBRATION}
    write_json(folder / "site.json", facts)
    for notebook in all_notebooks().values():
        if notebook.page in collation.runs:
            write_json(folder / f"{notebook.name}.json", describe_page(notebook, collation), None)
    add_profile(collation, site)


def add_profile(collation: Collation, site: Path) -> None:
    """Add the results of a profile to what the pages of a site are compared with."""
    for page in collation.runs:
        path = site / FOLDER / f"{Path(page).name}.json"
        described = json.loads(path.read_bytes())
        described["profiles"][collation.profile] = describe_run(collation, page)
        write_json(path, described, None)


def describe_page(notebook: Notebook, collation: Collation) -> dict[str, Any]:
    """Return a page's text, cells, parameters and relations, and whether a browser can run it."""
    cells = [
        {"id": c["id"], "source": c.source, "tags": c.metadata.get("tags", [])}
        for c in notebook.content.cells
        if c.cell_type == "code"
    ]
    texts = [c.source for c in notebook.content.cells if c.cell_type == "markdown"]
    code = "\n".join(cell["source"] for cell in cells)
    paper = profile_parameters("paper").get(notebook.name, {})
    return {
        "page": notebook.page,
        "name": notebook.name,
        "cells": cells,
        "text": "\n\n".join(texts),
        "elsewhere": find_elsewhere("\n".join(texts), collation),
        "sentences": list_sentences("\n\n".join(texts), notebook.page, collation),
        "parameters": [asdict(parameter) for parameter in notebook.parameters.values()],
        "relations": [{"text": r.text, "reason": r.reason} for r in notebook.relations],
        "documents": notebook.resolve(paper),
        "unavailable": read_trials().get(notebook.name, {}).get("unavailable", ""),
        "differs": read_trials().get(notebook.name, {}).get("differs", ""),
        "policies": bool(_POLICIES.search(code)),
        "files": [name for name in FILES if name in notebook.parameters],
        "largest_file": LARGEST_FILE,
        "profiles": {},
    }


#: A page that simulates policies offers a cell for the reader's own.
_POLICIES = re.compile(r"\b(simulate|simulate_random|compare|long_run|long_run_cycle)\(")
_OF_PAGE = re.compile(r"""pages\["([\w-]+)"\]""")
_OF_ROW = re.compile(r"""\b(?:computed|verdict)\("([^"]+)\"""")


def find_elsewhere(text: str, collation: Collation) -> dict[str, Any]:
    """Return what a page's text quotes of other pages: their values, claims and verdicts."""
    names = set(_OF_PAGE.findall(text))
    values: dict[str, Any] = {}
    for id, entry in collation.values.items():
        if Path(entry["page"]).name in names:
            values.setdefault(entry["page"], {})[id] = entry
    rows = [id for id in _OF_ROW.findall(text) if id in collation.records]
    verdicts = collation.verdicts
    return {
        "values": values,
        "computed": {id: collation.records[id]["value"] for id in rows},
        "verdicts": {id: verdicts[id]["verdict"] for id in rows if id in verdicts},
    }


def list_sentences(text: str, page: str, collation: Collation) -> list[str] | None:
    """Return the keys of a page's published sentences; None if the text cannot be filled."""
    try:
        return sorted(find_sentences(collect_texts(vars(collation)), text, page))
    except FillError:
        return None


def describe_run(collation: Collation, page: str) -> dict[str, Any]:
    """Return a run's parameters, values, verdicts, hashes and tables, to compare with."""
    folder = Path(collation.runs[page]["folder"])
    entries = {**collation.records, **collation.values}
    return {
        "parameters": collation.runs[page]["parameters"],
        "hashes": hash_results(collation, folder, page),
        "files": read_files(folder),
        "values": {id: entry["value"] for id, entry in entries.items() if entry["page"] == page},
        "verdicts": {
            id: entry["verdict"]
            for id, entry in collation.verdicts.items()
            if entry["page"] == page
        },
        "captions": {
            id: product["caption"]
            for id, product in collation.figures.items()
            if product["notebook"] == page
        },
        "seconds": find_seconds(Path(page).name, collation.profile),
    }


@cache
def read_trials() -> dict[str, dict[str, str]]:
    """Return what pages were found to need in a browser, by page.

    ``seconds`` with the parameters of ``profile``, how many values, claims and files were
    ``compared`` with a build by compiled code and had the ``same`` bytes, why others ``differ``;
    or why a browser cannot run the page (``unavailable``). Cells without an answer are empty.
    """
    with TRIALS.open(encoding="utf-8", newline="") as file:
        return {row["page"]: row for row in csv.DictReader(file)}


def find_seconds(page: str, profile: str) -> float | None:
    """Return the measured seconds of a page with the parameters of a profile, or None."""
    trial = read_trials().get(page, {})
    measured = trial.get("profile") == profile and trial["seconds"]
    return float(measured) if measured else None
