"""The threshold gradient (7) to (9) against finite differences of the exact average reward.

For two or three arms and ages that stop at a cap, the soft threshold policy makes a small Markov
chain of joint ages. Its average reward beta(q), stationary law pi and bias V follow from linear
systems, hence three things that should be one::

    d beta / d q                                   by central differences,
    sum pi(x) p(y|x) grad log p(y|x) V(y)          as (7) prints,
    sum pi(x) p(y|x) grad log p(y|x) (R(x, y) - beta + V(y) - V(x)).

Where the reward is earned by crawled arms only, R depends on the action and (7) leaves it out.

Reference: the 2019 paper, section III; Marbach and Tsitsiklis (2001), Proposition 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from analysis.arrays import Floats, one_thread, read_only_arrays
from analysis.checks import check_choice, check_integer, check_kind, check_number, check_positive
from analysis.display import brief
from analysis.ephemeral.sources import Sources
from analysis.learning.scheme import _kernel as kernel
from analysis.learning.scheme._kernel import CHOICES
from analysis.learning.scheme.lspe import LspeOptions, check_coefficients, model
from analysis.results import NotConverged


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
        check_choice("objective", objective, tuple(CHOICES["reward"]))
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
        s = self.x.sum(axis=1, keepdims=True) - self.x
        basis = np.stack([np.ones_like(s), s, s * s], axis=-1)
        if self._threshold == "shared":
            basis[..., 1] += basis[..., 2]
            basis[..., 2] = 0.0
        elif self._threshold == "constant":
            basis[..., 1:] = 0.0
        own = by_threshold[..., None] * basis[:, None]
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
