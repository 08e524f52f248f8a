"""The environment of learners: hidden states, rewards of crawled arms only, shared arrivals.

A learner runs in `analysis.ephemeral.Environment` with no source observed: it observes every age
and, afterwards, the content of the arms that it crawled. All arms start at age 1 with content u_i
or, as an option of `play`, empty. Arrivals are drawn before any learner runs and are common to all
(`Arrivals.sample`), which reduces the variance of differences between learners; with
`mean_content` instead the model is the deterministic one, (2) and (3) of the 2019 paper.

*Items.* An item that appeared s epochs ago with utility xi is worth v = xi e^{-mu s} now. A crawl
at age k finds items of expected worth u* mu e^{-mu s} ds at ages s in (0, k). All that the
estimates of `analysis.learning.certainty_equivalence` use of them are two sums over a crawl ::

    R = sum v,      A = sum v s.

R alone has mean u* (1 - e^{-mu k}), which leaves a curve of pairs (u*, mu) when all crawls have
the same age k. E A / E R does not depend on u*, and falls strictly from k/2 to 0 as mu grows, so
that items seen at any one age tell of both. Over one epoch that brings the sums U and B ::

    R <- alpha R + U,      A <- alpha (A + R) + B.

`play` is the definition. `analysis.learning.loop` is the same loop compiled, with the same rewards
on the same arrivals.

Reference: Avrachenkov and Borkar, A learning algorithm for the Whittle index policy for scheduling
web crawlers (2019), section II.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    Rng,
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_rng,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.arrivals import Arrivals
from analysis.ephemeral.kernels import one_minus_short_exp
from analysis.ephemeral.policies import Observation, Policy, select_arms
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import Environment
from analysis.kernel_cache import njit

compiled = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
"""Compiles a step of a learner, without the second entry for C, which takes long to compile."""


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class ItemSums:
    """Sums over items that are seen one by one: of their worth, and of worth times age.

    Parameters
    ----------
    worth : array_like
        Sum of present worths, at least 0: an entry a crawled arm, or (N, T) for what each epoch
        brings.
    aged : array_like
        Sum of present worth times age in epochs, of the same shape; 0 where the worth is 0.

    Raises
    ------
    ValueError
        If an entry is negative or not finite, the shapes differ, or nothing has an age.

    Examples
    --------
    >>> ItemSums([2.0, 0.0], [3.0, 0.0]).aged.tolist()
    [3.0, 0.0]
    """

    worth: Floats
    aged: Floats

    def __post_init__(self) -> None:
        worth, aged = check_array("worth", self.worth, 0), check_array("aged", self.aged, 0)
        if worth.shape != aged.shape:
            raise ValueError(f"aged must have shape {worth.shape} as worth, got {aged.shape}")
        if (aged[worth == 0] > 0).any():
            raise ValueError("aged must be 0 where worth is 0")
        set_fields(self, worth=worth, aged=aged)

    @classmethod
    def of(cls, worth: Sequence[ArrayLike], age: Sequence[ArrayLike]) -> ItemSums:
        """Sum over the items of each crawled arm.

        Parameters
        ----------
        worth, age : sequence of array_like
            For each arm, the present worth of every item found and its age in epochs, both at
            least 0.

        Returns
        -------
        ItemSums

        Examples
        --------
        >>> ItemSums.of([[1.0, 2.0], []], [[0.5, 3.0], []]).aged.tolist()
        [6.5, 0.0]
        """
        if len(worth) != len(age):
            raise ValueError(
                f"age must have an entry for each of {len(worth)} arms, got {len(age)}"
            )
        sums = []
        for i, (worths_of_arm, ages_of_arm) in enumerate(zip(worth, age, strict=True)):
            v, s = (
                check_array(f"worth[{i}]", worths_of_arm, 0),
                check_array(f"age[{i}]", ages_of_arm, 0),
            )
            if v.ndim != 1 or v.shape != s.shape:
                raise ValueError(
                    f"age[{i}] must have an entry for each of {v.size} items, got {s.size}"
                )
            sums.append((v.sum(), v @ s))
        worths, ageds = np.array(sums).reshape(-1, 2).T
        return cls(worths, ageds)


@runtime_checkable
class Learner(Protocol):
    """A policy that also learns from what it crawled.

    A learner with an attribute `keeps_budget` that is false may crawl more arms than the budget.
    """

    def select(self, observation: Observation, budget: int, rng: np.random.Generator) -> Ints:
        """Return the numbers of at most `budget` different arms to crawl, as a `Policy` does."""

    def update(self, arms: Ints, rewards: Any) -> None:
        """Learn from the content found at the arms that were crawled.

        A learner with an attribute `sees_items` that is true gets `ItemSums` where items are seen.
        """


@brief
@read_only_arrays
@dataclass(frozen=True)
class Run:
    """What a learner earned on one stream of arrivals.

    Attributes
    ----------
    reward : ndarray, shape (T,)
        Content collected at each epoch.
    expected : ndarray, shape (T,)
        Its conditional mean given the ages, sum of u*(1 - alpha^age): the same reward with the
        noise of the arrivals taken out.
    engaged : ndarray of int, shape (T,)
        Arms crawled at each epoch.
    crawls : ndarray of int, shape (N,)
        Crawls of each arm in all.
    diverged_at : int or None
        Epoch at which the learner's numbers left their range (see `scheme.lspe`). All
        arrays are cut there: what a diverged run would earn is not defined.
    """

    reward: Floats
    expected: Floats
    engaged: Ints
    crawls: Ints
    diverged_at: int | None = None


@dataclass(frozen=True)
class Fixed:
    """A policy that has nothing to learn, as a learner.

    Parameters
    ----------
    policy : Policy
        What chooses.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import WhittlePolicy, four_sources
    >>> from analysis.learning import Fixed, mean_content, play
    >>> sources = four_sources()
    >>> learner = Fixed(WhittlePolicy(sources))
    >>> run = play(sources, learner, mean_content(sources, 100), 1, np.random.default_rng(0))
    >>> int(run.engaged.sum())
    100
    """

    policy: Policy

    def __post_init__(self) -> None:
        check_kind("policy", self.policy, Policy)

    def select(self, observation: Observation, budget: int, rng: np.random.Generator) -> Ints:
        """Return what the policy chooses."""
        return self.policy.select(observation, budget, rng)

    def update(self, arms: Ints, rewards: Floats) -> None:
        """Do nothing."""


def mean_content(sources: Sources, horizon: int) -> Floats:
    """Contents of the deterministic scheme: u_i at every epoch.

    Parameters
    ----------
    sources : Sources
        N sources.
    horizon : int
        Number of epochs T.

    Returns
    -------
    ndarray, shape (N, T)
        As `Arrivals.sample` gives it.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> mean_content(four_sources(), 3).shape
    (4, 3)
    """
    check_kind("sources", sources, Sources)
    return np.repeat(sources.u[:, None], check_integer("horizon", horizon, 1), axis=1)


def sample_items(arrivals: Arrivals, epochs: int, rng: Rng) -> ItemSums:
    """Draw what each epoch brings, item by item.

    Parameters
    ----------
    arrivals : Arrivals
        N sources and the laws of their items.
    epochs : int
        Number of epochs T.
    rng : numpy.random.Generator or seed
        Source of randomness.

    Returns
    -------
    ItemSums
        Of shape (N, T), worth and age at the end of the epoch: for `play`.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Arrivals, four_sources
    >>> sample_items(Arrivals(four_sources()), 3, np.random.default_rng(0)).worth.shape
    (4, 3)
    """
    rng = check_rng(rng)
    check_kind("arrivals", arrivals, Arrivals)
    return ItemSums(*arrivals.sample_aged(epochs, rng))


def mean_items(sources: Sources, horizon: int) -> ItemSums:
    """Return the means of what each epoch brings: the deterministic scheme, items seen.

    Parameters
    ----------
    sources : Sources
        N sources.
    horizon : int
        Number of epochs T.

    Returns
    -------
    ItemSums
        Of shape (N, T): u_i, and u_i* times the integral of mu s e^{-mu s} over one epoch.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> mean_items(four_sources(), 3).aged.shape
    (4, 3)
    """
    check_kind("sources", sources, Sources)
    horizon = check_integer("horizon", horizon, 1)
    once = np.ones(horizon)
    return ItemSums(np.outer(sources.u, once), np.outer(mean_aged(sources), once))


def mean_aged(sources: Sources) -> Floats:
    """Return the mean of worth times age that one epoch brings, shape (N,)."""
    share = np.array([one_minus_short_exp(z) / z for z in sources.decay])
    return np.asarray(sources.u_star * share)


def play(
    sources: Sources,
    learner: Learner,
    content: Floats | ItemSums,
    budget: int,
    rng: Rng,
    *,
    initial_state: str = "fresh",
) -> Run:
    """Run a learner on a stream of arrivals, one epoch at a time.

    Parameters
    ----------
    sources : Sources
        N sources.
    learner : Learner
        Sees ages before it chooses, and the content of what it chose after.
    content : ndarray or ItemSums, shape (N, T)
        What each epoch brings, from `Arrivals.sample` or `mean_content`; or, where items are seen,
        from `sample_items` or `mean_items`. A learner without `sees_items` gets sums alone.
    budget : int or whole float
        Arms that may be crawled at each epoch.
    rng : numpy.random.Generator or seed
        For learners that draw.
    initial_state : {"fresh", "empty"}
        Content u_i at age 1, or none at age 0. With "fresh" every first crawl finds
        content, so that no source seems silent.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If the content has another shape, the budget is not in [1, N], or the start is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import CertaintyEquivalence, mean_content
    >>> four = four_sources()
    >>> learner = CertaintyEquivalence(4)
    >>> run = play(four, learner, mean_content(four, 200), 1, np.random.default_rng(0))
    >>> bool(run.reward[100:].mean() > 200)
    True
    """
    check_kind("sources", sources, Sources)
    check_kind("learner", learner, Learner)
    rng = check_rng(rng)
    budget = check_whole("budget", budget, 1, len(sources))
    check_choice("initial_state", initial_state, ("fresh", "empty"))
    worth = content.worth if isinstance(content, ItemSums) else content
    environment = Environment(sources, worth, observed=False, initial_state=initial_state)
    items = isinstance(content, ItemSums) and getattr(learner, "sees_items", False)
    most = budget if getattr(learner, "keeps_budget", True) else len(sources)
    aged = mean_aged(sources) * (initial_state == "fresh")
    reward, expected = np.zeros(environment.horizon), np.zeros(environment.horizon)
    engaged = np.zeros(environment.horizon, dtype=np.int64)
    crawls = np.zeros(len(sources), dtype=np.int64)
    for epoch in range(environment.horizon):
        age, held = environment.observation.age, environment.state
        arms = select_arms(
            learner,  # type: ignore[arg-type]  # a learner is given a generator, never None
            environment.observation,
            budget,
            rng,
            most=most,
            role="learner",
        )
        older = aged[arms]
        content_found = environment.step(arms)
        held[arms], aged[arms] = 0.0, 0.0
        if isinstance(content, ItemSums):
            aged = sources.alpha * (aged + held) + content.aged[:, epoch]
        reward[epoch] = content_found.sum()
        expected[epoch] = sources.state_at_age(age)[arms].sum()
        engaged[epoch] = len(arms)
        crawls[arms] += 1
        learner.update(
            arms, ItemSums(content_found, older) if items else content_found
        )  # both are its own now
    return Run(reward, expected, engaged, crawls)
