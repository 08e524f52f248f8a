"""Study of the page `restart-model`."""
