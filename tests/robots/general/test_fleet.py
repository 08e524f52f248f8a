"""Robots that differ against robots that do not, brute force and limits."""

import itertools

import numpy as np
import pytest

from analysis.results import Estimate, NotConverged
from analysis.robots import RobotControl
from analysis.robots.general.fleet import FleetControl, RobotKind, optimal_fleet


@pytest.mark.parametrize(
    ("kinds", "gamma"),
    [
        ((RobotKind(0.25, 2), RobotKind(0.63, 2)), 19.08),
        ((RobotKind(0.5, 3, 0.44), RobotKind(0.32, 3, 0.04)), 11.98),
    ],
)
def test_substitution_of_different_robots(kinds, gamma):
    own = FleetControl(kinds, 1.0, 4, gamma).solve()
    any_idle = FleetControl(kinds, 1.0, 4, gamma, substitution=True).solve()
    assert 0.001 < 1 - any_idle.gain / own.gain < 0.02
    # One robot at a time is exchanged: the law still balances, page by page.
    brought = sum(k.arrival_rate * n for k, n in zip(kinds, any_idle.mean_robots, strict=True))
    served = 1.0 - any_idle.starvation
    assert brought - any_idle.loss_rate == pytest.approx(served, rel=1e-9)
    assert any_idle.residual < 1e-9


def test_too_many_combinations_are_refused():
    with pytest.raises(ValueError, match="kinds"):
        optimal_fleet([RobotKind(0.1, 3000), RobotKind(0.1, 3000)], 1.0, 3)


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


def simulated_gain(model: FleetControl, policy, events: int, rng) -> float:
    """Play a control event by event, from its definition; the mean cost of the time spent."""
    rates = [kind.arrival_rate for kind in model.kinds]
    most = [kind.available for kind in model.kinds]
    queue, active, time, cost = 0, [0] * len(rates), 0.0, 0.0
    active[policy[0][(0, *active)]] += 1
    draws = zip(rng.exponential(size=events).tolist(), rng.random(events).tolist(), strict=True)
    for clock, uniform in draws:
        flows = [model.service_rate * (queue > 0)]
        flows += [rate * n for rate, n in zip(rates, active, strict=True)]
        step = clock / sum(flows)
        running = sum(k.running_cost * n for k, n in zip(model.kinds, active, strict=True))
        time += step
        cost += step * (model.gamma * (queue == 0) + running)
        event = int(np.searchsorted(np.cumsum(flows), uniform * sum(flows), side="right"))
        if event == 0:
            queue -= 1
        else:
            active[event - 1] -= 1
            cost += queue == model.capacity
            queue = min(queue + 1, model.capacity)
        if (started := policy[event][(queue, *active)]) >= 0:
            active[started] += 1
        assert all(0 <= n <= m for n, m in zip(active, most, strict=True))
    return cost / time


def test_policy_cost_matches_simulation():
    kinds = (RobotKind(0.9, 2, 0.3), RobotKind(0.35, 2, 0.02))
    model = FleetControl(kinds, 1.0, 3, 4.0)
    queue, fast, slow = np.indices(model.shape)
    level = queue + 1.3 * fast + 0.6 * slow
    policy = np.full((3, *model.shape), -1)
    policy[0][(level < 2.5) & (fast < 2)] = 0
    policy[0][(level < 3.1) & (slow < 2)] = 1
    policy[1][(level < 2.5) & (fast < 2)] = 0
    policy[2][(level < 3.1) & (slow < 2)] = 1
    rng = np.random.default_rng(7)
    runs = Estimate.of([simulated_gain(model, policy, 6_000, rng) for _ in range(12)])
    assert runs.high - runs.low < 0.05 * runs.value
    assert abs(model.evaluate(policy).gain - runs.value) < 2 * (runs.high - runs.value)


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
