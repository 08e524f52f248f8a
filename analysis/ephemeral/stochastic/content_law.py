"""The law of one epoch's random content, on a lattice.

An item that appeared s before the epoch's end brings Y = xi exp(-mu s), s uniform on (0, T), and
U is the sum of a Poisson number (mean Lambda T) of such items. Y is put on the lattice {0, h, 2h,
...} by linear splitting, which keeps its mean: with the stop-loss function L(y) = E (Y - y)^+,

    P(Y_h = jh) = [ L((j-1)h) - 2 L(jh) + L((j+1)h) ] / h,   j >= 1.

U_h then has the mean u exactly and dominates U in convex order; everything below errs by O(h^2).
The sum is taken with one Fourier transform, exponentially tilted so that it cannot wrap around.
Items at the lattice's end or above are left out of the transform: the result is the exact law of
U_h below that end, and the rest of the mass, if any, lies above. Where the lattice is coarse for
single items, all this is done on a finer one, and only the sum is split on the coarse one.

Reference: report 8702, section 7; Embrechts and Frei, Math. Methods Oper. Res. 69 (2009), for
tilted transforms of compound laws.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaincc, ndtr

from analysis.arrays import Floats
from analysis.checks import check_integer, check_number
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.sources import Sources

#: Gauss-Legendre nodes for the time since an item appeared; fewer where the integrand is smooth.
_MANY, _FEW = (np.polynomial.legendre.leggauss(count) for count in (48, 16))
_LONGEST = 1 << 16  # points of the finest lattice


def stop_loss(utility: Utility, level: Floats) -> Floats:
    """Return E (xi - level)^+ for a utility xi of mean one; levels are not negative."""
    z = np.asarray(level, dtype=np.float64)
    if utility.law == "deterministic":
        return np.maximum(1.0 - z, 0.0)
    if utility.law == "exponential":
        return np.exp(-z)
    if utility.law == "uniform":
        return np.maximum(2.0 - z, 0.0) ** 2 / 4.0
    if utility.law == "gamma":
        assert utility.variation is not None
        shape = 1.0 / utility.variation
        return gammaincc(shape + 1.0, shape * z) - z * gammaincc(shape, shape * z)
    if utility.law == "lognormal":
        assert utility.variation is not None
        variance = np.log1p(utility.variation)
        with np.errstate(divide="ignore"):
            d = (-np.log(z) + 0.5 * variance) / np.sqrt(variance)
        return ndtr(d) - z * ndtr(d - np.sqrt(variance))
    assert utility.tail_index is not None
    a = utility.tail_index
    lowest = (a - 1.0) / a
    above = lowest**a * np.maximum(z, lowest) ** (1.0 - a) / (a - 1.0)
    return np.where(z < lowest, 1.0 - z, above)


def content_law(
    items: float, decay: float, utility: Utility, step: float, size: int, mean_utility: float = 1.0
) -> Floats:
    """Return the probabilities of one epoch's content on the lattice 0, h, ..., (size - 1) h.

    `items` is Lambda T, `decay` mu T, `utility` the law of an item's utility at mean one, and
    `mean_utility` xibar. The result sums to the probability that U is below the lattice's end.
    ValueError names the argument, its value and the allowed range.
    """
    items = check_number("items", items, 0, high=1e9)
    decay = check_number("decay", decay, 0, low_open=True, high_open=True)
    step = check_number("step", step, 0, low_open=True, high_open=True)
    mean_utility = check_number("mean_utility", mean_utility, 0, low_open=True, high_open=True)
    size = check_integer("size", size, 2)
    finer = int(np.clip(np.ceil(10.0 * step / mean_utility), 1, max(1, _LONGEST // size)))
    fine = _fine_law(items, decay, utility, step / finer / mean_utility, size * finer)
    share = np.arange(finer) / finer
    cells = fine.reshape(size, finer)
    law = cells @ (1.0 - share)
    law[1:] += (cells @ share)[:-1]
    return law


def source_law(sources: Sources, arm: int, utility: Utility, step: float, size: int) -> Floats:
    """Return `content_law` with the rates of one source."""
    items, decay = sources.arrival_rate[arm] * sources.period, sources.decay[arm]
    scale = float(sources.mean_utility[arm])
    return content_law(float(items), float(decay), utility, step, size, scale)


@lru_cache(maxsize=16)
def _fine_law(items: float, decay: float, utility: Utility, step: float, size: int) -> Floats:
    """Return the law of U on a lattice fine enough for single items, at a mean utility of one."""
    nodes, weights = _FEW if _smooth(utility, decay) else _MANY
    fading = np.exp(-decay * 0.5 * (1.0 + nodes))
    levels = step * np.arange(size + 1)
    loss = np.zeros(size + 1)
    for factor, weight in zip(fading, 0.5 * weights, strict=True):
        loss += weight * factor * stop_loss(utility, levels / factor)
    item = np.empty(size)
    item[1:] = np.maximum(0.0, np.diff(loss, 2)) / step
    item[0] = 1.0 + (loss[1] - loss[0]) / step
    length = 4 * size
    tilt = np.exp(-16.0 / length * np.arange(size))
    transform = np.fft.rfft(item * tilt, length)
    law = np.fft.irfft(np.exp(items * (transform - 1.0)), length)[:size] / tilt
    law = np.maximum(law, 0.0)
    law /= max(1.0, law.sum())
    law.setflags(write=False)
    return law


def _smooth(utility: Utility, decay: float) -> bool:
    """Return whether few nodes integrate over an item's age up to rounding."""
    if utility.law == "exponential":
        return decay <= 1.5
    spread = utility.variation is not None and utility.variation >= 0.05
    return decay <= 1.5 and utility.law in ("gamma", "lognormal") and spread
