"""Learners side by side: the same arrivals for all, curves, regret and steps, with intervals.

Replication r draws its arrivals once; every learner meets them from the same start, with a stream
of its own for what it draws. What is compared is the expected reward given the ages
(`Run.expected`), which has the mean of what was found and none of the noise of the arrivals. The
measure is the index policy that knows the sources, started alike: it ignores what it finds, so its
expected rewards are one fixed sequence.

A run that diverged (`scheme.lspe` has the rule) is listed with its epoch and takes no
part in any average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from scipy.stats import t as student

from analysis.checks import check_array, check_integer, check_kind, check_number
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.simulation import simulate
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import CompiledLearner, Floats, Run, mean_content
from analysis.sweep import mean_interval, sweep

Factory = Callable[[], CompiledLearner]


@dataclass(frozen=True)
class LearningCurves:
    """What one learner earned in all replications that did not diverge.

    Attributes
    ----------
    expected : ndarray, shape (R, T)
        Expected reward at each epoch.
    reward : ndarray, shape (R,)
        Mean content found per epoch.
    engaged : ndarray, shape (R, T)
        Arms crawled at each epoch.
    crawls : ndarray of int, shape (R, N)
        Crawls of each arm.
    diverged : tuple of (int, int)
        Replication and epoch of each run that diverged.
    reference : ndarray, shape (T,)
        Expected reward of the index policy at each epoch.
    """

    expected: Floats
    reward: Floats
    engaged: np.ndarray
    crawls: np.ndarray
    diverged: tuple[tuple[int, int], ...]
    reference: Floats

    @property
    def average_reward(self) -> tuple[float, float, float]:
        """Expected reward per epoch: mean over replications and its 95% interval."""
        return mean_interval(self.expected.mean(axis=1))

    @property
    def loss(self) -> tuple[float, float, float]:
        """Share of the index policy's reward that was lost: mean and 95% interval."""
        return mean_interval(1.0 - self.expected.sum(axis=1) / self.reference.sum())

    @property
    def regret(self) -> tuple[float, float, float]:
        """Reward lost to the index policy over all epochs: mean and 95% interval."""
        return mean_interval(self.reference.sum() - self.expected.sum(axis=1))

    def curve(self, block: int) -> tuple[Floats, Floats, Floats]:
        """Reward per epoch in blocks of epochs: mean, and 95% interval of the mean.

        Parameters
        ----------
        block : int
            Epochs a block; an incomplete last block is left out.

        Returns
        -------
        mean, low, high : ndarray, shape (T // block,)
        """
        return band(_blocks(self.expected, block))

    def regret_curve(self, block: int) -> tuple[Floats, Floats, Floats]:
        """Cumulative reward lost to the index policy at the end of each block, as `curve`."""
        lost = _blocks(self.reference - self.expected, block) * block
        return band(lost.cumsum(axis=1))

    def steps_to(self, fraction: float, window: int = 100) -> Floats:
        """Epochs before a learner earns a fraction of the index policy's long-run reward.

        Parameters
        ----------
        fraction : float
            In (0, 1].
        window : int
            Epochs over which reward is averaged; it should cover the policy's cycle.

        Returns
        -------
        ndarray, shape (R,)
            Start of the first window whose average reaches `fraction` times the index policy's
            average over the second half of the horizon; ``inf`` where there is none.
        """
        check_number("fraction", fraction, 0, 1, low_open=True)
        check_integer("window", window, 1, self.reference.size)
        goal = fraction * self.reference[self.reference.size // 2 :].mean()
        sums = np.cumsum(np.pad(self.expected, ((0, 0), (1, 0))), axis=1)
        average = (sums[:, window:] - sums[:, :-window]) / window
        reached = average >= goal
        steps = np.where(reached.any(axis=1), reached.argmax(axis=1), np.inf)
        return np.asarray(steps)


def compare_learners(
    sources: Sources,
    learners: Mapping[str, Factory],
    budget: int,
    *,
    horizon: int,
    replications: int,
    seed: int,
    utility: Utility | None = None,
    jobs: int | None = 1,
    progress: bool | str = False,
) -> dict[str, LearningCurves]:
    """Let several learners meet the same arrivals.

    Parameters
    ----------
    sources : Sources
        N sources.
    learners : mapping of str to callable
        Name, and what makes a fresh learner; importable functions or `functools.partial`, so that
        they reach other processes.
    budget : int
        Arms crawled at each epoch.
    horizon : int
        Epochs, at least 2.
    replications : int
        Streams of arrivals, at least 2.
    seed : int
        Root of all streams.
    utility : Utility, optional
        Law of an item's utility; without one, content is what it is on average, (2) and (3) of the
        2019 paper.
    jobs, progress
        As in `analysis.sweep.sweep`.

    Returns
    -------
    dict of str to LearningCurves
    """
    check_kind("sources", sources, Sources)
    check_kind("learners", learners, Mapping)
    check_kind("utility", utility, Utility, None)
    check_integer("horizon", horizon, 2)
    check_integer("replications", replications, 2)
    check_integer("budget", budget, 1, len(sources))
    point = (sources, dict(learners), budget, horizon, utility)
    played = sweep(
        _replication, [point], seed=seed, replications=replications, jobs=jobs, progress=progress
    )[0]
    reference = simulate(sources, "whittle", budget, horizon, initial_state="fresh").reward
    return {name: _gather([runs[name] for runs in played], reference) for name in learners}


def median_interval(values: Floats, level: float = 0.95) -> tuple[float, float, float]:
    """Median with an interval between order statistics, which no distribution is needed for.

    Parameters
    ----------
    values : array_like
        One number a replication; ``inf`` stands for "not within the horizon".
    level : float
        Least coverage, in (0, 1).

    Returns
    -------
    median, low, high : float
    """
    check_number("level", level, 0, 1, low_open=True, high_open=True)
    try:
        ordered = np.sort(np.asarray(values, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        ordered = np.empty(0)
    if ordered.size < 2 or np.isnan(ordered).any():
        raise ValueError(f"values must hold at least two numbers and no nan, got {values!r}")
    below = max(int(binom.ppf((1 - level) / 2, ordered.size, 0.5)) - 1, 0)
    middle = ordered[[(ordered.size - 1) // 2, ordered.size // 2]]
    return float(middle.mean()), float(ordered[below]), float(ordered[-1 - below])


def band(values: Floats, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Mean over the first axis and Student's interval, entry by entry.

    Parameters
    ----------
    values : ndarray, shape (R, ...)
        At least two replications.
    level : float
        Coverage, in (0, 1).

    Returns
    -------
    mean, low, high : ndarray, shape (...)
    """
    sample = check_array("values", values)
    check_number("level", level, 0, 1, low_open=True, high_open=True)
    if sample.ndim == 0 or sample.shape[0] < 2:
        raise ValueError(
            f"values must hold at least two replications on their first axis, got {sample.shape}"
        )
    half = student.ppf((1 + level) / 2, sample.shape[0] - 1) * sample.std(axis=0, ddof=1)
    half = half / np.sqrt(sample.shape[0])
    mean = sample.mean(axis=0)
    return mean, mean - half, mean + half


def _replication(point: Any, rng: np.random.Generator) -> dict[str, Run]:
    """Draw one stream of arrivals and let every learner meet it."""
    sources, learners, budget, horizon, utility = point
    arrivals, *own = rng.spawn(1 + len(learners))
    if utility is None:
        content = mean_content(sources, horizon)
    else:
        content = Arrivals(sources, utility).sample(horizon, arrivals)
    return {
        name: make().play(sources, content, budget, stream)
        for (name, make), stream in zip(learners.items(), own, strict=True)
    }


def _gather(runs: list[Run], reference: Floats) -> LearningCurves:
    whole = [run for run in runs if run.diverged_at is None]
    size = runs[0].crawls.size
    return LearningCurves(
        np.array([run.expected for run in whole]).reshape(-1, reference.size),
        np.array([run.reward.mean() for run in whole]),
        np.array([run.engaged for run in whole]).reshape(-1, reference.size),
        np.array([run.crawls for run in whole]).reshape(-1, size),
        tuple((r, run.diverged_at) for r, run in enumerate(runs) if run.diverged_at is not None),
        reference,
    )


def _blocks(values: Floats, block: int) -> Floats:
    check_integer("block", block, 1, values.shape[1])
    count = values.shape[1] // block
    return values[:, : count * block].reshape(values.shape[0], count, block).mean(axis=2)
