"""Robots that differ against robots that do not, brute force and limits; linear rules."""

import itertools
from itertools import product
from math import inf

import mpmath
import numpy as np
import pytest

from analysis import robots
from analysis.results import NotConverged
from analysis.robots import RobotControl
from analysis.robots.fleet import FleetControl, LinearRule, RobotKind, compute_gains, tune_rules

TINY = [
    ((RobotKind(1.3, 1, 0.0), RobotKind(0.4, 1, 0.0)), 1, 3.0),
    ((RobotKind(0.9, 1, 0.4), RobotKind(0.5, 1, 0.05)), 1, 2.0),
    ((RobotKind(0.5, 1, 0.3), RobotKind(2.0, 1, 0.9)), 1, 9.0),
]


def every_policy(model: FleetControl):
    """Yield each control of a fleet of two robots that differ, at one place in the queue."""
    choices = []
    for event, (_, left, _) in enumerate(model.events):
        for state in np.unique(left):
            _, a, b = np.unravel_index(state, model.shape)
            idle = [kind for kind, active in enumerate((a, b)) if not active]
            may = [k for k in idle if event == 0 or model.substitution or k == event - 1]
            choices.append((event, state, may if state == 0 else [-1, *may]))
    for chosen in itertools.product(*(kinds for *_, kinds in choices)):
        policy = np.full((3, np.prod(model.shape)), -1)
        for (event, state, _), kind in zip(choices, chosen, strict=True):
            policy[event, state] = kind
        yield policy.reshape(3, *model.shape)


@pytest.mark.parametrize("substitution", [False, True])
@pytest.mark.parametrize(("kinds", "capacity", "gamma"), TINY)
def test_optimum_by_brute_force(kinds, capacity, gamma, substitution):
    model = FleetControl(kinds, 1.0, capacity, gamma, substitution)
    policies = list(every_policy(model))
    gains = np.array([gain_or_inf(model, policy) for policy in policies])
    assert model.solve().gain == pytest.approx(gains.min(), rel=1e-9)
    for first in (0, 1):
        # Only with no robot active are two idle, and there one has to be started.
        ordered = np.array([policy[0, 0, 0, 0] == first for policy in policies])
        solution = model.solve(order=(first, 1 - first))
        assert solution.gain == pytest.approx(gains[ordered].min(), rel=1e-9)
        assert model.evaluate(solution.policy).gain == pytest.approx(solution.gain, rel=1e-9)


def gain_or_inf(model: FleetControl, policy) -> float:
    try:
        return model.evaluate(policy).gain
    except ValueError:
        return np.inf


def random_fleet(rng: np.random.Generator) -> FleetControl:
    kinds = tuple(
        RobotKind(*rng.uniform(0.1, 2.0, 1), int(rng.integers(1, 4)), rng.uniform(0, 0.5))
        for _ in range(rng.integers(1, 4))
    )
    substitution = bool(rng.integers(2))
    capacity = int(rng.integers(1, 6))
    return FleetControl(kinds, rng.uniform(0.3, 3), capacity, rng.uniform(0.1, 30), substitution)


@pytest.mark.parametrize("seed", range(12))
def test_optimum_equals_policy_cost(seed):
    rng = np.random.default_rng(seed)
    model = random_fleet(rng)
    order = rng.permutation(len(model.kinds)).tolist()
    for solution in (model.solve(), model.solve(order=order)):
        value = model.evaluate(solution.policy)
        assert value.gain == pytest.approx(solution.gain, rel=1e-9)
        parts = model.gamma * value.starvation + value.loss_rate + value.running_cost
        rates = [kind.arrival_rate for kind in model.kinds]
        indexed = np.dot(rates, value.mean_robots) - value.loss_rate
        assert indexed == pytest.approx(model.service_rate * (1 - value.starvation), rel=1e-9)
        assert value.gain == pytest.approx(parts, rel=1e-12)
        assert value.occupancy.sum() == pytest.approx(1.0, abs=1e-12)
        assert value.mean_robots == pytest.approx(solution.mean_robots, rel=1e-7, abs=1e-12)
        assert solution.residual < 1e-9 * max(1.0, solution.gain)
    for place, kind in enumerate(order):
        started = solution.policy[0] == kind
        for other in order[:place]:
            active = np.indices(model.shape)[1 + other]
            assert (active[started] == model.kinds[other].available).all()
    assert solution.gain >= model.solve().gain * (1 - 1e-9)


def test_gain_keeps_digits_or_refuses():
    rng, right, refused = np.random.default_rng(5), 0, 0
    models = [(2, 3, 6854.156600823879, 0.0031561810678079477, 1e12)]
    models += [(*rng.integers(1, (4, 6)).tolist(), *10 ** rng.uniform(-6, 6, 3)) for _ in range(60)]
    for available, capacity, arrival_rate, service_rate, gamma in models:
        fleet = FleetControl((RobotKind(arrival_rate, available),), service_rate, capacity, gamma)
        best = RobotControl(available, arrival_rate, service_rate, capacity, gamma).solve().gain
        try:
            assert fleet.solve().gain == pytest.approx(best, rel=1e-9)
            right += 1
        except NotConverged:
            refused += 1
    assert right > 40
    assert refused > 5


def test_wrong_policy_is_refused():
    model = FleetControl((RobotKind(0.4, 1), RobotKind(0.9, 2)), 1.0, 2, 3.0)
    right = model.solve().policy
    with pytest.raises(ValueError, match="order"):
        model.solve(order=[0, 0])
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(right[0])
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(right + 2)
    for place, kind, message in (
        ((0, 1, 1, 0), 0, r"got 0 after event 0 in \(1, 1, 0\)"),
        ((0, 0, 0, 0), -1, r"got -1 after event 0 in \(0, 0, 0\)"),
        ((1, 1, 0, 0), 1, r"got 1 after event 1 in \(1, 0, 0\)"),
    ):
        wrong = right.copy()
        wrong[place] = kind
        with pytest.raises(ValueError, match=message):
            model.evaluate(wrong)


def test_optimal_fleet_by_brute_force():
    kinds = [RobotKind(0.1, 3), RobotKind(0.4, 2, running_cost=0.02), RobotKind(0.4, 1)]
    for gamma, capacity in product([1e-3, 1.2, 1e3], [1, 2, 8]):
        active, cost = robots.optimal_fleet(kinds, gamma, capacity, 0.7)
        every = [n for n in product(range(4), range(3), range(2)) if sum(n)]
        rates = [0.1 * n[0] + 0.4 * (n[1] + n[2]) for n in every]
        costs = [
            robots.static_cost(rate / 0.7, gamma, capacity, 0.7) + 0.02 * n[1]
            for rate, n in zip(rates, every, strict=True)
        ]
        assert cost == pytest.approx(min(costs), rel=1e-13)
        assert costs[every.index(active)] <= min(costs) * (1 + 1e-13)


def test_fleet_by_margins():
    """Never below the best fleet; the best one where areas are alike or rates decide alone."""
    for rate, change, gamma, capacity in product([1e-3, 0.3, 20.0], [1e-2, 1.0, inf], [1e-3, 5.0],
                                                 [1, 6]):  # fmt: skip
        alike = [RobotKind(rate, 3, 1e-3, change)] * 2
        unlike = [RobotKind(rate, 3, 1e-3, change), RobotKind(0.4, 2, 0.05, 0.7)]
        for kinds in (alike, unlike):
            active, cost = robots.fleet_by_margins(kinds, gamma, capacity)
            load = sum(float(kind.rate(n)) for kind, n in zip(kinds, active, strict=True))
            running = sum(kind.running_cost * n for kind, n in zip(kinds, active, strict=True))
            assert cost == pytest.approx(robots.static_cost(load, gamma, capacity) + running)
            assert cost >= robots.optimal_fleet(kinds, gamma, capacity)[1] * (1 - 1e-13)
        best = robots.optimal_fleet(alike, gamma, capacity)[1]
        assert robots.fleet_by_margins(alike, gamma, capacity)[1] == pytest.approx(best, rel=1e-12)
        # Of robots that bring as much, dear ones run only where all the cheap ones do.
        unequal = [RobotKind(rate, 3, 0.05, change), RobotKind(rate, 3, 0.01, change)]
        dear, cheap = robots.fleet_by_margins(unequal, gamma, capacity)[0]
        assert cheap > 0
        assert dear == 0 or cheap == 3


def test_equal_kinds_are_one_kind():
    """Robots of kinds that are alike are robots of one kind."""
    for rate, gamma, capacity in ((1e-3, 1.2, 2), (0.3, 1e-6, 4), (0.3, 1.2, 1), (50.0, 1e3, 3)):
        whole = RobotControl(3, rate, 1.0, capacity, gamma).solve()
        kinds = [RobotKind(rate, 2), RobotKind(rate, 1)]
        for substitution in (False, True):
            fleet = FleetControl(kinds, 1.0, capacity, gamma, substitution).solve()
            assert fleet.gain == pytest.approx(whole.gain, rel=1e-9)
            assert fleet.gain == pytest.approx(
                gamma * fleet.starvation + fleet.loss_rate, rel=1e-9, abs=1e-15
            )
            assert fleet.residual < 1e-9 * max(1, fleet.gain)
            again = FleetControl(kinds, 1.0, capacity, gamma, substitution).evaluate(fleet.policy)
            assert again.gain == pytest.approx(fleet.gain, rel=1e-9)


def fleet_excess(model, policy, digits=60):
    """The gain of a control, and by how much some decision is worse than the best, a share of it.

    Its relative values solve the equation of the module, written down state by state.
    """
    mp = mpmath.mp.clone()
    mp.dps = digits
    kinds, places = model.kinds, model.capacity
    states = [x for x in product(*(range(n) for n in model.shape)) if any(x)]
    place = {x: n for n, x in enumerate(states)}

    def choices(q, active, startable):
        found = {-1: (q, *active)} if q or any(active) else {}
        for i in startable:
            if active[i] < kinds[i].available:
                found[i] = (q, *(r + (j == i) for j, r in enumerate(active)))
        return found

    def events(q, *active):
        """Rates, decisions and the control's own decision."""
        every = range(len(kinds))
        if q:
            chosen = policy[(0, q - 1, *active)]
            yield mp.mpf(model.service_rate), choices(q - 1, active, every), int(chosen)
        for i in every:
            if active[i]:
                left = tuple(r - (j == i) for j, r in enumerate(active))
                above = min(q + 1, places)
                options = choices(above, left, every if model.substitution else (i,))
                chosen = policy[(1 + i, above, *left)]
                yield active[i] * mp.mpf(kinds[i].arrival_rate), options, int(chosen)

    size = len(states)
    system, right = mp.zeros(size + 1, size + 1), mp.zeros(size + 1, 1)
    for n, (q, *active) in enumerate(states):
        system[n, size] = 1
        for rate, options, chosen in events(q, *active):
            system[n, n] += rate
            system[n, place[options[chosen]]] -= rate
        for kind, count in zip(kinds, active, strict=True):
            lost = kind.arrival_rate if q == places else 0
            right[n] += count * (mp.mpf(kind.running_cost) + lost)
        right[n] += mp.mpf(model.gamma) * (q == 0)
    system[size, place[tuple(n - 1 for n in model.shape)]] = 1
    values = mp.lu_solve(system, right)
    worse = max(
        rate * (values[place[options[chosen]]] - min(values[place[x]] for x in options.values()))
        for q, *active in states
        for rate, options, chosen in events(q, *active)
    )
    return float(values[size]), float(worse / abs(values[size]))


@pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_fleets_that_differ(count):
    """Kinds whose rates lie decades apart, or a hundredth; running costs small, large or none.

    Few are refused, where the rates are too far apart to tell.
    """
    refused = 0
    for number in range(count):
        rng = np.random.default_rng(number)
        apart = (4, 0.01)[number % 2]
        kinds = [
            RobotKind(
                10 ** rng.uniform(-apart, apart),
                int(rng.integers(1, 3)),
                float(rng.choice([0.0, 10 ** rng.uniform(-3, 1)])),
            )
            for _ in range(2)
        ]
        model = FleetControl(
            kinds, 10 ** rng.uniform(-1, 1), int(rng.integers(1, 4)), 10 ** rng.uniform(-4, 4),
            bool(rng.integers(2)),
        )  # fmt: skip
        try:
            solution = model.solve()
        except NotConverged:
            assert apart == 4, number
            refused += 1
            continue
        gain, worse = fleet_excess(model, solution.policy)
        assert worse <= 1e-8, number
        assert solution.gain == pytest.approx(gain, rel=1e-8), number
    assert refused <= count // 10


@pytest.mark.parametrize("substitution", [False, True])
def test_any_policy_in_60_digits(substitution):
    kinds = (RobotKind(0.9, 2, 0.3), RobotKind(0.35, 2, 0.02))
    model = FleetControl(kinds, 1.0, 3, 4.0, substitution)
    policy = LinearRule((1.3, 0.6), (2.5, 3.1), (0, 1)).policy(model)
    gain, worse = fleet_excess(model, policy)
    assert worse > 0.01
    assert model.evaluate(policy).gain == pytest.approx(gain, rel=1e-12)


# Linear rules

KINDS = (RobotKind(0.9, 2, 0.1), RobotKind(0.35, 2, 0.02))


@pytest.mark.parametrize("substitution", [False, True])
def test_stacked_rules_match_single(substitution):
    model = FleetControl(KINDS, 1.3, 3, 4.0, substitution)
    rng = np.random.default_rng(5)
    rules = [
        LinearRule(tuple(rng.uniform(0, 2, 2)), tuple(rng.uniform(0.1, 6, 2)), order)
        for order in ((0, 1), (1, 0))
        for _ in range(20)
    ]
    policies = np.stack([rule.policy(model) for rule in rules])
    exact = [model.evaluate(policy).gain for policy in policies]
    np.testing.assert_allclose(compute_gains(model, policies), exact, rtol=1e-6)


def test_rule_decides_one_state():
    model = FleetControl(KINDS, 1.0, 3, 4.0)
    policy = LinearRule((1.5, 0.5), (1.75, 2.5), (1, 0)).policy(model)
    assert policy[0, 0, 1, 0] == 1  # level 1.5: both are wanted, slow ones are tried first
    assert policy[0, 0, 0, 2] == 0  # level 1: no slow one is idle
    assert policy[0, 2, 0, 0] == 1  # level 2: slow ones alone are wanted
    assert policy[1, 2, 0, 0] == -1
    assert policy[2, 2, 0, 0] == 1
    assert policy[0, 3, 0, 0] == -1
    assert LinearRule((1.0, 1.0), (0.0, 0.0), (1, 0)).policy(model)[0, 0, 0, 0] == 1


def test_rule_is_optimal_for_equal_robots():
    # The optimum of the study is a switching line in these.
    for gamma, capacity in ((1.2, 4), (6.0, 3)):
        model = FleetControl((RobotKind(0.4, 2), RobotKind(0.4, 1)), 1.0, capacity, gamma)
        optimum = RobotControl(3, 0.4, 1.0, capacity, gamma).solve().gain
        for rule in tune_rules(model):
            assert model.evaluate(rule.policy(model)).gain == pytest.approx(optimum, rel=1e-4)


def test_search_beats_grid():
    weights, thresholds = (0.25, 0.5, 1.0, 1.5, 2.0), np.arange(0.5, 5.5, 0.5)
    for gamma, kinds in ((3.0, KINDS), (12.0, (RobotKind(0.6, 1, 0.9), RobotKind(0.25, 2)))):
        model = FleetControl(kinds, 1.0, 2, gamma)
        rules = itertools.product(
            itertools.product(weights, repeat=2),
            itertools.product(thresholds.tolist(), repeat=2),
            ((0, 1), (1, 0)),
        )
        chains = {}
        for rule in itertools.starmap(LinearRule, rules):
            policy = rule.policy(model)
            chains[policy.tobytes()] = policy
        least = compute_gains(model, np.stack(list(chains.values()))).min()
        _, found = tune_rules(model)
        assert model.evaluate(found.policy(model)).gain < 1.01 * least
        assert model.evaluate(found.policy(model)).gain >= model.solve().gain * (1 - 1e-9)


def test_starts_balance_arrivals():
    model = FleetControl(KINDS, 1.0, 3, 4.0)
    policy = LinearRule((1.3, 0.6), (2.6, 3.1), (0, 1)).policy(model)
    value = model.evaluate(policy)
    law, starts = value.occupancy.reshape(-1), np.zeros(2)
    for event, (source, left, rate) in enumerate(model.events):
        started = policy[event].reshape(-1)[left]
        for kind in range(2):
            starts[kind] += law[source] @ (rate * (started == kind))
    arrivals = [k.arrival_rate * n for k, n in zip(KINDS, value.mean_robots, strict=True)]
    np.testing.assert_allclose(starts, arrivals, rtol=1e-10)
