"""Exact value of the corrected scheme's policy when its thresholds no longer move.

With q frozen the joint ages are a finite Markov chain once ages stop at a cap. The arms of an epoch
are drawn one after the other, each among those left with weight exp(kappa (x_i - T_i)). For an
order of draws o, with p(o|x) the product of its steps, pi the stationary law and V the bias, ::

    beta(q)      = sum_x pi(x) sum_o p(o|x) R(x, o),
    grad beta(q) = sum_x pi(x) sum_o p(o|x) grad log p(o|x) (R - beta + V(y) - V(x)),

by sparse linear systems. Climbing this gradient off-line finds what the scheme, which climbs an
estimate of it, could find at best for its kappa: a local optimum of a policy that draws.

Reference: the 2019 paper, sections III and V, set right; Marbach and Tsitsiklis (2001).
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import splu

from analysis.arrays import Floats, Ints
from analysis.checks import check_array, check_integer, check_kind, check_whole
from analysis.display import brief
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme.gradient import check_solution
from analysis.learning.scheme.lspe import LspeOptions, model
from analysis.results import NotConverged

LARGEST_CHAIN = 40_000


@brief
class FrozenPolicy:
    """The chain of joint ages under exactly `budget` drawn arms an epoch.

    Parameters
    ----------
    sources : Sources
        N sources, few enough for the chain.
    options : LspeOptions
        Threshold form, kappa and scale; selection "one-of-n", not projected (a projection has
        kinks).
    budget : int or whole float
        Arms crawled at each epoch.
    cap : int
        Largest age; an arm that reaches it stays there.

    Attributes
    ----------
    ages : ndarray of int, shape (S, N)
        Joint ages that can be reached from fresh arms.

    Raises
    ------
    ValueError
        If an argument is out of range, or the chain has more than `LARGEST_CHAIN` states.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import four_sources
    >>> from analysis.learning import FrozenPolicy, LspeOptions
    >>> policy = FrozenPolicy(four_sources(), LspeOptions(), budget=1, cap=5)
    >>> policy.gradient(np.zeros((4, 3))).shape
    (4, 3)
    """

    def __init__(
        self, sources: Sources, options: LspeOptions, budget: int = 1, cap: int = 10
    ) -> None:
        check_kind("sources", sources, Sources)
        check_kind("options", options, LspeOptions)
        size = len(sources)
        budget = check_whole("budget", budget, 1, size)
        cap = check_integer("cap", cap, 2)
        if options.selection != "one-of-n":
            raise ValueError(
                f"options.selection must be 'one-of-n' for a frozen policy, got "
                f"{options.selection!r}"
            )
        if options.projected:
            raise ValueError("options.projected must be False for a frozen policy, got True")
        self._model = model(sources, options)
        self._orders = np.array(list(permutations(range(size), budget)))
        self.ages, self._successor = _reachable(size, self._orders, cap)
        self._x = sources.state_at_age(self.ages) / self._model.scale
        self._reward = self._x[:, self._orders].sum(axis=2)
        s = self._x.sum(axis=1, keepdims=True) - self._x
        self._basis = np.stack([np.ones_like(s), s, s * s], axis=-1)
        self._free = {"constant": 1, "shared": 2, "quadratic": 3}[options.threshold]
        if options.threshold == "shared":
            self._basis[..., 1] += self._basis[..., 2]

    def evaluate(self, q: Floats) -> float:
        """Long-run reward per epoch, in units of content, of thresholds q of shape (N, 3).

        Raises
        ------
        NotConverged
            If arms are drawn so seldom that the linear system cannot be solved to nine digits.
        """
        return self._solve(self._coefficients(q))[0] * self._model.scale

    def gradient(self, q: Floats) -> Floats:
        """Gradient of the average reward by q, both in scaled content; shape (N, 3).

        It is 0 in the columns that the threshold's form does not read: those after the first for
        "constant", the last for "shared".
        """
        return self._solve(self._coefficients(q))[1]

    def climb(self, q: Floats, iterations: int = 200) -> tuple[Floats, float]:
        """Climb the exact gradient from q to a local optimum.

        Parameters
        ----------
        q : ndarray, shape (N, 3)
            Where to start, in scaled content.
        iterations : int
            Most steps of the quasi-Newton method.

        Returns
        -------
        q : ndarray, shape (N, 3)
        average_reward : float
            In units of content.

        Raises
        ------
        NotConverged
            If the method breaks down. Running out of steps is no failure: for kappa large enough
            the optimum lies at infinity, where the policy no longer draws.
        """
        start = self._coefficients(q)
        iterations = check_integer("iterations", iterations, 1)

        def cost(flat: Floats) -> tuple[float, Floats]:
            point = start.copy()
            point[:, : self._free] = flat.reshape(-1, self._free)
            value, gradient = self._solve(point)
            return -value, -gradient[:, : self._free].ravel()

        optimum = minimize(
            cost,
            start[:, : self._free].ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": iterations},
        )
        if optimum.status == 2:
            raise NotConverged(f"climbing the exact gradient failed: {optimum.message}")
        top = start.copy()
        top[:, : self._free] = optimum.x.reshape(-1, self._free)
        return top, float(-optimum.fun) * self._model.scale

    def _coefficients(self, q: Floats) -> Floats:
        point = check_array("q", q)
        if point.shape != (self._x.shape[1], 3):
            raise ValueError(f"q must have shape ({self._x.shape[1]}, 3), got {point.shape}")
        return point

    def _draws(self, q: Floats) -> tuple[Floats, Floats]:
        """Chance of each order of draws, (S, O), and its d log p / d T, (S, O, N)."""
        level = np.einsum("snk,nk->sn", self._basis[..., : self._free], q[:, : self._free])
        logit = self._model.kappa * (self._x - level)
        states, size = logit.shape
        chance = np.ones((states, len(self._orders)))
        score = np.zeros((states, len(self._orders), size))
        for o, order in enumerate(self._orders):
            remaining = np.ones(size, dtype=bool)
            for arm in order:
                peak = logit[:, remaining].max(axis=1, keepdims=True)
                weight = np.where(remaining, np.exp(np.minimum(logit - peak, 0.0)), 0.0)
                share = weight / weight.sum(axis=1, keepdims=True)
                chance[:, o] *= share[:, arm]
                score[:, o] += self._model.kappa * share
                score[:, o, arm] -= self._model.kappa
                remaining[arm] = False
        return chance, score

    def _solve(self, q: Floats) -> tuple[float, Floats]:
        """Average reward and its gradient, scaled."""
        chance, score = self._draws(q)
        states = len(self.ages)
        rows = np.repeat(np.arange(states), chance.shape[1])
        entries = (chance.ravel(), (rows, self._successor.ravel()))
        transition = sparse.csr_matrix(entries, shape=(states, states))
        # Unknowns are V with V(0) = 0, whose column makes room for beta.
        poisson = (sparse.identity(states) - transition).tocsc()
        try:
            factor = splu(sparse.hstack([np.ones((states, 1)), poisson[:, 1:]], format="csc"))
        except RuntimeError as error:
            raise NotConverged(
                f"q leaves the chain more than one recurrent class: {error}"
            ) from None
        mean_reward = (chance * self._reward).sum(axis=1)
        solution = factor.solve(mean_reward)
        gain, bias = float(solution[0]), solution.copy()
        bias[0] = 0.0
        law = factor.solve(np.eye(1, states).ravel(), trans="T")
        check_solution(transition, mean_reward, gain, law, bias)
        signal = self._reward - gain + bias[self._successor] - bias[:, None]
        by_level = np.einsum("s,so,son->sn", law, chance * signal, score)
        slopes = np.zeros_like(q)
        free = slice(self._free)
        slopes[:, free] = np.einsum("sn,snk->nk", by_level, self._basis[..., free])
        return gain, slopes


def _reachable(size: int, orders: Ints, cap: int) -> tuple[Ints, Ints]:
    """Joint ages reached from fresh arms, and the successor of each under each order."""
    ages = layer = np.ones((1, size), dtype=np.int64)
    while layer.size:
        later = _later(layer, orders, cap).reshape(-1, size)
        count = len(ages)
        ages, first = np.unique(np.concatenate([ages, later]), axis=0, return_index=True)
        if len(ages) > LARGEST_CHAIN:
            raise ValueError(
                f"cap must leave at most {LARGEST_CHAIN} joint ages of {size} sources, got {cap}"
            )
        layer = ages[first >= count]
    later = _later(ages, orders, cap)
    rows = np.concatenate([ages, later.reshape(-1, size)])
    _, position = np.unique(rows, axis=0, return_inverse=True)
    return ages, position.ravel()[len(ages) :].reshape(later.shape[:2])


def _later(ages: Ints, orders: Ints, cap: int) -> Ints:
    """Ages after each order of draws, shape (S, O, N)."""
    grown = np.repeat(np.minimum(ages + 1, cap)[:, None, :], len(orders), axis=1)
    for o, order in enumerate(orders):
        grown[:, o, order] = 1
    return grown
