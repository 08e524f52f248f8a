"""The index of a source with unreliable pings: closed form and lattice.

With alpha = exp(-mu T), q = 1 - exp(-psi T) and A_s = u* (1 - r) (1 - alpha^s), the expected worth
without a ping s epochs after a crawl, the index at expected worth y is, while one ping carries
every content over the threshold (y <= alpha p xibar),

    C gamma(y) = (1 - alpha) sum_{s < eta} (1 - q)^s (y - A_s),   y <= u* (1 - r),
    C gamma(y) = y (1 - alpha) / (1 - (1 - q) alpha),             y >= u* (1 - r),

eta the first s with A_s >= y. As T -> 0 the second is y mu / (mu + psi). It rises with the
precision. With recall it falls on the second branch, and may rise on the first.

For any law of one epoch's U with finite mean and no upper limit, with q+ = P(U > (1 - alpha) y) and
q- = P(U >= y),

    y (1 - alpha) / (1 - (1 - q+) alpha) <= C gamma(y) <= y (1 - alpha) / (1 - (1 - q-) alpha).

Beyond y = alpha p xibar the lattice of `stochastic.index` takes over, with the law of U as
`signal_law` has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats
from analysis.checks import check_array, check_integer, check_kind, check_positive
from analysis.ephemeral.arrivals import Utility
from analysis.ephemeral.signals.model import Signals
from analysis.ephemeral.stochastic.index import StochasticIndex, content_law, refined_index
from analysis.kernel_cache import njit


def one_ping_reach(signals: Signals) -> Floats:
    """Return alpha p xibar, up to which `one_ping_index` holds; shape (N,).

    Infinite where no ping ever comes: the index is then that of expected content.
    """
    reach = signals.sources.alpha * signals.jump
    return np.where(signals.ping_rate > 0, reach, np.inf)


def one_ping_index(signals: Signals, worth: ArrayLike) -> Floats:
    """Index where one ping is enough, in closed form.

    Parameters
    ----------
    signals : Signals
        N sources.
    worth : array_like, shape (N,) or (N, points)
        Expected worth Y of each source, at most `one_ping_reach`.

    Returns
    -------
    ndarray, shape of `worth`
        Whittle index, per unit of cost.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import Sources
    >>> signals = Signals(Sources([2.0], [1.0], [0.1]), recall=1.0, precision=0.5)
    >>> one_ping_index(signals, [[0.1, 0.4]]).round(4).tolist()
    [[0.0097, 0.0387]]
    """
    check_kind("signals", signals, Signals)
    y = check_array("worth", worth, 0)
    if y.ndim not in (1, 2) or len(y) != len(signals):
        raise ValueError(
            f"worth must have shape ({len(signals)},) or ({len(signals)}, points), got {y.shape}"
        )
    rows = y.reshape(len(y), -1)
    reach = one_ping_reach(signals)
    for arm, most in enumerate(reach):
        if most < np.inf:
            check_array(f"worth of source {arm}", rows[arm], 0, most)
    source = signals.sources
    index = np.empty_like(rows)
    no_ping = signals.ping_rate * source.period
    _one_ping(rows, signals.unannounced, source.decay, no_ping, index)
    return (index / source.cost[:, None]).reshape(y.shape)


@njit
def _one_ping(
    worth: Floats, unannounced: Floats, decay: Floats, no_ping: Floats, out: Floats
) -> None:
    """Write the closed form of each row, for exp(-no_ping) = 1 - q."""
    for i in range(worth.shape[0]):
        m, loss = decay[i], -np.expm1(-decay[i])
        for j in range(worth.shape[1]):
            y, most = worth[i, j], unannounced[i]
            if y >= most:
                # Below no threshold without a ping; where none comes, the index is y.
                total = -np.expm1(-(m + no_ping[i]))
                out[i, j] = y * loss / total
                continue
            eta = max(np.ceil(-np.log1p(-y / most) / m), 0.0)
            plain, faded = _waiting_sums(m, no_ping[i], eta)
            out[i, j] = loss * (y * plain - most * faded)


@njit
def _waiting_sums(decay: float, no_ping: float, eta: float) -> tuple[float, float]:
    """Return sums of c^s and of c^s (1 - alpha^s) over s < eta, c = exp(-no_ping).

    The second is the difference of two geometric sums, which cancel where mu T is small. Built up
    by doubling from s = 0, it is a sum of terms that are not negative.
    """
    plain = faded = n = 0.0
    power, residue = 1.0, eta
    while 2.0 * power <= eta:
        power *= 2.0
    while power >= 1.0 and eta >= 1.0:
        # From n terms to 2 n; the sum of (c alpha)^s over s < n is plain - faded.
        c = np.exp(-no_ping * n)
        faded += c * (faded - np.expm1(-decay * n) * (plain - faded))
        plain += c * plain
        n *= 2.0
        if residue >= power:  # one term more
            c = np.exp(-no_ping * n)
            faded -= c * np.expm1(-decay * n)
            plain += c
            n += 1.0
            residue -= power
        power *= 0.5
    return plain, faded


def signal_law(signals: Signals, arm: int, step: float, size: int) -> Floats:
    """Return the law of U of one source on the lattice 0, h, ..., (size - 1) h.

    The constant u (1 - r) moves the law of the pings; between lattice points it is split linearly.
    """
    source = signals.sources
    steady = float(source.u[arm] * (1.0 - np.asarray(signals.recall)[arm])) / step
    law = np.zeros(size)
    below = int(steady)
    weight = steady - below
    pings = float(signals.ping_rate[arm] * source.period)
    jump, decay = float(signals.jump[arm]), float(source.decay[arm])
    if below >= size:
        return law
    moved = np.eye(1, size)[0]
    if pings > 0:
        moved = content_law(pings, decay, Utility("deterministic"), step, size, jump)
    law[below:] += (1.0 - weight) * moved[: size - below]
    law[below + 1 :] += weight * moved[: size - below - 1]
    return law


def signal_index(
    signals: Signals,
    arm: int,
    *,
    tolerance: float = 5e-4,
    points: int = 250,
    max_points: int = 2000,
    reach: float = 6.0,
) -> StochasticIndex:
    """Whittle index of one source with unreliable pings, on a lattice of expected worths.

    Parameters
    ----------
    signals : Signals
        N sources.
    arm : int
        Which one, from 0; it must have pings.
    tolerance : float
        Largest estimated error of the index, in units of u*/C.
    points, max_points : int
        Size of the first lattice, which is doubled until the tolerance is met, and of the last.
    reach : float
        The lattice ends this many standard deviations (of the worth of a source that is never
        crawled) above u*, and at least two pings above it.

    Returns
    -------
    StochasticIndex
        `analysis.ephemeral.stochastic_bound` takes it too.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.
    NotConverged
        If `max_points` lattice points do not meet the tolerance.

    Examples
    --------
    >>> from analysis.ephemeral import Sources
    >>> signals = Signals(Sources([2.0], [1.0], [0.1]), recall=0.5, precision=0.5)
    >>> signal_index(signals, 0, tolerance=0.05).indexable
    True
    """
    check_kind("signals", signals, Signals)
    arm = check_integer("arm", arm, 0, len(signals) - 1)
    tolerance = check_positive("tolerance", tolerance)
    points = check_integer("points", points, 20)
    max_points = check_integer("max_points", max_points, points)
    reach = check_positive("reach", reach)
    source = signals.sources
    alpha, u, cost = (float(v[arm]) for v in (source.alpha, source.u, source.cost))
    rate, jump, u_star = (float(v[arm]) for v in (signals.ping_rate, signals.jump, source.u_star))
    if rate == 0:
        raise ValueError(
            f"arm must be a source with pings, got source {arm} with none: its index is that of "
            "expected content, `whittle_index`"
        )
    spread = jump * np.sqrt(rate / (2.0 * float(source.decay_rate[arm])))
    end = u_star + max(reach * spread, 2.0 * jump)
    return refined_index(
        lambda step, size: signal_law(signals, arm, step, size),
        alpha, u, u_star, cost, end, tolerance, points, max_points, f"lower reach = {reach:g}",
    )  # fmt: skip
