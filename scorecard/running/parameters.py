"""Parameters of a page: types and ranges. `relations` has what must hold between them.

A range is an interval (open or closed at either end), a set of choices in braces, or the word
``any``, where there is no rule at all. An end of an interval may be the name of an earlier number
of the page, ``[1, size]``. A list may be empty, or repeat a value, only if its default does; one
that repeats a value must keep the length of its default, such as one cost a source. What a reader
types is a text, which pydantic reads by the type; `make_model` gives the parameters of a page as a
pydantic model, whose JSON schema describes them to a form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.config import JsonDict

from scorecard.values import ParameterError, Relation, suggest_name

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

    @property
    def constant_range(self) -> str:
        """The range without the ends that are names."""
        if not self.ends:
            return self.allowed
        interval = INTERVAL.fullmatch(self.allowed)
        assert interval is not None
        low, high = interval.group(2, 3)
        low, high = "-inf" if low in self.ends else low, "inf" if high in self.ends else high
        return f"{interval['left']}{low}, {high}{interval['right']}"

    def annotate(self, allowed: str) -> Any:
        """Return pydantic's type of a value, or of an item of a list, in a range."""
        base: Any = TYPES[self.item_type]
        kind: Any = Annotated[base, _make_constraint(allowed, base)]
        return Annotated[kind, Field(allow_inf_nan=False)] if base is float else kind

    def check(self, value: Any, numbers: Mapping[str, Any]) -> Any:
        """Return `value` if it is of the type and in the range, by the rules of the module.

        `value`: a value of the type, or the text that a reader has typed; `numbers`: values of the
        names in the range. Raises ParameterError naming the parameter, the value and what is
        allowed.
        """
        allowed = self.allowed
        for end in self.ends:
            allowed = re.sub(rf"\b{end}\b", str(numbers[end]), allowed)
        adapter = TypeAdapter(self.annotate(allowed))
        is_list = self.type in LISTS
        items = _split_list(value) if is_list else [value]
        if not isinstance(items, list):
            raise ParameterError(
                f"{self.name} must be of type {self.type}, got {self._show(value)}"
            )
        try:
            values = [
                adapter.validate_strings(item)
                if isinstance(item, str)
                else adapter.validate_python(item, strict=True)
                for item in items
            ]
        except ValidationError as refused:
            (error, *_) = sorted(refused.errors(), key=lambda error: error["type"] in _OUTSIDE)
            if error["type"] in _OUTSIDE:
                wrong = error["input"]
                choices = _split_choices(allowed) if CHOICES.fullmatch(allowed) else []
                near = suggest_name(wrong, choices) if isinstance(wrong, str) else ""
                rule = "finite" if allowed == "any" else f"in {allowed}"
                message = f"{self.name} must be {rule}, got {self._show(wrong)}{near}"
                message += "".join(
                    f", where {end} is {numbers[end]!r}" for end in sorted(self.ends - {ROWS})
                )
            else:
                message = f"{self.name} must be of type {self.type}, got {self._show(value)}"
            raise ParameterError(message) from None
        if not is_list:
            return values[0]
        self._check_list(values)
        return values

    def _show(self, value: Any) -> str:
        """Return a value for a message; a number as it was typed, a word in quotation marks."""
        shown = f"{value!r:.80}"
        try:
            is_number = isinstance(value, str) and self.item_type != "str" and float(value)
        except ValueError:
            return shown
        return shown if is_number is False else shown.strip("'")

    def _check_list(self, values: list[Any]) -> None:
        """Check the length and the distinct values of a list."""
        if not values and self.default:
            raise ParameterError(f"{self.name} must hold at least one value, got []")
        if len(set(self.default)) < len(self.default):
            if len(values) != len(self.default):
                size = len(self.default)
                raise ParameterError(f"{self.name} must hold {size} values, got {values!r:.80}")
        elif any(value in values[:position] for position, value in enumerate(values)):
            raise ParameterError(f"{self.name} must hold each value once, got {values!r:.80}")


def _split_list(value: Any) -> Any:
    """Return the items of a list that is typed as ``[a, b]``; any other value as it is."""
    if not (isinstance(value, str) and value[:1] == "[" and value[-1:] == "]"):
        return value
    return [item.strip(" \"'") for item in value[1:-1].split(",")] if value[1:-1].strip() else []


def _read_text(text: str, kind: type) -> Any:
    """Return the value of a text of a type; an infinite end of a range is a float."""
    return TypeAdapter(float if "inf" in text and kind is int else kind).validate_strings(text)


def _split_choices(allowed: str) -> list[str]:
    """Return the choices of a range that is a set."""
    return [choice.strip(" \"'") for choice in allowed.strip("{}").split(",")]


def _read_choices(allowed: str, kind: type) -> list[Any]:
    choices = _split_choices(allowed)
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


def make_model(
    name: str, parameters: Iterable[Parameter], relations: Iterable[Relation]
) -> type[BaseModel]:
    """Return a page's parameters as a pydantic model.

    Its JSON schema has, for a form: types, defaults, descriptions and bounds; of each parameter its
    `unit` and its `range` as the page has it, which may name other parameters or N; and the
    `relations`, each with its reason.
    """
    fields: Any = {}
    for parameter in parameters:
        kind = parameter.annotate(parameter.constant_range)
        extra: dict[str, Any] = {"unit": parameter.unit, "range": parameter.allowed}
        if CHOICES.fullmatch(parameter.allowed):
            extra["enum"] = _read_choices(parameter.allowed, TYPES[parameter.item_type])
        fields[parameter.name] = (
            GenericAlias(list, (kind,)) if parameter.type in LISTS else kind,
            Field(parameter.default, description=parameter.description, json_schema_extra=extra),
        )
    public: JsonDict = {
        "relations": [{"text": r.text, "reason": r.reason} for r in relations],
    }
    config = ConfigDict(extra="forbid", json_schema_extra=public)
    model: type[BaseModel] = create_model(name, __config__=config, **fields)
    return model
