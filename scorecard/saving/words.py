"""The texts of the scorecard's rows, from one YAML file a document, and claims made from them.

``book/published/verdicts/DOCUMENT.yml`` holds, by page and by row, templates of a claim's text
fields: evidence, condition, reason, choices. Studies give values, truth values and named numbers;
`claim` fills them in. A field may have one template for each outcome::

    restart-model:
      C-suboptimal:
        evidence:
          holds: above the exact optimum on {beaten} of {systems} systems
          fails: nowhere above the exact optimum, on {systems} systems
      C-app-machine:
        context: "the losses by machine: {losses}"
        lists:
          losses: {each: "{name} {value:.2f}%", between: "; "}

A number is formatted as in a format string of Python; `EXTRA_FORMATS` adds formats of the book's.

Rows may share an entry: its key lists their ids, and ``*`` matches any characters, as in
``D-mu05 D-t1-*-C_d``. A row has the fields of all entries that match it; each field may occur in
only one of them, except ``assumes``, whose choices are joined in the order of the file.
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

from scorecard.prints import FOLDER as PUBLISHED
from scorecard.prints import Printed, printed_rows
from scorecard.saving.claims import Claim
from scorecard.text import format_plus_minus, format_range, pluralise
from scorecard.values import read_values

FOLDER = PUBLISHED / "verdicts"
#: Text fields of a claim; the last is a list of sentences.
WORDS = (
    "condition", "evidence", "because", "missing", "context", "leaves_open", "experiment",
    "reading", "assumes",
)  # fmt: skip
#: Kinds of rows that must have an entry.
KINDS_WITH_WORDS = ("figure", "statement", "algorithm", "claim", "premise", "future", "reference")
#: Greatest length of a text among the numbers, such as the name of a distribution.
LONGEST_NAME = 48
_SECTION = re.compile(r"^([\w-]+):[ \t]*$", re.MULTILINE)


#: Formatting functions by the first word of a format specification, as in ``{n:pluralise epoch}``.
EXTRA_FORMATS: dict[str, Callable[..., str]] = {
    "pluralise": pluralise,
    "range": lambda ends, style: format_range(ends[0], ends[1], style),
    "plus_minus": lambda pair, decimals="2": format_plus_minus(pair[0], pair[1], int(decimals)),
}


@dataclass(frozen=True)
class Entry:
    """The text templates of one row."""

    # The row, and the page that records it.
    id: str
    page: str
    # Template of each field of `WORDS` that the row has, or a template for each outcome.
    words: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    assumes: tuple[str, ...] = ()  # templates of the choices that the document does not print
    # For each list among the numbers, the template of an item and the separator.
    lists: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def outcomes(self) -> set[str]:
        """The outcomes that have templates of their own."""
        return {outcome for w in self.words.values() if isinstance(w, Mapping) for outcome in w}

    def templates(self) -> Iterator[str]:
        """Yield all templates except those of list items."""
        for template in self.words.values():
            yield from template.values() if isinstance(template, Mapping) else [template]
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
    """Make the claim on a row from a value and the texts in the document's file.

    Parameters
    ----------
    id, value : str and any
        As in `Claim`.
    outcome : str, optional
        Outcome whose templates are used, where they differ by outcome; default: "holds" if the
        value is true, else "fails".
    condition : bool
        False to leave out the condition in the file, because the row holds without it.
    numbers : mapping of str to any, optional
        Values of the templates' fields by name: numbers, lists of numbers, or short names.
    **fields
        Fields of `Claim` other than `WORDS`.

    Returns
    -------
    Claim

    Raises
    ------
    ValueError
        Naming the row: if `fields` has one of `WORDS`, if the row needs an entry and has none, if a
        template names a number that is not given or no template names a given one, if there is no
        template for the outcome, or if a text among the numbers is too long.
    """
    misplaced = sorted({*fields} & {*WORDS})
    if misplaced:
        raise ValueError(f"{id}: {misplaced[0]} belongs in a file of {FOLDER.name}/, not in code")
    row = printed_rows().get(id)
    if row is None:
        raise ValueError(f"id must name a row of book/published, got {id!r}")
    entry = read_entries(row.document).get(id)
    if entry is None:
        if row.kind in KINDS_WITH_WORDS:
            raise ValueError(f"{id}: a {row.kind} needs words in {FOLDER.name}/{row.document}.yml")
        entry = Entry(id, "")
    texts = _fill_fields(entry, _select_outcome(entry, outcome, value), dict(numbers or {}))
    if not condition and "condition" not in entry.words:
        raise ValueError(f"{id}: condition=False, but its entry has no condition to leave out")
    if not condition:
        texts.pop("condition", None)
    return Claim(id, value, **texts, **fields)


def _select_outcome(entry: Entry, outcome: str, value: Any) -> str:
    """Return the outcome that selects the templates; empty if they do not differ by outcome."""
    outcomes = entry.outcomes
    if not outcomes and not outcome:
        return ""
    selected = outcome or ("holds" if value else "fails")
    if selected not in outcomes:
        raise ValueError(f"{entry.id}: outcome must be one of {sorted(outcomes)}, got {selected!r}")
    return selected


def _fill_fields(entry: Entry, outcome: str, numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the text fields of a claim: the templates of an entry with the numbers filled in."""
    needed = {name for text in entry.templates() for name in find_names(text)}
    unused = sorted(numbers.keys() - needed)
    if unused:
        raise ValueError(f"{entry.id}: no template names the number {unused[0]!r}")
    for name, number in numbers.items():
        _check_number(f"{entry.id}: {name}", number)
    for name in entry.lists.keys() & numbers.keys():
        item_template, separator = entry.lists[name]
        items = (
            _fill_template(entry.id, item_template, item)
            for item in _list_item_fields(numbers[name])
        )
        numbers[name] = separator.join(items)
    texts: dict[str, Any] = {}
    for name, template in entry.words.items():
        text = template.get(outcome, "") if isinstance(template, Mapping) else template
        if text:
            texts[name] = _fill_template(entry.id, text, numbers)
    if entry.assumes:
        texts["assumes"] = tuple(_fill_template(entry.id, t, numbers) for t in entry.assumes)
    return texts


def _list_item_fields(numbers: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the template fields of each item of a list: ``name`` and ``value``, or its own."""
    if isinstance(numbers, Mapping):
        yield from ({"name": name, "value": value} for name, value in numbers.items())
    else:
        yield from (n if isinstance(n, Mapping) else {"value": n} for n in numbers)


def _check_number(what: str, value: Any) -> None:
    """Raise ValueError if a value is not a number, a short name, or a list or mapping of these."""
    value = value.tolist() if hasattr(value, "tolist") else value
    is_name = isinstance(value, str) and value.strip() and len(value) <= LONGEST_NAME
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            _check_number(what, item)
    elif not is_name and not isinstance(value, Number):
        raise ValueError(f"{what} must be a number or a short name, got {value!r:.80}")


class _Formatter(string.Formatter):
    """Python's format strings, with `EXTRA_FORMATS`."""

    def format_field(self, value: Any, style: str) -> str:
        first, *options = style.split(" ")
        if first in EXTRA_FORMATS:
            return EXTRA_FORMATS[first](value, *options)
        return str(super().format_field(value, style))


def _fill_template(id: str, text: str, numbers: Mapping[str, Any]) -> str:
    missing = sorted(find_names(text) - numbers.keys())
    if missing:
        raise ValueError(f"{id}: a template names {missing[0]!r}, which is not given")
    return _Formatter().vformat(text, (), numbers)


def find_names(text: str) -> set[str]:
    """Return the names of the fields of a template.

    Raises ValueError if braces do not match, or a field is not a plain name with a format
    specification.
    """
    names = set()
    for _, name, style, conversion in string.Formatter().parse(text):
        if name is None:
            continue
        if not name.isidentifier() or conversion or "{" in (style or ""):
            raise ValueError(f"a field must be a plain name, got {{{name}}} in {text!r:.80}")
        names.add(name)
    return names


@cache
def read_entries(document: str) -> dict[str, Entry]:
    """Return the entries of a document's file by row id; empty if the document has no file.

    Raises ValueError naming the file and the row: if the document has no such row, the row or one
    of its fields occurs twice, a field is not one of `WORDS`, a text is empty, or a template is
    malformed.
    """
    path = FOLDER / f"{document}.yml"
    if not path.exists():
        return {}
    by_id: dict[str, Entry] = {}
    content = read_values(path)
    if set(content) != set(_split_sections(path)):
        raise ValueError(f"{path.name}: the line of a page must be its name and a colon, 'name:'")
    for page, rows in content.items():
        for names, fields in _check_mapping(f"{path.name}: {page}", rows).items():
            where = f"{path.name}: {names}"
            for id in _find_rows(where, names, document):
                entry = _parse_entry(where, id, page, fields)
                by_id[id] = _merge_entries(where, by_id[id], entry) if id in by_id else entry
    return by_id


def _find_rows(where: str, names: str, document: str) -> list[str]:
    """Return the ids of a document's rows that match a key: ids, or patterns with ``*``."""
    rows = [id for id, row in printed_rows().items() if row.document == document]
    ids = []
    for name in names.split():
        # Ids may contain other characters of patterns, such as brackets.
        fitting = [id for id in rows if (fnmatchcase(id, name) if "*" in name else id == name)]
        if not fitting:
            raise ValueError(f"{where}: {document} has no row {name}")
        ids += fitting
    return ids


def _merge_entries(where: str, first: Entry, second: Entry) -> Entry:
    """Merge two entries of the same row, which must have no field in common."""
    if first.page != second.page:
        raise ValueError(f"{where}: {first.id} occurs twice, under the page {first.page} too")
    twice = sorted(
        {*first.words, *first.lists, *first.assumes}
        & {*second.words, *second.lists, *second.assumes}
    )
    if twice:
        raise ValueError(f"{where}: {twice[0]} of {first.id} occurs twice, in another entry too")
    texts, lists = {**first.words, **second.words}, {**first.lists, **second.lists}
    return Entry(first.id, first.page, texts, first.assumes + second.assumes, lists)


def _parse_entry(where: str, id: str, page: str, fields: Any) -> Entry:
    fields = dict(_check_mapping(where, fields))
    assumes = fields.pop("assumes", [])
    if not isinstance(assumes, list):
        raise ValueError(f"{where}: assumes must be a list of sentences, got {assumes!r:.80}")
    lists = {}
    for name, parts in fields.pop("lists", {}).items():
        parts = {"between": ", "} | _check_mapping(f"{where}: {name}", parts)
        if set(parts) != {"each", "between"}:
            raise ValueError(f"{where}: a list needs 'each' and 'between', got {sorted(parts)}")
        lists[name] = (_check_template(where, parts["each"]), str(parts["between"]))
    for name, text in fields.items():
        if name not in WORDS:
            raise ValueError(f"{where}: a field must be one of {WORDS}, got {name!r}")
        for template in text.values() if isinstance(text, dict) and text else [text]:
            _check_template(where, template)
    if not fields and not assumes:
        raise ValueError(f"{where}: the entry is empty")
    entry = Entry(id, page, fields, tuple(_check_template(where, text) for text in assumes), lists)
    unnamed = sorted(lists.keys() - {n for text in entry.templates() for n in find_names(text)})
    if unnamed:
        raise ValueError(f"{where}: no template names the list {unnamed[0]!r}")
    return entry


def _check_mapping(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"{where}: must be 'name: value' lines, got {value!r:.80}")
    return value


def _check_template(where: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip() or text != text.strip() or "\n" in text:
        raise ValueError(f"{where}: a template must be one line of text, got {text!r:.80}")
    try:
        find_names(text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return text


def find_page(row: Printed) -> str:
    """Return the page under which a row is filed; empty if it has no entry."""
    entry = read_entries(row.document).get(row.id)
    return entry.page if entry else ""


def read_page_words(page: str) -> str:
    """Return the source text of a page's entries in all files, as part of the page's cache key."""
    return "\n".join(_split_sections(path).get(page, "") for path in sorted(FOLDER.glob("*.yml")))


def _split_sections(path: Path) -> dict[str, str]:
    """Return the lines of a file below each page's name, by that name."""
    pieces = _SECTION.split(path.read_text(encoding="utf-8"))
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))
