"""Robots that differ against robots that do not, brute force and limits."""

import itertools

import numpy as np
import pytest

from analysis.results import Estimate, NotConverged
from analysis.robots import RobotControl, optimal_robots, static_cost
from analysis.robots.general.fleet import FleetControl
from analysis.robots.general.kinds import RobotKind, optimal_fleet


def test_one_kind_is_static_model():
    for gamma in (0.4, 1.4, 2.4):
        counts, cost = optimal_fleet([RobotKind(0.05, 60)], gamma, 5)
        assert counts == (optimal_robots(0.05, gamma, 5),)
        assert cost == pytest.approx(static_cost(counts[0] * 0.05, gamma, 5))


def test_two_kinds_beat_one():
    one = optimal_fleet([RobotKind(0.3, 20)], 1.4, 5)[1]
    two = optimal_fleet([RobotKind(0.3, 20), RobotKind(0.13, 20)], 1.4, 5)[1]
    assert two < one


def test_running_costs_choose_cheaper_kind():
    kinds = [RobotKind(0.1, 30, 0.01), RobotKind(0.1, 30, 0.02)]
    counts, _ = optimal_fleet(kinds, 1.4, 5)
    assert counts[0] > 0
    assert counts[1] == 0


def test_static_fleet_by_brute_force():
    kinds = [RobotKind(0.2, 4, 0.03), RobotKind(0.5, 3, 0.05)]
    counts, cost = optimal_fleet(kinds, 1.1, 4, 1.3)
    everything = {
        (a, b): static_cost((0.2 * a + 0.5 * b) / 1.3, 1.1, 4, 1.3) + 0.03 * a + 0.05 * b
        for a in range(5)
        for b in range(4)
        if a + b
    }
    assert cost == pytest.approx(min(everything.values()))
    assert everything[counts] == pytest.approx(cost)


def test_one_kind_is_controlled_queue():
    fleet = FleetControl((RobotKind(0.3, 5),), 1.0, 4, 1.2).solve()
    single = RobotControl(5, 0.3, 1.0, 4, 1.2).solve()
    assert fleet.gain == pytest.approx(single.gain, rel=1e-10)
    assert fleet.starvation == pytest.approx(single.starvation, rel=1e-8)
    np.testing.assert_array_equal(fleet.start[:, :-1] == 0, single.policy[:, :-1])


@pytest.mark.parametrize("split", [1, 2])
def test_equal_kinds_change_nothing(split):
    fleet = FleetControl((RobotKind(0.3, split), RobotKind(0.3, 4 - split)), 1.0, 4, 1.2).solve()
    single = RobotControl(4, 0.3, 1.0, 4, 1.2).solve()
    assert fleet.gain == pytest.approx(single.gain, rel=1e-9)
    assert sum(fleet.mean_robots) == pytest.approx(single.mean_robots, rel=1e-7)


def test_control_beats_fixed_fleets():
    kinds = (RobotKind(0.2, 3, 0.01), RobotKind(0.5, 2, 0.05))
    fleet = FleetControl(kinds, 1.0, 4, 1.2).solve()
    assert fleet.gain < optimal_fleet(kinds, 1.2, 4)[1]
    assert fleet.gain == pytest.approx(
        1.2 * fleet.starvation + fleet.loss_rate + fleet.running_cost, rel=1e-9
    )
    assert fleet.residual < 1e-9


def test_costly_robots_stay_idle():
    fleet = FleetControl((RobotKind(0.4, 3), RobotKind(0.4, 2, 50.0)), 1.0, 3, 1.0).solve()
    assert fleet.mean_robots[1] == pytest.approx(0.0, abs=1e-9)
    assert fleet.gain == pytest.approx(RobotControl(3, 0.4, 1.0, 3, 1.0).solve().gain, rel=1e-9)


def test_substitution_of_equal_robots():
    kinds = (RobotKind(0.3, 2, 0.01), RobotKind(0.3, 2, 0.01))
    own = FleetControl(kinds, 1.0, 4, 1.2).solve()
    any_idle = FleetControl(kinds, 1.0, 4, 1.2, substitution=True).solve()
    assert any_idle.gain == pytest.approx(own.gain, rel=1e-9)


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


def test_substitution_matches_value_iteration():
    kinds, gamma, capacity = (RobotKind(1.0, 2), RobotKind(0.13, 1)), 22.61, 3
    for substitution in (False, True):
        solution = FleetControl(kinds, 1.0, capacity, gamma, substitution=substitution).solve()
        assert solution.gain == pytest.approx(
            gain_by_value_iteration(kinds, gamma, capacity, substitution), rel=1e-8
        )


def gain_by_value_iteration(kinds, gamma: float, capacity: int, substitution: bool) -> float:
    """Iterate the optimality equation state by state, mu = 1."""
    rates, most = [k.arrival_rate for k in kinds], [k.available for k in kinds]
    states = [
        (q, a, b)
        for q in range(capacity + 1)
        for a in range(most[0] + 1)
        for b in range(most[1] + 1)
        if q + a + b
    ]
    total = 1.0 + rates[0] * most[0] + rates[1] * most[1]
    values = dict.fromkeys(states, 0.0)

    def least(q: int, robots: tuple[int, int], kinds_to_start) -> float:
        options = [(q, *robots)] if q or any(robots) else []
        for kind in kinds_to_start:
            if robots[kind] < most[kind]:
                options.append((q, *(n + (i == kind) for i, n in enumerate(robots))))
        return min(values[option] for option in options)

    for _ in range(20_000):
        image = {}
        for q, *robots in states:
            cost = gamma * (q == 0) + sum(
                k.running_cost * n for k, n in zip(kinds, robots, strict=True)
            )
            change = cost
            if q:
                change += least(q - 1, tuple(robots), (0, 1)) - values[q, *robots]
            for kind, count in enumerate(robots):
                rate = rates[kind] * count
                if not rate:
                    continue
                left = tuple(n - (i == kind) for i, n in enumerate(robots))
                ahead = least(min(q + 1, capacity), left, (0, 1) if substitution else (kind,))
                change += rate * (ahead - values[q, *robots] + (q == capacity))
            image[q, *robots] = values[q, *robots] + change / total
        steps = [image[s] - values[s] for s in states]
        values = image
        if max(steps) - min(steps) < 1e-11:
            break
    return total * (max(steps) + min(steps)) / 2


def test_wrong_fleet_is_refused():
    with pytest.raises(ValueError, match="available"):
        RobotKind(0.1, 0)
    with pytest.raises(ValueError, match="running_cost"):
        RobotKind(0.1, 1, -1.0)
    with pytest.raises(ValueError, match="kinds"):
        optimal_fleet([], 1.0, 3)
    with pytest.raises(ValueError, match="kinds"):
        FleetControl(3, 1.0, 3, 1.0)
    with pytest.raises(ValueError, match="substitution"):
        FleetControl([RobotKind(0.1, 1)], 1.0, 3, 1.0, substitution="any")
    with pytest.raises(ValueError, match="combinations, got"):
        optimal_fleet([RobotKind(0.1, 3000), RobotKind(0.1, 3000)], 1.0, 3)
    with pytest.raises(ValueError, match="capacity"):
        FleetControl((RobotKind(0.1, 1),), 1.0, 0, 1.0)


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
