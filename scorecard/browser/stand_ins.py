"""Stand-ins for libraries that the runtime in a browser lacks, and for pydantic.

*grimp.* Pages with recorded experiments show a hash of the code that computed them
(`analysis.fingerprint`). In a browser the hash is taken of the files there; only which module
imports which is found when the site is built, and read from the archive of the code.

*python-flint.* Exact numbers do not depend on who computes them: a page that uses these systems and
polynomials has the same results as with FLINT, only later.

*pydantic*, which the worker does not load: `check_text` has the rules and the messages of
`scorecard.running.notebooks`; tests compare the two on all pages.
"""

from __future__ import annotations

import ast
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from importlib.util import find_spec
from itertools import zip_longest
from types import ModuleType, SimpleNamespace
from typing import Any

from scorecard.files import ROOT
from scorecard.values import check_list, make_refusal, split_choices, split_list

#: File of the graph in the archive of the code: modules that a module imports, by its name.
GRAPH = "imports.json"
_END = r"\s*([-+]?inf|[-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*"
_INTERVAL = re.compile(rf"(?P<left>[\[(]){_END},{_END}(?P<right>[\])])")
_NAME = re.compile(r"(?<![\w.])[a-zA-Z]\w*")


def write_imports(packages: tuple[str, ...]) -> str:
    """Return the import graph of packages as JSON, as `analysis.fingerprint` asks for it."""
    import grimp

    graph = grimp.build_graph(*packages, cache_dir=None, exclude_type_checking_imports=True)
    imported = {
        module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules
    }
    return json.dumps(imported, sort_keys=True)


def replace_missing() -> None:
    """Where IPython, grimp or python-flint is missing, have its name give the stand-in."""
    for name, make in {
        "IPython": _make_ipython,
        "grimp": _make_grimp,
        "flint": _make_flint,
    }.items():
        if name not in sys.modules and not find_spec(name):
            sys.modules |= make()


def _make_ipython() -> dict[str, ModuleType]:
    """Return what cells import of IPython; text that one shows is that text."""
    module, display = ModuleType("IPython"), ModuleType("IPython.display")
    module.get_ipython = lambda: None  # type: ignore[attr-defined]  # as Matplotlib asks
    display.Markdown = str  # type: ignore[attr-defined]
    return {"IPython": module, "IPython.display": display}


def _make_grimp() -> dict[str, ModuleType]:
    module = ModuleType("grimp", "The import graph of the archive.")
    module.build_graph = lambda *_, **__: read_graph()  # type: ignore[attr-defined]
    return {"grimp": module}


def read_graph() -> SimpleNamespace:
    """Return the graph of the archive, with what `analysis.fingerprint` asks of it."""
    imported: dict[str, list[str]] = json.loads((ROOT / GRAPH).read_bytes())
    return SimpleNamespace(
        modules=imported.keys(),
        find_modules_directly_imported_by=lambda module: set(imported[module]),
    )


# Exact numbers, in place of python-flint


class Matrix:
    """A matrix of fractions; `rows` hold their entries that are not 0, by column."""

    def __init__(self, height: int, width: int) -> None:
        self.width = width
        self.rows: list[dict[int, Any]] = [{} for _ in range(height)]

    def __getitem__(self, place: tuple[int, int]) -> Any:
        return self.rows[place[0]].get(place[1], Fraction(0))

    def __setitem__(self, place: tuple[int, int], value: Any) -> None:
        row = self.rows[place[0]]
        row[place[1]] = Fraction(value)
        if not value:
            del row[place[1]]

    def __mul__(self, factor: Any) -> Matrix:
        product = Matrix(len(self.rows), self.width)
        product.rows = [{column: x * factor for column, x in row.items()} for row in self.rows]
        return product

    def tolist(self) -> list[list[Any]]:
        """Return all entries, row by row."""
        return [
            [self[row, column] for column in range(self.width)] for row in range(len(self.rows))
        ]

    def det(self) -> Any:
        """Return the determinant of a square matrix."""
        try:
            return self._eliminate([{}] * self.width)[0]
        except ZeroDivisionError:
            return Fraction(0)

    def solve(self, right: Matrix, algorithm: str = "") -> Matrix:
        """Return X with (this matrix) X = `right`; ZeroDivisionError if there is not one X."""
        solution = Matrix(self.width, right.width)
        pivots = self._eliminate(right.rows)[1]
        for column, row, sides in reversed(pivots):
            for above, entry in row.items():
                if above != column:
                    _subtract(sides, solution.rows[above], entry)
            solution.rows[column] = {side: x / row[column] for side, x in sides.items()}
        return solution

    def _eliminate(
        self, right: Iterable[dict[int, Any]]
    ) -> tuple[Any, list[tuple[int, dict[int, Any], dict[int, Any]]]]:
        """Return the determinant, and by column the row of its pivot, with its right sides.

        The row with the fewest entries is the pivot: exact numbers need no large one.
        """
        rows = [(dict(row), dict(sides)) for row, sides in zip(self.rows, right, strict=True)]
        determinant, pivots = Fraction(1), []
        for column in range(self.width):
            holding = [number for number, (row, _) in enumerate(rows) if column in row]
            if not holding:
                raise ZeroDivisionError("the matrix is singular")
            chosen = min(holding, key=lambda number: len(rows[number][0]))
            pivot, sides = rows.pop(chosen)
            determinant *= -pivot[column] if chosen % 2 else pivot[column]
            pivots.append((column, pivot, sides))
            for row, others in rows:
                if column in row:
                    factor = row[column] / pivot[column]
                    _subtract(row, pivot, factor)
                    _subtract(others, sides, factor)
        return determinant, pivots


def _subtract(row: dict[int, Any], other: dict[int, Any], factor: Any) -> None:
    """Subtract a multiple of another row, and leave out what becomes 0."""
    for column, entry in other.items():
        value = row.get(column, 0) - factor * entry
        if value:
            row[column] = value
        else:
            row.pop(column, None)


class Polynomial:
    """A polynomial with whole coefficients, from that of the least power."""

    def __init__(self, coefficients: Iterable[int]) -> None:
        self._coefficients = [*map(int, coefficients)]
        while self._coefficients and not self._coefficients[-1]:
            self._coefficients.pop()

    def coeffs(self) -> list[int]:
        """Return the coefficients; none of 0."""
        return [*self._coefficients]

    def __eq__(self, other: object) -> bool:
        return self._coefficients == _as_polynomial(other)._coefficients

    def __hash__(self) -> int:
        return hash(tuple(self._coefficients))

    def __add__(self, other: Any) -> Polynomial:
        pairs = zip_longest(self._coefficients, _as_polynomial(other)._coefficients, fillvalue=0)
        return Polynomial(x + y for x, y in pairs)

    def __sub__(self, other: Any) -> Polynomial:
        return self + _as_polynomial(other) * -1

    def __mul__(self, other: Any) -> Polynomial:
        others = _as_polynomial(other)._coefficients
        product = [0] * (len(self._coefficients) + len(others))
        for i, x in enumerate(self._coefficients):
            if x:
                for j, y in enumerate(others, i):
                    product[j] += x * y
        return Polynomial(product)

    __rmul__ = __mul__

    def __divmod__(self, other: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Return quotient and remainder, which is 0 if and only if `other` divides this one."""
        remainder, divisor = self.coeffs(), other.coeffs()
        quotient = [0] * max(len(remainder) - len(divisor) + 1, 0)
        for power in reversed(range(len(quotient))):
            quotient[power] = remainder[power + len(divisor) - 1] // divisor[-1]
            for i, x in enumerate(divisor, power):
                remainder[i] -= quotient[power] * x
        return Polynomial(quotient), Polynomial(remainder)


def _as_polynomial(value: Any) -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial([value])


def _make_flint() -> dict[str, ModuleType]:
    module = ModuleType("flint", "Exact numbers in plain Python.")
    # FLINT's names of numerator and denominator.
    Fraction.p, Fraction.q = Fraction.numerator, Fraction.denominator  # type: ignore[attr-defined]
    names = {
        "fmpz": int, "fmpq": Fraction, "fmpz_mat": Matrix, "fmpq_mat": Matrix,
        "fmpz_poly": Polynomial,
    }  # fmt: skip
    vars(module).update(names)
    return {"flint": module}


# Parameters, in place of pydantic


def check_text(parameter: Mapping[str, Any], text: str, numbers: Mapping[str, Any]) -> Any:
    """Return the value that a text gives a parameter.

    `parameter`: its declaration: name, type, default and range (``allowed``); `numbers`: values of
    the names in the range. Raises ParameterError naming the parameter, the value and what is
    allowed.
    """
    name, kind, allowed = parameter["name"], parameter["type"], parameter["allowed"]
    ends: set[str] = set()
    if allowed[:1] in "[(":
        ends = {*_NAME.findall(allowed)} - {"inf"}
        for end in ends:
            allowed = re.sub(rf"\b{end}\b", str(numbers[end]), allowed)
    is_list = kind.startswith("list")
    items = split_list(text) if is_list else [text]
    if items is None:
        raise make_refusal(name, kind, text)
    values = []
    for item in items:
        value = _read(item, kind[5:-1] if is_list else kind)
        if value is None:
            raise make_refusal(name, kind, text)
        if not _is_allowed(value, allowed):
            raise make_refusal(
                name, kind, item, allowed, {end: numbers[end] for end in ends if end != "N"}
            )
        values.append(value)
    if not is_list:
        return values[0]
    check_list(name, values, parameter["default"])
    return values


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
    choices = split_choices(allowed)
    return value in (choices if isinstance(value, str) else map(ast.literal_eval, choices))
