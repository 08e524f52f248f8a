"""What the page on any arm counts, draws and says."""

import numpy as np
import pytest

from book.restarts import restart_any_arm as page


@pytest.mark.parametrize("discount", [0.95, 1.0])
def test_drawn_arm_turns_back(discount):
    arm, found = page.find_unindexable(4, discount, 3)
    state, low, high = found.witness
    assert (
        page.advantage(arm, discount, low)[state] < 0 < page.advantage(arm, discount, high)[state]
    )
    frame = page.lines(arm, discount, found)
    signs = np.sign(frame[frame.state == state + 1].advantage.to_numpy())
    assert (np.diff(signs) > 0).any()  # active again as the subsidy grows


def test_survey_counts_arms_without_index():
    table = page.survey([3, 8], 1.0, 60, 0).set_index(["kind", "states"])
    assert table.share["dense", 8] == 0
    assert table.share["walk", 8] > 0.1
    assert (table.low <= table.share).all()
    assert (table.share <= table.high).all()


def test_sets_mix_indexable_arms():
    played = page.play(3, 4, 4, 1, 300, 6, 1)
    assert set(played[played.family == "no index"].policy) == {"Lagrangian index", "myopic"}
    means = page.losses(played)
    assert (means.sets == 3).all()
    assert (means.high > -2).all()  # no policy earns more than the bound
