"""Static policies: how often to crawl each source is fixed once, whatever happens.

Lefortier et al. (reference [15] of the report) choose crawling frequencies f_i that maximise the
fluid formula sum_i f_i u*_i (1 - exp(-mu_i / f_i)), sum_i C_i f_i <= M. With a crawler that acts at
multiples of T the formula promises too much: a source crawled at frequency f has gaps that are
whole numbers of periods, and gaps of two neighbouring lengths earn at most the chord of the values
at whole gaps. What can be carried out: `random_frequencies`, where every source is drawn with its
own probability at each epoch, so that the reward rate p u / (1 - (1 - p) alpha) is concave and the
best probabilities are closed-form in one multiplier; and fixed lists of crawls:

* `spread_schedule` meets given frequencies evenly, earliest deadline first; with one crawl an
  epoch every count stays within one of its target, with more the deviation may be larger;
* `best_periods` finds the best list in which each source has one constant gap, for a few sources:
  the *trivial periodic structure* of which the report's section 9 speaks;
* `constant_gaps` returns whether the cycle of an index policy has that structure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import lcm

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import (
    check_array,
    check_booleans,
    check_integer,
    check_rng,
    check_whole,
    set_fields,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.kernels import one_minus_short_exp
from analysis.ephemeral.policies import Arms, Observation, check_ages
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import ROUNDING, Sources, check_budget, read_only
from analysis.kernel_cache import njit

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
        set_fields(self, frequency=read_only(check_array("frequency", self.frequency, 0, 1)))

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


# Fixed lists of crawls: what a static policy can do at whole epochs


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class SchedulePolicy:
    """Crawl by a fixed list, over and over.

    Parameters
    ----------
    schedule : array_like of bool, shape (N, epochs)
        Which sources are crawled at each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources, simulate
    >>> every_second = np.array([[True, False], [False, True], [False, False], [False, False]])
    >>> run = simulate(four_sources(), SchedulePolicy(every_second), budget=1, horizon=100)
    >>> round(run.average_reward, 2)
    256.66
    """

    schedule: Bools

    def __post_init__(self) -> None:
        schedule = check_booleans("schedule", self.schedule)
        if schedule.ndim != 2 or not schedule.size:
            raise ValueError(
                f"schedule must hold truth values of shape (N, epochs), got {shown(self.schedule)}"
            )
        set_fields(self, schedule=read_only(schedule))

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources listed for this epoch."""
        check_ages(observation, self.schedule.shape[0])
        return np.flatnonzero(self.schedule[:, observation.epoch % self.schedule.shape[1]])


def spread_schedule(frequency: ArrayLike, budget: int, epochs: int) -> Bools:
    """Return a list of crawls that follow given frequencies evenly, earliest deadline first.

    The n-th crawl of a source of frequency f, in [0, 1], is allowed from epoch (n - 1) / f and due
    before n / f; `budget` sources are crawled at each epoch. Shape (N, epochs).
    """
    f = check_array("frequency", frequency, 0, 1)
    budget = check_whole("budget", budget, 1, f.size)
    epochs = check_integer("epochs", epochs, 1)
    schedule = np.zeros((f.size, epochs), dtype=bool)
    _earliest_due(f, budget, schedule)
    return schedule


@njit
def _earliest_due(frequency: Floats, budget: int, schedule: Bools) -> None:
    """Fill a schedule in place: of the allowed sources those due first, ties in their order."""
    size, epochs = schedule.shape
    count = np.zeros(size)
    for epoch in range(epochs):
        allowed = np.flatnonzero((frequency > 0) & (count <= frequency * epoch + 1e-9))
        due = (count[allowed] + 1) / frequency[allowed]
        for i in allowed[np.argsort(due, kind="mergesort")[:budget]]:  # stable
            schedule[i, epoch] = True
            count[i] += 1


def schedule_reward(sources: Sources, schedule: ArrayLike) -> float:
    """Return the exact long-run reward per epoch of a list that is repeated for ever.

    The list has shape (N, epochs): which sources are crawled at each epoch.
    """
    listed = SchedulePolicy(np.asarray(schedule)).schedule
    if listed.shape[0] != len(sources):
        raise ValueError(f"schedule must have {len(sources)} rows, got {listed.shape[0]}")
    epochs = listed.shape[1]
    total = 0.0
    for i, row in enumerate(listed):
        crawls = np.flatnonzero(row)
        gaps = np.diff(crawls, append=crawls[:1] + epochs)
        total += float(sources.u_star[i] * -np.expm1(-sources.decay[i] * gaps).sum())
    return total / epochs


def best_periods(sources: Sources, budget: int, longest: int = 12) -> tuple[tuple[int, ...], float]:
    """Return the gaps, one a source, of the best schedule of constant gaps, and its reward.

    Gaps are up to `longest`, 0 for a source that is never crawled; the reward is per epoch.
    ValueError for more than 5 sources, or an argument out of range.
    """
    if len(sources) > 5:
        raise ValueError(f"sources must be at most 5, got {len(sources)}")
    budget = check_whole("budget", budget, 1, len(sources))
    longest = check_integer("longest", longest, 1)
    choices = np.arange(longest + 1)
    rate = (sources.state_at_age(choices[:, None]) / np.maximum(choices, 1)[:, None]).T
    load = np.concatenate([[0.0], 1.0 / choices[1:]])
    gaps = np.indices((longest + 1,) * len(sources)).reshape(len(sources), -1)
    light = load[gaps].sum(axis=0) <= budget + 1e-12
    gaps = gaps[:, light]
    reward = sum(rate[i, gaps[i]] for i in range(len(sources)))
    for column in np.argsort(-np.asarray(reward), kind="stable"):
        candidate = tuple(int(g) for g in gaps[:, column])
        if _fits(candidate, budget):
            return candidate, float(np.asarray(reward)[column])
    raise AssertionError("never crawling fits in any budget")


def constant_gaps(cycle: Cycle) -> bool:
    """Return whether every source of a cycle is crawled at one constant interval, or never."""
    for arm in range(cycle.frequency.size):
        epochs = np.flatnonzero([arm in crawls for crawls in cycle.crawls])
        gaps = np.diff(epochs, append=epochs[:1] + cycle.period)
        if np.unique(gaps).size > 1:
            return False
    return True


def _fits(gaps: tuple[int, ...], budget: int) -> bool:
    """Return whether start epochs exist so that no epoch has more than `budget` crawls."""
    active = [gap for gap in gaps if gap]
    epochs = np.arange(lcm(*active))
    for starts in product(*(range(gap) for gap in active[1:])):
        crawls = (epochs % active[0] == 0).astype(int) if active else np.zeros(1, dtype=int)
        for start, gap in zip(starts, active[1:], strict=True):
            crawls += epochs % gap == start
        if crawls.max() <= budget:
            return True
    return not active
