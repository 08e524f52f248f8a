"""The page `robots-that-differ`: losses, orders and prices."""

import numpy as np
import pytest

from book.joint import robots_that_differ as page


def test_losses_in_order_of_definitions():
    for prices in (False, True):
        found = page.compute_losses(12, 3, prices=prices)
        assert (found >= 0).all(axis=None)
        assert (found["one order"] <= found["fast first"]).all()
        assert (found["linear"] <= found["line"] + 1e-7).all()


def test_optimal_order_not_solved_again():
    rng = np.random.default_rng(11)
    kept = 0
    for _ in range(12):
        model = page.sample_system(rng, prices=True)
        best = model.solve()
        for first, lost in enumerate(page.order_losses(model, best)):
            own = model.solve(order=(first, 1 - first)).gain / best.gain - 1
            assert lost == pytest.approx(max(own, 0.0), abs=1e-8)
            kept += lost == 0
    assert kept > 0


def test_sampled_systems_start_with_fast():
    rng = np.random.default_rng(2)
    for prices in (False, True):
        for _ in range(50):
            model = page.sample_system(rng, prices=prices)
            fast, slow = model.kinds
            assert 0.1 <= slow.arrival_rate / fast.arrival_rate <= 0.9
            for kind in model.kinds:
                assert 0 <= kind.running_cost / kind.arrival_rate <= 0.25 * model.gamma
                assert (kind.running_cost > 0) == prices


def test_dear_kind_gives_way():
    scan = page.scan_prices(5.0, 3, 3.0, 3)
    assert scan["fast"].iloc[-1] < scan["fast"].iloc[0]
    assert scan["slow"].iloc[-1] > scan["slow"].iloc[0]
    for name in ("fast first", "slow first", "linear"):
        assert (scan[name] >= scan["optimum"] * (1 - 1e-9)).all()
