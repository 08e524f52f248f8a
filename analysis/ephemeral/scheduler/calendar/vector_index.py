"""The index at an age without branches or calls, so that loops over sources compile to SIMD code.

It equals `analysis.ephemeral.index.whittle_index_at_age` up to a few units in the last place, at a
few nanoseconds a source. The value for a source and an age is the same to the last bit in every
loop, so that the order of sources does not depend on how the work is split. Polynomials are
evaluated with explicit fused multiply-add instructions, which leave the compiler no choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.kernel_cache import intrinsic, njit


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, rounded once."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


def _multiply_and_add(a: float, b: float, c: float) -> float:
    """Return a b + c, rounded twice, in place of `_fma` where nothing is compiled."""
    return a * b + c


fma: Any = intrinsic(_fma, _multiply_and_add)


@njit(inline="always")
def exp_minus(z: float) -> float:
    """Return exp(-z) for z >= 0 to one unit in the last place; it compiles to SIMD code."""
    z = min(z, 700.0)
    n = np.floor(z * 1.4426950408889634 + 0.5)
    r = (n * 6.93147180369123816490e-01 - z) + n * 1.90821492927058770002e-10
    p = 1.0 / 6227020800.0
    p = fma(p, r, 1.0 / 479001600.0)
    p = fma(p, r, 1.0 / 39916800.0)
    p = fma(p, r, 1.0 / 3628800.0)
    p = fma(p, r, 1.0 / 362880.0)
    p = fma(p, r, 1.0 / 40320.0)
    p = fma(p, r, 1.0 / 5040.0)
    p = fma(p, r, 1.0 / 720.0)
    p = fma(p, r, 1.0 / 120.0)
    p = fma(p, r, 1.0 / 24.0)
    p = fma(p, r, 1.0 / 6.0)
    p = fma(p, r, 0.5)
    # 1023 - n stands in the last bits of a double near 2^52; the shift makes it the exponent.
    power = np.int64(np.float64((1023.0 - n) + 6755399441055744.0).view(np.int64) << 52)
    return (1.0 + (r + r * r * p)) * power.view(np.float64)


@njit(inline="always")
def bend_of(decay: float) -> float:
    """Return h(mu T) = exp(-mu T) - 1 + mu T >= 0, in a form that compiles to SIMD code."""
    y = min(decay, 0.5)
    s = 1.0 / 87178291200.0
    s = fma(s, y, -1.0 / 6227020800.0)
    s = fma(s, y, 1.0 / 479001600.0)
    s = fma(s, y, -1.0 / 39916800.0)
    s = fma(s, y, 1.0 / 3628800.0)
    s = fma(s, y, -1.0 / 362880.0)
    s = fma(s, y, 1.0 / 40320.0)
    s = fma(s, y, -1.0 / 5040.0)
    s = fma(s, y, 1.0 / 720.0)
    s = fma(s, y, -1.0 / 120.0)
    s = fma(s, y, 1.0 / 24.0)
    s = fma(s, y, -1.0 / 6.0)
    s = fma(s, y, 0.5)
    return s * y * y if decay <= 0.5 else decay - 1.0 + exp_minus(decay)


@njit(inline="always")
def shares(decay: float, bend: float, age: float) -> tuple[float, float]:
    """Return the index in units of u*/C and the content in units of u*, at an age.

    With z = mu T k they are e^-z (e^z - 1 - z + k h) and e^-z (z + e^z - 1 - z); the bracketed
    differences come from a series for z <= 1/2. Without branches, so that it compiles to SIMD code.
    """
    z = decay * age
    remaining = exp_minus(z)
    s = 1.0 / 1307674368000.0
    s = fma(s, z, 1.0 / 87178291200.0)
    s = fma(s, z, 1.0 / 6227020800.0)
    s = fma(s, z, 1.0 / 479001600.0)
    s = fma(s, z, 1.0 / 39916800.0)
    s = fma(s, z, 1.0 / 3628800.0)
    s = fma(s, z, 1.0 / 362880.0)
    s = fma(s, z, 1.0 / 40320.0)
    s = fma(s, z, 1.0 / 5040.0)
    s = fma(s, z, 1.0 / 720.0)
    s = fma(s, z, 1.0 / 120.0)
    s = fma(s, z, 1.0 / 24.0)
    s = fma(s, z, 1.0 / 6.0)
    s = fma(s, z, 0.5)
    s *= z * z
    turn = age * bend
    old = z > 0.5
    index = 1.0 - remaining * (1.0 + z - turn) if old else remaining * (s + turn)
    content = 1.0 - remaining if old else remaining * (z + s)
    return index, content
