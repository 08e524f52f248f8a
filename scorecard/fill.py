"""Numbers and conditions of a page's text: Jinja2 over its Markdown, after everything is judged.

``{{ v.long_run | fmt(".2f") }}`` is a number that the page saved: on the page ``four-sources`` the
value ``four-sources-long-run``. A name is an id without the page's name, with ``_`` for ``-``.
``{{ pages["how-good"].loss | fmt(".1%") }}`` is a number of another page;
``{{ printed("A-r-25466") }}`` what a document prints, ``{{ computed("A-r-25466", ".2f") }}`` what
the book computes for that row, and ``{{ verdict("A-r-25466") }}`` its verdict.
``{% if v.repeats %}`` asks for a result, and ``{% if document %}`` whether the run has the
documents' own parameters. ``{{ v.budget | sets("explore-it", "M", "d") }}`` and ``follows`` link a
number with a control or a number of an explorable. A name that is not there is an error.

A number stands in the text for Sphinx within the role ``{number}``, which names its source, and
in other texts alone. This module needs nothing but Jinja2 and the standard library, so that it
also fills pages in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import jinja2

from scorecard.text import (
    format_plus_minus,
    format_range,
    join_words,
    pluralise,
    typeset_powers,
)

#: Mark before each cell of a page: a condition may span cells, and braces in code are left alone.
_CELL = re.compile(r"^<!-- cell (\d+) -->$", re.MULTILINE)


class FillError(ValueError):
    """A text asks for what is not there, or is no template; the message names the page."""


@dataclass(frozen=True, eq=False)
class Number:
    """A number of a text: compares as its value, and is written by the filters."""

    source: str  # what it is: ``value ID``, ``computed ROW``
    value: Any
    interval: Any
    text: Text

    def __bool__(self) -> bool:
        """Whether the value is true, or not zero."""
        return bool(self.value)

    def __eq__(self, other: object) -> bool:
        """Compare the values."""
        return bool(self.value == getattr(other, "value", other))

    def __lt__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value < getattr(other, "value", other))

    def __gt__(self, other: Any) -> bool:
        """Compare the values."""
        return bool(self.value > getattr(other, "value", other))

    def __str__(self) -> str:
        """Return the number as it stands in the text, in Python's own format."""
        return _format_number(self)


class Numbers:
    """The saved numbers of one page, as attributes."""

    def __init__(self, page: str, values: Mapping[str, Mapping[str, Any]], text: Text) -> None:
        self._page, self._text = page, text
        self._ids = {shorten_id(page, id): id for id in values}
        self._values = values

    def __getattr__(self, name: str) -> Number:
        """Return a number by its name."""
        if name not in self._ids:
            raise AttributeError(name)
        entry = self._values[self._ids[name]]
        return Number(f"value {self._ids[name]}", entry["value"], entry.get("interval"), self._text)


def shorten_id(page: str, id: str) -> str:
    """Return the name by which a page's text calls one of its values."""
    return id.removeprefix(f"{page.rpartition('/')[2]}-").replace("-", "_")


@dataclass
class Text:
    """What the texts of a book may ask for, and what they have asked for.

    Parameters
    ----------
    values : mapping of page to its saved values by id
        Each value has the fields ``value`` and ``interval``.
    computed : mapping of row to number
        What the book computes for printed rows.
    printed : mapping of row to str
        What the documents print.
    verdicts : mapping of row to str
        The verdicts.
    document : bool
        Whether the run has the documents' own parameters.
    for_sphinx : bool
        Whether numbers stand within a role that names their source.
    """

    values: Mapping[str, Mapping[str, Mapping[str, Any]]]
    computed: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    document: bool = True
    for_sphinx: bool = False
    #: Filled numbers: text by what the attribute ``data-value`` of its element on the page says.
    filled: dict[str, str] = field(default_factory=dict)

    def fill(self, template: str, page: str = "") -> str:
        """Return a text with its numbers, under its conditions.

        `page`: the page whose values the text calls ``v``. Raises FillError naming the page if the
        text asks for what is not there.
        """
        pages = {name.rpartition("/")[2]: values for name, values in self.values.items()}
        names: dict[str, Any] = {
            "pages": {name: Numbers(name, values, self) for name, values in pages.items()},
            "printed": lambda row: self.write(typeset_powers(self.printed[row]), f"printed {row}"),
            "computed": lambda row, style="": _format_number(
                Number(f"computed {row}", self.computed[row], None, self), style
            ),
            "verdict": lambda row: self.write(self.verdicts[row], f"verdict {row}"),
            "document": self.document,
        }
        if (name := page.rpartition("/")[2]) in names["pages"]:
            names["v"] = names["pages"][name]
        try:
            return compile_template(template).render(names)
        except (jinja2.TemplateError, KeyError, ValueError, TypeError) as error:
            line = getattr(error, "lineno", None) or _find_line(error)
            place = ", ".join(filter(None, [page, f"line {line} of its text" if line else ""]))
            raise FillError(f"{place or 'text'}: {error}") from error

    def write(self, text: str, source: str) -> str:
        """Return a number's text, and record it; for Sphinx in the role that names its source."""
        self.filled[source.partition(" ")[2]] = text
        return f"{{number}}`{text} <{source}>`" if self.for_sphinx else text


def fill_notebook(texts: Text, notebook: Any, page: str) -> Any:
    """Return a notebook with its Markdown filled; a false condition also leaves out code cells."""
    marked = "".join(
        f"<!-- cell {number} -->\n{cell.source if cell.cell_type == 'markdown' else ''}\n\n"
        for number, cell in enumerate(notebook.cells)
    )
    pieces = _CELL.split(texts.fill(marked, page))[1:]
    cells = []
    for number, source in zip(pieces[::2], pieces[1::2], strict=True):
        cell = type(notebook)(notebook.cells[int(number)])
        if cell.cell_type == "markdown":
            cell.source = source.strip("\n")
        if cell.source:
            cells.append(cell)
    filled = type(notebook)(notebook)
    filled.cells = cells
    return filled


def _find_line(error: BaseException) -> int | None:
    """Return the line of the template at which rendering has failed."""
    trace, line = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _format_number(number: Number, style: str = "") -> str:
    """Return a number in a format of Python's.

    ``±2`` gives two decimals, and half the width of the number's interval unless that is zero.
    """
    text = _format_value(number.value, number.interval, style)
    return number.text.write(text, f"{number.source}:{style}" if style else number.source)


def _format_value(value: Any, interval: Any, style: str) -> str:
    if style.startswith("±"):
        low, high = interval or (value, value)
        return format_plus_minus(value, (high - low) / 2, int(style[1:]))
    if isinstance(value, list):
        return "[" + ", ".join(format(entry, style) for entry in value) + "]"
    return typeset_powers(format(value, style))


def _fmt(value: Any, style: str = "") -> str:
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises the error that names what is missing
    if isinstance(value, str):  # a number that is not finite
        return value
    return _format_number(value, style) if isinstance(value, Number) else format(value, style)


def _link(kind: str, number: Number, explorable: str, name: str, style: str) -> str:
    """Return a number that an explorable sets, or replaces by its own of a name."""
    text = _format_value(number.value, None, style).replace("-", "\u2212")
    source = f"{kind} {number.source.partition(' ')[2]}:{style} {explorable} {name}"
    return number.text.write(text, source)


def _count_among(number: Number, total: Number, noun: str = "") -> str:
    """Return a count and the number that it is counted among: none of 30 sets, 7 of 30, 1 of 1 set.

    The noun is in the singular, without an article.
    """
    count, size = int(number.value), int(total.value)
    several = {0: f"none of {size:,}", size: "both" if size == 2 else f"all {size:,}"}
    words = several.get(count, f"{count:,} of {size:,}") if size > 1 else f"{count:,} of {size:,}"
    counted = f" {noun}" + "s" * (size != 1) if noun else ""
    return number.text.write(words, number.source) + counted


def _write_range(low: Any, high: Any, style: str) -> str:
    """Return two numbers as a range, or as one number if they are formatted alike."""
    if not isinstance(low, Number):  # of the words of a row
        return format_range(low, high, style)
    return low.text.write(format_range(low.value, high.value, style), f"{low.source}:{style}")


def _write_tuples(value: Any) -> str:
    """Return a list of numbers in parentheses, as a state; a list of these in brackets."""

    def write(entry: Any) -> Any:
        return tuple(map(write, entry)) if isinstance(entry, list) else entry

    is_nested = isinstance(value, list) and value and isinstance(value[0], list)
    return str([write(entry) for entry in value] if is_nested else write(value))


FILTERS = {
    "fmt": _fmt,
    "sets": lambda number, *names: _link("sets", number, *names),
    "follows": lambda number, *names: _link("follows", number, *names),
    "among": _count_among,
    "to": _write_range,
    "pluralise": pluralise,
    "plus_minus": lambda pair, decimals=2: format_plus_minus(pair[0], pair[1], decimals),
    "join_words": join_words,
    "tuples": _write_tuples,
}
_ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
_ENVIRONMENT.filters |= FILTERS


@cache
def compile_template(text: str) -> jinja2.Template:
    """Return a text as a template; raise jinja2.TemplateSyntaxError if it is none."""
    return _ENVIRONMENT.from_string(text)


def parse_template(text: str) -> jinja2.nodes.Template:
    """Return the syntax tree of a template."""
    return _ENVIRONMENT.parse(text)
