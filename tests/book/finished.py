"""What no finished page says, whatever it was run with.

`faults` reads the HTML of a page as a reader does: sentences, captions, alternative texts, tables
and what cells print; formulas and code are left out. It returns one line a fault.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator

from bs4 import Tag

#: What no run of a page makes: its parameters, and the documents' rows with their verdicts.
_GIVEN = ".book-rerun, .book-rerun-hint, .book-verdicts"
#: What is not read: that, formulas and code.
_UNREAD = f"{_GIVEN}, .math, .cell_input, code, script, style, .repro-links, nav"
_BLOCKS = "p, li, dt, dd, h1, h2, h3, h4, figcaption, td, th, pre, summary"
_NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_COUNTED = (
    "sources|epochs|crawls|runs|states|robots|pages|budgets|sets|arms|machines|instances|models|"
    "kinds|visits|days|weeks|items|replications|values|rows|rules|copies|points|panels|curves|"
    "steps|parts|cycles|policies|queues|intervals|feeds|hours|laws|loads|weights|others"
)
#: Before a number that is a name, as in "source 1 runs dry".
_NOT_NUMBERED = "".join(
    f"(?<!{word} )"
    for word in ("source", "state", "arm", "machine", "age", "type", "case", "Table")
)
#: Words that no sentence, caption, cell or alternative text holds.
SAID = {
    "no number": re.compile(r"\b(?:nan|NaN)\b"),
    "an infinite number": re.compile(r"\b(?:inf|Infinity)\b"),
    "an empty list": re.compile(r"\[\s*\]"),
    "a share of nothing": re.compile(r"\b0 (?:out )?of (?:the |all )?0\b(?![.,]\d)"),
    "a zero with a sign": re.compile(r"(?<![\w.,)])[-−]0(?:\.0+)?(?![\d.]*\d)(?!\.?\d)"),
    "a dictionary": re.compile(r"\{'|\{\d+:"),
    "one, counted as many": re.compile(rf"(?<![\w.,=])(?<!= ){_NOT_NUMBERED}1 (?:{_COUNTED})\b"),
    "an interval of width zero": re.compile(
        rf"±\s*0(?:\.0+)?(?![\d.]*\d)|(?<![\w.])(?P<end>{_NUMBER})(?P<unit>%?) to "
        r"(?P=end)(?P=unit)(?![\w%]|[.,]\d)|"
        rf"between (?P<low>{_NUMBER})(?P<of>%?) and (?P=low)(?P=of)(?![\w%]|[.,]\d)"
    ),
    "a reward above its bound": re.compile(
        r"(?<![\d.])(?:100\.\d*[1-9]\d*|10[1-9](?:\.\d+)?|1[1-9]\d(?:\.\d+)?|[2-9]\d\d(?:\.\d+)?)% "
        r"of (?:the|its) (?:relaxed )?bound"
    ),
}
#: What a table may hold, as the end of a range that has none.
_ALLOWED_IN_CELLS = {"an infinite number"}
#: Letters of a cell, at most.
LONGEST = 200
_LOW = re.compile(r"\b(low|from|lower)\b")
_OF_LOW = {"low": "high", "from": "to", "lower": "upper"}
#: Columns of half an interval.
_HALF = re.compile(r"±|half.width", re.IGNORECASE)
#: Rows and columns of a table of rewards that are no policy's.
_PROMISES = {"fluid formula"}
_ROUNDING = 1e-9


def faults(article: Tag) -> list[str]:
    """Return what is wrong on a page, one line a fault.

    Parameters
    ----------
    article : bs4.Tag
        The page's own part of its HTML.
    """
    read = copy.copy(article)
    for part in read.select(_UNREAD):
        part.replace_with(" ")
    found = [
        f"{fault}: {_around(text, match)}"
        for text, cell in _texts(read)
        for fault, pattern in SAID.items()
        if not (cell and fault in _ALLOWED_IN_CELLS)
        for match in pattern.finditer(text)
    ]
    given = {id(part) for part in article.select(_GIVEN)}
    for table in article.select("table"):
        if not any(id(part) in given for part in (table, *table.parents)):
            found += _faults_of_cells(table)
            found += _faults_of_columns(table)
    return found


def _texts(article: Tag) -> Iterator[tuple[str, bool]]:
    """Yield each block of words, those inside others apart, and each alternative text.

    With each goes whether it is a cell of a table, or what a cell of the notebook prints.
    """
    for image in article.select("[alt]"):
        yield str(image["alt"]), False
    for block in article.select(_BLOCKS):
        alone = copy.copy(block)
        for inner in alone.select(_BLOCKS):
            inner.replace_with(" ")
        if text := " ".join(alone.get_text("").split()):
            yield text, block.name in {"td", "th", "pre"}


def _around(text: str, match: re.Match[str]) -> str:
    return text[max(match.start() - 60, 0) : match.end() + 60]


def _faults_of_cells(table: Tag) -> Iterator[str]:
    """Yield empty cells and those that nobody can read."""
    for cell in table.select("tbody td, .repro-table th, .repro-table td"):
        text = " ".join(cell.get_text("").split())
        if not text and not cell.select("img, svg, object"):
            yield f"an empty cell: {_name(table)}"
        if len(text) > LONGEST:
            yield f"a cell of {len(text)} letters: {text[:80]}"


def _words(table: Tag) -> str:
    """Return the caption of a table and its headings."""
    caption = table.find_parent("figure") and table.find_parent("figure").find("figcaption")
    parts = [caption] if caption else []
    return " ".join(part.get_text(" ") for part in [*parts, *table.select("thead")]).lower()


def _name(table: Tag) -> str:
    figure = table.find_parent("figure")
    return str(figure["id"]) if figure else " ".join(table.get_text(" ").split())[:80]


def _faults_of_columns(table: Tag) -> Iterator[str]:
    """Yield intervals of width zero, and rewards above a bound that stands beside them."""
    names, rows = _grid(table)
    for low, name in enumerate(names):
        for match in _LOW.finditer(name):
            other = name[: match.start()] + _OF_LOW[match[0]] + name[match.end() :]
            if other in names:
                high = names.index(other)
                for row in rows:
                    if _value(row[low]) is not None and row[low] == row[high]:
                        yield f"an interval of width zero: {_name(table)}: {' | '.join(row)}"
    for place in (n for n, name in enumerate(names) if _HALF.search(name)):
        for row in rows:
            if _value(row[place]) == 0.0:
                yield f"an interval of width zero: {_name(table)}: {' | '.join(row)}"
    yield from _above_one(table, names, rows)
    yield from _above_a_column(table, names, rows)
    yield from _above_a_row(table, rows)


def _above_one(table: Tag, names: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield what a column gives in units of a bound, or in % of it, and lies above it."""
    for place, name in enumerate(names):
        if re.search(r"(?:/|of|in) (?:its |the )?(?:relaxed )?bounds?\b", name):
            whole = 100 if re.search(r"%|per ?cent", name) else 1
            for row in rows:
                value = _least(row[place])
                if value is not None and value > whole * (1 + _ROUNDING):
                    yield f"a reward above its bound: {_name(table)}: {' | '.join(row)}"


def _above_a_column(table: Tag, names: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Yield rewards that are larger than the bound in their row."""
    bounds = [n for n, name in enumerate(names) if name in {"bound", "relaxed bound"}]
    rewards = [n for n, name in enumerate(names) if name in {"reward", "reward per epoch"}]
    for bound, reward in ((b, r) for b in bounds for r in rewards):
        for row in rows:
            most, value = _value(row[bound]), _least(row[reward])
            if most is not None and value is not None and value > most * (1 + _ROUNDING):
                yield f"a reward above its bound: {_name(table)}: {' | '.join(row)}"


def _above_a_row(table: Tag, rows: list[list[str]]) -> Iterator[str]:
    """Yield rewards that are larger than the bound in their column; costs lie above theirs."""
    if "reward" not in _words(table):
        return
    bounds = [row for row in rows if row and row[0] in {"bound", "relaxed bound"}]
    allowed = 1 + _ROUNDING
    for bound in bounds:
        for row in rows:
            for most, value in zip(map(_value, bound[1:]), map(_least, row[1:]), strict=False):
                above = most is not None and value is not None and value > most * allowed
                if above and row[0] not in _PROMISES and "cost" not in row[0]:
                    yield f"a reward above its bound: {_name(table)}: {' | '.join(row)}"


def _grid(table: Tag) -> tuple[list[str], list[list[str]]]:
    """Return the headings of the columns and the rows of texts, none where they do not fit."""
    lines = [
        [" ".join(cell.get_text("").split()) for cell in row.select("th, td")]
        for row in table.select("tr")
    ]
    heads = len(table.select("thead tr")) or 1
    names = lines[heads - 1] if len(lines) >= heads else []
    if heads == 2:  # pandas names its index in a line of its own
        names = [below or above for above, below in zip(lines[0], lines[1], strict=False)]
    return names, [line for line in lines[heads:] if len(line) == len(names)]


def _least(text: str) -> float | None:
    """Return the lower end of the interval that a cell gives, or its number if it gives none."""
    value, (_, given, half) = _value(text), text.partition("±")
    error = _value(half.strip()) if given else None
    return value if value is None or error is None else value - error


def _value(text: str) -> float | None:
    """Return the number that a cell begins with, a percentage as a share; none if it is none."""
    found = re.match(rf"({_NUMBER})(%?)(?=$|\s)", text)
    if found is None:
        return None
    return float(found[1].replace(",", "").replace("−", "-")) / (100 if found[2] else 1)
