"""Parsing of values that a reader types, in YAML on the command line or in a file."""

from __future__ import annotations

import difflib
import math
import re
import shlex
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import yaml

from analysis.checks import check_file

#: Greatest depth of nested lists and mappings.
MAX_DEPTH = 20
_TAG = "tag:yaml.org,2002:"


class ParameterError(ValueError):
    """A parameter that a notebook does not accept, with the name and the allowed values."""


class Loader(yaml.SafeLoader):
    """A PyYAML loader for the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2, section 10.3).

    PyYAML resolves scalars as YAML 1.1 does, where ``1:30`` is 90, ``1_0`` is 10, ``010`` is 8 and
    ``on`` is true. This loader keeps its scanner and parser, and replaces its resolvers and
    constructors: what the core schema does not have (dates, merge keys, other tags) is a string, or
    an error. Keys must be strings and unique; aliases and deep nesting are errors.
    """

    yaml_implicit_resolvers: ClassVar = {}  # type: ignore[misc]
    yaml_constructors: ClassVar = {
        _TAG + "str": yaml.SafeLoader.construct_scalar,
        _TAG + "seq": yaml.SafeLoader.construct_yaml_seq,
        _TAG + "map": yaml.SafeLoader.construct_yaml_map,
        None: yaml.SafeLoader.construct_undefined,
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Return the next node; raise an error for aliases, unnamed tags and deep nesting."""
        self.depth: int = getattr(self, "depth", 0) + 1
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or event.tag == "!" or self.depth > MAX_DEPTH:
            reason = (
                f"aliases, tags without a name and more than {MAX_DEPTH} levels are not allowed"
            )
            raise _yaml_error(reason, event)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping with string keys; raise an error for a key given twice."""
        if not isinstance(node, yaml.MappingNode):
            raise _yaml_error("'name: value' lines were expected", node)
        values: dict[Hashable, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _yaml_error("a name must be a word, not a list", key)
            if key.value in values:
                raise _yaml_error(f"{key.value} is given twice", key)
            values[key.value] = self.construct_object(value, deep=True)
        return values


def _yaml_error(problem: str, node: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _add_scalar(kind: str, pattern: str, first: str, read: Callable[[str], Any]) -> None:
    """Register a tag's resolver and constructor: plain scalars that match a pattern."""
    syntax = re.compile(pattern)

    def construct(loader: Loader, node: yaml.ScalarNode) -> Any:
        text: str = loader.construct_scalar(node)
        if not syntax.fullmatch(text):
            raise _yaml_error(f"{text!r:.40} is no {kind}", node)
        try:
            return read(text)
        except ValueError:
            raise _yaml_error("the number is too large", node) from None

    Loader.add_implicit_resolver(_TAG + kind, re.compile(rf"(?:{pattern})\Z"), [*first, ""])
    Loader.add_constructor(_TAG + kind, construct)


def _float(text: str) -> float:
    value = float(re.sub(r"\.(?=[inIN])", "", text))
    if math.isinf(value) and "inf" not in text.lower():
        raise ValueError
    return value


# The order matters: the text of an integer also matches the pattern of a float.
_add_scalar("null", r"~|null|Null|NULL|", "~nN", lambda text: None)
_add_scalar(
    "bool", r"true|True|TRUE|false|False|FALSE", "tTfF", lambda text: text.lower() == "true"
)
_add_scalar(
    "int",
    r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    "-+0123456789",
    lambda text: int(text, 0 if text[1:2] in {"o", "x"} else 10),
)
_add_scalar(
    "float",
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
    _float,
)


def parse_value(text: str) -> Any:
    """Return the value of a YAML text."""
    return yaml.load(text, Loader)


def parse_assignments(text: str) -> dict[str, Any]:
    """Read ``"budget=2 horizon=200"`` or ``"@file.yml"`` into parameters; values are YAML.

    Raises ParameterError if a piece is not of the form name=value, or the file cannot be read.
    """
    if text.startswith("@"):
        return read_values(Path(text[1:]))
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
        try:
            values[name] = parse_value(value)
        except yaml.YAMLError as error:
            hint = ": write a list without blanks" if value.startswith("[") else ""
            raise ParameterError(
                f"{name} must be a YAML value, got {value!r:.80} ({_describe_error(error)}){hint}"
            ) from None
    return values


def read_values(path: Path) -> dict[str, Any]:
    """Read a file of ``name: value`` lines.

    Raises ParameterError naming the file and the place in it.
    """
    try:
        content = yaml.load(Path(check_file("file", path)).read_text(encoding="utf-8"), Loader)
    except yaml.YAMLError as error:
        raise ParameterError(f"{path}: cannot be read: {_describe_error(error)}") from None
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
