"""Deterministic simulation of crawled sources, and the cycle that it ends in.

The expected content follows (2) and (3) of the report. A source that has been crawled once is known
by its age, an integer, so that a run repeats itself exactly: `long_run_cycle` finds the period, and
averages over one period are long-run values without any transient.

Reference: Avrachenkov and Borkar, Inria research report 8702 (2015), sections 2 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Ints, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_integers,
    check_kind,
    check_rng,
    check_whole,
)
from analysis.display import brief
from analysis.ephemeral.policies import Observation, Policy, named_policy, select_arms
from analysis.ephemeral.sources import Sources
from analysis.results import NotConverged

State = TypeVar("State")
Output = TypeVar("Output")

INITIAL_STATES = ("empty", "fresh", "full")
OLDEST = 2**62
"""Ages count no further: no run is so long, and one epoch more is an integer still."""


@read_only_arrays
@dataclass(frozen=True)
class Trajectory:
    """One run of a policy.

    `state` is the content before the crawl, and `crawled` says which sources were crawled, both of
    shape (N, horizon); `reward`, shape (horizon,), is the content collected at each epoch.
    """

    state: NDArray[np.float64]
    crawled: NDArray[np.bool_]
    reward: NDArray[np.float64]

    def __repr__(self) -> str:
        arms, horizon = self.state.shape
        return f"Trajectory(N={arms}, horizon={horizon}, average_reward={self.average_reward:.6g})"

    @property
    def average_reward(self) -> float:
        """Reward per epoch over the whole run."""
        return float(self.reward.mean())


@brief
@read_only_arrays
@dataclass(frozen=True)
class Cycle:
    """The cycle of crawls that a deterministic run repeats for ever.

    Attributes
    ----------
    start : int
        First epoch of the cycle.
    crawls : tuple of tuple of int
        Sources crawled at each epoch of one period, numbered from 0.
    frequency : ndarray, shape (N,)
        Crawls per epoch of each source.
    average_reward : float
        Reward per epoch over one period: the exact long-run value.
    repeats : bool
        False for the second half of a run in which no ages came twice, as `long_run` returns it:
        its frequencies and reward are averages over that half.
    """

    start: int
    crawls: tuple[tuple[int, ...], ...]
    frequency: NDArray[np.float64]
    average_reward: float
    repeats: bool = True

    @property
    def period(self) -> int:
        """Length of the cycle in epochs."""
        return len(self.crawls)

    def gaps(self, arm: int) -> tuple[int, ...]:
        """Return the epochs from each crawl of a source to its next, around the cycle."""
        times = [epoch for epoch, arms in enumerate(self.crawls) if arm in arms]
        following = [*times[1:], *(time + self.period for time in times[:1])]
        return tuple(later - time for time, later in zip(times, following, strict=True))


def initial_content(sources: Sources, initial_state: str | ArrayLike) -> NDArray[np.float64]:
    """Return the content of each source at epoch 0: 0, u or u* by name, or as given, shape (N,).

    ValueError if the name is unknown, an entry is negative, or the shape is wrong.
    """
    if isinstance(initial_state, str):
        check_choice("initial_state", initial_state, INITIAL_STATES)
        named = {"empty": np.zeros(len(sources)), "fresh": sources.u, "full": sources.u_star}
        return named[initial_state].copy()
    state = check_array("initial_state", initial_state, 0)
    if state.shape != (len(sources),):
        raise ValueError(f"initial_state must have shape ({len(sources)},), got {state.shape}")
    return state


def simulate(
    sources: Sources,
    policy: Policy | str,
    budget: int,
    horizon: int,
    *,
    initial_state: str | ArrayLike = "empty",
    rng: Rng = None,
) -> Trajectory:
    """Run a policy on the deterministic model, equations (2) and (3) of the report.

    Parameters
    ----------
    sources : Sources
        N sources.
    policy : Policy or str
        A policy, which observes every state, or its name in `policies.POLICIES`.
    budget : int or whole float
        Sources crawled at each epoch, from 1 to N.
    horizon : int
        Number of epochs, at least 1.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0. The age of a source counts from epoch 0 (from 1 if "fresh").
    rng : numpy.random.Generator or seed, optional
        Handed to the policy, for policies that draw.

    Returns
    -------
    Trajectory

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> run = simulate(four_sources(), 'whittle', budget=1, horizon=100)
    >>> round(run.average_reward, 2)
    256.98
    """
    check_kind("sources", sources, Sources)
    rng = None if rng is None else check_rng(rng)
    check_kind("policy", policy, str, Policy)
    budget = check_whole("budget", budget, 1, len(sources))
    horizon = check_integer("horizon", horizon, 1)
    chooser = named_policy(policy, sources) if isinstance(policy, str) else policy
    state = initial_content(sources, initial_state)
    age = np.full(len(sources), int(isinstance(initial_state, str) and initial_state == "fresh"))
    states = np.empty((len(sources), horizon))
    crawled = np.zeros((len(sources), horizon), dtype=bool)
    for epoch in range(horizon):
        states[:, epoch] = state
        observation = Observation(epoch, age.copy(), state.copy())
        arms = select_arms(chooser, observation, budget, rng)
        crawled[arms, epoch] = True
        state = sources.alpha * np.where(crawled[:, epoch], 0.0, state) + sources.u
        age = np.where(crawled[:, epoch], 1, age + 1)
    return Trajectory(states, crawled, np.where(crawled, states, 0.0).sum(axis=0))


def long_run_cycle(
    sources: Sources,
    policy: Policy | str,
    budget: int,
    *,
    initial_age: ArrayLike | None = None,
    max_epochs: int = 100_000,
) -> Cycle:
    """Find the cycle that a policy settles in, by exact integer ages.

    The policy must depend on ages alone: content is hidden from it, and the number of the epoch is
    always 0. Ages from 2 on at which a source holds its limit u* to machine precision count as one.
    From other ages a policy may settle in another cycle, which earns another reward.

    Parameters
    ----------
    sources : Sources
        N sources.
    policy : Policy or str
        A policy or the name of a built-in one.
    budget : int or whole float
        Sources crawled at each epoch, from 1 to N.
    initial_age : array_like of int, shape (N,), optional
        Epochs since the last crawl at the start, at least 0; by default all 0, empty sources.
    max_epochs : int
        Largest number of epochs simulated.

    Returns
    -------
    Cycle

    Raises
    ------
    ValueError
        If the budget is out of range, or an age is no whole number of at least 0.
    NotConverged
        If no cycle shows within `max_epochs`.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> cycle = long_run_cycle(four_sources(), 'whittle', 1)
    >>> round(cycle.average_reward, 2)
    260.39
    """
    cycle = long_run(sources, policy, budget, initial_age=initial_age, max_epochs=max_epochs)
    if not cycle.repeats:
        slowest = float(sources.decay.min())
        raise NotConverged(
            f"no ages came twice within max_epochs = {max_epochs} epochs (the slowest source keeps "
            f"exp(-{slowest:.3g}) of its content in one); raise max_epochs, take a longer period "
            "or faster decay, or average over a run of `simulate`"
        )
    return cycle


def long_run(
    sources: Sources,
    policy: Policy | str,
    budget: int,
    *,
    initial_age: ArrayLike | None = None,
    max_epochs: int = 100_000,
) -> Cycle:
    """Return the cycle of `long_run_cycle`; where none shows, the second half of the run.

    Sources that are alike in decay may pass through billions of ages before any come twice, while
    averages over a long run change no more. `repeats` tells the two apart.
    """
    check_kind("sources", sources, Sources)
    check_kind("policy", policy, str, Policy)
    budget = check_whole("budget", budget, 1, len(sources))
    max_epochs = check_integer("max_epochs", max_epochs, 1)
    chooser = named_policy(policy, sources) if isinstance(policy, str) else policy
    start = _ages(sources, np.zeros(len(sources), int) if initial_age is None else initial_age)
    steps, first = play_ages(sources, chooser, budget, start, max_epochs)
    begin = max_epochs // 2 if first is None else first
    crawls = tuple(tuple(arms.tolist()) for arms, _ in steps[begin:])
    counts = np.bincount(np.concatenate(crawls).astype(np.intp), minlength=len(sources))
    mean = float(np.mean([reward for _, reward in steps[begin:]]))
    return Cycle(begin, crawls, counts / len(crawls), mean, first is not None)


def _ages(sources: Sources, initial_age: ArrayLike) -> Ints:
    """Return checked ages at the start; ValueError names `initial_age`."""
    age = check_integers("initial_age", initial_age)
    if age.shape != (len(sources),):
        raise ValueError(f"initial_age must have shape ({len(sources)},), got {age.shape}")
    if age.min() < 0:
        i = int(age.argmin())
        raise ValueError(f"initial_age[{i}] must be at least 0, got {age[i]}")
    return age


def play_ages(
    sources: Sources, policy: Policy, budget: int, age: ArrayLike, horizon: int
) -> tuple[list[tuple[Ints, float]], int | None]:
    """Play a policy that goes by ages until the ages repeat, or for `horizon` epochs.

    Returns the sources crawled at each epoch, rising, and their expected content; and the epoch
    from which on they repeat, None if no ages came twice. Ages at which a source holds u* to
    machine precision count as one. The content itself is hidden: an index at an integer age cannot
    flip in its last digit.
    """
    # An age of 1 marks the sources crawled last: it must not be merged with others.
    oldest = np.clip(sources.settled_age, 2, OLDEST).astype(np.int64)
    hidden = np.full(len(sources), np.nan)

    def step(age: Ints) -> tuple[tuple[Ints, float], Ints]:
        observation = Observation(0, age.copy(), hidden.copy())
        arms = np.sort(select_arms(policy, observation, budget, None))
        reward = float(sources.state_at_age(age)[arms].sum())
        age = np.minimum(age + 1, oldest)
        age[arms] = 1
        return (arms, reward), age

    start = np.minimum(np.asarray(age, dtype=np.int64), oldest)
    return follow_to_cycle(step, start, horizon, key=np.ndarray.tobytes)


def follow_to_cycle(
    step: Callable[[State], tuple[Output, State]],
    state: State,
    horizon: int,
    *,
    key: Callable[[State], Hashable],
) -> tuple[list[Output], int | None]:
    """Follow a deterministic system for at most `horizon` steps, until a state recurs.

    `step` takes a state and returns an output and the next state. `key` returns a hashable key of a
    state; it is called before each step, which may change the state in place. Returns the outputs,
    and the step from which on they repeat, None if no state recurred.
    """
    first_steps: dict[Hashable, int] = {}
    outputs: list[Output] = []
    while (state_key := key(state)) not in first_steps and len(outputs) < horizon:
        first_steps[state_key] = len(outputs)
        output, state = step(state)
        outputs.append(output)
    return outputs, first_steps.get(state_key)
