"""Fixed lists of crawls: what a static policy can do at whole epochs.

- `spread_schedule` meets given frequencies evenly, earliest deadline first; with one crawl an epoch
  every count stays within one of its target, with more crawls the deviation may be larger;
- `best_periods` finds the best list in which each source has one constant gap, for a few sources:
  the *trivial periodic structure* of which the report's section 9 speaks;
- `constant_gaps` returns whether the cycle of an index policy has that structure.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import lcm

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.checks import check_array, check_booleans, check_integer, check_whole, shown
from analysis.display import brief
from analysis.ephemeral.policies import Arms, Observation, check_ages
from analysis.ephemeral.simulation import Cycle
from analysis.ephemeral.sources import Sources, read_only
from analysis.kernel_cache import njit


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
        object.__setattr__(self, "schedule", read_only(schedule))

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
    rate = np.zeros((len(sources), longest + 1))
    for i in range(len(sources)):
        rate[i, 1:] = sources.u_star[i] * -np.expm1(-sources.decay[i] * choices[1:]) / choices[1:]
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
