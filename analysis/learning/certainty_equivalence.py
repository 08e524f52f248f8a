"""Certainty equivalence: estimate content rate and decay, then trust the closed-form index.

A crawl at age k finds content of mean u* (1 - e^{-mu k}) and of a variance nearly proportional to
it, phi times the mean. From the (age, content) pairs of one arm the quasi-likelihood is

    l(u*, mu) = sum_j r_j log(u* g_j) - u* g_j,     g_j = 1 - e^{-mu k_j}.

For given mu it is largest at u* = R / S(mu), R = sum r_j, S = sum g_j, which leaves the profile

    p(mu) = sum_j r_j log g_j(mu) - R log S(mu),

kept on a grid of mu by adding each pair to running sums, and refined by a parabola in log mu. The
dispersion phi is Pearson's chi-square over its degrees of freedom, pooled a little over the arms.
The crawled arms are those of largest index gamma(age; u*, mu), where (u*, mu) is

    forced      the estimate, after every arm has been crawled a few times
    ucb         what makes the index largest within l >= max l - phi c log t
    thompson    a draw: log mu normal around the estimate, u* gamma given mu

This is the "adaptive version" that the report announces in its conclusion: only ages and contents
of crawled arms are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from analysis.checks import check_choice, check_integer, check_number
from analysis.ephemeral import Observation, Sources
from analysis.ephemeral.kernels import h, relative_index_at_age
from analysis.learning.environment import Floats, Ints, Run, advance, by_epoch, collect, largest

EXPLORATIONS = ("forced", "ucb", "thompson")


@dataclass(frozen=True)
class CertaintyEquivalenceOptions:
    """How the learner explores, and where it looks for the decay.

    Parameters
    ----------
    exploration : {"ucb", "forced", "thompson"}
        See the module. "forced" needs a larger `forced` than the others, which go on exploring.
    forced : int
        Crawls of each arm before its estimate is used, in pairs of one at a high age and one right
        after it; at least 2.
    confidence : float
        c of "ucb"; positive.
    slowest, fastest : float
        Ends of the grid of mu, per epoch; 0 < slowest < fastest.
    points : int
        Points of the grid, equally spaced in log mu; at least 16.
    """

    exploration: str = "ucb"
    forced: int = 2
    confidence: float = 0.5
    slowest: float = 1e-3
    fastest: float = 20.0
    points: int = 121

    def __post_init__(self) -> None:
        check_choice("exploration", self.exploration, EXPLORATIONS)
        check_integer("forced", self.forced, 2)
        check_number("confidence", self.confidence, 0, low_open=True, high_open=True)
        check_number("slowest", self.slowest, 0, low_open=True, high_open=True)
        check_number("fastest", self.fastest, self.slowest, low_open=True, high_open=True)
        check_integer("points", self.points, 16)


class _Model(NamedTuple):
    """Constants: the grid, and g and log g at ages 1 to A on it, shape (points, A)."""

    log_mu: NDArray[np.float64]
    g: NDArray[np.float64]
    log_g: NDArray[np.float64]
    exploration: int
    forced: int
    confidence: float


class _State(NamedTuple):
    """Running sums of each arm, on the grid (N, points) or not (N,), and the estimates from them.

    `profile` is p(mu) and `top` the place of its maximum; `width` is the standard deviation of
    log mu when phi is 1.
    """

    pairs: NDArray[np.int64]
    total: NDArray[np.float64]
    weighted: NDArray[np.float64]
    exposure: NDArray[np.float64]
    squares: NDArray[np.float64]
    profile: NDArray[np.float64]
    top: NDArray[np.int64]
    log_mu: NDArray[np.float64]
    u_star: NDArray[np.float64]
    width: NDArray[np.float64]
    chi_square: NDArray[np.float64]
    epoch: NDArray[np.int64]


class CertaintyEquivalence:
    """The learner.

    Parameters
    ----------
    arms : int
        N; nothing else is known of them.
    options : CertaintyEquivalenceOptions, optional
        How it explores.

    Attributes
    ----------
    u_star, decay : ndarray, shape (N,)
        Present estimates, ``nan`` before the first crawl.
    """

    def __init__(self, arms: int, options: CertaintyEquivalenceOptions | None = None) -> None:
        check_integer("arms", arms, 1)
        self.options = options or CertaintyEquivalenceOptions()
        log_mu = np.linspace(
            np.log(self.options.slowest), np.log(self.options.fastest), self.options.points
        )
        g = -np.expm1(-np.exp(log_mu)[:, None] * np.arange(1, 257))
        self._model = _Model(
            log_mu,
            g,
            np.log(g),
            EXPLORATIONS.index(self.options.exploration),
            self.options.forced,
            float(self.options.confidence),
        )
        grid = (arms, self.options.points)
        self._state = _State(
            np.zeros(arms, dtype=np.int64),
            np.zeros(arms),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(arms, dtype=np.int64),
            np.full(arms, np.nan),
            np.full(arms, np.nan),
            np.full(arms, np.nan),
            np.zeros(arms),
            np.zeros(1, dtype=np.int64),
        )
        self._age = np.zeros(arms, dtype=np.int64)

    @property
    def u_star(self) -> Floats:
        """Estimates of u*, shape (N,)."""
        return self._state.u_star.copy()

    @property
    def decay(self) -> Floats:
        """Estimates of mu T, shape (N,)."""
        return np.exp(self._state.log_mu)

    def select(self, observation: Observation, budget: int, rng: np.random.Generator) -> Ints:
        """Return the `budget` arms of largest estimated, optimistic or drawn index."""
        self._age[:] = observation.age
        arms = np.empty(budget, dtype=np.int64)
        values = np.empty(self._age.size)
        _priorities(self._model, self._state, self._age, rng, values)
        largest(values, arms)
        return arms

    def update(self, arms: Ints, rewards: Floats) -> None:
        """Add one (age, content) pair for each crawled arm."""
        _learn(self._model, self._state, np.asarray(arms), self._age[arms], np.asarray(rewards))

    def play(self, sources: Sources, content: Floats, budget: int, rng: np.random.Generator) -> Run:
        """Meet a whole stream of arrivals, as `environment.play` does, in one compiled loop."""
        stream = by_epoch(sources, content, budget)
        check_integer("the number of sources", len(sources), self._age.size, self._age.size)
        return Run(
            *_play(
                self._model,
                self._state,
                sources.alpha,
                sources.decay,
                sources.u_star,
                stream,
                budget,
                rng,
            )
        )


@njit(cache=True, nogil=True)
def _reach(model, point, age):  # type: ignore[no-untyped-def]
    """Return g = 1 - exp(-mu age) and log g at a point of the grid."""
    if age <= model.g.shape[1]:
        return model.g[point, age - 1], model.log_g[point, age - 1]
    g = -np.expm1(-np.exp(model.log_mu[point]) * age)
    return g, np.log(g)


@njit(cache=True, nogil=True)
def _exposure(model, exposure, log_mu):  # type: ignore[no-untyped-def]
    """S at any mu: its logarithm is interpolated linearly between points of the grid."""
    spacing = model.log_mu[1] - model.log_mu[0]
    place = (log_mu - model.log_mu[0]) / spacing
    below = min(max(int(place), 0), exposure.size - 2)
    weight = place - below
    return np.exp((1.0 - weight) * np.log(exposure[below]) + weight * np.log(exposure[below + 1]))


@njit(cache=True, nogil=True)
def _estimate(model, state, i):  # type: ignore[no-untyped-def]
    """Maximise the profile of arm i on the grid and refine it by a parabola."""
    exposure, profile, total = state.exposure[i], state.profile[i], state.total[i]
    for g in range(exposure.size):
        profile[g] = state.weighted[i, g] - total * np.log(exposure[g])
    top = int(np.argmax(profile))
    inner = min(max(top, 1), exposure.size - 2)
    left, middle, right = profile[inner - 1], profile[inner], profile[inner + 1]
    spacing = model.log_mu[1] - model.log_mu[0]
    bend = 2.0 * middle - left - right
    log_mu, width = model.log_mu[top], model.log_mu[-1] - model.log_mu[0]
    if bend > 1e-12 * total:
        width = min(width, spacing / np.sqrt(bend))
        if inner == top:
            log_mu += 0.5 * spacing * (right - left) / bend
    state.top[i] = top
    state.log_mu[i] = log_mu
    state.width[i] = width
    state.u_star[i] = total / _exposure(model, exposure, log_mu)
    surplus = 0.0
    if total > 0.0:
        surplus = state.squares[i, top] * exposure[top] / total - total
    state.chi_square[i] = max(surplus, 0.0)


@njit(cache=True, nogil=True)
def _learn(model, state, arms, age, found):  # type: ignore[no-untyped-def]
    """Add (age, content) pairs to the running sums and estimate anew."""
    state.epoch[0] += 1
    for m in range(arms.size):
        i = arms[m]
        state.pairs[i] += 1
        state.total[i] += found[m]
        for point in range(model.log_mu.size):
            g, log_g = _reach(model, point, age[m])
            state.weighted[i, point] += found[m] * log_g
            state.exposure[i, point] += g
            state.squares[i, point] += found[m] * found[m] / g
        _estimate(model, state, i)


@njit(cache=True, nogil=True)
def _index(log_mu, u_star, age):  # type: ignore[no-untyped-def]
    decay = np.exp(log_mu)
    return u_star * relative_index_at_age(decay, h(decay), float(age))


@njit(cache=True, nogil=True)
def _optimistic(model, state, i, age, slack):  # type: ignore[no-untyped-def]
    """Largest index of arm i over the points whose profile is within `slack` of the best.

    Given mu, u* may exceed R/S by the factor at which the quasi-likelihood has lost the rest of the
    slack, R (x - 1)^2 / 2 for a factor x near 1.
    """
    total = state.total[i]
    if total <= 0.0:
        return 0.0
    stretch = 1.0 + np.sqrt(2.0 * slack / total)
    highest = stretch * _index(state.log_mu[i], state.u_star[i], age)
    top, profile = state.top[i], state.profile[i]
    for direction in (-1, 1):
        g = top if direction < 0 else top + 1
        while 0 <= g < profile.size:
            left = slack - (profile[top] - profile[g])
            if left <= 0.0:
                break
            u_star = total / state.exposure[i, g] * (1.0 + np.sqrt(2.0 * left / total))
            highest = max(highest, _index(model.log_mu[g], u_star, age))
            g += direction
    return highest


@njit(cache=True, nogil=True)
def _priorities(model, state, age, rng, values):  # type: ignore[no-untyped-def]
    """Write what each arm is worth crawling; arms that lack forced crawls come first."""
    surplus, freedom = 0.0, 0
    for i in range(values.size):
        surplus += state.chi_square[i]
        freedom += max(state.pairs[i] - 2, 0)
    pooled = surplus / max(freedom, 1)
    for i in range(values.size):
        count = state.pairs[i]
        if count < model.forced:
            again = model.forced if count % 2 == 1 else 0
            values[i] = 1e200 * (2 * model.forced + again - count)
            continue
        phi = (state.chi_square[i] + 2.0 * pooled) / count  # count - 2 degrees of freedom and 2
        phi = max(phi, 1e-12 * state.total[i])
        if model.exploration == 1:
            slack = phi * model.confidence * np.log(1.0 + state.epoch[0])
            values[i] = _optimistic(model, state, i, age[i], slack)
        elif model.exploration == 2 and phi > 0.0:
            log_mu = state.log_mu[i] + np.sqrt(phi) * state.width[i] * rng.standard_normal()
            log_mu = min(max(log_mu, model.log_mu[0]), model.log_mu[-1])
            drawn = phi * rng.standard_gamma(state.total[i] / phi)
            values[i] = _index(log_mu, drawn / _exposure(model, state.exposure[i], log_mu), age[i])
        else:
            values[i] = _index(state.log_mu[i], state.u_star[i], age[i])


@njit(cache=True, nogil=True)
def _play(model, state, alpha, decay, u_star, content, budget, rng):  # type: ignore[no-untyped-def]
    horizon, size = content.shape
    held, age = -np.expm1(-decay) * u_star, np.ones(size, dtype=np.int64)
    arms, ages = np.empty(budget, dtype=np.int64), np.empty(budget, dtype=np.int64)
    found, values = np.empty(budget), np.empty(size)
    reward, expected = np.zeros(horizon), np.zeros(horizon)
    crawls = np.zeros(size, dtype=np.int64)
    for epoch in range(horizon):
        _priorities(model, state, age, rng, values)
        largest(values, arms)
        for m in range(budget):
            ages[m] = age[arms[m]]
        reward[epoch], expected[epoch] = collect(decay, u_star, held, age, arms, found, crawls)
        _learn(model, state, arms, ages, found)
        advance(alpha, content[epoch], held, age)
    return reward, expected, np.full(horizon, budget), crawls
