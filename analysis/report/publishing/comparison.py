"""Comparison of two builds or releases of the book.

The rows of the scorecard and of the errata are compared cell by cell; figures, tables, data and
records by their hashes. The cause of a difference is taken from the provenance of the page: other
parameters (a seed among them), other versions of libraries, or other code.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

COLUMNS = ("what", "id", "column", "old", "new", "page", "cause")
#: Compared tables of a site, and the name of one row.
TABLES = {"scorecard.csv": "row", "errata.csv": "erratum"}
#: Columns that are listed first; the others mostly follow from these.
FIRST = ("verdict", "computed", "condition", "basis", "assumes")


def differences(old: Path, new: Path) -> pd.DataFrame:
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
    causes = _CauseFinder(old, new)
    found = [
        line
        for file, what in TABLES.items()
        for line in _cells(what, _table(old / file), _table(new / file), causes)
    ]
    found += _hashes(old, new, causes)
    return pd.DataFrame(found, columns=list(COLUMNS))


def summary(found: pd.DataFrame) -> str:
    """Return the number of differences by kind, and a line for each changed verdict."""
    if found.empty:
        return "no difference"
    counts = Counter(zip(found["what"], found["column"], strict=True))
    lines = [f"{number} {what}: {column}" for (what, column), number in counts.most_common()]
    verdicts = found[(found["what"] == "row") & (found["column"] == "verdict")]
    lines += [
        f"{row['id']}: {row['old'] or 'absent'} -> {row['new'] or 'absent'} ({row['cause']})"
        for row in verdicts.to_dict("records")
    ]
    return "\n".join(lines)


class _CauseFinder:
    """Finds the causes of a page's differences from the provenance in two sites."""

    def __init__(self, old: Path, new: Path) -> None:
        self._old, self._new = _origins(old), _origins(new)

    def of(self, page: str) -> str:
        """Return the causes of the differences on a page as one text."""
        old, new = self._old.get(page), self._new.get(page)
        if old is None or new is None:
            return "the page is in one of the two only"
        causes = []
        for kind in ("parameters", "versions"):
            names = sorted(old[kind].keys() | new[kind].keys())
            causes += [
                f"{_kind(kind, name)} {name}: {old[kind].get(name)} -> {new[kind].get(name)}"
                for name in names
                if old[kind].get(name) != new[kind].get(name)
            ]
        if old["commit"] != new["commit"]:
            causes.append(f"code: {old['commit']} -> {new['commit']}")
        return "; ".join(causes) or "not in the provenance"


def _kind(kind: str, name: str) -> str:
    if kind == "versions":
        return "library"
    return "random" if name == "seed" else "parameter"


def _origins(site: Path) -> dict[str, dict[str, Any]]:
    """Return parameters, versions and commit of each page, from its figures and tables."""
    found: dict[str, dict[str, Any]] = {}
    for part in ("data", "tables", "figures"):
        for path in sorted(site.glob(f"{part}/*.json")):
            entry = json.loads(path.read_text(encoding="utf-8"))
            origin = {name: entry.get(name, {}) for name in ("parameters", "versions")}
            found[entry["notebook"]] = origin | {"commit": entry.get("commit", "")}
    return found


def _table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False).set_index("id")


def _cells(
    what: str, old: pd.DataFrame, new: pd.DataFrame, causes: _CauseFinder
) -> list[tuple[str, ...]]:
    """Return the cells that differ; a row that one table lacks appears once, with its key column.

    The key column is that of the verdict in the scorecard, and of the kind in the errata.
    """
    found: list[tuple[str, ...]] = []
    key = "verdict" if what == "row" else "kind"
    shared = [column for column in new.columns if column in old.columns]
    columns = [c for c in FIRST if c in shared] + [c for c in shared if c not in FIRST]
    for id in dict.fromkeys([*new.index, *old.index]):
        before = old.loc[id] if id in old.index else None
        after = new.loc[id] if id in new.index else None
        present = after if after is not None else before
        assert present is not None
        page = str(present["page"])
        for column in columns if before is not None and after is not None else [key]:
            cells = [str(row.get(column, "")) if row is not None else "" for row in (before, after)]
            if cells[0] != cells[1]:
                found.append((what, id, column, *cells, page, causes.of(page)))
    return found


def _hashes(old: Path, new: Path, causes: _CauseFinder) -> list[tuple[str, ...]]:
    """Return the files and records whose hashes differ, or that one site lacks."""
    found: list[tuple[str, ...]] = []
    manifests = [json.loads((site / "manifest.json").read_text()) for site in (old, new)]
    pages = _pages(old) | _pages(new)
    for what in ("files", "records"):
        before, after = (manifest[what] for manifest in manifests)
        for id in sorted(before.keys() | after.keys()):
            if before.get(id) != after.get(id) and id not in TABLES:
                page = pages.get(id.partition("/")[2].partition(".")[0], "")
                cause = causes.of(page) if page else ""
                hashes = (before.get(id, "")[:12], after.get(id, "")[:12])
                found.append((what.removesuffix("s"), id, "sha256", *hashes, page, cause))
    return found


def _pages(site: Path) -> dict[str, str]:
    """Return the page of each figure, table and data set, by id."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["notebook"]
        for part in ("figures", "tables", "data")
        for path in site.glob(f"{part}/*.json")
    }
