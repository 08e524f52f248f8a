"""The rows of the robot study's Tables 1 and 2, under the conventions with which they come out.

mu = 1. A printed weight that is gamma(K) to its digits stands for gamma(K): 1.13 is 17/15 at
K = 15. Table 1 caps the robots at N_s, prints T h(x_hat) at the stop of Proposition 4 as C_d, and
one more than the number of updates as N_iter. Table 2 has no cap that binds, prints the optimum,
and its N_max is the largest number of active robots at which one more is started as the queue
empties.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.robots.controlled.control import RobotControl, without_cap
from analysis.robots.printed.relative import proposition_4
from analysis.robots.static.mm1k import critical_gamma, optimal_robots, static_cost


@dataclass(frozen=True)
class TableRow:
    """One row of Table 1 or 2.

    Attributes
    ----------
    static_cost, static_robots : float, int
        C_s and N_s.
    stopped_cost : float or None
        C_d where Proposition 4 stops (Table 1 only).
    optimal_cost : float
        The exact optimum.
    min_robots, mean_robots : int, float
        N_min and the mean under the optimal policy.
    last_start : int
        N_max of Table 2.
    updates : int or None
        Updates until Proposition 4 stops (Table 1 only).
    """

    static_cost: float
    static_robots: int
    stopped_cost: float | None
    optimal_cost: float
    min_robots: int
    mean_robots: float
    last_start: int
    updates: int | None


def read_gamma(printed: str, capacity: int, service_rate: float = 1.0) -> float:
    """Return the weight that a printed one stands for: gamma(K) if it rounds to the print."""
    digits = len(printed.partition(".")[2])
    critical = critical_gamma(capacity, service_rate)
    return critical if f"{critical:.{digits}f}" == printed else float(printed)


def _static(arrival_rate: float, capacity: int, gamma: float, mu: float) -> tuple[float, int]:
    robots = optimal_robots(arrival_rate, gamma, capacity, mu)
    return float(static_cost(robots * arrival_rate / mu, gamma, capacity, mu)), robots


def table_1_row(
    arrival_rate: float, capacity: int, gamma: float, service_rate: float = 1.0
) -> TableRow:
    """Return a row of Table 1, where the robots are capped at N_s.

    Parameters
    ----------
    arrival_rate, capacity, gamma, service_rate
        As in `analysis.robots.RobotControl`.
    """
    cost, robots = _static(arrival_rate, capacity, gamma, service_rate)
    model = RobotControl(robots, arrival_rate, service_rate, capacity, gamma)
    optimum, run = model.solve(), proposition_4(model)
    return TableRow(
        cost, robots, run.cost, optimum.gain, optimum.min_robots, optimum.mean_robots,
        optimum.last_start, run.updates,
    )  # fmt: skip


def table_2_row(
    arrival_rate: float, capacity: int, gamma: float, service_rate: float = 1.0
) -> TableRow:
    """Return a row of Table 2, where the robots are not capped.

    Parameters
    ----------
    arrival_rate, capacity, gamma, service_rate
        As in `analysis.robots.RobotControl`.
    """
    cost, robots = _static(arrival_rate, capacity, gamma, service_rate)
    _, optimum = without_cap(arrival_rate, service_rate, capacity, gamma)
    return TableRow(
        cost, robots, None, optimum.gain, optimum.min_robots, optimum.mean_robots,
        optimum.last_start, None,
    )  # fmt: skip
