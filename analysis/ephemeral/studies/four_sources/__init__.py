"""Study of the page `four-sources`."""
