"""Texts that a reader types: assignments on the command line, and files of them.

Every value stays a text here; `scorecard.running.parameters` reads it by the type that the page
declares.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from analysis.checks import check_file


class ParameterError(ValueError):
    """A parameter that a notebook does not accept, with the name and the allowed values."""


class _Texts(yaml.BaseLoader):
    """PyYAML's loader that leaves all scalars as texts; a name stands once, aliases nowhere."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raise an error for an alias, which could grow without bound."""
        if self.check_event(yaml.AliasEvent):
            raise _yaml_error("aliases are not allowed", self.peek_event())
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping; raise an error for a name given twice, or one that is no word."""
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _yaml_error("a name must be a word, not a list", key)
            if key.value in names:
                raise _yaml_error(f"{key.value} is given twice", key)
            names.add(key.value)
        return super().construct_mapping(node, deep=True)


def _yaml_error(problem: str, node: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def parse_assignments(text: str) -> dict[str, Any]:
    """Read ``"budget=2 horizon=200"`` or ``"@file.yml"`` into texts by name.

    Raises ParameterError if a piece is not of the form name=value, or the file cannot be read.
    """
    if text.startswith("@"):
        return read_texts(Path(text[1:]))
    try:
        pieces = shlex.split(text)
    except ValueError as error:
        raise ParameterError(f"parameters {text!r:.80} cannot be read: {error}") from None
    values: dict[str, Any] = {}
    for piece in pieces:
        name, equals, value = piece.partition("=")
        if not equals or not name:
            raise ParameterError(f"parameters must read 'name=value name=value', got {piece!r:.80}")
        if name in values:
            raise ParameterError(f"{name} is given twice")
        if value.startswith("[") and not value.endswith("]"):
            raise ParameterError(
                f"{name} must be a list in brackets, got {value!r:.80}: write a list without blanks"
            )
        values[name] = value
    return values


def read_texts(path: Path) -> dict[str, Any]:
    """Read a file of ``name: value`` lines; all values are texts, or lists or mappings of these.

    Raises ParameterError naming the file and the place in it.
    """
    try:
        content = yaml.load(Path(check_file("file", path)).read_text(encoding="utf-8"), _Texts)
    except yaml.YAMLError as error:
        raise ParameterError(f"{path}: cannot be read: {_describe_error(error)}") from None
    except RecursionError:
        raise ParameterError(f"{path}: cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise ParameterError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path}: must hold 'name: value' lines")
    return content


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` with the known name most like `name`, if one is close."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _describe_error(error: yaml.YAMLError) -> str:
    """Return the message of a YAML error, with line and column, in one line."""
    mark = getattr(error, "problem_mark", None)
    text = str(getattr(error, "problem", None) or error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{' '.join(text.split())}"
