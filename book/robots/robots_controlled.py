"""The page `robots-controlled`: printed fleets, policies of a small one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, stats
from scipy.optimize import linprog
from scipy.sparse import csgraph

from analysis.arrays import Bools, Floats, Ints
from analysis.mdp import policy_iteration, stationary_law
from analysis.mdp.problem import policy_chain
from analysis.results import NotConverged
from analysis.robots.control import ControlSolution, RobotControl
from analysis.robots.mm1k import critical_gamma, static_cost
from analysis.robots.printed import (
    MISPRINTS,
    TOLERANCE,
    FullChain,
    PrintedRun,
    ReferenceRuns,
    State,
    every_reference,
    full_chain,
    proposition_4,
    state_space,
    transition,
)
from scorecard import Claim, claim, save_value

#: Steps tau at which the number of updates is compared.
STEPS = (0.5, 0.8, 0.9, 0.99, 0.99999)
#: The step tau at which the printed theta is compared with the optimum.
HALF = 0.5
#: A stop tight enough to stand for the limit of Proposition 4.
TIGHT = 1e-11


@dataclass(frozen=True)
class Results:
    """Results of the page for the models of Figures 6 to 8."""

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
        limits=run_from_random_starts(middle, np.random.default_rng(seed)),
        half_step=run_to_tight_stop(middle, step=HALF),
        static=[model.evaluate(model.static_policy()).gain for model in models],
    )


def run_from_random_starts(model: RobotControl, rng: np.random.Generator) -> list[PrintedRun]:
    """Run Proposition 4 to a tight stop from random h_0, with a reference state for each event.

    A run is left out where rounding hides when it should stop, as in queues that are hardly ever
    short of pages.
    """
    runs = []
    for q, r, s in ((1, 1, 1), (model.capacity, 0, 0), (0, model.robots, 2)):
        first = rng.normal(0.0, 100.0, (3, *model.shape))
        first[s, q, r] = 0.0
        runs.append(run_to_tight_stop(model, initial=first, reference=(q, r, s)))
    return [run for run in runs if run]


def run_to_tight_stop(model: RobotControl, **options: Any) -> PrintedRun | None:
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


def count_curves(instances: int, rng: np.random.Generator) -> Census:
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


def count_printed_updates(results: Results, printed: Sequence[int]) -> list[int]:
    """Return, for each weight, how many reference states give the printed number of updates."""
    return [
        int((table.updates == n).sum())
        for table, n in zip(results.references, printed, strict=True)
    ]


def are_curves(optima: Sequence[ControlSolution]) -> bool:
    """Whether every optimum is a switching curve."""
    return all(optimum.is_switching_curve for optimum in optima)


def describe_curves(optima: Sequence[ControlSolution]) -> str:
    """Describe how the curve changes from each weight to the next."""
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


def printed_fictitious(model: RobotControl, r: int) -> float:
    """Return the probability of a fictitious event as the draft prints it."""
    return ((model.robots - r) * model.arrival_rate + model.service_rate) / model.event_rate


@dataclass(frozen=True)
class Process:
    """A small process, and the draft's statements on it that can be right or wrong."""

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
        return optimal_cost(self.chain)


def optimal_cost(chain: FullChain) -> float:
    """Return the optimal average cost of a decision process."""
    return -float(policy_iteration(chain.transitions, -chain.costs).gain)


def build_small_process(model: RobotControl, more_robots: int = 5) -> Process:
    """Build the process of a small model, and with the lines of (19) and (20) as printed."""
    many = RobotControl(
        more_robots, model.arrival_rate, model.service_rate, model.capacity, model.gamma
    )
    leaves = evaluate_printed_line(many, "20.3")
    chain = full_chain(model)
    return Process(
        model,
        chain,
        {line: evaluate_printed_line(model, line) for line in MISPRINTS},
        leaves if isinstance(leaves, str) else "",
        solve_randomised(chain),
        *compare_averages(model, chain),
    )


#: Weights whose optimal policies are compared by decision epochs and by time.
WEIGHTS = tuple(np.geomspace(0.05, 50, 12).tolist())


def compare_averages(model: RobotControl, chain: FullChain) -> tuple[Floats, Floats]:
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
        action = int(s < 2 and bool(solution.policy[box]))
        actions.append(action if np.isfinite(chain.costs[action, number]) else 1 - action)
    return np.array(actions)


def evaluate_printed_line(model: RobotControl, line: str) -> float | str:
    """Return the optimal cost with a line as printed, or why it makes no process."""
    try:
        return optimal_cost(full_chain(model, misprints=(line,)))
    except ValueError as error:
        return str(error).partition("got ")[2]


@dataclass(frozen=True)
class PolicyCosts:
    """All pure stationary policies of a small process."""

    costs: Floats  # W_pi(x), the long-run average of (22); shape (policies, states)
    classes: Ints  # recurrent classes of each; shape (policies,)
    early: Floats  # the average over the first `steps` events; shape (policies, states)
    steps: int


def evaluate_all_policies(chain: FullChain, doublings: int = 30, early: int = 12) -> PolicyCosts:
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


def solve_randomised(chain: FullChain) -> float:
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


# Values and tables


#: Robots and places of the process in the explorable, at most.
MOST_ROBOTS, MOST_PLACES = 20, 10


def collect_view_values(model: RobotControl) -> dict[str, float]:
    """Return weight, robots and costs with which the explorable opens, the service rate being 1."""
    unit = model.service_rate
    robots, places = min(model.robots, MOST_ROBOTS), min(model.capacity, MOST_PLACES)
    rate, gamma = model.arrival_rate / unit, model.gamma / unit
    cost = RobotControl(robots, rate, 1.0, places, gamma).solve().gain
    always = float(static_cost(robots * rate, gamma, places))
    return {
        "view-weight": gamma,
        "view-robots": robots,
        "view-cost": cost,
        "view-always": always,
        "view-saving": 100 * (1 - cost / always),
    }


def save_predicates(results: Results, agree: Bools) -> None:
    """Save what the page's sentences depend on."""
    falls = bool((np.diff(list(results.updates.values())) < 0).all())
    save_value("robots-controlled-states", int((results.references[0].updates >= 0).sum()))
    save_value("robots-controlled-hits", int(agree.sum()))
    save_value("robots-controlled-fewer-updates", falls)
    save_value("robots-controlled-are-curves", are_curves(results.optima))


# Claims


#: Runs from random h_0.
STARTS = 3
#: How near a cost at that tolerance must come to the optimum.
NEAR = 1e-8


def claims(results: Results) -> list[Claim]:
    """Return the page's claims on Figures 6 to 8, Propositions 3 and 4, and the cost criterion."""
    return [*_figures(results), *_inputs(results), *_proposition_4(results), *_criterion(results)]


def _figures(results: Results) -> list[Claim]:
    rows = []
    for k, (run, optimum, table) in enumerate(
        zip(results.runs, results.optima, results.references, strict=True)
    ):
        number = 6 + k
        others = table.updates >= 0
        others[1, 1, 1] = False
        counts = [*table.updates[others], *results.other_steps[k]]
        costs = table.cost[others]
        rows += [
            claim(f"D-fig{number}-cost", run.cost, alternatives=[*costs, optimum.gain]),
            claim(f"D-fig{number}-it", run.updates, alternatives=counts),
            claim(f"D-it-text-{254 + k}", run.updates, alternatives=counts),
            claim(f"D-fig{number}-gamma", results.models[k].gamma),
            claim(f"D-fig{number}", figure="robots-controlled-curves"),
        ]
    return rows


def _inputs(results: Results) -> list[Claim]:
    model = results.models[0]
    return [
        claim("D-f-N", model.robots),
        claim("D-f-K", model.capacity),
        claim("D-f-lam", model.arrival_rate),
        claim("D-f-mu", model.service_rate),
        claim("D-f-gK", critical_gamma(model.capacity, model.service_rate)),
        claim("D-stop", results.tolerance),
    ]


def _proposition_4(results: Results) -> list[Claim]:
    middle = results.optima[len(results.optima) // 2]
    residual = max(optimum.residual for optimum in results.optima)
    same = all(
        run.cost - o.gain < 1e-5 for run, o in zip(results.runs, results.optima, strict=True)
    )
    near = [abs(run.cost - middle.gain) for run in results.limits]
    if len(near) < STARTS:
        near.append(np.inf)
    falls = bool((np.diff(list(results.updates.values())) < 0).all())
    printed_theta = HALF * results.half_step.cost if results.half_step else np.nan
    heights = [optimum.policy[:, :-1].sum(axis=0) - 1 for optimum in results.optima]
    same_theta = np.isclose(printed_theta, middle.gain, rtol=0.001)
    theta = {"printed_theta": printed_theta, "optimum": middle.gain}
    curves = {"curves": [height.tolist() for height in heights]}
    # f_1(r) = f(r - 1) - 1 is the queue up to which an arriving robot, one of r, goes on.
    never = [1 + int(np.argmax(height < 1)) for height in heights if (height < 1).any()]
    below = all(o.gain <= s for o, s in zip(results.optima, results.static, strict=True))
    return [
        claim("D-prop3", residual < 1e-09 and max(near) < NEAR),
        claim("D-prop4", same and max(near) < NEAR),
        claim("D-prop4-conv", max(near) < NEAR, numbers={"starts": len(near), "near": NEAR}),
        claim("D-prop4-theta", bool(same_theta), numbers=theta),
        claim("D-tau-fast", falls, numbers={"updates": results.updates}),
        claim("D-abs-mdp", max(near) < NEAR and below),
        claim("D-eq23"),
        claim(
            "D-switching",
            are_curves(results.optima),
            condition=bool(never),
            numbers=curves | {"never": never},
        ),
        claim("D-f00", all(height[0] >= 1 for height in heights), basis="judged"),
    ]


def _criterion(results: Results) -> list[Claim]:
    model = results.models[0]
    loads = model.robots * model.arrival_rate / model.service_rate
    formula = [
        float(static_cost(loads, m.gamma, m.capacity, m.service_rate)) for m in results.models
    ]
    split = [m.gamma * o.starvation + o.loss_rate for m, o in _pairs(results)]
    gains = [optimum.gain for optimum in results.optima]
    gap = 1.0 / model.event_rate
    tenth = float(stats.gamma(results.gaps, scale=gap).mean())
    times = {"gaps": results.gaps, "tenth": tenth, "printed": 10 * gap}
    return [
        claim("D-static-piN", bool(np.allclose(results.static, formula, rtol=1e-10))),
        claim("D-S-L", bool(np.allclose(split, gains, rtol=1e-09))),
        claim("D-eq25"),
        claim("D-tn", bool(np.isclose(tenth, 10 * gap)), basis="judged", numbers=times),
    ]


def _pairs(results: Results) -> list[tuple[RobotControl, ControlSolution]]:
    return list(zip(results.models, results.optima, strict=True))


def claims_on_the_process(process: Process, policies: PolicyCosts) -> list[Claim]:
    """Return the page's claims on section 3.1 and on Lemma 4."""
    return [
        *_process(process),
        *_by_epochs_and_time(process),
        *_misprints(process),
        *_policies(process, policies),
        *_lemma_4(process, policies),
    ]


def _process(process: Process) -> list[Claim]:
    model, chain = process.model, process.chain
    same = bool(np.isclose(process.gain, model.solve().gain, rtol=1e-9))
    reached = chain.reachable((1, 1, 1))
    never = {(q, model.robots, 2) for q in range(1, model.capacity + 1)}
    actions = {
        state: tuple(np.flatnonzero(np.isfinite(chain.costs[:, k])).tolist())
        for k, state in enumerate(chain.states)
    }
    rule = {
        state: (0,) if state[2] == 2 else (1,) if state == (1, 0, 0) else (0, 1)
        for state in chain.states
    }
    stays = transition(model, (0, 0, 2), 0) == {(0, 0, 2): 1.0}
    load = model.robots * model.arrival_rate / model.service_rate
    static = static_cost(load, model.gamma, model.capacity, model.service_rate)
    race = _fictitious_rows(process)
    return [
        claim("D-dyn-rules", same),
        claim("D-nu", race),
        claim("D-eq21", race),
        claim("D-state-space", set(chain.states) == reached | never == set(state_space(model))),
        claim("D-A-x", actions == rule),
        claim("D-absorb", stays and actions[1, 0, 0] == (1,)),
        claim("D-eq18", bool(np.isclose(_static_gain(process), static, rtol=1e-09))),
    ]


def _by_epochs_and_time(process: Process) -> list[Claim]:
    gaps = np.abs(process.epochs - process.time).max(axis=0)
    return [
        claim(row, gap < 1e-12, numbers={"policies": len(process.time), "gap": gap})
        for row, gap in zip(("D-pasta", "D-eq25-limit"), gaps.tolist(), strict=True)
    ]


def _fictitious_rows(process: Process) -> bool:
    """Whether events after a fictitious one have the printed probabilities of 3.1 and (21)."""
    model, chain = process.model, process.chain
    index = {state: k for k, state in enumerate(chain.states)}
    rows = chain.transitions[0].toarray()
    for q, r, s in chain.states:
        if s == 2:
            served = model.service_rate * (q > 0) / model.event_rate
            arrived = model.arrival_rate * r / model.event_rate
            printed = {(q, r, 0): served, (q, r, 1): arrived, (q, r, 2): 1 - served - arrived}
            row = rows[index[q, r, s]]
            computed = {state: row[index[state]] for state in printed if state in index}
            if any(not np.isclose(computed.get(state, 0.0), p) for state, p in printed.items()):
                return False
    return True


def _static_gain(process: Process) -> float:
    """Return the cost of the policy that keeps all robots active."""
    costs = process.chain.costs.copy()
    free = np.isfinite(costs).all(axis=0)
    costs[0, free] = np.inf
    return -float(policy_iteration(process.chain.transitions, -costs).gain)


def _misprints(process: Process) -> list[Claim]:
    def law(line: str) -> str:
        return "law" if isinstance(process.printed[line], float) else "none"

    def harmless(line: str) -> bool:
        value = process.printed[line]
        return isinstance(value, float) and bool(np.isclose(value, process.gain))

    model = process.model
    busy = (1, model.robots)
    remaining = transition(model, (*busy, 2), 0).get((*busy, 2), 0.0)
    printed = printed_fictitious(model, model.robots)
    lines, gain = process.printed, {"gain": process.gain}
    fictitious = {"robots": model.robots, "said": printed, "left": remaining}
    nineteen = gain | {"second": lines["19.2"], "third": lines["19.3"]}
    twenty = gain | {"third": lines["20.3"], "leaves": process.leaves or "none"}
    both = harmless("19.2") and harmless("19.3")
    none = harmless("20.3") and not process.leaves
    return [
        claim("D-fict", bool(np.isclose(printed, remaining)), numbers=fictitious),
        claim("D-eq19", both, outcome=law("19.3"), numbers=nineteen),
        claim("D-eq20", none, outcome=law("20.3"), numbers=twenty),
    ]


def _policies(process: Process, policies: PolicyCosts) -> list[Claim]:
    single = policies.classes == 1
    constant = np.ptp(policies.costs, axis=1) < 1e-8
    least = float(policies.costs.min())
    cheapest = float(policies.costs[constant].min(initial=np.inf))
    gap = float(np.abs(policies.early - policies.costs).max())
    count = len(policies.costs)
    return [
        claim("D-pure", bool(np.isclose(process.randomised, process.gain, rtol=1e-08))),
        claim("D-eq22", gap < 0.02, numbers={"count": count, "steps": policies.steps, "gap": gap}),
        claim(
            "D-P0",
            bool(constant[single].all() and np.isclose(cheapest, least)),
            numbers={"count": count, "single_class": int(single.sum())},
        ),
    ]


def _lemma_4(process: Process, policies: PolicyCosts) -> list[Claim]:
    model, chain = process.model, process.chain
    top = model.robots
    _, outside = chain.classes()
    entered = chain.reachable((1, 2, 1))
    level_two = {x for x in chain.states if x[1] == 2}
    at_top = {x for x in chain.states if x[1] == top} - chain.reachable((1, top, 1))
    stuck = _stuck_at_level_zero(process)
    below = {state[0] for state, p in transition(model, (2, 0, 0), 0).items() if p > 0}
    level_one = {state for state in chain.states if state[1] == 1}
    upward = {state: int(state[1] == 0 or state[2] == 1) for state in chain.states if state[1] <= 1}
    up = level_one <= find_reached_states(chain, (1, 0, 0), upward)
    topward = {state: int(state[1] < top or state[2] == 1) for state in chain.states}
    missed = {state for state in chain.states if state[1] == top}
    missed -= find_reached_states(chain, (1, 0, 0), topward)
    restart = {state: int(state[0] > 0 and state[2] == 1) for state in chain.states}
    trapped = find_reached_states(chain, (0, 1, 1), restart)
    freed = find_reached_states(chain, (0, 1, 1), restart | {(0, 1, 1): 1})
    goal = (model.capacity, 1, 1)
    several = policies.classes > 1
    classes = {"policies": len(policies.costs), "more_classes": int(several.sum())}
    classes |= {"most": int(policies.classes.max()), "outside": len(outside)}
    classes |= {"top": top, "capacity": model.capacity}
    never = sorted(level_two - entered)
    example = {"never_entered": never, "entered": len(level_two & entered)}
    fits = all(x[2] == 2 and x[0] > 0 for x in never)
    connected = sum(_communicates_without(*size) for size in SIZES)
    return [
        claim(
            "D-example-N2",
            fits,
            condition=bool(never),
            numbers=example | {"states": len(level_two)},
        ),
        claim("D-multichain", bool(several.any()) and not outside, numbers=classes),
        claim(
            "D-lem4",
            not outside,
            numbers={"states": sorted(outside), "sizes": len(SIZES), "communicating": connected},
        ),
        claim(
            "D-lem4-1",
            all(q >= 1 and s == 2 for q, _, s in at_top),
            condition=bool(at_top),
            numbers={"at_top": sorted(at_top)},
        ),
        claim("D-lem4-1b", not stuck, basis="judged", numbers={"stuck": stuck[:1]}),
        claim("D-lem4-2", up, condition=bool(missed), numbers={"top": top, "missed": len(missed)}),
        claim("D-lem4-3", False, basis="judged"),
        claim(
            "D-lem4-3-zero",
            goal in freed,
            condition=goal not in trapped,
            numbers={"reached": len(trapped), "capacity": model.capacity},
        ),
        *(
            claim(row, False, basis="judged", numbers={"below": sorted(below)})
            for row in ("D-lem4-order", "D-lem4-order-zero")
        ),
    ]


#: Robots and places of processes that communicate once the states of Lemma 4 are left out.
SIZES = ((1, 2), (2, 2), (2, 3), (3, 4), (5, 3))


def _communicates_without(robots: int, capacity: int) -> bool:
    """Whether all states of a process communicate but (q, N, 2), q >= 1."""
    chain = full_chain(RobotControl(robots, 0.4, 1.0, capacity, 1.0))
    graph = sparse.csr_array(chain.transitions[0] + chain.transitions[1])
    states = [k for k, (q, r, s) in enumerate(chain.states) if not (q and r == robots and s == 2)]
    parts, _ = csgraph.connected_components(graph[states][:, states], connection="strong")
    return bool(parts == 1)


def find_reached_states(chain: FullChain, start: State, actions: Mapping[State, int]) -> set[State]:
    """Return the states that a process reaches, by other actions where these are not allowed."""
    chosen = np.array([actions.get(state, 0) for state in chain.states])
    allowed = np.isfinite(chain.costs[chosen, np.arange(chosen.size)])
    rows = sparse.csr_array(sparse.vstack(chain.transitions))
    graph = policy_chain(rows, np.where(allowed, chosen, 1 - chosen))
    reached = csgraph.breadth_first_order(graph, chain.states.index(start))[0]
    return {chain.states[k] for k in reached}


def _stuck_at_level_zero(process: Process) -> list[tuple[State, State]]:
    """Return pairs of states at level 0 that step 1 joins without leaving it, and that are not."""
    states = process.chain.states
    level = [k for k, (_, r, _) in enumerate(states) if r == 0]
    steps = process.chain.transitions[0][level][:, level]
    joined = steps @ np.isfinite(csgraph.shortest_path(steps, unweighted=True))
    ends = [(row, states[k]) for row, k in enumerate(level) if states[k][2] == 0]
    return [(x, y) for i, x in ends for j, y in ends if x[0] >= y[0] > 0 and joined[i, j] == 0]
