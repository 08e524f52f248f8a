r"""The growth criterion: when optimal curves grow box by box as the weight of starvation rises.

Let d_f(x) = l_f(x) - t w_f(x) be the gap of box x under curve f.  If for all curves f of a family

    (i)   w_f(x) >= 0 for every box x,
    (ii)  l_f(y) w_f(x) >= l_f(x) w_f(y) if x can be added to f, w_f(x) > 0, and adding it makes y
          addable,
    (iii) an addable box with w_f(x) = 0 has l_f(x) >= 0, and every curve but the largest has an
          addable box with w_f(x) > 0,

then as t rises the optimal curve runs through a growing sequence of the family.  `check_curve`
looks at one curve, for all lambda > 0 at once: it asks that no polynomial there have a negative
coefficient.  `prove` needs (i) to (iii) only for curves that the sequence can meet: on an interval
of lambda a box is left out if another one is sure to be added before it.  Where that is not enough
it divides the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.checks import check_choice, check_integer
from analysis.results import NotConverged
from analysis.robots.curve.diagrams import FAMILIES, Curve, add, addable
from analysis.robots.curve.polynomials import (
    CurvePolynomials,
    Rates,
    curve_polynomials,
    is_nonnegative,
)
from analysis.robots.curve.reduced import Box, ReducedQueue

Fraction = tuple[int, int]
#: lambda between two fractions p/q; 1/0 is infinity.
Interval = tuple[Fraction, Fraction]


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


def opened(queue: ReducedQueue, curve: Curve, box: Box, family: str) -> list[Box]:
    """Return the boxes that become addable when a box is added."""
    before = addable(queue, curve, family)
    return [y for y in addable(queue, add(curve, box), family) if y not in before]


def check_curve(
    queue: ReducedQueue, curve: Curve, family: str = "all", rates: Rates | None = None
) -> CurveCheck:
    """Check (i), (ii) and (iii) at one curve, for all lambda > 0 at once, with mu = 1.

    Additions in (ii) and (iii) are those within the family; `rates` other than r lambda are as in
    `curve_polynomials`.
    """
    check_choice("family", family, FAMILIES)
    found = curve_polynomials(queue, curve, rates)
    negative = [("i", x, x) for x in queue.boxes if not is_nonnegative(found.times[x])]
    corners = addable(queue, curve, family)
    moving = [x for x in corners if found.times[x] != 0]
    pairs = [(x, y) for x in moving for y in opened(queue, curve, x, family)]
    negative += [("ii", x, y) for x, y in pairs if not is_nonnegative(found.later(y, x))]
    third = all(is_nonnegative(found.losses[x]) for x in corners if x not in moving)
    return CurveCheck(
        curve,
        len(queue.boxes) + len(pairs),
        negative,
        is_nonnegative(found.determinant) and found.determinant != 0,
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


def prove(queue: ReducedQueue, family: str = "gentle", max_intervals: int = 1000) -> Proof:
    """Prove for all lambda > 0 that some growing sequence of curves of a family is optimal.

    The problem has one N, and one K or all K >= N. Raises NotConverged if more than `max_intervals`
    are needed: nothing is proved.
    """
    check_choice("family", family, FAMILIES)
    check_integer("max_intervals", max_intervals, 1)
    known: dict[Curve, CurvePolynomials] = {}
    open_ones: list[Interval] = [((0, 1), (1, 0))]
    closed: list[Interval] = []
    polynomials = 0
    while open_ones:
        interval = open_ones.pop()
        search = _Search(queue, family, interval, known)
        if search.succeeds():
            closed.append(interval)
            polynomials += search.polynomials
        else:
            (p, q), (u, v) = interval
            middle = p + u, q + v
            open_ones += [(middle, (u, v)), ((p, q), middle)]
        if len(closed) + len(open_ones) > max_intervals:
            raise NotConverged(f"more than {max_intervals} intervals of lambda are needed")
    return Proof(closed, len(known), polynomials)


@dataclass
class _Search:
    """The curves that the sequence can meet on one interval of lambda."""

    queue: ReducedQueue
    family: str
    interval: Interval
    known: dict[Curve, CurvePolynomials]
    polynomials: int = 0

    def succeeds(self) -> bool:
        """Whether (i) to (iii) are certain at each of them."""
        waiting, seen = [self.queue.lossless_curve()], {self.queue.lossless_curve()}
        while waiting:
            curve = waiting.pop()
            if curve not in self.known:
                self.known[curve] = curve_polynomials(self.queue, curve)
            following = self._following(curve, self.known[curve])
            if following is None:
                return False
            waiting += [after for after in following if after not in seen]
            seen.update(following)
        return True

    def _following(self, curve: Curve, found: CurvePolynomials) -> list[Curve] | None:
        """Return the curves that may come next, None if the criterion is not certain here."""
        signs = [found.determinant, *(found.times[x] for x in self.queue.boxes)]
        if found.determinant == 0 or not all(self._nonnegative(sign) for sign in signs):
            return None
        corners = addable(self.queue, curve, self.family)
        moving = [x for x in corners if found.times[x] != 0]
        still = [x for x in corners if found.times[x] == 0]
        if (corners and not moving) or not all(self._nonnegative(found.losses[x]) for x in still):
            return None
        following = []
        for x in moving:
            if any(self._positive(found.later(x, z)) for z in moving if z != x):
                continue
            beyond = opened(self.queue, curve, x, self.family)
            if not all(self._nonnegative(found.later(y, x)) for y in beyond):
                return None
            following.append(add(curve, x))
        return following

    def _nonnegative(self, polynomial: Any) -> bool:
        """Whether a polynomial is certainly not negative on the interval."""
        self.polynomials += 1
        return is_nonnegative(polynomial) or is_nonnegative(on_interval(polynomial, self.interval))

    def _positive(self, polynomial: Any) -> bool:
        """Whether a polynomial is certainly positive inside the interval."""
        return polynomial != 0 and self._nonnegative(polynomial)


def on_interval(polynomial: Any, interval: Interval) -> Any:
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
    check_integer("robots", robots, 1)

    def rates(x: int) -> list[int]:
        steps = [x**degree**i for i in range(robots)]
        return [sum((r - i) * steps[i] for i in range(r)) for r in range(robots + 1)]

    return rates
