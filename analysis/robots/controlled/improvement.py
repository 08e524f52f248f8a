r"""Policy iteration on the controlled queue that keeps the relative accuracy of the smallest gains.

Where the optimum is 1e-25, the bias of the rare expensive states is of the order of 1, and a bias
held as one number per state hides what decides the optimum.  So each state keeps two: C, the
expected cost until a much visited state is next entered, and T, the expected time, both sums of
terms of one sign.  The bias is V = C - theta T, and one more robot is better at (q, r) if

    C(q, r+1) - C(q, r) < theta (T(q, r+1) - T(q, r)),

which is decided to within rounding of the four terms of that very state.  A decision that is left
undecided costs no more than that share of what the state costs and takes anyway.  Where C and
theta T are large and nearly equal, V is summed by itself and its own differences decide.

A policy with several recurrent classes keeps the cheapest, and its other states are led there
(Puterman 1994, section 9.5), so that each policy has one gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bools, Floats, read_only_arrays
from analysis.display import brief
from analysis.results import NotConverged
from analysis.robots.controlled import censored
from analysis.robots.controlled.graph import lead_to, recurrent_class, successors
from analysis.robots.controlled.queue import ControlledQueue

#: States of the cut up to which a policy is evaluated: the system on the cut is dense.
LARGEST_CUT = 3000
#: Share of a state's own cost and time that rounding can amount to.
ROUNDING = 1e-14
#: Share below which two actions are treated as equally good when ties are settled.
TIE = 1e-12


@brief
@read_only_arrays
@dataclass(frozen=True)
class Evaluation:
    """Costs of a policy with one recurrent class.

    `gain` is its cost per unit of time; `cost`, `time` and `bias`, shape (K + 1, N + 1), are C, T
    and V, nan at (0, 0).
    """

    gain: float
    cost: Floats
    time: Floats
    bias: Floats

    def advantages(self) -> tuple[Floats, Floats]:
        """Return the cost of one more robot in each state, and the size of the terms subtracted.

        Both have shape (K + 1, N); at (0, 0) a robot has to be started.
        """
        cost, time, bias = self.cost, self.time, self.bias
        from_cycles = cost[:, 1:] - cost[:, :-1] - self.gain * (time[:, 1:] - time[:, :-1])
        terms = cost + self.gain * time
        size = terms[:, 1:] + terms[:, :-1]
        # Where C and theta T are far above every bias, their difference has lost its digits.
        largest = 100.0 * float(np.abs(bias.ravel()[1:]).max())
        extra_cost = np.where(size > largest, bias[:, 1:] - bias[:, :-1], from_cycles)
        extra_cost[0, 0], size[0, 0] = -1.0, 0.0
        return extra_cost, np.minimum(size, largest)


def has_short_cut(after_departure: Bools, after_arrival: Bools) -> bool:
    """Whether the dense system on the cut of a policy has at most `LARGEST_CUT` unknowns."""
    moves = successors(after_departure, after_arrival)
    return bool(censored.cut_and_order(after_arrival, *moves)[1].max() < LARGEST_CUT)


def check_cut(
    queue: ControlledQueue, name: str, after_departure: Bools, after_arrival: Bools
) -> None:
    """Raise ValueError, naming the argument, unless a policy has a short cut."""
    if not has_short_cut(after_departure, after_arrival):
        raise ValueError(
            f"{name} must leave a chain to be censored on at most {LARGEST_CUT} states, got more "
            f"with {queue.robots} robots and capacity {queue.capacity}: solve "
            "uniformised(model) by analysis.mdp"
        )


def evaluate(queue: ControlledQueue, after_departure: Bools, after_arrival: Bools) -> Evaluation:
    """Evaluate a policy with one recurrent class and a short cut.

    Raises NotConverged if the costs or times of a cycle leave the range of double precision.
    """
    rates = queue.departure_rates, queue.arrival_rates, queue.gamma
    gain, *flat = censored.evaluate(after_departure, after_arrival, *rates)
    if not (np.isfinite(gain) and all(np.isfinite(values[1:]).all() for values in flat)):
        raise NotConverged(f"costs or times of {queue} leave the range of double precision")
    return Evaluation(gain, *(values.reshape(queue.shape) for values in flat))


def optimal_policy(
    queue: ControlledQueue, first: Bools, max_iterations: int
) -> tuple[Evaluation, Bools, int]:
    """Improve a first policy until no action is better, beyond rounding, in any state.

    Returns the evaluation, the policy and the number of policies tried. Raises ValueError where a
    policy on the way has too long a cut, and NotConverged at the limit of policies.
    """
    candidate, slack, tried = first, ROUNDING, set[bytes]()
    for iteration in range(1, max_iterations + 1):
        policy = _with_one_class(queue, candidate)
        evaluation = evaluate(queue, policy, policy)
        extra_cost, size = evaluation.advantages()
        better = policy.copy()
        # Within the slack neither action is better, and the decision stays as it was.
        better[:, :-1] = extra_cost < -slack * size
        better[:, :-1] |= policy[:, :-1] & (extra_cost <= slack * size)
        if (better == policy).all():
            return evaluation, policy, iteration
        if (name := better.tobytes()) in tried:  # rounding goes in circles
            slack *= 10.0
        tried.add(name)
        candidate = better
    raise NotConverged(f"policy iteration had not settled after {max_iterations} policies")


def _with_one_class(queue: ControlledQueue, policy: Bools) -> Bools:
    """Return the policy, its states led into the cheapest recurrent class if it has several."""
    label = recurrent_class(*successors(policy, policy))
    if label.max() == 0:
        check_cut(queue, "robots and capacity", policy, policy)
        return policy
    single = [lead_to(policy, label == name) for name in range(label.max() + 1)]
    for table in single:
        check_cut(queue, "robots and capacity", table, table)
    gains = [evaluate(queue, table, table).gain for table in single]
    return single[int(np.argmin(gains))]


def settle_ties(
    queue: ControlledQueue, evaluation: Evaluation, policy: Bools
) -> tuple[Evaluation, Bools]:
    """Settle ties so that the policy becomes a switching curve, if that costs nothing.

    Rounding decides between actions that are equally good; the smallest curve that starts a robot
    wherever that is clearly better takes their place if its gain is the same.
    """
    extra_cost, size = evaluation.advantages()
    starts = extra_cost < -TIE * size
    starts = np.logical_or.accumulate(starts[::-1, ::-1], axis=0)
    starts = np.logical_or.accumulate(starts, axis=1)[::-1, ::-1]
    if (starts & (extra_cost > TIE * size)).any() or (starts == policy[:, :-1]).all():
        return evaluation, policy
    curve = np.zeros_like(policy)
    curve[:, :-1] = starts
    several = recurrent_class(*successors(curve, curve)).max() > 0
    if several or not has_short_cut(curve, curve):
        return evaluation, policy
    on_curve = evaluate(queue, curve, curve)
    if not on_curve.gain <= evaluation.gain * (1.0 + 1e-13):
        return evaluation, policy
    return on_curve, curve
