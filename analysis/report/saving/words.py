"""The words of each row of the scorecard, from one file a document, and the claims made of them.

``analysis/published/verdicts/DOCUMENT.yml`` holds, by page and by row, what the book says to a row:
evidence, condition, reason, choices. Studies give values, truth values and named numbers; `claim`
puts these into the words. A word that differs by outcome stands there once an outcome::

    restart-model:
      C-suboptimal:
        evidence:
          holds: above the exact optimum on {beaten} of {systems} systems
          fails: nowhere above the exact optimum, on {systems} systems
      C-app-machine:
        context: "the losses by machine: {losses}"
        lists:
          losses: {each: "{name} {value:.2f}%", between: "; "}

A number is written as in a format string of Python; `SPELLINGS` adds ways of the book's own.

Rows may share an entry: ids stand side by side, and ``*`` is for any characters, as in
``D-mu05 D-t1-*-C_d``. The words of a row are those of all entries that name it: each field once,
and all choices in the order of the file.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from numbers import Number
from pathlib import Path
from typing import Any

from analysis.published import FOLDER as PUBLISHED
from analysis.published import Printed, printed_rows
from analysis.report.running.values import read_values
from analysis.report.saving.claims import Claim
from analysis.report.text import counted, plus_minus, span

FOLDER = PUBLISHED / "verdicts"
#: Fields of a claim that are words; the last is a list of sentences.
WORDS = (
    "condition", "evidence", "because", "missing", "context", "leaves_open", "experiment",
    "reading", "assumes",
)  # fmt: skip
#: Kinds of rows to which nothing can be said without words.
WORDED = ("figure", "statement", "algorithm", "claim", "premise", "future", "reference")
#: Characters of the longest name that may stand among the numbers, such as that of a law.
LONGEST_NAME = 48
_SECTION = re.compile(r"^([\w-]+):[ \t]*$", re.MULTILINE)


def _span(ends: tuple[float, float], style: str) -> str:
    return span(ends[0], ends[1], style)


def _plus_minus(estimate: tuple[float, float], decimals: str = "2") -> str:
    return plus_minus(estimate[0], estimate[1], int(decimals))


#: Ways to write a number that Python's format strings do not have, by the first word.
SPELLINGS: dict[str, Callable[..., str]] = {
    "counted": counted,
    "span": _span,
    "plus_minus": _plus_minus,
}


@dataclass(frozen=True)
class Entry:
    """The words of one row.

    Attributes
    ----------
    id, page : str
        The row, and the page that speaks of it.
    words : mapping of str to (str or mapping of str to str)
        Template of each field of `WORDS` that the row has, or one for each outcome.
    assumes : tuple of str
        Templates of the choices that the document does not print.
    lists : mapping of str to (str, str)
        Template of each item of a list among the numbers, and what stands between two items.
    """

    id: str
    page: str
    words: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def outcomes(self) -> set[str]:
        """Outcomes for which some words are meant alone."""
        return {outcome for w in self.words.values() if isinstance(w, Mapping) for outcome in w}

    def templates(self) -> Iterator[str]:
        """Yield all templates but those of lists."""
        for said in self.words.values():
            yield from said.values() if isinstance(said, Mapping) else [said]
        yield from self.assumes


def claim(
    id: str,
    value: Any = None,
    *,
    outcome: str = "",
    condition: bool = True,
    numbers: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Claim:
    """Return what the book says to a row: a value, in the words that its document's file has.

    Parameters
    ----------
    id, value : str and any
        As in `Claim`.
    outcome : str, optional
        For which outcome the words are meant, where the row has several; without it, "holds" or
        "fails" as the value says.
    condition : bool
        Whether the row needs the condition that its words name.
    numbers : mapping of str to any, optional
        The numbers that stand in the words, by name: numbers, lists of them, or short names.
    **fields
        The fields of `Claim` that are no words.

    Returns
    -------
    Claim

    Raises
    ------
    ValueError
        Naming the row: if words are among the fields, if the row has none and needs some, if they
        name a number that is not given or a number is given that no template names, if there are
        none for the outcome, or if a text stands among the numbers that is no name.
    """
    said = sorted({*fields} & {*WORDS})
    if said:
        raise ValueError(f"{id}: the words stand in a file of {FOLDER.name}/, got {said[0]}")
    row = printed_rows().get(id)
    if row is None:
        raise ValueError(f"id must name a row of analysis/published, got {id!r}")
    entry = entries(row.document).get(id)
    if entry is None:
        if row.kind in WORDED:
            raise ValueError(f"{id}: a {row.kind} needs words in {FOLDER.name}/{row.document}.yml")
        entry = Entry(id, "")
    words = _said(entry, _outcome(entry, outcome, value), dict(numbers or {}))
    if not condition and "condition" not in entry.words:
        raise ValueError(f"{id}: a condition is not needed, but its words name none")
    if not condition:
        words.pop("condition", None)
    return Claim(id, value, **words, **fields)


def _outcome(entry: Entry, outcome: str, value: Any) -> str:
    """Return the outcome for which words are wanted; empty where they are the same for all."""
    known = entry.outcomes
    if not known and not outcome:
        return ""
    wanted = outcome or ("holds" if value else "fails")
    if wanted not in known:
        raise ValueError(f"{entry.id}: there are words for {sorted(known)}, not for {wanted!r}")
    return wanted


def _said(entry: Entry, outcome: str, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the words of an entry with numbers put in."""
    wanted = {name for text in entry.templates() for name in names_in(text)}
    unused = sorted(numbers.keys() - wanted)
    if unused:
        raise ValueError(f"{entry.id}: no template names the number {unused[0]!r}")
    for name, number in numbers.items():
        _check_number(f"{entry.id}: {name}", number)
    numbers |= {
        name: between.join(_filled(entry.id, each, item) for item in _items(numbers[name]))
        for name, (each, between) in entry.lists.items()
        if name in numbers
    }
    found: dict[str, Any] = {}
    for name, said in entry.words.items():
        text = said.get(outcome, "") if isinstance(said, Mapping) else said
        if text:
            found[name] = _filled(entry.id, text, numbers)
    if entry.assumes:
        found["assumes"] = tuple(_filled(entry.id, text, numbers) for text in entry.assumes)
    return found


def _items(numbers: Any) -> Iterator[Mapping[str, Any]]:
    """Yield what the items of a list are called in its template: by name, or value by value."""
    if isinstance(numbers, Mapping):
        yield from ({"name": name, "value": value} for name, value in numbers.items())
    else:
        yield from (n if isinstance(n, Mapping) else {"value": n} for n in numbers)


def _check_number(what: str, value: Any) -> None:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str):
        if not value.strip() or len(value) > LONGEST_NAME:
            raise ValueError(f"{what} must be a number or a short name, got {value!r:.80}")
    elif isinstance(value, Mapping):
        for name, one in value.items():
            _check_number(what, name)
            _check_number(what, one)
    elif isinstance(value, Sequence):
        for one in value:
            _check_number(what, one)
    elif not isinstance(value, Number):
        raise ValueError(f"{what} must be a number or a short name, got {value!r:.80}")


class _Spelling(string.Formatter):
    """Python's format strings, with the spellings of the book."""

    def format_field(self, value: Any, style: str) -> str:
        first, *rest = style.split(" ")
        if first in SPELLINGS:
            return SPELLINGS[first](value, *rest)
        return str(super().format_field(value, style))


def _filled(id: str, text: str, numbers: Mapping[str, Any]) -> str:
    missing = sorted(names_in(text) - numbers.keys())
    if missing:
        raise ValueError(f"{id}: a template names {missing[0]!r}, which is not given")
    return _Spelling().vformat(text, (), numbers)


def names_in(text: str) -> set[str]:
    """Return the names of the numbers in a template.

    Raises
    ------
    ValueError
        If braces do not match, or something else than a plain name stands in them.
    """
    names = set()
    for _, name, style, conversion in string.Formatter().parse(text):
        if name is None:
            continue
        if not name.isidentifier() or conversion or "{" in (style or ""):
            raise ValueError(f"a number must have a plain name, got {{{name}}} in {text!r:.80}")
        names.add(name)
    return names


@cache
def entries(document: str) -> dict[str, Entry]:
    """Return the words of each row of a document by id; none where it has no file.

    Raises
    ------
    ValueError
        Naming the file and the row: if the row is not one of the document, a field of it or the row
        stands twice, a field is not one of `WORDS`, a text is empty, or a template cannot be read.
    """
    path = FOLDER / f"{document}.yml"
    if not path.exists():
        return {}
    found: dict[str, Entry] = {}
    content = read_values(path)
    if set(content) != set(_sections(path)):
        raise ValueError(f"{path.name}: a page must stand alone in its line, as 'name:'")
    for page, rows in content.items():
        for names, said in _mapping(f"{path.name}: {page}", rows).items():
            where = f"{path.name}: {names}"
            for id in _rows_named(where, names, document):
                entry = _entry(where, id, page, said)
                found[id] = _joined(where, found[id], entry) if id in found else entry
    return found


def _rows_named(where: str, names: str, document: str) -> list[str]:
    """Return the ids of a document's rows that names with or without ``*`` fit."""
    rows = [id for id, row in printed_rows().items() if row.document == document]
    ids = []
    for name in names.split():
        # Without an asterisk a name is one id, whatever other characters it has.
        fitting = [id for id in rows if (fnmatchcase(id, name) if "*" in name else id == name)]
        if not fitting:
            raise ValueError(f"{where}: {name} is no row of {document}")
        ids += fitting
    return ids


def _joined(where: str, one: Entry, other: Entry) -> Entry:
    """Return the words of two entries of the same row, which must have no field in common."""
    if one.page != other.page:
        raise ValueError(f"{where} stands twice: {one.id} is on the page {one.page} too")
    twice = sorted(
        {*one.words, *one.lists, *one.assumes} & {*other.words, *other.lists, *other.assumes}
    )
    if twice:
        raise ValueError(f"{where} stands twice: {one.id} has {twice[0]} in another entry too")
    words, lists = {**one.words, **other.words}, {**one.lists, **other.lists}
    return Entry(one.id, one.page, words, one.assumes + other.assumes, lists)


def _entry(where: str, id: str, page: str, said: Any) -> Entry:
    said = dict(_mapping(where, said))
    assumes = said.pop("assumes", [])
    if not isinstance(assumes, list):
        raise ValueError(f"{where}: assumes must be a list of sentences, got {assumes!r:.80}")
    lists = {}
    for name, parts in said.pop("lists", {}).items():
        parts = {"between": ", "} | _mapping(f"{where}: {name}", parts)
        if set(parts) != {"each", "between"}:
            raise ValueError(f"{where}: a list has 'each' and 'between', got {sorted(parts)}")
        lists[name] = (_template(where, parts["each"]), str(parts["between"]))
    for name, text in said.items():
        if name not in WORDS:
            raise ValueError(f"{where}: a field must be one of {WORDS}, got {name!r}")
        for one in text.values() if isinstance(text, dict) and text else [text]:
            _template(where, one)
    if not said and not assumes:
        raise ValueError(f"{where}: there are no words")
    entry = Entry(id, page, said, tuple(_template(where, text) for text in assumes), lists)
    unnamed = sorted(lists.keys() - {n for text in entry.templates() for n in names_in(text)})
    if unnamed:
        raise ValueError(f"{where}: no template names the list {unnamed[0]!r}")
    return entry


def _mapping(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{where}: 'name: value' lines were expected, got {value!r:.80}")
    return value


def _template(where: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip() or text != text.strip() or "\n" in text:
        raise ValueError(f"{where}: words must be one line of text, got {text!r:.80}")
    try:
        names_in(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return text


def page_of(row: Printed) -> str:
    """Return the page under which the words of a row stand; empty where it has none."""
    entry = entries(row.document).get(row.id)
    return entry.page if entry else ""


def words_of_page(page: str) -> str:
    """Return all words of a page as they stand in the files: what its result depends on.

    Parameters
    ----------
    page : str
        Name of the page, such as ``four-sources``.
    """
    return "\n".join(_sections(path).get(page, "") for path in sorted(FOLDER.glob("*.yml")))


def _sections(path: Path) -> dict[str, str]:
    """Return the lines of each page in a file, by the page's name."""
    pieces = _SECTION.split(path.read_text(encoding="utf-8"))
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))
