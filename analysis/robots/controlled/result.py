"""What is known of a policy of the controlled queue once it has been evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from analysis.arrays import Bools, Floats, Ints, read_only_arrays
from analysis.display import brief


@brief
@read_only_arrays
@dataclass(frozen=True)
class ControlSolution:
    """A policy of the controlled queue and what it costs.

    Attributes
    ----------
    gain : float
        Cost per unit of time, theta = gamma * starvation + loss_rate.
    bias : ndarray, shape (K + 1, N + 1)
        Relative values V(q, r), nan at (0, 0), which is never entered.
    policy : ndarray of bool, shape (K + 1, N + 1)
        Whether a robot is started when q pages are left and r robots are active.
    method : {"censored", "sparse"}
        How the policy was evaluated. By censoring, the gain has its relative accuracy, and the
        policy was decided in each state to the accuracy of that state's own costs, however small
        both are; by sparse elimination, the digits of a gain below `residual` are rounding.
    iterations : int
        Policies that were evaluated.
    residual : float
        Largest violation of the equation that `gain` and `bias` solve, in the unit of the gain; the
        true gain is no farther away.
    converged : bool
        True; a solver that does not settle raises `NotConverged`.
    occupancy : ndarray, shape (K + 1, N + 1)
        Stationary probability of each state.
    starvation : float
        Fraction of time with an empty queue.
    loss_rate : float
        Pages lost per unit of time.
    mean_robots : float
        Mean number of active robots.
    min_robots, max_robots : int
        Fewest and most active robots in the recurrent states.
    """

    gain: float
    bias: Floats = field(repr=False)
    policy: Bools = field(repr=False)
    method: str
    iterations: int
    residual: float
    converged: bool
    occupancy: Floats = field(repr=False)
    starvation: float
    loss_rate: float
    mean_robots: float
    min_robots: int
    max_robots: int

    @property
    def is_switching_curve(self) -> bool:
        """Whether activation stops at one queue length f(r), which does not rise with r."""
        table = self.policy[:, :-1].copy()
        table[0, 0] = True
        falling = (table[1:] <= table[:-1]).all() and (table[:, 1:] <= table[:, :-1]).all()
        return bool(falling)

    @property
    def curve(self) -> Ints:
        """The curve f(r), r < N: a robot is started when at most f(r) pages are left (-1: never).

        Raises ValueError if the policy is not a monotone switching curve.
        """
        if not self.is_switching_curve:
            raise ValueError("policy must be a monotone switching curve to be read as one")
        return self.policy[:, :-1].sum(axis=0) - 1

    @property
    def last_start(self) -> int:
        """The most active robots at which one more is started as the queue empties (Table 2).

        Raises ValueError if a robot is never started there.
        """
        starts = np.flatnonzero(self.policy[0])
        if not starts.size:
            raise ValueError("policy must start a robot at an empty queue")
        return int(starts[-1])
