"""Cells of notebooks on their pages: those that only record are removed, folded ones labelled."""

from __future__ import annotations

import ast
import re

from docutils import nodes
from sphinx.application import Sphinx

_CALLS = re.compile(r"\b(?:page|figures)\.(\w+)\(")
#: Functions that record results: those of `scorecard`, and those of pages that save or draw.
_RECORDING = re.compile(r"record_claims|exercises\.\w+|(\w+\.)?(save|draw)_\w+")


def remove_recording_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the cells that only record results and have no output."""
    for cell in _code_cells(doctree):
        if len(cell.children) == 1 and only_records(cell.astext()):
            cell.parent.remove(cell)


def only_records(code: str) -> bool:
    """Whether all statements of a cell are calls of functions that record results.

    A cell that also sets a variable, imports or ends in a value does more.
    """
    try:
        statements = ast.parse(code).body
    except SyntaxError:  # a magic command of IPython
        return False
    return bool(statements) and all(map(_records, statements))


def _records(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If | ast.For):
        return all(map(_records, [*statement.body, *statement.orelse]))
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    function = ast.unparse(statement.value.func)
    return bool(_RECORDING.fullmatch(function))


def label_folded_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Set the labels that show and hide each folded cell."""
    for cell in _code_cells(doctree):
        if cell.get("hide_mode"):
            does = describe_cell(cell.children[0].astext())
            cell["prompt_show"] = f"Show the code: {does}"
            cell["prompt_hide"] = f"Hide the code: {does}"


def describe_cell(code: str) -> str:
    """Describe the code of a cell in a few words.

    The words are those of a comment in its first line, or else names of functions that it calls, or
    of variables that it sets.
    """
    first = code.strip().partition("\n")[0]
    if first.startswith("#"):
        return first.lstrip("# ").rstrip(".")
    if re.match(r"\w+: \w[\w\[\]]* = ", first):
        return "parameters of this page"
    if "record_claims(" in code:
        return "claims on the printed rows"
    if names := list(dict.fromkeys(_CALLS.findall(code))):
        objects = (re.sub(r"^(save|draw)_", "", name) for name in names[:3])
        return ", ".join(objects).replace("_", " ")
    if re.match(r"(from|import) ", first):
        return "imports"
    names = re.findall(r"^(\w+)(?:, \w+)* = ", code, re.M) or re.findall(r"^([a-z]\w*)", code, re.M)
    return ", ".join(dict.fromkeys(names[:3])).replace("_", " ") or "this step"


def _code_cells(doctree: nodes.document) -> list[nodes.container]:
    cells = doctree.findall(nodes.container)
    return [cell for cell in cells if cell.get("nb_element") == "cell_code"]
