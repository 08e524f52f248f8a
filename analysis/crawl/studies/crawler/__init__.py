"""Study of the page `crawler`."""
