"""Texts that a reader types, on the command line or in files, and relations of parameters.

Every value stays a text here; `scorecard.running.notebooks` reads it by the type that the page
declares. A relation, such as ``training + test <= 190``, is a comparison in Python's notation. It
is read as a syntax tree, in which only numbers, names of parameters, sums, differences, products,
comparisons and a few functions of a list are allowed.
"""

from __future__ import annotations

import ast
import difflib
import shlex
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from analysis.checks import check_file
from scorecard.files import BOOK

#: Parameters whose value is a reader's own file.
FILES = ("sources", "trace", "signals")


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


@cache
def book_settings() -> dict[str, Any]:
    """Return what ``book/_book.yml`` says: what the kit cannot know of a book."""
    return read_texts(BOOK / "_book.yml")


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` with the known name most like `name`, if one is close."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def split_choices(allowed: str) -> list[str]:
    """Return the choices of a range that is a set."""
    return [choice.strip(" \"'") for choice in allowed.strip("{}").split(",")]


def split_list(text: str) -> list[str] | None:
    """Return the items of ``[a, b]``; None if the text is no list."""
    text = text.strip()
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        return None
    inside = text[1:-1].strip()
    return [item.strip(" \"'") for item in inside.split(",")] if inside else []


def make_refusal(
    name: str, kind: str, value: Any, allowed: str = "", ends: Mapping[str, Any] | None = None
) -> ParameterError:
    """Return the error for a value that is not of a type, or, given `allowed`, out of that range.

    `ends`: values of the parameters that are ends of the range. A number is shown as it was typed,
    a word in quotation marks.
    """
    shown = f"{value!r:.80}"
    if isinstance(value, str) and "str" not in kind:
        with suppress(ValueError):
            float(value)
            shown = shown.strip("'")
    if not allowed:
        return ParameterError(f"{name} must be of type {kind}, got {shown}")
    is_choice = allowed[0] == "{" and isinstance(value, str)
    near = suggest_name(value, split_choices(allowed)) if is_choice else ""
    rule = "finite" if allowed == "any" else f"in {allowed}"
    where = "".join(f", where {end} is {number!r}" for end, number in sorted((ends or {}).items()))
    return ParameterError(f"{name} must be {rule}, got {shown}{near}{where}")


def check_list(name: str, values: list[Any], default: list[Any]) -> None:
    """Raise ParameterError if a list is empty, or repeats a value, and its default does not."""
    if not values and default:
        raise ParameterError(f"{name} must hold at least one value, got []")
    if len(set(default)) < len(default):
        if len(values) != len(default):
            raise ParameterError(f"{name} must hold {len(default)} values, got {values!r:.80}")
    elif any(value in values[:position] for position, value in enumerate(values)):
        raise ParameterError(f"{name} must hold each value once, got {values!r:.80}")


def _describe_error(error: yaml.YAMLError) -> str:
    """Return the message of a YAML error, with line and column, in one line."""
    mark = getattr(error, "problem_mark", None)
    text = str(getattr(error, "problem", None) or error)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}{' '.join(text.split())}"


# Relations

_OF_A_LIST: Mapping[str, Callable[[Sequence[float]], bool]] = {
    "falling": lambda values: all(before > after for before, after in pairwise(values)),
    "rising": lambda values: all(before < after for before, after in pairwise(values)),
}
#: Numbers of a list that a relation may compare.
_NUMBERS: Mapping[str, Callable[[Any], Any]] = {"len": len, "min": min, "max": max, "sum": sum}
_FUNCTIONS = {**_NUMBERS, **_OF_A_LIST}


@dataclass(frozen=True)
class Relation:
    """One relation that a page declares.

    `text`: the relation as the page has it; `reason`: why it must hold; `names`: the parameters in
    it, in order.
    """

    text: str
    reason: str
    names: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, reason: str) -> Relation:
        """Read a relation; raise ParameterError if it has anything that is not allowed in one."""
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            tree = None
        if tree is None or not _is_relation(tree):
            raise ParameterError(
                "a relation must compare numbers, parameters, sums, products and "
                f"{', '.join(_NUMBERS)} of a list, or be {' or '.join(_OF_A_LIST)} of one, "
                f"got {text!r:.80}"
            )
        named = dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        return cls(text, reason, tuple(name for name in named if name not in _FUNCTIONS))

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ParameterError with the relation, its reason and the values if it does not hold."""
        # `parse` has let nothing in but comparisons, numbers, names and the functions.
        if not eval(self.text, {"__builtins__": {}, **_FUNCTIONS}, dict(values)):
            assignments = ", ".join(f"{name} = {values[name]!r:.80}" for name in self.names)
            raise ParameterError(f"{self.text} must hold ({self.reason}), got {assignments}")


def _is_relation(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)], keywords=[]):
            return name in _OF_A_LIST and of not in _FUNCTIONS
        case ast.Compare(left=first, ops=signs, comparators=others):
            orders = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
            if not all(isinstance(sign, orders) for sign in signs):
                return False
            return all(map(_is_term, (first, *others)))
    return False


def _is_term(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() | float() as number):
            return not isinstance(number, bool)
        case ast.Name(id=name):
            return name not in _FUNCTIONS
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            return _is_term(left) and _is_term(right)
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=of)], keywords=[]):
            return name in _NUMBERS and of not in _FUNCTIONS
    return False
