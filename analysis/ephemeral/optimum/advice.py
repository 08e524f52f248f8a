"""Policies built on the relaxed problem that need no attracting fixed point.

The relaxed problem's solution is a policy for each source, feasible if the budget holds on average
only: with frequency f_i, crawl at age k_i = floor(1/f_i) with the probability p_i that makes 1/f_i
the mean gap, else at age k_i + 1. Three policies keep the budget in every epoch:

    `FTVAPolicy`      follow the virtual advice: the relaxed policy is simulated for each source,
                      with a virtual age, and real crawls follow it as far as the budget allows;
    `IDPolicy`        each source takes the relaxed action at its real age, in a fixed order of the
                      sources, as long as the rest of the budget can still be met;
    `LPUpdatePolicy`  model predictive control: at each epoch the relaxed problem of the next few
                      epochs is solved from the present ages, and its first crawls are made.

With N copies the first two are proved to lose O(1/sqrt N) under conditions of their own. FTVA needs
that real and virtual ages meet, which they do here at the first crawl that both make. The ID policy
and the two-set policy that followed it need aperiodic single-source chains: a source with one gap
k >= 2 has the period k (`aperiodic`). The last policy has a loss of O(log N / sqrt N) if the arms
are uniformly ergodic.

References: Hong, Xie, Chen and Wang, Restless bandits with average reward: breaking the uniform
global attractor assumption (NeurIPS 2023); Unichain and aperiodicity are sufficient for asymptotic
optimality of average-reward restless bandits (Math. Oper. Res.); Achieving exponential asymptotic
optimality ... without global attractor assumption (arXiv 2405.17882, the two-set policy);
Narasimha and Gast, Model predictive control is almost optimal for heterogeneous restless
multi-armed bandits (arXiv 2511.08097).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array, eye_array, hstack, kron

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.checks import check_integer, check_kind, check_rng, check_whole, set_fields
from analysis.display import brief
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.policies import Arms, Observation
from analysis.ephemeral.relaxed import relaxed_problem
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.results import NotConverged

_WHOLE = 1e-9  # 1/f that is so near to a whole number is one
MOST_EPOCHS = 8


@brief
@read_only_arrays
@dataclass(frozen=True, eq=False)
class SingleSourcePolicies:
    """The relaxed problem's solution as one policy a source, as arrays of shape (N,).

    `gap` is k, the shorter of its two gaps, 0 if it is never crawled; `probability` is that of a
    crawl at age k, while at age k + 1 it is crawled for certain.
    """

    gap: Ints
    probability: Floats

    @classmethod
    def of(cls, sources: Sources, budget: float) -> SingleSourcePolicies:
        """Return the policies that solve the relaxed problem."""
        frequency = relaxed_problem(sources, budget).frequency
        mean = np.divide(1.0, frequency, out=np.zeros_like(frequency), where=frequency > 0)
        nearest = np.round(mean)
        mean = np.where(np.abs(mean - nearest) <= _WHOLE * mean, nearest, mean)
        gap = np.floor(mean)
        return cls(gap.astype(np.int64), np.where(gap > 0, 1.0 - (mean - gap), 0.0))

    def crawl_probability(self, age: Ints) -> Floats:
        """Return the probability of a crawl of each source at an age."""
        at_gap = np.where(age == self.gap, self.probability, 0.0)
        return np.where(self.gap == 0, 0.0, np.where(age > self.gap, 1.0, at_gap))

    def aperiodic(self) -> Bools:
        """Return which chains of ages have no period, as the ID and the two-set policy need them.

        Of gaps k and k + 1 the greatest common divisor is 1; a gap k alone has the period k.
        """
        return (self.gap <= 1) | (self.probability < 1.0)

    def stationary_age(self, rng: np.random.Generator) -> Ints:
        """Draw an age of each source from the stationary law; 1 where it is never crawled."""
        # Age a has the probability f P(gap >= a): uniform up to k, the rest at k + 1.
        mean = self.gap + 1.0 - self.probability
        return np.where(self.gap > 0, np.floor(rng.random(self.gap.size) * mean) + 1, 1).astype(
            np.int64
        )


@brief
@dataclass(eq=False)
class FTVAPolicy:
    """Follow the virtual advice.

    At each epoch the relaxed policy advises crawls at the virtual ages. Sources are crawled in this
    order, with random ties: those advised whose real and virtual ages agree; others advised; those
    not advised whose ages differ; those not advised whose ages agree, among them those that the
    relaxed solution never crawls.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1.
    budget : int or whole float
        Crawls per epoch, from 1 to N; `select` takes no other.

    Attributes
    ----------
    single : SingleSourcePolicies
        The policies that are simulated.
    virtual_age : ndarray of int, shape (N,), or None
        Simulated ages, drawn from their stationary law at the first epoch; an object plays one run.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range; in `select`, `rng` if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import FTVAPolicy, four_sources, simulate
    >>> rng = np.random.default_rng(1)
    >>> run = simulate(four_sources(), FTVAPolicy(four_sources(), 1), 1, 1000, rng=rng)
    >>> round(run.average_reward, 1)
    260.0
    """

    sources: Sources
    budget: int
    single: SingleSourcePolicies = field(init=False)
    virtual_age: Ints | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.budget, self.single = _single(self.sources, self.budget)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources to crawl by their ages, and simulate one epoch of each."""
        rng = _generator(budget, self.budget, rng)
        if self.virtual_age is None:
            self.virtual_age = self.single.stationary_age(rng)
        virtual, size = self.virtual_age, observation.age.size
        advised = rng.random(size) < self.single.crawl_probability(virtual)
        agree = (virtual == observation.age) | (self.single.gap == 0)
        level = np.where(advised, np.where(agree, 0, 1), np.where(agree, 3, 2))
        self.virtual_age = np.where(advised, 1, virtual + 1)
        return np.sort(np.lexsort((rng.random(size), level))[: self.budget])


@dataclass(frozen=True, eq=False)
class IDPolicy:
    """Follow the ideal actions of sources in a fixed order.

    Each source draws the action of its single-source policy at its real age. The longest beginning
    of the order is followed that has at most `budget` crawls and at most N - `budget` sources that
    are not crawled; crawls that are left go to the next sources in order of the index.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1, in the order of their IDs.
    budget : int or whole float
        Crawls per epoch, from 1 to N; `select` takes no other.

    Attributes
    ----------
    single : SingleSourcePolicies
        The policies whose actions are ideal.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range; in `select`, `rng` if there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from analysis.ephemeral import IDPolicy, four_sources, simulate
    >>> rng = np.random.default_rng(1)
    >>> run = simulate(four_sources(), IDPolicy(four_sources(), 1), 1, 1000, rng=rng)
    >>> round(run.average_reward, 1)
    260.0
    """

    sources: Sources
    budget: int
    single: SingleSourcePolicies = field(init=False)

    def __post_init__(self) -> None:
        budget, single = _single(self.sources, self.budget)
        set_fields(self, budget=budget, single=single)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the sources to crawl by their ages."""
        rng = _generator(budget, self.budget, rng)
        size, budget = observation.age.size, self.budget
        ideal = rng.random(size) < self.single.crawl_probability(observation.age)
        fits = (np.cumsum(ideal) <= budget) & (np.cumsum(~ideal) <= size - budget)
        followed = size if fits.all() else int(np.argmin(fits))
        chosen = np.flatnonzero(ideal[:followed])
        index = whittle_index_at_age(self.sources, observation.age)[followed:]
        others = followed + np.argsort(-index, kind="stable")[: budget - chosen.size]
        return np.sort(np.concatenate([chosen, others]))


@brief
@dataclass(frozen=True, eq=False)
class LPUpdatePolicy:
    """Solve the relaxed problem of the next epochs anew at each epoch (LP-update).

    Over `epochs` epochs from the present ages, every source mixes the patterns of crawls, and the
    budget holds in each epoch on average over the mixtures. The sources of the largest probability
    of a crawl now are crawled, ties in order of the index. What is left when the epochs end is
    worth nothing.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1.
    epochs : int
        Epochs ahead, the present one included, from 1 to 8.

    Attributes
    ----------
    known : dict
        First crawls of the programs that were solved, by budget and ages.

    Raises
    ------
    ValueError
        Naming the argument, its value and the allowed range.

    Examples
    --------
    >>> from analysis.ephemeral import LPUpdatePolicy, four_sources, long_run_cycle
    >>> cycle = long_run_cycle(four_sources(), LPUpdatePolicy(four_sources()), 1)
    >>> round(cycle.average_reward, 2)
    260.39
    """

    sources: Sources
    epochs: int = 5
    known: dict[tuple[int, bytes], Floats] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        set_fields(self, epochs=check_integer("epochs", self.epochs, 1, MOST_EPOCHS))
        check_unit_costs(self.sources)

    def select(
        self, observation: Observation, budget: int, rng: np.random.Generator | None = None
    ) -> Arms:
        """Return the `budget` sources that the program most probably crawls now, by ages alone."""
        budget = check_whole("budget", budget, 1, len(self.sources))
        name = (budget, np.asarray(observation.age).tobytes())
        if name not in self.known:
            self.known[name] = self.plan(observation.age, budget)[0]
        crawl = np.round(self.known[name], 9)
        index = whittle_index_at_age(self.sources, observation.age)
        return np.sort(np.lexsort((-index, -crawl))[:budget])

    def plan(self, age: Ints, budget: int) -> tuple[Floats, float]:
        """Solve the program from given ages.

        Parameters
        ----------
        age : ndarray of int, shape (N,)
            Ages at the present epoch.
        budget : int or whole float
            Crawls per epoch.

        Returns
        -------
        crawl : ndarray, shape (N,)
            Probability of a crawl now.
        value : float
            Reward of all epochs together.
        """
        size, patterns = len(self.sources), _patterns(self.epochs)
        value = self._rewards(np.asarray(age), patterns)
        count = patterns.shape[0]
        solution = linprog(
            -value.ravel(),
            # Sparse: in dense form the second takes N^2 entries a pattern, and most of the time.
            A_ub=hstack([csc_array(patterns.T)] * size),
            b_ub=np.full(self.epochs, float(budget)),
            A_eq=kron(eye_array(size), np.ones((1, count)), format="csc"),
            b_eq=np.ones(size),
            method="highs",
        )
        if solution.status:
            raise NotConverged(f"the program of {self.epochs} epochs: {solution.message}")
        mixture = solution.x.reshape(size, count)
        return mixture @ patterns[:, 0], float(-solution.fun)

    def _rewards(self, age: Ints, patterns: Floats) -> Floats:
        """Return the content that each source brings under each pattern; shape (N, patterns)."""
        reward = np.zeros((len(self.sources), patterns.shape[0]))
        now = np.repeat(age[:, None].astype(float), patterns.shape[0], axis=1)
        for crawled in patterns.T:
            reward += crawled * self.sources.state_at_age(now.T).T
            now = np.where(crawled > 0, 1.0, now + 1.0)
        return reward


def _patterns(epochs: int) -> Floats:
    """Return every choice of epochs at which to crawl, one a row."""
    return np.array(list(product((0.0, 1.0), repeat=epochs)))


def _generator(budget_asked: int, own: int, rng: np.random.Generator | None) -> np.random.Generator:
    """Return `rng`; raise naming `rng` if there is none, `budget` if it is not the policy's own."""
    check_whole("budget", budget_asked, own, own)
    if rng is None:
        raise ValueError("rng must be a numpy.random.Generator for a policy that draws")
    return check_rng(rng)


def _single(sources: Sources, budget: int) -> tuple[int, SingleSourcePolicies]:
    """Return the budget as an integer, and the relaxed problem's policies; refuse unequal costs."""
    check_kind("sources", sources, Sources)
    budget = check_whole("budget", budget, 1, len(sources))
    check_unit_costs(sources)
    return budget, SingleSourcePolicies.of(sources, budget)
