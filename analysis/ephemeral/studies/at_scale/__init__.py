"""Study of the page `at-scale`."""
