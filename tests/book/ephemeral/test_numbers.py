"""A value or table that several pages share."""

import numpy as np

from analysis.ephemeral import Arrivals, compare, four_sources
from book.ephemeral.shared import tabulate_rewards


def test_every_run_is_a_row():
    rng = np.random.default_rng(0)
    arrivals = Arrivals(four_sources())
    plays = {
        law: compare(arrivals, ["whittle", "round-robin"], 1, 30, runs, rng)
        for law, runs in (("few", 2), ("many", 3))
    }
    rows = tabulate_rewards(plays, "law").set_index(["law", "replication", "policy"]).reward
    expected = {
        (law, number, policy): reward
        for law, play in plays.items()
        for policy, rewards in play.rewards.items()
        for number, reward in enumerate(rewards)
    }
    assert len(expected) == 2 * (2 + 3)
    assert rows.to_dict() == expected
