"""Comparison of two builds or releases of the book, and of a build with its repetition.

The rows of the scorecard and of the errata are compared cell by cell; figures, tables, data and
records by their hashes. The cause of a difference is taken from the provenance of the page: other
parameters (a seed among them), other versions of libraries, or other code. `repeat_jobs` runs
every notebook again with two threads, and compares all files.
"""

from __future__ import annotations

import filecmp
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from scorecard.running.kernels import COMPILATION, WARNINGS
from scorecard.running.runner import Job, run_jobs

COLUMNS = ("what", "id", "column", "old", "new", "page", "cause")
#: Compared tables of a site, and the name of one row.
TABLES = {"scorecard.csv": "row", "errata.csv": "erratum"}
#: Columns that are listed first; the others mostly follow from these.
FIRST = ("verdict", "computed", "condition", "basis", "assumes")


def compare_sites(old: Path, new: Path) -> pd.DataFrame:
    """Compare two sites of the book.

    `old`, `new`: folders with ``scorecard.csv``, ``errata.csv`` and ``manifest.json``: the
    ``html`` of a build, or of an unpacked release. Returns one line a difference, with the columns
    `COLUMNS`: rows of the tables cell by cell, then files and numbers by their hash. Empty where
    the sites agree. Raises ValueError if a folder is not a site of the book.
    """
    for name, site in (("old", old), ("new", new)):
        for file in (*TABLES, "manifest.json"):
            if not (site / file).is_file():
                raise ValueError(f"{name} must be a site of the book with {file}, got {site}")
    old_pages, old_origins = _read_provenance(old)
    new_pages, new_origins = _read_provenance(new)
    lines = [
        line
        for file, what in TABLES.items()
        for line in _compare_cells(what, old / file, new / file)
    ]
    lines += _compare_hashes(old, new, old_pages | new_pages)
    causes = [_find_causes(old_origins, new_origins, page) if page else "" for *_, page in lines]
    return pd.DataFrame(lines, columns=list(COLUMNS[:-1])).assign(cause=causes)


def summarise_changes(changes: pd.DataFrame) -> str:
    """Return the number of differences by kind, and a line for each changed verdict."""
    if changes.empty:
        return "no difference"
    counts = Counter(zip(changes["what"], changes["column"], strict=True))
    lines = [f"{number} {what}: {column}" for (what, column), number in counts.most_common()]
    verdicts = changes[(changes["what"] == "row") & (changes["column"] == "verdict")]
    lines += [
        f"{row['id']}: {row['old'] or 'absent'} -> {row['new'] or 'absent'} ({row['cause']})"
        for row in verdicts.to_dict("records")
    ]
    return "\n".join(lines)


def _read_provenance(site: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return the page of each figure, table and data set, and the origin of each page.

    An origin has the parameters, versions and commit.
    """
    pages: dict[str, str] = {}
    origins: dict[str, dict[str, Any]] = {}
    for product in ("data", "tables", "figures"):
        for path in sorted(site.glob(f"{product}/*.json")):
            entry = json.loads(path.read_bytes())
            pages[path.stem] = page = entry["notebook"]
            origins[page] = {name: entry.get(name, {}) for name in ("parameters", "versions")}
            origins[page]["commit"] = entry.get("commit", "")
    return pages, origins


def _find_causes(
    old_origins: dict[str, dict[str, Any]], new_origins: dict[str, dict[str, Any]], page: str
) -> str:
    """Return the causes of the differences on a page as one text."""
    old, new = old_origins.get(page), new_origins.get(page)
    if old is None or new is None:
        return "the page is in one of the two only"
    causes = []
    for kind, label in (("parameters", "parameter"), ("versions", "library")):
        before, after = old[kind], new[kind]
        causes += [
            f"{'random' if name == 'seed' else label} {name}: "
            f"{before.get(name)} -> {after.get(name)}"
            for name in sorted(before.keys() | after.keys())
            if before.get(name) != after.get(name)
        ]
    if old["commit"] != new["commit"]:
        causes.append(f"code: {old['commit']} -> {new['commit']}")
    return "; ".join(causes) or "not in the provenance"


def _compare_cells(what: str, old_path: Path, new_path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the cells that differ; a row that one table lacks appears once, with its key column.

    The key column is that of the verdict in the scorecard, and of the kind in the errata.
    """
    key = "verdict" if what == "row" else "kind"
    old, new = (pd.read_csv(p, dtype=str, keep_default_na=False) for p in (old_path, new_path))
    shared = [str(column) for column in new if column in old]
    columns = sorted(shared, key=lambda c: FIRST.index(c) if c in FIRST else len(FIRST))
    old_rows, new_rows = ({str(r["id"]): r for r in t.to_dict("records")} for t in (old, new))
    for id in dict.fromkeys([*new_rows, *old_rows]):
        before, after = old_rows.get(id, {}), new_rows.get(id, {})
        for column in columns if before and after else [key]:
            cells = before.get(column, ""), after.get(column, "")
            if cells[0] != cells[1]:
                yield (what, id, column, *cells, (after or before)["page"])


def _compare_hashes(old: Path, new: Path, pages: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the files and records whose hashes differ, or that one site lacks."""
    manifests = [json.loads((site / "manifest.json").read_bytes()) for site in (old, new)]
    for what in ("files", "records"):
        before, after = (manifest[what] for manifest in manifests)
        for id in sorted(before.keys() | after.keys()):
            if before.get(id) != after.get(id) and id not in TABLES:
                page = pages.get(id.partition("/")[2].partition(".")[0], "")
                hashes = (before.get(id, "")[:12], after.get(id, "")[:12])
                yield (what.removesuffix("s"), id, "sha256", *hashes, page)


THREADS = 2  # the first run has one
#: Files that may differ between runs: times, the machine, and warnings.
VARYING = {"seconds.txt", "cpu.txt", COMPILATION, WARNINGS, "machine.json"}


def repeat_jobs(jobs: Sequence[Job]) -> dict[str, list[str]]:
    """Run jobs again in a temporary folder, and return the files of each that differ.

    `jobs`: jobs whose results are up to date. Returns names of the differing files by page. Raises
    RuntimeError if a result is not there or not up to date; RunFailed if a notebook fails.
    """
    for job in jobs:
        if not job.up_to_date:
            raise RuntimeError(f"{job.notebook.name} has no new result: run 'make book' first")
    with tempfile.TemporaryDirectory(dir=jobs[0].target.parent) as folder:
        again = [replace(job, target=Path(folder) / job.notebook.page) for job in jobs]
        run_jobs(again, threads=THREADS)
        return {
            job.notebook.page: _compare_files(job.target, other.target)
            for job, other in zip(jobs, again, strict=True)
        }


def _compare_files(first: Path, again: Path) -> list[str]:
    names = {
        path.relative_to(top).as_posix()
        for top in (first, again)
        for path in top.rglob("*")
        if path.is_file() and path.name not in VARYING
    }
    _, different, missing = filecmp.cmpfiles(first, again, names, shallow=False)
    return sorted([*different, *missing])
