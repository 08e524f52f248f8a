"""What the page `robots-and-sources` computes: switching curves, running costs, random systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.arrays import Ints
from analysis.ephemeral import Sources
from analysis.joint import Engine, RobotSystem, delay_bound

#: Ages of the example, and of the random systems, whose many rules are all evaluated.
AGES, DRAWN_AGES = 4, 3


def example(
    return_rate: float, index_rate: float, places: int, starvation: float, loss: float
) -> RobotSystem:
    """Return the system of the figures: two equal sources and a robot for each."""
    sources = Sources(np.full(2, 1.5), np.ones(2), np.full(2, 0.4))
    return RobotSystem(sources, 2, return_rate, Engine(index_rate, places), AGES, starvation, loss)


def curves(system: RobotSystem, policy: Ints) -> pd.DataFrame:
    """Return up to which queue a robot is sent to the first source, by its age.

    Columns age; alone, with no other robot in flight, and second, with one in flight to the other
    source: the largest queue at which a robot is sent, -1 for none. The other source has its age
    just after a crawl.
    """
    age, flying, queue = system.states
    rows = []
    for k in range(system.ages + 1):
        row: list[int] = [k]
        for out in (False, True):
            here = (age[:, 0] == k) & (age[:, 1] == 0) & ~flying[:, 0] & (flying[:, 1] == out)
            sent = queue[here & (policy == 1)]
            row.append(int(sent.max()) if sent.size else -1)
        rows.append(row)
    return pd.DataFrame(rows, columns=["age", "alone", "second"])


def is_switching(system: RobotSystem, policy: Ints) -> bool:
    """Return whether a robot that is sent at a queue is also sent at each shorter one."""
    sends = (policy > 0).reshape(-1, system.engine.places + 1).astype(np.int8)
    return bool((np.diff(sends, axis=1) <= 0).all())


def blind(system: RobotSystem, *, stops: bool) -> float:
    """Return the largest gain over numbers of robots that follow the index of part I.

    With `stops` also over the length of the queue above which no robot is sent.
    """
    lengths = range(system.engine.places + 1) if stops else (None,)
    return max(
        system.operation(system.blind_policy(robots, stop)).gain
        for robots in range(system.robots + 1)
        for stop in lengths
    )


def by_running_cost(system: RobotSystem, most: float, points: int) -> pd.DataFrame:
    """Return gains and robots in flight by the cost of a robot per unit of time.

    Columns running; optimum, rule, stopped, fixed: gains per unit of time; robots, rule robots:
    means in flight; idle: share of time at the optimum.
    """
    rows = []
    for running in np.linspace(0.0, most, points):
        dear = replace(system, running=float(running))
        best, rule = dear.solve(), dear.tuned_rule()
        found, followed = dear.operation(best.policy), dear.operation(rule.policy)
        gains = (found.gain, rule.gain, blind(dear, stops=True), blind(dear, stops=False))
        rows.append((running, *gains, found.robots, followed.robots, found.idle))
    names = ["running", "optimum", "rule", "stopped", "fixed", "robots", "rule robots", "idle"]
    return pd.DataFrame(rows, columns=names)


def drawn(rng: np.random.Generator) -> RobotSystem:
    """Return two random sources, one or two robots, an engine, and any of the three costs."""
    ranges = ((-0.7, 0.7), (-0.7, 0.7), (-1.0, 0.5))
    arrival, worth, decay = (10.0 ** rng.uniform(low, high, 2) for low, high in ranges)
    engine = Engine(10.0 ** rng.uniform(-0.5, 1), int(rng.integers(2, 6)))
    costs = rng.integers(0, 2, 3) * 10.0 ** rng.uniform([-1, -2, -2], [0.5, 0, 0])
    robots, rate = int(rng.integers(1, 3)), 10.0 ** rng.uniform(-0.7, 0.7)
    return RobotSystem(Sources(arrival, worth, decay), robots, rate, engine, DRAWN_AGES, *costs)


def losses(instances: int, seed: int) -> pd.DataFrame:
    """Return losses of rules against the optimum on random systems.

    A loss is a share of the sum of the relaxed bound on rewards and the cost of a unit of
    starvation, a scale that does not vanish where costs nearly cancel the rewards.

    Columns rule, stopped, fixed: losses; switching: whether the optimum is a switching curve.
    """
    rng = np.random.default_rng([seed, 5])
    rows = []
    for _ in range(instances):
        system = drawn(rng)
        best = system.solve()
        found = system.operation(best.policy)
        period = system.sources.period
        crawls = min(system.robots * system.return_rate * period, len(system.sources))
        bound = delay_bound(system.sources, crawls, system.engine).bound / period
        unit = bound + system.starvation
        earned = (system.tuned_rule().gain, blind(system, stops=True), blind(system, stops=False))
        lost = [max(found.gain - gain, 0.0) / unit for gain in earned]
        rows.append((*lost, is_switching(system, best.policy)))
    return pd.DataFrame(rows, columns=["rule", "stopped", "fixed", "switching"])
