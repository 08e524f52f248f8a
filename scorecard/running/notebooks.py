"""The notebooks of the book, a reader's own input files, and recorded times of builds.

A notebook is a MyST Markdown file with one cell tagged ``parameters``; each line of it declares one
parameter with its type, its unit, the allowed range and a description:

    budget: int = 1  # sources per epoch; [1, N]; how many sources are crawled at each epoch

A range is an interval (open or closed at either end), a set of choices in braces, or the word
``any``, where there is no rule at all. An end of an interval may be the name of an earlier number
of the page, ``[1, size]``. A list may be empty, or repeat a value, only if its default does; one
that repeats a value must keep the length of its default, such as one cost a source. What a reader
types is a text, which pydantic reads by the type.

The parameter ``sources: str`` declares that the notebook takes a reader's own table: its range is
the key, in ``book/_tables.yml``, of the function that reads the table. N in a range is the number
of rows of the table, or of the default one. ``trace: str`` declares that the notebook takes a
reader's trace of publications, of which N is the number of sources, and ``signals: str`` that it
takes pings of these sources, which the page's function under ``together`` in ``book/_tables.yml``
reads.

What must hold between parameters, or for a list as a whole, is a line of its own in the cell, with
the reason; `scorecard.values` has what it may consist of:

    # relation: training + test <= 190; the record ends after so many weeks
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import jupytext
import yaml
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from analysis.checks import check_file
from scorecard.files import BOOK
from scorecard.running.kernels import COMPILATION
from scorecard.values import (
    FILES,
    ParameterError,
    Relation,
    check_list,
    make_refusal,
    read_texts,
    split_choices,
    split_list,
    suggest_name,
)

_LINE = re.compile(r"(?P<name>\w+): (?P<type>[\w\[\]]+) = (?P<default>.+?)  # (?P<help>.+)")
_RELATION = re.compile(r"# relation: (?P<text>[^;]+); (?P<reason>.+)")
_END = r"\s*([-+]?inf|[-+]?[\d.]+(?:[eE][-+]?\d+)?|[a-zA-Z]\w*)\s*"
INTERVAL = re.compile(rf"(?P<left>[\[(]){_END},{_END}(?P<right>[\])])")
CHOICES = re.compile(r"\{[^{},]+(,[^{},]+)*\}")
#: Name of the number of rows of the reader's table, in ranges.
ROWS = "N"
TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
LISTS = ("list[int]", "list[float]", "list[str]")
#: Errors of pydantic for a value of the right type that is out of range.
_OUTSIDE = {
    "greater_than", "greater_than_equal", "less_than", "less_than_equal", "assertion_error",
    "finite_number",
}  # fmt: skip
#: Names that need no escaping in a URL or a notebook, and that no output file of a run has.
_SAFE_NAME = re.compile(r"\w[\w-]{0,59}(\.[\w-]{1,20}){0,2}\.csv", re.ASCII)
#: Folders below ``book/`` for Sphinx, without pages.
SPHINX_FOLDERS = ("_static", "_templates")
#: First line of ``book/profiles/builds.yml``.
_HEADER = "# Times and sizes of builds, written by `python -m scorecard times` and `repeat`.\n"


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
        """Names that are ends of the range: N, or other parameters."""
        interval = INTERVAL.fullmatch(self.allowed)
        return (
            {end for end in interval.group(2, 3) if end[0].isalpha()} - {"inf"}
            if interval
            else set()
        )

    @property
    def item_type(self) -> str:
        """Name of the type, or of that of a list's items."""
        return self.type.removeprefix("list[").removesuffix("]")

    def check(self, value: Any, numbers: Mapping[str, Any]) -> Any:
        """Return `value` if it is of the type and in the range, by the rules of the module.

        `value`: a value of the type, or the text that a reader has typed; `numbers`: values of the
        names in the range. Raises ParameterError naming the parameter, the value and what is
        allowed.
        """
        allowed = self.allowed
        for end in self.ends:
            allowed = re.sub(rf"\b{end}\b", str(numbers[end]), allowed)
        base = TYPES[self.item_type]
        bounded: Any = Annotated[base, _make_constraint(allowed, base)]
        finite: Any = Annotated[bounded, Field(allow_inf_nan=False)]
        adapter: TypeAdapter[Any] = TypeAdapter(finite if base is float else bounded)
        is_list = self.type in LISTS
        items: Any = [value]
        if is_list:
            items = split_list(value) if isinstance(value, str) else value
        if not isinstance(items, list):
            raise make_refusal(self.name, self.type, value)
        try:
            values = [
                adapter.validate_strings(item)
                if isinstance(item, str)
                else adapter.validate_python(item, strict=True)
                for item in items
            ]
        except ValidationError as refused:
            (error, *_) = sorted(refused.errors(), key=lambda error: error["type"] in _OUTSIDE)
            if error["type"] not in _OUTSIDE:
                raise make_refusal(self.name, self.type, value) from None
            ends = {end: numbers[end] for end in self.ends - {ROWS}}
            raise make_refusal(self.name, self.type, error["input"], allowed, ends) from None
        if not is_list:
            return values[0]
        check_list(self.name, values, self.default)
        return values


def _read_text(text: str, kind: type) -> Any:
    """Return the value of a text of a type; an infinite end of a range is a float."""
    return TypeAdapter(float if "inf" in text and kind is int else kind).validate_strings(text)


def _read_choices(allowed: str, kind: type) -> list[Any]:
    choices = split_choices(allowed)
    return choices if kind is str else [_read_text(choice, kind) for choice in choices]


def _make_constraint(allowed: str, kind: type) -> Any:
    """Return the pydantic constraint of a range."""
    interval = INTERVAL.fullmatch(allowed)
    if interval:
        low, high = (_read_text(end, kind) for end in interval.group(2, 3))
        bounds = {
            "ge" if interval["left"] == "[" else "gt": low,
            "le" if interval["right"] == "]" else "lt": high,
        }
        return Field(**{k: v for k, v in bounds.items() if kind is float or math.isfinite(v)})
    if allowed == "any":
        return Field()
    values_allowed = _read_choices(allowed, kind)

    def among(value: Any) -> Any:
        assert value in values_allowed
        return value

    return AfterValidator(among)


@dataclass(frozen=True)
class Notebook:
    """One notebook of the book."""

    path: Path  # the source, below ``book/``

    @property
    def name(self) -> str:
        """Name of the notebook: the file's name without suffix."""
        return self.path.stem

    @property
    def page(self) -> str:
        """Path of the page below ``book/``, without suffix: ``ephemeral/four-sources``."""
        return self.path.relative_to(BOOK).with_suffix("").as_posix()

    @cached_property
    def content(self) -> Any:
        """The notebook as an nbformat object, with fixed cell ids."""
        notebook = jupytext.read(self.path)
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{number:03d}"
        return notebook

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The declared parameters by name.

        Raises ParameterError if a line of the parameters cell is not of the form that the module
        describes.
        """
        declared: dict[str, Parameter] = {}
        for line in self._declarations:
            if line.startswith("#"):  # a relation, which `relations` reads
                continue
            parameter = self._parse_line(line)
            earlier = {p.name for p in declared.values() if p.type in {"int", "float"}}
            if unknown := parameter.ends - {ROWS} - earlier:
                raise ParameterError(
                    f"{self.path.name}: the range of {parameter.name} must name an earlier number, "
                    f"got {', '.join(sorted(unknown))}"
                )
            declared[parameter.name] = parameter
        return declared

    @cached_property
    def relations(self) -> list[Relation]:
        """The declared relations, each of which is checked after the ranges.

        Raises ParameterError if a line is malformed, or names what is no parameter of the page.
        """
        declared = []
        for line in filter(re.compile("#").match, self._declarations):
            parts = _RELATION.fullmatch(line)
            if parts is None:
                raise ParameterError(
                    f"{self.path.name}: a line of the parameters cell that begins with # must read "
                    f"'# relation: comparison; reason', got {line!r}"
                )
            relation = Relation.parse(parts["text"].strip(), parts["reason"].strip())
            if unknown := set(relation.names) - {ROWS} - self.parameters.keys():
                raise ParameterError(
                    f"{self.path.name}: the relation {relation.text!r} must name parameters of the "
                    f"page, got {', '.join(sorted(unknown))}"
                )
            declared.append(relation)
        return declared

    @property
    def _declarations(self) -> list[str]:
        """The lines of the parameters cell."""
        cells = [c for c in self.content.cells if "parameters" in c.metadata.get("tags", [])]
        lines = (line.strip() for c in cells for line in c.source.splitlines())
        return [line for line in lines if line]

    def resolve(self, values: Mapping[str, Any], table: Sized | None = None) -> dict[str, Any]:
        """Check given parameters and fill in the defaults.

        `table`: the reader's own table, whose rows set N in the ranges. Raises ParameterError
        naming the parameter, the value and what is allowed.
        """
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            raise ParameterError(
                f"{self.name} has no parameter {unknown[0]!r:.80}"
                f"{suggest_name(unknown[0], self.parameters)}; it has "
                + ("; ".join(self.describe()) or "none")
            )
        for name in FILES:
            if values.get(name):
                raise ParameterError(f"{name} must be given as a file, with {name.upper()}=")
        numbers: dict[str, Any] = {}
        named = [p.ends for p in self.parameters.values()] + [{*r.names} for r in self.relations]
        if ROWS in set().union(*named):
            numbers[ROWS] = len(self._default_table() if table is None else table)
        for parameter in self.parameters.values():
            value = values.get(parameter.name, parameter.default)
            file = parameter.name in FILES
            numbers[parameter.name] = value if file else parameter.check(value, numbers)
        for relation in self.relations:
            relation.check(numbers)
        numbers.pop(ROWS, None)
        return numbers

    def _default_table(self) -> Sized:
        """Return what the documents have in place of a reader's own file."""
        file_parameter = next((name for name in FILES if name in self.parameters), FILES[0])
        table: Sized = _table_reader(file_parameter, "default")()
        return table

    def describe(self) -> list[str]:
        """Return one phrase a parameter: name, type, range and default."""
        return [
            f"{p.name} ({p.type} in {p.allowed}, default {p.default!r})"
            for p in self.parameters.values()
            if p.name not in FILES
        ]

    def _parse_line(self, line: str) -> Parameter:
        match = _LINE.fullmatch(line.strip())
        parts = match["help"].split(";", 2) if match else []
        if match is None or len(parts) != 3 or match["type"] not in (*TYPES, *LISTS):
            raise ParameterError(
                f"{self.path.name}: a line of the parameters cell must read "
                f"'name: type = default  # unit; range; description', got {line!r}"
            )
        try:
            default = ast.literal_eval(match["default"])
        except (ValueError, SyntaxError):
            raise ParameterError(
                f"{self.path.name}: the default of {match['name']} must be a number, a text or a "
                f"list in Python's notation, got {match['default']!r}"
            ) from None
        unit, allowed, description = (text.strip() for text in parts)
        is_range = allowed == "any" or INTERVAL.fullmatch(allowed) or CHOICES.fullmatch(allowed)
        if match["name"] not in FILES and not is_range:
            raise ParameterError(
                f"{self.path.name}: the range of {match['name']} must be an interval, "
                f"a set or 'any', got {allowed!r}"
            )
        return Parameter(match["name"], match["type"], default, unit, allowed, description)


@dataclass(frozen=True)
class OwnFile:
    """The file that a reader gave for one parameter of a notebook."""

    parameter: str  # one of FILES
    name: str  # name of the file, without its folder
    content: bytes  # content of the file

    @classmethod
    def read(cls, parameter: str, path: str) -> OwnFile:
        """Read a file; ValueError if it is no regular one, or too large."""
        return cls(parameter, Path(path).name, Path(check_file(parameter, path)).read_bytes())

    @property
    def shipped(self) -> str:
        """Name of the copy beside the notebook: the file's own if it is safe, else a fixed one."""
        return self.name if _SAFE_NAME.fullmatch(self.name) else f"{self.parameter}.csv"

    @property
    def sha256(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()


def describe_files(files: Iterable[OwnFile]) -> dict[str, dict[str, str]]:
    """Return name, name of the copy and hash of each file, by parameter."""
    return {
        file.parameter: {"name": file.name, "shipped": file.shipped, "sha256": file.sha256}
        for file in files
    }


def all_notebooks() -> dict[str, Notebook]:
    """Return the book's notebooks by name, in the order of the contents, then of their paths.

    Raises ParameterError if two of them have the same name.
    """
    position = {path: n for n, path in enumerate(_read_contents())}
    paths = [path for path in _list_pages() if "kernelspec:" in path.read_text("utf-8")[:400]]
    notebooks: dict[str, Notebook] = {}
    for path in sorted(paths, key=lambda path: (position.get(path, len(position)), path)):
        if path.stem in notebooks:
            raise ParameterError(f"{notebooks[path.stem].path} and {path} have the same name")
        notebooks[path.stem] = Notebook(path)
    return notebooks


def check_contents() -> None:
    """Raise ValueError naming the pages that the table of contents lacks, if there are any."""
    if missing := sorted(set(_list_pages()) - set(_read_contents())):
        names = ", ".join(path.relative_to(BOOK).as_posix() for path in missing)
        raise ValueError(f"{names}: not in the contents: give each a line in book/_toc.yml")


def _read_contents() -> list[Path]:
    """Return the pages that ``book/_toc.yml`` names, in its order."""

    def walk(entry: Mapping[str, Any]) -> Iterator[Path]:
        if name := entry.get("file", entry.get("root")):
            yield BOOK / f"{name}.md"
        for level in ("parts", "chapters", "sections"):
            for child in entry.get(level, []):
                yield from walk(child)

    return list(walk(yaml.safe_load((BOOK / "_toc.yml").read_text(encoding="utf-8"))))


def _list_pages() -> list[Path]:
    """Return the sources of the book's pages."""
    pages = [path for path in source_files() if path.suffix == ".md"]
    return [path for path in pages if path.relative_to(BOOK).parts[0] not in SPHINX_FOLDERS]


def source_files() -> Iterator[Path]:
    """Yield the source files below ``book/``, without output of builds and of Jupyter."""
    for folder, folders, names in os.walk(BOOK):
        folders[:] = [name for name in folders if name in SPHINX_FOLDERS or name[0] not in "_."]
        yield from (Path(folder, name) for name in names)


def find_notebook(name: str) -> Notebook:
    """Return the notebook of that name; raise ParameterError with the known names without one."""
    notebooks = all_notebooks()
    _check_name(name, notebooks)
    return notebooks[name]


def _check_name(name: str, notebooks: Mapping[str, Notebook]) -> None:
    if name not in notebooks:
        near = suggest_name(name, notebooks)
        raise ParameterError(
            f"there is no notebook {name!r}{near}; there are {', '.join(notebooks)}"
        )


def profile_parameters(profile: str) -> dict[str, dict[str, Any]]:
    """Return the parameter values of a profile, by notebook.

    Raises ParameterError if the profile cannot be read or names an unknown notebook.
    """
    values = read_texts(BOOK / "profiles" / f"{profile}.yml")
    notebooks = all_notebooks()
    for name in values:
        _check_name(name, notebooks)
    return values


def read_statistics() -> dict[str, dict[str, Any]]:
    """Return the recorded statistics of each profile's build.

    Keys by profile: ``seconds``, the CPU-seconds of each notebook; ``compilation``, the
    CPU-seconds of all compilations; ``bytes`` of ``results`` and of ``pages``; ``repeated``, the
    number of notebooks that gave the same bytes ``again``, and of ``all``.
    """
    path = BOOK / "profiles" / "builds.yml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_seconds(profile: str, name: str) -> float | None:
    """Return the recorded CPU-seconds of a notebook in a profile, or None."""
    seconds: Mapping[str, float] = read_statistics().get(profile, {}).get("seconds", {})
    return seconds.get(name)


def record_build(profile: str, **facts: Any) -> Path:
    """Record statistics of a profile's build, and return the file."""
    path = BOOK / "profiles" / "builds.yml"
    builds = read_statistics()
    builds[profile] = builds.get(profile, {}) | facts
    path.write_text(_HEADER + yaml.safe_dump(builds, sort_keys=False), encoding="utf-8")
    return path


def measure_build(build: Path) -> dict[str, Any]:
    """Return ``seconds``, ``compilation`` and ``bytes`` of the last build in a folder.

    Raises RuntimeError if a notebook has no result there.
    """
    folders = {name: build / "results" / n.page for name, n in all_notebooks().items()}
    missing = [name for name, folder in folders.items() if not (folder / "cpu.txt").exists()]
    if missing:
        raise RuntimeError(f"there is no result of {missing[0]}: run 'make book' first")
    compiled = [path for folder in folders.values() if (path := folder / COMPILATION).exists()]
    return {
        "seconds": {name: float((path / "cpu.txt").read_text()) for name, path in folders.items()},
        "compilation": round(sum(float(path.read_text()) for path in compiled), 1),
        "bytes": {
            "results": _count_bytes(build / "results"),
            "pages": _count_bytes(build / "html"),
        },
    }


def _count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def read_table(parameter: Parameter, path: str) -> Sized:
    """Read a reader's own file with the function of ``book/_tables.yml`` for the parameter's range.

    Raises ValueError naming the file and the reason.
    """
    table: Sized = _table_reader(parameter.name, parameter.allowed)(path)
    return table


def check_together(name: str, table: Sized | None, parameters: Mapping[str, Any]) -> None:
    """Raise ValueError if the page's function in ``_tables.yml`` cannot take parameters and file.

    `table`: what was read from the reader's own file, None without one; `parameters`: with the
    paths of the files, or empty texts.
    """
    if check := read_texts(BOOK / "_tables.yml").get("together", {}).get(name):
        resolve_name(check)(table, parameters)


def _table_reader(parameter: str, what: str) -> Any:
    return resolve_name(read_texts(BOOK / "_tables.yml")[parameter][what])
