"""Study of the page `restart-optimum`."""
