"""The texts of a form as parameters, checked without pydantic, which the worker does not load.

The rules and the messages are those of `scorecard.running.parameters`: tests compare the two on all
pages.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import Any

from scorecard.values import ParameterError, suggest_name

_END = r"\s*([-+]?inf|[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*"
_INTERVAL = re.compile(rf"(?P<left>[\[(]){_END},{_END}(?P<right>[\])])")
_NAME = re.compile(r"(?<![\w.])[a-zA-Z]\w*")


def check_text(parameter: Mapping[str, Any], text: str, numbers: Mapping[str, Any]) -> Any:
    """Return the value that a text gives a parameter.

    `parameter`: its declaration: name, type, default and range (``allowed``); `numbers`: values of
    the names in the range. Raises ParameterError naming the parameter, the value and what is
    allowed.
    """
    name, kind, allowed = parameter["name"], parameter["type"], parameter["allowed"]
    ends: list[str] = []
    if allowed[:1] in "[(":
        ends = sorted({*_NAME.findall(allowed)} - {"inf"})
        for end in ends:
            allowed = re.sub(rf"\b{end}\b", str(numbers[end]), allowed)
    is_list = kind.startswith("list")
    items = _split_list(text) if is_list else [text]
    if items is None:
        raise ParameterError(f"{name} must be of type {kind}, got {_show(text, kind)}")
    values = []
    for item in items:
        value = _read(item, kind[5:-1] if is_list else kind)
        if value is None:
            raise ParameterError(f"{name} must be of type {kind}, got {_show(text, kind)}")
        if not _is_allowed(value, allowed):
            near = suggest_name(item, _split_choices(allowed)) if allowed[0] == "{" else ""
            rule = "finite" if allowed == "any" else f"in {allowed}"
            message = f"{name} must be {rule}, got {_show(item, kind)}{near}"
            named = [end for end in ends if end != "N"]
            raise ParameterError(
                message + "".join(f", where {end} is {numbers[end]!r}" for end in named)
            )
        values.append(value)
    if not is_list:
        return values[0]
    _check_list(name, values, parameter["default"])
    return values


def _show(text: str, kind: str) -> str:
    """Return a text for a message; a number as it was typed, a word in quotation marks."""
    if "str" not in kind:
        try:
            float(text)
        except ValueError:
            pass
        else:
            return text
    return f"{text!r:.80}"


def _split_list(text: str) -> list[str] | None:
    """Return the items of ``[a, b]``; None if the text is no list."""
    text = text.strip()
    if not (text[:1] == "[" and text[-1:] == "]" and len(text) > 1):
        return None
    inside = text[1:-1].strip()
    return [item.strip(" \"'") for item in inside.split(",")] if inside else []


def _read(text: str, kind: str) -> Any:
    """Return the value of a text as a type; None if it is none."""
    if kind == "str":
        return text
    if kind == "bool":
        return {"true": True, "false": False}.get(text)
    try:
        value = float(text)
        if kind == "float":
            return value
        return int(text) if "." not in text else int(value) if value == int(value) else None
    except (ValueError, OverflowError):
        return None


def _split_choices(allowed: str) -> list[str]:
    return [choice.strip(" \"'") for choice in allowed.strip("{}").split(",")]


def _is_allowed(value: Any, allowed: str) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if interval := _INTERVAL.fullmatch(allowed):
        low, high = (float(end) for end in interval.group(2, 3))
        above = low <= value if interval["left"] == "[" else low < value
        below = value <= high if interval["right"] == "]" else value < high
        return bool(above and below)
    if allowed == "any" or isinstance(value, bool):
        return True
    choices = _split_choices(allowed)
    return value in (choices if isinstance(value, str) else map(ast.literal_eval, choices))


def _check_list(name: str, values: list[Any], default: list[Any]) -> None:
    """Check the length and the distinct values of a list."""
    if not values and default:
        raise ParameterError(f"{name} must hold at least one value, got []")
    if len(set(default)) < len(default):
        if len(values) != len(default):
            raise ParameterError(f"{name} must hold {len(default)} values, got {values!r:.80}")
    elif any(value in values[:position] for position, value in enumerate(values)):
        raise ParameterError(f"{name} must hold each value once, got {values!r:.80}")
