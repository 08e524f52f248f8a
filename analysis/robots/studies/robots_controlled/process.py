"""The draft's decision process of section 3.1, state by state, and its Lemma 4.

Each claim is evaluated on a small process and on what the draft prints of it, so that another
process, or another wording, gives another verdict.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from analysis.mdp import policy_iteration
from analysis.robots.controlled.control import RobotControl
from analysis.robots.printed.fullchain import (
    MISPRINTS,
    FullChain,
    full_chain,
)

Floats = NDArray[np.float64]


def printed_fictitious(model: RobotControl, q: int, r: int) -> float:
    """Return the probability of a fictitious event as the draft prints it."""
    return ((model.robots - r) * model.arrival_rate + model.service_rate) / model.event_rate


@dataclass(frozen=True)
class Process:
    """A small process, and what the draft says of it where a word can be right or wrong.

    Attributes
    ----------
    model : RobotControl
        With two robots, as in the draft's example.
    chain : FullChain
        Its decision process with the misprints of (19) and (20) corrected.
    printed : dict of str to float or str
        The optimal cost with one line taken as printed, or why it is no process.
    leaves : str
        Why line 3 of (20) as printed is no process with more robots than places; "" if it is one.
    randomised : float
        Least cost of the chain over all randomised stationary policies.
    """

    model: RobotControl
    chain: FullChain
    printed: dict[str, float | str]
    leaves: str
    randomised: float

    @property
    def gain(self) -> float:
        """Optimal cost of the chain."""
        return cost_of(self.chain)


def cost_of(chain: FullChain) -> float:
    """Return the optimal average cost of a decision process."""
    return -float(policy_iteration(chain.transitions, -chain.costs).gain)


def small_process(model: RobotControl, more_robots: int = 5) -> Process:
    """Build the process of a small model, and with the lines of (19) and (20) as printed."""
    many = RobotControl(
        more_robots, model.arrival_rate, model.service_rate, model.capacity, model.gamma
    )
    leaves = printed_line(many, "20.3")
    chain = full_chain(model)
    return Process(
        model,
        chain,
        {line: printed_line(model, line) for line in MISPRINTS},
        leaves if isinstance(leaves, str) else "",
        randomised_optimum(chain),
    )


def printed_line(model: RobotControl, line: str) -> float | str:
    """Return the optimal cost with a line as printed, or why it makes no process."""
    try:
        return cost_of(full_chain(model, misprints=(line,)))
    except ValueError as error:
        return str(error).partition("got ")[2]


@dataclass(frozen=True)
class PolicyCosts:
    """All pure stationary policies of a small process.

    Attributes
    ----------
    costs : ndarray, shape (policies, states)
        W_pi(x), the long-run average of (22).
    classes : ndarray of int, shape (policies,)
        Recurrent classes of each.
    early : ndarray, shape (policies, states)
        The average over the first `steps` events.
    steps : int
    """

    costs: Floats
    classes: NDArray[np.int64]
    early: Floats
    steps: int


def all_policies(chain: FullChain, doublings: int = 30, early: int = 12) -> PolicyCosts:
    """Evaluate every pure stationary policy of a small process by powers of its chain.

    The limit of the powers of the lazy chain (P + I)/2 is that of the averages of the powers of P;
    its trace counts the recurrent classes.
    """
    free = np.flatnonzero(np.isfinite(chain.costs).all(axis=0))
    forced = np.where(np.isfinite(chain.costs[0]), 0, 1)
    policies = np.tile(forced, (2 ** len(free), 1))
    policies[:, free] = list(itertools.product((0, 1), repeat=len(free)))
    both = np.stack([table.toarray() for table in chain.transitions])
    states = np.arange(len(chain.states))
    matrices = both[policies, states]
    costs = chain.costs[policies, states]
    lazy = (matrices + np.eye(len(states))) / 2
    for _ in range(doublings):
        lazy = lazy @ lazy
        lazy /= lazy.sum(axis=2, keepdims=True)  # keep rounding from growing
    power, total = matrices, costs[..., None]
    for _ in range(early):  # the sum over 2n steps from that over n
        total = total + power @ total
        power = power @ power
    return PolicyCosts(
        (lazy @ costs[..., None])[..., 0],
        np.rint(np.trace(lazy, axis1=1, axis2=2)).astype(np.int64),
        total[..., 0] / 2**early,
        2**early,
    )


def randomised_optimum(chain: FullChain) -> float:
    """Return the least average cost over all randomised stationary policies, by linear programming.

    Over x(s, a) >= 0 with sum 1 and as much flow into each state as out of it.
    """
    allowed = [np.isfinite(row) for row in chain.costs]
    costs = np.concatenate([row[may] for row, may in zip(chain.costs, allowed, strict=True)])
    moves = sparse.vstack([t[may] for t, may in zip(chain.transitions, allowed, strict=True)])
    stays = sparse.vstack([sparse.eye_array(may.size, format="csr")[may] for may in allowed])
    equations = sparse.vstack([(moves - stays).T, np.ones((1, costs.size))])
    right = np.zeros(equations.shape[0])
    right[-1] = 1.0
    return float(linprog(costs, A_eq=equations, b_eq=right).fun)
