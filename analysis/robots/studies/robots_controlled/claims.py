"""Claims of the page `robots-controlled` on rows of the robot study."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import sparse, stats
from scipy.sparse import csgraph

from analysis.mdp import policy_iteration
from analysis.mdp.problem import policy_chain
from analysis.report import Claim, claim
from analysis.robots.controlled.control import ControlSolution, RobotControl
from analysis.robots.printed import (
    FullChain,
    State,
    full_chain,
    state_space,
    transition,
)
from analysis.robots.static.mm1k import critical_gamma, static_cost
from analysis.robots.studies.robots_controlled.experiment import (
    HALF,
    PolicyCosts,
    Process,
    Results,
    are_curves,
    printed_fictitious,
)

#: Runs from random h_0.
STARTS = 3
#: How near a cost at that tolerance must come to the optimum.
NEAR = 1e-8


def claims(found: Results) -> list[Claim]:
    """Return the page\'s claims on Figures 6 to 8, Propositions 3 and 4, and the cost criterion."""
    return [*_figures(found), *_inputs(found), *_proposition_4(found), *_criterion(found)]


def _figures(found: Results) -> list[Claim]:
    rows = []
    for k, (run, optimum, table) in enumerate(
        zip(found.runs, found.optima, found.references, strict=True)
    ):
        number = 6 + k
        others = table.updates >= 0
        others[1, 1, 1] = False
        counts = [*table.updates[others], *found.other_steps[k]]
        costs = table.cost[others]
        rows += [
            claim(f"D-fig{number}-cost", run.cost, alternatives=[*costs, optimum.gain]),
            claim(f"D-fig{number}-it", run.updates, alternatives=counts),
            claim(f"D-it-text-{254 + k}", run.updates, alternatives=counts),
            claim(f"D-fig{number}-gamma", found.models[k].gamma),
            claim(f"D-fig{number}", figure="robots-controlled-curves"),
        ]
    return rows


def _inputs(found: Results) -> list[Claim]:
    model = found.models[0]
    return [
        claim("D-f-N", model.robots),
        claim("D-f-K", model.capacity),
        claim("D-f-lam", model.arrival_rate),
        claim("D-f-mu", model.service_rate),
        claim("D-f-gK", critical_gamma(model.capacity, model.service_rate)),
        claim("D-stop", found.tolerance),
    ]


def _proposition_4(found: Results) -> list[Claim]:
    middle = found.optima[len(found.optima) // 2]
    residual = max(optimum.residual for optimum in found.optima)
    same = all(run.cost - o.gain < 1e-5 for run, o in zip(found.runs, found.optima, strict=True))
    near = [abs(run.cost - middle.gain) for run in found.limits]
    if len(near) < STARTS:
        near.append(np.inf)
    falls = bool((np.diff(list(found.updates.values())) < 0).all())
    printed_theta = HALF * found.half_step.cost if found.half_step else np.nan
    heights = [optimum.policy[:, :-1].sum(axis=0) - 1 for optimum in found.optima]
    same_theta = np.isclose(printed_theta, middle.gain, rtol=0.001)
    theta = {"printed_theta": printed_theta, "optimum": middle.gain}
    curves = {"curves": [height.tolist() for height in heights]}
    # f_1(r) = f(r - 1) - 1 is the queue up to which an arriving robot, one of r, goes on.
    never = [1 + int(np.argmax(height < 1)) for height in heights if (height < 1).any()]
    below = all(o.gain <= s for o, s in zip(found.optima, found.static, strict=True))
    return [
        claim("D-prop3", residual < 1e-09 and max(near) < NEAR),
        claim("D-prop4", same and max(near) < NEAR),
        claim("D-prop4-conv", max(near) < NEAR, numbers={"starts": len(near), "near": NEAR}),
        claim("D-prop4-theta", bool(same_theta), numbers=theta),
        claim("D-tau-fast", falls, numbers={"updates": found.updates}),
        claim("D-abs-mdp", max(near) < NEAR and below),
        claim("D-eq23"),
        claim(
            "D-switching",
            are_curves(found.optima),
            condition=bool(never),
            numbers=curves | {"never": never},
        ),
        claim("D-f00", all(height[0] >= 1 for height in heights), basis="judged"),
    ]


def _criterion(found: Results) -> list[Claim]:
    model = found.models[0]
    loads = model.robots * model.arrival_rate / model.service_rate
    formula = [float(static_cost(loads, m.gamma, m.capacity, m.service_rate)) for m in found.models]
    split = [m.gamma * o.starvation + o.loss_rate for m, o in _pairs(found)]
    gains = [optimum.gain for optimum in found.optima]
    gap = 1.0 / model.event_rate
    tenth = float(stats.gamma(found.gaps, scale=gap).mean())
    times = {"gaps": found.gaps, "tenth": tenth, "printed": 10 * gap}
    return [
        claim("D-static-piN", bool(np.allclose(found.static, formula, rtol=1e-10))),
        claim("D-S-L", bool(np.allclose(split, gains, rtol=1e-09))),
        claim("D-eq25"),
        claim("D-tn", bool(np.isclose(tenth, 10 * gap)), basis="judged", numbers=times),
    ]


def _pairs(found: Results) -> list[tuple[RobotControl, ControlSolution]]:
    return list(zip(found.models, found.optima, strict=True))


def claims_on_the_process(found: Process, policies: PolicyCosts) -> list[Claim]:
    """Return the page\'s claims on section 3.1 and to Lemma 4."""
    return [
        *_process(found),
        *_by_epochs_and_time(found),
        *_misprints(found),
        *_policies(found, policies),
        *_lemma_4(found, policies),
    ]


def _process(found: Process) -> list[Claim]:
    model, chain = found.model, found.chain
    same = bool(np.isclose(found.gain, model.solve().gain, rtol=1e-9))
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
    race = _fictitious_rows(found)
    return [
        claim("D-dyn-rules", same),
        claim("D-nu", race),
        claim("D-eq21", race),
        claim("D-state-space", set(chain.states) == reached | never == set(state_space(model))),
        claim("D-A-x", actions == rule),
        claim("D-absorb", stays and actions[1, 0, 0] == (1,)),
        claim("D-eq18", bool(np.isclose(_static_gain(found), static, rtol=1e-09))),
    ]


def _by_epochs_and_time(found: Process) -> list[Claim]:
    gaps = np.abs(found.epochs - found.time).max(axis=0)
    return [
        claim(row, gap < 1e-12, numbers={"policies": len(found.time), "gap": gap})
        for row, gap in zip(("D-pasta", "D-eq25-limit"), gaps.tolist(), strict=True)
    ]


def _fictitious_rows(found: Process) -> bool:
    """Whether events after a fictitious one have the printed probabilities of 3.1 and (21)."""
    model, chain = found.model, found.chain
    index = {state: k for k, state in enumerate(chain.states)}
    rows = chain.transitions[0].toarray()
    for q, r, s in chain.states:
        if s == 2:
            served = model.service_rate * (q > 0) / model.event_rate
            arrived = model.arrival_rate * r / model.event_rate
            said = {(q, r, 0): served, (q, r, 1): arrived, (q, r, 2): 1 - served - arrived}
            row = rows[index[q, r, s]]
            seen = {state: row[index[state]] for state in said if state in index}
            if any(not np.isclose(seen.get(state, 0.0), p) for state, p in said.items()):
                return False
    return True


def _static_gain(found: Process) -> float:
    """Return the cost of the policy that keeps all robots active."""
    costs = found.chain.costs.copy()
    free = np.isfinite(costs).all(axis=0)
    costs[0, free] = np.inf
    return -float(policy_iteration(found.chain.transitions, -costs).gain)


def _misprints(found: Process) -> list[Claim]:
    def law(line: str) -> str:
        return "law" if isinstance(found.printed[line], float) else "none"

    def harmless(line: str) -> bool:
        value = found.printed[line]
        return isinstance(value, float) and bool(np.isclose(value, found.gain))

    model = found.model
    busy = (1, model.robots)
    left = transition(model, (*busy, 2), 0).get((*busy, 2), 0.0)
    said = printed_fictitious(model, *busy)
    lines, gain = found.printed, {"gain": found.gain}
    fictitious = {"robots": model.robots, "said": said, "left": left}
    nineteen = gain | {"second": lines["19.2"], "third": lines["19.3"]}
    twenty = gain | {"third": lines["20.3"], "leaves": found.leaves or "none"}
    both = harmless("19.2") and harmless("19.3")
    none = harmless("20.3") and not found.leaves
    return [
        claim("D-fict", bool(np.isclose(said, left)), numbers=fictitious),
        claim("D-eq19", both, outcome=law("19.3"), numbers=nineteen),
        claim("D-eq20", none, outcome=law("20.3"), numbers=twenty),
    ]


def _policies(found: Process, policies: PolicyCosts) -> list[Claim]:
    single = policies.classes == 1
    constant = np.ptp(policies.costs, axis=1) < 1e-8
    least = float(policies.costs.min())
    cheapest = float(policies.costs[constant].min(initial=np.inf))
    gap = float(np.abs(policies.early - policies.costs).max())
    count = len(policies.costs)
    return [
        claim("D-pure", bool(np.isclose(found.randomised, found.gain, rtol=1e-08))),
        claim("D-eq22", gap < 0.02, numbers={"count": count, "steps": policies.steps, "gap": gap}),
        claim(
            "D-P0",
            bool(constant[single].all() and np.isclose(cheapest, least)),
            numbers={"count": count, "single_class": int(single.sum())},
        ),
    ]


def _lemma_4(found: Process, policies: PolicyCosts) -> list[Claim]:
    model, chain = found.model, found.chain
    top = model.robots
    _, outside = chain.classes()
    entered = chain.reachable((1, 2, 1))
    level_two = {x for x in chain.states if x[1] == 2}
    at_top = {x for x in chain.states if x[1] == top} - chain.reachable((1, top, 1))
    stuck = _stuck_at_level_zero(found)
    below = {state[0] for state, p in transition(model, (2, 0, 0), 0).items() if p > 0}
    level_one = {state for state in chain.states if state[1] == 1}
    upward = {state: int(state[1] == 0 or state[2] == 1) for state in chain.states if state[1] <= 1}
    up = level_one <= reached_by(chain, (1, 0, 0), upward)
    topward = {state: int(state[1] < top or state[2] == 1) for state in chain.states}
    missed = {state for state in chain.states if state[1] == top}
    missed -= reached_by(chain, (1, 0, 0), topward)
    restart = {state: int(state[0] > 0 and state[2] == 1) for state in chain.states}
    trapped = reached_by(chain, (0, 1, 1), restart)
    freed = reached_by(chain, (0, 1, 1), restart | {(0, 1, 1): 1})
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


def reached_by(chain: FullChain, start: State, actions: Mapping[State, int]) -> set[State]:
    """Return the states that a process reaches under a policy, the start included.

    `actions`: action of each state; where it is not allowed, the other one.
    """
    wanted = np.array([actions.get(state, 0) for state in chain.states])
    allowed = np.isfinite(chain.costs[wanted, np.arange(wanted.size)])
    rows = sparse.csr_array(sparse.vstack(chain.transitions))
    graph = policy_chain(rows, np.where(allowed, wanted, 1 - wanted))
    found = csgraph.breadth_first_order(graph, chain.states.index(start))[0]
    return {chain.states[k] for k in found}


def _stuck_at_level_zero(found: Process) -> list[tuple[State, State]]:
    """Return pairs of states at level 0 that step 1 joins without leaving it, and that are not."""
    states = found.chain.states
    level = [k for k, (_, r, _) in enumerate(states) if r == 0]
    steps = found.chain.transitions[0][level][:, level]
    joined = steps @ np.isfinite(csgraph.shortest_path(steps, unweighted=True))
    ends = [(place, states[k]) for place, k in enumerate(level) if states[k][2] == 0]
    return [(x, y) for i, x in ends for j, y in ends if x[0] >= y[0] > 0 and joined[i, j] == 0]
