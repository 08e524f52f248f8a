"""Values that a reader types: YAML, on the command line or in a file; what is said of mistakes."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml


class ParameterError(ValueError):
    """A parameter that a notebook does not take; one sentence says which and what is allowed."""


class Loader(yaml.SafeLoader):
    """YAML in which ``1e-3`` is a number, as YAML 1.2 has it, and a name is given once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping; what is said twice is an error and not the last of the two."""
        said: set[Any] = set()
        for key, _ in node.value:
            if key.value in said:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value} is given twice", problem_mark=key.start_mark
                )
            said.add(key.value)
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def parse_value(text: str) -> Any:
    """Return the value that a piece of YAML stands for."""
    return yaml.load(text, Loader)


def parse_assignments(text: str) -> dict[str, Any]:
    """Read ``"budget=2 horizon=200"`` or ``"@file.yml"`` into parameters; values are YAML.

    Raises
    ------
    ParameterError
        If a piece is not of the form name=value, or the file cannot be read.
    """
    if text.startswith("@"):
        return read_values(Path(text[1:]))
    try:
        pieces = shlex.split(text)
    except ValueError as error:
        raise ParameterError(f"parameters {text!r} cannot be read: {error}") from None
    values: dict[str, Any] = {}
    for piece in pieces:
        name, equals, value = piece.partition("=")
        if not equals or not name:
            raise ParameterError(f"parameters must read 'name=value name=value', got {piece!r}")
        if name in values:
            raise ParameterError(f"{name} is given twice")
        try:
            values[name] = parse_value(value)
        except yaml.YAMLError as error:
            hint = ": write a list without blanks" if value.startswith("[") else ""
            raise ParameterError(
                f"{name} must be a YAML value, got {value!r} ({_problem(error)}){hint}"
            ) from None
    return values


def read_values(path: Path) -> dict[str, Any]:
    """Read a file of ``name: value`` lines.

    Raises
    ------
    ParameterError
        Naming the file and the place in it.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader)
    except yaml.YAMLError as error:
        raise ParameterError(f"{path}: cannot be read: {_problem(error)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path}: must hold 'name: value' lines")
    return content


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the question whether another name was meant; nothing where none is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _problem(error: yaml.YAMLError) -> str:
    """Return what is wrong with a piece of YAML, and where, in one line."""
    mark = getattr(error, "problem_mark", None)
    said = str(getattr(error, "problem", None) or error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{' '.join(said.split())}"
