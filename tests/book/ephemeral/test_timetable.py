"""Timetables and many copies: values turn on falsified models."""

import numpy as np
import pytest

from analysis.ephemeral import four_sources, timetable
from analysis.ephemeral.instances import even_decay_sources
from book.ephemeral import many_copies as copies
from book.ephemeral import timetable as page


def test_index_loses_more_than_timetable():
    hard = page.compute_hard_rewards()
    assert hard["index's loss"].min() > page.collect_theorem_values()["eta-two"]
    assert hard["index's loss"].tolist() == pytest.approx([0.03904, 0.04745], abs=1e-5)
    assert (hard["timetable's loss"] < page.collect_theorem_values()["eta-two"]).all()


def test_constants_rounded_to_safe_side():
    found = page.collect_theorem_values()
    assert found["excess"] == 0.0394
    assert found["promise"] > 0.962179
    assert page.collect_pair_values()["strict-loss"] == pytest.approx(0.3191, abs=1e-4)


def test_losses_within_proved_bound():
    by_budget = page.compare_losses_by_budget([1, 10, 100], seed=0)
    assert (by_budget[["timetable", "powers of two"]].min(axis=1) >= -1e-12).all()
    assert (by_budget.timetable <= by_budget.proved).all()


@pytest.mark.parametrize(("size", "budget"), [(2, 1), (10, 2), (300, 30)])
def test_finite_run_loss_not_negative(size, budget, monkeypatch):
    sources = even_decay_sources(size, np.random.default_rng(size))
    price = timetable(sources, budget).price
    short = []
    for epochs in (7, 40, 2500):
        monkeypatch.setattr(page, "_EPOCHS", epochs)
        short.append(page.index_loss(sources, budget, price, np.random.default_rng(1)))
    assert min(short) >= -1e-12
    assert short[-1] < 0.05


def test_blocks_fill_the_line():
    drawn = page.list_blocks(timetable(four_sources(), 2, odd_parts=(1,)))
    ends = np.cumsum(drawn["length"])
    assert drawn["start"].tolist() == pytest.approx([0, *ends[:-1]])
    assert ends.iloc[-1] == pytest.approx(2)


def test_copies_earn_bound_index_less():
    frame = copies.compute_losses([1, 13], 12, seed=1)
    found = copies.collect_loss_values(frame)
    assert found["exact"] == found["sets"] == 12
    assert found["index-exact"] < 12
    assert frame[frame.copies == 1]["two-level"].max() > 1e-3
