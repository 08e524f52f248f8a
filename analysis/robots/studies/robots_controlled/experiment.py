"""What the page `robots-controlled` computes: printed fleets, policies of a small one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from analysis.arrays import Floats, Ints
from analysis.mdp import policy_iteration, stationary_law
from analysis.mdp.problem import policy_chain
from analysis.results import NotConverged
from analysis.robots.controlled.control import ControlSolution, RobotControl
from analysis.robots.printed import (
    MISPRINTS,
    TOLERANCE,
    FullChain,
    PrintedRun,
    ReferenceRuns,
    every_reference,
    full_chain,
    proposition_4,
)

#: Steps tau at which the number of updates is compared.
STEPS = (0.5, 0.8, 0.9, 0.99, 0.99999)
#: The step tau at which the printed theta is compared with the optimum.
HALF = 0.5
#: A stop tight enough to stand for the limit of Proposition 4.
TIGHT = 1e-11


@dataclass(frozen=True)
class Results:
    """What the page computes for the models of Figures 6 to 8."""

    models: list[RobotControl]  # one for each weight
    optima: list[ControlSolution]  # their exact optima
    # Proposition 4 at the draft's stop, from the reference state (1,1,1) and h_0 = 0.
    runs: list[PrintedRun]
    references: list[ReferenceRuns]  # where it stops from every reference state
    tolerance: float  # bound of the stopping rule
    updates: dict[float, int]  # updates of the middle model by tau
    other_steps: list[list[int]]  # updates of each model at other steps tau
    # The middle model at a tight stop, from random h_0 and several reference states.
    limits: list[PrintedRun]
    # The middle model at a tight stop with tau = 0.5; none where rounding hides the stop.
    half_step: PrintedRun | None
    # Cost of the policy that keeps all robots active, as a policy of the decision process.
    static: list[float]
    gaps: int = 9  # exponential gaps between t_1 = 0 and t_10


def solve_figures(
    models: Sequence[RobotControl], tolerance: float = TOLERANCE, seed: int = 1
) -> Results:
    """Solve the models of the three figures, exactly and as the draft does."""
    middle = models[len(models) // 2]
    return Results(
        models=list(models),
        optima=[model.solve() for model in models],
        runs=[proposition_4(model, tolerance=tolerance) for model in models],
        references=[every_reference(model, tolerance=tolerance) for model in models],
        tolerance=tolerance,
        updates={step: proposition_4(middle, step=step).updates for step in STEPS},
        other_steps=[
            [proposition_4(model, step=step, tolerance=tolerance).updates for step in STEPS[:-1]]
            for model in models
        ],
        limits=from_random_starts(middle, np.random.default_rng(seed)),
        half_step=tight_run(middle, step=HALF),
        static=[model.evaluate(model.static_policy()).gain for model in models],
    )


def from_random_starts(model: RobotControl, rng: np.random.Generator) -> list[PrintedRun]:
    """Run Proposition 4 to a tight stop from random h_0, with a reference state for each event.

    A run is left out where rounding hides when it should stop, as in queues that are hardly ever
    short of pages.
    """
    runs = []
    for q, r, s in ((1, 1, 1), (model.capacity, 0, 0), (0, model.robots, 2)):
        first = rng.normal(0.0, 100.0, (3, *model.shape))
        first[s, q, r] = 0.0
        runs.append(tight_run(model, initial=first, reference=(q, r, s)))
    return [run for run in runs if run]


def tight_run(model: RobotControl, **options: Any) -> PrintedRun | None:
    """Run Proposition 4 to a tight stop; None where rounding hides when to stop."""
    try:
        return proposition_4(model, tolerance=TIGHT, **options)
    except NotConverged:
        return None


@dataclass(frozen=True)
class Census:
    """How many of random models have a monotone switching curve as their optimum."""

    instances: int
    curves: int
    tiny: int


def census(instances: int, rng: np.random.Generator) -> Census:
    """Solve random models and count switching curves, and optima below 1e-8.

    N is up to 39, K up to 29, lambda in [0.01, 10] and gamma in [0.01, 100], with mu = 1.
    """
    curves = tiny = 0
    for _ in range(instances):
        robots, capacity = int(rng.integers(1, 40)), int(rng.integers(2, 30))
        rate, gamma = 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 2)
        optimum = RobotControl(robots, rate, 1.0, capacity, gamma).solve()
        tiny += optimum.gain < 1e-8
        curves += optimum.is_switching_curve
    return Census(instances, curves, tiny)


def hits(found: Results, printed: Sequence[int]) -> list[int]:
    """Return, for each weight, how many reference states give the printed number of updates."""
    return [
        int((table.updates == n).sum()) for table, n in zip(found.references, printed, strict=True)
    ]


def are_curves(optima: Sequence[ControlSolution]) -> bool:
    """Whether every optimum is a switching curve."""
    return all(optimum.is_switching_curve for optimum in optima)


def curves_rise(optima: Sequence[ControlSolution]) -> str:
    """Say in words how the curve changes from each weight to the next."""
    if not are_curves(optima):
        return "Not every optimum is a switching curve."
    if len(optima) == 1:
        return ""
    steps = [np.diff(np.array([a.curve, b.curve]), axis=0) for a, b in itertools.pairwise(optima)]
    if all((step >= 0).all() and (step > 0).any() for step in steps):
        return "The more starvation weighs, the higher the curve."
    if all((step == 0).all() for step in steps):
        return "The weights share one curve."
    return "The curve does not rise at each step from one weight to the next."


def printed_fictitious(model: RobotControl, q: int, r: int) -> float:
    """Return the probability of a fictitious event as the draft prints it."""
    return ((model.robots - r) * model.arrival_rate + model.service_rate) / model.event_rate


@dataclass(frozen=True)
class Process:
    """A small process, and what the draft says of it where a word can be right or wrong."""

    model: RobotControl  # with two robots, as in the draft's example
    chain: FullChain  # its decision process with the misprints of (19) and (20) corrected
    # The optimal cost with one line taken as printed, or why it is no process.
    printed: dict[str, float | str]
    # Why line 3 of (20) as printed is no process with more robots than places; "" if it is one.
    leaves: str
    randomised: float  # least cost of the chain over all randomised stationary policies
    # Starvation and loss rate, by decision epochs and by time: rows a policy, columns the two.
    epochs: Floats
    time: Floats

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
        *both_averages(model, chain),
    )


#: Weights whose optimal policies are compared by decision epochs and by time.
WEIGHTS = tuple(np.geomspace(0.05, 50, 12).tolist())


def both_averages(model: RobotControl, chain: FullChain) -> tuple[Floats, Floats]:
    """Return starvation and loss rate of optimal policies, by decision epochs and by time.

    By epochs from the stationary law of the draft's process, which sees the queue just before each
    event; by time from that of the queue and the active robots between events.
    """
    rows = sparse.csr_array(sparse.vstack(chain.transitions))
    queue, _, event = np.array(chain.states).T
    full = (queue == model.capacity) & (event == 1)
    epochs, time = [], []
    for gamma in WEIGHTS:
        solution = replace(model, gamma=gamma).solve()
        law = stationary_law(policy_chain(rows, _actions(model, chain, solution)))
        epochs.append((law[queue == 0].sum(), model.event_rate * law[full].sum()))
        time.append((solution.starvation, solution.loss_rate))
    return np.array(epochs), np.array(time)


def _actions(model: RobotControl, chain: FullChain, solution: ControlSolution) -> Ints:
    """Return the action of each state of the draft's process under a policy of boxes."""
    actions = []
    for number, (q, r, s) in enumerate(chain.states):
        box = (q - 1, r) if s == 0 else (min(q + 1, model.capacity), r - 1)
        wanted = int(s < 2 and bool(solution.policy[box]))
        actions.append(wanted if np.isfinite(chain.costs[wanted, number]) else 1 - wanted)
    return np.array(actions)


def printed_line(model: RobotControl, line: str) -> float | str:
    """Return the optimal cost with a line as printed, or why it makes no process."""
    try:
        return cost_of(full_chain(model, misprints=(line,)))
    except ValueError as error:
        return str(error).partition("got ")[2]


@dataclass(frozen=True)
class PolicyCosts:
    """All pure stationary policies of a small process."""

    costs: Floats  # W_pi(x), the long-run average of (22); shape (policies, states)
    classes: Ints  # recurrent classes of each; shape (policies,)
    early: Floats  # the average over the first `steps` events; shape (policies, states)
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
