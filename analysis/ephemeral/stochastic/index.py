"""The Whittle index of a source whose random content is observed, by definition.

With content U arriving in each epoch, the dynamic programming equation of one source under a
subsidy lambda is, up to a shift of the value function,

    W(x) = max( x, g + E W(alpha x + U) ),   C lambda = g + E W(U),   beta = E W(U),

where g = C lambda - beta <= 0 is what one epoch of waiting costs. For a threshold a (crawl when
x >= a) the excess D = W - x vanishes above a and solves a linear system below,

    D(x) = g + u - (1 - alpha) x + E[ D(alpha x + U) ],   x < a,

and a is the threshold that belongs to g when waiting at a is worth nothing either. On a lattice of
states the systems of all thresholds are the leading blocks of one matrix I - Q, so that a single LU
factorisation solves them all: with y, z the forward substitutions of L y = 1 and
L z = u - (1 - alpha) x, and w = (law of U) U^{-1},

    g(x_j) = -z_j / y_j,
    C gamma(x_j) = g + u + sum_{i<j} w_i (g y_i + z_i),
    epochs between crawls = 1 + sum_{i<j} w_i y_i.

States between lattice points are split linearly, so the error is of order step^2. Two lattices
estimate it and take its leading term out (Richardson); they are refined until it is small enough.

*The law of one epoch's random content, on a lattice.* An item that appeared s before the epoch's
end brings Y = xi exp(-mu s), s uniform on (0, T), and U is the sum of a Poisson number (mean Lambda
T) of such items. Y is put on the lattice {0, h, 2h, ...} by linear splitting, which keeps its mean:
with the stop-loss function L(y) = E (Y - y)^+,

    P(Y_h = jh) = [ L((j-1)h) - 2 L(jh) + L((j+1)h) ] / h,   j >= 1.

U_h then has the mean u exactly and dominates U in convex order; everything below errs by O(h^2).
The sum is taken with one Fourier transform, exponentially tilted so that it cannot wrap around.
Items at the lattice's end or above are left out of the transform: the result is the exact law of
U_h below that end, and the rest of the mass, if any, lies above. Where the lattice is coarse for
single items, all this is done on a finer one, and only the sum is split on the coarse one.

Reference: report 8702, section 7, (20) and (21), with the term after a crawl restored; the slides
announce numerical procedures for this index. Embrechts and Frei, Math. Methods Oper. Res. 69
(2009), for tilted transforms of compound laws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaincc, ndtr

from analysis.arrays import Floats, one_thread, read_only_arrays
from analysis.checks import check_integer, check_kind, check_number, check_positive
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget
from analysis.ephemeral.stochastic.simulation import IndexTable
from analysis.kernel_cache import njit
from analysis.results import NotConverged

# The law of one epoch's random content, on a lattice

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
    decay = check_positive("decay", decay)
    step = check_positive("step", step)
    mean_utility = check_positive("mean_utility", mean_utility)
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


@read_only_arrays
@dataclass(frozen=True)
class StochasticIndex:
    """Index curve of one source with random content, as arrays of shape (points,).

    Attributes
    ----------
    state : ndarray
        Lattice of contents, from 0.
    index : ndarray
        Whittle index in each state, per unit of cost.
    waiting : ndarray
        g, what one epoch of waiting adds when the state is the threshold; at most 0.
    frequency : ndarray
        Crawls per epoch when the state is the threshold.
    error : float
        Estimated largest error of `index` before its leading term was taken out.
    """

    state: Floats
    index: Floats
    waiting: Floats
    frequency: Floats
    error: float

    def __repr__(self) -> str:
        return (
            f"StochasticIndex(points={self.state.size}, states up to {self.state[-1]:.6g}, "
            f"error={self.error:.1g})"
        )

    @property
    def indexable(self) -> bool:
        """Whether the index increases with the content, up to rounding."""
        slack = 1e-9 * float(np.abs(self.index).max())
        return bool((np.diff(self.index) >= -slack).all())


def lattice_chain(alpha: float, law: Floats) -> Floats:
    """Return the transition probabilities of the content when waiting, below the lattice's end.

    `law`, shape (points,), has the probabilities of one epoch's content. Rows of the result, shape
    (points, points), sum to the probability of staying below the end.
    """
    size = law.size
    chain = np.zeros((size, size))
    for j in range(size):
        position = alpha * j
        below = int(position)
        weight = position - below
        chain[j, below:] += (1.0 - weight) * law[: size - below]
        chain[j, below + 1 :] += weight * law[: size - below - 1]
    return chain


def lattice_index(alpha: float, mean: float, law: Floats, step: float) -> tuple[Floats, ...]:
    """Return index, g and crawls per epoch with each lattice point as threshold, at a cost of one.

    They come from one LU factorisation. `mean` is E U = u, the content above the lattice's end
    included; `law`, shape (points,), has the probabilities of one epoch's content; `step` is h.
    """
    size = law.size
    state = step * np.arange(size)
    # The rows of I - Q are dominated by their diagonal, so that elimination needs no pivoting.
    right = np.column_stack([np.ones(size), mean - (1.0 - alpha) * state])
    with one_thread(size):
        packed = _factor(np.eye(size) - lattice_chain(alpha, law))
        y, z = solve_triangular(packed, right, lower=True, unit_diagonal=True).T
        w = solve_triangular(packed, law, trans="T")
    waiting = -z / y
    epochs = 1.0 + _sum_before(w * y)
    index = mean + waiting * epochs + _sum_before(w * z)
    return index, waiting, 1.0 / epochs


def stochastic_index(
    sources: Sources,
    arm: int,
    utility: Utility,
    *,
    tolerance: float = 5e-4,
    points: int = 250,
    max_points: int = 2000,
    reach: float = 6.0,
) -> StochasticIndex:
    """Whittle index of one source with random, observed content.

    Parameters
    ----------
    sources : Sources
        N sources.
    arm : int
        Which one, from 0.
    utility : Utility
        Law of an item's utility.
    tolerance : float
        Largest estimated error of the index, in units of u*/C.
    points : int
        Size of the first lattice; it is doubled until the tolerance is met.
    max_points : int
        Where to give up.
    reach : float
        The lattice ends this many standard deviations (of the content of a source that is never
        crawled) above u*; u*/2 stands in for a standard deviation that is infinite.

    Returns
    -------
    StochasticIndex

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    NotConverged
        If `max_points` lattice points do not meet the tolerance.

    Examples
    --------
    >>> from analysis.ephemeral import Utility, four_sources
    >>> index = stochastic_index(four_sources(), 3, Utility('exponential'), tolerance=0.05)
    >>> bool((index.index[1:] >= index.index[:-1]).all())
    True
    """
    check_kind("sources", sources, Sources)
    check_kind("utility", utility, Utility)
    arm = check_integer("arm", arm, 0, len(sources) - 1)
    tolerance = check_positive("tolerance", tolerance)
    points = check_integer("points", points, 20)
    max_points = check_integer("max_points", max_points, points)
    reach = check_positive("reach", reach)
    alpha, u, cost = (float(v[arm]) for v in (sources.alpha, sources.u, sources.cost))
    if u == 0:
        raise ValueError(f"arm must be a source with content, got source {arm} with none")
    variance = float(Arrivals(sources, utility).variance[arm]) / -np.expm1(-2 * sources.decay[arm])
    u_star = float(sources.u_star[arm])
    spread = float(np.sqrt(variance)) if np.isfinite(variance) else 0.5 * u_star
    end = u_star + reach * max(spread, 1e-3 * u_star)
    return refined_index(
        lambda step, size: source_law(sources, arm, utility, step, size),
        alpha, u, u_star, cost, end, tolerance, points, max_points, f"lower reach = {reach:g}",
    )  # fmt: skip


def refined_index(
    law: Callable[[float, int], Floats],
    alpha: float,
    u: float,
    u_star: float,
    cost: float,
    end: float,
    tolerance: float,
    points: int,
    max_points: int,
    advice: str,
) -> StochasticIndex:
    """Return the index for a law of U, given by step and size, on lattices that are refined."""
    previous: Floats | None = None
    while True:
        step = end / points
        curve: Floats = np.array(lattice_index(alpha, u, law(step, points), step))
        if previous is not None:
            # Halving the step divides an error of order step^2 by four.
            correction: Floats = (curve[:, ::2] - previous) / 3.0
            error = float(np.abs(correction[0]).max())
            if error <= tolerance * u_star:
                state = np.asarray(2 * step * np.arange(points // 2), np.float64)
                index, waiting, frequency = np.asarray(curve[:, ::2] + correction, np.float64)
                return StochasticIndex(state, index / cost, waiting, frequency, error / cost)
            if 2 * points > max_points:
                raise NotConverged(
                    f"the index still errs by about {error / u_star:.1e} u* on {points} points; "
                    f"raise max_points = {max_points} or the tolerance, or {advice}"
                )
        previous, points = curve, 2 * points


def index_table(indices: Sequence[StochasticIndex]) -> IndexTable:
    """Return the index curves of all sources in one table, to be played as a policy."""
    size = max(curve.index.size for curve in indices)
    values = np.empty((len(indices), size))
    for row, curve in zip(values, indices, strict=True):
        grid = np.linspace(0.0, curve.state[-1], size)
        row[:] = np.interp(grid, curve.state, curve.index)
    return IndexTable(values, np.array([curve.state[-1] / (size - 1) for curve in indices]))


def stochastic_bound(
    sources: Sources, indices: Sequence[StochasticIndex], budget: float
) -> tuple[float, float]:
    """Relaxed bound on every policy that observes the random content, and its subsidy.

    Under a subsidy lambda, source i earns -g_i(lambda) more than the subsidy alone, so that

        bound = min over lambda of  lambda M - sum_i g_i(lambda).

    Parameters
    ----------
    sources : Sources
        N sources.
    indices : sequence of StochasticIndex
        Index curve of each.
    budget : float
        Cost per epoch, in (0, sum of costs].

    Returns
    -------
    bound, subsidy : float
        Accurate to the lattices' error.

    Examples
    --------
    >>> from analysis.ephemeral import Utility, four_sources
    >>> four = four_sources()
    >>> law = Utility('exponential')
    >>> indices = [stochastic_index(four, arm, law, tolerance=0.05) for arm in range(4)]
    >>> bound, subsidy = stochastic_bound(four, indices, 1)
    >>> bool(bound > 250)
    True
    """
    budget = check_budget(sources, budget)
    check_kind("indices", indices, Sequence)
    if len(indices) != len(sources):
        raise ValueError(
            f"indices must be {len(sources)} curves, one for each source, got {len(indices)}"
        )
    for number, curve in enumerate(indices):
        check_kind(f"indices[{number}]", curve, StochasticIndex)
    subsidies = np.unique(np.concatenate([curve.index for curve in indices]))
    subsidies = subsidies[subsidies >= 0.0]
    dual = subsidies * budget
    for curve in indices:
        # Below the curve the source is crawled always and earns u - lambda C.
        dual -= np.interp(subsidies, curve.index, curve.waiting)
    # Where the dual function is flat, rounding must not choose: the largest subsidy, as in
    # `relaxed_problem`.
    best = int(np.flatnonzero(dual <= dual.min() * (1.0 + ROUNDING))[-1])
    return float(dual[best]), float(subsidies[best])


def _factor(matrix: Floats, block: int = 64) -> Floats:
    """Return LU factors without pivoting in the matrix: L below its unit diagonal, U above."""
    size = len(matrix)
    for start in range(0, size, block):
        stop = min(start + block, size)
        _factor_block(matrix[start:stop, start:stop])
        corner = matrix[start:stop, start:stop]
        across = solve_triangular(corner, matrix[start:stop, stop:], lower=True, unit_diagonal=True)
        down = solve_triangular(corner, matrix[stop:, start:stop].T, trans="T").T
        matrix[start:stop, stop:] = across
        matrix[stop:, start:stop] = down
        matrix[stop:, stop:] -= down @ across
    return matrix


@njit
def _factor_block(matrix: Floats) -> None:
    """Replace a small matrix by its LU factors, in place."""
    for k in range(len(matrix)):
        for i in range(k + 1, len(matrix)):
            matrix[i, k] /= matrix[k, k]
            for j in range(k + 1, len(matrix)):
                matrix[i, j] -= matrix[i, k] * matrix[k, j]


def _sum_before(values: Floats) -> Floats:
    """Return the sum of the entries before each position."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])
