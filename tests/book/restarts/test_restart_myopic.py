"""Claims of the page on the myopic policy: each turns on a false model."""

import numpy as np
import pytest

from analysis.restarts.systems import exact_costs, myopic_gaps
from book.restarts import restart_myopic as page
from book.restarts import shared
from scorecard.verdicts import add_words
from tests.support import assert_turns, verdicts

SETTING = {"seed": 0, "instances": 2, "states": 25, "paths": 10, "epochs": 30, "jobs": 1}
BOTH = ["index", "myopic"]


@pytest.fixture(scope="module")
def cells():
    sizes = {"arms": [25, 50, 75], "budgets": [1, 2, 5]}
    return myopic_gaps(["shock", "one-step"], **SETTING, **sizes)


@pytest.fixture(scope="module")
def true(cells):
    return {
        "as_printed": myopic_gaps(["shock"], BOTH, **SETTING, arms=[25], control=False),
        "replications": (5000, 250),
        "cells": cells,
        "cell_paths": 10,
        "large": cells.loc[[0] * 100 + [len(cells) - 1] * 30],
        "small": exact_costs(["lazy-simplex"], seed=1, instances=2, arms=3, jobs=1),
        "alike": myopic_gaps(["shock"], BOTH, **SETTING, arms=[10], identical=True),
        "drawn": (shared.printed_ticks("C-e34-xaxis"), shared.printed_ticks("C-e34-yaxis")),
        "states": 25,
    }


def test_range_not_determined(true):
    found = verdicts(page.claims(**true))
    assert found["C-e34-lo"] == found["C-e34-hi"] == found["C-e34-split"] == "not determined"
    assert found["C-concl-myopic"] == "context"
    assert found["C-eps-def"] == "context"
    used = {"C-e34-100", "C-mc-5000", "C-mc-250", "C-e34-X", "C-e34-n", "C-e34-m"}
    assert {found[id] for id in used | {"C-e34-xaxis", "C-e34-yaxis"}} == {"used"}


def test_saving_is_share_of_myopic(cells):
    share = 100 * (cells.myopic - cells["index"]) / cells.myopic
    np.testing.assert_allclose(share, cells.eps)


def test_inputs_turn_with_axes(true, cells):
    ticks, counts = true["drawn"]
    for wrong, rows in [
        ({"replications": (400, 100)}, {"C-mc-5000", "C-mc-250"}),
        ({"cells": cells[(cells.arms > 25) & (cells.budget < 5)]}, {"C-e34-n", "C-e34-m"}),
        ({"drawn": (ticks + 1, counts * 2)}, {"C-e34-xaxis", "C-e34-yaxis"}),
        ({"states": 5}, {"C-e34-X"}),
        ({"large": cells}, {"C-e34-100"}),
    ]:
        assert_turns(page.claims, true, true | wrong, rows)


def test_conclusion_counts_computed_systems(true):
    said = {claim.id: add_words(claim).context for claim in page.claims(**true)}["C-concl-myopic"]
    cells = true["cells"]
    assert f"Of {len(cells)} systems" in said
    assert f"better on {(cells.low > 0).sum()} and worse on {(cells.high < 0).sum()}" in said
    assert "both are exactly equal" in said


def test_lost_systems_use_best_ties(true):
    small = true["small"].assign(index_best=[1.0, 1.1, 1.05, 1.0 + 1e-9], myopic=1.0)
    found = page.select_losses(small)
    assert np.allclose(found.loss, [10, 5])


def test_table_has_savings_of_size(cells):
    large = cells[(cells.arms == 75) & (cells.budget == 2)]
    table = page.tabulate_savings(large, cells)
    assert list(table.index) == ["shock", "one-step"]
    shock = large[large.kernel == "shock"]
    assert table["greatest"]["shock"] == shock.eps.max()
    ahead = 100 * (1 - shock["index"] / shock.lookahead)
    assert table["two epochs"]["shock"] == pytest.approx(ahead.median())
    assert (table["in one bin"] >= 50).all()


def test_wear_sentence_turns_with_medians():
    medians = dict(zip(page.QUOTED, (1.0, 2.0, 2.0, 1.0), strict=True))
    assert page.saves_like_wear(medians)
    for cell in page.QUOTED[1], page.QUOTED[3]:
        assert not page.saves_like_wear(medians | {cell: 3.0 - medians[cell]})
    assert not page.saves_like_wear({page.QUOTED[0]: 1.0})
