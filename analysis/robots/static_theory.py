r"""The proofs of the static section, as functions that can be run in exact arithmetic.

With mu = 1, g = gamma, n = K + 1 and y = rho^n (part A of the chapter on proofs):

* C' has the sign of h_K(rho) - g, h_K = rho^K P/Q (Lemma 1, Proposition 2);
* R(rho_K; K+1) = (1 - rho) E with E = -rho y^2 + (1 + g) y - g, equation (12);
* with g taken from R = 0, E Den = y J, where Den = rho + (n-1) rho y - n y and
  J = -n + (n+2) rho - (3 rho + rho^2) y + ((n+1) rho - (n-1) rho^2) y^2 is free of g;
* J = e^{(n+1)x} j_n(x) at rho = e^x, a sum of six exponentials with four changes of sign, a zero of
  order three at 0 and exactly one positive zero x_n, which falls with n.

Hence Lemma 2, its K_0, and the weight at which the best load stops rising at K.  Functions take
fractions or floats; polynomials that agree at more points than their degree are equal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from scipy.optimize import brentq

from analysis.checks import check_integer
from analysis.robots.mm1k import log_slope_ratio

Number = TypeVar("Number", Fraction, float)


def cost(rho: Number, g: Number, capacity: int) -> Number:
    """Return C = (g + rho^{K+1}) / (1 + ... + rho^K)."""
    return (g + rho ** (capacity + 1)) / _sum([1] * (capacity + 1), rho)


def cost_slope(rho: Number, g: Number, capacity: int) -> Number:
    """Return dC/drho from the quotient rule, without 0/0 at load 1."""
    powers = _sum([1] * (capacity + 1), rho)
    slope = _sum(list(range(1, capacity + 1)), rho)
    top = (capacity + 1) * rho**capacity * powers - (g + rho ** (capacity + 1)) * slope
    return top / powers**2


def numerator(rho: Number, g: Number, capacity: int) -> Number:
    """Return R of (6) with mu = 1."""
    k = capacity
    return rho ** (2 * k + 2) - (g * k + k + 2) * rho ** (k + 1) + (k + 1) * (1 + g) * rho**k - g


def reduced_numerator(rho: Number, g: Number, capacity: int) -> Number:
    """Return S with R' = (K + 1) rho^{K-1} S."""
    k = capacity
    return 2 * rho ** (k + 2) - (g * k + k + 2) * rho + k * (1 + g)


def reduced_minimum(g: float, capacity: int) -> float:
    """Return rho_0, the one positive zero of S'; T(g) = S(rho_0) has slope K (1 - rho_0), (7)."""
    return float(((g * capacity + capacity + 2) / (2 * (capacity + 2))) ** (1 / (capacity + 1)))


def zero_order_at_one(g: Fraction, capacity: int) -> int:
    """Return the order of R's zero at load 1, from its exact derivatives there."""
    k = capacity
    terms = [(2 * k + 2, Fraction(1)), (k + 1, -(g * k + k + 2)), (k, (k + 1) * (1 + g)), (0, -g)]
    return next(
        order for order in itertools.count() if sum(c * math.perm(a, order) for a, c in terms)
    )


def rises_then_falls(values: Sequence[float], top: int, slack: float = 1e-12) -> bool:
    """Return whether values rise up to position `top` and fall from there, within the slack."""
    steps = [following - value for value, following in itertools.pairwise(values)]
    return all(s > -slack for s in steps[:top]) and all(s < slack for s in steps[top:])


def slope_ratio(rho: Number, capacity: int) -> Number:
    """Return h_K(rho) = rho^K P / Q."""
    n = capacity + 1
    top = _sum([n - i for i in range(n)], rho)
    return rho**capacity * top / _sum(list(range(1, n)), rho)


def bracket(rho: Number, g: Number, capacity: int) -> Number:
    """Return E, the bracket of (12): -rho y^2 + (1 + g) y - g."""
    y = rho ** (capacity + 1)
    return -rho * y * y + (1 + g) * y - g


def denominator(rho: Number, capacity: int) -> Number:
    """Return Den = rho (1 + K rho^{K+1} - (K+1) rho^K), positive except at load 1."""
    return rho * (1 + capacity * rho ** (capacity + 1) - (capacity + 1) * rho**capacity)


def comparison(rho: Number, capacity: int) -> Number:
    """Return J, whose sign compares rho(g, K + 1) with rho(g, K) whatever g is."""
    n = capacity + 1
    y = rho**n
    return -n + (n + 2) * rho - (3 * rho + rho**2) * y + ((n + 1) * rho - (n - 1) * rho**2) * y**2


def exponential_terms(n: int) -> list[tuple[int, int]]:
    """Return (exponent, coefficient) of j_n(x) = sum c e^{a x}, by rising exponent."""
    n = check_integer("n", n, 2)
    return [(-n - 1, -n), (-n, n + 2), (0, -3), (1, -1), (n, n + 1), (n + 1, 1 - n)]


def exponential_moments(n: int, count: int) -> list[int]:
    """Return the first derivatives of j_n at 0, j^(k)(0) = sum c a^k, exactly."""
    return [sum(c * a**k for a, c in exponential_terms(n)) for k in range(count)]


def sign_changes(n: int) -> int:
    """Return the changes of sign among the coefficients of j_n: a bound on its real zeros."""
    signs = [c > 0 for _, c in exponential_terms(n)]
    return sum(current != following for current, following in itertools.pairwise(signs))


def zero_of_exponential_sum(n: int) -> float:
    """Return x_n, the one positive zero of j_n.

    j_n is divided by x^3, which its exact derivatives at 0 make free of cancellation.
    """
    derivatives = exponential_moments(n, 60)

    def divided(x: float) -> float:
        return math.fsum(
            m / math.factorial(k) * x ** (k - 3) for k, m in enumerate(derivatives[3:], 3)
        )

    high = 6.0 / n**2
    while divided(high) > 0:
        high *= 1.5
    return float(brentq(divided, 1e-3 / n**2, high, xtol=1e-17, rtol=1e-14))


def turning_gamma(capacity: int) -> float:
    """Return g with rho(g, K) = rho(g, K + 1) > 1: K_0 is the smallest K with gamma/mu >= it."""
    capacity = check_integer("capacity", capacity, 2)
    return math.exp(log_slope_ratio(zero_of_exponential_sum(capacity + 1), capacity))


def static_identities(capacity: int) -> dict[str, bool]:
    """Check the polynomial identities of the static section exactly, at one capacity.

    Each is evaluated at more rational points than its degree in rho, and at two values of g (all
    are linear in g), so that it is proved for this capacity.
    """
    k = check_integer("capacity", capacity, 2)
    unit, points = Fraction(1), [Fraction(i, 7) for i in range(1, 6 * k + 24) if i != 7]
    holds = dict.fromkeys(
        ("(4)", "(5)", "(6)", "S", "(12)", "h", "elimination of g", "exponential sum"), True
    )
    for rho in points:
        for g in (unit, Fraction(5, 3)):
            closed = (1 - rho) * (g + rho ** (k + 1)) / (1 - rho ** (k + 1))
            holds["(4)"] &= cost(rho, g, k) == closed
            slope = cost_slope(rho, g, k)
            holds["(5)"] &= slope == numerator(rho, g, k) / (1 - rho ** (k + 1)) ** 2
            gap = slope_ratio(rho, k) - g
            ramp = _sum(list(range(1, k + 1)), rho) / _sum([1] * (k + 1), rho) ** 2
            holds["h"] &= slope == ramp * gap
            holds["(12)"] &= numerator(rho, g, k + 1) == (
                rho * numerator(rho, g, k) + (1 - rho) * bracket(rho, g, k)
            )
        g = slope_ratio(rho, k)
        holds["(6)"] &= numerator(rho, g, k) == 0
        y = rho ** (k + 1)
        holds["elimination of g"] &= bracket(rho, g, k) * denominator(rho, k) == y * comparison(
            rho, k
        )
        holds["exponential sum"] &= comparison(rho, k) == rho ** (k + 2) * sum(
            c * rho**a for a, c in exponential_terms(k + 1)
        )
        holds["S"] &= _numerator_slope(rho, Fraction(5, 3), k) == (k + 1) * rho ** (
            k - 1
        ) * reduced_numerator(rho, Fraction(5, 3), k)
    return holds


def _numerator_slope(rho: Fraction, g: Fraction, k: int) -> Fraction:
    """Return dR/drho term by term."""
    return (
        (2 * k + 2) * rho ** (2 * k + 1)
        - (k + 1) * (g * k + k + 2) * rho**k
        + k * (k + 1) * (1 + g) * rho ** (k - 1)
    )


def _sum(coefficients: list[int], rho: Number) -> Number:
    total = rho * 0
    for coefficient in reversed(coefficients):
        total = total * rho + coefficient
    return total
