"""The 2019 paper's equations evaluated as they are printed, to hold against what is meant.

Content (sections II, (1) to (3)), with Z_i(n) what epoch n brings, worth alpha^age, and items
dropped when they are M_i epochs old::

    X(n) = sum_{m = n-M+1}^{n} alpha^{n-m} Z(m),        xi(n) = Z(n) - alpha^M Z(n-M).

Index, (4) and (5), and the inverse of section IV::

    gamma = [ zeta ((1-alpha) x - u) + u (1-alpha^zeta)/(1-alpha) ] / C,
    zeta  = least integer exceeding log^+_alpha (u - (1-alpha) x)/u,
    B^-1(n) = n/(n-1) ( B^-1(n-1) - B^-1(n) phi phi^T B^-1(n-1) / (n-1 + phi^T B^-1(n-1) phi) ).

The transition law, the Poisson equation and the recursions are compared with exact chains.

Reference: the 2019 paper, sections II to V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import binom, poisson

from analysis.arrays import Floats
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_number,
    check_positive,
    check_rng,
)
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import _kernel as kernel
from analysis.learning.scheme.chains import ThresholdChain, threshold_basis
from analysis.learning.scheme.lspe import STEP_RANGE, GreedyThresholdPolicy, LspeOptions, model
from analysis.learning.scheme.thresholds import whittle_threshold

ROUNDINGS = ("exceeding", "ceil")


def shot_noise(rate: float, decay: float, horizon: int, rng: Rng) -> Floats:
    """Draw Z, shape (T,): items of one epoch, each worth 1 at first, as they are at its end.

    `rate` is in items an epoch, `decay` is c per epoch; both are positive.
    """
    rng = check_rng(rng)
    rate = check_positive("rate", rate)
    decay = check_number("decay", decay, 0, low_open=True)
    count = rng.poisson(rate, check_integer("horizon", horizon, 1))
    worth = np.exp(-decay * rng.random(int(count.sum())))
    epoch = np.repeat(np.arange(horizon), count.astype(np.intp))
    sums = np.bincount(epoch, weights=worth, minlength=horizon)
    return sums.astype(np.float64)


def content_misses(arrivals: Floats, decay: float, lifetime: int, crawls: ArrayLike = ()) -> Floats:
    """Return by how much (1) misses content by its definition, shape (T - 1,).

    `arrivals` is Z, shape (T,), `decay` c per epoch, `lifetime` M, the epochs that an item is kept,
    and `crawls` the epochs at whose end all content is taken. With X the content before a crawl and
    X(n+) that after it, 0 where there is one, this is X(n+1) - alpha X(n+) - xi(n+1).
    """
    lifetime = check_integer("lifetime", lifetime, 1)
    alpha, horizon = np.exp(-decay), arrivals.size
    removed, remaining = -1, 0.0
    misses = np.empty(horizon)
    emptied = {int(epoch) for epoch in np.asarray(crawls, dtype=int).ravel()}
    for n in range(horizon):
        since = max(n - lifetime + 1, removed + 1, 0)
        content = np.sum(alpha ** (n - np.arange(since, n + 1)) * arrivals[since : n + 1])
        dropped = arrivals[n - lifetime] if n >= lifetime else 0.0
        misses[n] = content - alpha * remaining - (arrivals[n] - alpha**lifetime * dropped)
        remaining = content
        if n in emptied:
            removed, remaining = n, 0.0
    return misses[1:]


def thinning_error(rate: float, share: float, most: int = 60) -> float:
    """Largest error of 'uniform given their number' for Poisson counts with the printed p(k).

    Given k arrivals in an interval, at most `most`, the number in a share s of it must be
    binomial(k, s); by independent increments it is P(j in s) P(k - j in the rest) / P(k). `rate` is
    the mean number in the interval.
    """
    rate = check_positive("rate", rate)
    share = check_number("share", share, 0, 1, low_open=True, high_open=True)
    worst = 0.0
    for k in range(check_integer("most", most, 0) + 1):
        j = np.arange(k + 1)
        both = poisson.logpmf(j, share * rate) + poisson.logpmf(k - j, (1 - share) * rate)
        conditional = np.exp(both - poisson.logpmf(k, rate))
        worst = max(worst, float(np.abs(conditional - binom.pmf(j, k, share)).max()))
    return worst


def index_as_printed(sources: Sources, state: ArrayLike, rounding: str = "exceeding") -> Floats:
    """Equations (4) and (5) to the letter at contents `state`, shape (N,).

    `rounding` is the bracket of (5), the least integer "exceeding", as explained, or not below
    ("ceil"), as drawn. From u* on, where (5) has the logarithm of 0 or less, it is nan.
    """
    check_choice("rounding", rounding, ROUNDINGS)
    x, u, alpha = check_array("state", state, 0), sources.u, sources.alpha
    share = (u - (1 - alpha) * x) / u
    exponent: Floats = np.log(np.where(share > 0, share, 1.0)) / np.log(alpha)
    exponent = np.asarray(
        np.round(np.maximum(exponent, 0.0), 9), dtype=np.float64
    )  # log^+; ages come out as integers
    zeta: Floats = np.floor(exponent) + 1.0 if rounding == "exceeding" else np.ceil(exponent)
    zeta = np.where(share > 0, zeta, np.nan)
    return (zeta * ((1 - alpha) * x - u) + u * (1 - alpha**zeta) / (1 - alpha)) / sources.cost


def indices_as_printed(sources: Sources, age: ArrayLike, rounding: str = "exceeding") -> Floats:
    """Return `index_as_printed` at the content of ages of shape (A, 1), shape (A, N)."""
    states = sources.state_at_age(check_array("age", age, 0))
    return np.array([index_as_printed(sources, x, rounding) for x in states])


def engaged_law(rate: ArrayLike) -> Floats:
    """Law of the number of arms engaged, shape (N + 1,), if arm i is with probability `rate[i]`."""
    law = np.ones(1)
    for chance in check_array("rate", rate, 0, 1):
        law = np.convolve(law, [1 - chance, chance])
    return law


def features(x: Floats) -> Floats:
    """Return phi of section V: x_1..x_N, x_1^2, x_1 x_2, ..., x_N^2; N + N (N + 1)/2 features."""
    first, second = np.triu_indices(x.shape[-1])
    return np.concatenate([x, x[..., first] * x[..., second]], axis=-1)


def inverse_errors(phi: Floats) -> tuple[Floats, Floats]:
    """Follow B^-1 by the printed recursion and by the corrected one; return their relative errors.

    `phi` are the features at n = 0, 1, ..., shape (T, L). B(0) is the identity, from which both
    start at n = 1 with step 1/(n + 1); the printed one at n = 2, since it divides by zero at n = 1.
    Errors are against a matrix inversion, for n = 2, 3, ..., shape (T - 2,); the
    printed recursion has B^-1(n-1) on the right, since with B^-1(n) it would define itself by
    itself.
    """
    size = phi.shape[1]
    matrix = np.eye(size)
    matrix += (np.outer(phi[1], phi[1]) - matrix) / 2
    literal = sound = np.linalg.inv(matrix)
    printed, corrected = [], []
    for n in range(2, len(phi)):
        v, s = phi[n], 1 / (n + 1)
        matrix += s * (np.outer(v, v) - matrix)
        true = np.linalg.inv(matrix)
        column, row = literal @ v, v @ literal
        literal = n / (n - 1) * (literal - np.outer(column, row) / (n - 1 + v @ column))
        image = sound @ v
        sound = (sound - np.outer(image, image) / ((1 - s) / s + v @ image)) / (1 - s)
        printed.append(np.abs(literal - true).max() / np.abs(true).max())
        corrected.append(np.abs(sound - true).max() / np.abs(true).max())
    return np.array(printed), np.array(corrected)


def feature_condition(
    sources: Sources, visited: Floats, *, scale: float | None = None, centred: bool = False
) -> float:
    """Condition number of the mean of phi phi^T over visited states, shape (T, N).

    States are divided by the content `scale`, the largest u* by default. If `centred`, each feature
    has its mean subtracted and is divided by its deviation first, and products are taken of
    standardised states; the result is infinite where a centred feature does not vary.
    """
    x = visited / model(sources, LspeOptions(scale=scale)).scale
    phi = _standardised(features(_standardised(x))) if centred else features(x)
    return float(np.linalg.cond(phi.T @ phi / len(phi)))


def _standardised(values: Floats) -> Floats:
    """Subtract the mean of each column and divide by its deviation; 0 where it does not vary."""
    varies = np.ptp(values, axis=0) > 1e-12 * np.abs(values).max(axis=0)
    centred = np.where(varies, values - values.mean(axis=0), 0.0)
    return centred / np.where(varies, values.std(axis=0), 1.0)


@dataclass(frozen=True)
class ThresholdFit:
    """How well the forms of section V fit the index policy's thresholds, by form.

    `squares` has the share of the thresholds' variance that the form explains, the least of all
    arms, `rewards` the long-run reward of crawling where the fitted thresholds say so.
    """

    squares: dict[str, float]
    rewards: dict[str, float]


def fitted_thresholds(sources: Sources, budget: int) -> ThresholdFit:
    """Fit T_i = q_0 + q_1 s + q_2 s^2, or with q_1 twice, to the index policy's thresholds.

    They are fitted at 150 draws of ages from 1 to 11.
    """
    ages = np.random.default_rng(0).integers(1, 12, (150, len(sources)))
    states = sources.state_at_age(ages)
    scale = model(sources, LspeOptions()).scale
    levels = np.array([whittle_threshold(sources, x) for x in states]) / scale
    squares, rewards = {}, {}
    for form in ("shared", "quadratic"):
        q, share = np.zeros((len(sources), 3)), []
        for arm, basis in enumerate(np.moveaxis(threshold_basis(states / scale, form), 1, 0)):
            coefficients = np.linalg.lstsq(basis, levels[:, arm], rcond=None)[0]
            q[arm, : coefficients.size] = coefficients
            share.append(1 - (levels[:, arm] - basis @ coefficients).var() / levels[:, arm].var())
        policy = GreedyThresholdPolicy(sources, q, LspeOptions(threshold=form))
        squares[form] = float(np.min(share))
        rewards[form] = long_run(sources, policy, budget).average_reward
    return ThresholdFit(squares, rewards)


# Transition law, Poisson equation and recursions on exact chains


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
