import pandas as pd

from analysis.learning.studies.learners.hard_cases import CASES, INFORMED, LEARNERS
from analysis.learning.studies.learners.hard_cases_page import (
    holding,
    memory_costs,
    most_robust,
    sentences,
    shown,
)


def table(lost, half=0.001, limit=0.1):
    """Regret of each learner, the same in every case but for what `lost` says by case and name."""
    rows = []
    for case in CASES:
        for number, learner in enumerate([INFORMED, *LEARNERS]):
            regret = lost.get((case, learner), 0.01 * (min(number, 7) + 1))
            ends = (regret - half, regret + half)
            rows.append((case, learner, regret, *ends, regret, ends[1], ends[1] <= limit))
    columns = ["case", "learner", "regret", "low", "high", "excess", "excess_high", "holds"]
    return pd.DataFrame(rows, columns=columns)


def test_sentences_follow_the_numbers():
    easy = sentences(table({}), 0.1)
    assert easy.count("UCB loses least, 2.0%") == len(CASES)
    assert easy.count("all hold.") == len(CASES)
    assert easy.endswith("**UCB**. It holds in every case.")
    hard = sentences(table({("drifting", name): 0.3 for name in LEARNERS}), 0.1)
    assert "none holds" in hard
    assert hard.endswith("It does not hold in: drifting.")
    one = table({("drifting", "UCB"): 0.3})
    assert "all hold but UCB." in sentences(one, 0.1)
    assert most_robust(one) == "Thompson"
    assert holding(one)["UCB"] == [case for case in CASES if case != "drifting"]


def test_intervals_that_overlap_are_said():
    assert "intervals of Thompson overlap" in sentences(table({}, half=0.006), 0.1)


def test_the_table_marks_who_does_not_hold():
    cells = shown(table({("drifting", "UCB"): 0.3}))
    assert cells.loc["UCB", "drifting"] == "30.0 ± 0.1 (does not hold)"
    assert cells.loc["UCB", "empty start"] == "2.0 ± 0.1"
    assert list(cells.columns) == list(CASES)
    assert cells.shape == (len(LEARNERS) + 1, len(CASES))


def test_whether_a_memory_costs_follows_the_regrets():
    assert memory_costs(table({}))
    for case in ("empty start", "sparse and heavy"):
        assert not memory_costs(table({(case, "UCB"): 0.2}))
