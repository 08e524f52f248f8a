"""The controlled queue: solvers against each other, closed forms, 100 digits, and bad input."""

from contextlib import suppress

import flint
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from analysis.mdp import policy_iteration, relative_value_iteration
from analysis.robots import (
    RobotControl,
    control,
    full_chain,
    proposition_4,
    static_cost,
    structure,
    without_cap,
)
from analysis.robots.control import uniformised
from analysis.robots.curve import optimal_sequence
from tests.robots.test_mm1k import BESIDE_ONE

models = st.builds(
    RobotControl,
    robots=st.integers(1, 7),
    arrival_rate=st.floats(0.02, 3),
    service_rate=st.floats(0.3, 3),
    capacity=st.integers(1, 7),
    gamma=st.floats(0.02, 50),
)


@settings(max_examples=40)
@given(models)
def test_static_policy_matches_static_cost(model):
    rho = model.robots * model.arrival_rate / model.service_rate
    static = model.evaluate(model.static_policy())
    assert static.gain == pytest.approx(
        static_cost(rho, model.gamma, model.capacity, model.service_rate), rel=1e-9
    )
    assert static.min_robots == static.max_robots == model.robots
    assert static.residual < 1e-9
    assert model.solve().gain <= static.gain * (1 + 1e-12)


def test_large_queue_has_small_residual():
    solution = RobotControl(300, 1 / 300, 1.0, 30, 1.1).solve()
    assert solution.residual < 1e-9
    assert solution.is_switching_curve


@pytest.mark.parametrize(
    "model",
    [
        RobotControl(19, 0.0071853760636864964, 1.0, 2, 0.018755174498325925),
        RobotControl(54, 0.0032473344506071026, 1.0, 2, 0.01999655879986414),
    ],
)
def test_several_classes_on_the_way(model):
    transitions, costs = uniformised(model)
    other = relative_value_iteration(transitions, -costs, step=1.0, tolerance=1e-11)
    solution = model.solve()
    assert solution.gain == pytest.approx(-other.gain, abs=1e-10)
    assert solution.residual < 1e-12


def test_several_classes_are_refused():
    # The draft's own example: N = 2, always restart at arrivals, never start at departures.
    model = RobotControl(2, 0.4, 1.0, 3, 1.0)
    never, always = np.zeros(model.shape, bool), np.ones(model.shape, bool)
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(never, always)


def test_wrong_call_is_refused():
    model = RobotControl(3, 0.5, 1.0, 4, 1.0)
    with pytest.raises(ValueError, match="max_iterations"):
        model.solve(max_iterations=0)
    with pytest.raises(ValueError, match="curve"):
        model.curve_policy([1, 2])
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(np.ones((2, 2)))


def test_long_cut_is_refused(monkeypatch):
    model = RobotControl(3, 0.4, 1.0, 4, 1.0)
    policy = model.solve().policy
    monkeypatch.setattr(control, "LARGEST_CUT", 0)
    with pytest.raises(ValueError, match="capacity"):
        model.solve()
    with pytest.raises(ValueError, match="policy"):
        model.evaluate(policy)


@pytest.mark.parametrize("capacity", [2, 5, 9])
def test_more_robots_do_not_help(capacity):
    model, solution = without_cap(0.2, 1.0, capacity, 1.3)
    assert solution.max_robots < model.robots
    larger = RobotControl(4 * model.robots, 0.2, 1.0, capacity, 1.3).solve()
    assert larger.gain == pytest.approx(solution.gain, rel=1e-10)
    fewer = RobotControl(solution.max_robots - 1, 0.2, 1.0, capacity, 1.3).solve()
    assert fewer.gain > solution.gain
    assert larger.last_start == solution.last_start


def extreme_model(rng: np.random.Generator) -> RobotControl:
    """Rates and weights over many decades, small enough for 100 digits."""
    robots, capacity = rng.integers(1, [6, 9])
    exponents = rng.uniform([-5, -3, -6], [5, 3, 6])
    arrival_rate, service_rate, gamma = 10.0**exponents
    return RobotControl(robots, arrival_rate, service_rate, capacity, gamma)


#: One place or robot, loads and weights over decades or beside one, tiny and huge rates; the last
#: lines had wrong policies, or gains without digits, in double precision.
HARD = [
    *((3, rate, 1.0, 1, 1.2) for rate in (1e-5, 0.3, 1e5)),
    *((1, rate, 1.0, 4, 1.2) for rate in (1e-5, 1.0, 1e5)),
    *((2, 10.0**k, 1.0, 3, 1.2) for k in range(-5, 6, 2)),
    *((3, 0.3, 1.0, 4, 10.0**k) for k in (-12, -4, 4, 12)),
    *((2, 0.5 * rho, 1.0, 4, 1.2) for rho in BESIDE_ONE),
    *((2, 0.3 * s, s, 3, 1.2 * s) for s in (1e-9, 1e9)),
    (5, 1e3, 1.0, 3, 1e-9), (2, 1e6, 1e-6, 4, 1.0), (8, 0.5, 1.0, 12, 1e-6),
    (6, 6.959611458591513, 0.26506322959510215, 8, 5.6573763531500006e-06), (3, 1e5, 1.0, 6, 1e6),
    (2, 1.9902266666755782e-05, 102.5886295276941, 1, 653.0749984244242),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(200 + len(HARD)))
def test_optimum_in_100_digits(seed):
    """No action is better by more than rounding, and the gain has its digits."""
    model = extreme_model(np.random.default_rng(seed))
    if seed >= 200:
        model = RobotControl(*HARD[seed - 200])
    solution = model.solve()
    assert relative_excess(model, solution) == pytest.approx((0.0, 0.0), abs=1e-13)
    assert solution.is_switching_curve
    parts = model.gamma * solution.starvation + solution.loss_rate
    assert solution.gain == pytest.approx(parts, rel=1e-10, abs=0)


# Robots that together bring less or more than each for itself


@st.composite
def hindered_models(draw):
    """Models whose robots hinder or help each other, in any way."""
    robots = draw(st.integers(1, 6))
    steps = draw(st.lists(st.floats(0.05, 2), min_size=robots, max_size=robots))
    return RobotControl(
        robots,
        draw(st.floats(0.1, 0.6)),
        1.0,
        draw(st.integers(2, 6)),
        draw(st.floats(0.05, 50)),
        speedup=(0.0, *np.cumsum(steps)),
    )


SPLIT = (0.0, 1.6487143945399791, 1.8987143945399791, 2.0237143945399794, 2.2737143945399794, 3.0)


@settings(max_examples=40)
@given(hindered_models())
@example(RobotControl(5, 0.5, 1.0, 2, 5.0, speedup=SPLIT))  # two closed classes on the way
def test_three_solvers_agree(model):
    gain = model.solve().gain
    transitions, costs = uniformised(model)
    assert policy_iteration(transitions, -costs).gain == pytest.approx(-gain, rel=1e-8)
    sequence = optimal_sequence(model.robots, model.arrival_rates, 1.0, model.capacity)
    assert sequence.gain(model.gamma) == pytest.approx(gain, rel=1e-8)


@settings(max_examples=40)
@given(hindered_models(), st.integers(0, 2**32 - 1))
def test_gain_is_starvation_and_loss(model, seed):
    rates, r = model.arrival_rates, np.arange(model.robots + 1)
    starts = np.random.default_rng(seed).integers(0, 2, model.shape)
    solutions = [model.solve(), model.evaluate(model.static_policy())]
    with suppress(ValueError):  # a policy of several recurrent classes
        solutions.append(model.evaluate(starts))
    for solution in solutions:
        law = solution.occupancy
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        assert solution.mean_robots == pytest.approx((law * r).sum(), rel=1e-9)
        parts = model.gamma * solution.starvation + solution.loss_rate
        assert solution.gain == pytest.approx(parts, rel=1e-9, abs=1e-12)
        # Every page that is indexed was brought and not lost.
        brought = law.sum(axis=0) @ rates
        indexed = model.service_rate * (1 - solution.starvation)
        assert indexed == pytest.approx(brought - solution.loss_rate, rel=1e-8, abs=1e-11)


@settings(max_examples=40)
@given(hindered_models())
def test_bounds_hold_for_any_speedup(model):
    gain = model.solve().gain
    assert structure.starvation_bound(model) <= gain * (1 + 1e-9)
    for curve, cost in (
        (structure.lossless_curve, structure.lossless_cost),
        (structure.saturated_curve, structure.saturated_cost),
    ):
        evaluated = model.evaluate(model.curve_policy(curve(model)))
        assert evaluated.gain == pytest.approx(cost(model), rel=1e-8)
        assert gain <= cost(model) * (1 + 1e-9)


def test_linear_speedup_changes_nothing():
    plain = RobotControl(4, 0.3, 1.0, 4, 1.2).solve()
    linear = RobotControl(4, 0.3, 1.0, 4, 1.2, speedup=(0, 1, 2, 3, 4)).solve()
    assert linear.gain == pytest.approx(plain.gain, rel=1e-13)
    np.testing.assert_array_equal(linear.policy, plain.policy)


def test_optimum_need_not_be_curve():
    model = RobotControl(3, 3.0, 1.0, 3, 1900.0, speedup=(0, 1, 3.1 / 3, 3.2 / 3))
    solution = model.solve()
    assert solution.gain == pytest.approx(42.3992, abs=1e-4)
    assert not solution.is_switching_curve
    assert solution.policy[3, :3].tolist() == [False, True, False]


@pytest.mark.parametrize("speedup", [(0, 1), (0, 1, 1, 2), (1, 2, 3, 4), (0, 1, 2, np.nan)])
def test_wrong_speedup_is_refused(speedup):
    with pytest.raises(ValueError, match="speedup"):
        RobotControl(3, 0.3, 1.0, 4, 1.0, speedup=speedup)


@pytest.mark.parametrize("process", [proposition_4, full_chain])
def test_printed_process_refuses_speedup(process):
    model = RobotControl(2, 0.3, 1.0, 3, 1.0, speedup=(0, 1, 1.5))
    with pytest.raises(ValueError, match="speedup"):
        process(model)


# Policy iteration in 100 digits, by dense linear algebra on the optimality equation alone


DIGITS = 100


def evaluate_in_digits(model, policy) -> tuple[flint.arb, dict[tuple[int, int], flint.arb]]:
    """Return gain and relative values of a policy with one recurrent class."""
    levels, width = model.capacity + 1, model.robots + 1
    states = [(q, r) for q in range(levels) for r in range(width) if q + r > 0]
    number = {state: i for i, state in enumerate(states)}
    lam, mu, gamma = (flint.arb(x) for x in (model.arrival_rate, model.service_rate, model.gamma))
    size = len(states)
    # Unknowns: the values, of which the last one is 0, and in its place the gain.
    matrix, right = flint.arb_mat(size, size), flint.arb_mat(size, 1)
    for (q, r), row in number.items():
        entries = [flint.arb(0)] * size
        if q > 0:
            target = number[q - 1, r + int(policy[q - 1, r])]
            entries[row] += mu
            entries[target] -= mu
        if r > 0:
            above = min(q + 1, model.capacity)
            target = number[above, r - 1 + int(policy[above, r - 1])]
            entries[row] += lam * r
            entries[target] -= lam * r
        entries[-1] = flint.arb(1)
        for column, entry in enumerate(entries):
            matrix[row, column] = entry
        right[row, 0] = gamma * (q == 0) + lam * r * (q == model.capacity)
    solved = matrix.solve(right)
    values = {state: solved[i, 0] for state, i in number.items()}
    values[states[-1]] = flint.arb(0)
    return solved[size - 1, 0], values


def optimum(model, policy) -> tuple[flint.arb, np.ndarray]:
    """Return the optimal gain and policy, improved from `policy` until no action is better."""
    policy = np.array(policy)
    while True:
        gain, values = evaluate_in_digits(model, policy)
        better = policy.copy()
        for q in range(model.capacity + 1):
            for r in range(model.robots):
                if q + r > 0:
                    gap = values[q, r + 1] - values[q, r]
                    better[q, r] = True if gap < 0 else False if gap > 0 else policy[q, r]
        if (better == policy).all():
            return gain, policy
        policy = better


def relative_excess(model, solution) -> tuple[float, float]:
    """Return by how much the policy of a solution, and its gain, miss the optimum, relatively."""
    with flint.ctx.workdps(DIGITS):
        best, _ = optimum(model, solution.policy)
        own, _ = evaluate_in_digits(model, solution.policy)
        return float(own / best - 1), float(flint.arb(solution.gain) / best - 1)
