"""Explorables: interactive figures, computed in the browser.

``{explorable} its-id`` writes a hidden element with the attribute ``data-explorable="its-id"`` and
its input as JSON: the page's parameters, saved values, columns of a figure's data, and printed
numbers of the documents. The scripts in ``book/explorables`` draw the explorable and unhide it;
without JavaScript the reader sees the static figure that ``:figure:`` names. Only pages with an
explorable load the scripts.

Options      ``:figure:`` id of the static figure beside it; ``:values:`` ids of saved values;
             ``:data:`` id of a figure, table or experiment whose data are included, ``:columns:``
             the columns of these data;
             ``:printed:`` ids of printed rows; ``:notebook:`` name of another page's notebook whose
             parameters are included; ``:instead:`` id of the element that it replaces on screens
             where its script runs.

Two filters of texts link a saved value with an explorable. The reader can drag the number
``{{ v.budget | sets("its-id", "control", "d") }}``, or change it by keys, to set a control.
``{{ v.gain | follows("its-id", "number", ".2f") }}`` is replaced by the explorable's own number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from scorecard.collate import PRODUCTS
from scorecard.pages.results import BookDirective
from scorecard.prints import printed_rows

#: Folder of the scripts and styles, below ``book/``, and the scripts that all explorables need.
FOLDER = "explorables"
COMMON_SCRIPTS = ("math.js", "frame.js", "plot.js")
#: Significant digits of the data in the JSON.
DIGITS = 8


def _names(argument: str | None) -> list[str]:
    return (argument or "").split()


class Explorable(BookDirective):
    """The element of an explorable, with its input."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {
        "figure": directives.unchanged_required,
        "values": _names,
        "data": directives.unchanged_required,
        "columns": _names,
        "printed": _names,
        "notebook": directives.unchanged_required,
        "instead": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return the element as raw HTML, which builders other than HTML ignore."""
        id, figure = self.arguments[0], self.options.get("figure")
        if figure not in self.data["figures"]:
            raise self.error(f"explorable {id} needs the id of a figure, got {figure!r}")
        values = self._named("values", self.data["values"], "no notebook saved a value")
        printed = self._named("printed", printed_rows(), "no document prints a row")
        data = {
            "parameters": self._parameters(),
            "values": {name: entry["value"] for name, entry in values.items()},
            "rows": self._rows(),
            "printed": {name: row.printed for name, row in printed.items()},
        }
        instead = f'data-instead="{self.options["instead"]}" ' if "instead" in self.options else ""
        # "</script>" within the JSON would end the element.
        content = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        html = (
            f'<div class="explorable" id="{id}" data-explorable="{id}" data-figure="{figure}" '
            f'{instead}hidden><script type="application/json">{content}</script></div>'
        )
        self.env.metadata[self.env.docname].setdefault("views", []).append(self._script(id))
        return [nodes.raw("", html, format="html")]

    def _script(self, id: str) -> str:
        """Return the file name of the script that defines an explorable."""
        for path in sorted((Path(self.env.srcdir) / FOLDER).glob("*.js")):
            if f'define("{id}"' in path.read_text(encoding="utf-8"):
                return path.name
        raise self.error(f"no script in {FOLDER} defines {id!r}")

    def _parameters(self) -> Any:
        name = self.options.get("notebook", Path(self.env.docname).name)
        (run,) = [run for page, run in self.data["runs"].items() if Path(page).name == name]
        return run["parameters"]

    def _named(self, option: str, entries: Mapping[str, Any], problem: str) -> dict[str, Any]:
        """Return the entries whose ids an option lists."""
        ids = self.options.get(option, [])
        if unknown := [id for id in ids if id not in entries]:
            raise self.error(f"{problem} {unknown[0]!r}")
        return {id: entries[id] for id in ids}

    def _rows(self) -> dict[str, list[Any]]:
        """Return the columns of the CSV that ``:data:`` and ``:columns:`` name; none without."""
        if "data" not in self.options:
            return {}
        name, columns = self.options["data"], self.options.get("columns", [])
        paths = [Path(self.env.srcdir) / "_site" / product / f"{name}.csv" for product in PRODUCTS]
        path = next(filter(Path.exists, paths), None)
        if path is None:
            raise self.error(f"no notebook saved data {name!r}")
        if not columns:
            raise self.error(f":data: {name} needs :columns:, the columns to put on the page")
        frame = pd.read_csv(path)
        if missing := [column for column in columns if column not in frame.columns]:
            raise self.error(f"{path.name} has no column {missing[0]!r}")
        return {column: [_short(value) for value in frame[column].tolist()] for column in columns}


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if isfinite(value) else None


def add_scripts_folder(app: Sphinx) -> None:
    """Copy the scripts to ``_static`` (jupyter-book would load what is in ``book/_static``)."""
    folder = Path(app.srcdir) / FOLDER
    if folder.is_dir():
        app.config.html_static_path.append(str(folder))


def load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the scripts and styles of a page's explorables (event ``html-page-context``)."""
    views = app.env.metadata.get(page, {}).get("views")
    if not views:
        return
    for name in dict.fromkeys([*COMMON_SCRIPTS, *views]):
        app.add_js_file(name, loading_method="defer", priority=900)
    app.add_css_file("explorables.css")


def register(app: Sphinx) -> None:
    """Register the directive and the event handlers."""
    app.add_directive("explorable", Explorable)
    app.connect("builder-inited", add_scripts_folder)
    app.connect("html-page-context", load)
