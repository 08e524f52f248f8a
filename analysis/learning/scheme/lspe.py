"""LSPE(0) with a threshold policy gradient: the 2019 paper's scheme, as printed and corrected.

The policy crawls arm i more likely the more its expected content x_i exceeds a threshold ::

    T_i(x_{-i}) = q_0 + q_1 s + q_2 s^2,   s = sum_{k != i} x_k,

the value function is V(x) = r . phi(x) with phi all products of one or two states, and for n >= 1::

    eta += b(n) (R - eta)
    A   += b(n) (phi (phi_next - phi)^T - A)
    B   += b(n) (phi phi^T - B)
    b   += b(n) (phi (R - eta) - b)
    r   += gamma B^{-1} (A r + b)
    q   += a(n) grad log p(x_next|x) * signal                                          (9)
    a(n) = c / ceil(n/500),   b(n) = c / ceil(n/1000)^(2/3)

`LspeOptions` names each place where the print and a working scheme part. `as_printed()` keeps the
print wherever it can be run at all: what is set right there is A (its dimensions), the inverse of B
(a division by zero at the first step) and the first step size (the same). `corrected()` crawls
exactly the budget, values the harvest, and weighs the gradient with R - eta + V(x') - V(x). Both
need u_i and alpha_i for the states of arms that were not crawled.

Rule for divergence: a run has diverged at the first step at which the elimination of B
(regularised) meets a pivot of exactly 0, or an entry of q or r is not finite or exceeds `limit`. It
stops there, reports the epoch, and is left out of averages, which are to be given with the number
of such runs.

`learned` runs the scheme from given thresholds. Content is then what it is on average, (2) and (3),
so that runs differ by the draws of the scheme alone; replication r draws from the same stream under
all options.

Reference: the 2019 paper, sections III to V.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats, Ints, read_only_arrays
from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_positive,
    check_whole,
    set_fields,
)
from analysis.display import brief
from analysis.ephemeral.policies import Observation
from analysis.ephemeral.simulation import long_run
from analysis.ephemeral.sources import Sources
from analysis.learning.environment import mean_content
from analysis.learning.loop import CompiledLearner
from analysis.learning.scheme import _kernel as kernel
from analysis.learning.scheme._kernel import CHOICES
from analysis.results import Estimate

STEP_RANGE = (0, 1)
"""The open interval that c is from."""


@dataclass(frozen=True)
class LspeOptions:
    """What the 2019 paper prints, leaves open, or misprints, one option each.

    Parameters
    ----------
    selection : {"one-of-n", "independent"}
        Crawl exactly the budget, drawn without replacement with weights exp(kappa (x_i - T_i)); or
        each arm on its own with probability f_i, which no budget bounds (as printed).
    reward : {"crawled", "all"}
        R: the content of the crawled arms; or of all arms, as (6) prints.
    signal : {"advantage", "next value"}
        What weighs grad log p in (9): R - eta + V(x') - V(x); or V(x'), as printed.
    gradient : {"own arm", "every arm"}
        In the component of q^i only arm i's term of (8); or the sum over all arms, as printed.
    threshold : {"quadratic", "shared", "constant"}
        T_i with q_2 on the squared term; with q_1 twice, as printed; or q_0 alone.
    features : {"quadratic", "linear"}
        phi with or without the products of two states.
    regulariser : {"ridge", "tikhonov", "none", "sherman-morrison"}
        How B is inverted: (B + d I)^{-1}; (B^2 + d I)^{-1} B, the second cure; B^{-1}; or B^{-1} by
        rank-one updates, in the corrected form.
    averaging : {"mean", "step"}
        b(n) is 1/(n + 1), as the recursions print; or the slower-falling step above, which the
        paper offers in its place.
    kappa : float
        Steepness of the logit, per unit of scaled content; positive.
    offset : float
        The constant inside the logit, 0.5 in print.
    projected : bool
        Keep thresholds in [u_i, u*_i], the first cure.
    step : float
        c of the step sizes, in (0, 1); not printed.
    value_step : float
        gamma, step of r; in (0, 1].
    regularisation : float
        d above; positive; not printed.
    initial_matrix : float
        B(0) is this times the identity; positive; not printed.
    scale : float or None
        Content by which states are divided; None is the largest u*, 1 leaves states raw.
    limit : float
        Largest size of an entry of q or r that is not a divergence.

    Examples
    --------
    >>> from analysis.learning import LspeOptions
    >>> LspeOptions(kappa=5.0).kappa
    5.0
    >>> LspeOptions(selection="two")
    Traceback (most recent call last):
        ...
    ValueError: selection must be one of independent, one-of-n, got 'two'
    """

    selection: str = "one-of-n"
    reward: str = "crawled"
    signal: str = "advantage"
    gradient: str = "own arm"
    threshold: str = "quadratic"
    features: str = "quadratic"
    regulariser: str = "ridge"
    averaging: str = "mean"
    kappa: float = 10.0
    offset: float = 0.0
    projected: bool = False
    step: float = 0.003
    value_step: float = 0.05
    regularisation: float = 1e-6
    initial_matrix: float = 1.0
    scale: float | None = None
    limit: float = 1e12

    def __post_init__(self) -> None:
        for option, names in CHOICES.items():
            check_choice(option, getattr(self, option), names)
        check_kind("projected", self.projected, bool)
        positive = ["kappa", "regularisation", "initial_matrix", "limit"]
        positive += [] if self.scale is None else ["scale"]
        set_fields(
            self,
            **{name: check_positive(name, getattr(self, name)) for name in positive},
            offset=check_number("offset", self.offset, low_open=True, high_open=True),
            step=check_number("step", self.step, *STEP_RANGE, low_open=True, high_open=True),
            value_step=check_number("value_step", self.value_step, 0, 1, low_open=True),
        )
        if self.gradient == "every arm" and self.selection != "independent":
            raise ValueError(
                "gradient must be 'own arm' with selection 'one-of-n': (8) is of independent arms, "
                "got 'every arm'"
            )

    @classmethod
    def as_printed(cls, **changes: Any) -> LspeOptions:
        """Return the scheme of the 2019 paper as it is printed, both cures included."""
        printed = cls(
            selection="independent",
            reward="all",
            signal="next value",
            gradient="every arm",
            threshold="shared",
            regulariser="tikhonov",
            averaging="step",
            kappa=2.0,
            offset=0.5,
            projected=True,
            step=0.1,
        )
        return replace(printed, **changes)

    @classmethod
    def corrected(cls, **changes: Any) -> LspeOptions:
        """Return the scheme with its equations set right."""
        return replace(cls(), **changes)


@brief
class Lspe(CompiledLearner, choose=kernel.choose, learn=kernel.learn):
    """The scheme as a learner.

    Parameters
    ----------
    sources : Sources
        N sources; u and alpha give the states of arms that are not crawled.
    options : LspeOptions
        Which reading.
    initial_thresholds : array_like, shape (N,), optional
        q_0 at the start, in scaled content; 0 by default.

    Attributes
    ----------
    q : ndarray, shape (N, 3)
        Threshold coefficients, in scaled content.
    r : ndarray, shape (L,)
        Coefficients of the value function.
    matrix : ndarray, shape (L, L)
        B, the mean of phi phi^T.
    diverged_at : int or None
        Epoch at which the run diverged.
    """

    def __init__(
        self,
        sources: Sources,
        options: LspeOptions | None = None,
        initial_thresholds: NDArray[np.float64] | None = None,
    ) -> None:
        check_kind("sources", sources, Sources)
        check_kind("options", options, LspeOptions, None)
        self.sources = sources
        self.options = options or LspeOptions()
        start = np.zeros(len(sources))
        if initial_thresholds is not None:
            start = check_array("initial_thresholds", initial_thresholds)
            if start.shape != (len(sources),):
                raise ValueError(
                    f"initial_thresholds must have shape ({len(sources)},), got {start.shape}"
                )
        constants = model(sources, self.options)
        state = kernel.start(constants, start, self.options.initial_matrix)
        super().__init__(len(sources), constants, state)

    @property
    def keeps_budget(self) -> bool:
        """Whether the number of arms is the budget; as printed, no budget bounds it."""
        return self.options.selection != "independent"

    @property
    def q(self) -> Floats:
        """Threshold coefficients, shape (N, 3)."""
        return self._state.q.copy()

    @property
    def r(self) -> Floats:
        """Coefficients of the value function, shape (L,)."""
        return self._state.r.copy()

    @property
    def matrix(self) -> Floats:
        """B, shape (L, L)."""
        return self._state.B.copy()

    @property
    def diverged_at(self) -> int | None:
        """Epoch at which the run diverged, or None."""
        at = int(self._state.steps[1])
        return None if at < 0 else at

    def thresholds(self, state: NDArray[np.float64]) -> Floats:
        """Return T_i(x_{-i}) for states in units of content, in units of content; shape (N,)."""
        out = np.empty(len(self.sources))
        kernel.thresholds(self._model, self._state.q, np.asarray(state) / self._model.scale, out)
        return out * self._model.scale

    def greedy(self) -> GreedyThresholdPolicy:
        """Return the learned thresholds as a policy that no longer draws or learns."""
        return GreedyThresholdPolicy(self.sources, self.q, self.options)


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class GreedyThresholdPolicy:
    """Crawl the arms whose expected content exceeds their threshold the most.

    Parameters
    ----------
    sources : Sources
        N sources.
    q : ndarray, shape (N, 3)
        Threshold coefficients, in scaled content.
    options : LspeOptions
        Form and scale of the thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import Observation, four_sources
    >>> from analysis.learning import GreedyThresholdPolicy, LspeOptions
    >>> policy = GreedyThresholdPolicy(four_sources(), np.zeros((4, 3)), LspeOptions())
    >>> seen = Observation(epoch=0, age=np.array([9, 1, 1, 1]), state=np.full(4, np.nan))
    >>> policy.select(seen, 1).tolist()
    [0]
    """

    sources: Sources
    q: Floats
    options: LspeOptions

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_kind("options", self.options, LspeOptions)
        object.__setattr__(self, "q", check_coefficients(self.q, self.sources))

    @cached_property
    def _model(self) -> kernel.Model:
        return model(self.sources, self.options)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Ints:
        """Return the `budget` arms of largest x_i - T_i(x_{-i}), by their ages."""
        budget = check_whole("budget", budget, 1, len(self.sources))
        x = self.sources.state_at_age(observation.age) / self._model.scale
        level = np.empty(x.size)
        kernel.thresholds(self._model, self.q, x, level)
        return np.sort(np.argsort(level - x, kind="stable")[:budget])


def check_coefficients(q: Floats, sources: Sources) -> Floats:
    """Return threshold coefficients as a finite array of shape (N, 3), or raise ValueError."""
    coefficients = check_array("q", q)
    if coefficients.shape != (len(sources), 3):
        raise ValueError(f"q must have shape ({len(sources)}, 3), got {coefficients.shape}")
    return coefficients


def model(sources: Sources, options: LspeOptions) -> kernel.Model:
    """Collect what the compiled scheme needs, states divided by the scale."""
    scale = float(sources.u_star.max()) if options.scale is None else options.scale
    return kernel.Model(
        sources.alpha,
        sources.decay,
        sources.u / scale,
        sources.u_star / scale,
        scale,
        options.kappa,
        options.offset,
        options.step,
        options.value_step,
        options.regularisation,
        options.limit,
        options.projected,
        **{option: names.index(getattr(options, option)) for option, names in CHOICES.items()},
    )


# Runs from given thresholds


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
    first = initial_thresholds
    if first is not None:
        first = check_array("initial_thresholds", first) / model(sources, options).scale
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
