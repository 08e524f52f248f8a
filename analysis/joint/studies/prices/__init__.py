"""Study of the page `prices`."""
