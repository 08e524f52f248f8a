"""Learners side by side: the same arrivals for all, curves, regret and steps, with intervals.

Replication r draws its arrivals once; every learner runs on them from the same start, with a stream
of its own for what it draws. What is compared is the expected reward given the ages
(`Run.expected`), which has the mean of what was found and none of the noise of the arrivals. The
measure is the index policy that knows the sources, started alike: it ignores what it finds, so its
expected rewards are one fixed sequence.

A run that diverged (`scheme.lspe` has the rule) is listed with its epoch and takes no
part in any average.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_integer, check_kind, check_number, check_whole, shown
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.policies import WhittlePolicy
from analysis.ephemeral.simulation import play_ages
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import Learner, Run, mean_content, play
from analysis.learning.loop import CompiledLearner
from analysis.results import Estimate, student_band
from analysis.sweep import sweep

Factory = Callable[[], Learner]


@brief
@read_only_arrays
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
    def average_reward(self) -> float:
        """Expected reward per epoch, the mean over replications."""
        return float(self.expected.mean())

    @property
    def loss(self) -> Estimate:
        """Share of the index policy's reward that was lost, with its 95% interval."""
        return Estimate.of(1.0 - self.expected.sum(axis=1) / self.reference.sum())

    @property
    def regret(self) -> Estimate:
        """Reward lost to the index policy over all epochs, with its 95% interval."""
        return Estimate.of(self.reference.sum() - self.expected.sum(axis=1))

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
        return student_band(_blocks(self.expected, block))

    def regret_curve(self, block: int) -> tuple[Floats, Floats, Floats]:
        """Cumulative reward lost to the index policy at the end of each block, as `curve`."""
        lost = _blocks(self.reference - self.expected, block) * block
        return student_band(lost.cumsum(axis=1))

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
        fraction = check_number("fraction", fraction, 0, 1, low_open=True)
        window = check_integer("window", window, 1, self.reference.size)
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
    """Run several learners on the same arrivals.

    Parameters
    ----------
    sources : Sources
        N sources.
    learners : mapping of str to callable
        Name, and a factory of a fresh learner, any `Learner`; importable functions or
        `functools.partial`, so that they reach other processes.
    budget : int or whole float
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

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import AgeBlindUcb
    >>> made = {"age-blind": lambda: AgeBlindUcb(4)}
    >>> found = compare_learners(four_sources(), made, 1, horizon=100, replications=2, seed=1)
    >>> found["age-blind"].expected.shape
    (2, 100)
    """
    check_kind("learners", learners, Mapping)
    budget = check_whole("budget", budget, 1)
    return compare_at_budgets(
        sources,
        {budget: learners},
        horizon=horizon,
        replications=replications,
        seed=seed,
        utility=utility,
        jobs=jobs,
        progress=progress,
    )[budget]


def compare_at_budgets(
    sources: Sources,
    learners: Mapping[int, Mapping[str, Factory]],
    *,
    horizon: int,
    replications: int,
    seed: int,
    utility: Utility | None = None,
    jobs: int | None = 1,
    progress: bool | str = False,
) -> dict[int, dict[str, LearningCurves]]:
    """Run learners on the same arrivals at several budgets; each stream is drawn once.

    `learners` maps budgets to mappings as `compare_learners` takes them; the other arguments, and
    the result at each budget, are those of `compare_learners`.
    """
    check_kind("sources", sources, Sources)
    check_kind("learners", learners, Mapping)
    check_kind("utility", utility, Utility, None)
    horizon = check_integer("horizon", horizon, 2)
    replications = check_integer("replications", replications, 2)
    checked = {}
    for budget, factories in learners.items():
        check_kind("learners", factories, Mapping)
        for name, make in factories.items():
            if not callable(make):
                raise ValueError(f"learners must be factories, got {shown(make)} as {name!r}")
        checked[check_whole("budget", budget, 1, len(sources))] = dict(factories)
    point = (sources, checked, horizon, utility)
    played = sweep(
        _replication, [point], seed=seed, replications=replications, jobs=jobs, progress=progress
    )[0]
    compared = {}
    for budget, factories in checked.items():
        reference = index_rewards(sources, budget, horizon)
        compared[budget] = {
            name: _gather([runs[budget][name] for runs in played], reference) for name in factories
        }
    return compared


def index_rewards(sources: Sources, budget: int, horizon: int) -> Floats:
    """Return the index policy's expected reward at each epoch, shape (T,), from ages 1.

    The policy goes by ages, so that its rewards repeat as soon as the ages do; ages at which a
    source holds u* to machine precision count as one.
    """
    check_kind("sources", sources, Sources)
    budget = check_whole("budget", budget, 1, len(sources))
    horizon = check_integer("horizon", horizon, 1)
    steps, first = play_ages(
        sources, WhittlePolicy(sources), budget, np.ones(len(sources), int), horizon
    )
    rewards = np.array([reward for _, reward in steps])
    cycle = rewards[first:]
    return np.concatenate([rewards, np.resize(cycle, horizon - len(rewards))])


def _replication(point: Any, rng: np.random.Generator) -> dict[int, dict[str, Run]]:
    """Draw one stream of arrivals and run every learner on it, at every budget."""
    sources, learners, horizon, utility = point
    arrivals, *own = rng.spawn(1 + max(map(len, learners.values())))
    if utility is None:
        content = mean_content(sources, horizon)
    else:
        content = Arrivals(sources, utility).sample(horizon, arrivals)
    return {
        budget: {
            name: _run(make(), sources, content, budget, deepcopy(stream))
            for (name, make), stream in zip(factories.items(), own, strict=False)
        }
        for budget, factories in learners.items()
    }


def _run(
    learner: Learner, sources: Sources, content: Floats, budget: int, rng: np.random.Generator
) -> Run:
    """Run what a factory made: compiled if it can be, else epoch by epoch."""
    check_kind("learners", learner, Learner)
    learner = deepcopy(learner)  # a factory may return the same object at each call
    if isinstance(learner, CompiledLearner):
        return learner.play(sources, content, budget, rng)
    return play(sources, learner, content, budget, rng)


def _gather(runs: list[Run], reference: Floats) -> LearningCurves:
    finished = [run for run in runs if run.diverged_at is None]
    size = runs[0].crawls.size
    return LearningCurves(
        np.array([run.expected for run in finished]).reshape(-1, reference.size),
        np.array([run.reward.mean() for run in finished]),
        np.array([run.engaged for run in finished]).reshape(-1, reference.size),
        np.array([run.crawls for run in finished]).reshape(-1, size),
        tuple((r, run.diverged_at) for r, run in enumerate(runs) if run.diverged_at is not None),
        reference,
    )


def _blocks(values: Floats, block: int) -> Floats:
    block = check_integer("block", block, 1, values.shape[1])
    count = values.shape[1] // block
    return values[:, : count * block].reshape(values.shape[0], count, block).mean(axis=2)
