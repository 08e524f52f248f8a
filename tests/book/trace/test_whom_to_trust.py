"""What the page on trust computes."""

import numpy as np
import pytest

from book.trace import whom_to_trust as page


@pytest.fixture(scope="module")
def setting():
    return page.make_experiment(page.load_trace("commit", ""), 12, 24.0, 1)


def test_hubs_take_turns(setting):
    hub = page.assign_hubs(setting)
    assert np.bincount(hub + 1).min() >= len(hub) // 4
    recall = page.spread_shares(hub, 0)
    assert set(recall[hub == -1]) == {0.0}
    assert set(recall[hub == 0]) == {0.9}


def test_learner_survives_what_fixed_beliefs_do_not(setting):
    ways = page.make_ways(setting, 60.0, 10.0, 90.0, 2)
    table = page.compare_ways(setting, ways, ["none", "spam", "lies"], 1.0, 1, 0)
    cell = table.set_index(["change", "way"])["ratio"]
    for change in ("spam", "lies"):
        assert cell[change, "known"] < 0.5
        assert cell[change, "learnt"] > 0.9
        assert cell[change, "floor"] > 0.8
    assert cell["none", "learnt"] > 1
    wide = page.widen(table)
    assert wide.shape == (3, len(page.WAYS))


def test_changes_concern_the_first_hub_alone(setting):
    hub = page.assign_hubs(setting)
    recall, precision = (page.spread_shares(hub, number) for number in (0, 1))
    before = page.Hub.of(recall, precision, setting.trained)
    for change in page.CHANGES:
        after = page.change_hub(setting, before, change, 1.0)
        others = hub != 0
        np.testing.assert_array_equal(after.recall[others], before.recall[others])
        np.testing.assert_array_equal(after.false_rate[others], before.false_rate[others])
        changed = (after.recall != before.recall) | (after.false_rate != before.false_rate)
        assert changed.any() == (change != "none")


def test_turning_hub_precision_recovers():
    table = page.follow_hub([20.0, np.inf], 10.0, 1)
    path = {memory: rows.set_index("day")["precision"] for memory, rows in table.groupby("memory")}
    assert path[20.0][360] > 0.9
    assert path[20.0][460] < 0.1 < path[20.0][695]
    assert path[20.0][400] < path[np.inf][400]


def test_lies_cost_less_than_the_bound():
    for credit, weight in ((0.5, 2.0), (5.0, 10.0), (50.0, 100.0)):
        table = page.follow_liar(0.1, 0.3, credit, weight, 300)
        assert (table["loss"] <= table["bound"] + 1e-9).all()
        assert table["loss"].iloc[-1] > 0.1 * table["bound"].iloc[-1]


def test_promises_are_shares_of_the_calendar(setting):
    table = page.compute_promises(setting, [1, 4], 2)
    assert (table["promise"] <= table["promise, computed"]).all()
    assert (table["promise, computed"] < table["V(7/8)"]).all()
    assert table["V(7/8)"].between(7 / 8, 1).all()
