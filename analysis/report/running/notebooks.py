"""The notebooks of the book, and the parameters that each of them takes.

A notebook is a MyST Markdown file with one cell tagged ``parameters``; each line of it declares one
parameter with its type, its unit, the allowed range and a description:

    budget: int = 1  # sources per epoch; [1, N]; how many sources are crawled at each epoch

A range is an interval (either bracket), a set of choices in braces, or the word ``any``. An end of
an interval may be the name of an earlier number of the page, ``[1, size]``. A list is empty, or
repeats a value, only where its default does; one that repeats a value keeps the length of its
default, such as one cost a source. The parameter ``sources: str`` says that the notebook
takes a reader's own table: its range is the name of what reads the table in ``book/_tables.yml``,
which also names what stands in its place. N in a range is the number of its rows. ``trace: str``
says that the notebook takes a reader's trace of publications.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import jupytext
import yaml
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from analysis.report.paths import BOOK
from analysis.report.running.values import ParameterError, nearest, parse_value, read_values

_LINE = re.compile(r"(?P<name>\w+): (?P<type>[\w\[\]]+) = (?P<default>.+?)  # (?P<help>.+)")
_END = r"\s*([-+]?inf|[-+]?[\d.]+(?:[eE][-+]?\d+)?|[a-zA-Z]\w*)\s*"
_INTERVAL = re.compile(rf"(?P<left>[\[(]){_END},{_END}(?P<right>[\])])")
_SET = re.compile(r"\{[^{},]+(,[^{},]+)*\}")
#: What stands for the number of rows of the reader's table.
_ROWS = "N"
#: Parameters that stand for a reader's own file.
FILES = ("sources", "trace")
#: Folders below ``book/`` that Sphinx reads beside the pages.
ASIDE = ("_static", "_templates")
_TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
_LISTS = ("list[int]", "list[float]", "list[str]")
#: Errors of pydantic that say that a value is of the type, but not in the range.
_OUTSIDE = {
    "greater_than", "greater_than_equal", "less_than", "less_than_equal", "assertion_error",
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One declared parameter of a notebook."""

    name: str
    type: str
    default: Any
    unit: str
    allowed: str
    description: str

    @property
    def ends(self) -> set[str]:
        """Names of numbers that stand for an end of the range: N, or other parameters."""
        found = _INTERVAL.fullmatch(self.allowed)
        return {end for end in found.group(2, 3) if end[0].isalpha()} - {"inf"} if found else set()

    def check(self, value: Any, numbers: Mapping[str, Any]) -> Any:
        """Return `value` if it is of the type and in the range.

        A list may be empty, or repeat a value, only where the default does; one that may repeat a
        value holds one for each of some things, and is as long as the default.

        Parameters
        ----------
        value : object
            What a reader gave, or the default.
        numbers : mapping of str to int or float
            The numbers that names in the range stand for.

        Raises
        ------
        ParameterError
            Naming the parameter, the value and what is allowed.
        """
        allowed = self.allowed
        for end in self.ends:
            allowed = re.sub(rf"\b{end}\b", str(numbers[end]), allowed)
        base: Any = _TYPES[self.type.removeprefix("list[").removesuffix("]")]
        kind: Any = Annotated[base, _constraint(allowed, base)]
        try:
            adapter = TypeAdapter(list[kind] if self.type.startswith("list") else kind)
            checked = adapter.validate_python(value, strict=True)
        except ValidationError as refused:
            (error, *_) = sorted(refused.errors(), key=lambda error: error["type"] in _OUTSIDE)
            if error["type"] in _OUTSIDE:
                said = f"{self.name} must be in {allowed}, got {error['input']!r:.80}"
            else:
                said = f"{self.name} must be of type {self.type}, got {value!r:.80}"
            raise ParameterError(said) from None
        if isinstance(checked, list):
            self._check_list(checked)
        return checked

    def _check_list(self, values: list[Any]) -> None:
        """Refuse a list that is empty, repeats a value, or has another length, as said above."""
        if not values and self.default:
            raise ParameterError(f"{self.name} must hold at least one value, got []")
        if len(set(self.default)) < len(self.default):
            if len(values) != len(self.default):
                size = len(self.default)
                raise ParameterError(f"{self.name} must hold {size} values, got {values!r:.80}")
        elif any(value in values[:place] for place, value in enumerate(values)):
            raise ParameterError(f"{self.name} must hold each value once, got {values!r:.80}")


@dataclass(frozen=True)
class Notebook:
    """One notebook of the book.

    Parameters
    ----------
    path : Path
        The source, below ``book/``.
    """

    path: Path

    @property
    def name(self) -> str:
        """What a reader calls it: the file's name."""
        return self.path.stem

    @property
    def page(self) -> str:
        """Its place in the book, without a suffix: ``ephemeral/four-sources``."""
        return self.path.relative_to(BOOK).with_suffix("").as_posix()

    @cached_property
    def content(self) -> Any:
        """The notebook as nbformat has it, with fixed cell ids."""
        notebook = jupytext.read(self.path)
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{number:03d}"
        return notebook

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The declared parameters by name.

        Raises
        ------
        ParameterError
            If a line of the parameters cell is not of the form that the module describes.
        """
        found: dict[str, Parameter] = {}
        for cell in self.content.cells:
            if "parameters" in cell.metadata.get("tags", []):
                for line in cell.source.splitlines():
                    if line.strip():
                        parameter = self._declared(line)
                        earlier = {p.name for p in found.values() if p.type in {"int", "float"}}
                        if unknown := parameter.ends - {_ROWS} - earlier:
                            raise ParameterError(
                                f"{self.path.name}: the range of {parameter.name} must name an "
                                f"earlier number, got {', '.join(sorted(unknown))}"
                            )
                        found[parameter.name] = parameter
        return found

    @property
    def takes_sources(self) -> bool:
        """Whether a reader can hand it sources of their own."""
        return "sources" in self.parameters

    @property
    def takes_trace(self) -> bool:
        """Whether a reader can hand it a trace of their own."""
        return "trace" in self.parameters

    def resolve(self, given: Mapping[str, Any], table: Sized | None = None) -> dict[str, Any]:
        """Check given parameters and fill in the defaults, before any kernel starts.

        Parameters
        ----------
        given : mapping
            Parameters by name.
        table : sized, optional
            The reader's own table, whose rows set N in the ranges.

        Raises
        ------
        ParameterError
            Naming the parameter, the value and what is allowed.
        """
        unknown = [name for name in given if name not in self.parameters]
        if unknown:
            raise ParameterError(
                f"{self.name} has no parameter {unknown[0]!r:.80}"
                f"{nearest(unknown[0], self.parameters)}; it has "
                + ("; ".join(self.describe()) or "none")
            )
        if given.get("sources"):
            raise ParameterError("sources is no value among others: give the file with SOURCES=")
        if given.get("trace"):
            raise ParameterError("trace is no value among others: give the file with TRACE=")
        numbers: dict[str, Any] = {}
        if any(_ROWS in parameter.ends for parameter in self.parameters.values()):
            numbers[_ROWS] = len(_table("default")() if table is None else table)
        for parameter in self.parameters.values():
            value = given.get(parameter.name, parameter.default)
            file = parameter.name in FILES
            numbers[parameter.name] = value if file else parameter.check(value, numbers)
        numbers.pop(_ROWS, None)
        return numbers

    def describe(self) -> list[str]:
        """Return one phrase a parameter: name, type, range and default."""
        return [
            f"{p.name} ({p.type} in {p.allowed}, default {p.default!r})"
            for p in self.parameters.values()
            if p.name not in FILES
        ]

    def _declared(self, line: str) -> Parameter:
        found = _LINE.fullmatch(line.strip())
        parts = found["help"].split(";", 2) if found else []
        if found is None or len(parts) != 3 or found["type"] not in (*_TYPES, *_LISTS):
            raise ParameterError(
                f"{self.path.name}: a line of the parameters cell must read "
                f"'name: type = default  # unit; range; description', got {line!r}"
            )
        default = parse_value(found["default"])
        unit, allowed, description = (part.strip() for part in parts)
        if found["name"] in FILES:
            return Parameter(found["name"], found["type"], default, unit, allowed, description)
        if allowed != "any" and not _INTERVAL.fullmatch(allowed) and not _SET.fullmatch(allowed):
            raise ParameterError(
                f"{self.path.name}: the range of {found['name']} must be an interval, "
                f"a set or 'any', got {allowed!r}"
            )
        return Parameter(found["name"], found["type"], default, unit, allowed, description)


def all_notebooks() -> dict[str, Notebook]:
    """Return the book's notebooks by name, in the order of the contents, then of their paths.

    Raises
    ------
    ParameterError
        If two of them have the same name.
    """
    place = {path: n for n, path in enumerate(_contents())}
    paths = [path for path in _pages() if _is_notebook(path)]
    found: dict[str, Notebook] = {}
    for path in sorted(paths, key=lambda path: (place.get(path, len(place)), path)):
        if path.stem in found:
            raise ParameterError(f"{found[path.stem].path} and {path} have the same name")
        found[path.stem] = Notebook(path)
    return found


def check_contents() -> None:
    """Refuse a book with a page that its contents leave out: nobody could come to it.

    Raises
    ------
    ValueError
        Naming the pages.
    """
    if missing := sorted(set(_pages()) - set(_contents())):
        names = ", ".join(path.relative_to(BOOK).as_posix() for path in missing)
        raise ValueError(f"{names}: not in the contents: give each a line in book/_toc.yml")


def _contents() -> list[Path]:
    """Return the pages that ``book/_toc.yml`` names, in its order."""

    def walk(entry: Mapping[str, Any]) -> Iterator[Path]:
        if name := entry.get("file", entry.get("root")):
            yield BOOK / f"{name}.md"
        for inside in ("parts", "chapters", "sections"):
            for more in entry.get(inside, []):
                yield from walk(more)

    return list(walk(yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))))


def _pages() -> list[Path]:
    """Return the sources of the book's pages."""
    pages = [path for path in source_files() if path.suffix == ".md"]
    return [path for path in pages if path.relative_to(BOOK).parts[0] not in ASIDE]


def source_files() -> Iterator[Path]:
    """Yield the files below ``book/`` that are sources, not what a build or Jupyter left there."""
    for folder, inside, names in os.walk(BOOK):
        inside[:] = [name for name in inside if name in ASIDE or name[0] not in "_."]
        yield from (Path(folder, name) for name in names)


def find_notebook(name: str) -> Notebook:
    """Return the notebook of that name.

    Raises
    ------
    ParameterError
        If there is none, naming those that there are.
    """
    notebooks = all_notebooks()
    _check_name(name, notebooks)
    return notebooks[name]


def _check_name(name: str, notebooks: Mapping[str, Notebook]) -> None:
    if name not in notebooks:
        near = nearest(name, notebooks)
        raise ParameterError(
            f"there is no notebook {name!r}{near}; there are {', '.join(notebooks)}"
        )


def profile_parameters(profile: str) -> dict[str, dict[str, Any]]:
    """Return the parameter values of a profile, by notebook.

    Raises
    ------
    ParameterError
        If the profile cannot be read or names a notebook that is not there.
    """
    values = read_values(BOOK / "profiles" / f"{profile}.yml")
    notebooks = all_notebooks()
    for name in values:
        _check_name(name, notebooks)
    return values


def read_table(path: str, reader: str) -> Sized:
    """Return a reader's own table, read by what ``book/_tables.yml`` names for a page's range.

    Raises
    ------
    ValueError
        Naming the file, the row, the column and the reason.
    """
    table: Sized = _table(reader)(path)
    return table


def check_together(name: str, table: Sized, parameters: Mapping[str, Any]) -> None:
    """Refuse a table that a page cannot take with some parameters, as ``book/_tables.yml`` says.

    Raises
    ------
    ValueError
        Saying what is wrong with the table.
    """
    if check := read_values(BOOK / "_tables.yml").get("together", {}).get(name):
        resolve_name(check)(table, parameters)


def _table(what: str) -> Any:
    return resolve_name(read_values(BOOK / "_tables.yml")["sources"][what])


def _number(text: str) -> Any:
    return float(text) if "inf" in text else parse_value(text)


def _is_notebook(path: Path) -> bool:
    return "kernelspec:" in path.read_text(encoding="utf-8")[:400]


def _constraint(allowed: str, kind: type) -> Any:
    """Return what pydantic has to check of a value for a range to hold."""
    found = _INTERVAL.fullmatch(allowed)
    if found:
        low, high = (_number(end) for end in found.group(2, 3))
        bounds = {
            "ge" if found["left"] == "[" else "gt": low,
            "le" if found["right"] == "]" else "lt": high,
        }
        return Field(**{k: v for k, v in bounds.items() if kind is float or math.isfinite(v)})
    if allowed == "any":
        return Field()
    choices = [choice.strip(" \"'") for choice in allowed.strip("{}").split(",")]
    known = choices if kind is str else [_number(choice) for choice in choices]

    def among(value: Any) -> Any:
        assert value in known
        return value

    return AfterValidator(among)
