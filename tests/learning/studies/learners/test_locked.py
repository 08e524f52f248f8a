"""Sources on which estimates confirm themselves."""

import pytest

from analysis.learning.studies.learners import locked


@pytest.fixture(scope="module")
def found():
    return locked.runs(4000, 4, 0)


def test_optimism_keeps_a_wrong_estimate_and_draws_do_not(found):
    rows = locked.table(found)
    assert rows.loc["UCB", "largest (%)"] > 3
    assert rows.loc["UCB", "mean (%)"] > 2 * rows.loc["Thompson", "mean (%)"]
    assert rows.loc["Thompson", "largest (%)"] < 1


def test_the_page_quotes_what_was_found(found, monkeypatch):
    saved, tables = {}, {}
    monkeypatch.setattr(locked, "save_value", lambda name, value: saved.update({name: value}))
    monkeypatch.setattr(
        locked, "save_table", lambda name, rows, *text, **more: tables.update({name: rows})
    )
    locked.report(found)
    rows = tables["learners-locked"]
    assert saved["learners-locked-ucb-worst"] == rows.loc["UCB", "largest (%)"]
    assert saved["learners-locked-thompson"] == rows.loc["Thompson", "mean (%)"]
    assert (saved["learners-locked-rarest"], saved["learners-locked-most"]) == (6, 33)
