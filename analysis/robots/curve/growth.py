r"""The growth criterion: when optimal curves grow box by box as the weight of starvation rises.

Let d_f(x) = l_f(x) - t w_f(x) be the gap of box x under curve f.  If for all curves f of a family

    (i)   w_f(x) >= 0 for every box x,
    (ii)  l_f(y) w_f(x) >= l_f(x) w_f(y) if x can be added to f, w_f(x) > 0, and adding it makes y
          addable,
    (iii) an addable box with w_f(x) = 0 has l_f(x) >= 0, and every curve but the largest has an
          addable box with w_f(x) > 0,

then as t rises the optimal curve runs through a growing sequence of the family.  `check_curve`
checks one curve, for all lambda > 0 at once: no polynomial there may have a negative coefficient.
`prove_growth` needs (i) to (iii) only for curves that the sequence can meet: on an interval of
lambda a box is left out if another one is sure to be added before it.  Where that is not enough it
divides the interval.

The gaps of a curve are polynomials in lambda with whole coefficients (python-flint).  With mu = 1
the equations of a policy (`analysis.robots.curve.reduced`) have coefficients that are linear in
lambda.  By Cramer, D l_f(x) and D w_f(x) are polynomials, D being the determinant; and so is
D (l_f(y) w_f(x) - l_f(x) w_f(y)), since minors of second order of an inverse are minors of the
matrix over D (Jacobi).  A polynomial with coefficients below 2^(B-1) in size is read from its value
at 2^B, digit by digit (Kronecker): one determinant and one solution in integers give all of them.
B comes from a bound: a determinant's coefficients are at most the product over its rows of the sums
of the absolute values of all coefficients there.

``python -m analysis.robots.curve.growth`` runs the long exact checks and writes ``checked.csv`` and
``checked_instances.csv`` beside this file, which the page on the growth of the curve quotes: what
was computed, and a hash of the code that computed it.  A test fails if the code has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from analysis.checks import check_choice, check_integer
from analysis.fingerprint import fingerprint
from analysis.results import NotConverged
from analysis.robots.curve.parametric import optimal_sequence
from analysis.robots.curve.reduced import (
    FAMILIES,
    Bools,
    Box,
    Curve,
    ReducedQueue,
    add_box,
    addable_boxes,
    generate_curves,
)

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
        quotient, remainder = divmod(product, self.determinant)
        if remainder != 0:
            raise ArithmeticError(
                f"the minor of {y} and {x} is no polynomial: {remainder} is left over"
            )
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
    digits = (raw[size * position : size * (position + 1)] for position in range(count))
    return fmpz_poly([int.from_bytes(digit, "little") - half for digit in digits])


#: lambda between two fractions (p, q), which stand for p/q; (1, 0) is infinity.
Interval = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class CurveCheck:
    """The criterion at one curve f, for all lambda > 0.

    `polynomials` counts those of (i) and (ii); `negative` lists those with a negative coefficient,
    as ("i", x, x) or ("ii", x, y). `determinant_positive` says whether D has no negative
    coefficient and is not 0, `third` whether (iii) holds.
    """

    curve: Curve
    polynomials: int
    negative: list[tuple[str, Box, Box]]
    determinant_positive: bool
    third: bool

    @property
    def holds(self) -> bool:
        """Whether (i) to (iii) are certain at this curve, for all lambda > 0."""
        return not self.negative and self.determinant_positive and self.third


def newly_addable_boxes(queue: ReducedQueue, curve: Curve, box: Box, family: str) -> list[Box]:
    """Return the boxes that become addable when a box is added."""
    already_addable = addable_boxes(queue, curve, family)
    return [
        y for y in addable_boxes(queue, add_box(curve, box), family) if y not in already_addable
    ]


def check_curve(
    queue: ReducedQueue, curve: Curve, family: str = "all", rates: Rates | None = None
) -> CurveCheck:
    """Check (i), (ii) and (iii) at one curve, for all lambda > 0 at once, with mu = 1.

    Additions in (ii) and (iii) are those within the family; `rates` other than r lambda are as in
    `curve_polynomials`.
    """
    check_choice("family", family, FAMILIES)
    polynomials = curve_polynomials(queue, curve, rates)
    negative = [("i", x, x) for x in queue.boxes if not is_nonnegative(polynomials.times[x])]
    corners = addable_boxes(queue, curve, family)
    moving = [x for x in corners if polynomials.times[x] != 0]
    pairs = [(x, y) for x in moving for y in newly_addable_boxes(queue, curve, x, family)]
    negative += [("ii", x, y) for x, y in pairs if not is_nonnegative(polynomials.later(y, x))]
    third = all(is_nonnegative(polynomials.losses[x]) for x in corners if x not in moving)
    return CurveCheck(
        curve,
        len(queue.boxes) + len(pairs),
        negative,
        is_nonnegative(polynomials.determinant) and polynomials.determinant != 0,
        third and bool(moving or not corners),
    )


@dataclass(frozen=True)
class Proof:
    """What was checked on the way of the growing sequence.

    `intervals` of lambda go end to end from 0 to infinity; `curves` is how many the sequence can
    meet for some lambda, as far as was needed to tell, and `polynomials` how many signs were
    settled, over all intervals.
    """

    intervals: list[Interval]
    curves: int
    polynomials: int


def prove_growth(queue: ReducedQueue, family: str = "gentle", max_intervals: int = 1000) -> Proof:
    """Prove for all lambda > 0 that some growing sequence of curves of a family is optimal.

    The problem has one N, and one K or all K >= N. Raises NotConverged if more than `max_intervals`
    are needed: nothing is proved.
    """
    check_choice("family", family, FAMILIES)
    max_intervals = check_integer("max_intervals", max_intervals, 1)
    polynomials_of: dict[Curve, CurvePolynomials] = {}
    open_intervals: list[Interval] = [((0, 1), (1, 0))]
    closed: list[Interval] = []
    polynomials = 0
    while open_intervals:
        interval = open_intervals.pop()
        search = _Search(queue, family, interval, polynomials_of)
        if search.succeeds():
            closed.append(interval)
            polynomials += search.polynomials
        else:
            (p, q), (u, v) = interval
            middle = p + u, q + v
            open_intervals += [(middle, (u, v)), ((p, q), middle)]
        if len(closed) + len(open_intervals) > max_intervals:
            raise NotConverged(f"more than {max_intervals} intervals of lambda are needed")
    return Proof(closed, len(polynomials_of), polynomials)


@dataclass
class _Search:
    """The curves that the sequence can meet on one interval of lambda."""

    queue: ReducedQueue
    family: str
    interval: Interval
    polynomials_of: dict[Curve, CurvePolynomials]
    polynomials: int = 0

    def succeeds(self) -> bool:
        """Whether (i) to (iii) are certain at each of them."""
        waiting, reached = [self.queue.lossless_curve()], {self.queue.lossless_curve()}
        while waiting:
            curve = waiting.pop()
            if curve not in self.polynomials_of:
                self.polynomials_of[curve] = curve_polynomials(self.queue, curve)
            following = self._following(curve, self.polynomials_of[curve])
            if following is None:
                return False
            waiting += [successor for successor in following if successor not in reached]
            reached.update(following)
        return True

    def _following(self, curve: Curve, polynomials: CurvePolynomials) -> list[Curve] | None:
        """Return the curves that may come next, None if the criterion is not certain here."""
        signs = [polynomials.determinant, *(polynomials.times[x] for x in self.queue.boxes)]
        if polynomials.determinant == 0 or not all(self._nonnegative(sign) for sign in signs):
            return None
        corners = addable_boxes(self.queue, curve, self.family)
        moving = [x for x in corners if polynomials.times[x] != 0]
        still = [x for x in corners if polynomials.times[x] == 0]
        if (corners and not moving) or not all(
            self._nonnegative(polynomials.losses[x]) for x in still
        ):
            return None
        following = []
        for x in moving:
            if any(self._positive(polynomials.later(x, z)) for z in moving if z != x):
                continue
            beyond = newly_addable_boxes(self.queue, curve, x, self.family)
            if not all(self._nonnegative(polynomials.later(y, x)) for y in beyond):
                return None
            following.append(add_box(curve, x))
        return following

    def _nonnegative(self, polynomial: Any) -> bool:
        """Whether a polynomial is certainly not negative on the interval."""
        self.polynomials += 1
        return is_nonnegative(polynomial) or is_nonnegative(
            map_to_interval(polynomial, self.interval)
        )

    def _positive(self, polynomial: Any) -> bool:
        """Whether a polynomial is certainly positive inside the interval."""
        return polynomial != 0 and self._nonnegative(polynomial)


def map_to_interval(polynomial: Any, interval: Interval) -> Any:
    """Return (q + v s)^n P((p + u s) / (q + v s)): s > 0 are the lambda between p/q and u/v."""
    from flint import fmpz_poly

    (p, q), (u, v) = interval
    top, bottom = fmpz_poly([p, u]), fmpz_poly([q, v])
    total, power = fmpz_poly([0]), fmpz_poly([1])
    for coefficient in reversed(polynomial.coeffs()):
        total = total * top + coefficient * power
        power *= bottom
    return total


def convex_rates(robots: int, degree: int) -> Rates:
    """Return lambda_r = sum_i max(r - i + 1, 0) b_i, all convex rates, with b_i = X^(degree^(i-1)).

    No polynomial may have a degree in one b_i of `degree` or more; then its coefficients in b_1,
    ..., b_N are those in X.
    """
    robots = check_integer("robots", robots, 1)

    def rates(x: int) -> list[int]:
        steps = [x**degree**i for i in range(robots)]
        return [sum((r - i) * steps[i] for i in range(r)) for r in range(robots + 1)]

    return rates


# The long checks, which are recorded

FOLDER = Path(__file__).parent
PROOFS = FOLDER / "checked.csv"
INSTANCES = FOLDER / "checked_instances.csv"

#: Largest fleet at which every curve is looked at, and at which only those on the way are.
EVERY_CURVE, ON_THE_WAY = 7, 9
#: Fleets and rates (lambda, mu = 1) whose optimal policies are all computed in fractions.
RATES = {
    12: [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)],
    16: [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2)],
}


@cache
def code_hash() -> str:
    """Return the hash of all code that computes what is written."""
    return fingerprint(["analysis.robots.curve.growth"], ignore_docstrings=True)[:12]


def list_problems(robots: int) -> Iterator[ReducedQueue]:
    """Yield the problems of a fleet: K = 2, ..., N - 1, and all K >= N at once."""
    yield from (ReducedQueue(robots, capacity) for capacity in range(2, robots))
    yield ReducedQueue(robots)


def check_every_curve(queue: ReducedQueue) -> dict[str, Any]:
    """Check the criterion at every curve of a problem; return the row of the result."""
    checks = [check_curve(queue, curve) for curve in generate_curves(queue)]
    return _row(
        queue,
        "every curve",
        holds=all(check.holds for check in checks),
        curves=len(checks),
        polynomials=sum(check.polynomials for check in checks),
        intervals=1,
    )


def check_on_the_way(queue: ReducedQueue) -> dict[str, Any]:
    """Prove the growth of a problem's optimal curves; return the row of the result."""
    proof = prove_growth(queue)
    return _row(
        queue,
        "on the way",
        holds=True,
        curves=proof.curves,
        polynomials=proof.polynomials,
        intervals=len(proof.intervals),
    )


def _row(queue: ReducedQueue, looked_at: str, **facts: Any) -> dict[str, Any]:
    capacity = f">= {queue.robots}" if queue.is_triangle else str(queue.capacity)
    return {"robots": queue.robots, "capacity": capacity, "looked at": looked_at, **facts}


def compute_instance(robots: int, arrival_rate: Fraction) -> dict[str, Any]:
    """Compute all optimal policies of one rate, for all K >= N and all gamma, in fractions."""
    sequence = optimal_sequence(robots, arrival_rate, 1, exact=True)
    return {
        "robots": robots,
        "arrival rate": str(arrival_rate),
        "optimal policies": len(sequence),
        "all are curves": sequence.are_curves,
        "boxes are only added": sequence.grows,
    }


def read_checked_fleets() -> pd.DataFrame:
    """Return what the long exact checks found: one row for each problem and way of looking."""
    return pd.read_csv(PROOFS, dtype={"capacity": str})


def largest_checked_fleet() -> int:
    """Return N such that the growth of the curve is checked for 2..N robots and every capacity."""
    fleets = read_checked_fleets()
    fleets = fleets[(fleets["looked at"] == "on the way") & fleets["holds"]]
    robots = 1
    while {*map(str, range(2, robots + 1)), f">= {robots + 1}"} == set(
        fleets.loc[fleets["robots"] == robots + 1, "capacity"]
    ):
        robots += 1
    return robots


def main() -> None:
    """Run all checks and write the two files."""
    code = code_hash()  # of what runs: files may change while it does
    rows = []
    for robots in range(2, ON_THE_WAY + 1):
        for queue in tqdm(list(list_problems(robots)), desc=f"{robots} robots", unit="problem"):
            if robots <= EVERY_CURVE:
                rows.append(check_every_curve(queue))
            rows.append(check_on_the_way(queue))
    pd.DataFrame(rows).assign(code=code).to_csv(PROOFS, index=False)
    pairs = [(robots, rate) for robots, rates in RATES.items() for rate in rates]
    instances = [compute_instance(*pair) for pair in tqdm(pairs, desc="instances")]
    pd.DataFrame(instances).assign(code=code).to_csv(INSTANCES, index=False)


if __name__ == "__main__":
    main()
