"""Directives whose content is a Jinja template in Markdown, with the functions that these call."""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
from docutils import nodes
from markupsafe import Markup
from sphinx.application import Sphinx

from scorecard.pages.collated import PLACEHOLDER
from scorecard.pages.directives.base import BookDirective
from scorecard.pages.links.predicate_source import deciding_function, source_path
from scorecard.prints import documents, printed_rows
from scorecard.run import DIGITS
from scorecard.saving.claims import BASES
from scorecard.text import escape_markdown, escape_prose, typeset_symbols
from scorecard.verdicts import VERBAL

PACKAGES = ("numpy", "scipy", "numba", "matplotlib", "papermill", "jupyter-book", "sphinx")


class Template(BookDirective):
    """Content of a Jinja template in Markdown; the directive and the template have one name."""

    def run(self) -> list[nodes.Node]:
        """Return the parsed content of the template."""
        text = TEMPLATES.get_template(f"{self.name}.md").render(
            data=self.data,
            rows=printed_rows(),
            documents=documents(),
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


def computed_text(verdict: dict[str, Any]) -> str:
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


def _outputs(data: dict[str, Any], document: str) -> dict[str, dict[str, int]]:
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


def _bases(data: dict[str, Any], document: str) -> dict[str, int]:
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


def _why(verdict: dict[str, Any]) -> str:
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
    "computed": computed_text,
    "deciding_function": deciding_function,
    "inputs": INPUTS,
    "outcomes": OUTCOMES,
    "outputs": _outputs,
    "bases": _bases,
    "why": _why,
}
# A document's text in a table cell, with its formulas as mathematics.
TEMPLATES.filters["printed"] = lambda text: Markup(escape_prose(text).replace("|", r"\|"))
# Words of a verdict in a table cell, with their symbols as mathematics.
TEMPLATES.filters["typeset"] = lambda text: TEMPLATES.filters["printed"](typeset_symbols(text))
TEMPLATES.filters["source_path"] = source_path
# Markdown of this repository in a table cell.
TEMPLATES.filters["cell"] = lambda text: Markup(text.replace("|", r"\|"))
TEMPLATES.filters["json"] = json.dumps


def setup(app: Sphinx) -> None:
    """Register the directives."""
    for name in ("verdicts", "coverage", "bases", "errata", "build-info", "sources-of-book"):
        app.add_directive(name, Template)
