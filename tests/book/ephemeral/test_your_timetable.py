"""A crontab has a line for each entry of its timetable."""

from analysis.ephemeral import four_sources, timetable
from book.ephemeral import your_timetable as page


def test_crontab_has_entries_of_timetable():
    table = timetable(four_sources(), 2)
    entries = page.tabulate_crontab(table, "wget", 30)
    assert "".join(f"{line}\n" for line in entries.line) == table.crontab("wget -q", 30)
    assert (entries.hours * 2 == entries.gap).all()
