"""Runs of the scheme from given thresholds, and the policies that they end with.

Content is what it is on average, (2) and (3) of the 2019 paper, so that runs differ by the draws of
the scheme alone; replication r draws from the same stream under all options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats, read_only_arrays
from analysis.checks import check_array, check_integer, check_kind, check_whole
from analysis.display import brief
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import mean_content
from analysis.learning.scheme.lspe import GreedyThresholdPolicy, Lspe, LspeOptions
from analysis.results import Estimate


@brief
@read_only_arrays
@dataclass(frozen=True)
class Learned:
    """What runs of the scheme earned and where they ended; diverged runs are only counted.

    Attributes
    ----------
    expected : ndarray, shape (R, T)
        Reward at each epoch of the runs that did not diverge.
    engaged : ndarray, shape (R, T)
        Sources crawled at each epoch.
    q : ndarray, shape (R, N, 3)
        Threshold coefficients at the end, in scaled content.
    diverged : tuple of (int, int)
        Replication and epoch of each run that diverged.
    """

    expected: Floats
    engaged: Floats
    q: Floats
    diverged: tuple[tuple[int, int], ...]

    def late_rewards(self, share: float = 0.2) -> Floats:
        """Reward per epoch of each run over the last `share` of its epochs, shape (R,)."""
        first = int(self.expected.shape[1] * (1 - share))
        return np.asarray(self.expected[:, first:].mean(axis=1))

    def late(self, share: float = 0.2) -> Estimate:
        """Reward per epoch over the last `share` of a run, from at least two runs."""
        return Estimate.of(self.late_rewards(share))

    def greedy_rewards(self, sources: Sources, options: LspeOptions, budget: int) -> Floats:
        """Long-run reward of the learned thresholds without any draws; shape (R,)."""
        policies = [GreedyThresholdPolicy(sources, q, options) for q in self.q]
        return np.array([long_run(sources, p, budget).average_reward for p in policies])


def learned(
    sources: Sources,
    options: LspeOptions,
    budget: int,
    *,
    horizon: int,
    replications: int,
    seed: int,
    initial_thresholds: Floats | None = None,
) -> Learned:
    """Let the scheme run on mean content, so many times.

    Parameters
    ----------
    sources : Sources
        N sources.
    options : LspeOptions
        Which reading.
    budget : int or whole float
        Arms crawled at each epoch.
    horizon, replications, seed : int
        Epochs, at least 5; runs, at least 2; root of their draws.
    initial_thresholds : ndarray, shape (N,), optional
        T_i at the first epoch, in units of content; 0 by default.

    Returns
    -------
    Learned

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> options = LspeOptions.corrected()
    >>> runs = learned(four_sources(), options, 1, horizon=500, replications=3, seed=1)
    >>> runs.late().replications
    3
    """
    check_kind("sources", sources, Sources)
    check_kind("options", options, LspeOptions)
    horizon = check_integer("horizon", horizon, 5)
    replications = check_integer("replications", replications, 2)
    seed = check_integer("seed", seed, 0, math.inf)
    budget = check_whole("budget", budget, 1, len(sources))
    unit = sources.u_star.max() if options.scale is None else options.scale
    first = initial_thresholds
    if first is not None:
        first = check_array("initial_thresholds", first) / unit
    if first is not None and first.shape != (len(sources),):
        raise ValueError(f"initial_thresholds must have shape ({len(sources)},), got {first.shape}")
    content = mean_content(sources, horizon)
    runs, ends, diverged = [], [], []
    for number, rng in enumerate(np.random.default_rng(seed).spawn(replications)):
        learner = Lspe(sources, options, first)
        run = learner.play(sources, content, budget, rng)
        if run.diverged_at is None:
            runs.append(run)
            ends.append(learner.q)
        else:
            diverged.append((number, run.diverged_at))
    return Learned(
        np.array([run.expected for run in runs]).reshape(-1, horizon),
        np.array([run.engaged for run in runs]).reshape(-1, horizon),
        np.array(ends).reshape(-1, len(sources), 3),
        tuple(diverged),
    )
