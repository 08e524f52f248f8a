"""The sources as an environment of Gymnasium, so that any of its learners can crawl them.

Needs the extra ``gym``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis import missing_extra
from analysis.arrays import Floats
from analysis.checks import check_integer, check_kind, check_whole, shown
from analysis.ephemeral.arrivals import Arrivals, Utility
from analysis.ephemeral.sources import Sources
from analysis.ephemeral.stochastic.simulation import Environment

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing_extra(error, "gym") from None


class SourcesEnv(gymnasium.Env):
    """Sources of random content: an action crawls some, the reward is the content collected.

    Observations are the ages of the N sources, epochs since the last crawl, and then, where
    contents are observed, the N contents. An action is the number of a source or, where the budget
    is larger, an array of that many numbers; a number that comes twice is one crawl. An episode is
    truncated after `horizon` epochs; each brings content of its own, drawn at `reset`.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : int
        Crawls per epoch, in [1, N].
    horizon : int
        Epochs of an episode; at least 1.
    utility : Utility, optional
        Law of the value of an item; exponential by default.
    observed : bool
        Whether contents are seen before a crawl.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    A learner of the mean reward of each source, in ten lines:

    >>> from analysis.ephemeral import four_sources
    >>> env = SourcesEnv(four_sources(), budget=1, horizon=200)
    >>> mean, tried, rng = np.zeros(4), np.zeros(4), np.random.default_rng(0)
    >>> _ = env.reset(seed=0)
    >>> over = False
    >>> while not over:
    ...     arm = rng.integers(4) if rng.random() < 0.1 else int(mean.argmax())
    ...     _, reward, _, over, _ = env.step(arm)
    ...     tried[arm] += 1
    ...     mean[arm] += (reward - mean[arm]) / tried[arm]
    >>> int(tried.sum())
    200
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        sources: Sources,
        budget: int = 1,
        *,
        horizon: int = 1000,
        utility: Utility | None = None,
        observed: bool = True,
    ) -> None:
        check_kind("sources", sources, Sources)
        size = len(sources)
        self.budget = check_whole("budget", budget, 1, size)
        self.horizon = check_integer("horizon", horizon, 1)
        check_kind("observed", observed, bool)
        self.observed = observed
        law = Utility("exponential") if utility is None else utility
        check_kind("utility", law, Utility)
        self.arrivals = Arrivals(sources, law)
        self.action_space = (
            gymnasium.spaces.Discrete(size)
            if self.budget == 1
            else gymnasium.spaces.MultiDiscrete([size] * self.budget)
        )
        high = np.full(size, float(self.horizon))  # no source is older than the episode
        if observed:
            # Contents have no bound; Gymnasium's checker warns of an infinite one.
            high = np.append(high, np.full(size, np.finfo(np.float64).max))
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(high), high, dtype=np.float64)
        self._environment: Environment | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begin an episode with new content; the same seed brings the same."""
        super().reset(seed=seed)
        content = self.arrivals.sample(self.horizon, self.np_random)
        self._environment = Environment(self.arrivals.sources, content)
        return self._observation(self._environment), {}

    def step(self, action: ArrayLike) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Crawl; return the observation, the reward, False, whether the episode is over, and {}."""
        environment = self._environment
        if environment is None or environment.epoch >= self.horizon:
            raise ValueError(f"action {shown(action)} needs an episode: call reset first")
        if not self.action_space.contains(action if self.budget == 1 else np.asarray(action)):
            raise ValueError(f"action must be one of {self.action_space}, got {shown(action)}")
        reward = float(environment.step(np.unique(action)).sum())
        over = environment.epoch >= self.horizon
        return self._observation(environment), reward, False, over, {}

    def _observation(self, environment: Environment) -> Floats:
        age = environment.observation.age.astype(np.float64)
        return np.concatenate([age, environment.state]) if self.observed else age
