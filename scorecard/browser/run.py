"""Run the cells of a page in a reader's browser, judge its claims, and compare with the book.

A Web Worker imports this module and calls `answer`. There is neither a kernel nor a compiler, and
no process beside it: cells run one after the other in one namespace, in a folder as the runner
prepares it, and save what they save everywhere; `scorecard.collate` then reads that folder.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import inspect
import io
import json
import math
import os
import re
import shutil
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sized
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml

from scorecard import record
from scorecard.browser.stand_ins import check_text, replace_missing
from scorecard.collate import PRODUCTS, Collation, collate
from scorecard.files import BOOK
from scorecard.fill import FillError, Text
from scorecard.prints import printed_rows
from scorecard.text import pluralise
from scorecard.values import FILES, ParameterError, Relation

#: The number of rows of the reader's table, in a range or a relation.
ROWS = re.compile(r"\bN\b")
#: Greatest number of bytes of a reader's file.
LARGEST_FILE = 20_000_000
#: Greatest number of characters of a cell's result that is shown.
LONGEST_OUTPUT = 20_000
#: Folder of the run, and of the reader's files.
FOLDER = Path("/tmp/run")
INBOX = Path("/tmp")
#: Seconds of `calibrate` on the machine, and with the runtime, with which pages were timed.
CALIBRATION = 0.09
#: Beginning and end of a number in a text whose sentences are compared.
_START, _STOP = "\ue000", "\ue001"
_NUMBER = re.compile(f"{_START}(.*?){_STOP}", re.DOTALL)
_DIGITS = re.compile(r"\d[\d.,]*(?<=\d)")
_ROLE = re.compile(r"\{[\w:-]+\}`([^`<]*?)(?: <[^`>]*>)?`")
#: Lines of Markdown that are no prose: fences, options, headings, tables, labels, HTML, formulas.
_NO_PROSE = re.compile(r"\s*(?:`{3}|:|#|\||\(\S+\)=|<|\$\$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
#: All variants of figures; an earlier run may have left some out.
_variants: dict[str, Any] = {}
Report = Callable[[str, int, int], None]


class CellFailed(RuntimeError):
    """A cell raised an error; the message names the cell, the line and the error."""


def answer(text: str, report: Report) -> str:
    """Run a page as a request asks, and return its results as JSON.

    `text`: the request as JSON: ``page`` as `scorecard.browser.bundle` describes it, ``given``
    values as texts by parameter, ``files`` with names of parameters, ``policy`` (code that runs
    after the cells), ``variants`` of figures,
    ``profiles`` with published results by name, and whether cells are ``edited``;
    `report` is called before each cell, with its id, its position and the number of cells.
    """
    replace_missing()
    request = json.loads(text)
    page, profiles = request["page"], request["profiles"]
    files = {name: (INBOX / f"{name}.csv").read_bytes() for name in request["files"]}
    try:
        parameters = check_parameters(page, request["given"], files)
    except ValueError as error:
        return json.dumps({"refused": {"parameter": find_name(page, error), "message": str(error)}})
    own = files or request["edited"]
    fitting = (name for name in profiles if profiles[name]["parameters"] == parameters)
    profile = None if own else next(fitting, None)
    document = not files and parameters == page["documents"]
    cells = [*page["cells"]]
    if request["policy"]:
        cells.append({"id": "policy", "source": request["policy"], "tags": []})
    published = profiles[profile or next(iter(profiles))]
    started = time.perf_counter()
    outputs = run_cells(
        {**page, "cells": cells},
        parameters,
        FOLDER,
        report,
        files,
        document,
        profile or "paper",
        request["variants"],
    )
    collation = collate(
        [FOLDER], profile=profile or "paper", document=document or bool(profile), complete=False
    )
    found = compare(collation, FOLDER, page["page"], published, alike=bool(profile))
    return json.dumps(
        {
            "seconds": time.perf_counter() - started,
            "profile": profile,
            "comparison": found,
            "products": read_products(collation, FOLDER),
            **fill(page, collation, document),
            "shown": outputs.get("policy", ""),
            "notebook": make_notebook(cells, parameters),
        }
    )


def check_parameters(
    page: Mapping[str, Any], given: Mapping[str, str], files: Mapping[str, bytes]
) -> dict[str, Any]:
    """Return a page's parameters from the texts of a form, checked as `make run` checks them.

    Raises ValueError that begins with the name of the parameter, or states a relation.
    """
    declared = {entry["name"]: entry for entry in page["parameters"]}
    tables = yaml.safe_load((BOOK / "_tables.yml").read_text(encoding="utf-8"))
    table: Sized | None = None
    for name, content in files.items():
        if len(content) > LARGEST_FILE:
            raise ParameterError(
                f"{name} must have at most {LARGEST_FILE} bytes, got {len(content)}"
            )
        if name == "signals":  # which mean nothing without their sources
            continue
        try:
            table = resolve_name(tables[name][declared[name]["allowed"]])(
                str(INBOX / f"{name}.csv")
            )
        except ValueError as error:
            raise ParameterError(f"{name} cannot be read: {error}") from None
    numbers: dict[str, Any] = {}
    relations = [Relation.parse(entry["text"], entry["reason"]) for entry in page["relations"]]
    if any(
        ROWS.search(entry.get("allowed", entry.get("text")))
        for entry in [*page["parameters"], *page["relations"]]
    ):
        file = next((name for name in FILES if name in declared), FILES[0])
        numbers["N"] = len(resolve_name(tables[file]["default"])() if table is None else table)
    for name, entry in declared.items():
        numbers[name] = "" if name in FILES else check_text(entry, given[name], numbers)
    for relation in relations:
        relation.check(numbers)
    numbers.pop("N", None)
    if together := tables.get("together", {}).get(page["name"]):
        paths = {name: str(INBOX / f"{name}.csv") if name in files else "" for name in FILES}
        resolve_name(together)(table, numbers | paths)
    return numbers


def find_name(page: Mapping[str, Any], error: ValueError) -> str:
    """Return the parameter that an error is about: the first one that its message names."""
    names = [entry["name"] for entry in page["parameters"]]
    words = str(error).replace("(", " ").replace("[", " ").split()
    return next((word.strip(",:)]'") for word in words if word.strip(",:)]'") in names), "")


def run_cells(
    page: Mapping[str, Any],
    parameters: Mapping[str, Any],
    folder: Path,
    report: Report,
    files: Mapping[str, bytes],
    document: bool,
    profile: str,
    variants: Collection[str] = ("svg", "dark.svg"),
) -> dict[str, str]:
    """Run a page's cells in a new folder, and return what their last lines show, by cell.

    Raises CellFailed.
    """
    _prepare_figures(variants)
    os.chdir(folder.parent)  # the folder in which a process is cannot be removed everywhere
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    given = dict(parameters)
    described = {}
    for parameter, content in files.items():
        given[parameter] = name = f"{parameter}.csv"
        (folder / name).write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        described[parameter] = {"name": name, "shipped": name, "sha256": digest}
    facts = {
        "notebook": page["page"],
        "parameters": given,
        "given": given,
        "document": document or profile == "quick",
        "profile": profile,
        "files": described,
    }
    record.write_json(folder / "run.json", facts)
    (folder / "seconds.txt").write_text("0\n")
    os.environ[record.VARIABLE] = str(folder)
    _forget_run()
    os.chdir(folder)
    return _run_cells(page["cells"], given, report)


def _prepare_figures(variants: Collection[str]) -> None:
    """Have figures drawn without a screen, in the variants that a page shows, as SVG.

    A Matplotlib older than 3.10 gets the option of box plots that it lacks.
    """
    os.environ["MPLBACKEND"] = "agg"
    from matplotlib.axes import Axes

    from scorecard import saving

    saving.FORMATS = ("svg",)  # type: ignore[assignment]
    _variants.update(saving.VARIANTS)
    saving.VARIANTS = {ending: _variants[ending] for ending in variants}
    boxplot = Axes.boxplot
    if "orientation" in inspect.signature(boxplot).parameters:
        return

    def draw_boxes(self: Any, *args: Any, orientation: str = "vertical", **options: Any) -> Any:
        return boxplot(self, *args, vert=orientation == "vertical", **options)

    Axes.boxplot = draw_boxes  # type: ignore[method-assign]


def _forget_run() -> None:
    """Forget an earlier run of this process: its facts, the ids it used, and what it saved."""
    record.run_facts.cache_clear()
    for saved in (record.saved, record._claims, record._values):
        saved.clear()


def _run_cells(
    cells: list[dict[str, Any]], given: Mapping[str, Any], report: Report
) -> dict[str, str]:
    space: dict[str, Any] = {"__name__": "__main__"}
    outputs: dict[str, str] = {}
    for position, cell in enumerate(cells):
        report(cell["id"], position, len(cells))
        name = f"<cell {position + 1}>"
        try:
            shown = _run_cell(cell["source"], name, space)
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in trace if frame.filename == name]
            where = "your own policy" if cell["id"] == "policy" else f"cell {position + 1}"
            line = f", line {lines[-1]}" if lines else ""
            raise CellFailed(f"{where}{line}: {type(error).__name__}: {error}") from error
        if "parameters" in cell["tags"]:
            space.update(given)
        outputs[cell["id"]] = shown[:LONGEST_OUTPUT]
    return outputs


def _run_cell(source: str, name: str, space: dict[str, Any]) -> str:
    """Run one cell; return its last line's value as text, if that is an expression."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), space)
    if last is None:
        return ""
    assert isinstance(last, ast.Expr)
    value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    return "" if value is None else str(value)


def hash_results(collation: Collation, folder: Path, page: str) -> dict[str, str]:
    """Return the SHA-256 of each value, claim and data file of a run, as the manifest has them."""
    hashes = {
        id: hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
        for id, entry in {**collation.records, **collation.values}.items()
        if entry["page"] == page
    }
    for name, path in _find_files(folder):
        hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def read_files(folder: Path) -> dict[str, str]:
    """Return the texts of the data files of a run by name."""
    return {name: path.read_text(encoding="utf-8") for name, path in _find_files(folder)}


def _find_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for kind in PRODUCTS:
        for path in sorted(folder.glob(f"{kind}/*.csv")):
            yield f"{kind}/{path.name}", path


def compare(
    collation: Collation, folder: Path, page: str, published: Mapping[str, Any], *, alike: bool
) -> dict[str, Any]:
    """Compare a run with published results: how many are the same bytes, and what differs.

    `published`: ``hashes`` by id or file, ``files`` with the texts of files, ``values`` by id, and
    ``verdicts`` by row; `alike`: whether it has the same parameters. Otherwise only numbers that
    both have are listed. ``largest`` is the greatest relative difference of numbers, None if there
    is none or something else differs.
    """
    texts, published_texts = read_files(folder), published["files"]
    hashes, expected = hash_results(collation, folder, page), published["hashes"]
    values = published["values"]
    here = {id: entry["value"] for id, entry in {**collation.records, **collation.values}.items()}
    differences = [
        {
            "id": id,
            **(
                describe_tables(published_texts[id], texts[id])
                if id in texts and id in published_texts
                else _describe_difference(id, values, here, expected, hashes)
            ),
        }
        for id in sorted({*hashes, *expected} if alike else {*values} & {*here})
        if hashes.get(id) != expected.get(id)
    ]
    verdicts = published["verdicts"]
    judged = {
        id: entry["verdict"]
        for id, entry in collation.verdicts.items()
        if entry["verdict"] != "missing"
    }
    for id, verdict in judged.items() if alike else ():
        if verdicts.get(id) != verdict:
            published_verdict = verdicts.get(id, "none")
            differences.append(
                {"id": id, "published": published_verdict, "here": verdict, "relative": None}
            )
    relative = [difference["relative"] for difference in differences]
    return {
        "all": len({*hashes, *expected}),
        "same": sum(hashes.get(id) == expected[id] for id in expected),
        "judged": len(judged),
        "verdicts": sum(verdicts.get(id) == verdict for id, verdict in judged.items()),
        "differences": differences,
        "largest": max(relative) if relative and None not in relative else None,
    }


def _describe_difference(
    id: str,
    values: Mapping[str, Any],
    here: Mapping[str, Any],
    expected: Mapping[str, str],
    hashes: Mapping[str, str],
) -> dict[str, Any]:
    """Return what is published and what is here: numbers, or the beginnings of hashes."""
    if id in values or id in here:
        before: Any = values.get(id)
        after: Any = here.get(id)
        note, relative = "", None
        if type(before) in (int, float) and type(after) in (int, float) and before != after:
            note = f" ({after - before:+.3g})"
            relative = abs(after - before) / max(abs(before), abs(after))
        elif before == after:
            note = " (its words or its interval differ)"
        return {
            "published": "none" if id not in values else str(before),
            "here": "none" if id not in here else f"{after}{note}",
            "relative": relative,
        }
    short = (entry.get(id, "") for entry in (expected, hashes))
    published, own = (f"SHA-256 {digest[:12]}…" if digest else "none" for digest in short)
    return {"published": published, "here": own, "relative": None}


def describe_tables(published: str, here: str) -> dict[str, Any]:
    """Return where two CSV texts differ most: a column and a row, and by how much.

    Differences of numbers count relative to the greatest published number of their column, and
    other cells that differ before them: ``relative`` is then None. Rows are counted from 1, without
    the header.
    """
    (heads, *before), (own_heads, *after) = _read_table(published), _read_table(here)
    if heads != own_heads:
        return {
            "published": f"columns {', '.join(heads)}",
            "here": f"columns {', '.join(own_heads)}",
            "relative": None,
        }
    if len(before) != len(after):
        rows, own_rows = (pluralise(len(cells), "row") for cells in (before, after))
        return {"published": rows, "here": own_rows, "relative": None}
    largest, columns, count = (-1.0, 0, 0), set(), 0
    for column, head in enumerate(heads):
        cells = [
            (_cell(old, column), _cell(new, column)) for old, new in zip(before, after, strict=True)
        ]
        scale = max((abs(n) for old, _ in cells if (n := _read_number(old)) is not None), default=0)
        for row, (old, new) in enumerate(cells):
            if old == new:
                continue
            count += 1
            columns.add(head)
            first, second = _read_number(old), _read_number(new)
            change = math.inf
            if first is not None and second is not None:
                change = abs(second - first) / (scale or 1)
            largest = max(largest, (change, -column, -row))
    if not count:
        same = "the same cells"
        return {"published": same, "here": f"{same}, in other bytes", "relative": 0.0}
    column, row = -largest[1], -largest[2]
    old, new = _cell(before[row], column), _cell(after[row], column)
    relative = None if math.isinf(largest[0]) else largest[0]
    by = "" if relative is None else f" ({float(new) - float(old):+.3g})"
    where = f"column {heads[column]!r}, row {row + 1}"
    others = f"; the largest of {count} differences, in {len(columns)} of {len(heads)} columns"
    return {
        "published": f"{where}: {old}",
        "here": f"{new}{by}{others if count > 1 else ''}",
        "relative": relative,
    }


def _read_table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))) or [[]]


def _cell(row: list[str], column: int) -> str:
    return row[column] if column < len(row) else ""


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_products(collation: Collation, folder: Path) -> dict[str, dict[str, Any]]:
    """Return figures, tables and data of a run, with the texts of their files."""
    products: dict[str, dict[str, Any]] = {kind: {} for kind in PRODUCTS}
    for kind in PRODUCTS:
        for id, product in getattr(collation, kind).items():
            path = folder / kind / id
            texts: dict[str, Any] = {"csv": path.with_name(f"{id}.csv").read_text(encoding="utf-8")}
            if kind == "figures":
                texts["pictures"] = {
                    picture.name.removeprefix(f"{id}."): picture.read_text(encoding="utf-8")
                    for picture in path.parent.glob(f"{id}.*svg")
                }
            products[kind][id] = product | texts
    return products


def fill(page: Mapping[str, Any], collation: Collation, document: bool) -> dict[str, Any]:
    """Return the numbers and the new sentences of a page's text.

    ``filled``: the numbers by the attribute ``data-value`` of their elements; ``sentences``: those
    that stand under conditions which the published run does not fulfil. The first is None if the
    text asks for what a run of this page alone does not have.
    """
    elsewhere = page["elsewhere"]
    computed = {id: entry["value"] for id, entry in collation.records.items()}
    verdicts = {id: entry["verdict"] for id, entry in collation.verdicts.items()}
    texts = Text(
        {**elsewhere["values"], page["page"]: collation.values},
        {**elsewhere["computed"], **computed},
        {id: row.printed for id, row in printed_rows().items()},
        {**elsewhere["verdicts"], **verdicts},
        document,
    )
    try:
        texts.fill(page["text"], page["page"])
        sentences = find_sentences(texts, page["text"], page["page"])
    except FillError:
        return {"filled": None, "sentences": []}
    known = page["sentences"]
    new = [text for key, text in sentences.items() if key not in known] if known else []
    return {"filled": texts.filled, "sentences": new}


class _MarkedText(Text):
    """A text whose numbers are marked."""

    def write(self, text: str, source: str) -> str:
        return f"{_START}{super().write(text, source)}{_STOP}"


def find_sentences(texts: Text, template: str, page: str) -> dict[str, str]:
    """Return the sentences of a page's text, by keys that do not depend on their numbers.

    Raises FillError if the text asks for what is not there.
    """
    marked = _MarkedText(
        texts.values, texts.computed, texts.printed, texts.verdicts, texts.document
    )
    lines = marked.fill(template, page).split("\n")
    prose = "\n".join("" if _NO_PROSE.match(line) else line for line in lines)
    sentences = {}
    for paragraph in re.split(r"\n\s*\n", prose):
        for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
            words = _DIGITS.sub("#", _NUMBER.sub("#", sentence))
            key = hashlib.sha256(words.encode()).hexdigest()[:16]
            sentences[key] = _ROLE.sub(r"\1", _NUMBER.sub(r"\1", sentence))
    sentences.pop(hashlib.sha256(b"").hexdigest()[:16], None)
    return sentences


def calibrate() -> float:
    """Return the seconds of a fixed loop in Python: the least of three times.

    Divided by `CALIBRATION` it says how much longer pages take here than where they were timed.
    """
    times = []
    for _ in range(3):
        started = time.perf_counter()
        total = 0
        for number in range(500_000):
            total += number * number % 7
        times.append(time.perf_counter() - started)
    return min(times)


def make_notebook(cells: list[dict[str, Any]], parameters: Mapping[str, Any]) -> str:
    """Return a notebook of the cells with their parameters, as JSON."""
    made = []
    for cell in cells:
        source = cell["source"]
        if "parameters" in cell["tags"]:
            source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
        made.append(
            {"cell_type": "code", "id": cell["id"], "metadata": {}, "source": source,
             "execution_count": None, "outputs": []}
        )  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
