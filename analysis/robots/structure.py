r"""Closed forms at both ends of the weights, inequalities of value iteration, exact optima.

With U(q, r) = min{V(q, r), V(q, r+1)} for r < N, U(q, N) = V(q, N), and the boundary values
V(K+1, r) = V(K, r) + 1 and U(-1, r) = V(0, r) + gamma/mu, the operator of the controlled queue is

    nu TV(q, r) = mu U(q-1, r) + lambda r U(q+1, r-1) + lambda (N-r) V(q, r).

Closed forms (part B of the chapter on proofs): with rho = lambda N / mu and P the M/M/1/K law,

* no policy starves less than P_0, so the cost is at least gamma P_0;
* the curve K-1-r (a robot is started while q + r < K) loses nothing and starves least among the
  policies that lose nothing: cost gamma / sum_q prod_{j<q} lambda min(N, K-j) / mu, optimal for
  small gamma;
* the curve K, ..., K, K-1 starves P_0: cost gamma P_0 + lambda (N-1) P_K, optimal for large gamma,
  and for every gamma when N = 1.

That the optimum is a switching curve in between as well is a theorem (`analysis.robots.curve`).
For value iteration it reduces to inequality (W), one a row, which is only seen.  `inequalities`
measures it and its companions; `exact_optimum` certifies an optimum in rational arithmetic.
"""

from __future__ import annotations

import itertools
import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Bools, Ints
from analysis.robots.control import RobotControl

Table = NDArray[Any]


def starvation_bound(model: RobotControl) -> float:
    """Return gamma P_0, a lower bound on the cost of every policy."""
    rho = float(model.arrival_rates[-1]) / model.service_rate
    return model.gamma / float((rho ** np.arange(model.capacity + 1)).sum())


def lossless_cost(model: RobotControl) -> float:
    """Return the least cost among the policies that lose no page."""
    capacity = model.capacity
    births = model.arrival_rates[np.minimum(model.robots, capacity - np.arange(capacity))]
    return model.gamma / float(1.0 + np.cumprod(births / model.service_rate).sum())


def lossless_curve(model: RobotControl) -> Ints:
    """Return the curve K - 1 - r: a robot is started while q + r < K."""
    return np.maximum(model.capacity - 1 - np.arange(model.robots), -1)


def saturated_cost(model: RobotControl) -> float:
    """Return gamma P_0 + lambda (N - 1) P_K, the least cost among those that starve P_0."""
    rho = float(model.arrival_rates[-1]) / model.service_rate
    law = rho ** np.arange(model.capacity + 1)
    lost = float(model.arrival_rates[-2]) * law[-1]
    return float((model.gamma * law[0] + lost) / law.sum())


def exact_costs(
    robots: int, arrival_rate: Fraction, service_rate: Fraction, capacity: int, gamma: Fraction
) -> tuple[Fraction, Fraction]:
    """Return the costs of the lossless and of the saturated curve as fractions."""
    births = [arrival_rate * min(robots, capacity - j) / service_rate for j in range(capacity)]
    lossless = sum(itertools.accumulate(births, operator.mul, initial=Fraction(1)))
    law = [(arrival_rate * robots / service_rate) ** i for i in range(capacity + 1)]
    lost = arrival_rate * (robots - 1) * law[-1]
    return gamma / lossless, (gamma * law[0] + lost) / sum(law)


def saturated_curve(model: RobotControl) -> Ints:
    """Return the curve K, ..., K, K - 1: all robots are kept but one at a full queue."""
    curve = np.full(model.robots, model.capacity)
    curve[-1] = model.capacity - 1
    return curve


def starting_values(bias: Table, gamma_over_mu: Any, loss: Any = 1) -> tuple[Table, Table]:
    """Return V on 0..K+1 and U on -1..K+1 (its row i is queue length i - 1)."""
    extended = np.vstack([bias, bias[-1:] + loss])
    best = extended.copy()
    best[:, :-1] = np.minimum(extended[:, :-1], extended[:, 1:])
    return extended, np.vstack([bias[:1] + gamma_over_mu, best])


def apply_operator(bias: Table, arrival_rate: Any, service_rate: Any, gamma: Any) -> Table:
    """Return nu TV, for floats or fractions, on the states (q, r) with (0, 0) included.

    U(0, 0) is here the smaller of V(0, 0) and V(0, 1), the model without the forced start.
    """
    return _image(*starting_values(bias, gamma / service_rate), arrival_rate, service_rate)


def _image(extended: Table, best: Table, arrival_rate: Any, service_rate: Any) -> Table:
    """Return nu TV from V on 0..K+1 and U on -1..K+1."""
    robots = extended.shape[1] - 1
    active = np.arange(robots + 1).astype(extended.dtype)
    image = service_rate * best[:-2] + arrival_rate * (robots - active) * extended[:-1]
    image[:, 1:] += arrival_rate * active[1:] * best[2:, :-1]
    return image


def inequalities(bias: Table, gamma_over_mu: Any, loss: Any = 1) -> dict[str, Any]:
    """Return the smallest slack of each inequality of the structure (negative: it fails).

    `bias`, shape (K + 1, N + 1), holds V in floats or fractions; `loss` is the cost of a lost page,
    in the unit of V. With d(q, r) = V(q, r+1) - V(q, r) the inequalities are

        S      d(q+1, r) >= d(q, r)
        R      d(q, r+1) >= d(q, r)
        C      V convex in q
        CU     U convex in q
        W      V(q+1, r) + V(q-1, r+1) >= 2 U(q, r) for r < N, q >= 1
        X2     U(q+1, r) + U(q-1, r+1) >= U(q, r) + U(q, r+1)
        D      V(q+1, r-1) + V(q-1, r+1) >= 2 V(q, r)
        early  d(q, r) <= 0 while q + r < K
    """
    levels, width = bias.shape
    extended, best = starting_values(bias, gamma_over_mu, loss)
    d = extended[:, 1:] - extended[:, :-1]
    capacity = levels - 1
    q_sum = np.add.outer(np.arange(levels), np.arange(width - 1))
    middle = best[1:-1, :]  # U(q, .) for q = 0..K
    slacks = {
        "S": d[1:levels] - d[: levels - 1],
        "R": d[:levels, 1:] - d[:levels, :-1],
        "C": extended[2:] - 2 * extended[1:-1] + extended[:-2],
        "CU": best[2:] - 2 * middle + best[:-2],
        "W": extended[2:, :-1] + extended[:-2, 1:] - 2 * best[2:-1, :-1],
        "X2": best[2:, :-1] + best[:-2, 1:] - middle[:, :-1] - middle[:, 1:],
        "D": extended[2:, :-2] + extended[:-2, 2:] - 2 * extended[1:-1, 1:-1],
        "early": -d[:levels][q_sum < capacity],
    }
    return {name: slack.min() for name, slack in slacks.items() if slack.size}


def iterate_slacks(
    robots: int,
    arrival_rate: Fraction,
    service_rate: Fraction,
    capacity: int,
    gamma: Fraction,
    steps: int,
) -> dict[str, Fraction]:
    """Return the smallest slack of each inequality over the iterates T 0, ..., T^steps 0.

    V is held in units of mu nu^n, with all rates whole, so that every number is an integer.
    """
    scale = math.lcm(arrival_rate.denominator, service_rate.denominator, gamma.denominator)
    lam, mu, weight = (int(rate * scale) for rate in (arrival_rate, service_rate, gamma))
    values = np.full((capacity + 1, robots + 1), 0, dtype=object)
    loss = mu
    least: dict[str, tuple[int, int]] = {}
    for _ in range(steps):
        values = _image(*starting_values(values, weight * loss // mu, loss), lam, mu)
        loss *= lam * robots + mu
        for name, slack in inequalities(values, weight * loss // mu, loss).items():
            smallest, unit = least.get(name, (slack, loss))
            least[name] = (slack, loss) if slack * unit <= smallest * loss else (smallest, unit)
    return {name: Fraction(int(slack), int(unit)) for name, (slack, unit) in least.items()}


@dataclass(frozen=True)
class ExactOptimum:
    """An optimum in rational arithmetic: cost per unit of time, V and an optimal curve f(r), r < N.

    V(q, r), shape (K + 1, N + 1), is far above all other values at (0, 0), which is never entered.
    """

    gain: Fraction
    bias: Table = field(repr=False)
    curve: tuple[int, ...]


def exact_optimum(
    robots: int, arrival_rate: Fraction, service_rate: Fraction, capacity: int, gamma: Fraction
) -> ExactOptimum:
    """Return an optimum whose optimality equation holds without rounding.

    The policy found in floating point is evaluated in fractions (those of FLINT) and improved there
    until it is optimal, so that the result does not rest on floating point. Raises ValueError if
    the optimal table is no switching curve, which the theorem excludes.
    """
    from flint import fmpq

    model = RobotControl(robots, float(arrival_rate), float(service_rate), capacity, float(gamma))
    solution = model.solve()
    policy = solution.policy.copy()
    reference = divmod(int(solution.occupancy.argmax()), robots + 1)
    rates = [fmpq(rate.numerator, rate.denominator) for rate in (arrival_rate, service_rate, gamma)]
    for _ in range(100):
        gain, bias = _evaluate_exactly(policy, reference, *rates)
        gap = bias[:, 1:] - bias[:, :-1]
        better = policy.copy()
        better[:, :-1] = np.where(gap == 0, policy[:, :-1], gap < 0)
        better[0, 0] = True
        if (better == policy).all():
            break
        policy = better
    curve = policy[:, :-1].sum(axis=0) - 1
    expected = np.arange(capacity + 1)[:, None] <= curve
    if (expected != policy[:, :-1]).any() or (np.diff(curve) > 0).any():
        raise ValueError(f"the optimal policy is no switching curve: {policy[:, :-1].tolist()}")
    fraction = np.frompyfunc(lambda value: Fraction(int(value.p), int(value.q)), 1, 1)
    return ExactOptimum(fraction(gain), fraction(bias), tuple(int(height) for height in curve))


def _evaluate_exactly(
    policy: Bools, reference: tuple[int, ...], arrival_rate: Any, service_rate: Any, gamma: Any
) -> tuple[Any, Table]:
    """Return gain and bias of a policy with one recurrent class in fractions, 0 at the reference.

    The value at (0, 0), which is forbidden, is set far above all.
    """
    from flint import fmpq_mat

    levels, width = policy.shape
    states = [state for state in np.ndindex(policy.shape) if state != (0, 0)]
    number_of = {state: position for position, state in enumerate(states)}
    system, right = fmpq_mat(len(states), len(states)), fmpq_mat(len(states), 1)
    for row, (q, r) in enumerate(states):
        moves = []
        if q > 0:
            started = r < width - 1 and policy[q - 1, r]
            moves.append(((q - 1, r + int(started)), service_rate))
        if r > 0:
            above = min(q + 1, levels - 1)
            moves.append(((above, r - 1 + int(policy[above, r - 1])), arrival_rate * r))
        for target, rate in moves:
            for state, entry in (((q, r), rate), (target, -rate)):
                if state != reference:
                    system[row, number_of[state]] += entry
        # As the reference has the value 0, its column holds the coefficients of the gain.
        system[row, number_of[reference]] += 1
        right[row, 0] = gamma * int(q == 0) + arrival_rate * r * int(q == levels - 1)
    values = [row[0] for row in system.solve(right).tolist()]
    bias = np.full(policy.shape, 0 * gamma, dtype=object)
    for state, value in zip(states, values, strict=True):
        bias[state] = value if state != reference else 0 * gamma
    finite = [bias[state] for state in states]
    bias[0, 0] = bias[0, 1] + 1000 * (1 + max(finite) - min(finite))
    return values[number_of[reference]], bias
