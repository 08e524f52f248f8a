"""What an elimination finds, against the policies it stands for in fractions, and its error."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from analysis.restarts import RestartArm, elimination, whittle_index, whittle_indices
from analysis.restarts import elimination_steps as steps
from analysis.restarts.elimination import eliminate_in_balls, eliminate_in_floats
from tests.mdp.test_chains import solved
from tests.restarts.support import (
    EPSILON,
    FAMILIES,
    draw,
    draw_arm,
    drifting_down,
    precise_index,
    unichain_arm,
)

WAYS = {
    "bounded": partial(eliminate_in_floats, probes=False),
    "estimated": partial(eliminate_in_floats, probes=True),
    "balls": partial(eliminate_in_balls, tolerance=1e-10),
}


def policies(arm, discount, order):
    """nu, w, L, M and N along an order, each from the linear system of its policy.

    A diagonal entry of P is what its row leaves. At discount 1 the last policy has no cycle.
    """
    exact = np.vectorize(Fraction, otypes=[object])
    passive, reset, idle, repair = map(
        exact, (arm.passive, arm.reset, arm.passive_cost, arm.active_cost)
    )
    b, states = Fraction(discount), arm.states
    for x in range(states):
        passive[x, x] = 1 - sum(passive[x, y] for y in range(states) if y != x)
    r = idle - repair + b * (passive @ repair)
    nu, w, cost, length, activity = [], [], [], [], []
    for k in range(states + 1):
        left = list(order[:k])
        if k == states and discount == 1:
            break
        system = [[int(x == y) - b * passive[x, y] for y in left] for x in left]
        values = [solved(system, each) for each in ([r[x] for x in left], [Fraction(1)] * k)]
        earned = [sum(reset[x] * v for x, v in zip(left, each, strict=True)) for each in values]
        cost.append(reset @ repair + earned[0])
        length.append(1 + b * earned[1])
        activity.append((1 - (1 - b) * earned[1]) / length[-1])
        if k < states:
            x = order[k]
            ahead = [
                b * sum(passive[x, y] * v for y, v in zip(left, each, strict=True))
                for each in values
            ]
            nu.append((r[x] + ahead[0]) / (1 + ahead[1]))
            w.append(nu[-1] * length[-1] - b * cost[-1])
    return tuple(np.array([float(x) for x in part]) for part in (nu, w, cost, length, activity))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("discount", [0.3, 0.9, 1.0])
def test_elimination_matches_policy_costs(way, adaptive, discount):
    for seed in range(3):
        arm = draw_arm(seed, 5 - seed % 2)
        found = WAYS[way](arm, discount, adaptive=adaptive)
        nu, w, cost, length, activity = policies(arm, discount, found.order)
        assert adaptive or found.order.tolist() == list(range(arm.states))
        assert found.rising == bool((np.diff(nu) >= 0).all())
        assert found.rising >= adaptive
        close = partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-12)
        close(found.critical, nu)
        close(found.crossings, w)
        close(found.cost[: cost.size], cost)
        close(found.length[: length.size], length)
        close(found.activity[: activity.size], activity)
        if discount == 1:
            assert np.isnan(found.cost[-1])
            assert found.length[-1] == np.inf
            assert found.activity[-1] == 0
        assert EPSILON <= found.residual < 1e-11


@pytest.mark.parametrize("unit", [1e-3, 1e3])
@pytest.mark.parametrize("way", WAYS)
def test_rising_has_no_unit(way, unit):
    seen = set()
    for seed in range(8):
        arm = draw_arm(seed, 3)
        other = RestartArm(arm.passive, arm.reset, unit * arm.passive_cost, unit * arm.active_cost)
        nu, *_ = policies(arm, 0.9, range(3))
        rises = bool((np.diff(nu) >= 0).all())
        assert WAYS[way](other, 0.9, adaptive=False).rising == rises
        seen.add(rises)
    assert seen == {False, True}


def test_ties_keep_state_order():
    passive = np.full((4, 4), 0.25)
    arm = RestartArm(passive, passive[0], [3.0, 1.0, 1.0, 3.0], np.full(4, 2.0))
    for way in WAYS.values():
        found = way(arm, 0.5, adaptive=True)
        assert found.order.tolist() == [1, 2, 0, 3]
        assert found.rising


def test_closed_class_ends_elimination():
    arm = RestartArm(np.eye(2), [0.5, 0.5], [0.0, 1.0], [1.0, 1.0])
    for way in WAYS.values():
        assert way(arm, 1.0, adaptive=True) is None
        assert way(arm, 1 - 1e-6, adaptive=True) is not None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("reset", "cost", "length"),
    [
        # Passive in states 0 and 1, which no cycle from state 2 meets; then never active again.
        ([0.0, 0.0, 1.0], [3.0, 3.0, 3.0, np.nan], [1.0, 1.0, 1.0, np.inf]),
        # From state 1 half of all ways end in the absorbing state 0.
        ([0.0, 0.5, 0.5], [2.5, 2.5, np.nan, np.nan], [1.0, 1.0, np.inf, np.inf]),
        ([0.5, 0.0, 0.5], [2.0, np.nan, np.nan, np.nan], [1.0, np.inf, np.inf, np.inf]),
    ],
)
def test_endless_cycles_on_average(way, reset, cost, length):
    passive = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    arm = RestartArm(passive, reset, np.zeros(3), np.array([1.0, 2.0, 3.0]))
    found = WAYS[way](arm, 1.0, adaptive=False)
    np.testing.assert_allclose(found.cost, cost)
    np.testing.assert_allclose(found.length, length)


@pytest.mark.parametrize("way", WAYS)
def test_states_outside_closed_class_wait(way):
    for seed in range(25):
        arm = unichain_arm(seed)
        found = WAYS[way](arm, 1.0, adaptive=True)
        if found.residual == np.inf and way != "balls":
            continue  # balls tell what comes first
        true = precise_index(arm, 1.0)[found.order]
        np.testing.assert_allclose(found.crossings, true, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("leads", "idle", "repair"),
    [
        ([0, 2, 0, 0], [0, 0, 1, -1], [0, 0, 0, 0]),  # state 1 ties with the class {0} ...
        ([0, 2, 0, 0], [-1, 0, 1, 0], [1, 0, -1, 0]),  # ... but for 2 (1 - b), and comes second
        ([1, 1, 0, 2], [0, -1, 0, 1], [0, 1, 1, 0]),
    ],
)
def test_ties_with_class_undecided(leads, idle, repair):
    """Floats do not decide; balls follow discounts that tend to 1."""
    reset = np.array([0.125, 0.375, 0.25, 0.25])
    arm = RestartArm(np.eye(4)[leads], reset, np.array(idle, float), np.array(repair, float))
    for way in ("bounded", "estimated"):
        assert WAYS[way](arm, 1.0, adaptive=True).residual == np.inf
    found = WAYS["balls"](arm, 1.0, adaptive=True)
    assert found.residual <= 1e-10
    true = precise_index(arm, 1.0)[found.order]
    np.testing.assert_allclose(found.crossings, true, rtol=1e-12, atol=1e-12)
    near = WAYS["balls"](arm, 1 - 2.0**-40, adaptive=True)
    assert near.order.tolist() == found.order.tolist()
    finite = np.isfinite(found.length)
    assert finite.any()
    assert not finite.all()
    np.testing.assert_allclose(found.length[finite], near.length[finite], rtol=1e-9)
    np.testing.assert_allclose(found.cost[finite], near.cost[finite], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.activity, near.activity, rtol=1e-9, atol=1e-9)
    assert np.isnan(found.cost[~finite]).all()
    assert (near.length[~finite] > 1e10).all()


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.999])
def test_factors_match_elimination(discount):
    """With an error that grows as the cycles and with one over the least pivot."""
    for seed in range(3):
        arm = draw_arm(seed)
        found = elimination._eliminate_in_order(arm, discount)
        nu, w, cost, length, activity = policies(arm, discount, found.order)
        assert found.rising == bool((np.diff(nu) >= 0).all())
        close = partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-12)
        for one, other in zip(
            (found.critical, found.crossings, found.cost, found.length, found.activity),
            (nu, w, cost, length, activity),
            strict=True,
        ):
            close(one, other)
        spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
        reach = np.ptp(arm.stopping_cost(discount))
        a = np.eye(5) - discount * arm.passive
        minors = [1.0, *(np.linalg.det(a[:k, :k]) for k in range(1, 6))]
        least = min(1.0, *(minors[k + 1] / minors[k] for k in range(4)))
        direct = 2 * 4 * steps.ROUNDING / least * reach * length[:-1] / (np.abs(w) + spread)
        assert found.residual == pytest.approx(direct.max(), rel=1e-6, abs=0)
    with_ties = RestartArm(np.full((3, 3), 1 / 3), np.eye(3)[0], np.ones(3), np.ones(3))
    assert elimination._eliminate_in_order(with_ties, discount).rising


@pytest.mark.parametrize("start", [0, pytest.param(60, marks=pytest.mark.slow)])
def test_integer_costs_on_average(start):
    """Ties are the rule among them: a wrong order gave one in twenty a wrong index."""
    for number in range(start, start + (60 if start == 0 else 1000)):
        rng = np.random.default_rng(number)
        states = int(rng.integers(3, 6))
        leads = np.r_[0, [rng.integers(j) for j in range(1, states)]]
        names, passive = rng.permutation(states), np.zeros((states, states))
        passive[names, names[leads]] = 1.0
        reset = rng.dirichlet(np.ones(states)) if number % 2 else np.eye(states)[leads[-1]]
        costs = rng.integers(-1, 2, (2, states)).astype(float)
        arm = RestartArm(passive, reset, *costs)
        found, true = whittle_index(arm, 1.0), precise_index(arm, 1.0)
        eliminated = whittle_index(arm, 1.0, method="elimination").index
        np.testing.assert_allclose([found.index, eliminated], [true, true], atol=1e-9)
        np.testing.assert_array_equal(whittle_indices([arm], 1.0)[0], found.index)
        if found.method == "closed form":
            ratio = whittle_index(arm, 1.0, method="ratio").index
            exists = np.isfinite(ratio)
            np.testing.assert_allclose(ratio[exists], true[exists], atol=1e-9)


def test_overflowing_cycles_are_reported():
    """A tie far up a chain that climbs to its top once in 10^200 epochs."""
    arm = drifting_down(26, 1e-8, 0.9)
    idle = arm.passive_cost.copy()
    idle[-2:] = idle[-3]
    tied = RestartArm(arm.passive, arm.reset, idle, arm.active_cost)
    found = eliminate_in_balls(tied, 1.0, adaptive=True, tolerance=1e-10)
    true = precise_index(tied, 1.0, 3000)[found.order]
    np.testing.assert_allclose(found.crossings, true, rtol=1e-9)
    # Costs do not enter the lengths: of a cycle that ends, however late.
    untied = eliminate_in_balls(arm, 1.0, adaptive=True, tolerance=1e-10)
    assert untied.order.tolist() == found.order.tolist() == list(range(26))
    np.testing.assert_allclose(found.length, untied.length, rtol=1e-12)
    assert found.length[-2] > 1e190


def test_both_eliminations_of_state_agree():
    passive = draw_arm(3).passive.copy()
    passive[1, 3] = passive[4, 1] = 0.0  # entries and factors of 0 are passed over
    found, expected, rest = [], np.eye(5) - 0.9 * passive, slice(2, None)
    for way in (steps.eliminate_state, steps._compiled_subtract(None, None, None, None)):
        a, den = np.eye(5) - 0.9 * passive, np.arange(1.0, 6.0)
        way(a, den, 1, 0.7)
        found.append(np.column_stack([a, den]))
    factors = expected[rest, 1] / 0.7
    expected[rest, rest] -= np.outer(factors, expected[1, rest])
    expected = np.column_stack([expected, np.arange(1.0, 6.0)])
    expected[rest, -1] -= factors * 2.0
    for one in found:
        np.testing.assert_allclose(one, expected, rtol=1e-14, atol=1e-16)


def test_errors_are_propagated():
    arm, discount = draw_arm(2), 0.9
    states, probes = arm.states, 2
    signs = np.array([[1.0, -0.5, 0.75, -1.0, 0.625], [-0.75, 1.0, 0.5, 0.5, -1.0]])
    a, excess = np.empty((states, states)), np.zeros((1 + probes, states))
    rises, weights = np.empty((1 + probes, states)), np.empty(states + 1)
    den, visits, dens, critical = np.empty((4, states))
    order, (cost, length, ends) = np.empty(states, dtype=int), np.empty((3, states + 1))
    steps.set_up_elimination(
        arm.passive, arm.reset, arm.passive_cost, arm.active_cost, discount,
        a, visits, excess, den, cost, length, ends,
    )  # fmt: skip
    excess[1:] = signs * 1e-3
    steps.eliminate_in_place(
        steps.System(a, visits, excess, den), discount, signs, True, 0.0,
        steps.Steps(order, critical, rises, weights, dens, cost, length, ends),
    )  # fmt: skip
    nu, _, _, length, _ = policies(arm, discount, order)
    np.testing.assert_allclose(rises[0, 1:], np.diff(nu))
    np.testing.assert_allclose(weights, length)
    for p in range(probes):
        sown, expected = dict(enumerate(signs[p] * 1e-3)), []
        for k, x in enumerate(order):
            left, rest = order[:k], order[k + 1 :]
            inside = np.linalg.solve(
                np.eye(k) - discount * arm.passive[np.ix_(left, left)], np.ones(k)
            )
            epochs = 1 + discount * arm.passive[:, left] @ inside
            assert dens[k] == pytest.approx(epochs[x])
            expected.append(sown[x] / epochs[x])
            for i in rest:
                sown[i] -= expected[-1] * epochs[i]
                if k > 0:
                    sown[i] += signs[p, i] * abs(rises[0, k]) * epochs[i]
        np.testing.assert_allclose(rises[1 + p], expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", FAMILIES)
def test_error_bound_holds(way, family):
    """Relative to the size of an index and the spread of costs; and balls get there."""
    for number in range(8):
        arm, discount = draw(family, number, 4)
        found = WAYS[way](arm, discount, adaptive=True)
        true = precise_index(arm, discount)[found.order]
        assert np.isfinite(found.crossings).all() or found.residual == np.inf
        spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
        with np.errstate(invalid="ignore"):
            error = np.abs(found.crossings - true) / (np.abs(true) + spread)
        largest = 1e-7 * np.abs([arm.passive_cost, arm.active_cost]).max() / (1e-300 + spread)
        assert not np.nanmax(error, initial=0) > found.residual + 8 * EPSILON * (1 + largest)
        if way == "balls":
            assert found.residual <= 1e-10


# The bounds themselves, by hand. Weights are cycles' lengths, `dens` discounted epochs of a state.

WEIGHTS = np.array([1.0, 3.0, 5.0, 9.0])
CROSSINGS = np.array([-1.0, 0.0, 2.0])
DENS = np.array([1.0, 2.0, 4.0])


def largest(rises, unsure, direct, closing=3, spread=1.0):
    floats = (np.array(values, dtype=float) for values in (unsure, direct))
    arguments = (np.array(rises, dtype=float), DENS, WEIGHTS, CROSSINGS)
    return steps._largest_error(*arguments, *floats, closing, spread)


def test_errors_are_relative():
    zero = np.zeros(3)
    assert largest([1, 1, 1], zero, [1, 0, 0]) == 1 / 2
    assert largest([1, 1, 1], zero, [0, 1, 0]) == 1
    assert largest([1, 1, 1], zero, [0, 0, 1]) == 1 / 3
    assert largest([1, 1, 1], zero, [0, 0, 1], spread=2.0) == 1 / 4
    assert largest([1, 1, 1], zero, [1, 2, 3]) == 2
    assert largest([1, 1, 1], zero, zero) == EPSILON
    assert largest([1, 1, 1], zero, zero, spread=0.0) == EPSILON
    assert largest([1, 1, 1], zero, [0, np.inf, 0]) == np.inf
    assert largest([1, 1, 1], zero, [0, np.nan, 0]) == np.inf


def test_uncertain_rise_weighs_next_cycle():
    """Up to unsure * den * the weight after the run, for the run and the state before it."""
    zero = np.zeros(3)
    # The last state alone is unsure: 0.5 * 4 * 9, over 2 + 1 for itself, and not before.
    assert largest([1, 1, 0.5], [0.5] * 3, zero) == max(0.5 * 4 * 9 / 3, 0.5 * 4 * 9 / 1)
    assert largest([1, 1, 0.6], [0.5] * 3, zero) == EPSILON
    assert largest([1, 1, -0.5], [0.5] * 3, zero) == 18
    # The middle one: the weight after it is that of the last, 5.
    assert largest([1, 0.5, 1], [0.5] * 3, zero) == 0.5 * 2 * 5
    # Both: the run's weight is 9 for both of them.
    assert largest([1, 0, 0], [0.5] * 3, zero) == max(0.5 * 2 * 9, 0.5 * 4 * 9)
    # The first rise is no difference; nothing is unsure where nothing is rounded.
    assert largest([0, 1, 1], [0.5] * 3, zero) == EPSILON
    assert largest([1, 0, 0], zero, zero) == EPSILON
    # Where a class has closed, a run at the end may be worth any number.
    assert largest([1, 1, 0], [0.5] * 3, zero, closing=2) == np.inf
    assert largest([1, 0, 1], [0.5] * 3, zero, closing=2) == 5


def test_bound_ends_at_early_class():
    rises = np.ones(3)
    found = steps._bounded_error(rises, DENS, WEIGHTS, CROSSINGS, 3, 4.0, 1.0, 1e-3)
    assert found == pytest.approx(max(2e-3 * 4 * WEIGHTS[:3] / (np.abs(CROSSINGS) + 1)))
    assert steps._bounded_error(rises, DENS, WEIGHTS, CROSSINGS, 2, 4.0, 1.0, 1e-3) == found
    assert steps._bounded_error(rises, DENS, WEIGHTS, CROSSINGS, 1, 4.0, 1.0, 1e-3) == np.inf
    tied = np.array([1.0, 1.0, 4e-3])
    found = steps._bounded_error(tied, DENS, WEIGHTS, CROSSINGS, 3, 4.0, 1.0, 1e-3)
    assert found == pytest.approx(2e-3 * 4 * 3 + 4e-3 * 4 * 9)


def test_estimate_is_root_mean_square():
    rises = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, 1.0], [-0.5, 2.0, 0.0]])
    rising, found = steps._estimated_error(rises, DENS, WEIGHTS, CROSSINGS, 3, 1.0)
    rounding = steps.ROUNDING * np.sqrt(3)
    moved = np.cumsum(rises[1:] * WEIGHTS[:3], axis=1)
    summed = np.cumsum(np.abs(rises[0]) * WEIGHTS[:3])
    direct = rounding * (np.sqrt((moved**2).mean(axis=0)) + summed)
    assert not rising
    assert found == pytest.approx(max(direct / (np.abs(CROSSINGS) + 1)), rel=1e-12, abs=0)
    _, of_one = steps._estimated_error(rises[:2], DENS, WEIGHTS, CROSSINGS, 3, 1.0)
    direct = rounding * (np.abs(moved[0]) + summed)
    assert of_one == pytest.approx(max(direct / (np.abs(CROSSINGS) + 1)), rel=1e-12, abs=0)
    unsure = rounding * np.sqrt((rises[1:] ** 2).mean(axis=0))
    for number, sizes in ((3, unsure), (2, rounding * np.abs(rises[1]))):
        part = rises[:number].copy()
        part[0, 1:] = -1.001 * sizes[1:]
        assert not steps._estimated_error(part, DENS, WEIGHTS, CROSSINGS, 3, 1.0)[0]
        part[0, 1:] = -0.999 * sizes[1:]
        assert steps._estimated_error(part, DENS, WEIGHTS, CROSSINGS, 3, 1.0)[0]
    for sign, rises_still in ((1, True), (-1, True), (-2, False)):
        rises[0, 1:] = sign * unsure[1:]
        rises[0, 0] = -1.0
        rising, _ = steps._estimated_error(rises, DENS, WEIGHTS, CROSSINGS, 3, 1.0)
        assert rising == rises_still


def test_fall_must_exceed_rounding():
    assert steps._is_rising(np.array([-5.0, 1.0, -0.5]), 0.5)
    assert not steps._is_rising(np.array([1.0, 1.0, -0.6]), 0.5)
    assert not steps._is_rising(np.array([1.0, -0.6, 1.0]), 0.5)
