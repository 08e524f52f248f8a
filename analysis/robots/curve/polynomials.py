r"""The gaps of a curve as polynomials in lambda with whole coefficients (needs python-flint).

With mu = 1 the equations of a policy (`analysis.robots.curve.reduced`) have coefficients that are
linear in lambda.  By Cramer, D l_f(x) and D w_f(x) are polynomials, D being the determinant; and so
is D (l_f(y) w_f(x) - l_f(x) w_f(y)), since minors of second order of an inverse are minors of the
matrix over D (Jacobi).

A polynomial with coefficients below 2^(B-1) in size is read from its value at 2^B, digit by digit
(Kronecker): one determinant and one solution in integers give all of them.  B comes from a bound: a
determinant's coefficients are at most the product over its rows of the sums of the absolute values
of all coefficients there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from analysis.robots.curve.diagrams import Curve
from analysis.robots.curve.reduced import Bools, Box, ReducedQueue

#: Rates lambda_0..lambda_N by their values at an integer: polynomials with coefficients >= 0.
Rates = Callable[[int], list[int]]


@dataclass(frozen=True)
class CurvePolynomials:
    """Determinant D of a curve, and D l_f(x) and D w_f(x) of each box x: `fmpz_poly` in lambda."""

    determinant: Any
    losses: dict[Box, Any]
    times: dict[Box, Any]

    def later(self, y: Box, x: Box) -> Any:
        """Return D (l(y) w(x) - l(x) w(y)): positive if y's gap vanishes at a larger t than x's."""
        product = self.losses[y] * self.times[x] - self.losses[x] * self.times[y]
        quotient, rest = divmod(product, self.determinant)
        if rest != 0:
            raise ArithmeticError(f"the minor of {y} and {x} is no polynomial: {rest} is left over")
        return quotient


def curve_polynomials(
    queue: ReducedQueue, curve: Curve, rates: Rates | None = None
) -> CurvePolynomials:
    """Return the polynomials of a curve f(r), r < N, with mu = 1.

    `rates` returns the rates at an integer; by default lambda_r = r lambda.
    """
    law = rates or queue.linear_rates
    starts = queue.curve_policy(curve)
    bits = _coefficient_bits(queue, starts, law)
    determinant, losses, times = _scaled_values(queue, starts, law(1 << bits))
    columns = (
        dict(zip(queue.boxes, (_read(int(gap), bits) for gap in queue.gaps(values)), strict=True))
        for values in (losses, times)
    )
    return CurvePolynomials(_read(int(determinant), bits), *columns)


def is_nonnegative(polynomial: Any) -> bool:
    """Whether no coefficient is negative, so that the polynomial is not negative for lambda > 0."""
    return all(coefficient >= 0 for coefficient in polynomial.coeffs())


def _coefficient_bits(queue: ReducedQueue, starts: Bools, rates: Rates) -> int:
    """Return B, a multiple of 8, with all coefficients of D and the gaps below 2^(B-1)."""
    entries, costs = queue.coefficients(starts, 1, rates(1))
    sums = [abs(loss) + abs(weight) for loss, weight in costs]
    for row, _, value in entries:
        sums[row] += abs(value)
    bound = 2  # a gap is the difference of two determinants
    for total in sums:
        bound *= total
    return 8 * (bound.bit_length() // 8 + 1)


def _scaled_values(
    queue: ReducedQueue, starts: Bools, rates: list[int]
) -> tuple[Any, list[Any], list[Any]]:
    """Return D, and D times the values of all states: losses, and the negated slopes in t."""
    from flint import fmpz, fmpz_mat

    entries, costs = queue.coefficients(starts, 1, rates)
    size = len(costs)
    system, right = fmpz_mat(size, size), fmpz_mat(size, 2)
    for row, column, value in entries:
        system[row, column] += value
    for row, (loss, weight) in enumerate(costs):
        right[row, 0], right[row, 1] = loss, -weight
    determinant = system.det()
    scaled: Any = system.solve(right)
    solution = (scaled * determinant).tolist()
    free = solution[: len(queue.states) - 1]
    losses, times = ([row[column].p for row in free] + [fmpz(0)] for column in (0, 1))
    return determinant, losses, times


def _read(value: int, bits: int) -> Any:
    """Return the polynomial whose value at 2^bits is given, coefficients below 2^(bits-1).

    `bits` is a multiple of 8: half a base is added to each digit, and the digits are bytes.
    """
    from flint import fmpz_poly

    size, half = bits // 8, 1 << (bits - 1)
    count = value.bit_length() // bits + 1
    shift = half * (((1 << bits * count) - 1) // ((1 << bits) - 1))
    raw = (value + shift).to_bytes(size * count + 1, "little")
    parts = (raw[size * place : size * (place + 1)] for place in range(count))
    return fmpz_poly([int.from_bytes(part, "little") - half for part in parts])
