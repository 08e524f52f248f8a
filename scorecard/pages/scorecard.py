"""Printed rows on pages: the scorecard, tables from Jinja templates, and links to rows.

A link to a row leads to the place where the page first quotes the row's printed number, computed
value or verdict; for a figure, to the figure that redraws it; else to the row in the page's table.

The scorecard has every row of the documents in one table. It is large, so its HTML is kept small:
cells have no inner elements, optional end tags are omitted, the colour of a verdict is a class of
its cell, and a document is named once, above its rows.

The function that decides a row is a text file of the site, with the constants that it reads; the
row links to it. On the page itself the code would be as long as the text.
"""

from __future__ import annotations

import ast
import json
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from markupsafe import Markup
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxRole

from scorecard.files import ROOT
from scorecard.pages.results import (
    PLACEHOLDER,
    BookDirective,
    HtmlElement,
    read_results,
)
from scorecard.prints import KINDS, Printed, documents, printed_rows
from scorecard.record import BASES, DIGITS
from scorecard.text import escape_markdown, escape_prose, typeset_symbols
from scorecard.verdicts import NUMERIC, VERBAL, VERDICTS

_MENTIONS = "book_row_mentions"


def record_mention(env: BuildEnvironment, id: str) -> bool:
    """Record that this page mentions a row; True on its first mention, which gets the anchor."""
    mentions: dict[str, set[str]] = vars(env).setdefault(_MENTIONS, {})
    pages = mentions.setdefault(id, set())
    is_first = env.docname not in pages
    pages.add(env.docname)
    return is_first


class RowRole(SphinxRole):
    """``{row}`id` ``: the row's id, linked to the place that discusses it."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link without target; `link_rows` sets it once all pages are read."""
        return [nodes.reference("", self.text, internal=True, row=self.text, refuri="")], []


def link_rows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set the targets of the links to rows on a page, and add its rows to the search index.

    A link with the attribute ``tabled`` leads to the row in its page's table; it becomes plain text
    if that is where the row's other link leads too. The index gets the ids of the page's rows, and
    their printed numbers.
    """
    rows, verdicts = printed_rows(), read_results(app).get("verdicts", {})
    mentions: dict[str, set[str]] = vars(app.env).get(_MENTIONS, {})
    for link in [link for link in doctree.findall(nodes.reference) if "row" in link]:
        id = link["row"]
        page, computed = verdicts[id]["page"], verdicts[id]["computed"]
        if page not in app.env.found_docs:
            page = page.rpartition("/")[2]  # a reader's own run has its page at the top
        if page not in app.env.found_docs:
            link.replace_self(link.children)
            continue
        anchor = f"mention-{id}" if page in mentions.get(id, ()) else f"row-{id}"
        if rows[id].kind == "figure" and computed:
            anchor = computed
        if "tabled" in link:
            if anchor == f"row-{id}":
                link.replace_self(link.children)
                continue
            anchor = f"row-{id}"
        uri = app.builder.get_relative_uri(docname, page)
        address = {"href": uri if "#" in uri else f"{uri}#{anchor}"}
        link.replace_self(HtmlElement("", *link.children, element="a", attributes=address))
    for id, verdict in verdicts.items():
        if verdict["page"] == docname:
            row = rows[id]
            keywords = [id, row.printed] if row.kind in NUMERIC else [id]
            entries = [("single", word, f"row-{id}", "main", None) for word in keywords]
            doctree += addnodes.index(entries=entries)


# The code that decides a row


def source_path(name: str) -> str:
    """Return the path in the site of a function's source, given its name ``module:function``."""
    return f"code/{re.sub(r'[^a-zA-Z0-9_]+', '-', name)}.txt"


def write_sources(names: Iterable[str], site: Path) -> None:
    """Write the source of each named function to its file in a site."""
    for name in filter(None, names):
        path = site / source_path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f"# {name.replace(':', ', ')}\n\n{read_predicate(name)}\n", encoding="utf-8"
        )


@cache
def find_deciding_function(page: str, id: str) -> str:
    """Return the function of a page's module that decides a row, as ``module:function``.

    It is the innermost function that makes a claim and names the row, or else the function
    ``claims``, or the last public one that returns a list of `Claim`. Empty if there is none.
    """
    module = f"book.{page.replace('/', '.').replace('-', '_')}"
    if not _source_file(module).exists():
        return ""
    if id in (naming := _index_constants(module)):
        return f"{module}:{naming[id]}"
    makers = [
        f.name for f in _list_functions(module) if f.returns and "Claim" in ast.unparse(f.returns)
    ]
    public = [name for name in makers if not name.startswith("_")]
    chosen = "claims" if "claims" in public else next(reversed(public), "")
    return chosen and f"{module}:{chosen}"


@cache
def _index_constants(module: str) -> dict[str, str]:
    """Return the innermost function that makes claims and has a text among its constants, by text.

    A figure is saved under its row's name, too: what draws it decides nothing.
    """
    innermost: dict[str, str] = {}
    makers = filter(_makes_claims, _list_functions(module))
    for function in sorted(makers, key=_count_lines, reverse=True):
        constants = (node.value for node in ast.walk(function) if isinstance(node, ast.Constant))
        innermost |= {text: function.name for text in constants if isinstance(text, str)}
    return innermost


def _makes_claims(function: ast.FunctionDef) -> bool:
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(name, ast.Name) and name.id in ("claim", "Claim") for name in called)


def _count_lines(function: ast.FunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno


@cache
def _list_functions(module: str) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(_parse(module)[1]) if isinstance(node, ast.FunctionDef)]


#: Packages whose constants are shown with a predicate that reads them.
_OURS = ("analysis.", "book.")


@cache
def read_predicate(name: str) -> str:
    """Return the source of a function, preceded by the constants of the package that it reads.

    `name`: module and function, such as ``book.robots.robots_open:claims``.
    Raises KeyError if the module has no such function.
    """
    module, _, function = name.partition(":")
    text, _ = _parse(module)
    definition = {node.name: node for node in _list_functions(module)}[function]
    names = [n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and n.id.isupper()]
    constants = filter(
        None, (_read_constant(module, constant) for constant in dict.fromkeys(names))
    )
    return "\n".join([*constants, "", *_cut_lines(text, definition)]).strip("\n")


def _read_constant(module: str, name: str) -> str:
    """Return the source of a constant's assignment, in the module or where that imports it from."""
    text, tree = _parse(module)
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            if any(n.id == name and isinstance(n.ctx, ast.Store) for n in names):
                return "\n".join(_cut_lines(text, node))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_OURS):
            imported = {alias.asname or alias.name: alias.name for alias in node.names}
            if name in imported:
                return _read_constant(str(node.module), imported[name])
    return ""


def _cut_lines(text: str, node: ast.stmt) -> list[str]:
    return text.splitlines()[node.lineno - 1 : node.end_lineno]


@cache
def _parse(module: str) -> tuple[str, ast.Module]:
    text = _source_file(module).read_text(encoding="utf-8")
    return text, ast.parse(text)


def _source_file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


# Templates


class CountRole(SphinxRole):
    """``{count}`match` ``: the number of outputs of all documents with an outcome.

    The outcomes are those of `OUTCOMES`; ``{count}`outputs` `` is the number of all.
    """

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the number as text."""
        data = read_results(self.env.app)
        totals = Counter[str]()
        for document in documents():
            for outcome, counts in _count_outputs(data, document).items():
                totals[outcome] += sum(counts.values())
        number = {**totals, "outputs": totals.total()}[self.text]
        return [nodes.inline("", str(number), classes=["book-count"])], []


PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "papermill", "jupyter-book", "sphinx")


class Template(BookDirective):
    """Content of a Jinja template in Markdown; the directive and the template have one name.

    The argument, if there is one, is the key of a document: the content is about it alone.
    """

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed content of the template."""
        text = TEMPLATES.get_template(f"{self.name}.md").render(
            data=self.data,
            rows=printed_rows(),
            documents=documents(),
            only=self.arguments[0] if self.arguments else "",
            page=Path(self.env.docname).name,
            versions={"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
            digits=DIGITS,
            policy=PLACEHOLDER,
            link=self.html_link,
            up=self.up,
        )
        return self.parse_text_to_nodes(text, allow_section_headings=True)

    def html_link(self, text: str, page: str, anchor: str = "") -> Markup:
        """Return a link to another page as HTML, for templates."""
        link = self.link(text, page, anchor)
        if "refuri" not in link:
            return _as_markup(text)
        return Markup('<a href="%s">') % link["refuri"] + _as_markup(text) + Markup("</a>")


def format_computed(verdict: dict[str, Any]) -> str:
    """Return the computed value of a row, and its interval rounded to the same decimals."""
    computed: str = verdict["computed"]
    if not verdict["interval"]:
        return computed
    decimals = re.search(r"\.(\d+)", computed)
    style = ".4g" if "e" in computed else f".{len(decimals[1]) if decimals else 0}f"
    low, high = (format(end, style) for end in verdict["interval"])
    return f"{computed} ({low} to {high})"


#: Verdicts of rows that are inputs of a document's model, or prose; all others are its outputs.
INPUTS = ("used", "context")
#: Outcomes that the coverage table counts outputs by, and the verdicts of each.
OUTCOMES = {
    "match": ("matches", "within the interval", "holds", "redrawn"),
    "match under": ("matches under", "holds under"),
    "explained": ("explained",),
    "do not hold": ("does not hold",),
    "not determined": ("not determined",),
    "differ": ("differs",),
    "done": ("done",),
    "open": ("open",),
}


def _count_outputs(data: dict[str, Any], document: str) -> dict[str, dict[str, int]]:
    """Return the number of a document's outputs by outcome and verdict."""
    rows = printed_rows()
    counts = Counter(
        verdict["verdict"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and verdict["verdict"] not in INPUTS
    )
    return {
        outcome: {v: counts[v] for v in verdicts if counts[v]}
        for outcome, verdicts in OUTCOMES.items()
    }


def _count_bases(data: dict[str, Any], document: str) -> dict[str, int]:
    """Return the number of a document's statements by basis; those without one last."""
    rows = printed_rows()
    counts: Counter[str] = Counter(
        verdict["basis"]
        for id, verdict in data["verdicts"].items()
        if rows[id].document == document and rows[id].kind in VERBAL
    )
    by_basis: dict[str, int] = {
        basis: counts.pop(basis, 0) for basis in BASES if basis != "context"
    }
    return by_basis | {"": counts.total()}


def _explain_verdict(verdict: dict[str, Any]) -> str:
    """Return a verdict's condition, reason and assumed choices as one text."""
    condition = f"Under: {verdict['condition']}" if verdict["condition"] else ""
    choices = "; ".join(verdict["assumes"]) if not condition else ""
    assumed = f"Assumes: {choices}" if choices else ""
    parts = (condition, verdict["reason"], assumed)
    return ". ".join(sentence.rstrip(". ") for sentence in parts if sentence)


def _as_markup(value: Any) -> Markup:
    """Escape a value for Markdown; leave `Markup` untouched."""
    if isinstance(value, Markup):
        return value
    return Markup(escape_markdown(" ".join(str(value).split())))


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    finalize=_as_markup,
    trim_blocks=True,
)
TEMPLATES.globals |= {
    "computed": format_computed,
    "deciding_function": find_deciding_function,
    "inputs": INPUTS,
    "outcomes": OUTCOMES,
    "outputs": _count_outputs,
    "bases": _count_bases,
    "why": _explain_verdict,
}
# A document's text in a table cell, with its formulas as mathematics.
TEMPLATES.filters["printed"] = lambda text: Markup(escape_prose(text).replace("|", r"\|"))
# Words of a verdict in a table cell, with their symbols as mathematics.
TEMPLATES.filters["typeset"] = lambda text: TEMPLATES.filters["printed"](typeset_symbols(text))
TEMPLATES.filters["source_path"] = source_path
# Markdown of this repository in a table cell.
TEMPLATES.filters["cell"] = lambda text: Markup(text.replace("|", r"\|"))
TEMPLATES.filters["json"] = json.dumps
TEMPLATES.filters["sum_values"] = lambda counts: sum(counts.values())


# The scorecard

#: Headings of the columns.
COLUMNS = (
    "Row", "Verdict", "Under, assuming", "Computed", "Printed", "Place", "Kind", "Why", "Basis"
)  # fmt: skip
#: Basis of most rows, which the table leaves out.
USUAL_BASIS = "computed"
#: CSS classes of the verdicts that have a colour.
_SHADES = {
    "agrees": ("matches", "holds", "within the interval"),
    "limited": ("explained", "holds under", "matches under", "not determined"),
    "differs": ("differs", "does not hold"),
}


class Scorecard(BookDirective):
    """All rows, with the choices of the page's filters as data attributes."""

    def run(self) -> list[nodes.Node]:
        """Return the element with the choices, and the table."""
        filters = {
            "verdict": [verdict for verdict in VERDICTS if verdict != "missing"],
            "basis": BASES,
            "kind": KINDS,
        }
        named = {f"data-{name}": "|".join(values) for name, values in filters.items()}
        choices = HtmlElement(element="div", attributes=named | {"hidden": "hidden"})
        choices["ids"].append("scorecard-choices")
        rows = [row for id, row in printed_rows().items() if id in self.data["verdicts"]]
        heads = _line(*([nodes.Text(name)] for name in COLUMNS), cell="th")
        table = HtmlElement("", HtmlElement("", heads, element="thead"), element="table")
        table["classes"] += ["book-scorecard", "table"]
        for document, document_rows in groupby(rows, lambda row: row.document):
            name = HtmlElement("", nodes.Text(documents()[document].short), element="th")
            name["attributes"] = {"colspan": str(len(COLUMNS)), "scope": "rowgroup"}
            title = HtmlElement("", name, element="tr")
            table += HtmlElement("", title, *map(self._row, document_rows), element="tbody")
        return [choices, nodes.container("", table, classes=["book-table"])]

    def _row(self, row: Printed) -> nodes.Element:
        verdict = self.data["verdicts"][row.id]
        basis, computed = verdict["basis"] or "none", format_computed(verdict)
        condition = verdict["condition"] or "; ".join(verdict["assumes"])
        cells: list[Sequence[nodes.Node]] = [
            [_link(row.id, row.id)],
            self.markdown(escape_prose(typeset_symbols(condition))) if condition else [],
            [_link(row.id, computed, tabled=True)] if computed else [],
            self.markdown(escape_prose(row.printed)),
            [nodes.Text(row.place)],
            [nodes.Text(row.kind)],
            self.markdown(escape_prose(typeset_symbols(verdict["reason"])))
            if verdict["reason"]
            else [],
        ]
        line = _line(*cells, *([] if basis == USUAL_BASIS else [[nodes.Text(basis)]]))
        shades = [shade for shade, those in _SHADES.items() if verdict["verdict"] in those]
        cell = HtmlElement("", nodes.Text(verdict["verdict"]), element="td")
        cell["classes"] += [f"verdict-{shade}" for shade in shades]
        line.insert(1, cell)
        return line


def _line(*cells: Sequence[nodes.Node], cell: str = "td") -> nodes.Element:
    return HtmlElement(
        "", *(HtmlElement("", *content, element=cell) for content in cells), element="tr"
    )


def _link(id: str, text: str, **attributes: Any) -> nodes.reference:
    """Return a link to a row; `scorecard.pages.scorecard` sets its target."""
    return nodes.reference("", text, internal=True, row=id, refuri="", **attributes)


def setup(app: Sphinx) -> None:
    """Register the directives."""
    app.add_directive("scorecard", Scorecard)
    app.add_role("count", CountRole())
    for name in TEMPLATES.list_templates(["md"]):
        if name != "macros.md":
            app.add_directive(name.removesuffix(".md"), Template)
