"""Robots that differ against robots that do not, brute force and limits."""

import numpy as np
import pytest

from analysis.robots import RobotControl, optimal_robots, static_cost
from analysis.robots.general.fleet import FleetControl, RobotKind, optimal_fleet


def test_one_kind_without_running_cost_is_the_static_model():
    for gamma in (0.4, 1.4, 2.4):
        counts, cost = optimal_fleet([RobotKind(0.05, 60)], gamma, 5)
        assert counts == (optimal_robots(0.05, gamma, 5),)
        assert cost == pytest.approx(static_cost(counts[0] * 0.05, gamma, 5))


def test_two_kinds_come_at_least_as_close_as_one():
    one = optimal_fleet([RobotKind(0.3, 20)], 1.4, 5)[1]
    two = optimal_fleet([RobotKind(0.3, 20), RobotKind(0.13, 20)], 1.4, 5)[1]
    assert two < one


def test_running_costs_choose_the_cheaper_kind():
    kinds = [RobotKind(0.1, 30, 0.01), RobotKind(0.1, 30, 0.02)]
    counts, _ = optimal_fleet(kinds, 1.4, 5)
    assert counts[0] > 0
    assert counts[1] == 0


def test_the_static_fleet_against_a_loop():
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


def test_one_kind_controlled_is_the_controlled_queue():
    fleet = FleetControl((RobotKind(0.3, 5),), 1.0, 4, 1.2).solve()
    single = RobotControl(5, 0.3, 1.0, 4, 1.2).solve()
    assert fleet.gain == pytest.approx(single.gain, rel=1e-10)
    assert fleet.starvation == pytest.approx(single.starvation, rel=1e-8)
    np.testing.assert_array_equal(fleet.start[:, :-1] == 0, single.policy[:, :-1])


@pytest.mark.parametrize("split", [1, 2])
def test_two_names_for_one_kind_change_nothing(split):
    fleet = FleetControl((RobotKind(0.3, split), RobotKind(0.3, 4 - split)), 1.0, 4, 1.2).solve()
    single = RobotControl(4, 0.3, 1.0, 4, 1.2).solve()
    assert fleet.gain == pytest.approx(single.gain, rel=1e-9)
    assert sum(fleet.mean_robots) == pytest.approx(single.mean_robots, rel=1e-7)


def test_control_beats_every_fixed_fleet():
    kinds = (RobotKind(0.2, 3, 0.01), RobotKind(0.5, 2, 0.05))
    fleet = FleetControl(kinds, 1.0, 4, 1.2).solve()
    assert fleet.gain < optimal_fleet(kinds, 1.2, 4)[1]
    assert fleet.gain == pytest.approx(
        1.2 * fleet.starvation + fleet.loss_rate + fleet.running_cost, rel=1e-9
    )
    assert fleet.residual < 1e-9


def test_dear_robots_that_bring_little_are_left_alone():
    fleet = FleetControl((RobotKind(0.4, 3), RobotKind(0.4, 2, 50.0)), 1.0, 3, 1.0).solve()
    assert fleet.mean_robots[1] == pytest.approx(0.0, abs=1e-9)
    assert fleet.gain == pytest.approx(RobotControl(3, 0.4, 1.0, 3, 1.0).solve().gain, rel=1e-9)


def test_substitution_changes_nothing_where_robots_are_alike():
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
def test_substitution_helps_where_robots_differ(kinds, gamma):
    own = FleetControl(kinds, 1.0, 4, gamma).solve()
    any_idle = FleetControl(kinds, 1.0, 4, gamma, substitution=True).solve()
    assert 0.001 < 1 - any_idle.gain / own.gain < 0.02
    # One robot at a time is exchanged: the law still balances, page by page.
    brought = sum(k.arrival_rate * n for k, n in zip(kinds, any_idle.mean_robots, strict=True))
    served = 1.0 - any_idle.starvation
    assert brought - any_idle.loss_rate == pytest.approx(served, rel=1e-9)
    assert any_idle.residual < 1e-9


def test_substitution_against_value_iteration_written_from_its_equation():
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


def test_wrong_fleets_are_refused():
    with pytest.raises(ValueError, match="available must be an integer of at least 1, got 0"):
        RobotKind(0.1, 0)
    with pytest.raises(ValueError, match="running_cost must be a number in"):
        RobotKind(0.1, 1, -1.0)
    with pytest.raises(ValueError, match="kinds must be one RobotKind or more"):
        optimal_fleet([], 1.0, 3)
    with pytest.raises(ValueError, match="kinds must be of class Sequence, got 3"):
        FleetControl(3, 1.0, 3, 1.0)
    with pytest.raises(ValueError, match="substitution must be of class bool, got 'any'"):
        FleetControl([RobotKind(0.1, 1)], 1.0, 3, 1.0, substitution="any")
    with pytest.raises(ValueError, match="combinations, got"):
        optimal_fleet([RobotKind(0.1, 3000), RobotKind(0.1, 3000)], 1.0, 3)
    with pytest.raises(ValueError, match="capacity must be an integer of at least 1, got 0"):
        FleetControl((RobotKind(0.1, 1),), 1.0, 0, 1.0)
