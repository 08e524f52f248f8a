"""Static policies: how often to crawl each source is fixed once, whatever happens.

Lefortier et al. (reference [15] of the report) choose crawling frequencies f_i that maximise the
fluid formula sum_i f_i u*_i (1 - exp(-mu_i / f_i)), sum_i C_i f_i <= M. With a crawler that acts at
multiples of T the formula promises too much: a source crawled at frequency f has gaps that are
whole numbers of periods, and gaps of two neighbouring lengths earn at most the chord of the values
at whole gaps. What can be carried out: `random_frequencies`, where every
source is drawn with its own probability at each epoch, so that the reward rate
p u / (1 - (1 - p) alpha) is concave and the best probabilities are closed-form in one multiplier;
and fixed lists of crawls, in `analysis.ephemeral.optimum.schedules`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_rng
from analysis.display import brief
from analysis.ephemeral.kernels import one_minus_short_exp
from analysis.ephemeral.policies import Arms, Observation, check_ages
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget, read_only

EPSILON = float(np.finfo(float).eps)


@brief
@read_only_arrays
@dataclass(frozen=True)
class StaticOptimum:
    """Best frequencies of one kind of static policy.

    `frequency`, shape (N,), has crawls per epoch, `average_reward` is the value of the formula that
    was maximised, `subsidy` the multiplier of the budget.
    """

    frequency: Floats
    average_reward: float
    subsidy: float


def fluid_reward(sources: Sources, frequency: ArrayLike) -> float:
    """Return the reward rate of frequencies in [0, 1] by the fluid formula.

    No feasible policy need reach it, unless every 1/f is a whole number.
    """
    f = _check_frequency(sources, frequency)
    gap = np.divide(1.0, f, out=np.full_like(f, np.inf), where=f > 0)
    return float((f * sources.state_at_age(gap)).sum())


def random_reward(sources: Sources, frequency: ArrayLike) -> float:
    """Return the exact reward rate when each source is drawn afresh at every epoch.

    `frequency`, shape (N,), has the probabilities.
    """
    p = _check_frequency(sources, frequency)
    loss_of_state = -np.expm1(-sources.decay) + p * sources.alpha  # 1 - (1 - p) alpha
    return float((p * sources.u / loss_of_state).sum())


def fluid_frequencies(sources: Sources, budget: float) -> StaticOptimum:
    """Return the frequencies in [0, 1] of the largest fluid reward (Lefortier et al.)."""

    def frequencies(subsidy: float) -> Floats:
        # d/df of the formula is u* (1 - (1 + z) e^-z) with z = mu / f: solved for z.
        limit = sources.u_star / sources.cost
        target = np.divide(subsidy, limit, out=np.ones_like(limit), where=limit > 0)
        return np.array(
            [
                0.0 if t >= 1.0 else 1.0 if t <= _excess(m, 0.0) else m / _excess_inverse(t, m)
                for t, m in zip(target, sources.decay, strict=True)
            ]
        )

    return _water_fill(sources, budget, frequencies, fluid_reward)


def random_frequencies(sources: Sources, budget: float) -> StaticOptimum:
    """Return the probabilities of the largest reward of independent draws at every epoch.

    Drawn by systematic sampling, the sources of one epoch number exactly the budget (costs of one).
    """
    fade = -np.expm1(-sources.decay)

    def frequencies(subsidy: float) -> Floats:
        # d/dp of p u / (1 - (1 - p) alpha) is u (1 - alpha) / (1 - (1 - p) alpha)^2.
        with np.errstate(divide="ignore"):
            root = np.sqrt(sources.u * fade / (subsidy * sources.cost))
        return np.clip((root - fade) / sources.alpha, 0.0, 1.0)

    return _water_fill(sources, budget, frequencies, random_reward)


@brief
@read_only_arrays
@dataclass(frozen=True)
class RandomPolicy:
    """Draw sources at each epoch, each with its own probability (systematic sampling).

    `frequency`, shape (N,), has the probabilities; their sum is the number of sources drawn.
    """

    frequency: Floats

    def __post_init__(self) -> None:
        frequency = check_array("frequency", self.frequency, 0, 1)
        object.__setattr__(self, "frequency", read_only(frequency))

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return a random set of sources; each is in it with its probability."""
        if rng is None:
            raise ValueError("rng must be a numpy.random.Generator for a policy that draws")
        check_ages(observation, self.frequency.size)
        steps = np.floor(np.cumsum(self.frequency) + check_rng(rng).random() + 1e-12)
        return np.flatnonzero(np.diff(steps, prepend=0.0) > 0)


def _check_frequency(sources: Sources, frequency: ArrayLike) -> Floats:
    """Return one frequency a source in [0, 1], or raise naming `frequency`."""
    f = check_array("frequency", frequency, 0, 1)
    if f.shape != (len(sources),):
        raise ValueError(f"frequency must have shape ({len(sources)},), got {f.shape}")
    return f


def _excess(z: float, target: float) -> float:
    return float(one_minus_short_exp(z)) - target


def _excess_inverse(target: float, low: float) -> float:
    """Return the z in [low, 800] that solves 1 - (1 + z) e^-z = target."""
    return float(brentq(_excess, low, 800.0, args=(target,), xtol=1e-300, rtol=4 * EPSILON))


def _water_fill(
    sources: Sources,
    budget: float,
    frequencies: Callable[[float], Floats],
    reward: Callable[[Sources, ArrayLike], float],
) -> StaticOptimum:
    """Return the optimum at the multiplier at which the best frequencies spend the budget."""
    budget = check_budget(sources, budget)
    low, high = 0.0, float((sources.u_star / sources.cost).max())
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if float((sources.cost * frequencies(middle)).sum()) >= budget * (1.0 - ROUNDING):
            low = middle
        else:
            high = middle
    # Near u* the multiplier cannot resolve small frequencies; in between, the reward is linear.
    often, seldom = frequencies(low), frequencies(high)
    highest, lowest = (float((sources.cost * f).sum()) for f in (often, seldom))
    share = (budget - lowest) / (highest - lowest) if highest > lowest else 1.0
    share = min(max(share, 0.0), 1.0)  # `highest` may lie below the budget by a rounding
    f = share * often + (1.0 - share) * seldom
    return StaticOptimum(f, reward(sources, f), high)
