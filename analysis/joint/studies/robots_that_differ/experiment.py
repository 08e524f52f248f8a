"""What the page `robots-that-differ` computes: two kinds of robots, prices and simple rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.robots import FleetControl, FleetSolution, RobotKind
from analysis.robots.general.linear import LinearRule, tune_rules

#: A loss below this part of the optimal cost is rounding.
ROUNDING = 1e-8

#: Rates and numbers of the fast and the slow robots of the example.
RATES, NUMBERS = (0.8, 0.3), (2, 3)


def example(gamma: float, capacity: int, price: float) -> FleetControl:
    """Return two fast and three slow robots, where a start of a fast one costs `price`."""
    kinds = (RobotKind(RATES[0], NUMBERS[0], RATES[0] * price), RobotKind(RATES[1], NUMBERS[1]))
    return FleetControl(kinds, 1.0, capacity, gamma)


def by_price(gamma: float, capacity: int, most: float, points: int) -> pd.DataFrame:
    """Return costs of the example by the price of the start of a fast robot.

    Columns price; optimum, fast first, slow first, linear: costs per unit of time; fast, slow:
    mean active robots at the optimum.
    """
    rows = []
    for price in np.linspace(0.0, most, points):
        model = example(gamma, capacity, float(price))
        best = model.solve()
        orders = [model.solve(order=order).gain for order in ((0, 1), (1, 0))]
        linear = model.evaluate(tune_rules(model)[1].policy(model)).gain
        rows.append((price, best.gain, *orders, linear, *best.mean_robots))
    names = ["price", "optimum", "fast first", "slow first", "linear", "fast", "slow"]
    return pd.DataFrame(rows, columns=names)


def drawn(rng: np.random.Generator, *, prices: bool) -> FleetControl:
    """Return a random system, the fast kind first.

    The queue has two to four places, each kind one to three robots, mu = 1. The rate of a fast
    robot is 10^u, u uniform on (-1, 0.5); a slow one has a uniform part of it, from 0.1 to 0.9;
    gamma is 10^v, v uniform on (0, 1.3). With prices the start of a robot costs a uniform part of
    gamma, up to a quarter, drawn for each kind on its own.
    """
    capacity = int(rng.integers(2, 5))
    numbers = rng.integers(1, 4, 2).tolist()
    fast = 10.0 ** rng.uniform(-1, 0.5)
    rates = (fast, fast * rng.uniform(0.1, 0.9))
    gamma = 10.0 ** rng.uniform(0, 1.3)
    starts = gamma * rng.uniform(0, 0.25, 2) * prices
    kinds = tuple(
        RobotKind(rate, number, rate * price)
        for rate, number, price in zip(rates, numbers, starts.tolist(), strict=True)
    )
    return FleetControl(kinds, 1.0, capacity, gamma)


def losses(instances: int, seed: int, *, prices: bool) -> pd.DataFrame:
    """Return losses of simple controls against the optimum on random systems.

    Returns: losses as parts of the optimal cost. Columns fast first: the best control that starts
    a slow robot after a departure only where no fast one is idle; one order: the better of this
    and of its mirror image; line: the tuned rule with weights and one threshold; linear: with a
    threshold for each kind.
    """
    rng = np.random.default_rng([seed, int(prices)])
    rows = []
    for _ in range(instances):
        model = drawn(rng, prices=prices)
        best = model.solve()
        orders = order_losses(model, best)
        tuned = [rule_loss(model, rule, best.gain) for rule in tune_rules(model)]
        rows.append((orders[0], min(orders), *tuned))
    return pd.DataFrame(rows, columns=["fast first", "one order", "line", "linear"])


def rule_loss(model: FleetControl, rule: LinearRule, optimum: float) -> float:
    """Return what a rule costs more than the optimum, as a part of the optimum."""
    return max(model.evaluate(rule.policy(model)).gain / optimum - 1, 0.0)


def order_losses(model: FleetControl, best: FleetSolution) -> tuple[float, float]:
    """Return the losses of the best controls that start fast robots first, and slow ones first."""
    lost = []
    for first in (0, 1):
        active = np.indices(model.shape)[1 + first]
        idle = active < model.kinds[first].available
        if ((best.start == 1 - first) & idle).any():
            lost.append(max(model.solve(order=(first, 1 - first)).gain / best.gain - 1, 0.0))
        else:
            lost.append(0.0)  # the optimum itself keeps this order
    return lost[0], lost[1]
