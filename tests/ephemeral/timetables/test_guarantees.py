"""Constants of the grids: proved in ball arithmetic, sharp, and false where they are said to be."""

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from analysis.ephemeral.timetables.guarantees import (
    chord_loss,
    guaranteed_loss,
    odd_below,
    waste,
)

#: Ratio of neighbours and their loss to ten digits.
CONSTANTS = {
    fmpq(3): "0.0911763054", fmpq(2): "0.0378208310", fmpq(3, 2): "0.0131809436",
    fmpq(4, 3): "0.0066671338", fmpq(5, 4): "0.0040190361", fmpq(9, 8): "0.0011221088",
    fmpq(17, 16): "0.0002974596", fmpq(33, 32): "0.0000766481",
}  # fmt: skip


def slack(p, ratio, eta):
    """Least of L(g) - (1 - eta) X(g) over all real g, and its derivative in p.

    L is the chord of X(g) = 1 - e^-g through p and `ratio` p. The difference is linear and convex,
    so that it is least where its derivative vanishes.
    """
    low, high, span = 1 - (-p).exp(), 1 - (-ratio * p).exp(), (ratio - 1) * p
    slope = (high - low) / span
    gap = -(slope / (1 - eta)).log()
    value = low + slope * (gap - p) - (1 - eta) + slope
    steeper = (ratio * (-ratio * p).exp() - (-p).exp()) / span - slope / p
    return value, (-p).exp() - slope + steeper * (gap - p)


def certify(ratio, eta):
    """Prove by ball arithmetic that no gap between neighbours loses more than eta; count boxes."""
    ctx.prec = 80
    ratio, eta = arb(ratio), arb(eta)
    # Outside: L >= X(p) >= 1 - eta for p >= -log eta; L/X >= X(q)/q >= 1 - q/2 for q <= 2 eta.
    boxes, count = [(float((2 * eta / ratio).lower()), float((-eta.log()).upper()))], 0
    while boxes:
        left, right = boxes.pop()
        count += 1
        assert count < 200_000, "the claim is not certified"
        middle, half = 0.5 * (left + right), 0.5 * (right - left)
        box = arb(middle, half)
        _, derivative = slack(box, ratio, eta)
        at_middle, _ = slack(arb(middle), ratio, eta)
        least = at_middle + derivative * arb(0, half)  # mean value form
        if at_middle < 0:
            raise AssertionError(f"false at p = {middle}")
        if not least >= 0:
            boxes += [(left, middle), (middle, right)]
    return count


@pytest.mark.parametrize("ratio", list(CONSTANTS), ids=str)
def test_constants_are_certified(ratio):
    digits = CONSTANTS[ratio]
    certify(ratio, arb(digits) + arb("2e-9"))
    assert chord_loss(float(ratio.p) / float(ratio.q)) == pytest.approx(float(digits), abs=2e-9)


@pytest.mark.parametrize("ratio", list(CONSTANTS), ids=str)
def test_less_than_the_constant_is_false(ratio):
    """The same proof fails for a promise that is 2e-9 better: the constant is sharp."""
    with pytest.raises(AssertionError, match="false at"):
        certify(ratio, arb(CONSTANTS[ratio]) - arb("2e-9"))


def test_loss_is_quadratic_in_ratio():
    ratios = np.array([1.01, 1.05, 1.2, 1.5, 2.0, 3.0, 6.0])
    losses = np.array([chord_loss(r) for r in ratios])
    assert (np.diff(losses) > 0).all()
    assert (losses <= 0.0809513 * (ratios - 1) ** 2 + 1e-12).all()


def test_waste_of_odd_numbers():
    table = [0.6667, 2.3238, 4.5115, 9.6192, 17.0429, 30.6089]
    assert [round(waste(odd_below(a)), 4) for a in range(2, 8)] == table
    assert all(waste(odd_below(a)) <= 2 ** (a - 1) - 1 for a in range(2, 12))


def test_one_rate_for_all_budgets():
    for budget in [*range(3, 130, 4), 119, 120, 10**3, 10**4, 10**5, 10**6]:
        assert guaranteed_loss(budget) <= 0.92 * budget ** (-2 / 3)
    strictly = {m: chord_loss(2.0) + 0.5 / m for m in (1, 2)}  # one gap for each source
    assert all(loss <= 0.92 * m ** (-2 / 3) for m, loss in strictly.items())
