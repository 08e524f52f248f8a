"""Study of the page `timetable`."""
