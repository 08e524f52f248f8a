"""Arms of some structure by their envelope, and what rounding may do to an elimination."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.restarts import RestartArm, elimination, whittle_index
from analysis.restarts import elimination_steps as steps
from analysis.restarts.elimination import (
    Elimination,
    count_begun,
    eliminate,
    eliminate_in_balls,
    factorise_in_envelope,
)
from analysis.restarts.instances import STRUCTURED_KERNELS, slide_arm
from analysis.results import NotConverged
from tests.restarts.support import EPSILON, FAMILIES, draw, draw_arm
from tests.restarts.test_elimination_steps import policies

STATES = 240


def banded_arm(seed: int, states: int = STATES, below: int = 2, above: int = 3) -> RestartArm:
    rng = np.random.default_rng(seed)
    passive = rng.exponential(size=(states, states))
    passive = np.triu(np.tril(passive, above), -below)
    passive /= passive.sum(axis=1, keepdims=True)
    return RestartArm(passive, rng.dirichlet(np.ones(states)), *rng.normal(size=(2, states)))


@pytest.fixture
def _envelopes_of_any_size(monkeypatch):
    monkeypatch.setattr(elimination, "STATES_FROM", 0)
    monkeypatch.setattr(elimination, "PENALTY", 50.0)


def dense_only(monkeypatch):
    monkeypatch.setattr(elimination, "factorise_in_envelope", lambda passive, discount: None)


@pytest.mark.usefixtures("_envelopes_of_any_size")
@pytest.mark.parametrize("kernel", sorted(STRUCTURED_KERNELS))
@pytest.mark.parametrize("discount", [0.5, 0.99, 1.0])
def test_structured_matches_dense(kernel, discount, monkeypatch):
    arm = slide_arm(STRUCTURED_KERNELS[kernel](STATES, 0.6))
    assert factorise_in_envelope(arm.passive, discount) is not None
    found = whittle_index(arm, discount)
    dense_only(monkeypatch)
    dense = whittle_index(arm, discount)
    assert found.method == dense.method == "closed form"
    np.testing.assert_allclose(found.index, dense.index, rtol=1e-11)


@pytest.mark.usefixtures("_envelopes_of_any_size")
@pytest.mark.parametrize("discount", [0.5, 0.99, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_band_matches_dense(seed, discount, monkeypatch):
    arm = banded_arm(seed)
    assert factorise_in_envelope(arm.passive, discount) is not None
    fast = eliminate(arm, discount, adaptive=False)
    dense_only(monkeypatch)
    dense = eliminate(arm, discount, adaptive=False)
    for name in ("order", "critical", "crossings", "cost", "length"):
        one, other = getattr(fast, name), getattr(dense, name)
        np.testing.assert_allclose(
            one, other, rtol=1e-9, atol=1e-11 * np.nanmax(np.abs(other[:-1]))
        )


@pytest.mark.usefixtures("_envelopes_of_any_size")
def test_early_class_has_no_factors():
    passive = np.eye(STATES, k=1)
    passive[99] = np.eye(STATES)[0]  # the first hundred states are closed
    passive[-1, -1] = 1.0
    assert factorise_in_envelope(passive, 1.0) is None
    assert factorise_in_envelope(passive, 0.9) is not None


@pytest.mark.usefixtures("_envelopes_of_any_size")
def test_full_matrices_skip_envelope(monkeypatch):
    full = np.full((STATES, STATES), 1.0 / STATES)
    assert factorise_in_envelope(full, 0.9) is None
    band = banded_arm(0).passive
    assert factorise_in_envelope(band, 0.9) is not None
    monkeypatch.setattr(elimination, "STATES_FROM", STATES + 1)
    assert factorise_in_envelope(band, 0.9) is None


def cost(matrix):
    rows, columns = count_begun(matrix)
    return rows @ columns


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.05, 1))
@settings(max_examples=80)
def test_cost_bounds_fill(size, seed, density):
    rng = np.random.default_rng(seed)
    matrix = rng.random((size, size)) * (rng.random((size, size)) < density) + size * np.eye(size)
    touched, left = 0, matrix.copy()
    for k in range(size):
        rows = np.flatnonzero(left[k + 1 :, k]) + k + 1
        columns = np.flatnonzero(left[k, k + 1 :]) + k + 1
        touched += (1 + rows.size) * (1 + columns.size)
        left[np.ix_(rows, columns)] -= np.outer(left[rows, k] / left[k, k], left[k, columns])
    assert touched <= cost(matrix) <= size * (size + 1) * (2 * size + 1) / 6


def test_cost_of_known_shapes():
    n = 30
    assert cost(np.ones((n, n))) == n * (n + 1) * (2 * n + 1) / 6
    assert cost(np.eye(n)) == n
    assert cost(np.triu(np.ones((n, n)))) == n * (n + 1) / 2


# Rounding: what is sown, what balls enclose, and when they stop


def terms(arm, discount):
    """r counted from the least costs, and the sum of the sizes of its terms, in fractions."""
    b, states = Fraction(discount), range(arm.states)
    idle, repair = (
        [Fraction(c) - Fraction(min(cost)) for c in cost]
        for cost in (arm.passive_cost.tolist(), arm.active_cost.tolist())
    )
    exact, sizes = [], []
    for i in states:
        moved = [Fraction(arm.passive[i, j]) * (repair[j] - repair[i]) for j in states]
        exact.append(idle[i] - (1 - b) * repair[i] + b * sum(moved))
        sizes.append(idle[i] + (1 - b) * repair[i] + b * sum(map(abs, moved)))
    return exact, np.array(sizes, float)


def started(arm, discount):
    """r as an elimination in floating point computes it."""
    n = arm.states
    excess, (visits, den) = np.empty((1, n)), np.empty((2, n))
    steps.set_up_elimination(
        arm.passive, arm.reset, arm.passive_cost, arm.active_cost, discount,
        np.empty((n, n)), visits, excess, den, *np.empty((3, n + 1)),
    )  # fmt: skip
    return excess[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_rounded_terms_bound_loss(family):
    for number in range(20):
        arm, discount = draw(family, number)
        for active in (arm.active_cost, np.full(arm.states, 0.3)):
            given = RestartArm(arm.passive, arm.reset, arm.passive_cost, active)
            exact, sizes = terms(given, discount)
            lost = elimination._rounding_of_costs(given, discount)
            found = zip(started(given, discount), exact, strict=True)
            wrong = np.array([abs(Fraction(r) - x) for r, x in found], float)
            assert (wrong <= steps.ROUNDING * lost).all()
            if np.ptp(active) > 0:
                np.testing.assert_allclose(lost, sizes, rtol=1e-12)
            else:
                np.testing.assert_allclose(lost, np.where(wrong > 0, sizes, 0), rtol=1e-12)


def test_exact_differences_lose_nothing():
    arm = RestartArm(np.full((3, 3), 1 / 3), np.eye(3)[0], [7.0, 2.5, 3.0], np.full(3, 0.1))
    assert not elimination._rounding_of_costs(arm, 0.9).any()


def test_no_two_signs_cancel():
    signs = elimination._signs(200)
    sizes = np.abs(signs)
    assert signs.shape == (elimination.PROBES, 200)
    assert sizes.min() >= 0.5
    assert 0.95 < sizes.max() <= 1
    assert sizes.min() < 0.55
    assert np.unique(sizes).size == signs.size
    share = (signs > 0).mean(axis=1)
    assert ((share > 0.35) & (share < 0.65)).all()
    np.testing.assert_array_equal(signs, elimination._signs(200))


def answer(residual, crossings=(1.0, 2.0), order=(0, 1), length=(1.0, 2.0, 3.0)):
    return Elimination(
        np.array(order), np.zeros(2), np.array(crossings), np.arange(3.0), np.array(length),
        np.full(3, 0.25), True, residual,
    )  # fmt: skip


def answering(monkeypatch, answers):
    """Let eliminations in balls give these answers; return the bits and the discounts asked for."""
    asked = []

    def one(arm, discount, adaptive):
        asked.append((ctx.prec, discount))
        return answers[min(len(asked), len(answers)) - 1]

    monkeypatch.setattr(elimination, "_one_in_balls", one)
    return asked


def test_bits_double_until_error_is_small(monkeypatch):
    answers = [answer(1.0), answer(1.5e-10), answer(1e-10), answer(0.0)]
    asked = answering(monkeypatch, answers)
    found = eliminate_in_balls(draw_arm(0, 2), 0.9, adaptive=True, tolerance=1e-10)
    assert answers.index(found) == 2
    least = elimination.LEAST_BITS
    assert [bits for bits, _ in asked] == [least, 2 * least, 4 * least]
    assert all(b == 0.9 for _, b in asked)


def test_bits_double_up_to_limit(monkeypatch):
    asked = answering(monkeypatch, [answer(0.5)])
    assert eliminate_in_balls(draw_arm(0, 2), 0.9, adaptive=True, tolerance=1e-10).residual == 0.5
    assert asked[-1][0] == elimination.MOST_BITS
    asked = answering(monkeypatch, [None])
    assert eliminate_in_balls(draw_arm(0, 2), 1.0, adaptive=True, tolerance=1e-10) is None
    assert len(asked) == 1


def test_discounts_rise_until_agreement(monkeypatch):
    """Whatever place a state has in the order; relative to the index and the spread of costs."""
    arm = RestartArm(np.eye(2)[[1, 1]], [0.5, 0.5], [0.0, 1.0], [2.0, 0.0])  # a spread of 2
    near = 3e-10  # of 1 + 2: agreement up to 1e-10
    answers = [
        steps.UNDECIDED,
        answer(0.0, (1.0, 2.0)),
        answer(0.0, (1.0, 2.1)),
        answer(1e-9, (1.0, 2.1)),
        answer(0.0, (2.1, 1.0 + 2 * near), (1, 0)),
        answer(0.0, (1.0 + 2.99 * near, 2.1), length=(1.0, 2.0**300, np.inf)),
    ]
    asked = answering(monkeypatch, answers)
    found = eliminate_in_balls(arm, 1.0, adaptive=True, tolerance=1e-10)
    np.testing.assert_array_equal(found.crossings, answers[-1].crossings)
    np.testing.assert_array_equal(found.length, [1.0, 2.0**300, np.inf])
    np.testing.assert_array_equal(found.cost, [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.activity, [0.25, 0.25, 0.0])
    assert found.residual == pytest.approx(0.99 * 1e-10, rel=1e-5)
    for place, (bits, discount) in enumerate(asked[1:]):
        power = elimination.LEAST_BITS * 2**place
        with ctx.workprec(bits):
            assert 1 - discount == arb(2) ** -power
        assert bits >= 2 * power  # terms of the size of 1 - b keep half of their bits


def test_endless_cycles_at_limit(monkeypatch):
    """Not where it is merely long: that of 2^128 epochs ends, with 1 - b = 2^-512."""
    long = answer(0.0, length=(2.0**128, 2.0**256, 2.0**257))
    answering(monkeypatch, [long])
    found = elimination._limit_in_balls(draw_arm(0, 2), True, 1e-10, 256)
    np.testing.assert_array_equal(found.length, [2.0**128, 2.0**256, np.inf])
    np.testing.assert_array_equal(found.cost, [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(found.activity, [0.25, 0.25, 0.0])


def climbing(states, seldom):
    """A chain that climbs once in 1/seldom epochs, and else falls to where it began."""
    passive = seldom * np.eye(states, k=1)
    passive[:, 0] += 1 - passive.sum(axis=1)
    return RestartArm(passive, np.eye(states)[0], np.arange(states) * 1.0, np.ones(states))


@pytest.mark.parametrize(
    ("states", "seldom", "bits"),
    [(2, 0.5, 256), (8, 2.0**-8, 256), (8, 2.0**-9, 512), (8, 2.0**-26, 512), (8, 2.0**-27, 1024)],
)
def test_negligible_discount_beside_slowest_path(states, seldom, bits):
    """Beside the square of what seven steps up and eight states take, and 2^128 more."""
    assert elimination._negligible(climbing(states, seldom)) == bits


def test_missing_paths_are_ignored():
    arm = RestartArm(np.eye(3), [1, 0, 0], np.arange(3.0), np.ones(3))
    assert elimination._negligible(arm) == elimination.LEAST_BITS


def test_possible_ties_take_more_bits(monkeypatch):
    answers = [steps.UNDECIDED, steps.UNDECIDED, steps.UNDECIDED, answer(0.0)]
    asked = answering(monkeypatch, answers)
    arm = climbing(8, 2.0**-28)
    assert eliminate_in_balls(arm, 1.0, adaptive=True, tolerance=1e-10).residual == 0
    assert [bits for bits, _ in asked] == [256, 512, 1024, 4096, 8192]
    assert [b == 1 for _, b in asked] == [True, True, True, False, False]
    asked = answering(monkeypatch, [steps.UNDECIDED, answer(0.0)])
    assert eliminate_in_balls(arm, 1.0, adaptive=True, tolerance=1e-10) is not None
    assert [b == 1 for _, b in asked] == [True, True]


def test_undecidable_tie_is_refused(monkeypatch):
    asked = answering(monkeypatch, [steps.UNDECIDED])
    arm = climbing(16, 2.0**-300)  # seldom enough for 1 - b = 2^-16384, in 2^16 bits
    with pytest.raises(
        NotConverged, match=r"16 states tie at discount 1.*1 - 2\^-16384 .* below 1"
    ):
        eliminate_in_balls(arm, 1.0, adaptive=True, tolerance=1e-10)
    assert asked[-1][0] == 16384
    assert all(b == 1 for _, b in asked)


def test_disagreement_becomes_residual(monkeypatch):
    many = [answer(0.0, (float(k % 2), 2.0)) for k in range(20)]
    asked = answering(monkeypatch, [steps.UNDECIDED, *many])
    found = eliminate_in_balls(draw_arm(0, 2), 1.0, adaptive=True, tolerance=1e-10)
    assert found.residual > 0.01
    assert asked[-1][0] == elimination.MOST_BITS
    asked = answering(monkeypatch, [steps.UNDECIDED, answer(0.0, (0.0, 0.0))])
    even = RestartArm(np.eye(2)[[1, 1]], [0.5, 0.5], [1.0, 1.0], [1.0, 1.0])
    assert eliminate_in_balls(even, 1.0, adaptive=True, tolerance=1e-10).residual == 0
    assert len(asked) == 3


@pytest.mark.parametrize("adaptive", [False, True])
def test_balls_enclose_every_index(adaptive):
    """Their radius is told, relative to the index and the spread, and not many times over."""
    for seed in range(10):
        arm = draw_arm(seed)
        spread = max(np.ptp(arm.passive_cost), np.ptp(arm.active_cost))
        radius = 2.0**-30
        with ctx.workprec(256):
            found = elimination._one_in_balls(arm, arb(0.875, radius), adaptive)
            middle = elimination._one_in_balls(arm, arb(0.875), adaptive)
        assert found.order.tolist() == middle.order.tolist()
        assert middle.residual == EPSILON
        _, low, *_ = policies(arm, 0.875 - radius, found.order)
        _, high, *_ = policies(arm, 0.875 + radius, found.order)
        moved = np.abs(high - low).max() / 2 / (np.abs(middle.crossings).max() + spread)
        assert moved <= found.residual <= 1e6 * radius
        dearer = RestartArm(arm.passive, arm.reset, 4 * arm.passive_cost, 4 * arm.active_cost)
        with ctx.workprec(256):
            again = elimination._one_in_balls(dearer, arb(0.875, radius), adaptive)
        assert again.residual == pytest.approx(found.residual, rel=1e-3)


def test_equal_costs_lose_nothing():
    even = RestartArm(np.full((2, 2), 0.5), [0.5, 0.5], np.ones(2), np.ones(2))
    with ctx.workprec(256):
        assert elimination._one_in_balls(even, arb(0.5), True).residual == EPSILON


def test_balls_leave_ties_open():
    """The first may be worth what it seems to differ by, over the square of the longest cycle."""
    seldom, radius, b = 2.0**-10, 2.0**-80, 1 - 2.0**-20
    passive = np.full((3, 3), 0.5)
    passive[:2, 2], passive[[0, 1], [1, 0]], passive[2] = seldom, 0.5 - seldom, [0.25, 0.25, 0.5]
    repair = np.array([0.0, 0.0, 1.0])

    def arm(idle):
        return RestartArm(passive, np.eye(3)[0], [0.0, 0.0, idle], repair)

    # The third critical value is a millionth above that of the two.
    first, second = (policies(arm(idle), b, range(3))[0] for idle in (0.0, 1.0))
    idle = (first[1] + 1e-6 - first[2]) / (second[2] - first[2])
    with ctx.workprec(256):
        found = elimination._one_in_balls(arm(idle), arb(b, radius), False)
    assert found.rising
    longest = found.length[:-1].max()
    assert longest == found.length[2] > 500
    worth = seldom * radius * longest**2
    spread = max(1.0, abs(idle))
    assert worth / (abs(found.crossings[1]) + spread) <= found.residual < 1e-9
