"""The scheme's printed transition law, Poisson equation and recursions against exact chains.

Reference: the 2019 paper, sections III to V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from analysis.arrays import Floats
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import _kernel as kernel
from analysis.learning.scheme.equations import features
from analysis.learning.scheme.gradient import ThresholdChain
from analysis.learning.scheme.lspe import STEP_RANGE, LspeOptions, model

CAP = 8
"""Age at which the ages of the small chains stop."""
PRINTED_FIRST = 0
"""The n of the first step of the printed recursions."""


@dataclass(frozen=True)
class Transitions:
    """The printed transition law against a chain of two sources: largest errors.

    `law` is that of p_i(y_i|x), `product` of the product over sources, `single` of the product
    where exactly one source is drawn, `state` of u_i and alpha_i x_i + u_i, at ages below the cap.
    """

    law: float
    product: float
    state: float
    single: float


@dataclass(frozen=True)
class Poisson:
    """The Poisson equation of a chain, solved.

    `residual` is the largest violation, `rank` that of I - P, `states` the number of states; in
    scaled content, `beta` is the solution, `mean_content` the stationary mean of sum x_i and
    `harvest` that of what is crawled.
    """

    residual: float
    rank: int
    states: int
    beta: float
    mean_content: float
    harvest: float


@dataclass(frozen=True)
class Recursion:
    """The recursion of r with exact averages of a chain.

    `radius` is the spectral radius of r -> r + B^-1 A r, the step at 1; `end` and `printed_end` are
    the relative violations of A r + b = 0 at the limit, with the corrected A, and with the printed
    one where the row is taken from every row.
    """

    radius: float
    end: float
    printed_end: float


def check_transitions(sources: Sources, q: Floats, options: LspeOptions) -> Transitions:
    """Compare p_i, the states that follow and the product with the chain's own numbers.

    `q` are threshold coefficients of two sources, shape (2, 3); thresholds are quadratic and not
    projected, and the printed law draws each source on its own.
    """
    chain = ThresholdChain(sources, q, options, CAP)
    single = ThresholdChain(sources, q, LspeOptions.corrected(kappa=options.kappa), CAP)
    s = chain.x[:, ::-1]
    levels = q[:, 0] + q[:, 1] * s + q[:, 2] * s * s
    printed = expit(options.kappa * (chain.x - levels - 0.5))
    marginal, alone = (c.chance @ c.active for c in (chain, single))
    unit = sources.u_star.max()
    young = chain.x < sources.state_at_age(CAP) / unit - 1e-12
    onward = np.where(
        chain.active, sources.u, (sources.alpha * chain.x * unit)[:, None] + sources.u
    )
    gap = np.abs(chain.x[chain.successor] - onward / unit)
    return Transitions(
        law=float(np.abs(marginal - printed).max()),
        product=_product_error(chain, marginal),
        state=float(gap[np.broadcast_to(young[:, None], gap.shape)].max()),
        single=_product_error(single, alone),
    )


def check_poisson(sources: Sources, q: Floats, options: LspeOptions) -> Poisson:
    """Solve the Poisson equation (6) of the chain of two sources."""
    chain = ThresholdChain(sources, q, options, CAP)
    beta, law, bias = chain.solve("all")
    reward = (chain.chance * chain.rewards("all")).sum(axis=1)
    violation = reward - beta + chain.transition @ bias - bias
    return Poisson(
        residual=float(np.abs(violation).max()),
        rank=int(np.linalg.matrix_rank(np.eye(len(law)) - chain.transition)),
        states=len(law),
        beta=beta,
        mean_content=float(law @ chain.x.sum(axis=1)),
        harvest=chain.solve("crawled")[0],
    )


def check_recursion(sources: Sources, q: Floats, options: LspeOptions) -> Recursion:
    """Follow the recursion of r with exact averages, with the corrected A and the printed one."""
    chain = ThresholdChain(sources, q, options, CAP)
    _, law, _ = chain.solve("all")
    phi, reward = features(chain.x), chain.rewards("all")[:, 0]
    weighted = phi * law[:, None]
    b = weighted.T @ (reward - law @ reward)
    ahead = weighted.T @ chain.transition @ phi
    a, printed = ahead - weighted.T @ phi, ahead - law @ phi
    move = np.eye(len(a)) + np.linalg.solve(weighted.T @ phi, a)
    ends = [
        np.abs(a @ np.linalg.lstsq(read, -b, rcond=None)[0] + b).max() / np.abs(b).max()
        for read in (a, printed)
    ]
    return Recursion(float(np.abs(np.linalg.eigvals(move)).max()), float(ends[0]), float(ends[1]))


def ranks_after_two_steps(phi: Floats) -> tuple[int, int]:
    """Return the rank of B after n = 0 and 1 by the print, and where it begins at n = 1."""
    ranks = []
    for first in (1, PRINTED_FIRST):
        matrix = np.eye(phi.shape[1])
        for n in range(first, 2):
            matrix = matrix + (np.outer(phi[n], phi[n]) - matrix) / (n + 1)
        ranks.append(int(np.linalg.matrix_rank(matrix)))
    return ranks[1], ranks[0]


def example_steps(
    epochs: int, *, falls: float = 1.0, averages: float = kernel.AVERAGING_POWER
) -> dict[str, Floats]:
    """Return a(n)/c and b(n)/c for n = 1, 2, ... with the exponents by which they fall."""
    n = np.arange(1, epochs + 1)
    return {
        "a": np.ceil(n / kernel.STEP_BLOCK) ** -falls,
        "b": np.ceil(n / kernel.AVERAGING_BLOCK) ** -averages,
    }


def threshold_form(sources: Sources, options: LspeOptions) -> tuple[int, ...]:
    """Return the q that multiply s^0, s^1 and s^2 in the program's T_i, and its degree."""
    constants = model(sources, replace(options, projected=False))
    s = np.linspace(0.5, 2.0, 4)
    table = np.empty((3, s.size))
    for j, knot in np.ndindex(table.shape):
        x, out, q = np.zeros(len(sources)), np.empty(len(sources)), np.zeros((len(sources), 3))
        x[1], q[:, j] = s[knot], 1.0
        kernel.thresholds(constants, q, x, out)
        table[j, knot] = out[0]
    powers = np.polynomial.polynomial.polyfit(s, table.T, 3).round(6)
    degree = int(np.flatnonzero(powers.any(axis=1)).max())
    return (*(int(np.argmax(np.abs(powers[p]))) for p in range(degree + 1)), degree)


def feature_form(sources: Sources, options: LspeOptions) -> tuple[int, ...]:
    """Read the numbers of the printed list of features off those that the program writes.

    They are the first state, the first square with its power, the first product, how far before N
    the last product begins, and the power of the last square.
    """
    primes = np.array([2, 3, 5, 7, 11, 13, 17, 19])[: len(sources)]
    phi = np.empty(primes.size * (primes.size + 3) // 2)
    kernel.write_features(model(sources, options), primes.astype(np.float64), phi)
    powers = [[_power(value, prime) for prime in primes] for value in phi.round().astype(int)]
    factors = [np.repeat(np.arange(1, primes.size + 1), power) for power in powers]
    first, square, product = factors[0], factors[primes.size], factors[primes.size + 1]
    last_product, last = factors[-2], factors[-1]
    before = int(last_product[0]) - primes.size
    return (*first, square[0], square.size, *product, before, last.size)


def step_numbers() -> tuple[float, ...]:
    """Return the blocks and the exponent of the program's steps, and the range of c."""
    return (kernel.STEP_BLOCK, kernel.AVERAGING_BLOCK, *kernel.AVERAGING_RATIO, *STEP_RANGE)


def _product_error(chain: ThresholdChain, marginal: Floats) -> float:
    factors = np.where(chain.active, marginal[:, None], 1 - marginal[:, None])
    return float(np.abs(factors.prod(axis=2) - chain.chance).max())


def _power(value: int, prime: int) -> int:
    power = 0
    while value > 1 and value % prime == 0:
        value //= prime
        power += 1
    return power
