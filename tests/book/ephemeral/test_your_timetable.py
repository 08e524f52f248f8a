"""A crontab has a line for each entry, and its certificate is that of the timetable."""

import pytest

from analysis.ephemeral import four_sources, relaxed_bound, timetable
from book.ephemeral import your_timetable as page


def test_crontab_has_entries_of_timetable():
    table = timetable(four_sources(), 2)
    entries = page.tabulate_crontab(table, "wget", 30)
    assert "".join(f"{line}\n" for line in entries.line) == table.crontab("wget -q", 30)
    assert (entries.hours * 2 == entries.gap).all()


def test_gaps_stay_below_longest():
    table = timetable(four_sources(), 1, max_age=8)
    assert table.gap.max() <= 8
    assert set(table.source.tolist()) == {0, 1, 2, 3}


def test_bound_is_no_less_than_relaxed():
    table = timetable(four_sources(), 1)
    assert table.average_reward <= table.bound * (1 + 1e-12)
    assert table.bound == pytest.approx(relaxed_bound(four_sources(), 1)[0], rel=1e-6)
