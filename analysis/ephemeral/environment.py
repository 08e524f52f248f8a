"""Sources with random content, one decision at a time, for policies and learners.

The content follows (19) of the report; what each epoch brings is drawn beforehand, so that several
policies can face the same arrivals (common random numbers). Two refinements that the documents name
without working them out:

- a source is *observed*, so that the policy sees its content, or *unobserved*, so that it sees its
  age alone; the two can be mixed (report, section 7);
- content is dropped once it is M_i periods old (2019 paper, section 2), so that the expected
  content at age k is u*_i (1 - alpha_i^min(k, M_i)).
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Floats
from analysis.checks import (
    check_array,
    check_booleans,
    check_kind,
    check_selected,
    check_whole,
    shown,
)
from analysis.display import brief
from analysis.ephemeral.kernels import advance
from analysis.ephemeral.policies import Observation, Policy, select_arms
from analysis.ephemeral.simulation import Trajectory, initial_content
from analysis.ephemeral.sources import Sources


def check_lifetime(lifetime: ArrayLike, sources: Sources) -> Floats:
    """Return M_i in periods, one a source, ``inf`` for content that is never dropped.

    ValueError if one is below one period or not a whole number of periods.
    """
    periods = check_array("lifetime", lifetime, 1, finite=False)
    if (periods != np.floor(periods)).any():
        raise ValueError(
            f"lifetime must be whole numbers of periods, or inf, got {shown(lifetime)}"
        )
    if periods.shape not in {(), (len(sources),)}:
        raise ValueError(
            f"lifetime must be a number or have shape ({len(sources)},), got {periods.shape}"
        )
    return np.broadcast_to(periods, len(sources)).copy()


def check_observed(observed: ArrayLike, sources: Sources) -> NDArray[np.bool_]:
    """Return which sources are observed, one truth value a source; else ValueError."""
    truths = check_booleans("observed", observed)
    if truths.shape not in {(), (len(sources),)}:
        raise ValueError(
            f"observed must be True, False or {len(sources)} truth values, got {shown(observed)}"
        )
    return np.broadcast_to(truths, len(sources)).copy()


@brief
class Environment:
    """Sources of random content, stepped one epoch at a time.

    Parameters
    ----------
    sources : Sources
        N sources.
    content : array_like, shape (N, horizon)
        What each epoch brings, from `Arrivals.sample`; column t arrives between epochs t and t + 1.
    observed : bool or array_like of bool, shape (N,)
        Which sources show their content before a crawl.
    lifetime : float or array_like, shape (N,)
        M_i, in whole periods; older content is dropped. ``inf`` by default.
    initial_state : {"empty", "fresh", "full"} or array_like, shape (N,)
        Content at epoch 0, as in `simulate`. It counts as one period old.

    Attributes
    ----------
    epoch : int
        Number of the next decision, from 0 to the horizon.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Arrivals, Environment, four_sources
    >>> sources = four_sources()
    >>> environment = Environment(sources, Arrivals(sources).sample(3, np.random.default_rng(0)))
    >>> reward = environment.step([0])
    >>> environment.epoch, environment.observation.age.tolist()
    (1, [1, 1, 1, 1])
    """

    __copy__ = deepcopy  # no copy shares what a run changes in place

    def __init__(
        self,
        sources: Sources,
        content: ArrayLike,
        *,
        observed: ArrayLike = True,
        lifetime: ArrayLike = np.inf,
        initial_state: str | ArrayLike = "empty",
    ) -> None:
        check_kind("sources", sources, Sources)
        self.sources = sources
        arrived = check_array("content", content, 0)
        if arrived.ndim != 2 or arrived.shape[0] != len(sources):
            raise ValueError(
                f"content must have shape ({len(sources)}, horizon), got {arrived.shape}"
            )
        self._content = np.ascontiguousarray(arrived.T)
        self._observed = check_observed(observed, sources)
        self._lifetime = check_lifetime(lifetime, sources)
        fresh = isinstance(initial_state, str) and initial_state == "fresh"
        self._age = np.full(len(sources), int(fresh))
        self._state = initial_content(sources, initial_state)
        self._initial = self._state.copy()
        self._last_crawl = np.full(len(sources), -1)
        self.epoch = 0

    @property
    def horizon(self) -> int:
        """Number of epochs that can be played."""
        return len(self._content)

    @property
    def observation(self) -> Observation:
        """What the policy may see now: every age, and the content of observed sources."""
        state = np.where(self._observed, self._state, np.nan)
        return Observation(self.epoch, self._age.copy(), state)

    @property
    def state(self) -> Floats:
        """Content of every source now, whether observed or not."""
        return self._state.copy()

    def step(self, arms: ArrayLike) -> Floats:
        """Crawl some sources and move to the next epoch.

        Parameters
        ----------
        arms : array_like of int
            Numbers of the sources crawled, each at most once.

        Returns
        -------
        ndarray, shape (len(arms),)
            Content collected from each.

        Raises
        ------
        ValueError
            If the horizon is over, or a number is no source or comes twice; for a mask.
        """
        if self.epoch >= self.horizon:
            raise ValueError(f"arms must be chosen at most {self.horizon} times: no content left")
        size = len(self.sources)
        chosen = check_selected("arms", arms, size, size)
        rewards = self._state[chosen]
        crawled = np.zeros(size, dtype=bool)
        crawled[chosen] = True
        advance(
            self.epoch, crawled, self._content, self._initial, self._lifetime, self.sources.alpha,
            self._state, self._age, self._last_crawl,
        )  # fmt: skip
        self.epoch += 1
        return rewards


def random_trajectory(
    sources: Sources,
    policy: Policy,
    budget: int,
    content: ArrayLike,
    *,
    initial_state: str | ArrayLike = "empty",
) -> Trajectory:
    """Run a policy object on random content, all of it observed; return every state and crawl.

    Other arguments are those of `analysis.ephemeral.simulate_random`.
    """
    budget = check_whole("budget", budget, 1, len(sources))
    environment = Environment(sources, content, initial_state=initial_state)
    state = np.empty((len(sources), environment.horizon))
    crawled = np.zeros(state.shape, dtype=bool)
    reward = np.empty(environment.horizon)
    while (epoch := environment.epoch) < environment.horizon:
        state[:, epoch] = environment.state
        arms = select_arms(policy, environment.observation, budget, None)
        crawled[arms, epoch] = True
        reward[epoch] = environment.step(arms).sum()
    return Trajectory(state, crawled, reward)
