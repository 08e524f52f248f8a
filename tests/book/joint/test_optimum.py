"""The page `optimum`: bound, optimum and policies in their order."""

import dataclasses

import pytest

from book.joint import optimum as page


@pytest.fixture(scope="module")
def frame():
    return page.solve_random_systems(6, seed=1)


def test_bounds_and_policies_in_order(frame):
    assert frame["in order"].all()
    assert (frame["bound"] >= 1 - 1e-9).all()
    assert (frame[["blind", "throttled", "priced", "frozen queue"]] <= 1 + 1e-9).all(axis=None)


def test_wrong_bound_out_of_order():
    right = page.solve_system(page.sample_system(1, 0))
    assert right.in_order
    wrong = dataclasses.replace(right, phases=0.99 * right.optimum.gain)
    assert not wrong.in_order
    gains = {**right.gains, "blind": 1.01 * right.optimum.gain}
    assert not dataclasses.replace(right, gains=gains).in_order


def test_windows_add_reward():
    small = [page.scale_four_sources(0.01, 2.0, 6, 3, windows=both) for both in (False, True)]
    whole, fresh = (system.solve().gain for system in small)
    assert fresh > whole
