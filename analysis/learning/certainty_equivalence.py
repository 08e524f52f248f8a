"""Certainty equivalence: estimate content rate and decay, then trust the closed-form index.

A crawl at age k finds content of mean u* (1 - e^{-mu k}) and of a variance nearly proportional to
it, phi times the mean. From the (age, content) pairs of one arm the quasi-likelihood is ::

    l(u*, mu) = sum_j r_j log(u* g_j) - u* g_j,     g_j = 1 - e^{-mu k_j}.

For given mu it is largest at u* = R / S(mu), R = sum r_j, S = sum g_j, which leaves the profile ::

    p(mu) = sum_j r_j log g_j(mu) - R log S(mu),

kept on a grid of mu by adding each pair to running sums, and refined by a parabola in log mu. The
dispersion phi is Pearson's chi-square over its degrees of freedom, pooled a little over the arms.
The crawled arms are those of largest index gamma(age; u*, mu), where (u*, mu) is ::

    forced      the estimate; an arm is crawled a few times at first, and again whenever three
                quarters of all epochs so far have passed since its last crawl
    ucb         what makes the index largest within l >= max l - phi c log(1 + t): given mu, the
                largest u* with u* S - R - R log(u* S/R) <= phi c log(1 + t) - (max p - p(mu))
    thompson    a draw: log mu normal around the estimate, or by its likelihood where that is
                flat; given mu, u* S/phi gamma of shape R/phi + 1/2, the posterior under Jeffreys'
                prior of a Poisson mean

Crawls at one age k tell of u* (1 - e^{-mu k}) alone. Where the index of a wrong pair (u*, mu) asks
for that age again, the pair is confirmed, and "ucb" and "forced" can keep it for as long as they
run: on ordinary sets of three sources they lose up to 3% of the index policy's reward for ever.
The draws of "thompson" move the ages, and its loss goes on falling.

All three crawl each arm again and again, also where nothing was found (R = 0). The bound of "ucb"
is the Poisson family's own (kl-UCB), which tends to u* <= slack/S as R falls to 0; Jeffreys'
posterior is proper there; and the crawls that "forced" asks for are of logarithmic number. An arm
without content says nothing of phi, the weight of one item: the larger of the pooled phi and of
what a crawl finds on average stands for it. Maximised over mu, such an index grows with the age in
proportion to the time watched, so that an arm that stays silent is tried at ages that grow
geometrically.

With a `memory` of H epochs all sums of an arm fade as e^{-epochs/H} and t is at most H, as in
discounted UCB, so that the estimates follow sources that change.

References: Garivier and Cappe, The KL-UCB algorithm for bounded stochastic bandits and beyond
(2011); Garivier and Moulines, On upper-confidence bound policies for switching bandit problems
(2011). This is the "adaptive version" that the report announces in its conclusion: only ages and
contents of crawled arms are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.checks import check_choice, check_integer, check_kind, check_number, set_fields
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.sources import Sources
from analysis.learning import _certainty_kernel as kernel
from analysis.learning.environment import Floats, Ints, Run, by_epoch, constant_run, largest

EXPLORATIONS = ("forced", "ucb", "thompson")
TABLED = 256
"""Ages at which g and the index stand in tables; at higher ages they are computed."""


@dataclass(frozen=True)
class CertaintyEquivalenceOptions:
    """How the learner explores, and where it looks for the decay.

    Parameters
    ----------
    exploration : {"ucb", "forced", "thompson"}
        See the module: "ucb" and "forced" can keep a wrong estimate for ever. "forced" needs a
        larger `forced` than the others.
    forced : int
        Crawls of each arm before its estimate is used, in pairs of one at a high age and one right
        after it; at least 2. A crawl at age 0 does not count.
    confidence : float
        c of "ucb"; positive.
    slowest, fastest : float
        Ends of the grid of mu, per epoch; 0 < slowest < fastest.
    points : int
        Points of the grid, equally spaced in log mu; at least 16.
    memory : float
        H, epochs after which a crawl counts e times less; positive, ``inf`` to forget nothing.
    """

    exploration: str = "ucb"
    forced: int = 2
    confidence: float = 0.5
    slowest: float = 1e-3
    fastest: float = 20.0
    points: int = 121
    memory: float = np.inf

    def __post_init__(self) -> None:
        check_choice("exploration", self.exploration, EXPLORATIONS)
        slowest = check_number("slowest", self.slowest, 0, low_open=True, high_open=True)
        fastest = check_number("fastest", self.fastest, 0, low_open=True, high_open=True)
        if slowest >= fastest:
            raise ValueError(f"slowest must be below fastest, got {slowest:g} and {fastest:g}")
        set_fields(
            self,
            forced=check_integer("forced", self.forced, 2),
            confidence=check_number(
                "confidence", self.confidence, 0, low_open=True, high_open=True
            ),
            slowest=slowest,
            fastest=fastest,
            points=check_integer("points", self.points, 16),
            memory=check_number("memory", self.memory, 0, low_open=True),
        )


class CertaintyEquivalence:
    """The learner.

    Parameters
    ----------
    arms : int
        N; nothing else is known of them.
    options : CertaintyEquivalenceOptions, optional
        How it explores.

    Attributes
    ----------
    u_star, decay : ndarray, shape (N,)
        Present estimates, ``nan`` before the first crawl at a positive age.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import mean_content, play
    >>> content = mean_content(four_sources(), 300)
    >>> run = play(four_sources(), CertaintyEquivalence(4), content, 1, np.random.default_rng(0))
    >>> bool(run.reward[200:].mean() > 250)
    True
    """

    def __init__(self, arms: int, options: CertaintyEquivalenceOptions | None = None) -> None:
        check_kind("options", options, CertaintyEquivalenceOptions, None)
        arms = check_integer("arms", arms, 1)
        self.options = options or CertaintyEquivalenceOptions()
        self._model = _model(self.options)
        grid = (arms, self.options.points)
        self._state = kernel.State(
            np.zeros(arms, dtype=np.int64),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(grid),
            np.zeros(arms, dtype=np.int64),
            np.full(arms, np.nan),
            np.full(arms, np.nan),
            np.full(arms, np.nan),
            np.zeros(arms),
            np.zeros(1, dtype=np.int64),
        )
        self._age = np.zeros(arms, dtype=np.int64)

    @property
    def u_star(self) -> Floats:
        """Estimates of u*, shape (N,)."""
        return self._state.u_star.copy()

    @property
    def decay(self) -> Floats:
        """Estimates of mu T, shape (N,)."""
        return np.exp(self._state.log_mu)

    def select(self, observation: Observation, budget: int, rng: np.random.Generator) -> Ints:
        """Return the `budget` arms of largest estimated, optimistic or drawn index."""
        self._age[:] = observation.age
        arms = np.empty(budget, dtype=np.int64)
        values = np.empty(self._age.size)
        kernel.priorities(self._model, self._state, self._age, rng, values, budget)
        largest(values, arms)
        return arms

    def update(self, arms: Ints, rewards: Floats) -> None:
        """Add one (age, content) pair for each crawled arm."""
        kernel.learn(
            self._model, self._state, np.asarray(arms), self._age[arms], np.asarray(rewards)
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that was learned, as arrays, for `restore`."""
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `state` returned, of as many arms and with the same options."""
        for name, array in self._state._asdict().items():
            array[...] = state[name]

    def play(self, sources: Sources, content: Floats, budget: int, rng: np.random.Generator) -> Run:
        """Meet a whole stream of arrivals, as `environment.play` does, in one compiled loop."""
        stream, budget = by_epoch(sources, content, budget)
        check_integer("the number of sources", len(sources), self._age.size, self._age.size)
        known = (sources.alpha, sources.decay, sources.u_star)
        played = kernel.play(self._model, self._state, *known, stream, budget, rng)
        return constant_run(played, budget)


@lru_cache(maxsize=16)
def _model(options: CertaintyEquivalenceOptions) -> kernel.Model:
    """Return the tables and constants of the compiled steps; learners share them."""
    log_mu = np.linspace(np.log(options.slowest), np.log(options.fastest), options.points)
    g = -np.expm1(-np.exp(log_mu) * np.arange(1, TABLED + 1)[:, None])
    return kernel.Model(
        log_mu,
        g,
        np.log(g),
        kernel.index_table(log_mu, TABLED),
        EXPLORATIONS.index(options.exploration),
        options.forced,
        options.confidence,
        options.memory,
    )
