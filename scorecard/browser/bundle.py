"""What a browser needs to recompute the pages of a site, written beside them, and its runtime.

``recompute/code.zip`` holds the library, the pages, what the documents print, the part of
this kit that saves and judges, and the libraries in plain Python that these import, from the
environment that built the book. ``recompute/NAME.json`` holds a page's cells, the declarations of
its parameters, and its published numbers by profile; ``recompute/site.json`` what all have in
common. Worker and panel are copied as they are.

``runtime.json`` lists the files of a Pyodide distribution that pages need, each with its SHA-256,
from the lock file of the distribution. A file is taken from wherever one of that hash can be had.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from analysis.fingerprint import PACKAGES
from scorecard.browser.run import (
    CALIBRATION,
    LARGEST_FILE,
    find_sentences,
    hash_results,
    read_files,
)
from scorecard.browser.stand_ins import GRAPH, write_imports
from scorecard.collate import Collation, collect_texts
from scorecard.files import BOOK, ROOT
from scorecard.fill import FillError
from scorecard.record import write_json
from scorecard.running.notebooks import Notebook, all_notebooks, profile_parameters
from scorecard.values import FILES, book_settings

#: Folder of the site for all of it.
FOLDER = "recompute"
#: List of the files of the runtime.
LIST = Path(__file__).with_name("runtime.json")
#: Folder of a site with the runtime.
RUNTIME = f"{FOLDER}/runtime"
#: File of a site with the policy of the worker, in one line.
WORKER_POLICY = f"{FOLDER}/worker-policy.txt"
#: Seconds to wait for a server that has the runtime.
TIMEOUT = 60
#: JavaScript that is copied there as it is.
SCRIPTS = Path(__file__).with_name("files")
#: Distributions in plain Python that the code imports, and that the runtime does not have.
PLAIN = (
    "PyYAML", "lazy-loader", "tqdm", "threadpoolctl", "Jinja2", "MarkupSafe", "typing-extensions",
)  # fmt: skip
#: What a file of the code may end with.
_SUFFIXES = (".py", ".pyi", ".md", ".csv", ".csv.gz", ".yml", ".txt", ".mplstyle")
#: Modules of the kit that run in a browser: below these paths.
_KIT = (
    "__init__.py", "__init__.pyi", "collate.py", "files.py", "fill.py", "prints.py", "record.py",
    "saving.py", "book.mplstyle", "text.py", "values.py", "verdicts.py", "browser/__init__.py",
    "browser/run.py", "browser/stand_ins.py",
)  # fmt: skip
#: Seconds and same bytes of pages in a browser, or why it cannot run one.
TRIALS = BOOK / "profiles" / "browser.csv"


def list_code() -> Iterator[tuple[str, Path]]:
    """Yield the files of the code: path in the archive, and file."""
    settings = book_settings()["browser"]
    for path in _walk(ROOT / "analysis"):
        if not {*settings["without"]} & {*path.parts}:
            yield path.relative_to(ROOT).as_posix(), path
    for name in _KIT:
        for path in _walk(ROOT / "scorecard" / name):
            yield path.relative_to(ROOT).as_posix(), path
    for path in _walk(BOOK):
        if "_build" not in path.parts and path.parent.name != "profiles":
            yield path.relative_to(ROOT).as_posix(), path
    for name in (*PLAIN, *settings["packages"]):
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
        graph = write_imports(PACKAGES)
        packed.writestr(zipfile.ZipInfo(GRAPH), graph, zipfile.ZIP_DEFLATED)
        for name in book_settings()["browser"]["empty"]:
            packed.writestr(zipfile.ZipInfo(f"{name}.py"), "")
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def write_bundle(collation: Collation, site: Path) -> None:
    """Write all that recomputing needs into a site, but the runtime."""
    folder = site / FOLDER
    folder.mkdir(parents=True)
    for path in sorted(SCRIPTS.iterdir()):
        shutil.copyfile(path, folder / path.name)
    (site / WORKER_POLICY).write_text(f"{make_worker_policy()}\n", encoding="utf-8")
    digest = write_code(folder / "code.zip")
    code = {"sha256": digest, "bytes": (folder / "code.zip").stat().st_size}
    facts = {"code": code, "runtime": read_runtime(), "calibration": CALIBRATION}
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
    policy = book_settings()["browser"]
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
        "policy": policy["policy"] if re.search(policy["policies"], code) else None,
        "files": [name for name in FILES if name in notebook.parameters],
        "largest_file": LARGEST_FILE,
        "profiles": {},
    }


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


# The Python runtime for browsers


class RuntimeMissing(RuntimeError):
    """A file of the runtime cannot be had, or has another hash."""


@cache
def read_runtime() -> dict[str, Any]:
    """Return the list: version, address and files, each with name, SHA-256 and bytes."""
    content: dict[str, Any] = json.loads(LIST.read_bytes())
    return content


def make_worker_policy() -> str:
    """Return the Content-Security-Policy of the worker: this site, and the runtime's address.

    Scripts of the runtime are run from memory, once their hashes are checked.
    """
    return (
        "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; "
        f"connect-src 'self' {read_runtime()['address']}"
    )


def install_runtime(folder: Path, origin: str = "") -> int:
    """Put the files of the runtime into a folder, each checked; return how many were copied.

    `origin`: a folder, or an archive (zip or wheel), that is searched for files of the right names
    before the distribution's own address is asked. Files in the folder that are right stay there.
    Raises RuntimeMissing naming the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copied = 0
    for file in read_runtime()["files"]:
        target = folder / file["name"]
        if target.exists() and _is_right(target.read_bytes(), file):
            continue
        content = _find_file(file, origin)
        new = target.with_name(f".{target.name}~")
        new.write_bytes(content)
        new.replace(target)
        copied += 1
    return copied


def _is_right(content: bytes, file: dict[str, Any]) -> bool:
    return hashlib.sha256(content).hexdigest() == file["sha256"]


def _find_file(file: dict[str, Any], origin: str) -> bytes:
    """Return the content of a file, from the origin or from the distribution's address."""
    wrong = ""
    for place, content in _read_origin(file["name"], origin):
        if _is_right(content, file):
            return content
        wrong = f"{place} has SHA-256 {hashlib.sha256(content).hexdigest()}"
    address = read_runtime()["address"] + file["name"]
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as reply:
            content = reply.read()
    except OSError as error:
        reason = wrong or f"{address} cannot be read ({error})"
        raise RuntimeMissing(
            f"{file['name']}: {reason}; needed is SHA-256 {file['sha256']}: "
            "name a folder or an archive that has the file, with FROM="
        ) from None
    if not _is_right(content, file):
        raise RuntimeMissing(
            f"{file['name']}: {address} has SHA-256 {hashlib.sha256(content).hexdigest()}; needed "
            f"is {file['sha256']}"
        )
    return bytes(content)


def _read_origin(name: str, origin: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a name in a folder or an archive, at any depth: place and content."""
    path = Path(origin)
    if not origin:
        return
    if path.is_dir():
        for found in sorted(path.rglob(name)):
            yield str(found), found.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                if entry.rpartition("/")[2] == name:
                    yield f"{origin}:{entry}", archive.read(entry)
    else:
        raise ValueError(f"from must be a folder or a zip archive, got {origin!r}")
