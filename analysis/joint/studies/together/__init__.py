"""Study of the page `together`."""
