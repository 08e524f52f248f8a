"""No claim is a literal, and pages show the code that leads from model to result."""

import ast
import html
import re
from collections.abc import Iterator
from pathlib import Path

from scorecard.files import BOOK
from scorecard.pages.theme import only_records
from tests.support import read_notebooks

#: Fields of a claim that say what was computed.
COMPUTED = ("value", "explained", "alternatives", "interval")


def cells() -> dict[str, list[str]]:
    """Return the code cells of every page, by the page's place in the book."""
    return {
        notebook.page: [cell.source for cell in notebook.content.cells if cell.cell_type == "code"]
        for notebook in read_notebooks().values()
    }


def page_modules() -> list[Path]:
    """Return the modules of the pages, which state claims and draw figures."""
    return sorted(BOOK.glob("[a-z]*/*.py"))


def literal_claims(code: str) -> Iterator[str]:
    """Yield the ids of claims whose value no computation decides, as the code writes them.

    An expression is a literal where no name stands in it: True, 5, (1, 2), not True, 1 == 14.
    """
    for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)
        if name not in {"Claim", "claim"} or not call.args:
            continue
        given = {word.arg: word.value for word in call.keywords}
        given |= dict(zip(("id", "value"), call.args, strict=False))
        if ast.unparse(given.get("basis", ast.Constant(""))) == "'judged'":
            continue
        if any(_is_literal(given[field]) for field in COMPUTED if field in given):
            yield ast.unparse(given["id"]).strip("'")


def prose_of_claims(code: str) -> Iterator[str]:
    """Yield what a study says to rows in Python and not in the file of their document.

    That is each call of `Claim`, which takes words; and each string of several words in
    a function that calls `claim`, but for docstrings, keys and the messages of errors.
    """
    tree = ast.parse(code)
    for call in _calls(tree, {"Claim"}):
        yield ast.unparse(call)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        if any(_calls(function, {"claim"})):
            yield from _texts(function)


def _calls(tree: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
            if called in names:
                yield node


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node.value
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if docstring or isinstance(node, ast.Raise):
        return
    for name, child in ast.iter_fields(node):
        key = isinstance(node, ast.Subscript) and name == "slice"
        for one in child if isinstance(child, list) else [child]:
            if isinstance(one, ast.AST) and not key:
                yield from _texts(one)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and node.value is None:
        return False
    free = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return not free - {"bool", "float", "int", "round", "abs", "min", "max", "sum", "tuple", "list"}


LEAST_SHARE = 0.95


def test_no_claim_is_a_literal():
    found = [
        f"{page}: {id}"
        for page, content in cells().items()
        for cell in content
        for id in literal_claims(cell)
    ]
    found += [
        f"{path.parent.name}/{path.stem}: {id}"
        for path in page_modules()
        for id in literal_claims(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_page_code_stands_in_html(site):
    """In the text of the built page, but for the cells that only record results."""
    short = {}
    for page, content in cells().items():
        text = html.unescape(re.sub(r"<[^>]+>", "", site.pages[f"{page}.html"].text))
        code = "\n".join(cell for cell in content if not only_records(cell))
        lines = [line for line in code.splitlines() if line.strip()]
        share = sum(line in text for line in lines) / len(lines)
        if share < LEAST_SHARE:
            short[page] = share
    assert short == {}


def words_in_python():
    """Return the modules of pages that answer rows in words, by their path in the book."""
    return {
        path.relative_to(BOOK).as_posix()
        for path in page_modules()
        if any(prose_of_claims(path.read_text(encoding="utf-8")))
    }


def test_words_of_verdicts_are_data():
    assert words_in_python() == set()
