"""The page `prices`: its checks detect a wrong index and a wrong bound."""

import numpy as np
import pytest

from analysis.ephemeral import Sources, four_sources
from book.joint import prices as page


def test_index_and_bound_pass_checks():
    found = page.check_theorems(6, seed=3)
    assert found.index_error < 1e-9
    assert found.bound_error < 1e-7
    assert found.nested == 1.0


@pytest.mark.parametrize("name", ["priced_index", "crawl_reward"])
def test_wrong_index_is_noticed(monkeypatch, name):
    right = getattr(page, name)
    monkeypatch.setattr(page, name, lambda *given: 1.01 * right(*given))
    assert page.check_theorems(6, seed=3).index_error > 1e-4


def test_stale_losses_exceed_whole_bound():
    whole, fresh, earned = page.compute_stale_example(20)
    assert whole < earned < fresh
    assert whole == pytest.approx(20 / 5 * -np.expm1(-5), rel=1e-9)


def test_frames_have_part_one_limits():
    frame = page.compute_indices(four_sources(), 0.0, 4)
    np.testing.assert_allclose(frame["all"], frame["free"], rtol=1e-12)
    np.testing.assert_allclose(frame["fresh"], frame["free"], rtol=1e-12)
    bounds = page.compute_bounds(Sources([2.0, 1.0], [1.0, 2.0], [0.5, 1.0]), 1, 4)
    assert (bounds["fresh"] >= bounds["all"] * (1 - 1e-9)).all()
    assert (np.diff(bounds["all"]) >= -1e-9).all()
