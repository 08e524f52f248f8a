"""Exact chains of joint ages under threshold policies: their values, gradients and best thresholds.

With q frozen the joint ages are a finite Markov chain once ages stop at a cap. Its average reward
beta(q), stationary law pi and bias V follow from linear systems.

`gradient_check` compares three things that should be one, for two or three arms ::

    d beta / d q                                   by central differences,
    sum pi(x) p(y|x) grad log p(y|x) V(y)          as (7) prints,
    sum pi(x) p(y|x) grad log p(y|x) (R(x, y) - beta + V(y) - V(x)).

Where the reward is earned by crawled arms only, R depends on the action and (7) leaves it out.

`FrozenPolicy` has the corrected scheme's policy: the arms of an epoch are drawn one after the
other, each among those left with weight exp(kappa (x_i - T_i)). For an order of draws o, with
p(o|x) the product of its steps, ::

    beta(q)      = sum_x pi(x) sum_o p(o|x) R(x, o),
    grad beta(q) = sum_x pi(x) sum_o p(o|x) grad log p(o|x) (R - beta + V(y) - V(x)),

by sparse linear systems. Climbing this gradient off-line finds what the scheme, which climbs an
estimate of it, could find at best for its kappa: a local optimum of a policy that draws.

Reference: the 2019 paper, sections III and V; Marbach and Tsitsiklis (2001), Proposition 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import splu
from scipy.special import expit, softmax

from analysis.arrays import Floats, Ints, one_thread, read_only_arrays
from analysis.checks import (
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    check_whole,
)
from analysis.display import brief
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import _kernel as kernel
from analysis.learning.scheme._kernel import CHOICES
from analysis.learning.scheme.lspe import LspeOptions, check_coefficients, model
from analysis.results import NotConverged

LARGEST_CHAIN = 40_000
"""Joint ages of a `FrozenPolicy`, at most."""


@brief
@read_only_arrays
@dataclass(frozen=True)
class GradientCheck:
    """A gradient formula beside the true gradient; q has shape (N, 3), all in scaled content.

    Attributes
    ----------
    true : ndarray, shape (N, 3)
        Central differences of the exact average reward.
    formula : ndarray, shape (N, 3)
        What the formula gives in expectation.
    second_moment : float
        Expected squared length of one step's gradient estimate.
    """

    true: Floats
    formula: Floats
    second_moment: float

    @property
    def cosine(self) -> float:
        """Cosine of the angle between the two: 1 agrees, a negative one points downhill."""
        lengths = np.linalg.norm(self.true) * np.linalg.norm(self.formula)
        return float(np.sum(self.true * self.formula) / lengths)

    @property
    def relative_error(self) -> float:
        """Length of the difference, relative to the true gradient."""
        return float(np.linalg.norm(self.formula - self.true) / np.linalg.norm(self.true))


def check_solution(
    transition: Floats | sparse.csr_matrix, reward: Floats, gain: float, law: Floats, bias: Floats
) -> None:
    """Raise NotConverged for a value that misses the equations of its chain at nine digits.

    The bias multiplies the rounding of the transition probabilities: where it exceeds 1e7 rewards,
    as in a chain that falls into parts, no solver can determine the gain to nine digits.
    """
    unit = max(float(np.abs(reward).max()), np.finfo(float).tiny)
    residual = max(
        float(np.abs(law @ transition - law).max()),
        abs(float(law.sum()) - 1.0),
        -float(law.min()),
        abs(float(law @ reward) - gain) / unit,
        float(np.abs(reward - gain + transition @ bias - bias).max()) / unit,
        1e-16 * float(np.abs(bias).max()) / unit,
    )
    if not residual <= 1e-9:
        raise NotConverged(
            "q, options.kappa and cap make a chain that the linear systems cannot solve: residual "
            f"{residual:.3g}, above 1e-9"
        )


def threshold_basis(x: Floats, threshold: str) -> Floats:
    """Return what each coefficient of T_i multiplies at states x, shape (S, N, coefficients)."""
    s = x.sum(axis=1, keepdims=True) - x
    powers = {"constant": [], "shared": [s + s * s], "quadratic": [s, s * s]}[threshold]
    return np.stack([np.ones_like(s), *powers], axis=-1)


@brief
class ThresholdChain:
    """Joint ages under a soft threshold policy, one arm at most `cap` epochs old.

    Parameters
    ----------
    sources : Sources
        Two or three sources, so that the chain stays small.
    q : array_like, shape (N, 3)
        Threshold coefficients, in scaled content.
    options : LspeOptions
        Selection, threshold form, kappa, offset, projection and scale.
    cap : int
        Largest age; an arm that reaches it stays there.

    Attributes
    ----------
    x : ndarray, shape (S, N)
        Scaled content in each state, S = cap^N.
    active : ndarray of bool, shape (A, N)
        Arms crawled by each action.
    chance : ndarray, shape (S, A)
        Probability of each action.
    successor : ndarray of int, shape (S, A)
        Next state.
    """

    def __init__(self, sources: Sources, q: Floats, options: LspeOptions, cap: int) -> None:
        check_kind("sources", sources, Sources)
        check_kind("options", options, LspeOptions)
        size = len(sources)
        check_integer("the number of sources", size, 2, 3)
        cap = check_integer("cap", cap, 2, 400 if size == 2 else 12)
        coefficients = check_coefficients(q, sources)
        constants = model(sources, options)
        ages = np.array(list(product(range(1, cap + 1), repeat=size)))
        self.x = sources.state_at_age(ages) / constants.scale
        excess = np.empty_like(self.x)
        for state, level in zip(self.x, excess, strict=True):
            kernel.thresholds(constants, coefficients, state, level)
        logit = options.kappa * (self.x - excess - options.offset)
        if options.selection == "independent":
            self.active = np.array(list(product([False, True], repeat=size)))
            factors = np.where(self.active, expit(logit)[:, None], expit(-logit)[:, None])
            self.chance = factors.prod(axis=2)
        else:
            self.active = np.eye(size, dtype=bool)
            self.chance = softmax(logit, axis=1)
        later = np.where(self.active, 1, np.minimum(ages + 1, cap)[:, None])
        self.successor = np.ravel_multi_index(tuple(np.moveaxis(later - 1, 2, 0)), (cap,) * size)
        self._kappa = options.kappa
        self._marginal = expit(logit) if options.selection == "independent" else self.chance
        self._threshold = options.threshold

    @property
    def transition(self) -> Floats:
        """Transition matrix, shape (S, S)."""
        states = np.arange(self.x.shape[0])
        matrix = np.zeros((states.size, states.size))
        np.add.at(matrix, (states[:, None], self.successor), self.chance)
        return matrix

    def rewards(self, objective: str) -> Floats:
        """Content of the "crawled" or of "all" arms, for each state and action; shape (S, A)."""
        check_choice("objective", objective, CHOICES["reward"])
        if objective == "crawled":
            return np.asarray(self.x @ self.active.T)
        return np.broadcast_to(self.x.sum(axis=1)[:, None], self.chance.shape)

    def solve(self, objective: str) -> tuple[float, Floats, Floats]:
        """Average reward, stationary law and bias (of stationary mean 0), by linear systems.

        Raises
        ------
        NotConverged
            If arms are drawn so seldom that the systems cannot be solved to nine digits.
        """
        states = self.x.shape[0]
        transition = self.transition
        try:
            with one_thread(states):
                solution = np.linalg.solve((np.eye(states) - transition).T + 1.0, np.ones(states))
        except np.linalg.LinAlgError as error:
            raise NotConverged(
                f"q leaves the chain more than one recurrent class: {error}"
            ) from None
        law: Floats = np.asarray(solution)
        mean_reward = (self.chance * self.rewards(objective)).sum(axis=1)
        gain = float(law @ mean_reward)
        anchored = np.eye(states) - transition + np.outer(np.ones(states), law)
        with one_thread(states):
            bias: Floats = np.linalg.solve(anchored, mean_reward - gain)
        check_solution(transition, mean_reward, gain, law, bias)
        return gain, law, bias

    def score(self, gradient: str) -> Floats:
        """Return grad log p(y|x), (8), as `LspeOptions.gradient` reads it; shape (S, A, N, 3)."""
        by_threshold = self._kappa * (self._marginal[:, None, :] - self.active)
        basis = threshold_basis(self.x, self._threshold)
        own = np.zeros((*by_threshold.shape, 3))
        own[..., : basis.shape[-1]] = by_threshold[..., None] * basis[:, None]
        if gradient == "own arm":
            return own
        return np.broadcast_to(own.sum(axis=2, keepdims=True), own.shape)


def gradient_check(
    sources: Sources,
    q: Floats,
    options: LspeOptions,
    *,
    cap: int = 8,
    objective: str = "crawled",
    value_shift: float = 0.0,
    step: float = 1e-5,
) -> GradientCheck:
    """Hold a reading of (7) to (9) against the true gradient of an average reward.

    The reading is in `options`: V and the signal are those of `reward`, `signal` and `gradient` are
    the formula's, and V is exact, so that nothing but the formula can be at fault.

    Parameters
    ----------
    sources : Sources
        Two or three sources.
    q : ndarray, shape (N, 3)
        Where to take the gradient, in scaled content.
    options : LspeOptions
        The reading; not projected (a projection has kinks).
    cap : int
        Largest age.
    objective : {"crawled", "all"}
        Whose average reward is differentiated.
    value_shift : float
        Constant added to V, which (6) leaves open.
    step : float
        Half the width of the central difference; positive.

    Returns
    -------
    GradientCheck

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Sources
    >>> from analysis.learning import LspeOptions
    >>> two = Sources([250, 250], [1.0, 0.7], [0.7, 0.35])
    >>> check = gradient_check(two, np.full((2, 3), 0.1), LspeOptions.corrected(), cap=5)
    >>> check.relative_error < 1e-6
    True
    """
    check_kind("sources", sources, Sources)
    check_kind("options", options, LspeOptions)
    step = check_positive("step", step)
    value_shift = check_number("value_shift", value_shift, low_open=True, high_open=True)
    if options.projected:
        raise ValueError("options.projected must be False for a gradient check, got True")
    point = check_coefficients(q, sources)
    true = np.zeros_like(point)
    for entry in np.ndindex(point.shape):
        ahead, behind = point.copy(), point.copy()
        ahead[entry] += step
        behind[entry] -= step
        up, down = (
            ThresholdChain(sources, side, options, cap).solve(objective)[0]
            for side in (ahead, behind)
        )
        true[entry] = (up - down) / (2 * step)
    chain = ThresholdChain(sources, point, options, cap)
    gain, law, bias = chain.solve(options.reward)
    value = bias + value_shift
    signal = value[chain.successor]
    if options.signal == "advantage":
        signal = chain.rewards(options.reward) - gain + signal - value[:, None]
    weight = law[:, None] * chain.chance
    estimate = chain.score(options.gradient) * signal[..., None, None]
    formula = np.einsum("sa,sank->nk", weight, estimate)
    return GradientCheck(true, formula, float(np.einsum("sa,sank->", weight, estimate**2)))


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
        self._sources, self._model = sources, model(sources, options)
        self._orders = np.array(list(permutations(range(size), budget)))
        self.ages, self._successor = _reachable(size, self._orders, cap)
        self._x = sources.state_at_age(self.ages) / self._model.scale
        self._reward = self._x[:, self._orders].sum(axis=2)
        self._basis = threshold_basis(self._x, options.threshold)
        self._free = self._basis.shape[-1]

    def evaluate(self, q: Floats) -> float:
        """Long-run reward per epoch, in units of content, of thresholds q of shape (N, 3).

        Raises
        ------
        NotConverged
            If arms are drawn so seldom that the linear system cannot be solved to nine digits.
        """
        return self._solve(check_coefficients(q, self._sources))[0] * self._model.scale

    def gradient(self, q: Floats) -> Floats:
        """Gradient of the average reward by q, both in scaled content; shape (N, 3).

        It is 0 in the columns that the threshold's form does not read: those after the first for
        "constant", the last for "shared".
        """
        return self._solve(check_coefficients(q, self._sources))[1]

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
        start = check_coefficients(q, self._sources)
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

    def _draws(self, q: Floats) -> tuple[Floats, Floats]:
        """Chance of each order of draws, (S, O), and its d log p / d T, (S, O, N)."""
        level = np.einsum("snk,nk->sn", self._basis, q[:, : self._free])
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
        slopes[:, : self._free] = np.einsum("sn,snk->nk", by_level, self._basis)
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
