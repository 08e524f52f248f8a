r"""Linear rules for robots that differ: start a robot while the backlog, with its weights, is low.

When an event leaves queue q and r_i active robots of kind i, the rule starts a robot of kind j if

    q + sum_i w_i r_i < t_j

and one of that kind may be started.  After a departure kinds are tried in a fixed order; a robot
that arrives may be restarted, itself and no other, or with ``substitution`` any idle one in the
same order.  With an empty queue and no robot active the first kind is started whatever t says.
Robots that are alike have w = 1 and one t in the draft's straight switching line q + r < t.

`tune_rules` searches weights, thresholds and order.  Many of them make the same chain, so that
chains and not parameters are evaluated, a stack at a time by elimination in dense arrays.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Floats, Ints
from analysis.robots.general.fleet import FleetControl

RETURN = 1e-9
"""Rate, in parts of all others, at which a chain in the search begins anew: where a rule has more
than one recurrent class, this picks those that are reached from an empty queue."""

STEPS = (-2.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0)
"""By how much the search changes a weight or a threshold at once."""


@dataclass(frozen=True)
class LinearRule:
    """A linear rule.

    `weights` says what an active robot of each kind counts, in pages, `thresholds` below which
    level robots of each kind are started, and `order` in which order the kinds are tried.
    """

    weights: tuple[float, ...]
    thresholds: tuple[float, ...]
    order: tuple[int, ...]

    def policy(self, model: FleetControl) -> Ints:
        """Return what the rule starts after each event, as `FleetControl.evaluate` takes it."""
        queue, *active = np.indices(model.shape)
        level = queue + sum(w * r for w, r in zip(self.weights, active, strict=True))
        startable = [
            (level < t) & (r < kind.available)
            for t, r, kind in zip(self.thresholds, active, model.kinds, strict=True)
        ]
        best = np.full(model.shape, -1)
        for kind in reversed(self.order):
            best[startable[kind]] = kind
        best[(0,) * best.ndim] = self.order[0] if best.flat[0] < 0 else best.flat[0]
        if model.substitution:
            return np.stack([best] * (1 + len(active)))
        return np.stack([best, *(np.where(on, k, -1) for k, on in enumerate(startable))])


def compute_gains(model: FleetControl, policies: Ints) -> Floats:
    """Return the costs per unit of time of a stack of controls, begun with an empty queue.

    Each is as `FleetControl.evaluate` takes it. Costs are known to within `RETURN` times the time
    that a chain takes to forget its beginning.
    """
    count, states = len(policies), int(np.prod(model.shape))
    strides = np.append(model.strides, 0)
    rates = np.zeros((count, states, states))
    for event, (source, pre_decision, rate) in enumerate(model.events):
        started = policies[:, event].reshape(count, -1)[:, pre_decision]
        np.add.at(rates, (np.arange(count)[:, None], source, pre_decision + strides[started]), rate)
    first = strides[policies[:, 0].reshape(count, -1)[:, 0]]
    total = rates.sum(axis=2)
    begun = RETURN * total.max(axis=1)
    # Balance of flow: law (diag(total + begun) - rates) = begun at the first state.
    system = -rates.transpose(0, 2, 1)
    system[:, np.arange(states), np.arange(states)] += total + begun[:, None]
    entered = np.zeros((count, states, 1))
    entered[np.arange(count), first, 0] = begun
    law = np.linalg.solve(system, entered)[:, :, 0]
    return np.asarray((law @ model.costs) / law.sum(axis=1))


def tune_rules(model: FleetControl) -> tuple[LinearRule, LinearRule]:
    """Return the best linear rules that a search finds: with one threshold, and one for each kind.

    It starts at the best of some straight lines, one weight for all and one threshold, in each
    order of the kinds, and changes the order, one weight, one threshold or all thresholds by one of
    `STEPS` as long as this lowers the cost. The second rule is sought from the first, so that it
    costs no more. Neither need be the best of all.

    Parameters
    ----------
    model : FleetControl

    Examples
    --------
    >>> from analysis.robots import RobotKind
    >>> model = FleetControl((RobotKind(0.9, 1), RobotKind(0.4, 2)), 1.0, 3, 4.0)
    >>> _, rule = tune_rules(model)
    >>> model.evaluate(rule.policy(model)).gain < 1.01 * model.solve().gain
    True
    """
    cost_of: dict[bytes, float] = {}
    kinds = range(len(model.kinds))
    levels = np.arange(0.5, model.capacity + sum(k.available for k in model.kinds) + 1)
    lines = [
        LinearRule((weight,) * len(kinds), (float(t),) * len(kinds), order)
        for order in itertools.permutations(kinds)
        for weight in (0.5, 1.0)
        for t in levels
    ]
    start = _best(model, lines, cost_of)[0]
    line = _descend(model, start, cost_of, one_threshold=True)
    return line, _descend(model, line, cost_of, one_threshold=False)


def _descend(
    model: FleetControl, rule: LinearRule, cost_of: dict[bytes, float], *, one_threshold: bool
) -> LinearRule:
    """Change a rule as long as a change lowers its cost by more than rounding."""
    cost = _best(model, [rule], cost_of)[1]
    while True:
        better, lower = _best(model, _neighbours(rule, one_threshold=one_threshold), cost_of)
        if lower > cost * (1 - 1e-7):
            return rule
        rule, cost = better, lower


def _neighbours(rule: LinearRule, *, one_threshold: bool) -> list[LinearRule]:
    """Return the rules with another order, weight or threshold."""
    kinds = range(len(rule.weights))
    rules = [replace(rule, order=order) for order in itertools.permutations(kinds)]
    for step in STEPS:
        for kind in kinds:
            own = [step * (k == kind) for k in kinds]
            rules.append(replace(rule, weights=_sum(rule.weights, own)))
            if not one_threshold:
                rules.append(replace(rule, thresholds=_sum(rule.thresholds, own)))
        rules.append(replace(rule, thresholds=_sum(rule.thresholds, [step for _ in kinds])))
    return rules


def _sum(values: tuple[float, ...], change: list[float]) -> tuple[float, ...]:
    return tuple(a + b for a, b in zip(values, change, strict=True))


def _best(
    model: FleetControl, rules: list[LinearRule], cost_of: dict[bytes, float]
) -> tuple[LinearRule, float]:
    """Return the cheapest of some rules and its cost; `known` keeps the cost of each chain."""
    policies = [rule.policy(model) for rule in rules]
    keys = [policy.tobytes() for policy in policies]
    new = {key: policy for key, policy in zip(keys, policies, strict=True) if key not in cost_of}
    if new:
        cost_of.update(
            zip(new, compute_gains(model, np.stack(list(new.values()))).tolist(), strict=True)
        )
    costs = [cost_of[key] for key in keys]
    cheapest = int(np.argmin(costs))
    return rules[cheapest], costs[cheapest]
