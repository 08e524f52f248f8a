r"""Robots that visit sources and feed an engine: how many to send, and to which source.

A robot that is sent to a source returns after an exponential time of rate lambda, takes what the
source has at that moment, and stops; one robot at a source at a time, R robots in all. Its pages
join the queue as in `analysis.joint.index`. Age is counted in epochs, which here end at the ticks
of a Poisson clock of rate 1/T, up to a largest age A. After each event, a return, an indexed page
or a tick, one robot may be sent. A unit of time costs gamma while the engine is idle and `running`
for each robot in flight, and a lost page costs `loss`. So the state (ages, robots in flight, q) is
that of a Markov decision problem of (A+1)^N 2^N (K+1) states.

*The robot study.* If every robot brings one page, worth nothing, whatever the age, this is its
controlled queue: the same events, decisions and costs, `loss` = 1.

*Its cost is a price.* Pages are indexed at rate s while the engine is busy, so that the idle
share of time is 1 - (pages that find room per unit of time) / s, and

    gamma P(idle) + loss x (pages lost) = gamma - sum over pages { gamma/s if it finds room,
                                                                   -loss  if it does not }.

Starvation is thus a page price of -gamma/s: a crawl that finds q pages at age k is worth

    R(k|q) = (worth when indexed) + (gamma/s) (pages that find room) - loss (pages that do not).

*Index of a flight.* A flight takes d epochs on average. Let R~(k|q) be the mean of R over the age
and the queue on return, when a robot is sent at k and q and no other is in flight. One source
alone, visited whenever its age reaches k, earns (R~(k|q) - b)/(k + d) an epoch if a flight costs b,
and

    gamma(k|q) = R~(k|q) - (k + d) [R~(k+1|q) - R~(k|q)]

is the cost at which k and k+1 tie, the index of `analysis.joint.index` at d = 0.

*Rule of thumb.* A robot is sent to the idle source of the largest index of a flight, if that is
above `running` / lambda, where the queue counts also half the pages that robots in flight are about
to bring. Two numbers are left to be tuned: a price of a page, for what it delays, and a stop, the
sum of pages and robots in flight above which nobody is sent, the straight switching line of the
robot study.

Reference: Talim, Liu, Nain, Coffman (1999), section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.arrays import Bools, Floats, Ints
from analysis.checks import check_integer, check_kind, check_number, check_positive, set_fields
from analysis.ephemeral.index import whittle_index_at_age
from analysis.ephemeral.sources import Sources, check_unit_costs
from analysis.joint.index import Engine
from analysis.joint.optimum import batch_moves
from analysis.mdp import policy_iteration, stationary_law
from analysis.mdp.problem import check_policy, policy_chain
from analysis.results import AverageSolution


class Landings(NamedTuple):
    """What a robot brings, by source, age and the queue that it finds.

    `moves` is the law of the queue afterwards, shape (N, A+1, K+1, K+1); `worth` and `lost` are the
    mean worth when indexed and the mean number of pages lost, shape (N, A+1, K+1).
    """

    moves: Floats
    worth: Floats
    lost: Floats

    @property
    def mean_pages(self) -> Floats:
        """Mean number of pages that a robot brings, by source and age."""
        places = np.arange(self.worth.shape[2])
        return self.moves[:, :, 0] @ places + self.lost[:, :, 0]

    def reward(self, page: float, loss: float) -> Floats:
        """Return what a robot earns, shape (N, A+1, K+1).

        A page that finds room is worth `page` beside its worth when indexed; one lost costs `loss`.
        """
        places = np.arange(self.worth.shape[2])
        room = self.moves @ places - places
        return self.worth + page * room - loss * self.lost


def compute_landings(sources: Sources, engine: Engine, ages: int) -> Landings:
    """Return what a robot brings at ages of 0 to A epochs, freshest page first; nothing at 0."""
    age = np.arange(ages + 1.0)[None, :, None] * sources.period
    oldest = np.broadcast_to(age, (1, ages + 1, len(sources)))
    moves, worth = (table[:, 0] for table in batch_moves(sources, engine, oldest))
    mean = np.outer(sources.arrival_rate, age)[:, :, None]
    places = np.arange(engine.places + 1)
    return Landings(moves, worth, np.maximum(mean - (moves @ places - places), 0.0))


def flight_index(reward: Floats, indexed_in_flight: float, epochs: float) -> Floats:
    """Return the index of a flight by source, age and queue when it begins, shape (N, A+1, K+1).

    `reward` has the same shape, by age and queue at the return; the engine indexes a page before
    that with probability `indexed_in_flight`; a flight takes d = `epochs` on average.
    """
    places = np.arange(reward.shape[2])
    # In flight the queue loses a geometric number of pages, and the age gains one of epochs.
    queue_before, queue_after = np.indices((places.size, places.size))
    transition = np.where(
        queue_after <= queue_before, indexed_in_flight ** (queue_before - queue_after), 0.0
    )
    transition[:, 1:] *= 1 - indexed_in_flight
    reward = np.einsum("iaq,pq->iap", reward, transition)
    older = epochs / (1 + epochs)
    for k in range(reward.shape[1] - 2, -1, -1):
        reward[:, k] = (1 - older) * reward[:, k] + older * reward[:, k + 1]
    later = np.concatenate([reward[:, 1:], reward[:, -1:]], axis=1)
    age = np.arange(reward.shape[1])[:, None]
    index = reward - (age + epochs) * (later - reward)
    best = np.maximum.accumulate(reward, axis=1)
    return np.where(later < reward, np.minimum(index, best), index)


LARGEST_SYSTEM = 20_000_000
"""Possible transitions of all actions together, at most."""
AHEAD = 0.5
"""Share of the pages of robots in flight that a new one is taken to find before it."""
PRICES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Prices that are tried, as shares of the worth of the best new page."""


class Operation(NamedTuple):
    """What a policy does in the long run, per unit of time.

    Attributes
    ----------
    gain : float
        Worth of indexed pages less all costs.
    worth, idle, lost, robots : float
        Worth of indexed pages; share of time for which the engine is idle; pages lost; mean number
        of robots in flight.
    """

    gain: float
    worth: float
    idle: float
    lost: float
    robots: float


class TunedRule(NamedTuple):
    """The rule of thumb with its two numbers, and what it earns per unit of time."""

    gain: float
    price: float
    stop: int
    policy: Ints


@dataclass(frozen=True)
class RobotSystem:
    """Sources, robots that visit them, and the engine that they feed.

    Parameters
    ----------
    sources : Sources
        N sources, with costs of 1; their period is the mean time between two ticks.
    robots : int
        Robots, R, from 1 to N.
    return_rate : float
        lambda: a flight takes 1/lambda units of time on average.
    engine : Engine
        The engine.
    ages : int
        Largest age A in epochs.
    starvation : float
        Cost of a unit of time for which the engine is idle, gamma.
    loss : float
        Cost of a page that finds no room.
    running : float
        Cost of a robot in flight per unit of time.

    Raises
    ------
    ValueError
        If an argument is out of range or the system is too large.

    Examples
    --------
    >>> sources = Sources([1.0, 2.0], [1.0, 0.5], [0.5, 0.7])
    >>> system = RobotSystem(sources, 2, 1.0, Engine(2.0, 4), 3, running=0.1)
    >>> best, rule = system.solve().gain, system.tuned_rule().gain
    >>> round(best, 4), round(rule / best, 3)
    (0.3056, 0.945)
    """

    sources: Sources
    robots: int
    return_rate: float
    engine: Engine
    ages: int
    starvation: float = 0.0
    loss: float = 0.0
    running: float = 0.0

    def __post_init__(self) -> None:
        check_kind("sources", self.sources, Sources)
        check_unit_costs(self.sources)
        check_kind("engine", self.engine, Engine)
        size = len(self.sources)
        rate = check_positive("return_rate", self.return_rate)
        set_fields(
            self,
            robots=check_integer("robots", self.robots, 1, size),
            return_rate=rate,
            ages=check_integer("ages", self.ages, 1, 1000),
            **{
                name: check_number(name, getattr(self, name), 0, high_open=True)
                for name in ("starvation", "loss", "running")
            },
        )
        places = self.engine.places + 1.0
        moves = (2.0 * (self.ages + 1.0)) ** size * places * (size + 1) * (size * places / 2 + 2)
        if moves > LARGEST_SYSTEM:
            raise ValueError(
                "sources, ages and places of the engine must make at most "
                f"{LARGEST_SYSTEM:.2g} possible transitions, got {moves:.2g}"
            )

    @cached_property
    def landings(self) -> Landings:
        """What a robot brings, freshest page first; nothing at age 0."""
        return compute_landings(self.sources, self.engine, self.ages)

    @cached_property
    def states(self) -> tuple[Ints, Bools, Ints]:
        """Ages and whether a robot is in flight, shape (states, N), and lengths of the queue."""
        size, ages, places = self.landings.worth.shape
        shape = (ages,) * size + (2,) * size + (places,)
        grid = np.indices(shape).reshape(len(shape), -1)
        return grid[:size].T.copy(), grid[size:-1].T.astype(bool), grid[-1]

    @cached_property
    def problem(self) -> tuple[list[sparse.csr_array], Floats]:
        """Transitions, uniformised, and rewards per unit of time, as `analysis.mdp` takes them.

        Action 0 sends nobody, action i sends a robot to source i - 1. Where nothing else could
        happen, a robot must be sent.
        """
        actions = [self._action(source) for source in range(-1, len(self.sources))]
        return [chain for chain, _ in actions], np.array([reward for _, reward in actions])

    @property
    def _event_rate(self) -> float:
        ticks = 1.0 / self.sources.period
        return self.engine.index_rate + ticks + self.return_rate * len(self.sources)

    def _action(self, source: int) -> tuple[sparse.csr_array, Floats]:
        """Return chain and rewards when a robot is sent to a source, or nobody at -1."""
        age, flying, queue = self.states
        landings = self.landings
        size, ages, places = landings.worth.shape
        allowed = np.ones(queue.size, dtype=bool)
        if source >= 0:
            allowed = ~flying[:, source] & (flying.sum(axis=1) < self.robots)
            flying = flying.copy()
            flying[:, source] = True
        shape = (ages,) * size + (2,) * size + (places,)
        where = np.arange(queue.size)

        def number(age: Ints, flying: Bools, queue: Ints) -> Ints:
            return np.ravel_multi_index((*age.T, *flying.T.astype(np.int64), queue), shape)

        older = np.minimum(age + 1, ages - 1)
        ticks = (older != age).any(axis=1) / self.sources.period
        served = self.engine.index_rate * (queue > 0)
        moves = [
            (where, number(age, flying, np.maximum(queue - 1, 0)), served),
            (where, number(older, flying, queue), ticks),
        ]
        reward = -self.starvation * (queue == 0) - self.running * flying.sum(axis=1)
        for i in range(size):
            home = np.flatnonzero(flying[:, i])
            back, rested = flying[home], age[home]
            brought = landings.moves[i, rested[:, i], queue[home]]
            at = (i, rested[:, i], queue[home])
            reward[home] += self.return_rate * (landings.worth[at] - self.loss * landings.lost[at])
            back, rested = back.copy(), rested.copy()
            back[:, i], rested[:, i] = False, 0
            first = number(rested, back, np.zeros(home.size, dtype=np.int64))
            targets = first[:, None] + np.arange(places)
            rates = self.return_rate * brought
            moves.append((np.repeat(home, places), targets.ravel(), rates.ravel()))
        starts, ends, rates = (np.concatenate(parts) for parts in zip(*moves, strict=True))
        possible = rates > 0
        leaving = np.bincount(starts.astype(np.intp), rates, queue.size)
        allowed &= leaving > 0
        entries = np.append(rates[possible] / self._event_rate, 1.0 - leaving / self._event_rate)
        places_of = (np.append(starts[possible], where), np.append(ends[possible], where))
        chain = sparse.csr_array((entries, places_of), shape=(queue.size, queue.size))
        return chain, np.where(allowed, reward, -np.inf)

    def solve(self, tolerance: float = 1e-9) -> AverageSolution:
        """Return the optimum per unit of time, by policy iteration; its policy numbers the actions.

        Raises
        ------
        NotConverged
            If the solver does not get there.
        """
        return policy_iteration(*self.problem, initial=self.rule(), tolerance=tolerance)

    def operation(self, policy: ArrayLike) -> Operation:
        """Return the long-run measures of a policy, from an empty queue and fresh sources.

        Parameters
        ----------
        policy : array_like of int, shape (states,)
            Number of the action in each state: 0 for none, i for a robot to source i - 1.

        Raises
        ------
        ValueError
            If the policy has a wrong shape or an action that is not allowed.
        """
        transitions, rewards = self.problem
        chosen = check_policy("policy", policy, rewards)
        age, flying, queue = self.states
        every = np.arange(queue.size)
        rows = policy_chain(sparse.csr_array(sparse.vstack(transitions)), chosen)
        law = stationary_law(rows, 0)
        out = flying.copy()
        sent = np.flatnonzero(chosen > 0)
        out[sent, chosen[sent] - 1] = True
        at = (np.arange(age.shape[1]), age, queue[:, None])
        rate = self.return_rate * (law[:, None] * out)
        return Operation(
            gain=float(law @ rewards[chosen, every]),
            worth=float((rate * self.landings.worth[at]).sum()),
            idle=float(law[queue == 0].sum()),
            lost=float((rate * self.landings.lost[at]).sum()),
            robots=float(law @ out.sum(axis=1)),
        )

    def rule(self, price: float = 0.0, stop: int | None = None) -> Ints:
        """Return the rule of thumb: the best crawl at the queue that it will find, if worth it.

        Parameters
        ----------
        price : float
            Price of a page that finds room, for those that come later.
        stop : int, optional
            Pages and robots in flight together above which nobody is sent; K + R by default, never.

        Returns
        -------
        ndarray of int, shape (states,)

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        price = check_number("price", price, 0, high_open=True)
        most = self._longest + self.robots
        stop = check_integer("stop", most if stop is None else stop, 0, most)
        age, flying, queue = self.states
        index, mean = self._index(price), self.landings.mean_pages
        source = np.arange(len(index))
        coming = (flying * mean[source, age]).sum(axis=1)
        expected_queue = np.minimum(queue + AHEAD * coming, self._longest)
        below = np.minimum(np.floor(expected_queue).astype(np.int64), self._longest - 1)[:, None]
        fraction = expected_queue[:, None] - below
        score = (1 - fraction) * index[source, age, below] + fraction * index[
            source, age, below + 1
        ]
        score[queue + flying.sum(axis=1) > stop] = -np.inf
        return self._sent(score, self.running / self.return_rate)

    def tuned_rule(self) -> TunedRule:
        """Return the rule of thumb with the price and the stop that earn the most.

        First the stop is chosen without a price, then a price among `PRICES`, shares of the worth
        of the best new page, then the stop once more. What depends on chance in the long run is
        passed over.
        """
        worth = float(self.sources.mean_utility.max())
        best = TunedRule(-np.inf, 0.0, 0, np.empty(0, dtype=np.int64))
        stops = range(self._longest + self.robots)
        for tried in ("stop", "price", "stop"):
            price, stop = best.price, best.stop
            pairs = (
                [(price, candidate) for candidate in stops]
                if tried == "stop"
                else [(share * worth, stop) for share in PRICES]
            )
            for price, stop in pairs:
                policy = self.rule(price, stop)
                try:
                    gain = self.operation(policy).gain
                except ValueError:  # several recurrent classes can be reached
                    continue
                if gain > best.gain:
                    best = TunedRule(gain, price, stop, policy)
        return best

    def blind_policy(self, robots: int, stop: int | None = None) -> Ints:
        """Return the policy that keeps a number of robots in flight while the queue is short.

        Parameters
        ----------
        robots : int
            Robots kept in flight, from 0 to R.
        stop : int, optional
            Length of the queue above which nobody is sent; K by default, never.

        Returns
        -------
        ndarray of int, shape (states,)
            It sends to the source of the largest index of part I, at age 1 or more.

        Raises
        ------
        ValueError
            If an argument is out of range.
        """
        robots = check_integer("robots", robots, 0, self.robots)
        places = self.engine.places
        stop = check_integer("stop", places if stop is None else stop, 0, places)
        age, flying, queue = self.states
        score = whittle_index_at_age(self.sources, np.maximum(age, 1)) * (age > 0)
        may_send = (flying.sum(axis=1) < robots) & (queue <= stop)
        return self._sent(np.where(may_send[:, None], score, -np.inf), -1.0)

    def _sent(self, score: Floats, least: float) -> Ints:
        """Return the allowed action of largest score above the least; where one must act, any."""
        rewards = self.problem[1]
        score = np.where(np.isfinite(rewards[1:].T), score, -np.inf)
        best = score.argmax(axis=1)
        sends = score[np.arange(len(score)), best] > least
        return np.where(sends | ~np.isfinite(rewards[0]), best + 1, 0)

    @property
    def _longest(self) -> int:
        return self.landings.worth.shape[2] - 1

    def _index(self, price: float) -> Floats:
        """Return the index of each source by age and queue when a robot is sent, (N, A+1, K+1)."""
        return flight_index(
            self.landings.reward(self.starvation / self.engine.index_rate - price, self.loss),
            indexed_in_flight=self.engine.index_rate / (self.engine.index_rate + self.return_rate),
            epochs=1.0 / (self.return_rate * self.sources.period),
        )
