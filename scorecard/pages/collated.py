"""The collated results of the notebooks, as directives and roles read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from scorecard.collate import DATA
from scorecard.prints import printed_rows
from scorecard.text import format_plus_minus, typeset_powers

#: What a page has in the place of the policy of the site, known once all pages are rendered.
PLACEHOLDER = "CONTENT-SECURITY-POLICY-OF-THIS-SITE"


def results(app: Sphinx) -> dict[str, Any]:
    """Return the results that `scorecard.collate` gathered for this build."""
    return _read(Path(app.srcdir) / DATA)


@cache
def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_bytes()))


class ResultRole(SphinxRole):
    """Base class of the roles that show a result; an unknown id is an error on the page's log."""

    def result(self) -> nodes.Node:
        """Return the node of the result that the role's text names."""
        raise NotImplementedError

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the node, or report an error."""
        try:
            return [self.result()], []
        except (KeyError, ValueError, TypeError) as error:
            message = self.inliner.reporter.error(f"{self.name} {self.text!r}: {error!r}")
            return [nodes.problematic(self.rawtext, self.rawtext)], [message]


def number_text(data: Mapping[str, Any], kind: str, text: str) -> str:
    """Return the text of one of the number roles.

    `text`: id of the number, and after a colon an optional format. ``±2`` gives two decimals, and
    half the width of the number's interval unless that is zero. Raises KeyError, ValueError or
    TypeError if there is no such number, or the format does not apply to it.
    """
    id, _, style = text.partition(":")
    if kind == "printed":
        return typeset_powers(printed_rows()[id].printed)
    if kind == "verdict":
        return str(data["verdicts"][id]["verdict"])
    entry = data["records" if kind == "computed" else "values"][id]
    value = entry["value"]
    if style.startswith("±"):
        low, high = entry["interval"] or (value, value)
        return format_plus_minus(value, (high - low) / 2, int(style[1:]))
    if isinstance(value, list):
        return "[" + ", ".join(format(entry, style) for entry in value) + "]"
    return typeset_powers(format(value, style))
