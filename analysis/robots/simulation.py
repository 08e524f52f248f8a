r"""The queue of pages as a discrete-event simulation in Ciw, independent of every formula.

Pages come from N robots, of which some are active.  Ciw draws the events of all N robots (a Poisson
stream of rate lambda N) and those of robots that are not active are dropped; queue, losses and
service are Ciw's own.  A table says, as in `control`, whether a robot is started
when q pages are left and r robots are active; without one all robots stay active.

Ciw (Palmer, Knight, Harper and Hawa 2019) is needed by this module only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ciw  # type: ignore[import-untyped]
import numpy as np
from ciw.arrival_node import ArrivalNode  # type: ignore[import-untyped]

from analysis.arrays import Bools, Floats
from analysis.checks import (
    Rng,
    check_array,
    check_booleans,
    check_integer,
    check_number,
    check_positive,
    check_rng,
)

Sampler = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class SimulatedQueue:
    """Averages over one run.

    The fraction of time with an empty queue, pages lost per unit of time, and the mean number of
    active robots.
    """

    starvation: float
    loss_rate: float
    mean_robots: float

    def cost(self, gamma: float) -> float:
        """Return gamma * starvation + loss rate."""
        return gamma * self.starvation + self.loss_rate


class _Draws(ciw.dists.Distribution):
    """Numbers from a NumPy generator, drawn in blocks."""

    def __init__(self, sample: Callable[[int], Floats]) -> None:
        self._sample_block = sample
        self._block: Iterator[Any] = iter(())

    def sample(self, t: float | None = None, ind: Any = None) -> float:
        for value in self._block:
            return float(value)
        self._block = iter(self._sample_block(4096))
        return self.sample(t, ind)


class _Crawl:
    """The robots, and the time integrals of queue and robots from the end of the warm-up."""

    def __init__(self, robots: int, capacity: int, policy: Any, warmup: float) -> None:
        self.robots, self.capacity, self.policy, self.warmup = robots, capacity, policy, warmup
        self.active, self.queue = robots, 0
        self.clock = self.empty_time = self.robot_time = 0.0
        self.losses = 0

    def advance(self, now: float) -> None:
        span = max(0.0, now - max(self.clock, self.warmup))
        self.empty_time += span * (self.queue == 0)
        self.robot_time += span * self.active
        self.clock = now

    def decide(self) -> None:
        if self.active < self.robots and self.policy[self.queue, self.active]:
            self.active += 1

    def arrive(self, now: float) -> None:
        self.advance(now)
        if self.queue == self.capacity:
            self.losses += now > self.warmup
        self.queue = min(self.queue + 1, self.capacity)
        self.active -= 1
        self.decide()

    def depart(self, now: float) -> None:
        self.advance(now)
        self.queue -= 1
        if self.queue == 0 and self.active == 0:
            self.active = 1
        else:
            self.decide()


def _nodes(crawl: _Crawl, rng: np.random.Generator) -> tuple[type, type]:
    """Return Ciw's arrival node and service node, tied to the robots."""

    class Robots(ArrivalNode):
        def release_individual(self, next_node: Any, next_individual: Any) -> None:
            if rng.random() * crawl.robots >= crawl.active:
                self.simulation.nodes[-1].accept(next_individual, completed=False)
                return
            crawl.arrive(self.next_event_date)
            super().release_individual(next_node, next_individual)

    class Index(ciw.Node):
        def release(self, next_individual: Any, next_node: Any, reroute: bool = False) -> None:
            super().release(next_individual, next_node, reroute)
            crawl.depart(self.now)
            if crawl.queue != self.number_of_individuals:
                raise RuntimeError("the tracked queue length differs from Ciw's")

    return Robots, Index


def _times(drawn: Floats, size: int) -> Floats:
    """Return indexing times that the caller's law drew, if they are times and as many as asked."""
    times = check_array("times of service", drawn, 0)
    if times.shape != (size,):
        raise ValueError(f"times of service must have shape ({size},), got {times.shape}")
    return times


def simulate_queue(
    robots: int,
    arrival_rate: float,
    capacity: int,
    service: Sampler,
    *,
    horizon: float,
    warmup: float = 0.0,
    policy: Bools | None = None,
    rng: Rng,
) -> SimulatedQueue:
    """Simulate the queue of pages in Ciw over a horizon, all robots active at first.

    The capacity is at least 2; ``service(rng, size)`` draws indexing times; what happens before the
    end of the warm-up is not counted. `policy`, shape (capacity + 1, robots + 1), says whether a
    robot is started when q pages are left and r are active; by default always.
    """
    rng = check_rng(rng)
    robots, capacity = check_integer("robots", robots, 1), check_integer("capacity", capacity, 2)
    arrival_rate = check_positive("arrival_rate", arrival_rate)
    horizon = check_positive("horizon", horizon)
    warmup = check_number("warmup", warmup, 0.0, horizon, high_open=True)
    shape = (capacity + 1, robots + 1)
    table = np.ones(shape, dtype=np.bool_) if policy is None else check_booleans("policy", policy)
    if table.shape != shape:
        raise ValueError(f"policy must have shape {shape}, got {table.shape}")
    crawl = _Crawl(robots, capacity, table, warmup)
    mean_gap = 1.0 / (robots * arrival_rate)
    network = ciw.create_network(
        arrival_distributions=[_Draws(lambda size: rng.exponential(mean_gap, size))],
        service_distributions=[_Draws(lambda size: _times(service(rng, size), size))],
        number_of_servers=[1],
        queue_capacities=[capacity - 1],
    )
    arrival_class, node_class = _nodes(crawl, rng)
    run = ciw.Simulation(network, arrival_node_class=arrival_class, node_class=node_class)
    run.simulate_until_max_time(horizon)
    crawl.advance(horizon)
    rejected = run.get_all_records(only=["rejection"])
    if sum(record.arrival_date > warmup for record in rejected) != crawl.losses:
        raise RuntimeError("the tracked rejections differ from Ciw's")
    time = horizon - warmup
    return SimulatedQueue(crawl.empty_time / time, crawl.losses / time, crawl.robot_time / time)
