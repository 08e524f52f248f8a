r"""The exact optimum of small systems of sources and an engine, and what policies earn in them.

At each epoch at most M sources are crawled, one after another; each crawl takes the pages of a
window and they join the queue, as in `analysis.joint.index`. Then the engine works for an epoch:
it indexes a Poisson number of pages of mean s T, or all that there are. What a batch that finds q
pages is worth is booked when it joins: first come first served, nothing that is done later changes
it. So the ages and q are all of the state of a Markov decision problem of A^N (K+1) states.

Ages stop at A: a source left alone for longer counts as of age A, and a crawl then takes the pages
younger than A epochs. That is a policy of the endless system if its crawls may leave pages of more
than A epochs, so the optimum here is then not above the endless one. Without those pages, all
others are indexed no later and no fewer find room, so that any policy, of whole crawls or not,
loses at most what those pages are worth when they are crawled:

    endless optimum <= optimum + (sum of the M largest u*_i alpha_i^A).

Where each crawl must take all pages, the endless optimum can be the smaller one.

Values come from `analysis.mdp` with a bound on their error, `residual`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.stats import poisson

from analysis.arrays import Floats, Ints
from analysis.checks import (
    check_array,
    check_choice,
    check_integer,
    check_kind,
    check_number,
    check_whole,
    set_fields,
)
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.joint.index import (
    INDICES,
    ORDERS,
    Engine,
    batch_value,
    crawl_reward,
    frozen_index,
    frozen_reward,
    priced_index,
)
from analysis.joint.relaxed import PricedSolution, priced_problem
from analysis.mdp import policy_iteration, stationary_law
from analysis.mdp.problem import check_policy, policy_chain
from analysis.results import AverageSolution

LARGEST_SYSTEM = 50_000_000
"""Entries of the transition matrices together, at most."""


@dataclass(frozen=True)
class JointSystem:
    """Sources, a budget of crawls and an engine, with ages up to a largest one.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1.
    budget : int or whole float
        Crawls per epoch at most, M, from 1 to N.
    engine : Engine
        The engine.
    ages : int
        Largest age A in epochs.
    windows : sequence of float
        Windows in epochs among which a crawl may choose; ``inf`` takes all pages.
    order : {"freshest", "random"}
        Order in which the pages of a crawl join the queue.

    Raises
    ------
    ValueError
        If an argument is out of range or the system is too large.

    Examples
    --------
    >>> from analysis.ephemeral import Sources
    >>> system = JointSystem(Sources([1.0, 2.0], [1.0, 0.5], [0.5, 0.7]), 1, Engine(2.0, 4), 5)
    >>> round(system.solve().gain, 4), round(system.gain(system.index_policy("blind")), 4)
    (0.518, 0.4053)
    """

    sources: Sources
    budget: int
    engine: Engine
    ages: int
    windows: tuple[float, ...] = (np.inf,)
    order: str = "freshest"

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_unit_costs(self.sources)
        check_kind("engine", self.engine, Engine)
        windows = check_array("windows", self.windows, 0, low_open=True, finite=False)
        if windows.ndim != 1 or not windows.size or np.unique(windows).size != windows.size:
            raise ValueError(f"windows must be a list of different lengths, got {windows.tolist()}")
        set_fields(
            self,
            budget=check_whole("budget", self.budget, 1, len(self.sources)),
            ages=check_integer("ages", self.ages, 1, 1000),
            windows=tuple(windows.tolist()),
            order=check_choice("order", self.order, ORDERS),
        )
        entries = float(self.ages) ** len(self.sources) * (self.engine.places + 1.0) ** 2
        choices = len(self.sources) * len(self.windows)
        actions = sum(float(choices) ** crawls for crawls in range(self.budget + 1))
        if entries * actions > LARGEST_SYSTEM:
            raise ValueError(
                "sources, ages, windows and places of the engine must make at most "
                f"{LARGEST_SYSTEM:.2g} possible transitions, got {entries * actions:.2g}"
            )

    @cached_property
    def actions(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """What may be crawled at an epoch: pairs of source and window, in the order of crawling."""
        windows = range(len(self.windows))
        return tuple(
            tuple(zip(chosen, widths, strict=True))
            for crawls in range(self.budget + 1)
            for chosen in permutations(range(len(self.sources)), crawls)
            for widths in product(windows, repeat=crawls)
        )

    @cached_property
    def states(self) -> tuple[Ints, Ints]:
        """Ages, shape (states, N), and lengths of the queue, shape (states,)."""
        shape = (self.ages,) * len(self.sources) + (self.engine.places + 1,)
        *age, queue = np.indices(shape).reshape(len(shape), -1)
        return np.stack(age, axis=1) + 1, queue

    @property
    def age_error(self) -> float:
        """How much more can be earned per epoch at most if ages do not stop at A."""
        lost = self.sources.u_star * np.exp(-self.sources.decay * self.ages)
        return float(np.sort(lost)[-self.budget :].sum())

    def solve(self, tolerance: float = 1e-9) -> AverageSolution:
        """Return the optimum, by policy iteration; its policy numbers the `actions`.

        Parameters
        ----------
        tolerance : float
            Largest error of the gain, relative to the largest reward of an epoch.

        Raises
        ------
        NotConverged
            If the solver does not get there.
        """
        return policy_iteration(*self.problem, tolerance=tolerance)

    def gain(self, policy: ArrayLike) -> float:
        """Return what a policy earns per epoch, from ages A and an empty queue.

        Parameters
        ----------
        policy : array_like of int, shape (states,)
            Number of the action in each state.

        Raises
        ------
        ValueError
            If the policy has a wrong shape or an action that there is not.
        """
        transitions, rewards = self.problem
        chosen = check_policy("policy", policy, rewards)
        rows = policy_chain(sparse.vstack(transitions).tocsr(), chosen)
        law = stationary_law(rows, chosen.size - 1 - self.engine.places)
        return float(law @ rewards[chosen, np.arange(chosen.size)])

    def index_policy(
        self, index: str = "blind", *, price: float = 0.0, stop: int | None = None
    ) -> Ints:
        """Return the policy that crawls the M sources of the largest positive index.

        Parameters
        ----------
        index : {"blind", "priced", "frozen"}
            That of part I; with a price a page; with a price and the length of the queue.
        price : float
            Price of a page, for "priced" and "frozen". Each crawl then takes the window of
            `windows` that is worth most, less its pages.
        stop : int, optional
            Length of the queue above which nothing is crawled; K by default, never.

        Returns
        -------
        ndarray of int, shape (states,)

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        check_choice("index", index, INDICES)
        price = check_number("price", price, 0, high_open=True)
        places = self.engine.places
        stop = check_integer("stop", places if stop is None else stop, 0, places)
        number = {action: i for i, action in enumerate(self.actions)}
        ages, queues = self.states
        policy = np.zeros(queues.size, dtype=np.int64)
        for queue in range(stop + 1):
            at = np.flatnonzero(queues == queue)
            score, widths = self._scores(index, price, ages[at], queue)
            order = np.argsort(-score, axis=1, kind="stable")[:, : self.budget]
            for state, chosen in zip(at, order, strict=True):
                row = state // (places + 1)
                policy[state] = number[
                    tuple((i, int(widths[row, i])) for i in chosen.tolist() if score[row, i] > 0)
                ]
        return policy

    def _scores(self, index: str, price: float, ages: Ints, queue: int) -> tuple[Floats, Ints]:
        """Return index and best window of each source by ages, for one length of the queue."""
        if index == "blind":
            score = whittle_index_at_age(self.sources, ages)
            return score, np.full(ages.shape, int(np.argmax(self.windows)))
        fresh = not (len(self.windows) == 1 and np.isinf(self.windows[0]))
        if index == "priced":
            score = priced_index(self.sources, ages, price, fresh)
            worth = [crawl_reward(self.sources, np.minimum(ages, m), price) for m in self.windows]
        else:
            queued = partial(
                frozen_reward, self.sources, self.engine, queue=queue, price=price, order=self.order
            )
            index_of = partial(
                frozen_index, self.sources, self.engine, queue=queue, price=price, order=self.order
            )
            score = index_of(age=ages, fresh=fresh and self.order == "freshest")
            worth = [queued(age=np.minimum(ages, m)) for m in self.windows]
        return score, np.argmax(worth, axis=0)

    @cached_property
    def problem(self) -> tuple[Sequence[sparse.csr_array], Floats]:
        """Transitions and rewards, as the solvers of `analysis.mdp` take them."""
        places, size = self.engine.places, len(self.sources)
        batches = self._batches()
        work = _indexing_law(self.engine.index_rate * self.sources.period, places)
        ages = self.states[0][:: places + 1]
        strides = self.ages ** np.arange(size - 1, -1, -1, dtype=np.int64)
        queue = np.arange(places + 1)
        transitions, rewards = [], []
        for action in self.actions:
            joined, worth = self._joined(action, ages, batches)
            older = np.minimum(ages + 1, self.ages)
            older[:, [source for source, _ in action]] = 1
            target = (older - 1) @ strides
            columns = np.broadcast_to(
                target[:, None, None] * (places + 1) + queue, joined.shape
            ).ravel()
            starts = np.arange(0, columns.size + 1, places + 1)
            shape = (worth.size, worth.size)
            moves = sparse.csr_array(((joined @ work).ravel(), columns, starts), shape=shape)
            moves.eliminate_zeros()
            transitions.append(moves)
            rewards.append(worth.ravel())
        return transitions, np.array(rewards)

    def _joined(
        self, action: tuple[tuple[int, int], ...], ages: Ints, batches: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the law of the queue after the crawls of an action, and their worth, by ages."""
        moves, values = batches
        law = np.broadcast_to(
            np.eye(self.engine.places + 1), (len(ages), *[self.engine.places + 1] * 2)
        )
        worth = np.zeros((len(ages), self.engine.places + 1))
        for source, width in action:
            age = ages[:, source] - 1
            worth = worth + (law @ values[source, width, age][:, :, None])[:, :, 0]
            law = law @ moves[source, width, age]
        return law, worth

    def _batches(self) -> tuple[Floats, Floats]:
        """Law and value of each batch, by source, window, age and the queue that it finds."""
        ages, windows = np.arange(1.0, self.ages + 1), np.array(self.windows)
        oldest = np.minimum(ages[None, :, None], windows[:, None, None])
        oldest = oldest * np.full(len(self.sources), self.sources.period)
        return batch_moves(self.sources, self.engine, oldest, self.order)


def batch_moves(
    sources: Sources, engine: Engine, oldest: Floats, order: str = "freshest"
) -> tuple[Floats, Floats]:
    """Return the law of the queue after each batch, (N, ..., K+1, K+1), and its worth.

    Rows of the law are the queue that the batch finds, columns the one that it leaves; the worth
    has shape (N, ..., K+1). `oldest`, shape (..., N), is the age of the oldest pages taken, in
    units of time.
    """
    places = engine.places
    values = np.stack(
        [batch_value(sources, engine, oldest, q, order)[0] for q in range(places + 1)], axis=-1
    )
    mean = np.moveaxis(oldest * sources.arrival_rate, -1, 0)
    moves = np.zeros((*mean.shape, places + 1, places + 1))
    for q in range(places + 1):
        room = places - q
        moves[..., q, q:places] = poisson.pmf(np.arange(room), mean[..., None])
        moves[..., q, places] = poisson.sf(room - 1, mean)
    return moves, np.moveaxis(values, -2, 0)


def delay_bound(sources: Sources, budget: float, engine: Engine) -> PricedSolution:
    """Return a bound on what any policy earns that counts the delay of indexing.

    At most s T pages are indexed per epoch on average. Whatever the order, a page that is taken up
    at time t after its crawl keeps e^{-mu t} delta of its worth, at most delta: the relaxed problem
    with windows and with the worth of a new page times delta is above every policy.

    Parameters
    ----------
    sources : Sources
        N sources.
    budget : float
        Cost of crawls per epoch.
    engine : Engine
        The engine; indexing that has begun goes on to its end.

    Returns
    -------
    PricedSolution

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> from analysis.ephemeral import four_sources
    >>> round(delay_bound(four_sources(), 1, Engine(500.0, 100)).bound, 2)
    260.11
    """
    check_kind("sources", sources, Sources)
    check_kind("engine", engine, Engine)
    slowed = replace(sources, mean_utility=sources.mean_utility * engine.retention(sources))
    return priced_problem(slowed, budget, engine.index_rate * sources.period, fresh=True)


def _indexing_law(mean: float, places: int) -> Floats:
    """Return the law of the queue after an epoch of a Poisson number of completions."""
    queue_before, queue_after = np.indices((places + 1, places + 1))
    return np.where(
        queue_after == 0,
        poisson.sf(queue_before - 1, mean),
        np.where(queue_after <= queue_before, poisson.pmf(queue_before - queue_after, mean), 0.0),
    )
