"""What pages use of python-flint, in plain Python: exact numbers, systems and polynomials.

The runtime here lacks python-flint. Numbers that are exact do not depend on who computes them, so
a page that uses these has the same results as with FLINT, only later.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from fractions import Fraction
from importlib.util import find_spec
from itertools import zip_longest
from types import ModuleType
from typing import Any


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


def replace_flint() -> None:
    """Where python-flint is missing, have ``import flint`` give these instead."""
    if "flint" in sys.modules or find_spec("flint"):
        return
    module = ModuleType("flint", "Exact numbers in plain Python.")
    # FLINT's names of numerator and denominator.
    Fraction.p, Fraction.q = Fraction.numerator, Fraction.denominator  # type: ignore[attr-defined]
    names = {
        "fmpz": int, "fmpq": Fraction, "fmpz_mat": Matrix, "fmpq_mat": Matrix,
        "fmpz_poly": Polynomial,
    }  # fmt: skip
    vars(module).update(names)
    sys.modules["flint"] = module
