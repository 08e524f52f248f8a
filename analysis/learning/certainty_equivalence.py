"""Certainty equivalence: estimate rates and decay, and use the closed-form index of the estimates.

A crawl at age k finds content of mean m(k) = u* (1 - e^{-mu k}) and of variance phi times the mean,
nearly. The observations of one arm have the quasi-likelihood ::

    sums alone    l(u*, mu) = sum_j r_j log(u* g_j) - u* g_j,     g_j = 1 - e^{-mu k_j}
    items         l(u*, mu) = sum of v (log(u* mu) - mu s) over items of worth v and age s
                              - sum_j u* g_j

For given mu both are largest at u* = R / S(mu), R = sum r_j, S = sum g_j. The profile ::

    sums alone    p(mu) = sum_j r_j log g_j(mu) - R log S(mu)
    items         p(mu) = R log mu - mu A - R log S(mu),     A = sum of v s over items

is kept on a grid of mu as running sums, and refined by a parabola in log mu. Both kinds of crawls
may be mixed. phi is Pearson's chi-square over its degrees of freedom, partly pooled over the arms:
the mean of its own value with a weight of n, the number of crawls but two or of items R/phi if that
is less, and of the pooled one with a weight of two. For an arm without content it is the larger of
the pooled phi and the mean content of a crawl. The arms of largest index gamma(age; u*, mu) are
crawled, where (u*, mu) is ::

    estimate    the estimate
    gain        the pair whose gain max_k (m(k) - lambda)/k is largest within
                l >= max l - phi c log(1 + t), at the running price lambda of a crawl: a moving
                average of the least index among the arms crawled for it
    ucb         the pair of largest index within the same set: given mu, the largest u* with
                u* S - R - R log(u* S/R) <= phi c log(1 + t) - (max p - p(mu))
    thompson    a sample: log mu such that the signed root of its likelihood ratio is a standard
                normal number; given mu, u* S/phi gamma of shape R/phi + 1/2, the posterior under
                Jeffreys' prior of a Poisson mean. For each of the two phi is multiplied by
                v log^2(1 + t)/2, at least `spread` and at most 1, where v is the variance of its
                logarithm. A sample outside l >= max l - phi log(1 + t) is replaced by the
                estimate
    forced      the estimate; an arm is crawled again whenever three quarters of all epochs so far
                have passed since its last crawl

Crawls at a single age k identify m(k) alone. If the index of a wrong pair (u*, mu) selects that age
again, the pair is confirmed, and "estimate", "ucb" and "forced" may never correct it: on ordinary
sets of three sources they lose up to 3% of the index policy's reward for ever. All rules therefore
have a *floor* of f(t) = floor log^1.1(1 + t M/N) crawls of each arm at age 1 and as many above it,
where t M/N is the average number of crawls of an arm: an arm below it is due, and one that is
crawled at every epoch is held back until it is older. A crawl that shows items counts for both.
With the floor, decisions other than those of the true index, or forced ones, are almost surely
finite in number under "estimate", "thompson" and any rule within l >= max l - phi c log(1 + t).
"gain" learns at a constant price also without a floor: a pair of larger gain than the truth
predicts too much content at the gap that it selects, and is refuted there.

Draws of a share s of the posterior's variance everywhere would have a regret of about T^{1-s}: an
error of z standard deviations has probability e^{-z^2/2}, and about e^{z^2/(2 s)} epochs pass until
a draw corrects it. With v below 2/log^2(1 + t), however, the probability of an error of a given
size falls faster than every power of t, and narrower draws cost less. The factor of one half is
chosen. The likelihood of mu is not replaced by a normal law about the estimate: with few crawls at
one of two ages it falls slowly to one side, and the normal law would exclude the truth there.

An arm without content so far (R = 0) is crawled again under every rule: the bound of "ucb" tends to
u* <= slack/S, and its index, maximised over mu, grows with the age in proportion to the time
watched; Jeffreys' posterior is proper; "forced" and the floor crawl it at a logarithmic rate.

With a `memory` of H epochs all sums and counts of an arm fade as e^{-epochs/H} and t is at most H,
as in discounted UCB, so that the estimates follow sources that change.

References: Garivier and Cappe (2011), KL-UCB; Garivier and Moulines (2011), discounted UCB; Borkar
and Varaiya (1979), estimates that confirm themselves; Kumar and Becker (1982), optimism about the
gain. This is the "adaptive version" that the report announces in its conclusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.checks import (
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    set_fields,
)
from analysis.display import brief
from analysis.learning import _certainty_kernel as kernel
from analysis.learning.environment import Floats, Ints
from analysis.learning.loop import CompiledLearner

EXPLORATIONS = {rule.name.lower(): rule for rule in kernel.Exploration}
TABLED = 256
"""Ages at which g and the index stand in tables; at higher ages they are computed."""


@dataclass(frozen=True)
class CertaintyEquivalenceOptions:
    """Exploration rule of the learner, and the grid on which it estimates the decay.

    Parameters
    ----------
    exploration : {"thompson", "gain", "estimate", "ucb", "forced"}
        See the module: without a floor and items, "estimate", "ucb" and "forced" can keep a wrong
        estimate for ever. "forced" needs a larger `forced` than the others.
    forced : int
        Crawls of each arm before its estimate is used, in pairs of one at a high age and one right
        after it; at least 2. A crawl at age 0 does not count, one that shows items counts as two.
    confidence : float
        c of "gain" and "ucb"; positive.
    spread : float
        Least variance of the draws of "thompson", as a share of the posterior's, in (0, 1]; see the
        module. At 1 all draws follow the posterior.
    floor : float
        Each arm is crawled `floor` log^1.1(1 + t M/N) times at age 1 and as often at older ages by
        epoch t; at least 0; 0 turns the floor off.
    slowest, fastest : float
        Ends of the grid of mu, per epoch; 0 < slowest < fastest.
    points : int
        Points of the grid, equally spaced in log mu; at least 16.
    memory : float
        H, epochs after which a crawl counts e times less; positive, ``inf`` to forget nothing.
    """

    exploration: str = "thompson"
    forced: int = 2
    confidence: float = 0.25
    spread: float = 0.25
    floor: float = 0.4
    slowest: float = 1e-3
    fastest: float = 20.0
    points: int = 121
    memory: float = np.inf

    def __post_init__(self) -> None:
        check_choice("exploration", self.exploration, tuple(EXPLORATIONS))
        slowest = check_positive("slowest", self.slowest)
        fastest = check_positive("fastest", self.fastest)
        if slowest >= fastest:
            raise ValueError(f"slowest must be below fastest, got {slowest:g} and {fastest:g}")
        set_fields(
            self,
            forced=check_integer("forced", self.forced, 2),
            confidence=check_positive("confidence", self.confidence),
            spread=check_number("spread", self.spread, 0, 1, low_open=True),
            floor=check_number("floor", self.floor, 0, high_open=True),
            slowest=slowest,
            fastest=fastest,
            points=check_integer("points", self.points, 16),
            memory=check_number("memory", self.memory, 0, low_open=True),
        )


@brief
class CertaintyEquivalence(CompiledLearner, choose=kernel.choose, learn=kernel.learn):
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

    sees_items = True

    def __init__(self, arms: int, options: CertaintyEquivalenceOptions | None = None) -> None:
        check_kind("options", options, CertaintyEquivalenceOptions, None)
        arms = check_integer("arms", arms, 1)
        self.options = options or CertaintyEquivalenceOptions()
        kinds = {"pairs": np.int64, "top": np.int64, "looked": np.int64, "epoch": np.int64}
        grids = ("weighted", "exposure", "squares", "profile")
        state = {}
        for name in kernel.State._fields:
            size = (arms, self.options.points) if name in grids else arms
            state[name] = np.zeros(
                1 if name in ("epoch", "price") else size, kinds.get(name, float)
            )
        for name in ("log_mu", "u_star", "width", "hoped_log_mu", "hoped_u_star"):
            state[name] += np.nan
        state["looked"] -= 1
        super().__init__(arms, _model(self.options), kernel.State(**state))

    @property
    def u_star(self) -> Floats:
        """Estimates of u*, shape (N,)."""
        return self._state.u_star.copy()

    @property
    def decay(self) -> Floats:
        """Estimates of mu T, shape (N,)."""
        return np.exp(self._state.log_mu)

    @property
    def age(self) -> Ints:
        """Ages of the arms: after `play` those at its end, else at the last choice; shape (N,)."""
        return self._age.copy()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that was learned, as arrays, for `restore`."""
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `state` returned, of as many arms and with the same options."""
        for name, array in self._state._asdict().items():
            array[...] = state[name]


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
        np.exp(log_mu),
        int(EXPLORATIONS[options.exploration]),
        options.forced,
        options.confidence,
        options.spread,
        options.memory,
        options.floor,
    )
