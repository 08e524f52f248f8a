"""Study of the page `publications`."""
